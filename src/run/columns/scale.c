#include "run/columns/scale.h"
#include "base/number.h"
#include "run/columns/kinds.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/data.h>
#include <stdlib.h>
#include <string.h>

/* Reads the next number of a list and moves *at past the comma. Returns false if it is not a number between -1e30 and
 * 1e30, or if `above` is set and it is not above 0. */
static bool take_number(const char **at, bool above, double *number) {
  char *end = NULL;
  *number = mica__strtod(*at, &end);
  if (end == *at || strspn(*at, " \t\n\v\f\r") || (*end && *end != ',') || (*end == ',' && !end[1])) return false;
  *at = *end ? end + 1 : end;
  /* The number must be valid as f32 too, the type that loaders take. */
  return above ? (float)*number > 0 && *number < 1e30 : *number > -1e30 && *number < 1e30;
}

/* Reads a list and stores its first `most` numbers in `numbers`. Returns how many numbers the list has, or 0 if one of
 * them is invalid. */
static size_t take_list(const char *list, bool above, double *numbers, size_t most) {
  size_t count = 0;
  double number = 0;
  while (*list) {
    if (!take_number(&list, above, &number)) return 0;
    if (count < most) numbers[count] = number;
    count++;
  }
  return count;
}

mica_status mica__scale_check(const char *name, const char *value) {
  const bool above = !strcmp(name, "deviation");
  double first;
  if (!*value || take_list(value, above, &first, 1)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s must be a list of numbers%s, as in 0.485,0.456,0.406, not \"%s\"", name,
                    above ? " above 0 and below 1e30 in f32" : " between -1e30 and 1e30", value);
}

static mica_status note_list(mica_run *run, const char *name, size_t channels) {
  const bool deviation = !strcmp(name, "deviation");
  double *numbers = calloc(channels + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a run");
  const size_t count = take_list(mica_run_setting(run, name), deviation, numbers, channels);
  mica_status status = MICA_OK;
  if (count != 1 && count != channels)
    status = mica__fail(MICA_E_INVALID,
                        "%s has %zu numbers, but %s has %zu channels or columns of inputs; give one, or one for each",
                        name, count, run->data ? run->data : "the dataset", channels);
  for (size_t i = 1; i < channels && count == 1; i++) numbers[i] = numbers[0];
  /* Loaders subtract the base of a column (bases.c) from its numbers, so it is subtracted from the mean, too. */
  for (size_t i = 0; i < channels && !deviation; i++) numbers[i] -= mica__run_number_base(run, i);
  if (status == MICA_OK) status = mica__run_note_numbers(run, name, numbers, channels);
  free(numbers);
  return status;
}

mica_status mica__run_note_given_scale(mica_run *run, bool *given) {
  const bool mean = *mica__common_settings_of(run).mean, deviation = *mica__common_settings_of(run).deviation;
  const mica_shape shape = mica_dataset_shape(run->parts->whole);
  *given = mean || deviation;
  if (!*given) return MICA_OK;
  if (!mean || !deviation) return mica__fail(MICA_E_INVALID, "give both mean and deviation, or neither");
  if (run->task->input->traits.own_input || run->task->input->onnx.input || (shape.rank != 1 && shape.rank != 3))
    return mica__fail(MICA_E_INVALID,
                      "mean and deviation are for tasks whose inputs are only pictures, or only rows of numbers");
  MICA_TRY(note_list(run, "mean", (size_t)shape.dim[0]));
  return note_list(run, "deviation", (size_t)shape.dim[0]);
}

mica_status mica__run_note_scale(mica_run *run, const mica__scale *scale) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const size_t index = mica_dataset_column_index(data, scale->column);
  const mica_column *column = mica_dataset_column(data, index);
  if (!column || !column->shape.rank) return MICA_OK;
  const size_t channels = (size_t)column->shape.dim[0];
  float *measured = calloc(2 * channels + 1, sizeof *measured);
  double *numbers = calloc(2 * channels + 1, sizeof *numbers);
  mica_status status = measured && numbers ? MICA_OK : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica_dataset_measure_column(data, index, measured, measured + channels);
  for (size_t i = 0; status == MICA_OK && i < 2 * channels; i++) numbers[i] = (double)measured[i];
  if (status == MICA_OK) status = mica__run_note_numbers(run, scale->mean, numbers, channels);
  if (status == MICA_OK) status = mica__run_note_numbers(run, scale->deviation, numbers + channels, channels);
  free(measured);
  free(numbers);
  return status;
}

