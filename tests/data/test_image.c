/* labels: null
 *
 * Pictures that are stored sideways: EXIF's orientation in both byte orders, all eight of them, and what is no EXIF. */
#include "data/image.h"
#include "support/check_main.h"

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
  const bool none = strstr(mica_error_message(), "no libjpeg") != NULL; /* in a build without it */
  ck_assert_msg(none || strstr(mica_error_message(), "print.jpg: its colours are CMYK, those of print; convert it"),
                "%s", mica_error_message());
}
END_TEST

/* The beginning of a JPEG file: EXIF with that orientation, then a frame of 3 rows and 2 columns. Returns its size. */
static size_t make_jpeg(uint8_t *file, int orientation, bool little) {
  static const uint8_t exif[2][26] = {
      {'M', 'M', 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
      {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}};
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
      ck_assert_int_eq(mica__jpeg_orientation(file, size), orientation);
      ck_assert(mica__image_size(file, size, &height, &width));
      ck_assert_int_eq(height, orientation >= 5 ? 2 : 3);
      ck_assert_int_eq(width, orientation >= 5 ? 3 : 2);
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
    ck_assert_int_eq(mica__jpeg_orientation(file, size), 1);
  }
  size_t size = make_jpeg(file, 6, true);
  for (size_t cut = 0; cut < 38; cut++) ck_assert_int_eq(mica__jpeg_orientation(file, cut), 1);
  file[16] = 255; /* the directory lies beyond the end */
  ck_assert_int_eq(mica__jpeg_orientation(file, size), 1);
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

Suite *test_suite(void) {
  Suite *suite = suite_create("image");
  TCase *sideways = tcase_create("sideways");
  tcase_add_test(sideways, print_is_named);
  tcase_add_test(sideways, sides_are_found_behind_filling_bytes);
  tcase_add_test(sideways, orientation_is_read);
  tcase_add_test(sideways, broken_exif_is_upright);
  tcase_add_test(sideways, pictures_are_rotated);
  suite_add_tcase(suite, sideways);
  return suite;
}
