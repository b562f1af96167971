/* labels: device slow
 *
 * Runs through the library alone: trained, opened, asked, evaluated on data that fit and on data that do not; settings
 * that are wrong; runs of Mica 0.2. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t state;

/* Uniform in [-1, 1). */
static double uniform(void) {
  state = state * 1664525u + 1013904223u;
  return (double)(int32_t)state * 0x1p-31;
}

/* Roughly normal. */
static double normal(void) {
  double sum = 0;
  for (int i = 0; i < 12; i++) sum += uniform();
  return sum / 2;
}

/* Clouds of `kinds` trees in five dimensions, which no two features tell apart alone. */
static void write_trees(const char *name, int rows, const char *const *kinds, int count) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("a,b,c,d,e,kind\n", file);
  state = 1;
  for (int i = 0; i < rows; i++) {
    const int k = i % count, which = kinds[k][0] == 'a' ? 0 : kinds[k][0] == 'b' ? 1 : 2;
    for (int j = 0; j < 5; j++)
      test_print(file, "%.4f,", 3 * (which == 0 ? j % 2 : which == 1 ? 1 - j % 2 : 0.5) + 1 + uniform() / 2);
    fprintf(file, "%s\n", kinds[k]);
  }
  fclose(file);
}

static const char *const kinds[] = {"ash", "birch", "cedar"};

static mica_run *train(const char *task, const char *data, const char *folder, const mica_setting *settings,
                       size_t count) {
  const mica_run_config config = {
      .task = task, .data = data, .folder = folder, .settings = settings, .setting_count = count};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  ck_assert_ptr_null(mica_run_stopped(run));
  return run;
}

/* --- classes --- */

START_TEST(a_run_is_trained_and_opened) {
  static const mica_setting settings[] = {{"epochs", "4"}, {"batch", "16"}, {"class-weights", "balanced"}};
  mica_metrics before, after;
  write_trees("trees.csv", 600, kinds, 3);
  char data[512], folder[512];
  snprintf(data, sizeof data, "%s", files_path("trees.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("trees"));
  mica_run *run = train(NULL, data, folder, settings, 3);
  ck_assert_str_eq(mica_run_task(run), "classify");
  ck_assert_str_eq(mica_run_setting(run, "model"), "mlp");
  mica_metrics kept, again, learned;
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &kept));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TRAIN, &learned));
  /* Another file of these samples is in no parts; the run's own is parted as it was, named or not. */
  char copy[512];
  write_trees("copy.csv", 600, kinds, 3);
  snprintf(copy, sizeof copy, "%s", files_path("copy.csv"));
  ck_ok(mica_run_evaluate(run, copy, MICA_PART_TRAIN, &before));
  ck_assert_double_gt(mica_metrics_get(&before, "accuracy"), 0.95);
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_ok(mica_run_evaluate(run, copy, MICA_PART_TRAIN, &after));
  ck_assert(after.samples == 600 && before.loss == after.loss);
  ck_ok(mica_run_evaluate(run, data, MICA_PART_TRAIN, &after));
  ck_assert(after.samples == 540 && after.loss == learned.loss);
  ck_ok(mica_run_evaluate(run, data, MICA_PART_VALIDATION, &again));
  ck_assert(again.samples == 60 && again.loss == kept.loss);
  /* The share that was kept out of training is found again, and what was trained on is without it. */
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TRAIN, &after));
  ck_assert(after.samples == 540 && after.loss == learned.loss);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &again));
  ck_assert(again.samples == 60 && again.loss == kept.loss);
  ck_assert_int_eq(mica_run_evaluate(run, NULL, MICA_PART_TEST, &again), MICA_E_NOT_FOUND);
  /* Fewer classes, in another order: the run's numbers count. */
  static const char *const two[] = {"cedar", "ash"};
  write_trees("two.csv", 200, two, 2);
  ck_ok(mica_run_evaluate(run, files_path("two.csv"), MICA_PART_TRAIN, &after));
  ck_assert_double_gt(mica_metrics_get(&after, "accuracy"), 0.95);
  ck_assert_double_gt(mica_metrics_get(&after, "f1"), 0.6);
  static const char *const other[] = {"ash", "oak"};
  write_trees("oak.csv", 20, other, 2);
  ck_assert_int_eq(mica_run_evaluate(run, files_path("oak.csv"), MICA_PART_TRAIN, &after), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "line 3: column \"kind\" holds \"oak\"") &&
                    strstr(mica_error_message(), "ash, birch, cedar"),
                "%s", mica_error_message());
  files_write_text("narrow.csv", "a,b,c,kind\n1,2,3,ash\n1,2,3,birch\n");
  ck_assert_int_eq(mica_run_evaluate(run, files_path("narrow.csv"), MICA_PART_TRAIN, &after), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "has no column \"d\""), "%s", mica_error_message());
  mica_run_destroy(run);
}
END_TEST

