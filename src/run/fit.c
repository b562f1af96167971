/* Trains a run, records its epochs and keeps the best weights. */
#include "base/clock.h"
#include "base/file.h"
#include "io/history.h"
#include "run/board.h"
#include "run/common_fields.h"
#include "run/config.h"
#include "run/guard.h"
#include "run/learning.h"
#include "run/ranks.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/state/record.h"
#include "run/tokens.h"
#include "run/verbs/imported.h"
#include "run/verbs/published.h"
#include "train/train.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double rate_of(const mica_train_progress *e) {
  return e->seconds > 0 ? (double)e->training.samples / e->seconds : 0;
}

/* Adds the loss and metrics of a part of the data to the epoch's row. Adds the finite ones to TensorBoard's events too,
 * with tags such as "loss/training". */
static mica_status note_metrics(mica_run *run, const mica_metrics *m, const char *prefix, const char *part,
                                int64_t step) {
  char column[64];
  for (int32_t i = -1; i < m->count; i++) {
    const char *name = i < 0 ? "loss" : m->values[i].name;
    const double value = i < 0 ? m->loss : m->values[i].value;
    snprintf(column, sizeof column, "%s%s", prefix, name);
    for (char *c = column; *c; c++)
      if (*c == ',' || *c == '"' || (unsigned char)*c < ' ') *c = '_';
    MICA_TRY(mica_history_set(run->record->history, column, value));
    snprintf(column, sizeof column, "%s/%s", name, part);
    if (run->record->events && isfinite(value)) MICA_TRY(mica_events_scalar(run->record->events, column, step, value));
  }
  return MICA_OK;
}

/* Adds the ranks' times in seconds to the epoch's row, and the rank that computed longest. */
static mica_status note_ranks(mica_run *run, const mica_train_progress *e) {
  char column[48];
  if (e->ranks > 0) MICA_TRY(mica_history_set(run->record->history, "slowest_rank", e->slowest_rank));
  for (int32_t r = 0; r < e->ranks && r < MICA_TRAIN_RANKS; r++) {
    const double times[3] = {e->rank_times[r].computing, e->rank_times[r].waiting, e->rank_times[r].sending};
    static const char *const names[3] = {"computing", "waiting", "sending"};
    for (int k = 0; k < 3; k++) {
      snprintf(column, sizeof column, "rank%d_%s", (int)r, names[k]);
      MICA_TRY(mica_history_set(run->record->history, column, times[k]));
    }
  }
  return MICA_OK;
}

/* Logs a warning if the network, pictures or weights could not be written for TensorBoard. The rest of the record is
 * kept. */
static void warn_of_board(mica_status status) {
  if (status != MICA_OK) mica__log(MICA_LOG_LEVEL_WARNING, "%s", mica_error_message());
}

static mica_status note_epoch(mica_run *run, const mica_train_progress *e) {
  const struct {
    const char *column;
    double value;
  } fields[] = {
      {"epoch", (double)e->epoch + 1},    {"step", (double)e->step},
      {"learning_rate", e->rate},         {"seconds", e->seconds},
      {"samples_per_second", rate_of(e)}, {"data_wait_share", e->seconds > 0 ? e->data_seconds / e->seconds : 0}};
  if (run->folder && !run->record->events) {
    MICA_TRY(mica_events_create(run->folder, &run->record->events));
    warn_of_board(mica__board_begin(run));
  }
  MICA_TRY(mica_history_begin(run->record->history));
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
    MICA_TRY(mica_history_set(run->record->history, fields[i].column, fields[i].value));
  MICA_TRY(note_metrics(run, &e->training, "", "training", e->step));
  MICA_TRY(note_ranks(run, e));
  if (e->validation.samples) MICA_TRY(note_metrics(run, &e->validation, "validation_", "validation", e->step));
  if (run->record->events) {
    MICA_TRY(mica_events_scalar(run->record->events, "learning_rate", e->step, e->rate));
    MICA_TRY(mica_events_scalar(run->record->events, "samples_per_second", e->step, rate_of(e)));
    warn_of_board(mica__board_weights(run, e->step));
  }
  if (!run->folder) return MICA_OK;
  char *path = mica__run_path(run, "history.csv");
  mica_status status = path ? mica_history_write(run->record->history, path) : mica__fail_nomem("a history");
  free(path);
  return status;
}

/* Records the end of an epoch and the reason of a stop, and passes every event on to the caller's function. If the
 * record cannot be written, logs a warning, and training continues. False if training must stop. */
static bool report(void *user, const mica_train_progress *progress) {
  mica_run *run = user;
  if (progress->event == MICA_TRAIN_EVENT_EPOCH) {
    run->record->last_is_best = progress->best;
    run->record->last_is_kept = progress->kept;
    mica__attempt_begin();
    if (note_epoch(run, progress) != MICA_OK) mica__log(MICA_LOG_LEVEL_WARNING, "%s", mica_error_message());
    mica__attempt_end();
  }
  if (progress->event == MICA_TRAIN_EVENT_STOPPED) run->record->stopped = mica__strdup(progress->reason);
  const bool on = !run->config.report || run->config.report(run->config.user, progress);
  return on && !mica__run_has_left(run);
}

