/* labels: device slow
 *
 * The task verify on made pictures: classes that training never sees, what a test and a report say of them, files of
 * other classes, and a dataset of the caller's. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 12, CLASSES = 8, EACH = 25, COUNT = CLASSES * EACH };

static uint32_t state;

static double draw(void) {
  state = state * 1664525u + 1013904223u;
  return (double)state / 4294967296.0;
}

/* A wave in the direction of its class, of any phase, with noise. */
static void paint(int class_index, uint8_t *pixels) {
  const double angle = 3.14159265 * class_index / CLASSES, phase = 2 * draw();
  for (int r = 0; r < SIDE; r++)
    for (int c = 0; c < SIDE; c++) {
      const double y = 120 + 85 * sin(1.3 * (c * cos(angle) + r * sin(angle)) + phase) + 30 * draw();
      pixels[r * SIDE + c] = (uint8_t)fmax(0, fmin(255, y));
    }
}

static void put(uint8_t *to, uint32_t number) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(number >> (24 - 8 * i));
}

/* A folder of IDX files, whose classes have the names 0 to 7. */
static void write_waves(const char *folder) {
  static uint8_t images[16 + COUNT * SIDE * SIDE], labels[8 + COUNT];
  char name[64];
  state = 9;
  put(images, 0x803), put(images + 4, COUNT), put(images + 8, SIDE), put(images + 12, SIDE);
  put(labels, 0x801), put(labels + 4, COUNT);
  for (int i = 0; i < COUNT; i++) {
    labels[8 + i] = (uint8_t)(i % CLASSES);
    paint(i % CLASSES, images + 16 + i * SIDE * SIDE);
  }
  snprintf(name, sizeof name, "%s/train-images-idx3-ubyte", folder);
  files_write(name, images, sizeof images);
  snprintf(name, sizeof name, "%s/train-labels-idx1-ubyte", folder);
  files_write(name, labels, sizeof labels);
}

static mica_run *train(const char *data, const char *folder, const char *loss) {
  const mica_setting settings[] = {{"epochs", "12"}, {"batch", "20"},     {"unseen", "1,4,6"},
                                   {"seed", "2"},    {"embedding", "16"}, {"loss", loss}};
  const size_t count = sizeof settings / sizeof *settings;
  mica_run *run = NULL;
  ck_ok(mica_run_create(
      test_engine(),
      &(mica_run_config){
          .task = "verify", .data = data, .folder = folder, .settings = settings, .setting_count = count},
      &run));
  ck_ok(mica_run_fit(run));
  return run;
}

static void check_report(mica_run *run) {
  mica_report *report = NULL;
  const mica_item *roc = NULL, *classes = NULL;
  ck_ok(mica_run_report(run, &report));
  for (size_t s = 0; s < mica_report_count(report); s++)
    if (mica_report_find(report, s, "roc"))
      roc = mica_report_find(report, s, "roc"), classes = mica_report_find(report, s, "similarities");
  ck_assert_ptr_nonnull(roc);
  ck_assert_ptr_nonnull(classes);
  ck_assert_uint_eq(classes->rows, 3);
  for (size_t k = 0; k < 3; k++) {
    ck_assert(strchr("146", classes->row_names[k][0]) != NULL);
    ck_assert_double_eq(classes->numbers[3 * k], EACH);
    ck_assert_double_gt(classes->numbers[3 * k + 1], classes->numbers[3 * k + 2]);
  }
  ck_assert_uint_gt(roc->rows, 10);
  ck_assert_double_eq(roc->numbers[0] + roc->numbers[1], 0);
  ck_assert_double_eq(roc->numbers[2 * roc->rows - 2] + roc->numbers[2 * roc->rows - 1], 2);
  mica_report_destroy(report);
}

