/* labels: device slow
 *
 * Several inputs of one sample. Each carries one bit of the answer, so that none suffices: how many of the bits are set
 * is learned by all of them together, and by none alone. */
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

enum { ROWS = 640, SIDE = 8, BITS = 3 };

/* A picture with upright or level stripes. */
static void write_picture(const char *name, bool upright) {
  uint8_t planes[SIDE * SIDE];
  for (int k = 0; k < SIDE * SIDE; k++)
    planes[k] = (uint8_t)(((upright ? k % SIDE : k / SIDE) / 2 % 2 ? 180 : 30) + (int)rule_draw(40));
  rule_picture(name, planes, SIDE);
}

/* What a row says of its inputs, without the answers. */
static void write_inputs(FILE *file, int row, const bool *bits) {
  static const char *const good[] = {"good", "fine", "great"}, *const bad[] = {"bad", "poor", "awful"};
  static const char *const words[] = {"the", "film", "a", "plot", "we", "saw", "it", "was"};
  char name[32];
  snprintf(name, sizeof name, "fuse%d.png", row);
  write_picture(name, bits[2]);
  test_print(file, "%.3f,%s,", (bits[0] ? 40 : 20) + 0.1 * rule_draw(100), rule_draw(2) ? "red" : "blue");
  const uint32_t at = rule_draw(5);
  for (uint32_t k = 0; k < 5; k++)
    fprintf(file, "%s%s", k ? " " : "", k == at ? (bits[1] ? good : bad)[rule_draw(3)] : words[rule_draw(8)]);
  fprintf(file, ",%s", name);
}

static void write_rows(const char *table, int count) {
  static const char *const counts[] = {"zero", "one", "two", "three"};
  FILE *file = rule_table(table, "age,colour,note,photo,kind,score,young,happy\n");
  rule_seed = 7;
  for (int i = 0; i < count; i++) {
    bool bits[BITS];
    int set = 0;
    for (int k = 0; k < BITS; k++) set += bits[k] = rule_draw(2);
    write_inputs(file, i, bits);
    fprintf(file, ",%s,%d.%03u,%d,%d\n", counts[set], 100 + 10 * bits[0] + 20 * bits[1] + 40 * bits[2], rule_draw(1000),
            !bits[0] && bits[2], bits[1]);
  }
  fclose(file);
}

/* Trains on columns but those that `ignore` names; the run is opened again from its folder. */
static mica_run *learn(const char *name, const char *label, const char *ignore, const char *join, const char *epochs) {
  const mica_setting settings[] = {{"label", label}, {"ignore", ignore}, {"join", join},        {"epochs", epochs},
                                   {"width", "16"},  {"length", "16"},   {"vocabulary", "300"}, {"batch", "16"},
                                   {"dropout", "0"}, {"lr", "0.004"},    {"seed", "3"}};
  write_rows("fuse.csv", ROWS);
  return rule_learn("fuse", "fuse.csv", name, settings, sizeof settings / sizeof *settings);
}

static mica_run *create(const char *table, const mica_setting *settings, size_t count) {
  const mica_run_config config = {
      .task = "fuse", .data = files_path(table), .settings = settings, .setting_count = count};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  return run;
}

