/* Keeps the folder of a training: the weights of the best epoch so far, and the files that open a run. Files that are
 * deleted or moved during training are written again. */
#include "base/number.h"
#include "base/signature.h"
#include "io/history.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/config.h"
#include "run/guard.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/kept.h"
#include "run/state/networks.h"
#include "run/state/record.h"
#include "run/tokens.h"
#include "run/verbs/imported.h"
#include "train/train.h"

#include <mica/compress.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODEL "model.safetensors"
#define BEST "best.safetensors"
#define LAST "last.safetensors"

#define MOST_BESIDE 999 /* how many folder names to try beside one that now belongs to another run */

/* Metadata of the weights. Weights of Mica 0.5.0 have none, and belong to runs that have ended. */
#define EPOCH_KEY "mica.epoch" /* counted from 1; 0 if no epoch has ended. Checkpoints have it too */
#define EPOCHS_KEY "mica.epochs"
#define COMPLETE_KEY "mica.complete"

static bool has_file(const mica_run *run, const char *name) {
  char *path = mica__run_path(run, name);
  const bool there = !path || access(path, F_OK) == 0;
  free(path);
  return there;
}

/* --- weights --- */

typedef struct notes {
  char epoch[24], epochs[24];
  mica_safetensors_pair pairs[4];
  size_t count;
} notes;

static void make_notes(const mica_run *run, bool complete, notes *n) {
  snprintf(n->epoch, sizeof n->epoch, "%lld", (long long)run->kept->weights_epoch);
  mica__snprintf(n->epochs, sizeof n->epochs, "%.0f", (double)mica__common_settings_of(run).epochs);
  n->pairs[0] = (mica_safetensors_pair){EPOCH_KEY, n->epoch};
  n->pairs[1] = (mica_safetensors_pair){EPOCHS_KEY, n->epochs};
  n->pairs[2] = (mica_safetensors_pair){COMPLETE_KEY, complete ? "true" : "false"};
  n->pairs[3] = (mica_safetensors_pair){MICA_PRUNED_KEY, "true"};
  n->count = run->networks->like ? 4 : 3;
}

static mica_status extract(mica_run *run, const char *checkpoint) {
  notes n;
  char *model = mica__run_path(run, MODEL);
  if (!model) return mica__fail_nomem("a run");
  make_notes(run, false, &n);
  mica_status status = mica__train_extract(run->trainer, checkpoint, model, n.pairs, n.count);
  free(model);
  return status;
}

static mica_status keep(void *user, const char *checkpoint) {
  mica_run *run = user;
  const char *slash = strrchr(checkpoint, '/');
  const int64_t before = run->kept->weights_epoch;
  run->kept->weights_epoch = run->trainer->progress.epoch;
  if (!strcmp(slash ? slash + 1 : checkpoint, BEST)) run->kept->has_best = true;
  mica__attempt_begin();
  const mica_status status = extract(run, checkpoint);
  if (status != MICA_OK) run->kept->weights_epoch = before;
  /* If a checkpoint is deleted immediately, the next epoch notices. */
  if (status != MICA_OK && status != MICA_E_NOT_FOUND) return mica__attempt_pass(status);
  mica__attempt_end();
  return MICA_OK;
}

mica_status mica__run_keep_weights(mica_run *run) {
  mica_nn *nn = mica_trainer_test_network(run->trainer);
  mica_session *session = mica_trainer_test_session(run->trainer);
  notes n;
  MICA_TRY(mica__run_check_folder(run));
  char *best = mica__run_path(run, BEST), *model = mica__run_path(run, MODEL);
  mica_status status = best && model ? MICA_OK : mica__fail_nomem("a run");
  if (status == MICA_OK && run->kept->has_best) status = mica_nn_load_ema(nn, session, best);
  if (status == MICA_OK && !run->kept->has_best) run->kept->weights_epoch = run->trainer->progress.epoch;
  make_notes(run, true, &n);
  if (status == MICA_OK) status = mica_nn_save(nn, session, model, n.pairs, n.count);
  free(best);
  free(model);
  return status;
}