/* Keeps the history of a resumed run up to the epoch that it continues with, because a kill may have come between an
 * epoch's row and its checkpoint. A damaged history is begun anew. */
static mica_status begin_record(mica_run *run) {
  char *path = run->folder ? mica__run_path(run, "history.csv") : NULL;
  mica_status status = MICA_E_NOT_FOUND;
  if (run->folder && !path) return mica__fail_nomem("a history");
  mica_history_destroy(run->record->history);
  run->record->history = NULL;
  if (run->resumed && path && access(path, R_OK) == 0) {
    mica__attempt_begin();
    status = mica_history_read(path, &run->record->history);
    if (status != MICA_OK && status != MICA_E_NOMEM)
      mica__log(MICA_LOG_LEVEL_WARNING, "%s; a new history.csv is begun", mica_error_message());
    mica__attempt_end();
  }
  free(path);
  if (status == MICA_E_NOMEM) return mica__fail_nomem("a history");
  if (status == MICA_OK) mica__history_cut(run->record->history, (double)mica_trainer_epoch(run->trainer));
  return status == MICA_OK ? MICA_OK : mica_history_create(&run->record->history);
}

/* Makes the run's folder and writes config.json and the files of the tokeniser and the network to it. Does nothing if
 * all epochs are done, unless the run is to end early (mica__run_end_early). */
static mica_status begin_folder(mica_run *run) {
  const bool done = (double)mica_trainer_epoch(run->trainer) >= (double)mica__common_settings_of(run).epochs;
  if (!run->folder || (done && !mica__run_ended_early(run))) return MICA_OK;
  MICA_TRY(mica__run_make_folder(run));
  MICA_TRY(mica__run_write_tokenizer(run));
  MICA_TRY(mica__imported_keep(run));
  MICA_TRY(mica__published_keep(run));
  return mica__run_write_config(run);
}

static bool has_file(const mica_run *run, const char *name) {
  char *path = mica__run_path(run, name);
  const bool there = !path || access(path, F_OK) == 0;
  free(path);
  return there;
}

static void remove_file(const mica_run *run, const char *name) {
  char *path = mica__run_path(run, name);
  if (path) unlink(path);
  free(path);
}

/* Removes the files of a training that failed before its first checkpoint, so that the folder is free again. */
static void abandon(mica_run *run) {
  if (!run->folder || run->resumed || has_file(run, "last.safetensors") || has_file(run, "best.safetensors")) return;
  remove_file(run, "config.json");
  if (run->tokenizer) remove_file(run, MICA__TOKENIZER_FILE);
  remove_file(run, "history.csv");
  if (run->record->events) unlink(mica__events_path(run->record->events));
  if (run->networks->network) remove_file(run, "network.onnx");
  if (run->networks->published) remove_file(run, MICA__PUBLISHED_FILE);
  mica__folder_remove(run->folder, run->made_folders);
}

static mica_status begin_writing(mica_run *run) {
  mica_status status = begin_folder(run);
  if (status == MICA_OK) status = begin_record(run);
  if (status == MICA_OK) status = mica__run_begin_keeping(run);
  if (status != MICA_OK) mica_communicator_abort(run->config.communicator, mica_error_message());
  return status;
}

mica_status mica_run_fit(mica_run *run) {
  mica_batch_source training, validation;
  if (!run) return mica__fail(MICA_E_INVALID, "mica_run_fit: a pointer is NULL");
  mica_loader *loader = run->parts->at[MICA_PART_TRAIN].loader, *judge = run->parts->at[MICA_PART_VALIDATION].loader;
  if (!loader)
    return mica__fail(MICA_E_STATE,
                      "mica_run_fit: the run was opened for predicting; create it with mica_run_create to train");
  free(run->record->stopped);
  run->record->stopped = NULL;
  run->evaluation->data = NULL; /* the last test used other weights */
  MICA_TRY(begin_writing(run));
  training = mica_loader_source(loader);
  if (judge) validation = mica_loader_source(judge);
  mica_status status = mica_trainer_fit(run->trainer, &training, judge ? &validation : NULL);
  if (status != MICA_OK) abandon(run);
  MICA_TRY(status);
  if (run->record->stopped && mica__run_has_left(run)) return mica__run_join(run, mica__run_say_left(run));
  /* If patience has run out, training is complete, as after the last epoch. */
  if (run->record->stopped && !mica__train_patience_over(run->trainer)) return MICA_OK;
  MICA_TRY(mica__train_share_stages(run->trainer));
  status = run->folder ? mica__run_keep_weights(run) : MICA_OK;
  if (status == MICA_OK) status = mica__run_remark_learning(run);
  return mica__run_join(run, status == MICA_OK ? mica__run_say_left(run) : status);
}

void mica__run_configure_record(mica_run *run) {
  run->training.report = report;
  run->training.user = run;
  run->training.folder = mica__run_rank(run) == 0 ? run->folder : NULL;
  run->training.communicator = run->config.communicator;
  run->training.stop = run->config.stop;
}