/* Creating a run fails with a message that contains the sentence. */
static void refuses(const char *table, const mica_setting *settings, size_t count, const char *sentence) {
  const mica_run_config config = {
      .task = "fuse", .data = files_path(table), .settings = settings, .setting_count = count};
  mica_run *run = NULL;
  ck_assert_int_ne(mica_run_create(test_engine(), &config, &run), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
}

/* --- what is learned --- */

static void check_together(const char *name, const char *join) {
  size_t parts = 0;
  mica_run *run = learn(name, "kind", "score,young,happy", join, "10");
  ck_assert_str_eq(mica_run_task(run), "fuse");
  mica_run_fact(run, "parts", &parts);
  ck_assert_uint_eq(parts, BITS);
  ck_assert_double_ge(rule_measure(run, "accuracy"), 0.95);
  mica_run_destroy(run);
}

START_TEST(together_they_suffice) { check_together("together", "concat"); }
END_TEST

START_TEST(attention_joins_them) { check_together("attention", "attention"); }
END_TEST

START_TEST(none_suffices_alone) {
  static const char *const others[] = {"note,photo,score,young,happy", "age,colour,photo,score,young,happy",
                                       "age,colour,note,score,young,happy"};
  for (size_t i = 0; i < BITS; i++) {
    size_t parts = 0;
    mica_run *run = learn(others[i], "kind", others[i], "concat", "10");
    mica_run_fact(run, "parts", &parts);
    ck_assert_uint_eq(parts, 1);
    const double accuracy = rule_measure(run, "accuracy");
    ck_assert_double_le(accuracy, 0.6);
    ck_assert_double_ge(accuracy, 0.3);
    mica_run_destroy(run);
  }
}
END_TEST

/* Several numbers, which loaders standardise, of a row whose answers are not known. */
START_TEST(unknown_numbers) {
  mica_run *run = learn("two_numbers", "score,young", "kind,happy,photo", "concat", "1");
  ck_assert_str_eq(mica_run_task(run), "fuse_numbers");
  mica_report *p = rule_predict(run, &(mica_run_input){.text = "age,colour,note\n23,red,a poor film\n"});
  const mica_item *values = mica_report_find(p, 0, "values");
  ck_assert_ptr_nonnull(values);
  ck_assert_uint_eq(values->columns, 2);
  ck_assert_ptr_null(mica_report_find(p, 0, "truth"));
  mica_report_destroy(p);
  mica_run_destroy(run);
}
END_TEST

START_TEST(other_answers) {
  mica_run *run = learn("numbers", "score", "kind,young,happy", "concat", "14");
  ck_assert_str_eq(mica_run_task(run), "fuse_numbers");
  ck_assert_double_gt(rule_measure(run, "r2"), 0.95);
  mica_run_destroy(run);
  run = learn("labels", "young,happy", "kind,score", "concat", "10");
  ck_assert_str_eq(mica_run_task(run), "fuse_labels");
  ck_assert_double_gt(rule_measure(run, "map"), 0.95);
  mica_run_destroy(run);
}
END_TEST

#if MICA_WITH_SNDFILE
enum { RATE = 4000, SAMPLES = 1200 };

/* A tone and noise. */
static void write_tone(const char *name, double pitch) {
  float tone[SAMPLES];
  for (int t = 0; t < SAMPLES; t++)
    tone[t] = (float)(0.25 * sin(pitch * 6.283185307 * t / RATE) + 0.025 * rule_draw(100) / 100);
  rule_sound(name, RATE, tone, SAMPLES);
}

/* A recording beside a number: each carries one bit. */
START_TEST(a_recording_beside_a_number) {
  static const mica_setting settings[] = {{"epochs", "10"}, {"width", "16"}, {"batch", "16"},  {"seconds", "0.3"},
                                          {"mels", "16"},   {"lr", "0.004"}, {"dropout", "0"}, {"seed", "2"}};
  static const char *const counts[] = {"zero", "one", "two"};
  char text[1024];
  size_t parts = 0;
  FILE *file = rule_table("heard.csv", "age,sound,label\n");
  rule_seed = 9;
  for (int i = 0; i < 240; i++) {
    char name[32];
    const bool old = rule_draw(2), high = rule_draw(2);
    snprintf(name, sizeof name, "voice%d.wav", i);
    write_tone(name, high ? 900 : 300);
    test_print(file, "%.1f,%s,%s\n", (old ? 40 : 20) + 0.1 * rule_draw(100), name, counts[old + high]);
  }
  fclose(file);
  mica_run *run = rule_learn("fuse", "heard.csv", "heard", settings, 8);
  ck_assert_str_eq(mica_run_fact(run, "parts", &parts)[0], "sound");
  ck_assert_uint_eq(parts, 2);
  ck_assert_double_ge(rule_measure(run, "accuracy"), 0.95);
  snprintf(text, sizeof text, "sound,age\n%s,44\n", files_path("voice0.wav"));
  mica_report *p = rule_predict(run, &(mica_run_input){.text = text});
  ck_assert_str_ne(mica_report_find(p, 0, "classes")->row_names[0], "zero");
  mica_report_destroy(p);
  ck_ok(mica_run_export(run, files_path("heard.onnx"), NULL));
  rule_refuses(run, "age,colour\n23,red\n", "a.csv has no column 'sound' with names of recordings");
  rule_refuses(run, "age,sound\n23,\n", "a.csv line 2: column \"sound\" holds \"\" instead of the name of a recording");
  rule_refuses(run, "age,sound\n23,some day\n", "column \"sound\" holds \"some day\" instead of the name of a rec");
  rule_refuses(run, "age,sound\n23,x.wav\n", "a.csv line 2: column \"sound\" names x.wav: there is no such file");
  rule_refuses(run, "age,sound\n23,x.mp3\n", "line 2: column \"sound\" names x.mp3; recordings must be WAV");
  mica_run_destroy(run);
  static const mica_setting odd[] = {{"model", "cnn_gru"}, {"width", "5"}};
  refuses("heard.csv", odd, 2,
          "a width of 5 cannot be shared by the 4 heads of cnn_gru: width must be a multiple of 2");
}
END_TEST

/* Recordings of formats that Mica does not read do not make their column one of classes: the line is named. */
START_TEST(foreign_recordings) {
  static const char *const cells[][3] = {
      {"voice0.wav", "voice1.mp3", "line 3: column \"noise\" names voice1.mp3; recordings must be WAV, FLAC or OGG"},
      {"voice0.MP3", "voice1.wav", "line 2: column \"noise\" names voice0.MP3; recordings must be WAV, FLAC or OGG"},
      {"voice0.m4a", "voice1.m4a", "line 2: column \"noise\" names voice0.m4a; recordings must be WAV, FLAC or OGG"},
      {"fuse0.gif", "fuse1.gif", "line 2: column \"noise\" names fuse0.gif; pictures must be PNG or JPEG files"},
      {"voice0.wav", "none.wav", "none.wav: there is no such file"}};
  write_tone("voice0.wav", 300);
  write_tone("voice1.wav", 900);
  for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
    FILE *file = rule_table("foreign.csv", "age,noise,label\n");
    for (int k = 0; k < 40; k++) fprintf(file, "%d,%s,%s\n", k, cells[i][k == 1], k % 2 ? "yes" : "no");
    fclose(file);
    refuses("foreign.csv", NULL, 0, cells[i][2]);
  }
}
END_TEST
#endif

