/* labels: device single
 *
 * Lesson 14: messages are told apart. A run of the task text makes tokens of a table's texts by a tokeniser that it
 * trains itself, learns the classes, and is asked about texts that it has not seen. Without an argument the table is
 * made up here; an argument names one with a column of texts and one of classes.
 *
 *   build/bin/samples/14_text [TABLE]
 *
 * Exit status 0 when it has learned, 1 when not, 77 where there is no device or the library has no tokenisers. */
#define _DEFAULT_SOURCE /* mkstemp, with -std=c11 too */

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* 300 messages, a third of them spam. */
static int write_table(const char *path) {
  static const char *const words[2][8] = {{"lunch", "home", "later", "mum", "sorry", "train", "love", "sleep"},
                                          {"prize", "call", "free", "win", "claim", "now", "cash", "text"}};
  FILE *file = fopen(path, "w");
  if (!file) return 0;
  fputs("label,message\n", file);
  for (unsigned i = 0, state = 1; i < 300; i++) {
    fputs(i % 3 ? "ham,at" : "spam,your", file);
    for (unsigned k = 0; k < 3 + i % 5; k++) {
      state = state * 1664525u + 1013904223u;
      fprintf(file, " %s", words[i % 3 == 0][state >> 29]);
    }
    fprintf(file, " %u\n", i);
  }
  return fclose(file) == 0;
}

/* The likeliest class of each line, and its share. */
static mica_status ask(mica_run *run, const char *lines, char *first) {
  mica_report *answers = NULL;
  mica_status status = mica_run_predict(run, &(mica_run_input){.text = lines, .top = 1}, &answers);
  for (size_t i = 0; !status && i < mica_report_count(answers); i++) {
    const mica_item *classes = mica_report_find(answers, i, "classes");
    printf("%s: %s, %.1f %%\n", mica_report_title(answers, i), classes->row_names[0], 100 * classes->numbers[0]);
    if (i == 0) snprintf(first, 16, "%s", classes->row_names[0]);
  }
  mica_report_destroy(answers);
  return status;
}

int main(int count, char **words) {
  static const mica_setting settings[] = {{"epochs", "5"}, {"width", "32"},  {"vocabulary", "400"},
                                          {"lr", "0.01"},  {"length", "64"}, {"batch", "16"}};
  char table[] = "/tmp/mica-messages-XXXXXX", first[16] = "";
  mica_engine *engine = NULL;
  mica_run *run = NULL;
  mica_metrics metrics = {0};
  const int made = count > 1 ? -1 : mkstemp(table);
  if (mica_engine_create(NULL, &engine)) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  if (count < 2 && (made < 0 || close(made) || !write_table(table))) return perror(table), 1;
  const mica_run_config config = {
      .task = "text", .data = count > 1 ? words[1] : table, .settings = settings, .setting_count = 6};
  mica_status status = mica_run_create(engine, &config, &run);
  if (!status) status = mica_run_fit(run);
  if (!status) status = mica_run_evaluate(run, NULL, MICA_PART_VALIDATION, &metrics);
  for (int i = 0; !status && i < metrics.count; i++)
    printf("%s %.3f\n", metrics.values[i].name, metrics.values[i].value);
  if (!status) status = ask(run, "your prize now: call and win cash\nsorry mum, home later\n", first);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_run_destroy(run);
  mica_engine_destroy(engine);
  if (count < 2) unlink(table);
  if (status == MICA_E_UNSUPPORTED) return 77;
  return status || (count < 2 && (mica_metrics_get(&metrics, "f1") < 0.9 || strcmp(first, "spam") != 0));
}
