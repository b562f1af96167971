/* labels: null
 *
 * Folders of pictures and depth maps: pairs by name; PNG, npy and PFM files; which depths are unknown; sizes, and
 * tiles. */
#include "data/annotation/depth_map.h"
#include "data/annotation/scene_files.h"
#include "data/picture/image.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { H = 4, W = 6, PIXELS = H * W };

static char *path_of(const char *folder, const char *name) {
  static char path[256];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_picture(const char *folder, const char *name, int64_t height, int64_t width) {
  static const uint8_t pixels[1024] = {3, 200};
  uint8_t *png = NULL;
  size_t bytes = 0;
  ck_ok(mica_png_encode(pixels, MICA_SHAPE(1, height, width), &png, &bytes));
  files_write(path_of(folder, name), png, bytes);
  mica_free(png);
}

static void write_levels(const char *folder, const char *name, int64_t height, int64_t width, const uint16_t *levels) {
  uint8_t *png = NULL;
  size_t bytes = 0;
  ck_ok(mica__png_encode_levels(levels, height, width, &png, &bytes));
  files_write(path_of(folder, name), png, bytes);
  mica_free(png);
}

/* An npy file of version 1 with these elements. */
static size_t make_npy(uint8_t *file, const char *descr, const char *shape, const void *elements, size_t bytes) {
  memcpy(file, "\x93NUMPY\1\0\x76\0", 10);
  memset(file + 10, ' ', 118);
  const int length =
      snprintf((char *)file + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape);
  file[10 + length] = ' ';
  file[127] = '\n';
  memcpy(file + 128, elements, bytes);
  return 128 + bytes;
}

static void is_read(const uint8_t *content, size_t size, double scale, const float *want, int32_t height,
                    int32_t width) {
  uint8_t *copy = malloc(size);
  memcpy(copy, content, size);
  mica__depth_map map;
  ck_ok(mica__depth_map_decode("map", copy, size, scale, &map));
  ck_assert_int_eq(map.height, height);
  ck_assert_int_eq(map.width, width);
  for (int i = 0; i < height * width; i++) ck_assert_float_eq_tol(map.depths[i], want[i], 1e-6f);
  free(map.depths);
  free(copy);
}

static void is_refused(const void *content, size_t size, const char *sentence) {
  uint8_t *copy = malloc(size + 1);
  memcpy(copy, content, size);
  mica__depth_map map;
  ck_assert_int_eq(mica__depth_map_decode("map", copy, size, 0, &map), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
  ck_assert_ptr_null(map.depths);
  free(copy);
}

/* Level 0 is for depths that are unknown or too large; a known depth has level 1 at least. */
START_TEST(unknown_depths_stay_unknown) {
  const float depths[] = {0, -0.0f, -1, NAN, -INFINITY, INFINITY, 1e9f, 1e-30f, 0.001f, 1, 255.99f, 256};
  static const uint16_t want[] = {0, 0, 0, 0, 0, 0, 0, 1, 1, 256, 65533, 0};
  uint16_t *levels = NULL;
  uint8_t *png = NULL;
  size_t bytes = 0;
  int32_t sides[2];
  ck_ok(mica__depth_map_encode(depths, 3, 4, 256, &png, &bytes));
  ck_ok(mica__png_decode_levels("png", png, bytes, sides, &levels));
  for (int i = 0; i < 12; i++) ck_assert_msg(levels[i] == want[i], "%d: %d", i, levels[i]);
  free(levels);
  free(png);
}
END_TEST

START_TEST(png_holds_levels_per_unit) {
  static const uint16_t levels[6] = {0, 1, 256, 1000, 40000, 65535};
  static const float metres[6] = {0, 1 / 256.0f, 1, 1000 / 256.0f, 40000 / 256.0f, 65535 / 256.0f};
  static const float millimetres[6] = {0, 0.001f, 0.256f, 1, 40, 65.535f};
  static const uint8_t colours[12] = {1, 2, 3};
  uint8_t *png = NULL;
  size_t bytes = 0;
  ck_ok(mica__png_encode_levels(levels, 2, 3, &png, &bytes));
  is_read(png, bytes, 0, metres, 2, 3);
  is_read(png, bytes, 1000, millimetres, 2, 3);
  is_refused(png, bytes - 20, "truncated");
  mica_free(png);
  /* 8 bits are levels as well. */
  static const uint8_t small[6] = {0, 1, 2, 100, 200, 255};
  static const float tenths[6] = {0, 0.1f, 0.2f, 10, 20, 25.5f};
  ck_ok(mica_png_encode(small, MICA_SHAPE(1, 2, 3), &png, &bytes));
  is_read(png, bytes, 10, tenths, 2, 3);
  mica_free(png);
  ck_ok(mica_png_encode(colours, MICA_SHAPE(3, 2, 2), &png, &bytes));
  is_refused(png, bytes, "the file has colours or opacity, but must have one channel");
  mica_free(png);
}
END_TEST

/* Inserts EXIF with that orientation after the first 33 bytes of a PNG file, its signature and IHDR. */
static size_t rotate(uint8_t *file, size_t bytes, int orientation) {
  uint8_t chunk[38] = "\0\0\0\x1a"
                      "eXIfMM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01";
  uint32_t sum = UINT32_MAX;
  chunk[27] = (uint8_t)orientation;
  for (size_t i = 4; i < 34; i++) {
    sum ^= chunk[i];
    for (int bit = 0; bit < 8; bit++) sum = sum & 1 ? sum >> 1 ^ 0xedb88320 : sum >> 1;
  }
  for (int i = 0; i < 4; i++) chunk[34 + i] = (uint8_t)(~sum >> (24 - 8 * i));
  memmove(file + 33 + sizeof chunk, file + 33, bytes - 33);
  memcpy(file + 33, chunk, sizeof chunk);
  return bytes + sizeof chunk;
}

/* As Pillow's ImageOps.exif_transpose turns the rows 1 2, 3 4, 5 6. */
START_TEST(png_is_rotated_as_pictures_are) {
  static const float upright[9][6] = {
      [1] = {1, 2, 3, 4, 5, 6}, [2] = {2, 1, 4, 3, 6, 5}, [3] = {6, 5, 4, 3, 2, 1}, [4] = {5, 6, 3, 4, 1, 2},
      [5] = {1, 3, 5, 2, 4, 6}, [6] = {5, 3, 1, 6, 4, 2}, [7] = {6, 4, 2, 5, 3, 1}, [8] = {2, 4, 6, 1, 3, 5}};
  static const uint16_t levels[6] = {1000, 2000, 3000, 4000, 5000, 6000};
  const char *folder = "depths3";
  float depths[6];
  uint8_t *png = NULL, file[512];
  size_t bytes = 0;
  ck_ok(mica__png_encode_levels(levels, 3, 2, &png, &bytes));
  ck_assert_uint_le(bytes + 38, sizeof file);
  for (int orientation = 1; orientation <= 8; orientation++) {
    const int32_t height = orientation < 5 ? 3 : 2, width = orientation < 5 ? 2 : 3;
    mica_dataset *data = NULL;
    memcpy(file, png, bytes);
    const size_t size = rotate(file, bytes, orientation);
    is_read(file, size, 1000, upright[orientation], height, width);
    write_picture(folder, "images/a.png", height, width);
    files_write(path_of(folder, "depth/a.png"), file, size);
    ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.depth_scale = 1000}, &data));
    ck_ok(mica_dataset_read(data, 1, 0, depths, sizeof depths));
    for (int i = 0; i < 6; i++) ck_assert_float_eq_tol(depths[i], upright[orientation][i], 1e-6f);
    mica_dataset_destroy(data);
  }
  mica_free(png);
}
END_TEST

