/* labels: device slow
 *
 * Inputs and heads in other pairs than the oldest tasks have: each learns a rule that the test made, and what is
 * evaluated and predicted fits it. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/number.h"
#include "support/rule.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- many columns --- */

enum { MANY = 70, ROWS = 400 };

/* The answer is the last column of seventy; the one before it is called as boxes call the objects that do not count. */
START_TEST(seventy_columns_of_classes) {
  static const mica_setting settings[] = {{"epochs", "20"}, {"batch", "20"}, {"lr", "0.01"}};
  size_t count = 0;
  FILE *file = rule_table("many.csv", "");
  for (int k = 0; k < MANY - 2; k++) fprintf(file, "c%d,", k);
  fputs("ignored,last,kind\n", file);
  rule_seed = 5;
  for (int i = 0; i < ROWS; i++) {
    uint32_t is = 0;
    for (int k = 0; k < MANY; k++) fprintf(file, "%s,", (is = rule_draw(2)) ? "on" : "off");
    fprintf(file, "%s\n", is ? "yes" : "no");
  }
  fclose(file);
  mica_run *run = rule_learn("classify", "many.csv", "many", settings, 3);
  mica_run_fact(run, "categories", &count);
  ck_assert_uint_eq(count, MANY);
  ck_assert_double_gt(rule_measure(run, "accuracy"), 0.95);
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
  rule_seed = 6;
  for (int k = 0; k < MANY; k++) {
    snprintf(names[k], sizeof names[k], "c%d", k);
    columns[k] = (mica_column_data){
        .column = {.name = names[k], .kind = MICA_COLUMN_KIND_CLASS, .dtype = MICA_I32, .classes = 2},
        .data = classes[k]};
    for (int i = 0; i < ROWS; i++) classes[k][i] = (int32_t)rule_draw(2);
  }
  for (int i = 0; i < ROWS; i++)
    for (int j = 0; j < 2; j++) labels[i][j] = (uint8_t)classes[MANY - 2 + j][i];
  columns[MANY] = (mica_column_data){
      .column = {.name = "label", .kind = MICA_COLUMN_KIND_CLASSES, .dtype = MICA_U8, .shape = {1, {2}}, .classes = 2},
      .data = labels};
  ck_ok(mica_dataset_create("many", ROWS, columns, MANY + 1, &data));
  mica_run *run =
      rule_train(&(mica_run_config){.task = "classify", .dataset = data, .settings = settings, .setting_count = 3});
  ck_assert_double_gt(rule_measure(run, "map"), 0.95);
  mica_run_destroy(run);
  mica_dataset_destroy(data);
}
END_TEST

/* --- texts --- */

static const char *const words[] = {"bad", "poor", "fine", "good", "the", "film", "plot", "was"};
static const double worth[] = {-2, -1, 0.5, 2, 0, 0, 0, 0};
enum { WORDS = 8 };

/* Texts, the sum of what their words are worth, and whether some words are in them. */
static void write_texts(const char *name, int rows, bool numbers) {
  FILE *file = rule_table(name, numbers ? "review,stars\n" : "angry,review,glad\n");
  rule_seed = 7;
  for (int i = 0; i < rows; i++) {
    bool there[WORDS] = {false};
    char text[128];
    size_t used = 0;
    double sum = 10;
    for (uint32_t k = 3 + rule_draw(5); k > 0; k--) {
      const uint32_t w = rule_draw(WORDS);
      there[w] = true;
      sum += worth[w];
      used += (size_t)snprintf(text + used, sizeof text - used, "%s ", words[w]);
    }
    if (numbers)
      test_print(file, "%s,%.1f\n", text, sum);
    else
      fprintf(file, "%d,%s,%d\n", there[0], text, there[3]);
  }
  fclose(file);
}

static const mica_setting text_settings[] = {{"epochs", "8"}, {"tokenizer", "word"}, {"length", "12"},
                                             {"width", "32"}, {"lr", "0.01"},        {"dropout", "0"}};

