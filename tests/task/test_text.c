/* labels: device slow
 *
 * The task text: messages are told apart, asked about in lines, files and tables; a run has the tokeniser of its folder
 * and no other; what is wrong is said; a step costs launches alone. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if MICA_WITH_CJSON && MICA_WITH_PCRE2

#define ROWS 160

/* Two kinds of messages of 3 to 9 words, some of them empty, with quotes and an accent. */
static void write_messages(const char *name, const char *header, int rows) {
  static const char *const words[2][6] = {{"lunch", "home", "later", "\"ok\"", "caf\xc3\xa9", "mum"},
                                          {"prize", "call", "free", "\"win\"",
                                           "\xc2\xa3"
                                           "500",
                                           "now"}};
  FILE *file = fopen(files_path(name), "wb");
  ck_assert_ptr_nonnull(file);
  fputs(header, file);
  for (int i = 0; i < rows; i++) {
    const int kind = i % 3 == 0;
    fprintf(file, "%s\t", kind ? "spam" : "ham");
    for (int k = 0; k < 3 + i % 7 && i != 5; k++) fprintf(file, "%s%s", k ? " " : "", words[kind][(i * 5 + k * k) % 6]);
    fprintf(file, i == 5 ? "\n" : " %d\n", i * i);
  }
  fclose(file);
}

static const mica_setting settings[] = {{"epochs", "6"},  {"batch", "16"},   {"width", "16"},       {"heads", "2"},
                                        {"length", "40"}, {"lr", "0.02"},    {"vocabulary", "320"}, {"dropout", "0"},
                                        {"seed", "3"},    {"clip-norm", "0"}};
#define SETTINGS (sizeof settings / sizeof *settings)

static char data[512], folder[512];

static void begin(void) {
  write_messages("sms.tsv", "Label\tSMS\n", ROWS);
  snprintf(data, sizeof data, "%s", files_path("sms.tsv"));
  snprintf(folder, sizeof folder, "%s", files_path("run"));
}

static mica_run *train(const char *tokenizer, bool fit) {
  mica_setting all[SETTINGS + 1];
  memcpy(all, settings, sizeof settings);
  all[SETTINGS] = (mica_setting){"tokenizer", tokenizer};
  const mica_run_config config = {
      .data = data, .folder = fit ? folder : NULL, .settings = all, .setting_count = SETTINGS + 1};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_assert_str_eq(mica_run_task(run), "text");
  if (fit) ck_ok(mica_run_fit(run));
  return run;
}

static char *predict(mica_run *run, const mica_run_input *input) {
  mica_report *prediction = NULL;
  char *text = NULL;
  ck_ok(mica_run_predict(run, input, &prediction));
  ck_ok(mica_report_json(prediction, "predictions", "", &text));
  mica_report_destroy(prediction);
  return text;
}