START_TEST(classes_that_were_not_seen) {
  static const char *const losses[] = {"triplet", "arcface", "ge2e"};
  char data[512], folder[512];
  mica_metrics before, after;
  size_t count = 0;
  write_waves("waves");
  snprintf(data, sizeof data, "%s", files_path("waves"));
  for (size_t loss = 0; loss < 3; loss++) {
    snprintf(folder, sizeof folder, "%s", files_path(losses[loss]));
    mica_run *run = train(data, folder, losses[loss]);
    ck_assert_uint_eq(mica_dataset_count(mica_run_data(run, MICA_PART_TRAIN)) +
                          mica_dataset_count(mica_run_data(run, MICA_PART_VALIDATION)),
                      5 * EACH);
    ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TEST, &before));
    ck_assert_int_eq(before.samples, 3 * EACH);
    ck_assert_double_lt(mica_metrics_get(&before, "eer"), 0.1);
    ck_assert_double_gt(mica_metrics_get(&before, "auc"), 0.9);
    ck_assert_double_gt(mica_metrics_get(&before, "nearest"), 0.9);
    ck_assert(isfinite(before.loss));
    check_report(run);
    mica_run_destroy(run);
    ck_ok(mica_run_open(test_engine(), folder, &run));
    const char *const *unseen = mica_run_fact(run, "unseen", &count);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(unseen[1], "4");
    ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TEST, &after));
    ck_assert_double_eq(mica_metrics_get(&before, "eer"), mica_metrics_get(&after, "eer"));
    ck_assert_double_eq(mica_metrics_get(&before, "threshold"), mica_metrics_get(&after, "threshold"));
    mica_run_destroy(run);
  }
}
END_TEST

/* The first sample of the test part beside the next ones. */
START_TEST(samples_of_data) {
  char data[512];
  mica_run *run = NULL;
  mica_report *p = NULL;
  snprintf(data, sizeof data, "%s", files_path("waves"));
  ck_ok(mica_run_open(test_engine(), files_path("triplet"), &run));
  ck_ok(mica_run_predict(run, &(mica_run_input){.data = data, .part = MICA_PART_TEST, .count = 9}, &p));
  ck_assert_uint_eq(mica_report_count(p), 8);
  /* Their classes are 1 4 6 1 4 6 ... */
  double same = 1, other = -1;
  for (size_t i = 0; i < 8; i++) {
    const double similarity = mica_report_find(p, i, "similarity")->number;
    if ((i + 1) % 3 == 0)
      same = fmin(same, similarity);
    else
      other = fmax(other, similarity);
  }
  ck_assert_double_gt(same, other);
  mica_report_destroy(p);
  ck_assert_int_eq(mica_run_predict(run, &(mica_run_input){.text = "1,2"}, &p), MICA_E_INVALID);
  mica_run_destroy(run);
}
END_TEST

/* Samples in memory: all classes are trained on, and validation has some samples of each. */
START_TEST(data_of_the_caller) {
  static uint8_t pixels[COUNT][SIDE * SIDE];
  static int32_t labels[COUNT];
  static const mica_setting two[] = {{"epochs", "12"}, {"batch", "20"}};
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_metrics m;
  state = 4;
  for (int i = 0; i < COUNT; i++) paint(labels[i] = i % CLASSES, pixels[i]);
  const mica_column_data columns[] = {
      {.column = {"image", MICA_COLUMN_KIND_IMAGE, MICA_U8, {3, {1, SIDE, SIDE}}, 0}, .data = pixels},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, {0}, CLASSES}, .data = labels}};
  ck_ok(mica_dataset_create("waves", COUNT, columns, 2, &data));
  ck_ok(mica_run_create(
      test_engine(), &(mica_run_config){.task = "verify", .dataset = data, .settings = two, .setting_count = 2}, &run));
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_int_eq(m.samples, COUNT / 10);
  ck_assert_double_lt(mica_metrics_get(&m, "eer"), 0.1);
  mica_run_destroy(run);
  const mica_setting mixed[] = {{"augment", "mixup"}};
  ck_assert_int_eq(
      mica_run_create(test_engine(),
                      &(mica_run_config){.task = "verify", .dataset = data, .settings = mixed, .setting_count = 1},
                      &run),
      MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "mixup blends classes"));
  mica_dataset_destroy(data);
}
END_TEST

/* The default network for pictures takes the setting "width". */
START_TEST(width_of_the_network) {
  static const mica_setting settings[] = {{"epochs", "1"}, {"width", "8"}};
  mica_run *run = NULL;
  write_waves("narrow");
  const mica_run_config config = {
      .task = "verify", .data = files_path("narrow"), .settings = settings, .setting_count = 2};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_setting(run, "model"), "convnet");
  for (size_t i = 0; mica_run_remark(run, i); i++) ck_assert_ptr_null(strstr(mica_run_remark(run, i), "width does"));
  mica_run_destroy(run);
}
END_TEST

TEST_GROUPS(DEVICE, ONCE(NULL, files_remove, classes_that_were_not_seen, samples_of_data, data_of_the_caller,
                         width_of_the_network))