/* A class whose name is Latin-1: JSON has no such text, yet the run knows it again. */
START_TEST(names_that_are_no_utf8) {
  static const char *const names[] = {"ash", "b\xf6rje"};
  static const mica_setting settings[] = {{"epochs", "2"}, {"batch", "16"}};
  mica_metrics m;
  char data[512], folder[512];
  write_trees("latin.csv", 200, names, 2);
  snprintf(data, sizeof data, "%s", files_path("latin.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("latin"));
  mica_run *run = train("classify", data, folder, settings, 2);
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TRAIN, &m));
  ck_assert_double_gt(mica_metrics_get(&m, "accuracy"), 0.9);
  mica_run_destroy(run);
}
END_TEST

/* What a program of one's own needs: a run, an input, JSON. */
static mica_status predict_as_json(const char *folder, const char *rows, char **json) {
  mica_run *run = NULL;
  mica_report *prediction = NULL;
  mica_status status = mica_run_open(test_engine(), folder, &run);
  if (!status) status = mica_run_predict(run, &(mica_run_input){.text = rows, .top = 1}, &prediction);
  if (!status) status = mica_report_json(prediction, "predictions", "", json);
  mica_report_destroy(prediction);
  mica_run_destroy(run);
  return status;
}

START_TEST(a_program_predicts) {
  static const mica_setting settings[] = {{"epochs", "4"}, {"batch", "16"}, {"loss", "focal"}};
  char *json = NULL;
  char data[512], folder[512];
  write_trees("focal.csv", 600, kinds, 3);
  snprintf(data, sizeof data, "%s", files_path("focal.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("focal"));
  mica_run_destroy(train("classify", data, folder, settings, 3));
  ck_ok(predict_as_json(folder, "a,b,c,d,e\n0.9,4.1,1,3.9,1\n4,1,4,1,4\n", &json));
  const char *first = strstr(json, "\"row 2\", \"prediction\": \"ash\", \"classes\": [{\"name\": \"ash\""),
             *second = strstr(json, "\"birch\"");
  ck_assert_msg(strstr(json, "{\"predictions\": [{") == json && first && second && first < second, "%s", json);
  mica_free(json);
  ck_assert_int_eq(predict_as_json(folder, "1,2,3\n", &json), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "line 1 has 3 columns, but the network was trained on 5"), "%s",
                mica_error_message());
  ck_assert_int_eq(predict_as_json(folder, "1,2,3,4,5\n1,2,x,4,5\n", &json), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "line 2: column \"c\" holds \"x\", which is not a number"), "%s",
                mica_error_message());
  ck_assert_int_eq(predict_as_json(files_path("nowhere"), "1\n", &json), MICA_E_NOT_FOUND);
}
END_TEST

/* --- several labels --- */

#define ROWS 400
#define FEATURES 4

