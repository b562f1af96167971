/* labels: device
 *
 * Arrays of numbers that f32 would not tell apart: trained on, evaluated, predicted from arrays and tables, exported;
 * and arrays of elements that are others than those trained on. */
#include "run/columns/kinds.h"
#include "run/run.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/io.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <string.h>

#define ROWS 400

static void write_array(const char *name, mica_dtype dtype, mica_shape shape, const void *data) {
  files_write_text(name, "");
  ck_ok(mica_npy_write(files_path(name), dtype, shape, data));
}

/* y = -5e9 + 2 (t - 1700000000) + 100 a, of t within 1,000 s. */
static void write_times(void) {
  static double x[ROWS][2], y[ROWS];
  for (int i = 0; i < ROWS; i++) {
    x[i][0] = 1700000000 + i * 37 % 1000;
    x[i][1] = sin(i);
    y[i] = round(10 * (-5e9 + 2 * (x[i][0] - 1700000000) + 100 * x[i][1])) / 10;
  }
  write_array("times/x_train.npy", MICA_F64, MICA_SHAPE(ROWS, 2), x);
  write_array("times/y_train.npy", MICA_F64, MICA_SHAPE(ROWS), y);
  write_array("times/x_test.npy", MICA_F64, MICA_SHAPE(ROWS / 4, 2), x);
  write_array("times/y_test.npy", MICA_F64, MICA_SHAPE(ROWS / 4), y);
}

static mica_run *train(const char *task, const char *data, const char *folder, const char *epochs) {
  const mica_setting settings[] = {{"epochs", epochs}};
  const mica_run_config config = {
      .task = task, .data = data, .folder = folder, .settings = settings, .setting_count = 1};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  return run;
}

static mica_report *predict(mica_run *run, const mica_run_input *input) {
  mica_report *p = NULL;
  ck_ok(mica_run_predict(run, input, &p));
  return p;
}

static double value_of(const mica_report *p, size_t i) { return mica_report_find(p, i, "value")->number; }

/* Values of the first row by all that holds it are those of the test part. */
static void expect_alike(mica_run *run) {
  static const double row[2] = {1700000037, 0.8414709848078965};
  static const float cut[2] = {1700000000, 0.84147f};
  char given[4096];
  const char *path = given;
  snprintf(given, sizeof given, "%s", files_path("row.npy"));
  mica_report *whole = predict(run, &(mica_run_input){.data = files_path("times"), .part = MICA_PART_TEST});
  const double value = value_of(whole, 1), truth = mica_report_find(whole, 1, "truth")->number;
  /* What the file holds, not what f32 made of it. */
  ck_assert_double_eq(truth, round(10 * (-5e9 + 74 + 100 * row[1])) / 10);
  ck_assert_msg(fabs(value - truth) < 60, "%.3f is not %.3f", value, truth);
  mica_report_destroy(whole);
  write_array("row.npy", MICA_F64, MICA_SHAPE(1, 2), row);
  mica_report *p = predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  ck_assert_double_eq_tol(value_of(p, 0), value, 0.01);
  mica_report_destroy(p);
  p = predict(run, &(mica_run_input){.text = "1700000037,0.8414709848078965\n"});
  ck_assert_double_eq_tol(value_of(p, 0), value, 0.01);
  mica_report_destroy(p);
  write_array("row.npy", MICA_F32, MICA_SHAPE(1, 2), cut);
  ck_assert_int_eq(mica_run_predict(run, &(mica_run_input){.files = &path, .file_count = 1}, &p), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "whose steps are 128 at 1700000000") != NULL, "%s", mica_error_message());
}

START_TEST(arrays_of_large_numbers_are_learned) {
  mica_metrics m;
  mica_run *run = NULL;
  mica_onnx *model = NULL;
  write_times();
  run = train("regress", files_path("times"), files_path("run"), "30");
  ck_assert_msg(strstr(mica_run_remark(run, 0), "'0' are 1700000000 to 1700000999") != NULL, "%s",
                mica_run_remark(run, 0));
  ck_assert_msg(strstr(mica_run_remark(run, 1), "added to what is predicted") != NULL, "%s", mica_run_remark(run, 1));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TEST, &m));
  ck_assert_msg(mica_metrics_get(&m, "r2") > 0.99, "R2 %g", mica_metrics_get(&m, "r2"));
  const double rmse = mica_metrics_get(&m, "rmse");
  expect_alike(run);
  mica_status status = mica_run_export(run, files_path("run.onnx"), NULL);
  ck_assert(status == MICA_OK || status == MICA_E_UNSUPPORTED);
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), files_path("run"), &run));
  ck_ok(mica_run_evaluate(run, files_path("times"), MICA_PART_TEST, &m));
  ck_assert_double_eq_tol(mica_metrics_get(&m, "rmse"), rmse, 1e-3);
  expect_alike(run);
  mica_run_destroy(run);
  if (status != MICA_OK) return;
  ck_ok(mica_onnx_open(files_path("run.onnx"), &model));
  ck_assert_msg(!strncmp(mica_onnx_metadata(model, "bases"), "{\"0\": 1700000000, \"label\": -", 27), "%s",
                mica_onnx_metadata(model, "bases"));
  ck_assert_str_eq(mica_onnx_metadata(model, "answer"), "[\"label\"]");
  mica_onnx_close(model);
  ck_ok(mica_run_open(test_engine(), files_path("run.onnx"), &run));
  expect_alike(run);
  mica_run_destroy(run);
}
END_TEST