/* The task regress takes a column of texts, and settings of such. */
START_TEST(text_to_a_number) {
  write_texts("stars.csv", 800, true);
  mica_run *run = rule_learn("regress", "stars.csv", "stars", text_settings, 6);
  ck_assert_str_eq(mica_run_task(run), "text_numbers");
  ck_assert_double_gt(rule_measure(run, "r2"), 0.95);
  mica_report *p = rule_predict(run, &(mica_run_input){.text = "good good film\nbad bad plot\n"});
  ck_assert_uint_eq(mica_report_count(p), 2);
  ck_assert_double_eq_tol(mica_report_find(p, 0, "value")->number, 14, 1.5);
  ck_assert_double_eq_tol(mica_report_find(p, 1, "value")->number, 6, 1.5);
  ck_assert_ptr_null(mica_report_find(p, 0, "truth"));
  mica_report_destroy(p);
  p = rule_predict(run, &(mica_run_input){.text = "stars,review\n12.5,good fine\n,bad\n", .name = "a.csv"});
  ck_assert_double_eq(mica_report_find(p, 0, "truth")->number, 12.5);
  ck_assert_ptr_null(mica_report_find(p, 1, "truth"));
  mica_report_destroy(p);
  rule_refuses(run, "stars,review\nmany,good\n", "a.csv line 2: the answer \"many\" is not a number");
  ck_ok(mica_run_report(run, &p));
  mica_report_destroy(p);
  mica_run_destroy(run);
}
END_TEST

START_TEST(text_to_labels) {
  static const mica_setting settings[] = {{"label", "angry,glad"}, {"epochs", "8"}, {"tokenizer", "word"},
                                          {"length", "12"},        {"width", "32"}, {"lr", "0.01"},
                                          {"dropout", "0"}};
  mica_metrics m;
  write_texts("tags.csv", 800, false);
  mica_run *run = rule_learn("text", "tags.csv", "tags", settings, 7);
  ck_assert_str_eq(mica_run_task(run), "text_labels");
  ck_assert_double_gt(rule_measure(run, "map"), 0.98);
  ck_assert_double_gt(rule_measure(run, "f1"), 0.95);
  static const char rows[] = "glad,review,angry\n1,the good film,0\n0,bad,\n";
  mica_report *p = rule_predict(run, &(mica_run_input){.text = rows, .name = "a.csv"});
  const mica_item *first = mica_report_find(p, 0, "labels"), *second = mica_report_find(p, 1, "labels");
  ck_assert(first->rows == 2 && !strcmp(first->row_names[0], "angry") && !strcmp(first->row_names[1], "glad"));
  ck_assert(first->numbers[1] == 0 && first->numbers[2] == 0 && first->numbers[4] == 1 && first->numbers[5] == 1);
  ck_assert(second->numbers[1] == 1 && isnan(second->numbers[2]) && second->numbers[4] == 0);
  mica_report_destroy(p);
  files_write_text("wrong.csv", "review,angry,glad\nbad,2,0\n");
  ck_assert_int_eq(mica_run_evaluate(run, files_path("wrong.csv"), MICA_PART_TRAIN, &m), MICA_E_FORMAT);
  ck_ok(mica_run_export(run, files_path("tags.onnx"), NULL));
  mica_run_destroy(run);
}
END_TEST

/* --- a table --- */

/* Three numbers per row, far apart in scale; answers stand among the inputs. */
static void write_rows(const char *name, int rows) {
  FILE *file = rule_table(name, "a,sum,colour,b,difference,shade\n");
  rule_seed = 8;
  for (int i = 0; i < rows; i++) {
    const double a = (double)rule_draw(2001) / 1000 - 1, b = (double)rule_draw(2001) / 1000 - 1;
    const int red = (int)rule_draw(2);
    if (i % 50 == 7)
      test_print(file, "%.3f,%.1f,%s,%.3f,,%.2f\n", a, 1000 * (a + b), red ? "red" : "blue", b, a);
    else
      test_print(file, "%.3f,%.1f,%s,%.3f,%.4f,%.2f\n", a, 1000 * (a + b), red ? "red" : "blue", b, a - b,
                 red ? 2 + a : -2 - a);
  }
  fclose(file);
}