/* Three labels, each the sign of a sum of features, from arrays of the caller's. */
START_TEST(several_labels_a_sample) {
  static const char *const names[] = {"wet", "cold", "dark"};
  static float x[ROWS][FEATURES];
  static uint8_t y[ROWS][3];
  static const mica_setting settings[] = {{"epochs", "20"}, {"batch", "20"}};
  const mica_column_data columns[] = {
      {.column = {.name = "x", .kind = MICA_COLUMN_KIND_NUMBER, .dtype = MICA_F32, .shape = {1, {FEATURES}}},
       .data = x},
      {.column = {.name = "label", .kind = MICA_COLUMN_KIND_CLASSES, .dtype = MICA_U8, .shape = {1, {3}}, .classes = 3},
       .data = y,
       .class_names = names}};
  mica_dataset *data = NULL;
  mica_run *run = NULL;
  mica_metrics m;
  state = 5;
  for (int i = 0; i < ROWS; i++) {
    for (int k = 0; k < FEATURES; k++) x[i][k] = (float)uniform();
    for (int k = 0; k < 3; k++) y[i][k] = x[i][k] + x[i][k + 1] > 0;
  }
  ck_ok(mica_dataset_create("weather", ROWS, columns, 2, &data));
  const mica_run_config config = {.dataset = data, .settings = settings, .setting_count = 2};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_task(run), "classify");
  ck_ok(mica_run_fit(run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_msg(mica_metrics_get(&m, "map") > 0.97 && mica_metrics_get(&m, "accuracy") > 0.9, "mAP %g, accuracy %g",
                mica_metrics_get(&m, "map"), mica_metrics_get(&m, "accuracy"));
  mica_run_destroy(run);
  static const mica_setting single[][2] = {{{"loss", "focal"}, {"label-smoothing", "0.5"}},
                                           {{"label-smoothing", "0.5"}, {"loss", "cross_entropy"}}};
  for (int i = 0; i < 2; i++) {
    const mica_run_config wrong = {.dataset = data, .settings = single[i], .setting_count = 2 - (size_t)!i};
    ck_assert_int_eq(mica_run_create(test_engine(), &wrong, &run), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), "is for one label per sample") != NULL, "%s", mica_error_message());
  }
  mica_dataset_destroy(data);
}
END_TEST

/* --- losses --- */

/* With weights of classes, and a last batch that is smaller, the loss does not depend on how samples are batched; with
 * a weight that is no number it is refused. */
START_TEST(losses_are_means) {
  static const mica_setting settings[] = {{"epochs", "1"}, {"batch", "16"}, {"class-weights", "1,5,2"}};
  static const int64_t batches[] = {1, 7, 64, 150};
  mica_dataset *data = NULL;
  mica_metrics m;
  double loss = 0;
  write_trees("means.csv", 150, kinds, 3);
  mica_run *run = train(NULL, files_path("means.csv"), NULL, settings, 3);
  ck_ok(mica_dataset_open(files_path("means.csv"), NULL, &data));
  for (size_t i = 0; i < 4; i++) {
    mica_loader *loader = NULL;
    ck_ok(mica_loader_create(test_engine(), data, &(mica_loader_config){.batch = batches[i]}, &loader));
    const mica_batch_source source = mica_loader_source(loader);
    ck_ok(mica_trainer_test(mica_run_trainer(run), &source, &m));
    if (i) ck_assert_double_eq_tol(m.loss, loss, 1e-6 * loss);
    ck_assert_int_eq(m.samples, 150);
    loss = m.loss;
    mica_loader_destroy(loader);
  }
  mica_tensor *bias = mica_session_parameter(mica_trainer_test_session(mica_run_trainer(run)), "fc2.bias");
  const float bad[3] = {0, NAN, 0};
  ck_ok(mica_tensor_upload(test_queue(), bias, bad, sizeof bad));
  ck_assert_int_eq(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m), MICA_E_NUMERIC);
  ck_assert_msg(strstr(mica_error_message(), "is not a number"), "%s", mica_error_message());
  mica_dataset_destroy(data);
  mica_run_destroy(run);
}
END_TEST

/* --- numbers --- */

/* 4,000 rows of a function of six numbers and noise of a fiftieth of the variance, so that no model has a better R2
 * than 0.98. */
static void write_numbers(const char *name, double scale) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("a,b,c,d,e,f,target\n", file);
  state = 7;
  static double f[4000], x[4000][6];
  double mean = 0, variance = 0;
  for (int i = 0; i < 4000; i++) {
    for (int j = 0; j < 6; j++) x[i][j] = uniform();
    f[i] = sin(2 * x[i][0]) + x[i][1] * x[i][2] + 0.5 * x[i][3] * x[i][3] + 0.3 * x[i][4];
    mean += f[i] / 4000;
  }
  for (int i = 0; i < 4000; i++) variance += (f[i] - mean) * (f[i] - mean) / 4000;
  for (int i = 0; i < 4000; i++) {
    for (int j = 0; j < 6; j++) test_print(file, "%.6f,", x[i][j]);
    test_print(file, "%.6f\n", scale * (5 + f[i] + sqrt(variance * 0.02 / 0.98) * normal()));
  }
  fclose(file);
}