static void refused(mica_run *run, const mica_run_input *input, const char *sentence) {
  mica_report *prediction = NULL;
  ck_assert_int_ne(mica_run_predict(run, input, &prediction), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
}

/* How often a text occurs in another. */
static int count_of(const char *text, const char *part) {
  int count = 0;
  for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
  return count;
}

static void check_predictions(mica_run *run) {
  const char *path = files_path("lines.txt");
  char *text = predict(run, &(mica_run_input){.text = "\"win\" call prize call 9\nmum lunch later 7\n", .top = 1});
  const char *spam = strstr(text, "spam"), *ham = strstr(text, "ham");
  ck_assert_msg(spam && ham && spam < ham && count_of(text, "\"line ") == 2, "%s", text);
  mica_free(text);
  files_write_text("lines.txt", "lunch, home\r\n\r\nfree call");
  path = files_path("lines.txt");
  text = predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  ck_assert_msg(count_of(text, "\"line ") == 3, "%s", text);
  mica_free(text);
  files_write_text("new.csv", "id,SMS\n7,\"free prize, now\"\n8,lunch later\n");
  path = files_path("new.csv");
  text = predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  ck_assert_msg(count_of(text, "\"line ") == 2 && !strstr(text, "truth"), "%s", text);
  mica_free(text);
  text = predict(run, &(mica_run_input){.text = "SMS\tLabel\nfree prize now\tspam\n"});
  ck_assert_msg(count_of(text, "\"truth\": \"spam\"") == 1, "%s", text);
  mica_free(text);
  text = predict(run, &(mica_run_input){.data = data, .part = MICA_PART_TEST, .count = 4});
  ck_assert_msg(count_of(text, "truth") == 4, "%s", text);
  mica_free(text);
}

static void check_refusals(mica_run *run) {
  const char *path = files_path("other.csv");
  mica_metrics after;
  files_write_text("other.csv", "id,note\n7,free prize\n");
  refused(run, &(mica_run_input){.files = &path, .file_count = 1}, "has no column 'SMS'");
  files_write_text("eggs.tsv", "Label\tSMS\neggs\tfree prize\nham\tlunch\n");
  path = files_path("eggs.tsv");
  refused(run, &(mica_run_input){.files = &path, .file_count = 1}, "'eggs' is not one of the 2");
  ck_assert_int_eq(mica_run_evaluate(run, path, MICA_PART_TRAIN, &after), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "class 'eggs'"), "%s", mica_error_message());
  ck_assert_int_ne(mica_run_evaluate(run, files_path("other.csv"), MICA_PART_TRAIN, &after), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "Label"), "%s", mica_error_message());
  files_write_text("empty.txt", "");
  path = files_path("empty.txt");
  refused(run, &(mica_run_input){.files = &path, .file_count = 1}, "empty.txt is empty");
  /* A separator within a text: a cell too many, and not a shorter text; in a table parted by tabs a comma is none. */
  files_write_text("cut.csv", "Label,SMS\nham,lunch\nham,lunch, and home\n");
  path = files_path("cut.csv");
  refused(run, &(mica_run_input){.files = &path, .file_count = 1},
          "cut.csv line 3 has 3 columns, but the rows before have 2");
  files_write_text("cut.tsv", "SMS\nlunch, and home\n");
  path = files_path("cut.tsv");
  char *table = predict(run, &(mica_run_input){.files = &path, .file_count = 1}),
       *line = predict(run, &(mica_run_input){.text = "lunch, and home\n"});
  ck_assert_str_eq(strstr(table, "ham"), strstr(line, "ham"));
  mica_free(table);
  mica_free(line);
  files_write_text("empty.tsv", "");
  path = files_path("empty.tsv");
  refused(run, &(mica_run_input){.files = &path, .file_count = 1}, "empty.tsv is empty");
  files_write("sound.wav", "RIFF\0\0\nWAVE", 11);
  path = files_path("sound.wav");
  refused(run, &(mica_run_input){.files = &path, .file_count = 1}, "sound.wav holds a zero byte");
  refused(run, &(mica_run_input){.file_count = 0}, "exactly one of files, data and a text");
}

static void check_tokenisers(void) {
  mica_run *run = NULL;
  mica_tokenizer *other = NULL;
  char tokenizer[600];
  snprintf(tokenizer, sizeof tokenizer, "%s/tokenizer.json", folder);
  ck_ok(mica_tokenizer_train(&(mica_tokenizer_config){.kind = MICA_TOKENIZER_KIND_BYTE}, NULL, NULL, &other));
  ck_ok(mica_tokenizer_save(other, tokenizer));
  mica_tokenizer_destroy(other);
  ck_assert_int_eq(mica_run_open(test_engine(), folder, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "is not the run's own tokeniser"), "%s", mica_error_message());
  files_write_text("run/tokenizer.json", "{\"model\": {");
  ck_assert_int_eq(mica_run_open(test_engine(), folder, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "is damaged"), "%s", mica_error_message());
  unlink(tokenizer);
  ck_assert_int_ne(mica_run_open(test_engine(), folder, &run), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "tokenizer.json"), "%s", mica_error_message());
}

/* Removes the name of the label from the config of the run. */
static void forget_label(void) {
  static const char is[] = "\"label_name\": [\"label\"],";
  static char config[1 << 16];
  FILE *file = fopen(files_path("run/config.json"), "rb");
  ck_assert_ptr_nonnull(file);
  config[fread(config, 1, sizeof config - 1, file)] = '\0';
  fclose(file);
  char *at = strstr(config, is);
  ck_assert_msg(at != NULL, "%s", config);
  memmove(at, at + strlen(is), strlen(at + strlen(is)) + 1);
  files_write_text("run/config.json", config);
}

/* The texts are column "0", and the run does not know the name of its label. So a table without a header has texts but
 * no answers. */