/* Computes mean and deviation of the training targets, for each of `count` numbers. The deviation of a constant is set
 * to 1. */
static mica_status measure_answers(const mica_run *run, size_t column, size_t count, float *row, double *means,
                                   double *deviations) {
  const mica_dataset *data = run->parts->at[MICA_PART_TRAIN].data;
  const uint64_t samples = mica_dataset_count(data);
  for (uint64_t i = 0; i < samples; i++) {
    if (mica_dataset_column(data, column)->dtype != MICA_F32)
      row[0] = mica_dataset_target(data, i);
    else
      MICA_TRY(mica_dataset_read(data, column, i, row, count * sizeof *row));
    for (size_t k = 0; k < count; k++) {
      const double y = (double)row[k], before = y - means[k];
      if (!isfinite(y))
        return mica__fail(MICA_E_FORMAT, "%s: the answer of sample %llu is %s", run->data, (unsigned long long)i,
                          isnan(y) ? "not a number" : "infinite");
      means[k] += before / (double)(i + 1);
      deviations[k] += before * (y - means[k]);
    }
  }
  for (size_t k = 0; k < count; k++) {
    deviations[k] = samples ? sqrt(deviations[k] / (double)samples) : 0;
    if (!(deviations[k] > 0)) deviations[k] = 1;
  }
  return MICA_OK;
}

mica_status mica__run_note_answer_scale(mica_run *run, size_t column, size_t count) {
  float *row = calloc(count, sizeof *row);
  double *means = calloc(2 * count, sizeof *means), *deviations = means ? means + count : NULL;
  mica_status status =
      row && means ? measure_answers(run, column, count, row, means, deviations) : mica__fail_nomem("a run");
  if (status == MICA_OK) status = mica__run_note_numbers(run, "target_mean", means, count);
  if (status == MICA_OK) status = mica__run_note_numbers(run, "target_deviation", deviations, count);
  free(row);
  free(means);
  return status;
}

/* Adds the scale of a column if the run has stored its mean and deviation and the data have the column. Its numbers are
 * stored from `to` on; returns the end of them. */
static float *take_scale(mica_run *run, const mica_dataset *data, const mica__scale *scale, float *to,
                         mica_loader_config *config) {
  size_t means = 0, deviations = 0;
  const double *mean = mica_run_fact_numbers(run, scale->mean, &means);
  const double *deviation = mica_run_fact_numbers(run, scale->deviation, &deviations);
  if (!mean || means != deviations || !mica_dataset_column(data, mica_dataset_column_index(data, scale->column)))
    return to;
  for (size_t i = 0; i < means; i++) {
    to[i] = (float)mean[i];
    to[means + i] = (float)deviation[i];
  }
  run->parts->scaled[config->column_count++] =
      (mica_column_config){.name = scale->column, .mean = to, .deviation = to + means};
  return to + 2 * means;
}

mica_status mica__run_take_scales(mica_run *run, const mica_dataset *data, mica_loader_config *config) {
  const mica__scale *own = run->task->input->scales;
  mica__scale list[MICA__SCALES] = {{mica__common_facts_of(run).label_column, "target_mean", "target_deviation"}};
  size_t count = mica__common_facts_of(run).target_mean.count > 1, room = 0;
  for (; own && own->column && count < MICA__SCALES; own++) list[count++] = *own;
  for (size_t i = 0; i < count; i++) {
    size_t numbers = 0;
    mica_run_fact_numbers(run, list[i].mean, &numbers);
    room += 2 * numbers;
  }
  free(run->parts->scales);
  float *next = run->parts->scales = calloc(room + 1, sizeof *next);
  if (!next) return mica__fail_nomem("a run");
  for (size_t i = 0; i < count; i++) next = take_scale(run, data, &list[i], next, config);
  config->columns = config->column_count ? run->parts->scaled : NULL;
  return MICA_OK;
}

bool mica__run_is_unscaled(const mica_run *run) {
  const mica__fact_numbers mean = mica__common_facts_of(run).mean;
  const mica__fact_numbers deviation = mica__common_facts_of(run).deviation;
  bool same = mean.list && deviation.list && mean.count == deviation.count;
  for (size_t i = 0; same && i < mean.count; i++)
    same = mean.list[i] + mica__run_number_base(run, i) == 0 && deviation.list[i] == 1;
  return same;
}
