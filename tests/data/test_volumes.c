/* labels: null
 *
 * NIfTI files of all element types, versions and byte orders; windows of them; masks in their space; what is refused;
 * folders of volumes and masks, the windows that cover them and those that are drawn. */
#include "base/byte_order.h"
#include "data/volume/volume.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 5, HEIGHT = 3, DEPTH = 4, VOXELS = WIDTH * HEIGHT * DEPTH };

/* How a file is made: element k is 7 k % 50, which all types hold. */
typedef struct made {
  bool second, big_endian;
  int code;
  size_t bytes;
  double slope, inter;
  int64_t sides[4]; /* width, height, depth, channels; 0: those above */
} made;

static void put(uint8_t *at, bool big_endian, const void *value, size_t bytes) {
  memcpy(at, value, bytes);
  mica__bytes_from_file(big_endian, at, 1, bytes);
}

static void put_whole(uint8_t *at, bool big_endian, int64_t value, size_t bytes) {
  const int16_t two = (int16_t)value;
  const int32_t four = (int32_t)value;
  put(at, big_endian, bytes == 2 ? (const void *)&two : bytes == 4 ? (const void *)&four : (const void *)&value, bytes);
}

static void put_real(uint8_t *at, bool big_endian, double value, size_t bytes) {
  const float four = (float)value;
  put(at, big_endian, bytes == 4 ? (const void *)&four : (const void *)&value, bytes);
}

static void put_element(const made *m, uint8_t *at, int64_t value) {
  const bool real = m->code == 16 || m->code == 64;
  if (m->bytes == 1)
    *at = (uint8_t)value;
  else if (real)
    put_real(at, m->big_endian, (double)value, m->bytes);
  else
    put_whole(at, m->big_endian, value, m->bytes);
}

static size_t make(const made *m, uint8_t *file, const uint8_t *elements) {
  const bool b = m->big_endian, second = m->second;
  const size_t begin = second ? 544 : 352, real = second ? 8 : 4;
  const int64_t usual[4] = {WIDTH, HEIGHT, DEPTH, 1}, *sides = m->sides[0] ? m->sides : usual;
  int64_t count = 1;
  memset(file, 0, begin);
  put_whole(file, b, second ? 540 : 348, 4);
  memcpy(file + (second ? 4 : 344), second ? "n+2" : "n+1", 4);
  put_whole(file + (second ? 12 : 70), b, m->code, 2);
  put_whole(file + (second ? 14 : 72), b, (int64_t)m->bytes * 8, 2);
  for (int k = 0; k < 8; k++) {
    const int64_t side = k == 0 ? 4 : k <= 4 ? sides[k - 1] : 1;
    put_whole(file + (second ? 16 + 8 * k : 40 + 2 * k), b, side, second ? 8 : 2);
    put_real(file + (second ? 104 + 8 * k : 76 + 4 * k), b, k == 0 ? -1 : 0.5 * k, real);
    if (k) count *= side;
  }
  if (second)
    put_whole(file + 168, b, 544, 8);
  else
    put_real(file + 108, b, 352, 4);
  put_real(file + (second ? 176 : 112), b, m->slope, real);
  put_real(file + (second ? 184 : 116), b, m->inter, real);
  for (int64_t i = 0; i < count; i++)
    put_element(m, file + begin + (size_t)i * m->bytes, elements ? elements[i] : i * 7 % 50);
  return begin + (size_t)count * m->bytes;
}

static const made kinds[] = {{false, false, 2, 1, 0, 0, {0}},   {false, true, 4, 2, 2, -3, {0}},
                             {true, false, 8, 4, 0.5, 1, {0}},  {false, true, 16, 4, 1, 0, {0}},
                             {true, true, 64, 8, 3, 0.25, {0}}, {false, false, 256, 1, 1, 1, {0}},
                             {true, false, 512, 2, 1, 0, {0}},  {false, true, 768, 4, 1, 0, {0}},
                             {true, true, 1024, 8, -1, 2, {0}}, {false, false, 1280, 8, 0, 9, {0}}};
#define KINDS (sizeof kinds / sizeof *kinds)

