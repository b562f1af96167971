/* labels: null
 *
 * Real data where it is: Fashion-MNIST of Debian's package, and what lies in ../shared/data. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool has_fashion_mnist(void) { return access("/usr/share/datasets/fashion-mnist", R_OK) == 0; }

/* The part of the dataset, with so many samples and classes. */
static mica_dataset *open_part(const char *path, mica_part part, uint64_t count, int32_t classes) {
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(path, &(mica_dataset_config){.part = part}, &dataset));
  ck_assert_uint_eq(mica_dataset_count(dataset), count);
  ck_assert_int_eq(mica_dataset_classes(dataset), classes);
  return dataset;
}

static void check_means(const mica_dataset *dataset, const float *means, const float *deviations, double tolerance) {
  float mean[3], deviation[3];
  ck_ok(mica_dataset_measure(dataset, mean, deviation));
  for (int64_t c = 0; c < mica_dataset_shape(dataset).dim[0]; c++) {
    ck_assert_double_eq_tol(mean[c], means[c], tolerance);
    ck_assert_double_eq_tol(deviation[c], deviations[c], tolerance);
  }
}

START_TEST(fashion_mnist) {
  mica_dataset *train = open_part("fashion-mnist", MICA_PART_TRAIN, 60000, 10);
  mica_dataset *test = open_part("fashion-mnist", MICA_PART_TEST, 10000, 10);
  check_means(train, &(float){0.2860f}, &(float){0.3530f}, 2e-3);
  ck_assert_str_eq(mica_dataset_class_name(train, mica_dataset_label(train, 0)), "ankle boot");
  ck_assert_int_eq(mica_dataset_label(test, 1), 2);
  uint64_t counts[10] = {0};
  for (uint64_t i = 0; i < 60000; i++) counts[mica_dataset_label(train, i)]++;
  for (int i = 0; i < 10; i++) ck_assert_uint_eq(counts[i], 6000);
  mica_dataset_destroy(train);
  mica_dataset_destroy(test);
}
END_TEST

START_TEST(mnist) {
  const char *path = files_shared("mnist");
  mica_dataset *train = open_part(path, MICA_PART_TRAIN, 60000, 10);
  check_means(train, &(float){0.1307f}, &(float){0.3081f}, 2e-3);
  mica_dataset_destroy(train);
}
END_TEST

START_TEST(cifar10) {
  const char *path = files_shared("cifar10");
  mica_dataset *train = open_part(path, MICA_PART_TRAIN, 10000, 10);
  mica_dataset *test = open_part(path, MICA_PART_TEST, 2000, 10);
  check_means(train, (float[]){0.4914f, 0.4822f, 0.4465f}, (float[]){0.2470f, 0.2435f, 0.2616f}, 1e-2);
  ck_assert_str_eq(mica_dataset_class_name(train, mica_dataset_label(train, 9)), "truck");
  mica_dataset_destroy(train);
  mica_dataset_destroy(test);
}
END_TEST

START_TEST(optdigits) {
  const char *path = files_shared("optdigits/optdigits.tra");
  float row[64];
  mica_dataset *dataset = NULL;
  ck_ok(mica_dataset_open(path, NULL, &dataset));
  ck_assert_int_eq(mica_dataset_classes(dataset), 10);
  ck_assert(mica_shape_equal(mica_dataset_shape(dataset), MICA_SHAPE(64)));
  ck_assert_int_eq(mica_dataset_label(dataset, 2), 4);
  ck_ok(mica_dataset_input(dataset, 0, row, sizeof row));
  ck_assert(row[1] == 1 && row[2] == 6 && row[63] == 0);
  mica_dataset_destroy(dataset);
}
END_TEST

#if MICA_WITH_PNG
START_TEST(folders_of_pictures) {
  mica_dataset *dataset = NULL;
  const char *path = files_shared("isbi_membrane/train");
  static uint8_t input[32 * 48];
  ck_ok(mica_dataset_open(path, &(mica_dataset_config){.height = 32, .width = 48}, &dataset));
  ck_assert_int_eq(mica_dataset_classes(dataset), 2);
  ck_assert_str_eq(mica_dataset_class_name(dataset, 1), "label");
  ck_assert(mica_shape_equal(mica_dataset_shape(dataset), MICA_SHAPE(1, 32, 48)));
  ck_ok(mica_dataset_input(dataset, mica_dataset_count(dataset) - 1, input, sizeof input));
  /* Scaling keeps the mean: the picture of a mask is mostly white. */
  double sum = 0;
  for (size_t i = 0; i < sizeof input; i++) sum += input[i];
  ck_assert(sum / sizeof input > 150 && sum / sizeof input < 250);
  mica_dataset_destroy(dataset);
}
END_TEST
#endif

START_TEST(photos) {
  const char *path = files_shared("photos/dog.jpg");
  uint8_t *pixels = NULL;
  mica_shape shape;
#if MICA_WITH_JPEG
  ck_ok(mica_image_read(path, MICA_SHAPE(0, 0, 0), &pixels, &shape));
  ck_assert(mica_shape_equal(shape, MICA_SHAPE(3, 576, 768)));
  double whole = 0, small = 0;
  for (int64_t i = 0; i < 3 * 576 * 768; i++) whole += pixels[i] / (3.0 * 576 * 768);
  free(pixels);
  ck_ok(mica_image_read(path, MICA_SHAPE(3, 36, 48), &pixels, &shape));
  for (int64_t i = 0; i < 3 * 36 * 48; i++) small += pixels[i] / (3.0 * 36 * 48);
  free(pixels);
  ck_assert_double_eq_tol(whole, small, 1);
  /* A file cut short is no picture. */
  static char content[1 << 18];
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(content, 1, sizeof content, file);
  fclose(file);
  files_write("cut.jpg", content, n / 2);
  ck_assert_int_eq(mica_image_read(files_path("cut.jpg"), MICA_SHAPE(0, 0, 0), &pixels, &shape), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "cut.jpg"));
#else
  ck_assert_int_eq(mica_image_read(path, MICA_SHAPE(0, 0, 0), &pixels, &shape), MICA_E_UNSUPPORTED);
#endif
}
END_TEST

Suite *test_suite(void) {
  if (!has_fashion_mnist() && !files_shared("")) return test_skip("no real data");
  Suite *suite = suite_create("real_data");
  TCase *tcase = tcase_create("real_data");
  tcase_add_unchecked_fixture(tcase, NULL, files_remove);
  tcase_set_timeout(tcase, 60);
  if (has_fashion_mnist()) tcase_add_test(tcase, fashion_mnist);
  if (files_shared("mnist")) tcase_add_test(tcase, mnist);
  if (files_shared("cifar10")) tcase_add_test(tcase, cifar10);
  if (files_shared("optdigits")) tcase_add_test(tcase, optdigits);
#if MICA_WITH_PNG
  if (files_shared("isbi_membrane")) tcase_add_test(tcase, folders_of_pictures);
#endif
  if (files_shared("photos")) tcase_add_test(tcase, photos);
  suite_add_tcase(suite, tcase);
  return suite;
}
