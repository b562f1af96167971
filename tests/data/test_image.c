/* labels: null
 *
 * Pictures that are stored sideways: EXIF's orientation in both byte orders, all eight of them, and what is no EXIF;
 * colours of print; alpha channels. */
#include "data/picture/image.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A JPEG file of four components, whose header alone is right. */
START_TEST(print_is_named) {
  static const uint8_t file[] = {0xff, 0xd8, 0xff, 0xc0, 0,    20, 8, 0,    3,  0,    2,    4, 1,    0x11, 0,
                                 2,    0x11, 0,    3,    0x11, 0,  4, 0x11, 0,  0xff, 0xda, 0, 14,   4,    1,
                                 0,    2,    0,    3,    0,    4,  0, 0,    63, 0,    0,    0, 0xff, 0xd9};
  mica__image image = {0};
  const mica_status status = mica__jpeg_decode("print.jpg", file, sizeof file, 3, 0, 0, &image);
  ck_assert_int_eq(status, MICA_E_UNSUPPORTED);
  const bool none = strstr(mica_error_message(), "needs libjpeg") != NULL; /* in a build without it */
  ck_assert_msg(none || strstr(mica_error_message(), "print.jpg: its colours are CMYK, those of print; convert it"),
                "%s", mica_error_message());
}
END_TEST

static const uint8_t exif[2][26] = {
    {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
    {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};

/* The beginning of a JPEG file: EXIF with that orientation, then a frame of 3 rows and 2 columns. Returns its size. */
static size_t make_jpeg(uint8_t *file, int orientation, bool little) {
  static const uint8_t start[] = {0xff, 0xd8, 0xff, 0xe1, 0, 34, 'E', 'x', 'i', 'f', 0, 0};
  static const uint8_t frame[] = {0xff, 0xc0, 0, 11, 8, 0, 3, 0, 2, 1, 1, 0x11, 0};
  memcpy(file, start, sizeof start);
  memcpy(file + sizeof start, exif[little], sizeof exif[0]);
  file[sizeof start + (little ? 18 : 19)] = (uint8_t)orientation;
  memcpy(file + sizeof start + sizeof exif[0], frame, sizeof frame);
  return sizeof start + sizeof exif[0] + sizeof frame;
}

START_TEST(orientation_is_read) {
  uint8_t file[64];
  for (int orientation = 1; orientation <= 8; orientation++)
    for (int little = 0; little < 2; little++) {
      int32_t height = 0, width = 0;
      size_t size = make_jpeg(file, orientation, little);
      ck_assert_int_eq(mica__image_orientation(file, size), orientation);
      ck_assert(mica__image_size(file, size, &height, &width));
      ck_assert_int_eq(height, orientation >= 5 ? 2 : 3);
      ck_assert_int_eq(width, orientation >= 5 ? 3 : 2);
    }
}
END_TEST

/* A marker may be preceded by any number of bytes 0xff. */
START_TEST(orientation_is_read_after_fill_bytes) {
  static const int counts[] = {1, 2, 7};
  for (int orientation = 1; orientation <= 8; orientation++)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      uint8_t file[64];
      int32_t height = 0, width = 0;
      const size_t fill = (size_t)counts[k], size = make_jpeg(file, orientation, true) + fill;
      memmove(file + 2 + fill, file + 2, size - fill - 2);
      memset(file + 2, 0xff, fill);
      ck_assert_int_eq(mica__image_orientation(file, size), orientation);
      ck_assert(mica__image_size(file, size, &height, &width));
      ck_assert_int_eq(height, orientation >= 5 ? 2 : 3);
      ck_assert_int_eq(width, orientation >= 5 ? 3 : 2);
      for (size_t cut = 0; cut < 38 + fill; cut++) ck_assert_int_eq(mica__image_orientation(file, cut), 1);
    }
  uint8_t end[8];
  memset(end, 0xff, sizeof end);
  ck_assert_int_eq(mica__image_orientation(end, sizeof end), 1);
}
END_TEST

/* Integers of any width, as Pillow reads them: LONG, signed SHORT and signed LONG. */
START_TEST(orientation_of_another_type_is_read) {
  static const int types[] = {4, 8, 9};
  uint8_t file[64];
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    for (int little = 0; little < 2; little++) {
      const bool is_long = types[i] != 8;
      const size_t size = make_jpeg(file, 6, little);
      uint8_t *entry = file + 12 + 10; /* after the header and the number of entries */
      entry[little ? 2 : 3] = (uint8_t)types[i];
      ck_assert_int_eq(entry[little ? 8 : 9], 6);
      memset(entry + 8, 0, 4);
      entry[little ? 8 : (is_long ? 11 : 9)] = 6;
      ck_assert_int_eq(mica__image_orientation(file, size), 6);
      memset(entry + 8, 255, 4);
      ck_assert_int_eq(mica__image_orientation(file, size), 1);
      entry[little ? 2 : 3] = 5; /* a fraction lies elsewhere */
      ck_assert_int_eq(mica__image_orientation(file, size), 1);
    }
}
END_TEST

/* A marker may stand behind any number of bytes 0xff. */
START_TEST(sides_are_found_behind_filling_bytes) {
  static const uint8_t file[] = {0xff, 0xd8, 0xff, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xff, 0xff,
                                 0xc2, 0,    11,   8,    0,    3, 0, 2, 1, 1,    0x11, 0};
  int32_t height = 0, width = 0;
  ck_assert(mica__image_size(file, sizeof file, &height, &width));
  ck_assert_int_eq(height, 3);
  ck_assert_int_eq(width, 2);
  for (size_t cut = 0; cut < 20; cut++) ck_assert(!mica__image_size(file, cut, &height, &width));
}
END_TEST

START_TEST(broken_exif_is_upright) {
  uint8_t file[64];
  static const int others[] = {0, 9, 255};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    size_t size = make_jpeg(file, others[i], true);
    ck_assert_int_eq(mica__image_orientation(file, size), 1);
  }
  size_t size = make_jpeg(file, 6, true);
  for (size_t cut = 0; cut < 38; cut++) ck_assert_int_eq(mica__image_orientation(file, cut), 1);
  file[16] = 255; /* the directory lies beyond the end */
  ck_assert_int_eq(mica__image_orientation(file, size), 1);
}
END_TEST