START_TEST(windows_have_the_scaled_values_of_every_type) {
  for (size_t k = 0; k < KINDS; k++) {
    const made *m = &kinds[k];
    uint8_t file[MICA__NIFTI_HEADER + VOXELS * 8];
    mica__volume *v = NULL;
    float values[2 * 2 * 4];
    files_write("one.nii", file, make(m, file, NULL));
    ck_ok(mica__volume_open(files_path("one.nii"), &v));
    const mica__nifti *n = mica__volume_header(v);
    ck_assert_int_eq(n->sides[0] * 100 + n->sides[1] * 10 + n->sides[2], DEPTH * 100 + HEIGHT * 10 + WIDTH);
    ck_assert_double_eq(n->spacing[0], 1.5);
    ck_assert_double_eq(n->spacing[2], 0.5);
    ck_ok(mica__volume_read(v, &(mica__window){{3, 2, -1}, {2, 2, 4}}, -77, values));
    const double slope = m->slope == 0 ? 1 : m->slope, inter = m->slope == 0 ? 0 : m->inter;
    for (int i = 0; i < 16; i++) {
      const int z = 3 + i / 8, y = 2 + i / 4 % 2, x = i % 4 - 1, at = (z * HEIGHT + y) * WIDTH + x;
      const bool inside = z < DEPTH && y < HEIGHT && x >= 0;
      ck_assert_float_eq(values[i], inside ? (float)(slope * (at * 7 % 50) + inter) : -77.0f);
    }
    mica__volume_close(v);
  }
}
END_TEST

START_TEST(masks_keep_the_space_of_their_volume) {
  for (size_t k = 0; k < KINDS; k++)
    for (int packed = 0; packed < 2; packed++) {
      uint8_t file[MICA__NIFTI_HEADER + VOXELS * 8], mask[VOXELS], *written = NULL;
      mica__nifti n;
      mica__volume *v = NULL;
      float values[VOXELS];
      size_t size = 0;
      for (int i = 0; i < VOXELS; i++) mask[i] = (uint8_t)(i * 11 % 256);
      ck_ok(mica__nifti_parse("f", file, make(&kinds[k], file, NULL), &n));
      ck_ok(mica__nifti_encode(&n, mask, packed, &written, &size));
      files_write("mask.nii.gz", written, size);
      free(written);
      ck_ok(mica__volume_open(files_path("mask.nii.gz"), &v));
      ck_assert_mem_eq(mica__volume_header(v)->spacing, n.spacing, sizeof n.spacing);
      ck_assert_int_eq(mica__volume_header(v)->second, n.second);
      ck_assert_int_eq(mica__volume_header(v)->big_endian, n.big_endian);
      ck_ok(mica__volume_read(v, &(mica__window){{0}, {DEPTH, HEIGHT, WIDTH}}, 0, values));
      for (int i = 0; i < VOXELS; i++) ck_assert_float_eq(values[i], (float)mask[i]);
      mica__volume_close(v);
    }
}
END_TEST

/* Bytes after the last voxel are passed over, packed or not. */
START_TEST(volumes_may_have_more_bytes) {
  for (int packed = 0; packed < 2; packed++) {
    uint8_t *file = calloc(1, MICA__NIFTI_HEADER + VOXELS * 8 + 100);
    mica__volume *v = NULL;
    size_t size = make(&kinds[0], file, NULL) + 100;
    if (packed) ck_ok(mica__content_deflate(&file, &size));
    files_write("more.nii.gz", file, size);
    free(file);
    ck_ok(mica__volume_open(files_path("more.nii.gz"), &v));
    mica__volume_close(v);
  }
}
END_TEST

static void refuses(const uint8_t *file, size_t size, const char *says) {
  mica__volume *v = NULL;
  files_write("wrong.nii", file, size);
  ck_assert_int_eq(mica__volume_open(files_path("wrong.nii"), &v), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), says), "%s, not: %s", mica_error_message(), says);
}

