/* labels: device single
 *
 * Lesson 34: several inputs of one sample. Each row of a table has a number, a series and a text, and each of them says
 * one bit of the answer. A run of the task fuse reads all three; a run that reads one of them is right half of the
 * time. The table is made up here; docs/tasks/fuse.md has one with pictures.
 *
 *   build/bin/samples/34_fuse
 *
 * Exit status 0 if all inputs together give the answer and none does alone, 1 if not, 77 without a device or a library
 * that tokenizers need. */
#define _DEFAULT_SOURCE /* mkstemp, with -std=c11 too */

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static unsigned state = 3;

static unsigned draw(unsigned below) {
  state = state * 1664525u + 1013904223u;
  return (state >> 8) % below;
}

/* A series that rises or falls, from a height that says nothing. */
static void write_series(FILE *file, unsigned rises) {
  const unsigned count = 8 + draw(8), height = draw(20);
  for (unsigned k = 0; k < count; k++)
    fprintf(file, "%s%u", k ? " " : "", height + 60 * (rises ? k : count - k) / count + draw(10));
}

static int write_table(const char *path) {
  static const char *const words[2][2] = {{"poor", "awful"}, {"good", "great"}};
  FILE *file = fopen(path, "w");
  if (!file) return 0;
  fputs("age,pulse,note,kind\n", file);
  for (int i = 0; i < 640; i++) {
    const unsigned old = draw(2), rises = draw(2), happy = draw(2);
    fprintf(file, "%u,", (old ? 40 : 20) + draw(10));
    write_series(file, rises);
    fprintf(file, ",a %s day %u,%u true\n", words[happy][draw(2)], draw(50), old + rises + happy);
  }
  return fclose(file) == 0;
}

/* What is learned from: the columns that are left out, and the column of texts. Without its name, a column of so few
 * different texts would be one of classes, and a new text would be of no known class. */
static const struct {
  const char *name, *ignored, *text;
} runs[] = {{"all inputs", "", "note"},
            {"the number alone", "pulse,note", ""},
            {"the series alone", "age,note", ""},
            {"the text alone", "age,pulse", "note"}};

static mica_status learn(mica_engine *engine, const char *table, size_t which, mica_run **run, double *accuracy) {
  const mica_setting settings[] = {{"label", "kind"},     {"ignore", runs[which].ignored},
                                   {"model", "cnn_gru"},  {"text", runs[which].text},
                                   {"width", "16"},       {"length", "8"},
                                   {"vocabulary", "300"}, {"epochs", "8"},
                                   {"batch", "16"},       {"lr", "0.004"},
                                   {"dropout", "0"},      {"validation", "0.3"}};
  const mica_run_config config = {
      .task = "fuse", .data = table, .settings = settings, .setting_count = sizeof settings / sizeof *settings};
  mica_metrics m = {0};
  mica_status status = mica_run_create(engine, &config, run);
  if (!status) status = mica_run_fit(*run);
  if (!status) status = mica_run_evaluate(*run, NULL, MICA_PART_VALIDATION, &m);
  if (!status) *accuracy = mica_metrics_get(&m, "accuracy");
  if (!status) printf("%-18s %5.1f %% right\n", runs[which].name, 100 * *accuracy);
  return status;
}

/* What the run says of a row that is not in the table. */
static mica_status show(mica_run *run) {
  static const char row[] = "note,age,pulse\na great day 7,44,10 21 33 42 50 61 70 79\n";
  mica_report *answer = NULL;
  mica_status status = mica_run_predict(run, &(mica_run_input){.text = row}, &answer);
  const mica_item *classes = status ? NULL : mica_report_find(answer, 0, "classes");
  if (classes) printf("an old and happy one whose pulse rises: %s\n", classes->row_names[0]);
  mica_report_destroy(answer);
  return status;
}

int main(void) {
  char table[] = "/tmp/mica-rows-XXXXXX.csv";
  mica_engine *engine = NULL;
  mica_run *made[4] = {NULL, NULL, NULL, NULL};
  double right[4] = {0, 0, 0, 0};
  mica_status status = MICA_OK;
  const int file = mkstemps(table, 4);
  if (mica_engine_create(NULL, &engine)) return fprintf(stderr, "no device: %s\n", mica_error_message()), 77;
  if (file < 0 || close(file) || !write_table(table)) return perror(table), 1;
  for (size_t i = 0; !status && i < 4; i++) status = learn(engine, table, i, &made[i], &right[i]);
  if (!status) status = show(made[0]);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  for (size_t i = 0; i < 4; i++) mica_run_destroy(made[i]);
  mica_engine_destroy(engine);
  unlink(table);
  if (status == MICA_E_UNSUPPORTED) return 77;
  return status || right[0] < 0.95 || right[1] > 0.6 || right[2] > 0.6 || right[3] > 0.6;
}
