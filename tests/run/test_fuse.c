/* labels: device slow
 *
 * Several inputs of one sample. Each says one bit of the answer, so that none suffices: how many of the bits are set is
 * learned by all of them together, and by none alone. */
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

static uint32_t draw(uint32_t below) {
  state = state * 1664525u + 1013904223u;
  return (uint32_t)(((uint64_t)state * below) >> 32);
}

enum { ROWS = 640, SIDE = 8, BITS = 3 };

static const char header[] = "age,colour,note,photo,kind,score,young,happy\n";
#define ANSWERS "kind,score,young,happy"

/* A picture with upright or level stripes. */
static void write_picture(const char *name, bool upright) {
  uint8_t planes[SIDE * SIDE], *png = NULL;
  size_t bytes = 0;
  for (int k = 0; k < SIDE * SIDE; k++)
    planes[k] = (uint8_t)(((upright ? k % SIDE : k / SIDE) / 2 % 2 ? 180 : 30) + (int)draw(40));
  ck_ok(mica_png_encode(planes, MICA_SHAPE(1, SIDE, SIDE), &png, &bytes));
  files_write(name, png, bytes);
  mica_free(png);
}

/* What a row says of its inputs, without the answers. */
static void write_inputs(FILE *file, int row, const bool *bits) {
  static const char *const good[] = {"good", "fine", "great"}, *const bad[] = {"bad", "poor", "awful"};
  static const char *const words[] = {"the", "film", "a", "plot", "we", "saw", "it", "was"};
  char name[32];
  snprintf(name, sizeof name, "fuse%d.png", row);
  write_picture(name, bits[2]);
  test_print(file, "%.3f,%s,", (bits[0] ? 40 : 20) + 0.1 * draw(100), draw(2) ? "red" : "blue");
  const uint32_t at = draw(5);
  for (uint32_t k = 0; k < 5; k++)
    fprintf(file, "%s%s", k ? " " : "", k == at ? (bits[1] ? good : bad)[draw(3)] : words[draw(8)]);
  fprintf(file, ",%s", name);
}

static void write_rows(const char *table, int count) {
  static const char *const counts[] = {"zero", "one", "two", "three"};
  FILE *file = fopen(files_path(table), "w");
  ck_assert_ptr_nonnull(file);
  fputs(header, file);
  state = 7;
  for (int i = 0; i < count; i++) {
    bool bits[BITS];
    int set = 0;
    for (int k = 0; k < BITS; k++) set += bits[k] = draw(2);
    write_inputs(file, i, bits);
    fprintf(file, ",%s,%d.%03u,%d,%d\n", counts[set], 100 + 10 * bits[0] + 20 * bits[1] + 40 * bits[2], draw(1000),
            !bits[0] && bits[2], bits[1]);
  }
  fclose(file);
}

static mica_run *train(const mica_run_config *config) {
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), config, &run));
  ck_ok(mica_run_fit(run));
  return run;
}

/* Trains on columns but those that `ignore` names; the run is opened again from its folder. */
static mica_run *learn(const char *name, const char *label, const char *ignore, const char *join, const char *epochs) {
  const mica_setting settings[] = {{"label", label}, {"ignore", ignore}, {"join", join},        {"epochs", epochs},
                                   {"width", "16"},  {"length", "16"},   {"vocabulary", "300"}, {"batch", "16"},
                                   {"dropout", "0"}, {"lr", "0.004"},    {"seed", "3"}};
  char data[512], folder[512];
  snprintf(data, sizeof data, "%s", files_path("fuse.csv"));
  snprintf(folder, sizeof folder, "%s", files_path(name));
  write_rows("fuse.csv", ROWS);
  mica_run *run = train(&(mica_run_config){.task = "fuse",
                                           .data = data,
                                           .folder = folder,
                                           .settings = settings,
                                           .setting_count = sizeof settings / sizeof *settings});
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  return run;
}

static double measure(mica_run *run, const char *metric) {
  mica_metrics m;
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &m));
  return mica_metrics_get(&m, metric);
}

static void refuses(mica_run *run, const char *text, const char *sentence) {
  mica_report *p = NULL;
  ck_assert_int_ne(mica_run_predict(run, &(mica_run_input){.text = text, .name = "a.csv"}, &p), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
}

/* --- what is learned --- */

static void check_together(const char *name, const char *join) {
  size_t parts = 0;
  mica_run *run = learn(name, "kind", "score,young,happy", join, "10");
  ck_assert_str_eq(mica_run_task(run), "fuse");
  mica_run_fact(run, "parts", &parts);
  ck_assert_uint_eq(parts, BITS);
  const double accuracy = measure(run, "accuracy");
  printf("%s of %zu parts: accuracy %.4f\n", join, parts, accuracy);
  ck_assert_double_ge(accuracy, 0.95);
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
    const char *const *names = mica_run_fact(run, "parts", &parts);
    ck_assert_uint_eq(parts, 1);
    const double accuracy = measure(run, "accuracy");
    printf("%s alone: accuracy %.4f\n", names[0], accuracy);
    ck_assert_double_le(accuracy, 0.6);
    ck_assert_double_ge(accuracy, 0.3);
    mica_run_destroy(run);
  }
}
END_TEST