START_TEST(wrong_files_are_refused_with_a_sentence) {
  static const struct {
    size_t at, bytes;
    int64_t value;
    const char *says;
  } wrong[] = {{0, 4, 349, "is not a NIfTI file"},
               {344, 4, 0x00316e78, "lacks the header's magic number"},
               {344, 4, 0x0031696e, "half of a pair"},
               {40, 2, 0, "has 0 axes"},
               {40, 2, 8, "has 8 axes"},
               {42, 2, 0, "axis 1 has 0 elements"},
               {44, 2, -5, "axis 2 has -5 elements"},
               {42, 2, 32767, "is truncated"},
               {48, 2, 65, "may have one axis of channels, with at most 64"},
               {70, 2, 128, "elements of type 128"},
               {72, 2, 32, "32 bits for each"},
               {108, 4, 0x7fc00000, "elements begin at byte"},
               {108, 4, 0x43000000, "elements begin at byte 128"}};
  const made m = {false, false, 4, 2, 1, 0, {0}};
  uint8_t file[MICA__NIFTI_HEADER + VOXELS * 8];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const size_t size = make(&m, file, NULL);
    put_whole(file + wrong[i].at, false, wrong[i].value, wrong[i].bytes);
    refuses(file, size, wrong[i].says);
  }
  refuses(file, make(&m, file, NULL) - 1, "is truncated: it has 471 of the 472 bytes");
  refuses(file, 300, "its header ends early");
  const made huge = {true, false, 2, 1, 1, 0, {0}};
  const size_t size = make(&huge, file, NULL);
  for (int k = 1; k < 4; k++) put_whole(file + 16 + 8 * k, false, (int64_t)1 << 30, 8);
  refuses(file, size, "has more than 2147483647 voxels");
  for (int k = 1; k < 4; k++) put_whole(file + 16 + 8 * k, false, k == 1 ? 1 << 11 : 1 << 10, 8);
  refuses(file, size, "has more than 2147483647 voxels");
}
END_TEST

/* Volumes of 5 x 3 x 4 and 6 x 3 x 4 voxels; every fifth voxel is of class 1. */
static void write_folder(const char *folder) {
  for (int k = 0; k < 2; k++) {
    uint8_t file[MICA__NIFTI_HEADER + 2 * VOXELS * 8], mask[2 * VOXELS];
    char name[64];
    const made volume = {false, k, 4, 2, 1, 0, {WIDTH + k, HEIGHT, DEPTH, 1}};
    const made labels = {k, false, 2, 1, 1, 0, {WIDTH + k, HEIGHT, DEPTH, 1}};
    for (int i = 0; i < 2 * VOXELS; i++) mask[i] = i % 5 == 0;
    snprintf(name, sizeof name, "%s/imagesTr/%d.nii", folder, k);
    files_write(name, file, make(&volume, file, NULL));
    snprintf(name, sizeof name, "%s/labelsTr/%d%s.nii", folder, k, k ? "_seg" : "");
    files_write(name, file, make(&labels, file, mask));
  }
}

START_TEST(folders_are_volumes_with_masks) {
  mica_dataset *data = NULL;
  float values[VOXELS];
  uint8_t classes[VOXELS];
  double sum = 0, squares = 0;
  write_folder("volumes");
  ck_ok(mica_dataset_open(files_path("volumes"), NULL, &data));
  ck_assert_str_eq(mica_dataset_summary(data), "2 volumes of several sizes, 2 classes in their masks: 0,1");
  ck_assert_int_eq(mica__volumes_header(data, 1)->sides[2], WIDTH + 1);
  const mica__window all = {{0}, {DEPTH, HEIGHT, WIDTH}};
  ck_ok(mica__volumes_read(data, 0, &all, values, classes));
  for (int i = 0; i < VOXELS; i++) {
    ck_assert_uint_eq(classes[i], i % 5 == 0);
    sum += (double)values[i], squares += (double)values[i] * (double)values[i];
  }
  ck_assert_double_eq_tol(sum / VOXELS, 0, 1e-6);
  ck_assert_double_eq_tol(squares / VOXELS, 1, 1e-6);
  ck_ok(mica__volumes_read(data, 0, &(mica__window){{0, 0, 4}, {1, 1, 2}}, values, classes));
  ck_assert_float_eq(values[1], 0);
  ck_assert_uint_eq(classes[1], 255);
  mica_dataset_destroy(data);
}
END_TEST

/* Masks of real numbers may have voxels without a label, whether the values are found or given. */
START_TEST(nan_in_masks_is_void) {
  const made labels = {false, false, 16, 4, 1, 0, {WIDTH, HEIGHT, DEPTH, 1}};
  const mica_dataset_config configs[] = {{0}, {.mask_values = "0,1"}};
  uint8_t file[MICA__NIFTI_HEADER + VOXELS * 8], mask[VOXELS], classes[VOXELS];
  write_folder("nan");
  for (int i = 0; i < VOXELS; i++) mask[i] = i % 5 == 0;
  const size_t size = make(&labels, file, mask);
  for (size_t i = 0; i < VOXELS; i += 3) put_real(file + 352 + 4 * i, false, NAN, 4);
  files_write("nan/labelsTr/0.nii", file, size);
  for (int k = 0; k < 2; k++) {
    mica_dataset *data = NULL;
    ck_ok(mica_dataset_open(files_path("nan"), &configs[k], &data));
    ck_ok(mica__volumes_read(data, 0, &(mica__window){{0}, {DEPTH, HEIGHT, WIDTH}}, NULL, classes));
    for (int i = 0; i < VOXELS; i++) ck_assert_uint_eq(classes[i], i % 3 == 0 ? 255 : i % 5 == 0);
    mica_dataset_destroy(data);
  }
}
END_TEST