START_TEST(pictures_are_rotated) {
  /* What Pillow's ImageOps.exif_transpose makes of the rows "ab", "cd", "ef". */
  static const char *const upright[9] = {[1] = "abcdef", [2] = "badcfe", [3] = "fedcba", [4] = "efcdab",
                                         [5] = "acebdf", [6] = "ecafdb", [7] = "fdbeca", [8] = "bdface"};
  for (int orientation = 1; orientation <= 8; orientation++) {
    mica__image image = {1, 3, 2, malloc(6)}, colour = {3, 3, 2, malloc(18)};
    memcpy(image.pixels, "abcdef", 6);
    for (int i = 0; i < 18; i++) colour.pixels[i] = (uint8_t)("abcdef"[i / 3] + i % 3);
    ck_assert_int_eq(mica__image_rotate("a picture", &image, orientation), MICA_OK);
    ck_assert_int_eq(mica__image_rotate("a picture", &colour, orientation), MICA_OK);
    ck_assert_int_eq(image.height, orientation >= 5 ? 2 : 3);
    ck_assert_int_eq(image.width, orientation >= 5 ? 3 : 2);
    ck_assert_mem_eq(image.pixels, upright[orientation], 6);
    for (int i = 0; i < 18; i++) ck_assert_int_eq(colour.pixels[i], upright[orientation][i / 3] + i % 3);
    free(image.pixels);
    free(colour.pixels);
  }
}
END_TEST

/* Two pixels as Pillow writes them: (200, 100, 50) half opaque beside white that is transparent; opaque ones; and a
 * palette of which one colour is transparent. */
static const uint8_t rgba[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,    0x0d, 0x49, 0x48, 0x44, 0x52, 0,    0,    0,
    2,    0,    0,    0,    1,    8,    6,    0,    0,    0,    0xf4, 0x22, 0x7f, 0x8a, 0,    0,    0,    0x11, 0x49,
    0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x38, 0x91, 0x62, 0xd4, 0xf0, 0xff, 0xff, 0x7f, 6,    0,    0x15, 0xa8, 4,
    0xdc, 0x7f, 0xa4, 0x2c, 7,    0,    0,    0,    0,    0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};
