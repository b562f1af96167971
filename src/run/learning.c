/* How long a run trains by default, and remarks on how its epochs went. */
#include "run/learning.h"
#include "base/number.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/parts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "run/state/record.h"
#include "run/verbs/imported.h"

#include <math.h>
#include <mica/foundation.h>
#include <stdlib.h>
#include <string.h>

/* The most epochs by default, as a multiple of the task's number. */
#define MOST_TIMES 10
/* If the training data have fewer pictures than FEW_PICTURES, batches are small, so that an epoch has enough steps, and
 * pictures are shifted at random by up to 1/CROP_SHARE of a side, since a network would otherwise memorise them. With
 * 2,000 drawn shapes of six kinds, the accuracy after 10 epochs was 86, 91 and 95 % with batches of 64, 32 and 16. With
 * 160 shapes of four kinds, shifts raised it from 28 to 40 %. */
#define FEW_PICTURES 10000
#define FEW_BATCH 16
#define CROP_SHARE 8
/* The fewest steps by default for a network of pictures. */
#define PICTURE_STEPS 900
/* Fewer validation samples than this cannot tell which epoch is best. With 16 validation pictures, the best accuracy
 * was that of an epoch in the middle, which had 40 % on the test part; the epoch chosen with the tolerance had 47 %. */
#define FEW_VALIDATED 100
/* A loss that falls by this share in the last quarter of the epochs is still falling. */
#define FALLING 0.05
/* With fewer samples, nothing is said about how often the answers are right. */
#define FEW_SAMPLES 10
/* With fewer validation samples, the accuracy is called uncertain. */
#define UNCERTAIN_SAMPLES 30
/* A network is said to overfit if training accuracy exceeds validation accuracy by this much and by this many standard
 * errors. */
#define OVERFITS_BY 0.15
#define OVERFITS_ERRORS 3

/* True if a new run classifies pictures and the user did not choose its network. An ONNX or published model in "init"
 * chooses a network; a file of weights does not. */
static bool takes_pictures(const mica_run *run) {
  const mica__common_settings set = mica__common_settings_of(run);
  const bool own = *set.init && (mica__is_model_file(set.init) || mica_foundation_is(set.init));
  const mica__common_facts facts = mica__common_facts_of(run);
  return facts.input.count == 3 && facts.classes.list && !run->task->input->networks && !run->resumed && !*set.model &&
         !own;
}

mica_status mica__run_set_picture_defaults(mica_run *run) {
  const uint64_t count = mica_dataset_count(run->parts->at[MICA_PART_TRAIN].data);
  const double *input = mica__common_facts_of(run).input.list;
  char crop[32];
  if (!takes_pictures(run) || count >= FEW_PICTURES) return MICA_OK;
  if (!mica__common_given(run, MICA__SETTING_batch) &&
      (!run->config.communicator || run->config.communicator->ranks <= FEW_BATCH))
    MICA_TRY(mica__common_set_number(run, MICA__SETTING_batch, FEW_BATCH));
  const double side = fmin(input[1], input[2]);
  if (mica__common_given(run, MICA__SETTING_augment) || side < CROP_SHARE) return MICA_OK;
  mica__snprintf(crop, sizeof crop, "crop=%.0f", floor(side / CROP_SHARE));
  return mica__common_set(run, MICA__SETTING_augment, crop);
}

/* The tolerance of a new run (mica__run_set_tolerance): 0, or 0.5 / sqrt(n), the greatest standard error of a share of
 * n samples. */
static double find_tolerance(const mica_run *run, const mica_trainer_config *c) {
  const mica_dataset *validation = run->parts->at[MICA_PART_VALIDATION].data;
  const double count = validation ? (double)mica_dataset_count(validation) : 0;
  const size_t rank = mica__common_facts_of(run).input.count;
  const bool falls = c->schedule.kind == MICA_SCHEDULE_ONE_CYCLE || c->schedule.kind == MICA_SCHEDULE_COSINE;
  if (rank != 3 || !falls || !c->watch || strcmp(c->watch, "accuracy") != 0) return 0;
  return count > 0 && count < FEW_VALIDATED ? 0.5 / sqrt(count) : 0;
}

mica_status mica__run_set_tolerance(mica_run *run, mica_trainer_config *c) {
  /* A run that was begun without a tolerance keeps choosing its epoch without one. */
  c->tolerance = run->resumed ? mica__common_facts_of(run).tolerance : find_tolerance(run, c);
  if (!(c->tolerance >= 0 && c->tolerance < 1))
    return mica__fail(MICA_E_FORMAT, "the run's tolerance is %g, but must be at least 0 and below 1", c->tolerance);
  return c->tolerance > 0 ? mica__run_note_numbers(run, "tolerance", &c->tolerance, 1) : MICA_OK;
}

mica_status mica__run_find_epochs(mica_run *run) {
  const double batches = (double)mica_run_epoch_of(run).batches / (double)mica__common_settings_of(run).accumulate;
  const double usual = (double)mica__common_settings_of(run).epochs, least = run->task->least_steps;
  const double wanted = batches > 0 ? ceil((takes_pictures(run) ? PICTURE_STEPS : least) / batches) : 0;
  if (run->resumed || mica__common_given(run, MICA__SETTING_epochs) || wanted <= usual) return MICA_OK;
  return mica__common_set_number(run, MICA__SETTING_epochs, fmin(wanted, MOST_TIMES * usual));
}