/* --- series --- */

/* A series that rises or falls from a height that says nothing, of 8 to 15 numbers. */
static void write_series(FILE *file, bool rises) {
  const uint32_t count = 8 + rule_draw(8), height = rule_draw(100);
  for (uint32_t k = 0; k < count; k++)
    test_print(file, "%s%.2f", k ? " " : "",
               0.1 * height + 6.0 * (rises ? k : count - k) / count + 0.01 * rule_draw(100));
}

/* A series beside a number: each carries one bit. */
START_TEST(a_series_beside_a_number) {
  static const mica_setting settings[] = {{"epochs", "14"}, {"width", "16"},  {"batch", "16"}, {"model", "cnn_gru"},
                                          {"lr", "0.004"},  {"dropout", "0"}, {"seed", "2"}};
  static const char *const counts[] = {"zero", "one", "two"};
  size_t parts = 0;
  FILE *file = rule_table("curves.csv", "age,curve,label\n");
  rule_seed = 9;
  for (int i = 0; i < 320; i++) {
    const bool old = rule_draw(2), rises = rule_draw(2);
    test_print(file, "%.1f,", (old ? 40 : 20) + 0.1 * rule_draw(100));
    write_series(file, rises);
    fprintf(file, ",%s\n", counts[old + rises]);
  }
  fclose(file);
  mica_run *run = rule_learn("fuse", "curves.csv", "curves", settings, sizeof settings / sizeof *settings);
  ck_assert_str_eq(mica_run_fact(run, "parts", &parts)[0], "series");
  ck_assert_uint_eq(parts, 2);
  ck_assert_double_ge(rule_measure(run, "accuracy"), 0.95);
  mica_report *p =
      rule_predict(run, &(mica_run_input){.text = "curve,age\n1 2 3 4 5 6 7;8,44\n8 7 6 5 4 3 2 1,23.5\n"});
  ck_assert_str_eq(mica_report_find(p, 0, "classes")->row_names[0], "two");
  ck_assert_str_eq(mica_report_find(p, 1, "classes")->row_names[0], "zero");
  mica_report_destroy(p);
#if MICA_WITH_ONNX
  ck_ok(mica_run_export(run, files_path("curves.onnx"), NULL));
#endif
  rule_refuses(run, "age,colour\n23,red\n", "a.csv has no column 'curve' of series");
  rule_refuses(run, "age,curve\n23,1 2 3\n25,1 two 3\n",
               "a.csv line 3: number 2 of the series in column \"curve\" is not a finite number");
  rule_refuses(run, "age,curve\n23,1 2 1e999\n", "number 3 of the series");
  rule_refuses(run, "age,curve\n23,1 2 3\n25,\n", "a.csv line 3: the series in column \"curve\" is empty");
  mica_run_destroy(run);
}
END_TEST

