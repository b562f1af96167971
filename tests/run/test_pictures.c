/* labels: device slow
 *
 * The defaults for pictures: drawn shapes of any colour, place and angle are learned from a few hundred, whatever
 * the seed; what the caller gives stays. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 20, SHAPES = 4, COUNT = 640, PLANE = SIDE * SIDE };

static uint8_t pictures[COUNT][3][PLANE];
static int32_t labels[COUNT];
static uint32_t state;

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)state * below) >> 32);
}

static double real(double low, double high) { return low + (high - low) * draw(1 << 20) / (1 << 20); }

/* True if the point (x, y) lies in a shape of size 1 around 0: a square, a disc, a triangle, a cross. */
static bool is_inside(int shape, double x, double y) {
  switch (shape) {
  case 0: return fabs(x) < 0.7 && fabs(y) < 0.7;
  case 1: return x * x + y * y < 0.64;
  case 2: return y > -0.5 && y + 1.732 * x < 1 && y - 1.732 * x < 1;
  default: return (fabs(x) < 0.25 && fabs(y) < 1) || (fabs(y) < 0.25 && fabs(x) < 1);
  }
}

static void draw_picture(int i) {
  const double size = real(4.5, 8), angle = real(0, 6.2832), at[2] = {real(size, SIDE - size), real(size, SIDE - size)};
  uint32_t back[3], fore[3], apart = 0;
  while (apart < 150) {
    apart = 0;
    for (int c = 0; c < 3; c++) {
      back[c] = draw(236);
      fore[c] = draw(236);
      apart += back[c] > fore[c] ? back[c] - fore[c] : fore[c] - back[c];
    }
  }
  labels[i] = i % SHAPES;
  for (int p = 0; p < PLANE; p++) {
    const double x = (p % SIDE + 0.5 - at[0]) / size, y = (p / SIDE + 0.5 - at[1]) / size;
    const bool in = is_inside(labels[i], x * cos(angle) + y * sin(angle), y * cos(angle) - x * sin(angle));
    for (int c = 0; c < 3; c++) pictures[i][c][p] = (uint8_t)((in ? fore[c] : back[c]) + draw(20));
  }
}

static mica_dataset *make(uint64_t count, bool classes) {
  static float sizes[COUNT];
  mica_dataset *data = NULL;
  state = 11;
  for (int i = 0; i < COUNT; i++) draw_picture(i);
  for (int i = 0; i < COUNT; i++) sizes[i] = (float)labels[i];
  const mica_column_data columns[] = {
      {.column = {.name = "x", .kind = MICA_COLUMN_KIND_IMAGE, .dtype = MICA_U8, .shape = {3, {3, SIDE, SIDE}}},
       .data = pictures},
      {.column = {.name = "label",
                  .kind = classes ? MICA_COLUMN_KIND_CLASS : MICA_COLUMN_KIND_NUMBER,
                  .dtype = classes ? MICA_I32 : MICA_F32,
                  .classes = classes ? SHAPES : 0},
       .data = classes ? (const void *)labels : sizes}};
  ck_ok(mica_dataset_create("shapes", count, columns, 2, &data));
  return data;
}

/* Seeds of weights and of the validation part. Chance is 25 %; cnn with batches of 64 gets 53 and 37 %. */
START_TEST(few_are_learned) {
  const mica_setting settings[] = {{"seed", _i ? "1" : "0"}, {"validation", "0.25"}};
  mica_dataset *data = make(COUNT, true);
  const mica_run_config config = {.task = "classify", .dataset = data, .settings = settings, .setting_count = 2};
  mica_run *run = NULL;
  mica_metrics m;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_setting(run, "model"), "convnet");
  ck_assert_str_eq(mica_run_setting(run, "batch"), "16");
  ck_assert_str_eq(mica_run_setting(run, "augment"), "crop=2");
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_double_gt(mica_metrics_get(&m, "accuracy"), 0.75);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
}
END_TEST