START_TEST(table_to_three_numbers) {
  static const mica_setting settings[] = {{"label", "difference,shade,sum"}, {"epochs", "40"}, {"batch", "32"}};
  mica_metrics m;
  size_t count = 0;
  write_rows("rows.csv", 800);
  mica_run *run = rule_learn(NULL, "rows.csv", "rows", settings, 3);
  ck_assert_str_eq(mica_run_task(run), "regress");
  const char *const *names = mica_run_fact(run, "answers", &count);
  ck_assert(count == 3 && !strcmp(names[0], "sum") && !strcmp(names[1], "difference") && !strcmp(names[2], "shade"));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  printf("three numbers: R2 %.4f\n", mica_metrics_get(&m, "r2"));
  ck_assert_double_gt(mica_metrics_get(&m, "r2"), 0.97);
  ck_assert_double_gt(mica_metrics_get(&m, "r2_shade"), 0.97);
  ck_assert_double_gt(mica_metrics_get(&m, "rmse_sum"), 10 * mica_metrics_get(&m, "rmse_shade"));
  /* 16 of the 800 rows lack an answer. */
  ck_ok(mica_run_evaluate(run, files_path("rows.csv"), MICA_PART_TRAIN, &m));
  ck_assert_double_gt(mica_metrics_get(&m, "r2"), 0.97);
  static const char rows[] = "b,colour,a,shade,sum,difference\n0.5,red,0.25,2.25,750,-0.25\n-0.5,blue,0,-2,-500,0.5\n";
  mica_report *p = rule_predict(run, &(mica_run_input){.text = rows});
  const mica_item *truth = mica_report_find(p, 0, "truth"), *values = mica_report_find(p, 0, "values");
  ck_assert(truth->columns == 3 && truth->numbers[0] == 750 && truth->numbers[1] == -0.25 && truth->numbers[2] == 2.25);
  ck_assert_str_eq(values->column_names[2], "shade");
  ck_assert_double_eq_tol(values->numbers[0], 750, 150);
  ck_assert_double_eq_tol(values->numbers[1], -0.25, 0.25);
  ck_assert_double_eq_tol(values->numbers[2], 2.25, 0.4);
  mica_report_destroy(p);
  p = rule_predict(run, &(mica_run_input){.text = "b,colour,a\n0.5,red,0.25\n"});
  ck_assert_ptr_null(mica_report_find(p, 0, "truth"));
  mica_report_destroy(p);
  mica_run_destroy(run);
}
END_TEST

/* Numbers alone, whose table is known by an outline: a model in ONNX gives the same. */
START_TEST(table_to_two_numbers_in_onnx) {
  static const mica_setting settings[] = {{"label", "s,d"}, {"epochs", "20"}};
  char model[512];
  mica_metrics m;
  snprintf(model, sizeof model, "%s", files_path("two.onnx"));
  FILE *file = rule_table("two.csv", "d,a,b,s\n");
  rule_seed = 9;
  for (int i = 0; i < 600; i++) {
    const double a = (double)rule_draw(2001) / 1000 - 1, b = (double)rule_draw(2001) / 1000 - 1;
    test_print(file, "%.4f,%.3f,%.3f,%.4f\n", a - b, a, b, 50 + a + b);
  }
  fclose(file);
  mica_run *run = rule_learn("regress", "two.csv", "two", settings, 2);
  ck_ok(mica_run_evaluate(run, files_path("two.csv"), MICA_PART_TRAIN, &m));
  ck_assert_double_gt(mica_metrics_get(&m, "r2"), 0.98);
  ck_ok(mica_run_export(run, model, NULL));
  const mica_run_input input = {.text = "b,a\n0.5,0.25\n-0.5,0.75\n"};
  mica_report *p = rule_predict(run, &input);
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), model, &run));
  mica_report *q = rule_predict(run, &input);
  for (size_t i = 0; i < 2; i++)
    for (size_t k = 0; k < 2; k++)
      ck_assert_double_eq_tol(mica_report_find(q, i, "values")->numbers[k],
                              mica_report_find(p, i, "values")->numbers[k], 1e-4);
  mica_report_destroy(p);
  mica_report_destroy(q);
  mica_run_destroy(run);
}
END_TEST

/* Numbers that are no scale are refused before the folder is looked for. */
START_TEST(depth_scales_are_checked) {
  const double wrong[] = {-1, -INFINITY, INFINITY, NAN};
  mica_run *run = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    const mica_run_open_config how = {.depth_scale = wrong[i]};
    ck_assert_int_eq(mica_run_open_as(test_engine(), files_path("nowhere"), &how, &run), MICA_E_INVALID);
    ck_assert_msg(strstr(mica_error_message(), "mica_run_open_as: depth_scale is ") == mica_error_message(), "%s",
                  mica_error_message());
  }
}
END_TEST