/* A table of a number and a cell of two numbers per row, each with other characters before it. */
static void write_codes(const char *name, const char *first, const char *second) {
  FILE *file = rule_table(name, "age,codes,label\n");
  for (int i = 0; i < 60; i++) fprintf(file, "%d,%s%d %s%d,%s\n", i, first, i, second, 59 - i, i % 2 ? "yes" : "no");
  fclose(file);
}

static void check_first_part(const mica_run *run, const char *name) {
  size_t parts = 0;
  ck_assert_str_eq(mica_run_fact(run, "parts", &parts)[0], name);
  ck_assert_uint_eq(parts, 2);
}

/* Words that a table does not read as numbers make a cell a text, not a series. */
START_TEST(codes_are_no_series) {
  static const char *const words[][2] = {{"0x", "0x"}, {"", "0X1F"}, {"1 inf ", ""}, {"nan ", ""}, {"0x1p", ""}};
  static const mica_setting settings[] = {{"vocabulary", "300"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    write_codes("codes.csv", words[i][0], words[i][1]);
    mica_run *run = create("codes.csv", settings, 1);
    check_first_part(run, "tokens");
    mica_run_destroy(run);
  }
  write_codes("codes.csv", "-1.5e-", "+.");
  mica_run *run = create("codes.csv", NULL, 0);
  check_first_part(run, "series");
  rule_refuses(run, "age,codes\n23,1 0x1F\n", "number 2 of the series in column \"codes\" is not a finite number");
  mica_run_destroy(run);
}
END_TEST

/* A column that the setting text names holds texts, whatever its cells look like. */
START_TEST(a_text_of_numbers) {
  static const mica_setting settings[] = {{"text", "codes"}, {"epochs", "1"}, {"width", "8"}, {"vocabulary", "300"}};
  write_codes("codes.csv", "", "");
  mica_run *run = create("codes.csv", settings + 1, 3);
  check_first_part(run, "series");
  mica_run_destroy(run);
  run = rule_learn("fuse", "codes.csv", "numbers_as_text", settings, 4);
  check_first_part(run, "tokens");
  ck_assert_str_eq(mica_run_fact(run, "text_column", NULL)[0], "codes");
  mica_report_destroy(rule_predict(run, &(mica_run_input){.text = "age,codes\n23,7 52\n"}));
  mica_run_destroy(run);
}
END_TEST

/* Each part that has heads, and the join, can share the width; cnn_gru shares twice as much. */
START_TEST(widths_suit_the_heads) {
  static const struct {
    mica_setting settings[3];
    const char *sentence;
  } rows[] = {
      {{{"model", "encoder"}, {"width", "10"}, {"join", "concat"}}, "a width of 10 cannot be shared by 4 heads:"},
      {{{"model", "cnn_gru"}, {"width", "7"}, {"join", "concat"}},
       "a width of 7 cannot be shared by 4 heads of cnn_gru: twice the width must be a multiple of heads"},
      {{{"model", "tcn"}, {"width", "6"}, {"join", "attention"}},
       "a width of 6 cannot be shared by 4 heads: width must be a multiple of heads"},
      {{{"model", "cnn_gru"}, {"width", "6"}, {"join", "concat"}}, NULL},
      {{{"model", "tcn"}, {"width", "7"}, {"join", "concat"}}, NULL}};
  write_codes("codes.csv", "", "");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (rows[i].sentence) {
      refuses("codes.csv", rows[i].settings, 3, rows[i].sentence);
      continue;
    }
    mica_run *run = create("codes.csv", rows[i].settings, 3);
    check_first_part(run, "series");
    ck_assert_ptr_nonnull(mica_run_trainer(run));
    mica_run_destroy(run);
  }
}
END_TEST