START_TEST(npy_holds_depths_or_whole_numbers) {
  static const float floats[6] = {1.5f, 0, -1, NAN, INFINITY, 80}, want[6] = {1.5f, 0, 0, 0, 0, 80};
  static const uint8_t big[8] = {0, 0, 3, 0xe8, 0, 1, 0xff, 0xff};
  static const float halves[4] = {0, 500, 0.5f, 32767.5f};
  uint8_t file[256];
  is_read(file, make_npy(file, "<f4", "(2, 3)", floats, sizeof floats), 7, want, 2, 3);
  is_read(file, make_npy(file, "<f4", "(1, 2, 3)", floats, sizeof floats), 0, want, 2, 3);
  is_read(file, make_npy(file, "<f4", "(3, 2, 1)", floats, sizeof floats), 0, want, 3, 2);
  is_read(file, make_npy(file, ">u2", "(4, 1)", big, sizeof big), 2, halves, 4, 1);
  is_refused(file, make_npy(file, "<f4", "(6,)", floats, sizeof floats),
             "holds an array of shape (6), but depths must be (height, width)");
  is_refused(file, make_npy(file, "<f4", "(3, 2)", floats, 20), "is truncated");
}
END_TEST

/* The most memory that this process had, in MiB. */
static long most_memory(void) {
  struct rusage used;
  ck_assert_int_eq(getrusage(RUSAGE_SELF, &used), 0);
#if defined __APPLE__
  used.ru_maxrss /= 1024;
#endif
  return used.ru_maxrss / 1024;
}

