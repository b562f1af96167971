#include "cli/score.h"

#include "cli/terminal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The table of more classes than this is cut to its head. */
#define MOST_ROWS 40

mica_status cli_score_take(cli_score *score, const cli_run *run, mica_trainer *trainer,
                           const mica_batch_source *source) {
  size_t classes = (size_t)run->classes;
  *score = (cli_score){0};
  if (classes) {
    score->confusion = calloc(classes * classes, sizeof *score->confusion);
    score->classes = calloc(classes, sizeof *score->classes);
    if (!score->confusion || !score->classes) return MICA_E_NOMEM;
  }
  mica_status status = mica_trainer_test(trainer, source, &score->metrics);
  double *counts = classes ? malloc(classes * classes * sizeof *counts) : NULL;
  if (!status && classes)
    status = counts ? mica_trainer_sum(trainer, "confusion", counts, classes * classes) : MICA_E_NOMEM;
  for (size_t i = 0; !status && i < classes * classes; i++) score->confusion[i] = (int64_t)counts[i];
  free(counts);
  if (!status && classes) mica_confusion_scores(score->confusion, run->classes, score->classes, &score->mean, NULL);
  return status;
}

void cli_score_free(cli_score *score) {
  free(score->confusion);
  free(score->classes);
}

static int64_t row_sum(const cli_score *score, const cli_run *run, int32_t row) {
  int64_t sum = 0;
  for (int32_t i = 0; i < run->classes; i++) sum += score->confusion[(int64_t)row * run->classes + i];
  return sum;
}

/* The class that samples of this one are most often mistaken for; -1 for none. */
static int32_t worst_confusion(const cli_score *score, const cli_run *run, int32_t row, int64_t *count) {
  int32_t worst = -1;
  *count = 0;
  for (int32_t i = 0; i < run->classes; i++) {
    int64_t here = score->confusion[(int64_t)row * run->classes + i];
    if (i != row && here > *count) worst = i, *count = here;
  }
  return worst;
}

static void print_class(const cli_score *score, const cli_run *run, int32_t i) {
  const mica_class_scores *s = &score->classes[i];
  int64_t mistakes = 0;
  int32_t other = worst_confusion(score, run, i, &mistakes);
  printf("  %-20.20s %8" PRId64 " %9.1f %% %7.1f %% %7.1f %%", run->class_names[i], row_sum(score, run, i),
         100 * s->precision, 100 * s->recall, 100 * s->f1);
  if (other >= 0) printf("   %" PRId64 " as %s", mistakes, run->class_names[other]);
  putchar('\n');
}

void cli_score_print(const cli_score *score, const cli_run *run, const char *part) {
  const mica_metrics *m = &score->metrics;
  if (!run->classes) {
    printf("\n%s      %" PRId64 " samples, loss %.4f, mean absolute error %.4g\n", part, m->samples, m->loss,
           mica_metrics_get(m, "mae"));
    return;
  }
  printf("\n  %-20s %8s %11s %9s %9s   %s\n", "class", "samples", "precision", "recall", "F1", "most often taken for");
  for (int32_t i = 0; i < run->classes && i < MOST_ROWS; i++) print_class(score, run, i);
  printf("  %-20s %8" PRId64 " %9.1f %% %7.1f %% %7.1f %%\n", "mean", m->samples, 100 * score->mean.precision,
         100 * score->mean.recall, 100 * score->mean.f1);
  printf("\n%s%s accuracy %.2f %%%s  (top 5 %.2f %%, loss %.4f)\n", cli_colour_code(CLI_BOLD), part,
         100 * mica_metrics_get(m, "accuracy"), cli_colour_code(CLI_PLAIN), 100 * mica_metrics_get(m, "top_5"),
         m->loss);
}

void cli_score_add(const cli_score *score, const cli_run *run, cli_json *json) {
  const mica_metrics *m = &score->metrics;
  cli_json_integer(json, json->root, "samples", (uint64_t)m->samples);
  cli_json_real(json, json->root, "loss", m->loss);
  if (!run->classes) {
    cli_json_real(json, json->root, "mean_absolute_error", mica_metrics_get(m, "mae"));
    return;
  }
  cli_json_real(json, json->root, "accuracy", mica_metrics_get(m, "accuracy"));
  cli_json_real(json, json->root, "top_5", mica_metrics_get(m, "top_5"));
  cli_json_real(json, json->root, "f1", score->mean.f1);
  cJSON *classes = cli_json_array(json, json->root, "classes"), *rows = cli_json_array(json, json->root, "confusion");
  for (int32_t i = 0; i < run->classes; i++) {
    cJSON *one = cli_json_object(json, classes, NULL), *row = cli_json_array(json, rows, NULL);
    cli_json_text(json, one, "name", run->class_names[i]);
    cli_json_real(json, one, "precision", score->classes[i].precision);
    cli_json_real(json, one, "recall", score->classes[i].recall);
    cli_json_real(json, one, "f1", score->classes[i].f1);
    for (int32_t k = 0; k < run->classes; k++)
      cli_json_integer(json, row, NULL, (uint64_t)score->confusion[(int64_t)i * run->classes + k]);
  }
}