static const uint8_t rgb[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,    0x0d, 0x49, 0x48, 0x44, 0x52, 0,    0,
    0,    2,    0,    0,    0,    1,    8,    2,    0,    0,    0,    0x7b, 0x40, 0xe8, 0xdd, 0,    0,    0,
    0x0f, 0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x3c, 0x91, 0x62, 0xc4, 0xc0, 0xc0, 0,    0,    7,    0x7a,
    1,    0x60, 0x94, 0x16, 0x59, 0x32, 0,    0,    0,    0,    0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};
static const uint8_t palette[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,    0x0d, 0x49, 0x48, 0x44, 0x52, 0,
    0,    0,    2,    0,    0,    0,    1,    1,    3,    0,    0,    0,    0xce, 0xec, 0xed, 0xc9, 0,
    0,    0,    6,    0x50, 0x4c, 0x54, 0x45, 0x0a, 0x14, 0x1e, 0xc8, 0x64, 0x32, 0x77, 0xa0, 0xb3, 0x9c,
    0,    0,    0,    1,    0x74, 0x52, 0x4e, 0x53, 0,    0x40, 0xe6, 0xd8, 0x66, 0,    0,    0,    0x0a,
    0x49, 0x44, 0x41, 0x54, 0x78, 0x9c, 0x63, 0x70, 0,    0,    0,    0x42, 0,    0x41, 0x29, 0x37, 0xf4,
    0xef, 0,    0,    0,    0,    0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
};

START_TEST(alpha_is_found) {
  ck_assert(mica__png_has_alpha(rgba, sizeof rgba));
  ck_assert(mica__png_has_alpha(palette, sizeof palette));
  ck_assert(!mica__png_has_alpha(rgb, sizeof rgb));
  for (size_t cut = 0; cut <= sizeof palette; cut++)
    ck_assert_int_eq(mica__png_has_alpha(palette, cut), cut >= 63); /* tRNS begins at byte 51, with its sum at 64 */
  uint8_t wide[sizeof palette];
  memcpy(wide, palette, sizeof wide);
  memset(wide + 33, 0xff, 4); /* PLTE of 4 GiB */
  ck_assert(!mica__png_has_alpha(wide, sizeof wide));
}
END_TEST

/* The PNG file of an opaque picture with EXIF before its pixels. Returns its size. */
static size_t make_sideways_png(uint8_t *file, int orientation) {
  /* The sums of the chunk, by zlib's crc32. */
  static const uint8_t sums[9][4] = {
      [1] = {0x13, 0xc0, 0x75, 0xe7}, [2] = {0x22, 0x28, 0x6f, 0x7a}, [3] = {0x84, 0x5f, 0x64, 0xce},
      [4] = {0x41, 0xf8, 0x5a, 0x40}, [5] = {0xe7, 0x8f, 0x51, 0xf4}, [6] = {0xd6, 0x67, 0x4b, 0x69},
      [7] = {0x70, 0x10, 0x40, 0xdd}, [8] = {0x86, 0x58, 0x30, 0x34}};
  uint8_t *at = file + 33;
  memcpy(file, rgb, 33); /* the signature and IHDR */
  memcpy(at, (const uint8_t[]){0, 0, 0, sizeof exif[0], 'e', 'X', 'I', 'f'}, 8);
  memcpy(at + 8, exif[0], sizeof exif[0]);
  at[8 + 19] = (uint8_t)orientation;
  memcpy(at + 8 + sizeof exif[0], sums[orientation], 4);
  memcpy(at + 12 + sizeof exif[0], rgb + 33, sizeof rgb - 33);
  return sizeof rgb + 12 + sizeof exif[0];
}

START_TEST(orientation_of_png_is_read) {
  uint8_t file[sizeof rgb + 64];
  for (int orientation = 1; orientation <= 8; orientation++) {
    const size_t size = make_sideways_png(file, orientation);
    int32_t height = 0, width = 0;
    ck_assert_int_eq(mica__image_orientation(file, size), orientation);
    ck_assert(mica__image_size(file, size, &height, &width));
    ck_assert_int_eq(height, orientation >= 5 ? 2 : 1);
    ck_assert_int_eq(width, orientation >= 5 ? 1 : 2);
    for (size_t cut = 0; cut < 33 + 8 + sizeof exif[0]; cut++) ck_assert_int_eq(mica__image_orientation(file, cut), 1);
  }
}
END_TEST