START_TEST(answers_without_a_name_are_in_no_column) {
  static const char texts[] =
      "lunch home laterfree prize call nowlunch mum laterfree call winhome lunch okprize free now";
  static const int64_t offsets[] = {0, 16, 35, 50, 63, 76, 90};
  static const int32_t labels[] = {0, 1, 0, 1, 0, 1};
  const mica_column_data columns[] = {
      {.column = {"0", MICA_COLUMN_KIND_TEXT, MICA_U8, {1, {MICA_DYNAMIC}}, 0}, .data = texts, .offsets = offsets},
      {.column = {"label", MICA_COLUMN_KIND_CLASS, MICA_I32, MICA_SCALAR, 2}, .data = labels}};
  mica_dataset *dataset = NULL;
  mica_setting all[SETTINGS + 1];
  mica_run *run = NULL;
  memcpy(all, settings, sizeof settings);
  all[SETTINGS] = (mica_setting){"tokenizer", "byte"};
  ck_ok(mica_dataset_create("texts", 6, columns, 2, &dataset));
  const mica_run_config config = {
      .task = "text", .dataset = dataset, .folder = folder, .settings = all, .setting_count = SETTINGS + 1};
  ck_ok(mica_run_create(test_engine(), &config, &run));
  ck_ok(mica_run_fit(run));
  mica_run_destroy(run);
  forget_label();
  ck_ok(mica_run_open(test_engine(), folder, &run));
  files_write_text("bare.csv", "free prize,1\nlunch later,2\n");
  const char *path = files_path("bare.csv");
  char *text = predict(run, &(mica_run_input){.files = &path, .file_count = 1});
  ck_assert_msg(count_of(text, "\"line ") == 2 && !strstr(text, "truth"), "%s", text);
  mica_free(text);
  mica_run_destroy(run);
  mica_dataset_destroy(dataset);
}
END_TEST

START_TEST(messages_are_told_apart) {
  mica_metrics before, after;
  mica_run *run = train("bpe", true);
  ck_assert_ptr_nonnull(strstr(mica_run_remark(run, 0), "1 of 144 texts are empty"));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &before));
  ck_assert_double_ge(mica_metrics_get(&before, "f1_spam"), 0.8);
  ck_assert_double_ge(mica_metrics_get(&before, "f1_ham"), 0.8);
  mica_run_destroy(run);
  ck_ok(mica_run_open(test_engine(), folder, &run));
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &after));
  ck_assert(before.samples == after.samples && before.loss == after.loss);
  /* Classes are found by name: data that lack some, and that have them in another order. */
  write_messages("few.tsv", "Label\tSMS\n", 3);
  char few[512];
  snprintf(few, sizeof few, "%s", files_path("few.tsv"));
  ck_ok(mica_run_evaluate(run, few, MICA_PART_TRAIN, &after));
  ck_assert_int_eq(after.samples, 3);
  mica_report *report = NULL;
  char *page = NULL;
  ck_ok(mica_run_evaluate(run, NULL, MICA_PART_TRAIN, &after));
  ck_assert_int_eq(after.samples, 144);
  ck_ok(mica_run_report(run, &report));
  ck_ok(mica_report_json(report, "items", "", &page));
  ck_assert_ptr_nonnull(strstr(page, "\"confusion\""));
  mica_free(page);
  mica_report_destroy(report);
  /* Lines, a file of lines, tables with answers and without, another order of columns, a part. */
  check_predictions(run);
  check_refusals(run);
  /* Inputs are measured on the tokens of texts. */
  ck_ok(mica_run_quantize(run, &(mica_run_quantize_config){.folder = files_path("run8")}, NULL));
  mica_run_destroy(run);
  /* A tokeniser of another model, a damaged one, none. */
  check_tokenisers();
}
END_TEST