mica_status mica__run_note_weights_epoch(mica_run *run, const mica_safetensors *file) {
  const char *epoch = mica_safetensors_metadata(file, EPOCH_KEY), *epochs = mica_safetensors_metadata(file, EPOCHS_KEY);
  const char *complete = mica_safetensors_metadata(file, COMPLETE_KEY);
  mica__text text = {0};
  if (!epoch || !epochs || !complete) return MICA_OK;
  run->kept->weights_epoch = strtoll(epoch, NULL, 10);
  const double all = (double)mica__common_settings_of(run).epochs;
  if (!strcmp(complete, "true") && mica__strtod(epochs, NULL) >= all) return MICA_OK;
  if (run->kept->weights_epoch > 0)
    mica__text_addf(&text, "the run in %s has not ended: it uses the weights of epoch %lld of %.0f, kept so far",
                    run->folder, (long long)run->kept->weights_epoch, all);
  else
    mica__text_addf(&text, "the run in %s has not ended: it uses the weights of a stop within epoch 1 of %.0f",
                    run->folder, all);
  if (has_file(run, LAST)) mica__text_addf(&text, "; mica train --resume --out %s goes on", run->folder);
  mica_status status = mica__text_status(&text);
  if (status != MICA_OK) {
    mica__text_free(&text);
    return status;
  }
  free(run->record->stopped);
  run->record->stopped = text.data;
  return MICA_OK;
}

/* --- the folder --- */

static bool has_all(const mica_run *run) {
  return has_file(run, "config.json") && (!run->tokenizer || has_file(run, MICA__TOKENIZER_FILE)) &&
         (run->kept->network_file < 0 || has_file(run, MICA__NETWORK_FILE));
}

/* Writes network.onnx, which may have been deleted, from the file that is still open. */
static mica_status write_network(const mica_run *run) {
  unsigned char *data = NULL;
  size_t size = 0;
  if (run->kept->network_file < 0 || has_file(run, MICA__NETWORK_FILE)) return MICA_OK;
  char *path = mica__run_path(run, MICA__NETWORK_FILE);
  mica_status status =
      path ? mica__file_read_open(run->kept->network_file, path, &data, &size) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica__signature_demand(path, data, size);
  if (status == MICA_OK) status = mica__file_replace(path, &(mica__bytes){data, size}, 1);
  free(data);
  free(path);
  return status;
}

static mica_status write_beginning(mica_run *run) {
  MICA_TRY(mica__run_make_folder(run));
  MICA_TRY(mica__run_lock(run));
  MICA_TRY(mica__run_write_tokenizer(run));
  MICA_TRY(write_network(run));
  MICA_TRY(mica__run_write_config(run));
  char *path = mica__run_path(run, "history.csv");
  mica_status status = path ? MICA_OK : mica__fail_nomem("a history");
  if (status == MICA_OK && run->record->history) status = mica_history_write(run->record->history, path);
  free(path);
  return status;
}

/* The run's folder now holds another run. Finds a free folder beside it, so that nothing of this run is lost. */
static mica_status move_beside(mica_run *run) {
  mica__text beside = {0};
  struct stat about;
  int k = 0;
  do {
    mica__text_free(&beside);
    if (++k > MOST_BESIDE)
      return mica__fail(MICA_E_STATE, "%s.1 to %s.%d all exist; delete those that are not needed", run->folder,
                        run->folder, MOST_BESIDE);
    mica__text_addf(&beside, "%s.%d", run->folder, k);
    MICA_TRY(mica__text_status(&beside));
  } while (lstat(beside.data, &about) == 0);
  free(run->folder);
  run->folder = beside.data;
  run->training.folder = run->trainer->config.folder = run->folder;
  return MICA_OK;
}

/* Ends a training whose folder now belongs to another run; its state is written to a folder beside it. */
static mica_status leave(mica_run *run) {
  mica__text was = {0};
  mica__text_add(&was, run->folder);
  mica_status status = mica__text_status(&was);
  if (status == MICA_OK) status = move_beside(run);
  /* The run has left the folder, even if the new one cannot be written yet: the next attempt must know that. */
  if (status == MICA_OK && !run->kept->left)
    run->kept->left = was.data;
  else
    mica__text_free(&was);
  return status == MICA_OK ? write_beginning(run) : status;
}

