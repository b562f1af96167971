/* How long a run trains by default, and what its epochs say of how it learns. */
#include "run/learning.h"
#include "run/parts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "run/state/record.h"

#include <math.h>
#include <stdlib.h>

/* Most epochs by default, as a multiple of the task's number. */
#define MOST_TIMES 10
/* A loss that falls by this share in the last quarter of the epochs is still falling. */
#define FALLING 0.05
/* Parts of fewer samples say nothing about how often the answers are right. */
#define FEW_SAMPLES 10

mica_status mica__run_find_epochs(mica_run *run) {
  const double batches = (double)mica_run_epoch_of(run).batches / mica_run_number(run, "accumulate");
  const double usual = mica_run_number(run, "epochs");
  const double wanted = batches > 0 ? ceil(run->task->least_steps / batches) : 0;
  if (run->resumed || mica__run_given(run, "epochs") || wanted <= usual) return MICA_OK;
  return mica__run_set_number(run, "epochs", fmin(wanted, MOST_TIMES * usual));
}

/* The share of the most frequent class in a part; *name is that class. NaN: its samples have no single class. */
static mica_status most_frequent(const mica_dataset *data, double *share, const char **name) {
  const int32_t classes = mica_dataset_classes(data);
  const uint64_t count = mica_dataset_count(data);
  int32_t most = 0;
  *share = NAN;
  if (classes < 1 || !count) return MICA_OK;
  uint64_t *counts = calloc((size_t)classes, sizeof *counts);
  if (!counts) return mica__fail_nomem("a count of classes");
  for (uint64_t i = 0; i < count; i++) {
    const int32_t label = mica_dataset_label(data, i);
    if (label >= 0 && label < classes) counts[label]++;
  }
  for (int32_t k = 1; k < classes; k++)
    if (counts[k] > counts[most]) most = k;
  *name = mica_dataset_class_name(data, most);
  if (counts[most]) *share = (double)counts[most] / (double)count;
  free(counts);
  return MICA_OK;
}

/* The epoch of the best value in a column of the history. */
static size_t best_row(const mica_history *h, const char *column) {
  size_t best = 0;
  for (size_t i = 1; i < mica_history_rows(h); i++)
    if (mica_history_get(h, i, column) > mica_history_get(h, best, column)) best = i;
  return best;
}

/* Compares the best accuracy with that of one answer for all samples. One standard deviation of it is allowed for
 * chance. */
static mica_status remark_guessing(mica_run *run) {
  const mica_history *h = run->record->history;
  const mica_dataset *validation = run->parts->at[MICA_PART_VALIDATION].data;
  const char *column = validation ? "validation_accuracy" : "accuracy", *name = NULL;
  const mica_dataset *data = validation ? validation : run->parts->at[MICA_PART_TRAIN].data;
  const double accuracy = mica_history_get(h, best_row(h, column), column);
  double share = 0;
  if (isnan(accuracy) || mica_dataset_count(data) < FEW_SAMPLES) return MICA_OK;
  MICA_TRY(most_frequent(data, &share, &name));
  const double chance = share + sqrt(share * (1 - share) / (double)mica_dataset_count(data));
  if (!(accuracy <= chance) || share == 1) return MICA_OK;
  return mica__run_remark(run,
                          "the network has learned little: its best accuracy is %.1f %%, and \"%s\" as the answer to "
                          "all samples has %.1f %%; more epochs, another --lr or more samples may help",
                          100 * accuracy, name, 100 * share);
}

/* The best epoch is the last one, and the loss was still falling. */
static mica_status remark_falling(mica_run *run) {
  const mica_history *h = run->record->history;
  const size_t rows = mica_history_rows(h);
  const char *column = run->parts->at[MICA_PART_VALIDATION].data ? "validation_loss" : "loss";
  if (rows < 4 || !run->record->last_is_best) return MICA_OK;
  const double before = mica_history_get(h, rows - 1 - rows / 4, column), last = mica_history_get(h, rows - 1, column);
  if (!(last < before - FALLING * fabs(before))) return MICA_OK;
  return mica__run_remark(run,
                          "the last epoch was the best, and the loss was still falling: more epochs may help "
                          "(--resume --epochs %zu)",
                          2 * rows);
}

mica_status mica__run_remark_learning(mica_run *run) {
  if (!run->record->history || !mica_history_rows(run->record->history)) return MICA_OK;
  MICA_TRY(remark_guessing(run));
  return remark_falling(run);
}