/* --- files that a table names --- */

#if MICA_WITH_SNDFILE
enum { RATE = 8000, SAMPLES = 2400 };

/* Noise, and a tone for each frequency that is not 0. */
static void write_tones(const char *name, double low, double high) {
  float tones[SAMPLES];
  for (int t = 0; t < SAMPLES; t++) {
    const double at = 6.283185307 * t / RATE, noise = 0.02 * rule_draw(100) / 100;
    tones[t] = (float)(0.244 * ((low > 0 ? sin(low * at) : 0) + (high > 0 ? sin(high * at) : 0) + noise));
  }
  rule_sound(name, RATE, tones, SAMPLES);
}

/* Recordings of two tones, each there or not, and how high the lower one is. */
/* `column` is the name of the column of files. */
static void write_recordings(const char *table, const char *column, int count) {
  char header[64];
  snprintf(header, sizeof header, "%s,low,high,pitch\n", column);
  FILE *file = rule_table(table, header);
  rule_seed = 11;
  for (int i = 0; i < count; i++) {
    char name[32];
    const double low = rule_draw(2) ? 300 + rule_draw(300) : 0, high = rule_draw(2) ? 1500 + rule_draw(500) : 0;
    snprintf(name, sizeof name, "tone%d.wav", i);
    write_tones(name, low, high);
    test_print(file, "%s,%d,%d,%.1f\n", name, low > 0, high > 0, low);
  }
  fclose(file);
}

START_TEST(sound_to_labels) {
  static const mica_setting settings[] = {{"label", "low,high"}, {"ignore", "pitch"}, {"epochs", "8"},
                                          {"seconds", "0.3"},    {"width", "16"},     {"mels", "24"},
                                          {"batch", "16"},       {"warm-up", "5"},    {"lr", "0.01"}};
  /* A column of any name holds recordings if its first cell is the name of a file that exists. */
  write_recordings("tones.csv", "clip", 200);
  mica_run *run = rule_learn(NULL, "tones.csv", "tones", settings, 9);
  ck_assert_str_eq(mica_run_task(run), "sound_labels");
  ck_assert_double_gt(rule_measure(run, "map"), 0.95);
  ck_assert_double_gt(rule_measure(run, "f1"), 0.9);
  write_tones("one.wav", 450, 0);
  const char *path = files_path("one.wav");
  mica_report *p = rule_predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  const mica_item *labels = mica_report_find(p, 0, "labels");
  ck_assert(labels->rows == 2 && labels->numbers[1] == 1 && labels->numbers[4] == 0 && isnan(labels->numbers[2]));
  mica_report_destroy(p);
  p = rule_predict(run, &(mica_run_input){.data = files_path("tones.csv"), .part = MICA_PART_TRAIN, .count = 3});
  ck_assert(mica_report_count(p) == 3 && !isnan(mica_report_find(p, 0, "labels")->numbers[2]));
  mica_report_destroy(p);
  ck_ok(mica_run_export(run, files_path("tones.onnx"), NULL));
  mica_run_destroy(run);
  files_write_text("gone.csv", "file,low,high\nnone.wav,0,1\n");
  ck_assert_int_ne(
      mica_run_create(test_engine(),
                      &(mica_run_config){.data = files_path("gone.csv"), .settings = settings, .setting_count = 1},
                      &run),
      MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "line 2:") && strstr(mica_error_message(), "none.wav"), "%s",
                mica_error_message());
}
END_TEST

START_TEST(sound_to_a_number) {
  static const mica_setting settings[] = {{"label", "pitch"}, {"ignore", "low,high"}, {"epochs", "12"},
                                          {"seconds", "0.3"}, {"width", "16"},        {"mels", "24"},
                                          {"batch", "16"},    {"warm-up", "5"},       {"lr", "0.01"}};
  write_recordings("pitch.csv", "file", 200);
  mica_run *run = rule_learn("regress", "pitch.csv", "pitch", settings, 9);
  ck_assert_str_eq(mica_run_task(run), "sound_numbers");
  ck_assert_double_gt(rule_measure(run, "r2"), 0.8);
  mica_run_destroy(run);
}
END_TEST
#endif