/* Sets *share to the share of the most frequent class in a part, and *name to that class. The share is NaN if samples
 * do not have exactly one class. */
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

/* The row of the history with the greatest value in a column. */
static size_t best_row(const mica_history *h, const char *column) {
  size_t best = 0;
  for (size_t i = 1; i < mica_history_rows(h); i++)
    if (mica_history_get(h, i, column) > mica_history_get(h, best, column)) best = i;
  return best;
}

/* Remarks that little was learned if the best accuracy is no better than one answer to all samples would have, with
 * one standard deviation allowed for chance. */
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

/* The value of a column in the last epoch. */
static double last_of(const mica_run *run, const char *column) {
  return mica_history_get(run->record->history, mica_history_rows(run->record->history) - 1, column);
}

/* The number of validation samples, and their accuracy in the last epoch; 0 if accuracy is not measured. */
static double validated(const mica_run *run, double *accuracy) {
  const mica_dataset *validation = run->parts->at[MICA_PART_VALIDATION].data;
  *accuracy = last_of(run, "validation_accuracy");
  return validation && !isnan(*accuracy) ? (double)mica_dataset_count(validation) : 0;
}

static mica_status remark_few(mica_run *run) {
  double accuracy = 0;
  const double count = validated(run, &accuracy);
  if (count < 1 || count >= UNCERTAIN_SAMPLES) return MICA_OK;
  /* Accuracy counts voxels here, so even a few volumes are many samples. */
  if (run->task->input->traits.volumes)
    return mica__run_remark(run, "only %.0f volume%s held out for validation; hold out more (--validation)", count,
                            count == 1 ? " is" : "s are");
  return mica__run_remark(
      run,
      "only %.0f sample%s held out for validation, so the accuracy is uncertain by about %.0f percentage points; "
      "hold out more (--validation)",
      count, count == 1 ? " is" : "s are", 100 * 0.5 / sqrt(count));
}

/* The variance of a share measured on `count` samples, as estimated by Agresti and Coull (1998): after few samples,
 * shares of 0 and 1 are uncertain too. */
static double variance_of(double share, double count) {
  const double p = (share * count + 2) / (count + 4);
  return p * (1 - p) / (count + 4);
}

/* Suggests what helps a network that overfits, if it is not in use yet. */
static const char *advise(const mica_run *run) {
  const mica__common_settings set = mica__common_settings_of(run);
  const bool changed = *set.augment && strcmp(set.augment, "none") != 0, begun = *set.init;
  if (mica__common_facts_of(run).input.count != 3) return "a larger --weight-decay or a smaller network";
  if (changed) return begun ? "a larger --weight-decay" : "a stronger --augment or pretrained weights (--init)";
  return begun ? "--augment" : "--augment or pretrained weights (--init)";
}

/* Remarks that the network memorises its samples, if the training accuracy of the last epoch is far above the best
 * validation accuracy of all epochs: a single epoch may validate badly by chance. */
static mica_status remark_overfitting(mica_run *run, bool *overfits) {
  const mica_history *h = run->record->history;
  double last = 0;
  const double count = validated(run, &last), training = last_of(run, "accuracy");
  *overfits = false;
  if (count < 1 || isnan(training)) return MICA_OK;
  const double value = mica_history_get(h, best_row(h, "validation_accuracy"), "validation_accuracy");
  const double trained = (double)mica_dataset_count(run->parts->at[MICA_PART_TRAIN].data);
  const double error = sqrt(variance_of(value, count) + variance_of(training, trained));
  *overfits = training - value > fmax(OVERFITS_BY, OVERFITS_ERRORS * error);
  if (!*overfits) return MICA_OK;
  return mica__run_remark(run,
                          "the network overfits: its accuracy is %.1f %% in training and at best %.1f %% in "
                          "validation; more samples, %s may help",
                          100 * training, 100 * value, advise(run));
}

/* Adds a remark if the kept epoch is the last one and its loss was still falling, unless its validation answers were
 * all right. */
static mica_status remark_falling(mica_run *run) {
  const mica_history *h = run->record->history;
  const size_t rows = mica_history_rows(h);
  const char *column = run->parts->at[MICA_PART_VALIDATION].data ? "validation_loss" : "loss";
  if (rows < 4 || !run->record->last_is_kept) return MICA_OK;
  if (last_of(run, "validation_accuracy") == 1) return MICA_OK;
  const double before = mica_history_get(h, rows - 1 - rows / 4, column), last = mica_history_get(h, rows - 1, column);
  if (!(last < before - FALLING * fabs(before))) return MICA_OK;
  return mica__run_remark(run,
                          "the last epoch %s, and the loss was still falling: more epochs may help (--resume "
                          "--epochs %zu)",
                          run->record->last_is_best ? "was the best" : "is kept", 2 * rows);
}

mica_status mica__run_remark_learning(mica_run *run) {
  if (!run->record->history || !mica_history_rows(run->record->history)) return MICA_OK;
  bool overfits = false;
  MICA_TRY(remark_overfitting(run, &overfits));
  if (!overfits) MICA_TRY(remark_guessing(run));
  MICA_TRY(remark_few(run));
  return remark_falling(run);
}