/* The depths of this map take 512 MiB, which are not read. */
START_TEST(sides_and_bits_of_npy_are_in_its_header) {
  enum { SIDE = 8192, BYTES = SIDE * SIDE * 8 };
  const char *path = files_path("long.npy");
  uint8_t file[128], *begin = malloc(MICA__SCENE_BEGIN);
  int32_t sides[2] = {0};
  int bits = 0;
  files_write("long.npy", file, make_npy(file, "<i8", "(8192, 8192)", "", 0));
  ck_assert_int_eq(truncate(path, 128 + BYTES), 0);
  ck_assert_ptr_nonnull(begin);
  const long before = most_memory();
  ck_ok(mica__depth_map_find_sides(path, begin, sides));
  ck_ok(mica__depth_map_find_bits(path, begin, &bits));
  ck_assert_int_lt(most_memory() - before, 64);
  ck_assert(sides[0] == SIDE && sides[1] == SIDE && bits == 64);
  ck_assert_int_eq(truncate(path, 127 + BYTES), 0);
  ck_assert_int_eq(mica__depth_map_find_sides(path, begin, sides), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "is truncated"), "%s", mica_error_message());
  free(begin);
}
END_TEST

START_TEST(pfm_is_read_from_the_bottom) {
  static const float want[6] = {4, 5, 6, 1, 2, 0};
  static const float rows[6] = {1, 2, INFINITY, 4, 5, 6};
  uint8_t file[64] = "Pf\n3 2\n-1.0\n";
  memcpy(file + 12, rows, sizeof rows);
  is_read(file, 36, 0, want, 2, 3);
  uint8_t big[64] = "Pf\n3 2\n0001\n";
  for (size_t i = 0; i < sizeof rows; i++) big[12 + i] = file[12 + (i ^ 3)];
  is_read(big, 36, 0, want, 2, 3);
  is_refused(file, 35, "has 23 bytes of depths, but 3 x 2 pixels need 24");
  is_refused("PF\n3 2\n-1.0\n", 12, "this PFM file is in colour");
  is_refused("Pf\n3\n-1.0\n", 10, "a PFM file must begin with Pf, width and height");
  is_refused("Pf\n3 2\n0\n", 9, "a number other than 0");
  is_refused("Pf\n3 2", 6, "line 2 of the header of a PFM file is missing");
  is_refused("Pf\n99999 99999\n-1\n", 18, "the header states 99999 x 99999 pixels");
  is_refused("hello", 5, "is not a PNG, npy or PFM file");
}
END_TEST

static void fails(const char *folder, const char *sentence) {
  mica_dataset *data = NULL;
  mica_status status = mica_dataset_open(files_path(folder), NULL, &data);
  ck_assert_msg(status == MICA_E_FORMAT && strstr(mica_error_message(), sentence), "%s", mica_error_message());
  mica_dataset_destroy(data);
}