START_TEST(numbers_are_learned_in_their_units) {
  char seed[2] = {(char)('0' + _i), 0};
  const mica_setting settings[] = {{"seed", seed}};
  mica_metrics m;
  write_numbers("numbers.csv", 1000);
  mica_run *run = train("regress", files_path("numbers.csv"), NULL, settings, 1);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  const double r2 = mica_metrics_get(&m, "r2"), rmse = mica_metrics_get(&m, "rmse");
  printf("seed %d: R2 %.4f, rmse %.1f\n", _i, r2, rmse);
  ck_assert_double_ge(r2, 0.97);
  /* The target's deviation is about 830 of the user's units, the noise's 117. */
  ck_assert(rmse > 100 && rmse < 150 && mica_metrics_get(&m, "mae") < rmse);
  mica_run_destroy(run);
}
END_TEST

START_TEST(every_loss_of_numbers_trains) {
  static const char *const losses[] = {"mae", "huber", "quantile"};
  const mica_setting settings[] = {{"loss", losses[_i]}, {"epochs", "15"}, {"precision", _i == 1 ? "bf16" : "f32"}};
  mica_metrics m;
  write_numbers("losses.csv", 1);
  mica_run *run = train("regress", files_path("losses.csv"), NULL, settings, 3);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_msg(mica_metrics_get(&m, "r2") > 0.85, "%s: R2 %g", losses[_i], mica_metrics_get(&m, "r2"));
  mica_run_destroy(run);
}
END_TEST

enum { DIRECTIONS = 600, TESTED = 60 };

/* Three numbers whose direction follows from two, with lengths from 1 to 10. */
static void write_directions(const char *name, int count, double targets[][3]) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("a,b,x,y,z\n", file);
  for (int i = 0; i < count; i++) {
    const double a = uniform(), b = uniform(), length = 5.5 + 4.5 * uniform();
    const double t[3] = {length * cos(2 * a), length * sin(2 * a), length * b};
    test_print(file, "%.6f,%.6f", a, b);
    for (int k = 0; k < 3; k++) test_print(file, ",%.6f", targets[i][k] = t[k]);
    fputs("\n", file);
  }
  fclose(file);
}

/* The loss of a test is 1 - cosine, of numbers that are standardised by the training's mean and deviation. */
START_TEST(directions_are_learned_by_the_cosine) {
  static double known[DIRECTIONS][3], wanted[TESTED][3];
  static const mica_setting settings[] = {{"loss", "cosine"}, {"label", "x,y,z"}, {"epochs", "30"}, {"batch", "20"}};
  char path[512];
  mica_metrics m;
  mica_report *p = NULL;
  state = 5;
  files_write_text("directions/begin", "");
  write_directions("directions/train.csv", DIRECTIONS, known);
  write_directions("directions/val.csv", TESTED, wanted);
  snprintf(path, sizeof path, "%s", files_path("directions/val.csv"));
  mica_run *run = train("regress", files_path("directions"), NULL, settings, 4);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_int_eq(m.samples, TESTED);
  ck_ok(mica_run_predict(run, &(mica_run_input){.data = path}, &p));
  double mean[3] = {0}, deviation[3] = {0}, loss = 0;
  for (int k = 0; k < 3; k++) {
    for (int i = 0; i < DIRECTIONS; i++) mean[k] += known[i][k] / DIRECTIONS;
    for (int i = 0; i < DIRECTIONS; i++) deviation[k] += pow(known[i][k] - mean[k], 2) / DIRECTIONS;
  }
  for (int i = 0; i < TESTED; i++) {
    const double *z = mica_report_find(p, (size_t)i, "values")->numbers;
    double dot = 0, zz = 0, yy = 0;
    for (int k = 0; k < 3; k++) {
      const double a = (z[k] - mean[k]) / sqrt(deviation[k]), b = (wanted[i][k] - mean[k]) / sqrt(deviation[k]);
      dot += a * b, zz += a * a, yy += b * b;
    }
    loss += (1 - dot / sqrt(zz * yy)) / TESTED;
  }
  printf("loss %.6f, by its formula %.6f\n", m.loss, loss);
  ck_assert_double_eq_tol(m.loss, loss, 1e-5);
  ck_assert_double_le(loss, 0.1);
  mica_report_destroy(p);
  mica_run_destroy(run);
  /* One number has no direction. */
  write_numbers("losses.csv", 1);
  const mica_run_config config = {
      .task = "regress", .data = files_path("losses.csv"), .settings = settings, .setting_count = 1};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "several numbers"), "%s", mica_error_message());
}
END_TEST