/* Any tokeniser's file serves; a kind that wants UTF-8 names the text that is none. */
START_TEST(tokenisers_are_chosen) {
  mica_run *run = NULL;
  mica_tokenizer *own = NULL;
  ck_ok(mica_tokenizer_train(&(mica_tokenizer_config){.kind = MICA_TOKENIZER_KIND_BYTE}, NULL, NULL, &own));
  ck_ok(mica_tokenizer_save(own, files_path("own.json")));
  char path[512];
  snprintf(path, sizeof path, "%s", files_path("own.json"));
  run = train(path, false);
  ck_assert_double_eq(mica_run_fact_numbers(run, "vocabulary", NULL)[0], mica_tokenizer_size(own));
  mica_tokenizer_destroy(own);
  mica_run_destroy(run);
  snprintf(path, sizeof path, "%s", files_path("bad.tsv"));
  FILE *file = fopen(path, "wb");
  ck_assert_ptr_nonnull(file);
  fputs("Label\tSMS\n", file);
  for (int i = 0; i < 400; i++) fprintf(file, "%s\tnumber %d %s\n", i % 2 ? "ham" : "spam", i, i == 77 ? "\xff" : "");
  fclose(file);
  const mica_setting word[] = {{"tokenizer", "word"}, {"validation", "0"}};
  mica_run_config config = {.task = "text", .data = path, .settings = word, .setting_count = 2};
  ck_assert_int_eq(mica_run_create(test_engine(), &config, &run), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), "UTF-8"), "%s", mica_error_message());
  static const struct wrong {
    mica_setting setting;
    const char *sentence;
  } wrong[] = {{{"tokenizer", "syllable"}, "tokenizer cannot be \"syllable\"; choose a tokenizer.json or one of bpe"},
               {{"tokenizer", "./none.json"}, "cannot read ./none.json"},
               {{"vocabulary", "0"}, "vocabulary wants a whole number"},
               {{"model", "resnet18"}, "encoder, tagger, tcn and cnn_gru, not resnet18"},
               {{"heads", "5"}, "a width of 64 cannot be shared by 5 heads"},
               {{"text", "Message"}, "no column 'Message' of texts"},
               {{"text", "Label"}, "it is the column of answers"},
               {{"label", "Kind"}, "Kind"}};
  snprintf(path, sizeof path, "%s", data);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    config.settings = &wrong[i].setting;
    config.setting_count = 1;
    ck_assert_int_ne(mica_run_create(test_engine(), &config, &run), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].sentence), "%s", mica_error_message());
  }
}
END_TEST

/* Attention of encoder shares `width` features among the heads; attention of cnn_gru shares 2 * width. */
START_TEST(widths_suit_the_heads) {
  static const struct {
    const char *model, *width, *sentence;
  } rows[] = {
      {"encoder", "6", "a width of 6 cannot be shared by 4 heads: width must be a multiple of heads"},
      {"cnn_gru", "7", "a width of 7 cannot be shared by 4 heads of cnn_gru: twice the width must be a multiple of"},
      {"cnn_gru", "6", NULL},
      {"tcn", "7", NULL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const mica_setting given[] = {{"model", rows[i].model}, {"width", rows[i].width}, {"vocabulary", "300"}};
    const mica_run_config config = {.task = "text", .data = data, .settings = given, .setting_count = 3};
    mica_run *run = NULL;
    const mica_status status = mica_run_create(test_engine(), &config, &run);
    if (rows[i].sentence) {
      ck_assert_int_eq(status, MICA_E_INVALID);
      ck_assert_msg(strstr(mica_error_message(), rows[i].sentence), "%s", mica_error_message());
      continue;
    }
    ck_ok(status);
    ck_assert_ptr_nonnull(mica_run_trainer(run));
    mica_run_destroy(run);
  }
}
END_TEST

START_TEST(a_step_costs_launches_alone) {
  mica_run *run = train("bpe", false);
  mica_trainer *trainer = mica_run_trainer(run);
  mica_loader *loader = NULL;
  uint64_t waits = 0, allocations = 0, builds = 0;
  uint64_t steps = 0;
  const mica_loader_config config = {.batch = 16, .shuffle = true, .drop_last = true};
  ck_ok(mica_loader_create(test_engine(), mica_run_data(run, MICA_PART_TRAIN), &config, &loader));
  const mica_batch_source source = mica_loader_source(loader);
  for (int epoch = 0; epoch < 2; epoch++) {
    ck_ok(source.seek(source.user, 0, 0)); /* the same lengths again */
    for (mica_batch batch = {0};;) {
      ck_ok(source.next(source.user, test_queue(), &batch));
      if (!batch.count) break;
      const mica_stats before = mica_engine_stats(test_engine());
      ck_ok(mica_trainer_step(trainer, &batch));
      const mica_stats after = mica_engine_stats(test_engine());
      if (!epoch) continue;
      steps++;
      waits += after.host_waits - before.host_waits;
      allocations += after.allocations - before.allocations;
      builds += after.kernel_builds - before.kernel_builds;
    }
  }
  ck_assert_uint_eq(steps, 9);
  ck_assert_uint_eq(waits, 0);
  ck_assert_uint_eq(allocations, 0);
  ck_assert_uint_eq(builds, 0);
  mica_loader_destroy(loader);
  mica_run_destroy(run);
}
END_TEST

TESTS(DEVICE, begin, files_remove, answers_without_a_name_are_in_no_column, messages_are_told_apart,
      tokenisers_are_chosen, widths_suit_the_heads, a_step_costs_launches_alone)

#else

SKIPS("this build lacks cJSON or PCRE2")

#endif