START_TEST(a_grid_covers_every_voxel) {
  static const int64_t sides[][3] = {{7, 9, 4}, {3, 3, 3}, {16, 2, 11}};
  static const double overlaps[] = {0, 0.25, 0.5, 0.75};
  for (size_t s = 0; s < 3; s++)
    for (size_t o = 0; o < 4; o++) {
      const mica__grid grid = {{4, 4, 4}, overlaps[o]};
      uint8_t seen[16 * 16 * 16] = {0};
      const int64_t count = mica__grid_count(&grid, sides[s]);
      for (int64_t i = 0; i < count; i++) {
        const mica__window w = mica__grid_at(&grid, sides[s], i);
        for (int64_t z = w.at[0]; z < w.at[0] + 4; z++)
          for (int64_t y = w.at[1]; y < w.at[1] + 4; y++)
            for (int64_t x = w.at[2]; x < w.at[2] + 4; x++) seen[(z * 16 + y) * 16 + x] = 1;
      }
      for (int64_t z = 0; z < sides[s][0]; z++)
        for (int64_t y = 0; y < sides[s][1]; y++)
          for (int64_t x = 0; x < sides[s][2]; x++) ck_assert(seen[(z * 16 + y) * 16 + x]);
    }
}
END_TEST

START_TEST(views_read_windows) {
  mica_dataset *data = NULL, *tiles = NULL, *patches = NULL;
  float values[8];
  uint8_t classes[8];
  write_folder("views");
  ck_ok(mica_dataset_open(files_path("views"), NULL, &data));
  const mica__grid grid = {{2, 2, 2}, 0};
  ck_ok(mica__volumes_tiles(data, &grid, &tiles));
  ck_assert_uint_eq(mica_dataset_count(tiles), 2 * (2 * 2 * 3));
  ck_ok(mica_dataset_read(tiles, 1, 12 + 1, classes, sizeof classes));
  for (int i = 0; i < 8; i++) {
    const int at = (i / 4 * HEIGHT + i / 2 % 2) * (WIDTH + 1) + 2 + i % 2;
    ck_assert_uint_eq(classes[i], at % 5 == 0);
  }
  mica_dataset_destroy(tiles);
  const mica__patching how = {{2, 2, 2}, 50, true};
  ck_ok(mica__volumes_patches(data, &how, &patches));
  ck_assert_uint_eq(mica_dataset_count(patches), 100);
  const mica__column *image = &patches->store->columns[0], *mask = &patches->store->columns[1];
  /* Both columns draw one window: a voxel's class and value belong together. Another draw is another window. */
  int differ = 0;
  for (uint64_t i = 0; i < 100; i++) {
    float other[8];
    ck_ok(image->read_drawn(image->user, i, 1, values, sizeof values));
    ck_ok(mask->read_drawn(mask->user, i, 1, classes, sizeof classes));
    ck_ok(image->read_drawn(image->user, i, 2, other, sizeof other));
    differ += memcmp(values, other, sizeof values) != 0;
    float whole[2 * VOXELS];
    uint8_t known[2 * VOXELS];
    const int64_t width = i < 50 ? WIDTH : WIDTH + 1;
    ck_ok(mica__volumes_read(data, i / 50, &(mica__window){{0}, {DEPTH, HEIGHT, width}}, whole, known));
    for (int k = 0; k < 8; k++) {
      bool found = false;
      for (int64_t at = 0; at < DEPTH * HEIGHT * width; at++)
        found = found || (whole[at] == values[k] && known[at] == classes[k]);
      ck_assert(found);
    }
  }
  ck_assert_int_gt(differ, 80);
  mica_dataset_destroy(patches);
  mica_dataset_destroy(data);
}
END_TEST

TESTS(ANYWHERE, NULL, files_remove, windows_have_the_scaled_values_of_every_type,
      IF(DEFLATE, masks_keep_the_space_of_their_volume), IF(DEFLATE, volumes_may_have_more_bytes),
      wrong_files_are_refused_with_a_sentence, folders_are_volumes_with_masks, nan_in_masks_is_void,
      a_grid_covers_every_voxel, views_read_windows)