/* --- prediction --- */

/* Columns in another order, without answers; then with them, and with a column that the run does not know. */
START_TEST(predictions) {
  char text[1024];
  mica_run *run = learn("predicts", "kind", "score,young,happy", "concat", "10");
  write_picture("upright.png", true);
  write_picture("level.png", false);
  snprintf(text, sizeof text, "photo,note,age,colour\n%s,we saw a great film,44,red\n", files_path("upright.png"));
  snprintf(text + strlen(text), sizeof text - strlen(text), "%s,the plot was awful,23,green\n",
           files_path("level.png"));
  mica_report *p = rule_predict(run, &(mica_run_input){.text = text});
  ck_assert_uint_eq(mica_report_count(p), 2);
  ck_assert_str_eq(mica_report_title(p, 1), "row 3");
  ck_assert_str_eq(mica_report_find(p, 0, "classes")->row_names[0], "three");
  ck_assert_ptr_null(mica_report_find(p, 0, "truth"));
  mica_report_destroy(p);
  snprintf(text, sizeof text, "age,colour,note,photo,more,kind\n23,red,a poor film,%s,1,zero\n",
           files_path("level.png"));
  p = rule_predict(run, &(mica_run_input){.text = text});
  ck_assert_str_eq(mica_report_find(p, 0, "classes")->row_names[0], "zero");
  ck_assert_str_eq(mica_report_find(p, 0, "truth")->text, "zero");
  mica_report_destroy(p);
  ck_ok(mica_run_report(run, &p));
  mica_report_destroy(p);
  mica_run_destroy(run);
}
END_TEST

/* A column that the setting text names holds texts, however few they are. */
START_TEST(a_text_of_few_words) {
  static const mica_setting settings[] = {{"text", "note"}, {"epochs", "1"}, {"width", "8"}, {"vocabulary", "300"}};
  size_t parts = 0;
  FILE *file = rule_table("few.csv", "age,note,label\n");
  for (int i = 0; i < 60; i++) fprintf(file, "%d,%s,%s\n", i, i % 2 ? "a film" : "no film", i % 2 ? "yes" : "no");
  fclose(file);
  mica_run *run = create("few.csv", settings, sizeof settings / sizeof *settings);
  ck_assert_str_eq(mica_run_fact(run, "parts", &parts)[0], "tokens");
  ck_assert_uint_eq(parts, 2);
  mica_run_destroy(run);
}
END_TEST

/* Refuses rows in which %s is a picture. */
static void refuses_rows(mica_run *run, const char *rows, const char *sentence) {
  char text[1024];
  const char *picture = strstr(rows, "%s");
  snprintf(text, sizeof text, "%.*s%s%s", (int)(picture - rows), rows, files_path("fuse0.png"), picture + 2);
  rule_refuses(run, text, sentence);
}