/* A network, a batch and changes of pictures that the caller names; numbers instead of classes. */
START_TEST(what_is_given_stays) {
  static const struct {
    mica_setting given;
    const char *task, *model, *batch, *augment;
  } table[] = {
      {{"model", "cnn"}, "classify", "cnn", "64", "none"},
      {{"batch", "32"}, "classify", "convnet", "32", "crop=2"},
      {{"augment", "none"}, "classify", "convnet", "16", "none"},
      {{"augment", "flip"}, "classify", "convnet", "16", "flip"},
      {{"epochs", "3"}, "regress", "cnn", "64", "none"},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    mica_dataset *data = make(64, !strcmp(table[i].task, "classify"));
    mica_run *run = NULL;
    const mica_run_config config = {
        .task = table[i].task, .dataset = data, .settings = &table[i].given, .setting_count = 1};
    ck_ok(mica_run_create(test_engine(), &config, &run));
    ck_assert_str_eq(mica_run_setting(run, "model"), table[i].model);
    ck_assert_str_eq(mica_run_setting(run, "batch"), table[i].batch);
    ck_assert_str_eq(mica_run_setting(run, "augment"), table[i].augment);
    mica_run_destroy(run);
    mica_dataset_destroy(data);
  }
}
END_TEST

/* A resumed run keeps the defaults that it began with. */
START_TEST(a_resumed_run_goes_on) {
  static const mica_setting settings[] = {{"epochs", "1"}}, longer[] = {{"epochs", "2"}};
  char folder[512];
  mica_dataset *data = make(64, true);
  mica_run *run = NULL;
  snprintf(folder, sizeof folder, "%s", files_path("shapes"));
  mica_run_config config = {
      .task = "classify", .dataset = data, .folder = folder, .settings = settings, .setting_count = 1};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
  config.resume = true;
  config.settings = longer;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_setting(run, "batch"), "16");
  ck_assert_str_eq(mica_run_setting(run, "augment"), "crop=2");
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
  mica_dataset_destroy(data);
}
END_TEST

/* Sixteen pictures validate: the last epoch within a standard error of the best accuracy is kept, not a lucky one
 * before the learning rate has fallen. */
START_TEST(few_choose_no_lucky_epoch) {
  static const mica_setting settings[] = {{"epochs", "24"}, {"augment", "none"}};
  char folder[512], path[600];
  mica_dataset *data = make(160, true);
  mica_run *run = NULL;
  mica_history *history = NULL;
  mica_safetensors *file = NULL;
  double best = 0;
  int kept = 0;
  snprintf(folder, sizeof folder, "%s", files_path("few"));
  const mica_run_config config = {
      .task = "classify", .dataset = data, .folder = folder, .settings = settings, .setting_count = 2};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_uint_eq(mica_dataset_count(mica_run_data(run, MICA_PART_VALIDATION)), 16);
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
  mica_dataset_destroy(data);
  snprintf(path, sizeof path, "%s/history.csv", folder);
  ck_ok(mica_history_read(path, &history));
  ck_assert_uint_eq(mica_history_rows(history), 24);
  for (size_t i = 0; i < 24; i++) {
    const double accuracy = mica_history_get(history, i, "validation_accuracy");
    if (accuracy >= best - 0.1251) kept = (int)i + 1;
    best = fmax(best, accuracy);
  }
  mica_history_destroy(history);
  snprintf(path, sizeof path, "%s/model.safetensors", folder);
  ck_ok(mica_safetensors_open(path, &file));
  ck_assert_int_eq(atoi(mica_safetensors_metadata(file, "mica.epoch")), kept);
  mica_safetensors_close(file);
}
END_TEST

TESTS(DEVICE, NULL, files_remove, LOOP(few_are_learned, 0, 2), IF(CJSON, a_resumed_run_goes_on),
      few_choose_no_lucky_epoch, what_is_given_stays)
