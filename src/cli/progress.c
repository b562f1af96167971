#include "cli/progress.h"

#include "cli/result.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define BAR 12

static const char *format_time(double seconds, char text[16]) {
  int64_t whole = (int64_t)(seconds + 0.5);
  if (whole >= 3600)
    snprintf(text, 16, "%d:%02d:%02d", (int)(whole / 3600 % 10000), (int)(whole / 60 % 60), (int)(whole % 60));
  else
    snprintf(text, 16, "%d:%02d", (int)(whole / 60), (int)(whole % 60));
  return text;
}

#define METRICS_TEXT (2 * CLI_METRIC_TEXT + 32)

/* Formats "accuracy 89.20 %, loss 0.3120": a metric, the watched metric, and the loss. The metric is the first main one
 * of the task that was measured or, without a task, the first in m. The watched metric chooses the best epoch; it is
 * left out if it is the metric before it or the loss, or was not measured. Without a metric, only the loss is shown. */
static const char *format_metrics(const cli_progress_state *state, const mica_metrics *m, char text[METRICS_TEXT]) {
  char metric[CLI_METRIC_TEXT] = "", watched[CLI_METRIC_TEXT] = "";
  const mica_task_metric *known = state->task ? mica_task_metrics(state->task) : NULL;
  const char *name = !known && m->count ? m->values[0].name : NULL;
  for (; known && known->name && !known->minor && !name; known++)
    if (!isnan(mica_metrics_get(m, known->name))) name = known->name;
  if (name && m->count) cli_format_metric(name, mica_metrics_get(m, name), metric);
  const bool other = name && *state->watch && strcmp(state->watch, name) != 0;
  if (other && !isnan(mica_metrics_get(m, state->watch)) && strcmp(state->watch, "loss") != 0)
    cli_format_metric(state->watch, mica_metrics_get(m, state->watch), watched);
  snprintf(text, METRICS_TEXT, "%s%s%s%sloss %.4f", metric, *metric ? ", " : "", watched, *watched ? ", " : "",
           m->loss);
  return text;
}

static double rate_of(const mica_train_progress *e) {
  return e->seconds > 0 ? (double)e->training.samples / e->seconds : 0;
}

static void show_bar(const cli_progress_state *state, const mica_train_progress *e) {
  char bar[BAR + 1], metrics[METRICS_TEXT], left[16];
  double share = e->batches ? (double)e->batch / (double)e->batches : 0;
  memset(bar, '.', BAR);
  memset(bar, '#', (size_t)(share * BAR));
  bar[BAR] = '\0';
  double remaining = share > 0 ? e->seconds / share * ((double)(e->epochs - e->epoch) - share) : 0;
  cli_progress("epoch %" PRId64 "/%" PRId64 " %s %s  %.0f/s  %s left", e->epoch + 1, e->epochs, bar,
               format_metrics(state, &e->recent, metrics), rate_of(e), format_time(remaining, left));
}

static void show_epoch(const cli_progress_state *state, const mica_train_progress *e) {
  char validation[METRICS_TEXT], took[16];
  const bool validated = e->validation.samples > 0;
  format_metrics(state, validated ? &e->validation : &e->training, validation);
  if (!validated && !strncmp(validation, "loss ", 5)) *validation = '\0'; /* the loss is printed already */
  fprintf(state->out, "epoch %*" PRId64 "/%" PRId64 "  loss %.4f  %s%s%s%s%s\n", e->epochs > 9 ? 2 : 1, e->epoch + 1,
          e->epochs, e->training.loss, validated ? "validation " : "", validation, *validation ? "  " : "",
          format_time(e->seconds, took),
          !validated ? ""
          : e->best  ? "  best"
          : e->kept  ? "  kept so far"
                     : "");
}

void cli_progress_print_kept(FILE *out, const cli_progress_state *state, const mica_run *run) {
  const int64_t epoch = mica_run_weights_epoch(run);
  char metrics[METRICS_TEXT];
  if (epoch < 1) return;
  fprintf(out, "kept      the weights of epoch %" PRId64 " of %s", epoch, mica_run_setting(run, "epochs"));
  if (epoch == state->kept_epoch && state->kept.samples)
    fprintf(out, ", validation %s", format_metrics(state, &state->kept, metrics));
  fputc('\n', out);
}

bool cli_progress_report(void *user, const mica_train_progress *progress) {
  cli_progress_state *state = user;
  char metrics[METRICS_TEXT];
  snprintf(state->watch, sizeof state->watch, "%s", progress->watch ? progress->watch : "");
  if (progress->event == MICA_TRAIN_EVENT_EPOCH) state->samples += progress->training.samples;
  if (progress->event == MICA_TRAIN_EVENT_EPOCH && progress->kept) {
    state->kept_epoch = progress->epoch + 1;
    state->kept = progress->validation;
  }
  if (progress->event == MICA_TRAIN_EVENT_EPOCH ||
      (progress->event == MICA_TRAIN_EVENT_STOPPED && !state->last.samples)) {
    const bool validated = progress->event == MICA_TRAIN_EVENT_EPOCH && progress->validation.samples;
    state->last = validated ? progress->validation : progress->training;
    state->part = validated ? MICA_PART_VALIDATION : MICA_PART_TRAIN;
  }
  if (!state->out) return true;
  switch (progress->event) {
  case MICA_TRAIN_EVENT_BEGIN:
    fprintf(state->out, "untrained %s, of the first %" PRId64 "\n", format_metrics(state, &progress->recent, metrics),
            progress->recent.samples);
    fflush(state->out);
    break;
  case MICA_TRAIN_EVENT_STEPS: show_bar(state, progress); break;
  case MICA_TRAIN_EVENT_EPOCH:
    cli_progress_end();
    show_epoch(state, progress);
    break;
  case MICA_TRAIN_EVENT_CHECKPOINT: break;
  case MICA_TRAIN_EVENT_STOPPED: cli_progress_end(); break;
  }
  return true;
}