/* --- categories --- */

static const char *const colours[] = {"blue", "green", "red"};

/* Rows whose answer depends on a colour more than on two numbers; each has a note of its own. */
static void write_colours(const char *name, int rows) {
  FILE *file = fopen(files_path(name), "w");
  ck_assert_ptr_nonnull(file);
  fputs("a,colour,b,note,target\n", file);
  state = 3;
  for (int i = 0; i < rows; i++) {
    const int k = (int)(1.5 * (uniform() + 1));
    const double a = uniform(), b = uniform(), f = (k == 0 ? 1 : k == 1 ? -2 : a) + a * b + 0.5 * a;
    test_print(file, "%.5f,%s,%.5f,\"said %d, and more\",%.5f\n", a, colours[k], b, i, 100 * f);
  }
  fclose(file);
}

static double value_of(const mica_report *p, size_t i) { return mica_report_find(p, i, "value")->number; }

static mica_report *predicted(mica_run *run, const mica_run_input *input) {
  mica_report *p = NULL;
  ck_ok(mica_run_predict(run, input, &p));
  return p;
}

static void refused(mica_run *run, const char *rows, const char *a, const char *b) {
  mica_report *p = NULL;
  mica_metrics m;
  files_write_text("refused.csv", rows);
  const char *path = files_path("refused.csv");
  ck_assert_int_eq(mica_run_predict(run, &(mica_run_input){.text = rows}, &p), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), a) && strstr(mica_error_message(), b), "%s", mica_error_message());
  ck_assert_int_eq(mica_run_evaluate(run, path, MICA_PART_TRAIN, &m), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), a) && strstr(mica_error_message(), b), "%s", mica_error_message());
}

/* Some remark has the text. */
static void remarked(const mica_run *run, const char *text) {
  size_t i = 0;
  while (mica_run_remark(run, i) && !strstr(mica_run_remark(run, i), text)) i++;
  ck_assert_msg(mica_run_remark(run, i) != NULL, "no remark of %s", text);
}

