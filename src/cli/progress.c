#include "cli/progress.h"

#include "cli/run.h"
#include "cli/terminal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BAR 24

static const char *format_time(double seconds, char text[16]) {
  int64_t whole = (int64_t)(seconds + 0.5);
  if (whole >= 3600)
    snprintf(text, 16, "%d:%02d:%02d", (int)(whole / 3600 % 10000), (int)(whole / 60 % 60), (int)(whole % 60));
  else
    snprintf(text, 16, "%d:%02d", (int)(whole / 60), (int)(whole % 60));
  return text;
}

/* Formats "loss 0.3120  accuracy 89.20 %". */
static const char *format_metrics(const mica_metrics *m, char text[64]) {
  int at = snprintf(text, 64, "loss %.4f", m->loss);
  if (m->count && !strcmp(m->values[0].name, "accuracy"))
    snprintf(text + at, 64 - (size_t)at, "  accuracy %.2f %%", 100 * m->values[0].value);
  else if (m->count)
    snprintf(text + at, 64 - (size_t)at, "  %.20s %.4g", m->values[0].name, m->values[0].value);
  return text;
}

static double rate_of(const mica_train_progress *e) {
  return e->seconds > 0 ? (double)e->training.samples / e->seconds : 0;
}

static void show_bar(const mica_train_progress *e) {
  char bar[BAR + 1], metrics[64], left[16];
  double share = e->batches ? (double)e->batch / (double)e->batches : 0;
  memset(bar, '.', BAR);
  memset(bar, '#', (size_t)(share * BAR));
  bar[BAR] = '\0';
  double remaining = share > 0 ? e->seconds / share * ((double)(e->epochs - e->epoch) - share) : 0;
  cli_progress("epoch %" PRId64 "/%" PRId64 " %s %3.0f %%  %s  %.0f samples/s  %s left", e->epoch + 1, e->epochs, bar,
               100 * share, format_metrics(&e->recent, metrics), rate_of(e), format_time(remaining, left));
}

static double wait_share(const mica_train_progress *e) { return e->seconds > 0 ? e->data_seconds / e->seconds : 0; }

/* Writes the epoch's events; TensorBoard groups tags by the text before the slash. */
static mica_status note_events(mica_events *events, const mica_train_progress *e) {
  const struct {
    const char *tag;
    double value;
  } scalars[] = {
      {"loss/training", e->training.loss},
      {"loss/validation", e->validation.loss},
      {"accuracy/training", mica_metrics_get(&e->training, "accuracy")},
      {"accuracy/validation", mica_metrics_get(&e->validation, "accuracy")},
      {"learning_rate", e->rate},
      {"samples_per_second", rate_of(e)},
  };
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && events && i < sizeof scalars / sizeof *scalars; i++)
    if (isfinite(scalars[i].value)) status = mica_events_scalar(events, scalars[i].tag, e->step, scalars[i].value);
  return status;
}

static mica_status add_row(cli_progress_state *state, const mica_train_progress *e) {
  mica_history_row *grown = realloc(state->rows, (state->row_count + 1) * sizeof *grown);
  if (!grown) return MICA_E_NOMEM;
  state->rows = grown;
  bool validated = e->validation.samples > 0;
  grown[state->row_count++] = (mica_history_row){
      .epoch = (double)e->epoch + 1,
      .step = (double)e->step,
      .learning_rate = e->rate,
      .loss = e->training.loss,
      .accuracy = mica_metrics_get(&e->training, "accuracy"),
      .validation_loss = validated ? e->validation.loss : NAN,
      .validation_accuracy = validated ? mica_metrics_get(&e->validation, "accuracy") : NAN,
      .seconds = e->seconds,
      .samples_per_second = rate_of(e),
      .data_wait_share = wait_share(e),
  };
  return mica_history_write(state->path, grown, state->row_count);
}

/* Records the epoch; a file that cannot be written is reported, but does not end the training. */
static void note_epoch(cli_progress_state *state, const mica_train_progress *e) {
  if (note_events(state->events, e) != MICA_OK) fprintf(stderr, "mica: %s\n", mica_error_message());
  if (add_row(state, e) != MICA_OK) fprintf(stderr, "mica: %s\n", mica_error_message());
}

/* Reads the rows of the run that is resumed; a damaged table is begun anew. */
static void take_rows(cli_progress_state *state) {
  mica_history_row *rows = NULL;
  size_t count = 0;
  if (mica_history_read(state->path, &rows, &count) != MICA_OK) {
    fprintf(stderr, "mica: %s; the table is begun anew\n", mica_error_message());
    return;
  }
  state->rows = malloc((count + 1) * sizeof *rows);
  if (state->rows) {
    memcpy(state->rows, rows, count * sizeof *rows);
    state->row_count = count;
  }
  mica_free(rows);
}

mica_status cli_progress_begin(cli_progress_state *state, const char *folder, bool resume) {
  *state = (cli_progress_state){0};
  if (!cli_run_path(state->path, folder, "history.csv")) return MICA_E_INVALID;
  if (resume && access(state->path, R_OK) == 0) take_rows(state);
  return mica_events_create(folder, &state->events);
}

void cli_progress_free(cli_progress_state *state) {
  mica_events_close(state->events);
  free(state->rows);
}

static void show_epoch(const mica_train_progress *e) {
  char training[64], validation[64] = "", took[16];
  cli_progress_end();
  if (e->validation.samples) format_metrics(&e->validation, validation);
  printf("epoch %*" PRId64 "/%" PRId64 "  %s%s%s  %.0f samples/s  %s%s\n", e->epochs > 9 ? 2 : 1, e->epoch + 1,
         e->epochs, format_metrics(&e->training, training), *validation ? "  validation " : "", validation, rate_of(e),
         format_time(e->seconds, took), e->best && *validation ? "  best" : "");
}

bool cli_progress_report(void *user, const mica_train_progress *progress) {
  cli_progress_state *state = user;
  char metrics[64];
  switch (progress->event) {
  case MICA_TRAIN_EVENT_BEGIN:
    printf("untrained %s, of the first %" PRId64 "\n", format_metrics(&progress->recent, metrics),
           progress->recent.samples);
    fflush(stdout);
    break;
  case MICA_TRAIN_EVENT_STEPS: show_bar(progress); break;
  case MICA_TRAIN_EVENT_EPOCH:
    state->samples += progress->training.samples;
    show_epoch(progress);
    note_epoch(state, progress);
    break;
  case MICA_TRAIN_EVENT_CHECKPOINT: break;
  case MICA_TRAIN_EVENT_STOPPED:
    cli_progress_end();
    printf("stopped: %s; --resume goes on from there\n", progress->reason);
    break;
  }
  return true;
}