START_TEST(maps_are_found_by_name) {
  static const uint16_t levels[PIXELS] = {512, 0, 768};
  const char *folder = "depths1";
  float depths[PIXELS];
  mica_dataset *data = NULL;
  write_picture(folder, "images/a.png", H, W);
  write_picture(folder, "images/b.png", H, W);
  write_levels(folder, "depth/a.png", H, W, levels);
  write_levels(folder, "depth/b_depth.png", H, W, levels);
  ck_ok(mica_dataset_open(files_path(folder), &(mica_dataset_config){.depth_scale = 512}, &data));
  ck_assert_uint_eq(mica_dataset_count(data), 2);
  ck_assert_str_eq(mica_dataset_summary(data), "2 pictures of 6 x 4 pixels with depth maps");
  const mica_column *map = mica_dataset_column(data, 1);
  ck_assert(map->kind == MICA_COLUMN_KIND_MAP && map->dtype == MICA_F32 && !strcmp(map->name, "depth"));
  ck_ok(mica_dataset_read(data, 1, 1, depths, sizeof depths));
  ck_assert(depths[0] == 1 && depths[1] == 0 && depths[2] == 1.5f);
  mica_dataset_destroy(data);
  write_picture(folder, "images/c.png", H, W);
  fails(folder, "images/c.png has no depth map: there is no c.png, nor c_depth.png, in");
  write_levels(folder, "depth/c.png", W, H, levels);
  fails(folder, "depth/c.png is a depth map of 4 x 6 pixels, but its picture");
  files_write(path_of(folder, "depth/c.png"), "x", 1);
  fails(folder, "c.png is not a PNG, npy or PFM file");
}
END_TEST

START_TEST(scales_that_are_none) {
  static const double scales[] = {-1, -1e-300, INFINITY, -INFINITY, NAN};
  static const uint16_t levels[PIXELS] = {1};
  const char *folder = "depths4";
  write_picture(folder, "images/a.png", H, W);
  write_levels(folder, "depth/a.png", H, W, levels);
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++) {
    mica_dataset *data = NULL;
    ck_assert_int_eq(mica_dataset_open(files_path(folder), &(mica_dataset_config){.depth_scale = scales[i]}, &data),
                     MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), "depth_scale"), "%s", mica_error_message());
    ck_assert_ptr_null(data);
  }
}
END_TEST

/* Pixels that belong to another tile, or lie beyond the picture, have no depth. */
START_TEST(tiles_share_out_the_depths) {
  const char *folder = "depths2";
  uint16_t levels[PIXELS];
  float depths[3 * 4];
  double sum = 0, all = 0;
  for (int i = 0; i < PIXELS; i++) levels[i] = (uint16_t)(256 * (i + 1)), all += i + 1;
  write_picture(folder, "rgb/a.png", H, W);
  write_levels(folder, "depth/a.png", H, W, levels);
  mica_dataset *data = NULL, *tiles = NULL;
  ck_ok(mica_dataset_open(files_path(folder), NULL, &data));
  ck_ok(mica_dataset_tiles(data, &(mica_tiling){3, 4, 1}, &tiles));
  ck_assert_uint_eq(mica_dataset_count(tiles), 4);
  for (uint64_t i = 0; i < 4; i++) {
    ck_ok(mica_dataset_read(tiles, 1, i, depths, sizeof depths));
    for (int k = 0; k < 12; k++) sum += (double)depths[k];
    if (i == 0) ck_assert(depths[0] == 1 && depths[5] == 8);
  }
  ck_assert_double_eq_tol(sum, all, 1e-6);
  mica_dataset_destroy(tiles);
  mica_dataset_destroy(data);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, unknown_depths_stay_unknown, png_holds_levels_per_unit, png_is_rotated_as_pictures_are,
      npy_holds_depths_or_whole_numbers, sides_and_bits_of_npy_are_in_its_header, pfm_is_read_from_the_bottom,
      maps_are_found_by_name, scales_that_are_none, tiles_share_out_the_depths)