START_TEST(categories_are_inputs) {
  static const mica_setting settings[] = {{"epochs", "25"}};
  char data[512], folder[512];
  mica_metrics m;
  size_t count = 0;
  write_colours("colours.csv", 2000);
  snprintf(data, sizeof data, "%s", files_path("colours.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("colours"));
  mica_run_destroy(train("regress", data, folder, settings, 1));
  mica_run *run = NULL;
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_assert_str_eq(mica_run_fact(run, "categories", &count)[0], "colour");
  ck_assert_str_eq(mica_run_fact(run, "unused", &count)[0], "note (text)");
  ck_assert_uint_eq(count, 1);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  printf("R2 %.4f\n", mica_metrics_get(&m, "r2"));
  ck_assert_double_ge(mica_metrics_get(&m, "r2"), 0.97);

  /* Other columns, other classes in another order, with and without answers: the predictions are the same. */
  static const char *const rows[] = {"a,colour,b\n0.5,red,0.25\n-0.5,blue,0.75\n0,green,0\n",
                                     "colour;other;b;a\nred;1;0.25;0.5\nblue;1;0.75;-0.5\ngreen;1;0;0\n"};
  mica_report *first = predicted(run, &(mica_run_input){.text = rows[0]});
  mica_report *second = predicted(run, &(mica_run_input){.text = rows[1]});
  files_write_text("three.csv", "a,colour,b,target\n0.5,red,0.25,87.5\n-0.5,blue,0.75,37.5\n");
  const char *path = files_path("three.csv");
  mica_report *file = predicted(run, &(mica_run_input){.files = &path, .file_count = 1});
  mica_report *whole = predicted(run, &(mica_run_input){.data = path, .part = MICA_PART_TRAIN});
  static const double truths[] = {87.5, 37.5, -200};
  for (size_t i = 0; i < 3; i++) {
    ck_assert_double_eq_tol(value_of(first, i), truths[i], 20);
    ck_assert_double_eq(value_of(second, i), value_of(first, i));
    if (i == 2) continue;
    ck_assert_double_eq_tol(value_of(file, i), value_of(first, i), 1e-3);
    ck_assert_double_eq_tol(value_of(whole, i), value_of(first, i), 1e-3);
    ck_assert_double_eq(mica_report_find(file, i, "truth")->number, truths[i]);
  }
  /* red is 1 of these two classes, and 2 of the run's: what was tested is as far from the answers as these values. */
  ck_ok(mica_run_evaluate(run, path, MICA_PART_TRAIN, &m));
  const double mae = (fabs(value_of(first, 0) - 87.5) + fabs(value_of(first, 1) - 37.5)) / 2;
  ck_assert_double_eq_tol(mica_metrics_get(&m, "mae"), mae, 1e-2);
  mica_report_destroy(first);
  mica_report_destroy(second);
  mica_report_destroy(file);
  mica_report_destroy(whole);

  /* An unseen colour counts as no class, like a missing one. A missing number is filled as in training. */
  static const char others[] = "a,colour,b,target\n0.5,purple,0.25,3\n,purple,0.75,\n0.5,,0.25,1\n";
  files_write_text("others.csv", others);
  path = files_path("others.csv");
  first = predicted(run, &(mica_run_input){.text = others});
  ck_assert_double_eq(value_of(first, 0), value_of(first, 2));
  for (size_t i = 0; i < 3; i++) ck_assert(isfinite(value_of(first, i)));
  ck_assert_ptr_null(mica_report_find(first, 1, "truth"));
  remarked(run, "1 of 'a' become ");
  remarked(run, "3 cells of 'colour' are read as no class, because training did not see \"purple\"");
  mica_report_destroy(first);
  ck_ok(mica_run_evaluate(run, path, MICA_PART_TRAIN, &m));
  ck_assert_int_eq(m.samples, 2);
  remarked(run, "1 row without an answer is left out");
  remarked(run, "2 cells of 'colour' are read as no class, because training did not see \"purple\"");
  refused(run, "a,b,target\n1,2,3\n1,2,4.5\n", "no column 'colour'", "trained on");
  mica_run_destroy(run);
}
END_TEST

/* A table of classes alone; the class that is an answer, and a column of too many. */
START_TEST(categories_alone_tell_a_class) {
  static const mica_setting settings[] = {{"epochs", "20"}, {"batch", "16"}};
  mica_metrics m;
  mica_report *p = NULL;
  FILE *out = fopen(files_path("alone.csv"), "w");
  ck_assert_ptr_nonnull(out);
  fputs("colour,size,town,label\n", out);
  for (int i = 0; i < 900; i++)
    fprintf(out, "%s,%s,town%d,%s\n", colours[i % 3], i / 3 % 2 ? "big" : "small", i % 300,
            (i % 3 == 1) == (i / 3 % 2) ? "yes" : "no");
  fclose(out);
  char data[512], folder[512];
  snprintf(data, sizeof data, "%s", files_path("alone.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("alone"));
  mica_run_destroy(train(NULL, data, folder, settings, 2));
  mica_run *run = NULL;
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_assert_str_eq(mica_run_task(run), "classify");
  ck_assert_msg(!strncmp(mica_run_fact(run, "unused", NULL)[0], "town (", 6), "%s",
                mica_run_fact(run, "unused", NULL)[0]);
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  ck_assert_double_ge(mica_metrics_get(&m, "accuracy"), 0.99);
  ck_ok(mica_run_predict(run, &(mica_run_input){.text = "size,colour\nbig,green\nsmall,green\n", .top = 1}, &p));
  ck_assert_str_eq(mica_report_find(p, 0, "classes")->row_names[0], "yes");
  ck_assert_str_eq(mica_report_find(p, 1, "classes")->row_names[0], "no");
  mica_report_destroy(p);
  mica_run_destroy(run);
  const mica_setting mixed = {"augment", "mixup"};
  const mica_run_config config = {.data = data, .settings = &mixed, .setting_count = 1};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "mixup can only blend numbers, but"), "%s", mica_error_message());
}
END_TEST

/* --- what is wrong --- */

START_TEST(wrong_settings_are_named) {
  static const struct {
    const char *task;
    mica_setting setting;
    const char *sentence;
  } cases[] = {{"classfy", {"epochs", "1"}, "there is no task \"classfy\"; choose from classify, regress"},
               {NULL, {"epochs", "1.5"}, "epochs wants a whole number from 1"},
               {NULL, {"lr", "nan"}, "lr wants a number"},
               {NULL, {"optimizer", "sdg"}, "optimizer cannot be \"sdg\"; choose from sgd"},
               {NULL, {"colour", "red"}, "there is no setting colour"},
               {"regress", {"class-weights", "1,2"}, "there is no setting class-weights of the task regress"},
               {"regress", {"loss", "focal"}, "loss cannot be \"focal\"; choose from mse"},
               {NULL, {"loss", "hinge"}, "loss cannot be \"hinge\""},
               {NULL, {"augment", "flap"}, "flap"},
               {NULL, {"init", "nowhere.safetensors"}, "cannot read nowhere.safetensors"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mica_run_config config = {
        .task = cases[i].task, .data = "nowhere.csv", .settings = &cases[i].setting, .setting_count = 1};
    ck_assert_int_eq(mica_run_check(&config), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), cases[i].sentence), "%s", mica_error_message());
  }
  ck_ok(mica_run_check(&(mica_run_config){.data = "nowhere.csv"}));
}
END_TEST

/* A run whose network cannot be what the settings ask for leaves nothing behind. */
START_TEST(runs_that_cannot_be) {
  static const mica_setting cases[] = {{"model", "unet"}, {"model", "cnn"}, {"class-weights", "1,2"}};
  static const char *const sentences[] = {"gives an answer for each pixel", "the network cnn takes pictures",
                                          "class-weights has 2 numbers, but the data have 3 classes"};
  write_trees("wrong.csv", 90, kinds, 3);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_run *run = NULL;
    const mica_run_config config = {
        .data = files_path("wrong.csv"), .folder = "never-made", .settings = &cases[i], .setting_count = 1};
    ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), sentences[i]), "%s", mica_error_message());
    ck_assert_ptr_null(run);
  }
  FILE *made = fopen("never-made/config.json", "r");
  ck_assert_ptr_null(made);
}
END_TEST