mica_status mica__run_say_left(const mica_run *run) {
  if (!run->kept->left) return MICA_OK;
  return mica__fail(MICA_E_IO,
                    "%s now holds another run, which is left alone; this training is in %s; continue it with mica "
                    "train --resume --out %s",
                    run->kept->left, run->folder, run->folder);
}

/* True if another run is at the path: it has its settings there, or it is training. Files without settings were written
 * by this run while its folder was deleted. */
static bool is_taken(mica_run *run) {
  mica__run_unlock(run);
  mica__attempt_begin();
  const bool taken = has_file(run, "config.json") || mica__run_lock(run) == MICA_E_STATE;
  mica__attempt_end();
  return taken;
}

static mica_status restore(mica_run *run, bool held) {
  if (!held && is_taken(run)) return leave(run);
  if (held)
    mica__log(MICA_LOG_LEVEL_WARNING, "files of %s were deleted while training: they are written again", run->folder);
  else
    mica__log(MICA_LOG_LEVEL_WARNING, "%s was deleted or moved while training: it is made again", run->folder);
  return write_beginning(run);
}

/* True if the files that open the run are not there. */
static bool is_lost(void *user) {
  const mica_run *run = user;
  return run->folder && run->kept->begun && (!mica__run_is_held(run) || !has_all(run));
}

mica_status mica__run_check_folder(mica_run *run) {
  if (!run->folder || !run->kept->begun) return MICA_OK;
  for (int tries = 0; is_lost(run); tries++) {
    const mica_status status = restore(run, mica__run_is_held(run));
    if (status == MICA_OK) break;
    if (status != MICA_E_IO || tries == MICA__KEEP_TRIES) return status;
  }
  if (run->record->events && access(mica__events_path(run->record->events), F_OK) != 0) {
    mica_events_close(run->record->events);
    run->record->events = NULL;
  }
  if (!run->kept->has_best || has_file(run, BEST)) return MICA_OK;
  run->kept->has_best = false;
  run->trainer->best_lost = true;
  return MICA_OK;
}

static mica_status prepare(void *user) { return mica__run_check_folder(user); }

/* Reads the epoch of the best checkpoint. If model.safetensors is missing, extracts the weights to it, because a
 * stopped run of Mica 0.5.0 has them only in that checkpoint. */
static mica_status recall_best(mica_run *run) {
  mica_safetensors *file = NULL;
  char *best = mica__run_path(run, BEST);
  mica_status status = best ? mica_safetensors_open(best, &file) : mica__fail_nomem("a run");
  const char *epoch = status == MICA_OK ? mica_safetensors_metadata(file, EPOCH_KEY) : NULL;
  if (epoch) run->kept->weights_epoch = strtoll(epoch, NULL, 10);
  mica_safetensors_close(file);
  if (status == MICA_OK && !has_file(run, MODEL)) status = extract(run, best);
  free(best);
  return status;
}

mica_status mica__run_begin_keeping(mica_run *run) {
  run->trainer->keeper = (mica__keeper){.user = run, .prepare = prepare, .is_lost = is_lost, .keep = keep};
  if (!run->folder) return MICA_OK;
  MICA_TRY(mica__run_lock(run));
  if (run->networks->network && run->kept->network_file < 0) {
    char *path = mica__run_path(run, MICA__NETWORK_FILE);
    mica_status status = path ? mica__file_hold(path, &run->kept->network_file) : mica__fail_nomem("a run");
    free(path);
    MICA_TRY(status);
  }
  run->kept->begun = true;
  run->kept->has_best = has_file(run, BEST);
  return run->kept->has_best ? recall_best(run) : MICA_OK;
}

mica_status mica__run_end_early(mica_run *run, int64_t done) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)done);
  const double asked = (double)mica__common_settings_of(run).epochs;
  run->kept->ended_early = true;
  if ((double)done == asked) return MICA_OK;
  MICA_TRY(mica__run_remark(run, "%s epochs are done already, more than the %.0f asked for: the run ends after them",
                            text, asked));
  return mica__common_set(run, MICA__SETTING_epochs, text);
}

bool mica__run_ended_early(const mica_run *run) { return run->kept->ended_early; }
bool mica__run_has_left(const mica_run *run) { return run->kept->left != NULL; }
int64_t mica_run_weights_epoch(const mica_run *run) { return run ? run->kept->weights_epoch : -1; }