/* A column may be called a=b: names and numbers are told apart, in lines of older models as in an object. */
START_TEST(bases_of_models_are_parsed) {
  static const struct {
    const char *bases, *columns, *lines;
  } cases[] = {{"a=b=5\nt=1700000000", NULL, "a=b=5\nt=1700000000"},
               {"{\"a=b\": 5, \"t\\\"\": 1700000000.25}", NULL, "a=b=5\nt\"=1700000000.25\n"},
               {"{\"t\": 7}", "[\"u\", \"t\"]", "t=7\n1=7\n"},
               {"{\"1\": 7}", "[\"1\", \"0\"]", "1=7\n"},
               {"{}", "[\"t\"]", NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica__text lines = {0};
    ck_ok(mica__bases_parse(cases[i].bases, cases[i].columns, &lines));
    if (cases[i].lines)
      ck_assert_str_eq(lines.data, cases[i].lines);
    else
      ck_assert_uint_eq(lines.length, 0);
    mica__text_free(&lines);
  }
  mica__text lines = {0};
  ck_assert_int_eq(mica__bases_parse("{\"t\": ", NULL, &lines), MICA_E_FORMAT);
}
END_TEST

START_TEST(numbers_above_a_base_are_those_of_the_file) {
  static const double cases[][2] = {{5000001930.1, 5000000000.05},     {-4999999998.75, -5000000000.25},
                                    {1700000123, 1700000000},          {-4000000000000.5, -4000000000001.25},
                                    {5000000000.05, 5000000000.05},    {0.1, 0},
                                    {1700000000.015625, 1700000000.0}, {2023.5, 2000}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const float number = (float)(cases[i][0] - cases[i][1]);
    ck_assert_double_eq(mica__run_above_base(number, cases[i][1]), cases[i][1] != 0 ? cases[i][0] : (double)number);
  }
}
END_TEST

/* Elements of u8 are divided by 255, others are not. */
START_TEST(arrays_of_other_elements_are_refused) {
  static uint8_t bytes[ROWS][3];
  static int64_t whole[ROWS][3], classes[ROWS];
  static float share[ROWS][3], plain[ROWS][3];
  char given[4096];
  const char *path = given;
  const mica_run_input input = {.files = &path, .file_count = 1};
  mica_report *p = NULL, *q = NULL;
  snprintf(given, sizeof given, "%s", files_path("given.npy"));
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < 3; k++) {
      bytes[i][k] = (uint8_t)(i * (37 + 2 * k) % 256);
      whole[i][k] = bytes[i][k];
      plain[i][k] = bytes[i][k];
      share[i][k] = (float)bytes[i][k] / 255;
    }
    classes[i] = bytes[i][0] > 127;
  }
  write_array("bytes/x_train.npy", MICA_U8, MICA_SHAPE(ROWS, 3), bytes);
  write_array("bytes/y_train.npy", MICA_I64, MICA_SHAPE(ROWS), classes);
  mica_run *run = train("classify", files_path("bytes"), NULL, "2");
  write_array("given.npy", MICA_I64, MICA_SHAPE(ROWS, 3), whole);
  ck_assert_int_eq(mica_run_predict(run, &input, &p), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "holds i64 from 0 to 255") != NULL, "%s", mica_error_message());
  write_array("given.npy", MICA_F32, MICA_SHAPE(ROWS, 3), plain);
  ck_assert_int_eq(mica_run_predict(run, &input, &p), MICA_E_FORMAT);
  write_array("given.npy", MICA_F32, MICA_SHAPE(ROWS, 3), share);
  p = predict(run, &input);
  write_array("given.npy", MICA_U8, MICA_SHAPE(ROWS, 3), bytes);
  q = predict(run, &input);
  ck_assert_double_eq(mica_report_item(p, 9, 0)->number, mica_report_item(q, 9, 0)->number);
  mica_report_destroy(p);
  mica_report_destroy(q);
  mica_run_destroy(run);
  write_array("bytes/x_train.npy", MICA_I64, MICA_SHAPE(ROWS, 3), whole);
  run = train("classify", files_path("bytes"), NULL, "2");
  ck_assert_int_eq(mica_run_predict(run, &input, &p), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "holds u8, which is divided by 255") != NULL, "%s", mica_error_message());
  mica_run_destroy(run);
  /* Parts of one training, too. */
  write_array("bytes/x_val.npy", MICA_U8, MICA_SHAPE(ROWS, 3), bytes);
  write_array("bytes/y_val.npy", MICA_I64, MICA_SHAPE(ROWS), classes);
  const mica_run_config config = {.data = files_path("bytes")};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_FORMAT);
}
END_TEST

/* Pictures have no base: what f32 makes of them is said. */
START_TEST(pictures_that_f32_does_not_tell_apart_are_named) {
  static double x[ROWS][4];
  static int64_t y[ROWS];
  for (int i = 0; i < ROWS; i++) {
    y[i] = i % 2;
    for (int k = 0; k < 4; k++) x[i][k] = 1e9 + i % 7 + k;
  }
  write_array("far/x_train.npy", MICA_F64, MICA_SHAPE(ROWS, 2, 2), x);
  write_array("far/y_train.npy", MICA_I64, MICA_SHAPE(ROWS), y);
  const mica_setting settings[] = {{"epochs", "1"}, {"model", "mlp"}};
  const mica_run_config config = {.data = files_path("far"), .settings = settings, .setting_count = 2};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_msg(strstr(mica_run_remark(run, 0), "'image' are 1000000000 to 1000000009, where f32") != NULL, "%s",
                mica_run_remark(run, 0));
  mica_run_destroy(run);
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL, arrays_of_large_numbers_are_learned, bases_of_models_are_parsed,
      numbers_above_a_base_are_those_of_the_file, arrays_of_other_elements_are_refused,
      pictures_that_f32_does_not_tell_apart_are_named)