/* --- runs of Mica 0.2 --- */

/* What the command of 0.2.0 said of these rows. */
START_TEST(an_old_run_predicts_as_it_did) {
  static const char *const classes[] = {"ash", "birch", "ash"};
  static const double shares[] = {0.98602390289306641, 0.55406367778778076, 0.81738775968551636};
  char folder[4096];
  mica_run *run = NULL;
  mica_report *p = NULL;
  snprintf(folder, sizeof folder, "%s/tests/task/run-0.2", getenv("MICA_SOURCE_DIR"));
  ck_ok(mica_run_open(test_engine(), folder, &run));
  const char *rows = "0.5,3.5,0.5,3.5,0.5\n3.5,0.5,3.5,0.5,3.5\n2,2,2,2,2\n";
  ck_ok(mica_run_predict(run, &(mica_run_input){.text = rows, .top = 1}, &p));
  ck_assert_uint_eq(mica_report_count(p), 3);
  for (size_t i = 0; i < 3; i++) {
    const mica_item *item = mica_report_find(p, i, "classes");
    ck_assert_str_eq(item->row_names[0], classes[i]);
    ck_assert_double_eq_tol(item->numbers[0], shares[i], 1e-5);
  }
  mica_report_destroy(p);
  mica_run_destroy(run);
  const mica_run_config config = {.folder = folder, .resume = true};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_UNSUPPORTED);
  ck_assert_msg(strstr(mica_error_message(), "Mica 0.2, which cannot be resumed"), "%s", mica_error_message());
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL, a_run_is_trained_and_opened, names_that_are_no_utf8, a_program_predicts,
      several_labels_a_sample, losses_are_means, LOOP(numbers_are_learned_in_their_units, 0, 3),
      LOOP(every_loss_of_numbers_trains, 0, 3), directions_are_learned_by_the_cosine, wrong_settings_are_named,
      runs_that_cannot_be, an_old_run_predicts_as_it_did, categories_are_inputs, categories_alone_tell_a_class)
