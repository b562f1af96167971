/* labels: device slow
 *
 * Inputs and heads in other pairs than the oldest tasks have: each learns a rule that the test made, and what is
 * evaluated and predicted fits it. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t state;

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)state * below) >> 32);
}

static mica_run *train(const mica_run_config *config) {
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), config, &run));
  ck_ok(mica_run_fit(run));
  ck_assert_ptr_null(mica_run_stopped(run));
  return run;
}

/* --- many columns --- */

enum { MANY = 70, ROWS = 400 };

/* The answer is the last column of seventy; the one before it is called as boxes call the objects that do not count. */
START_TEST(seventy_columns_of_classes) {
  static const mica_setting settings[] = {{"epochs", "20"}, {"batch", "20"}, {"lr", "0.01"}};
  char data[512], folder[512];
  mica_metrics m;
  size_t count = 0;
  snprintf(data, sizeof data, "%s", files_path("many.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("many"));
  FILE *file = fopen(data, "w");
  ck_assert_ptr_nonnull(file);
  for (int k = 0; k < MANY - 2; k++) fprintf(file, "c%d,", k);
  fputs("ignored,last,kind\n", file);
  state = 5;
  for (int i = 0; i < ROWS; i++) {
    uint32_t is = 0;
    for (int k = 0; k < MANY; k++) fprintf(file, "%s,", (is = draw(2)) ? "on" : "off");
    fprintf(file, "%s\n", is ? "yes" : "no");
  }
  fclose(file);
  mica_run *run = train(
      &(mica_run_config){.task = "classify", .data = data, .folder = folder, .settings = settings, .setting_count = 3});
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  mica_run_fact(run, "categories", &count);
  ck_assert_uint_eq(count, MANY);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_double_gt(mica_metrics_get(&m, "accuracy"), 0.95);
  ck_ok(mica_run_export(run, files_path("many.onnx"), NULL));
  mica_run_destroy(run);
  mica_onnx *model = NULL;
  ck_ok(mica_onnx_open(files_path("many.onnx"), &model));
  ck_assert_uint_eq(mica_onnx_input_count(model), MANY);
  mica_onnx_close(model);
}
END_TEST

/* Several labels per sample beside seventy columns: the last columns count in a test too. */
START_TEST(seventy_columns_and_labels) {
  static const mica_setting settings[] = {{"epochs", "25"}, {"batch", "20"}, {"lr", "0.01"}};
  static int32_t classes[MANY][ROWS];
  static uint8_t labels[ROWS][2];
  static char names[MANY][8];
  mica_column_data columns[MANY + 1];
  mica_dataset *data = NULL;
  mica_metrics m;
  state = 6;
  for (int k = 0; k < MANY; k++) {
    snprintf(names[k], sizeof names[k], "c%d", k);
    columns[k] = (mica_column_data){
        .column = {.name = names[k], .kind = MICA_COLUMN_KIND_CLASS, .dtype = MICA_I32, .classes = 2},
        .data = classes[k]};
    for (int i = 0; i < ROWS; i++) classes[k][i] = (int32_t)draw(2);
  }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < 2; j++) labels[i][j] = (uint8_t)classes[MANY - 2 + j][i];
  columns[MANY] = (mica_column_data){
      .column = {.name = "label", .kind = MICA_COLUMN_KIND_CLASSES, .dtype = MICA_U8, .shape = {1, {2}}, .classes = 2},
      .data = labels};
  ck_ok(mica_dataset_create("many", ROWS, columns, MANY + 1, &data));
  mica_run *run =
      train(&(mica_run_config){.task = "classify", .dataset = data, .settings = settings, .setting_count = 3});
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_double_gt(mica_metrics_get(&m, "map"), 0.95);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
}
END_TEST

Suite *test_suite(void) {
#if !MICA_WITH_CJSON
  return test_skip("this build has no cJSON");
#else
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("run.heads");
  TCase *all = tcase_create("all");
  tcase_add_unchecked_fixture(all, NULL, files_remove);
  tcase_set_timeout(all, 0);
  tcase_add_test(all, seventy_columns_of_classes);
  tcase_add_test(all, seventy_columns_and_labels);
  suite_add_tcase(suite, all);
  return suite;
#endif
}