START_TEST(other_answers) {
  mica_run *run = learn("numbers", "score", "kind,young,happy", "concat", "14");
  ck_assert_str_eq(mica_run_task(run), "fuse_numbers");
  ck_assert_double_gt(measure(run, "r2"), 0.95);
  mica_run_destroy(run);
  run = learn("labels", "young,happy", "kind,score", "concat", "10");
  ck_assert_str_eq(mica_run_task(run), "fuse_labels");
  ck_assert_double_gt(measure(run, "map"), 0.95);
  mica_run_destroy(run);
}
END_TEST

#if MICA_WITH_SNDFILE
enum { RATE = 4000, SAMPLES = 1200 };

static void put32(uint8_t *to, uint32_t value) {
  for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* A WAV of 16 bits: a tone and noise. */
static void write_tone(const char *name, double pitch) {
  static uint8_t wav[44 + 2 * SAMPLES];
  static const uint8_t format[] = {16, 0, 0, 0, 1, 0, 1, 0};
  memcpy(wav, "RIFF", 4);
  put32(wav + 4, sizeof wav - 8);
  memcpy(wav + 8, "WAVEfmt ", 8);
  memcpy(wav + 16, format, sizeof format);
  put32(wav + 24, RATE);
  put32(wav + 28, 2 * RATE);
  put32(wav + 32, 2 | 16 << 16);
  memcpy(wav + 36, "data", 4);
  put32(wav + 40, 2 * SAMPLES);
  for (int t = 0; t < SAMPLES; t++) {
    const int16_t value = (int16_t)(8000 * sin(pitch * 6.283185307 * t / RATE) + draw(800));
    wav[44 + 2 * t] = (uint8_t)(value & 255);
    wav[45 + 2 * t] = (uint8_t)((uint16_t)value >> 8);
  }
  files_write(name, wav, sizeof wav);
}

/* A recording beside a number, each of which says one bit. */
START_TEST(a_recording_beside_a_number) {
  static const mica_setting settings[] = {{"epochs", "10"}, {"width", "16"}, {"batch", "16"},  {"seconds", "0.3"},
                                          {"mels", "16"},   {"lr", "0.004"}, {"dropout", "0"}, {"seed", "2"}};
  static const char *const counts[] = {"zero", "one", "two"};
  char data[512], folder[512], text[1024];
  size_t parts = 0;
  mica_run *run = NULL;
  mica_report *p = NULL;
  snprintf(data, sizeof data, "%s", files_path("heard.csv"));
  snprintf(folder, sizeof folder, "%s", files_path("heard"));
  FILE *file = fopen(data, "w");
  ck_assert_ptr_nonnull(file);
  fputs("age,sound,label\n", file);
  state = 9;
  for (int i = 0; i < 240; i++) {
    char name[32];
    const bool old = draw(2), high = draw(2);
    snprintf(name, sizeof name, "voice%d.wav", i);
    write_tone(name, high ? 900 : 300);
    test_print(file, "%.1f,%s,%s\n", (old ? 40 : 20) + 0.1 * draw(100), name, counts[old + high]);
  }
  fclose(file);
  mica_run_destroy(train(
      &(mica_run_config){.task = "fuse", .data = data, .folder = folder, .settings = settings, .setting_count = 8}));
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_assert_str_eq(mica_run_fact(run, "parts", &parts)[0], "sound");
  ck_assert_uint_eq(parts, 2);
  ck_assert_double_ge(measure(run, "accuracy"), 0.95);
  snprintf(text, sizeof text, "sound,age\n%s,44\n", files_path("voice0.wav"));
  ck_ok(mica_run_predict(run, &(mica_run_input){.text = text}, &p));
  ck_assert_str_ne(mica_report_find(p, 0, "classes")->row_names[0], "zero");
  mica_report_destroy(p);
  ck_ok(mica_run_export(run, files_path("heard.onnx"), NULL));
  refuses(run, "age,colour\n23,red\n", "a.csv has no recordings");
  mica_run_destroy(run);
}
END_TEST
#endif

/* --- prediction --- */

/* Columns in another order, without answers; then with them, and with a column that the run does not know. */
START_TEST(predictions) {
  char text[1024];
  mica_report *p = NULL;
  mica_run *run = learn("predicts", "kind", "score,young,happy", "concat", "10");
  write_picture("upright.png", true);
  write_picture("level.png", false);
  snprintf(text, sizeof text, "photo,note,age,colour\n%s,we saw a great film,44,red\n", files_path("upright.png"));
  snprintf(text + strlen(text), sizeof text - strlen(text), "%s,the plot was awful,23,green\n",
           files_path("level.png"));
  ck_ok(mica_run_predict(run, &(mica_run_input){.text = text}, &p));
  ck_assert_uint_eq(mica_report_count(p), 2);
  ck_assert_str_eq(mica_report_title(p, 1), "row 3");
  ck_assert_str_eq(mica_report_find(p, 0, "classes")->row_names[0], "three");
  ck_assert_ptr_null(mica_report_find(p, 0, "truth"));
  mica_report_destroy(p);
  snprintf(text, sizeof text, "age,colour,note,photo,more,kind\n23,red,a poor film,%s,1,zero\n",
           files_path("level.png"));
  ck_ok(mica_run_predict(run, &(mica_run_input){.text = text}, &p));
  ck_assert_str_eq(mica_report_find(p, 0, "classes")->row_names[0], "zero");
  ck_assert_str_eq(mica_report_find(p, 0, "truth")->text, "zero");
  mica_report_destroy(p);
  ck_ok(mica_run_report(run, &p));
  mica_report_destroy(p);
  mica_run_destroy(run);
}
END_TEST

START_TEST(wrong_rows) {
  mica_run *run = learn("wrong", "kind", "score,young,happy", "concat", "1");
  refuses(run, "age,colour,note\n23,red,a poor film\n", "a.csv has no column of names of pictures");
  refuses(run, "age,colour,photo\n23,red,none.png\n", "a.csv has no column 'note' of texts");
  refuses(run, "age,note,photo\n23,a film,none.png\n", "a.csv has no column 'colour'");
  refuses(run, "colour,note,photo\nred,a film,none.png\n", "a.csv has 0 columns of numbers");
  refuses(run, "age,colour,note,photo\n23,red,a film,none.png\n", "none.png");
  refuses(run, "age,colour,note,photo\n23,red,a film,fuse0.png\n23,red,a film,\n",
          "a.csv line 3: the name of the file");
  refuses(run, "age,colour,note,photo\nmany,red,a film,none.png\n", "\"many\" instead of a number");
  refuses(run, "23,red,a poor film,none.png\n", "a.csv");
  mica_run_destroy(run);
  files_write_text("nothing.csv", "day,label\n2026-01-01,one\n2026-01-02,two\n2026-01-03,one\n2026-01-04,two\n");
  const mica_run_config nothing = {.task = "fuse", .data = files_path("nothing.csv")};
  ck_assert_int_eq(mica_run_create(test_engine(), &nothing, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "has no inputs"), "%s", mica_error_message());
}
END_TEST

/* --- a stop --- */

static bool stop_after(void *user, const mica_train_progress *progress) {
  return progress->step < *(const int64_t *)user;
}

static uint8_t *read_all(const char *folder, size_t *size) {
  char path[1200];
  snprintf(path, sizeof path, "%s/last.safetensors", folder);
  FILE *file = fopen(path, "rb");
  ck_assert_ptr_nonnull(file);
  uint8_t *bytes = malloc(1 << 24);
  *size = fread(bytes, 1, 1 << 24, file);
  fclose(file);
  return bytes;
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
    mica_run *run = train(&config);
    ck_assert(!mica_run_stopped(run) == !i);
    mica_run_destroy(run);
    if (i) mica_run_destroy(train(&(mica_run_config){.folder = folders[i], .resume = true}));
    bytes[i] = read_all(folders[i], &sizes[i]);
  }
  ck_assert_uint_eq(sizes[0], sizes[1]);
  ck_assert_mem_eq(bytes[0], bytes[1], sizes[0]);
  free(bytes[0]);
  free(bytes[1]);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
#if !MICA_WITH_PNG || !MICA_WITH_CJSON || !MICA_WITH_PCRE2
  return test_skip("this build lacks libpng, cJSON or PCRE2");
#else
  Suite *suite = suite_create("run.fuse");
  TCase *test = tcase_create("fuse");
  tcase_add_unchecked_fixture(test, NULL, files_remove);
  tcase_set_timeout(test, 0);
  tcase_add_test(test, together_they_suffice);
  tcase_add_test(test, attention_joins_them);
  tcase_add_test(test, none_suffices_alone);
  tcase_add_test(test, other_answers);
#if MICA_WITH_SNDFILE
  tcase_add_test(test, a_recording_beside_a_number);
#endif
  tcase_add_test(test, predictions);
  tcase_add_test(test, wrong_rows);
  tcase_add_test(test, a_stopped_run_has_the_same_bits);
  suite_add_tcase(suite, test);
  return suite;
#endif
}