START_TEST(wrong_rows) {
  mica_run *run = learn("wrong", "kind", "score,young,happy", "concat", "1");
  rule_refuses(run, "age,colour,note\n23,red,a poor film\n", "a.csv has no column 'photo' with names of pictures");
  rule_refuses(run, "age,colour,note,photo\n23,red,a film,\n",
               "a.csv line 2: column \"photo\" holds \"\" instead of the name of a picture");
  refuses_rows(run, "age,colour,photo\n23,red,%s\n", "a.csv has no column 'note' of texts");
  refuses_rows(run, "age,note,photo\n23,a film,%s\n", "a.csv has no column 'colour'");
  refuses_rows(run, "colour,note,photo\nred,a film,%s\n",
               "a.csv has no column 'age', but the network was trained on it");
  rule_refuses(run, "age,colour,note,photo\n23,red,a film,none.png\n",
               "a.csv line 2: column \"photo\" names none.png: there is no such file");
  refuses_rows(run, "age,colour,note,photo\n23,red,a film,%s\n23,red,a film,\n",
               "a.csv line 3: the name of the file in column \"photo\" is empty");
  rule_refuses(run, "age,colour,note,photo\nmany,red,a film,none.png\n", "\"many\" instead of a number");
  ck_assert_msg(!strstr(mica_error_message(), "--kinds"), "%s", mica_error_message());
  rule_refuses(run, "age,colour,note,photo\n1e400,red,a film,none.png\n", "\"1e400\" instead of a number from -3.4e38");
  rule_refuses(run, "age,colour,note,photo\n-inf,red,a film,none.png\n", "\"-inf\" instead of a number from -3.4e38");
  rule_refuses(run, "23,red,a poor film,none.png\n", "a.csv");
  mica_run_destroy(run);
  files_write_text("nothing.csv", "day,label\n2026-01-01,one\n2026-01-02,two\n2026-01-03,one\n2026-01-04,two\n");
  const mica_run_config nothing = {.task = "fuse", .data = files_path("nothing.csv")};
  ck_assert_int_eq(mica_run_create(test_engine(), &nothing, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "has no inputs"), "%s", mica_error_message());
  /* Columns that settings name and the table lacks. */
  static const char *const settings[][3] = {{"label", "nope", "has no column \"nope\" for labels"},
                                            {"text", "nope", "has no column 'nope' of texts"},
                                            {"text", "photo", "has no column 'photo' of texts"}};
  for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
    const mica_setting lacking[] = {{settings[i][0], settings[i][1]}, {"ignore", "note"}};
    const mica_run_config config = {
        .task = "fuse", .data = files_path("fuse.csv"), .settings = lacking, .setting_count = 2};
    ck_assert_int_ne(mica_run_create(test_engine(), &config, &run), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), settings[i][2]), "%s", mica_error_message());
  }
}
END_TEST

/* --- a stop --- */

static bool stop_after(void *user, const mica_train_progress *progress) {
  return progress->step < *(const int64_t *)user;
}

START_TEST(a_stopped_run_has_the_same_bits) {
  static const mica_setting settings[] = {
      {"label", "kind"}, {"ignore", "score,young,happy"}, {"epochs", "3"}, {"width", "8"},
      {"length", "16"},  {"vocabulary", "300"},           {"batch", "16"}, {"seed", "5"}};
  char data[512], folders[2][512];
  uint8_t *bytes[2];
  size_t sizes[2];
  const int64_t stops[] = {INT64_MAX, 21};
  write_rows("stop.csv", 200);
  snprintf(data, sizeof data, "%s", files_path("stop.csv"));
  for (int i = 0; i < 2; i++) {
    snprintf(folders[i], sizeof folders[i], "%s", files_path(i ? "stopped" : "whole"));
    mica_run_config config = {.task = "fuse",
                              .data = data,
                              .folder = folders[i],
                              .settings = settings,
                              .setting_count = sizeof settings / sizeof *settings,
                              .report = stop_after,
                              .user = (void *)(uintptr_t)&stops[i]};
    mica_run *run = rule_train(&config);
    ck_assert(!mica_run_stopped(run) == !i);
    mica_run_destroy(run);
    if (i) mica_run_destroy(rule_train(&(mica_run_config){.folder = folders[i], .resume = true}));
    bytes[i] = files_read(files_path(i ? "stopped/last.safetensors" : "whole/last.safetensors"), &sizes[i]);
  }
  ck_assert_uint_eq(sizes[0], sizes[1]);
  ck_assert_mem_eq(bytes[0], bytes[1], sizes[0]);
  free(bytes[0]);
  free(bytes[1]);
}
END_TEST

TESTS(BOTH(BOTH(NEEDS(PNG), NEEDS(CJSON)), BOTH(NEEDS(PCRE2), DEVICE)), NULL, NULL, together_they_suffice,
      attention_joins_them, none_suffices_alone, unknown_numbers, other_answers,
      IF(SNDFILE, a_recording_beside_a_number), IF(SNDFILE, foreign_recordings), a_series_beside_a_number,
      a_text_of_few_words, codes_are_no_series, a_text_of_numbers, widths_suit_the_heads, predictions, wrong_rows,
      a_stopped_run_has_the_same_bits)