#if MICA_WITH_PNG
START_TEST(picture_to_numbers) {
  static const mica_setting settings[] = {{"label", "light,left"}, {"epochs", "30"}, {"batch", "16"}, {"width", "8"}};
  enum { SIDE = 12, PLANE = SIDE * SIDE };
  FILE *file = rule_table("light.csv", "snapshot,light,left\n");
  rule_seed = 12;
  for (int i = 0; i < 200; i++) {
    uint8_t planes[PLANE];
    char name[32];
    const uint32_t left = rule_draw(200), right = rule_draw(200);
    for (int k = 0; k < PLANE; k++) planes[k] = (uint8_t)((k % SIDE < SIDE / 2 ? left : right) + rule_draw(40));
    snprintf(name, sizeof name, "light%d.png", i);
    rule_picture(name, planes, SIDE);
    test_print(file, "%s,%.1f,%.1f\n", name, 5000 + 10.0 * (left + right), (double)left / 100);
  }
  fclose(file);
  /* A column of any name holds pictures, too. 180 pictures are two batches: ten epochs would be twenty steps. */
  mica_run *run = NULL;
  ck_ok(mica_run_create(
      test_engine(),
      &(mica_run_config){.task = "regress", .data = files_path("light.csv"), .settings = settings, .setting_count = 1},
      &run));
  ck_assert_str_eq(mica_run_setting(run, "epochs"), "100");
  mica_run_destroy(run);
  run = rule_learn("regress", "light.csv", "light", settings, 3);
  ck_assert_double_gt(rule_measure(run, "r2"), 0.9);
  const char *path = files_path("light0.png");
  mica_report *p = rule_predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  ck_assert_uint_eq(mica_report_find(p, 0, "values")->columns, 2);
  mica_report_destroy(p);
  p = rule_predict(run, &(mica_run_input){.data = files_path("light.csv"), .part = MICA_PART_TRAIN, .count = 2});
  const double truth = mica_report_find(p, 1, "truth")->numbers[0];
  ck_assert_double_eq_tol(mica_report_find(p, 1, "values")->numbers[0], truth, 1000);
  mica_report_destroy(p);
  mica_run_destroy(run);
}
END_TEST
#endif

START_TEST(wrong_lists_of_labels) {
  static const struct {
    const char *task, *label, *sentence;
  } cases[] = {
      {"regress", "a,none", "has no column \"none\" for labels"},
      {"regress", "a,a", "column \"a\" is named twice"},
      {"classify", "a,b", "not a class for each sample"},
      {"text_labels", "a,b",
       "few.csv line 3: column \"a\" holds 2; the task text_labels needs columns of 0 and 1 as labels"},
      {"text_labels", "b,c",
       "few.csv line 2: column \"b\" holds 0.5; the task text_labels needs columns of 0 and 1 as"},
      {"regress", "a,word", "instead of a number"},
  };
  mica_run *run = NULL;
  files_write_text("few.csv", "a,b,c,word\n1,0.5,2,x\n2,0.25,3,y\n3,1.5,4,x\n4,2.5,5,y\n");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const mica_setting settings[] = {{"label", cases[i].label}};
    const mica_run_config config = {
        .task = cases[i].task, .data = files_path("few.csv"), .settings = settings, .setting_count = 1};
    ck_assert_int_ne(mica_run_create(test_engine(), &config, &run), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), cases[i].sentence) != NULL, "%zu: %s", i, mica_error_message());
  }
  /* A table of numbers takes no setting of a task that stands for regress. */
  const mica_setting tokens[] = {{"label", "a"}, {"tokenizer", "word"}};
  const mica_run_config config = {
      .task = "regress", .data = files_path("few.csv"), .settings = tokens, .setting_count = 2};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_INVALID);
  ck_assert_msg(strstr(mica_error_message(), "there is no setting tokenizer of the task regress") != NULL, "%s",
                mica_error_message());
}
END_TEST

TESTS(BOTH(NEEDS(CJSON), DEVICE), NULL, NULL, seventy_columns_of_classes, seventy_columns_and_labels, text_to_a_number,
      text_to_labels, table_to_three_numbers, table_to_two_numbers_in_onnx, depth_scales_are_checked,
      IF(SNDFILE, sound_to_labels), IF(SNDFILE, sound_to_a_number), IF(PNG, picture_to_numbers), wrong_lists_of_labels)