#if MICA_WITH_PNG
/* Two pixels side by side: the second comes first, or below, or above. */
START_TEST(png_is_rotated) {
  uint8_t file[sizeof rgb + 64], *upright = NULL, *pixels = NULL;
  mica_shape shape;
  files_write("rgb.png", rgb, sizeof rgb);
  ck_assert_int_eq(mica_image_read(files_path("rgb.png"), MICA_SHAPE(3, 0, 0), &upright, &shape), MICA_OK);
  for (int orientation = 1; orientation <= 8; orientation++) {
    const bool swap = orientation >= 5;
    const bool second_first = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    files_write("rgb.png", file, make_sideways_png(file, orientation));
    ck_assert_int_eq(mica_image_read(files_path("rgb.png"), MICA_SHAPE(3, 0, 0), &pixels, &shape), MICA_OK);
    ck_assert_int_eq(shape.dim[1], swap ? 2 : 1);
    ck_assert_int_eq(shape.dim[2], swap ? 1 : 2);
    for (int i = 0; i < 6; i++) ck_assert_int_eq(pixels[i], upright[second_first ? i ^ 1 : i]);
    mica_free(pixels);
  }
  mica_free(upright);
  files_remove();
}
END_TEST
#endif

#if MICA_WITH_PNG
START_TEST(pictures_with_alpha_are_counted) {
  static const uint8_t on_black[2][3] = {{100, 50, 25}, {0, 0, 0}};
  mica_dataset *dataset = NULL;
  uint8_t *pixels = NULL;
  mica_shape shape;
  files_write("data/a/1.png", rgba, sizeof rgba);
  files_write("data/a/2.png", rgb, sizeof rgb);
  files_write("data/b/1.PNG", palette, sizeof palette);
  ck_assert_int_eq(mica_dataset_open(files_path("data"), NULL, &dataset), MICA_OK);
  ck_assert_str_eq(mica_dataset_summary(dataset),
                   "2 of 3 pictures have an alpha channel; transparent pixels are shown over black");
  mica_dataset_destroy(dataset);
  ck_assert_int_eq(mica_image_read(files_path("data/a/1.png"), MICA_SHAPE(3, 0, 0), &pixels, &shape), MICA_OK);
  for (int i = 0; i < 6; i++) ck_assert_int_eq(pixels[i], on_black[i % 2][i / 2]);
  mica_free(pixels);
  files_remove();
}
END_TEST

/* Files of other kinds beside pictures are counted, and the first five are named; hidden ones are not. */
START_TEST(files_of_other_kinds_are_named) {
  static const char *const names[] = {"1.webp", "2.gif", "3.BMP", "4.tiff", "5.heic", "6.txt", ".hidden"};
  mica_dataset *dataset = NULL;
  char wanted[2048];
  files_write("data/a/1.png", rgb, sizeof rgb);
  files_write("data/b/1.png", rgb, sizeof rgb);
  files_write("data/b/9.webp", rgb, sizeof rgb);
  ck_assert_int_eq(mica_dataset_open(files_path("data"), NULL, &dataset), MICA_OK);
  snprintf(wanted, sizeof wanted, "1 file is not PNG or JPEG and is not used: %s", files_path("data/b/9.webp"));
  ck_assert_str_eq(mica_dataset_summary(dataset), wanted);
  ck_assert_uint_eq(mica_dataset_count(dataset), 2);
  mica_dataset_destroy(dataset);
  files_write("data/b/inner/1.webp", rgb, sizeof rgb);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char name[64];
    snprintf(name, sizeof name, "data/a/%s", names[i]);
    files_write(name, rgb, sizeof rgb);
  }
  ck_assert_int_eq(mica_dataset_open(files_path("data"), NULL, &dataset), MICA_OK);
  const char *summary = mica_dataset_summary(dataset);
  ck_assert(strstr(summary, "8 files are not PNG or JPEG and are not used: ") == summary);
  ck_assert(strstr(summary, "1.webp, ") && strstr(summary, "5.heic, ...") && !strstr(summary, "hidden"));
  mica_dataset_destroy(dataset);
  files_remove();
}
END_TEST

