/* regress: a number for each sample, or several. */
#include "data/series/series.h"
#include "nn/start.h"
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "task/head/numbers.h"
#include "task/input/sample.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

MICA__TASK_FIELDS(regress, NUMBERS_SETTINGS, NUMBERS_FACTS, 0);

static const mica_task_metric metrics[] = NUMBERS_METRICS;

/* Defaults for tables if the user chose no network. Most tables have few rows, so the number of epochs, from 10 to 100,
 * is chosen for about STEPS steps. RATE is a learning rate at which the default network is stable (measured on tables
 * of 1,000 to 20,000 rows, 2026-11-24). */
#define STEPS 5000
#define RATE 0.01
static const mica_setting defaults[] = {{"epochs", ""}, {"lr", ""}, {0}};

static mica_status set_defaults(mica_run *run, const mica_dataset *data) {
  const double batches = ceil((double)mica_dataset_count(data) / (double)mica__common_settings_of(run).batch);
  if (mica_dataset_shape(data).rank > 1 || mica__common_is_set(run, MICA__SETTING_model)) return MICA_OK;
  if (!mica__common_is_set(run, MICA__SETTING_epochs))
    MICA_TRY(mica__common_set_number(run, MICA__SETTING_epochs, fmax(10, fmin(100, floor(STEPS / batches)))));
  if (mica__common_is_set(run, MICA__SETTING_lr) || mica__common_is_set(run, MICA__SETTING_optimizer)) return MICA_OK;
  return mica__common_set_number(run, MICA__SETTING_lr, RATE);
}

/* Remarks that a table whose only input is a time may be a series. */
static mica_status remark_series(mica_run *run) {
  const size_t x = mica_dataset_column_index(run->parts->whole, "x");
  const mica_column *column = mica_dataset_column(run->parts->whole, x);
  const char *name = column ? mica_dataset_number_name(run->parts->whole, x, 0) : NULL;
  if (!name || column->shape.rank != 1 || column->shape.dim[0] != 1 || mica__run_categories(run)) return MICA_OK;
  if (!mica__is_time_name(name)) return MICA_OK;
  return mica__run_remark(
      run, "the only input is '%s'; if the rows are a series, --task forecast predicts what follows", name);
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__composed_prepare(run));
  if (!run->parts->whole) return MICA_OK;
  MICA_TRY(remark_series(run));
  return set_defaults(run, run->parts->at[MICA_PART_TRAIN].data);
}

/* The default network starts with weights and biases distributed as in PyTorch's layers. They are smaller than in the
 * library's other networks and fit rows of numbers 7 % better (tables of 4,000 rows, 2026-11-24). */
static mica_status begin(mica_run *run) {
  const mica_nn *nn = mica_trainer_network(run->trainer);
  mica_session *session = mica_trainer_session(run->trainer);
  const uint64_t seed = (uint64_t)mica__common_settings_of(run).seed;
  if (strcmp(mica__common_settings_of(run).model, "mlp") != 0 || mica__common_facts_of(run).input.count > 1)
    return MICA_OK;
  MICA_TRY(mica__nn_start_dense(nn, session, "fc1", seed, 0));
  return mica__nn_start_dense(nn, session, "fc2", seed, 1);
}

const mica__task_row mica__task_regress = {
    .name = "regress",
    .text = "a number for each picture or row of a table, or several numbers",
    MICA__COMPOSED_PREPARED(sample, numbers),
    .prepare = prepare,
    .metrics = metrics,
    MICA__TASK_LISTS(regress),
    .defaults = defaults,
    .least_steps = 300,
    .begin = begin,
};