/* Every fourth of 400 has one. Every second is looked at, so that 100 are found. */
START_TEST(many_pictures_are_looked_at_evenly) {
  mica_dataset *dataset = NULL;
  for (int i = 0; i < 400; i++) {
    char name[32];
    snprintf(name, sizeof name, "data/%c/%03d.png", i < 200 ? 'a' : 'b', i);
    files_write(name, i % 4 ? rgb : rgba, i % 4 ? sizeof rgb : sizeof rgba);
  }
  ck_assert_int_eq(mica_dataset_open(files_path("data"), NULL, &dataset), MICA_OK);
  ck_assert_str_eq(mica_dataset_summary(dataset),
                   "100 of the 200 pictures looked at have an alpha channel; transparent pixels are shown over black");
  mica_dataset_destroy(dataset);
  files_remove();
}
END_TEST
#endif

/* A grey picture before one with colours, and the other way round: both datasets have colours. */
START_TEST(one_with_colours_makes_all_coloured) {
  static const uint8_t grey[2][2] = {{10, 20}, {30, 40}};
  for (int first = 0; first < 2; first++) {
    mica_dataset *dataset = NULL;
    uint8_t *file = NULL, pixels[3 * 64] = {0};
    size_t size = 0;
    ck_assert_int_eq(mica_png_encode(&grey[0][0], MICA_SHAPE(1, 2, 2), &file, &size), MICA_OK);
    files_write(first ? "mixed/a/1.png" : "mixed/a/2.png", file, size);
    files_write(first ? "mixed/a/2.png" : "mixed/a/1.png", rgb, sizeof rgb);
    ck_assert_int_eq(mica_dataset_open(files_path("mixed"), &(mica_dataset_config){.height = 2, .width = 2}, &dataset),
                     MICA_OK);
    ck_assert_int_eq((int)mica_dataset_shape(dataset).dim[0], 3);
    ck_assert_int_eq(mica_dataset_read(dataset, 0, first ? 0 : 1, pixels, 12), MICA_OK);
    for (int c = 0; c < 3; c++) ck_assert_mem_eq(pixels + c * 4, grey, 4);
    mica_dataset_destroy(dataset);
    mica_free(file);
    files_remove();
  }
}
END_TEST

START_TEST(a_picture_comes_back) {
  uint8_t pixels[3 * 4 * 5], *file = NULL;
  size_t size = 0;
  for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * 37);
#if MICA_WITH_PNG
  mica__image image = {0};
  ck_ok(mica_png_encode(pixels, MICA_SHAPE(3, 4, 5), &file, &size));
  ck_ok(mica__png_decode("picture", file, size, 3, &image));
  ck_assert(image.height == 4 && image.width == 5);
  for (size_t i = 0; i < sizeof pixels; i++) ck_assert_uint_eq(image.pixels[i % 20 * 3 + i / 20], pixels[i]);
  free(image.pixels);
  mica_free(file);
  static const mica_shape wrong[] = {{3, {2, 4, 5}}, {3, {3, 0, 5}}, {3, {3, 4, 1 << 20}}, {2, {4, 5}}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_int_eq(mica_png_encode(pixels, wrong[i], &file, &size), MICA_E_SHAPE);
#else
  ck_assert_int_eq(mica_png_encode(pixels, MICA_SHAPE(3, 4, 5), &file, &size), MICA_E_UNSUPPORTED);
#endif
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, print_is_named, a_picture_comes_back, IF(PNG, one_with_colours_makes_all_coloured),
      sides_are_found_behind_filling_bytes, orientation_is_read, orientation_is_read_after_fill_bytes,
      orientation_of_another_type_is_read, broken_exif_is_upright, pictures_are_rotated, orientation_of_png_is_read,
      IF(PNG, png_is_rotated), alpha_is_found, IF(PNG, pictures_with_alpha_are_counted),
      IF(PNG, many_pictures_are_looked_at_evenly), IF(PNG, files_of_other_kinds_are_named))
