/* run/columns/scale.h: the means and deviations by which inputs are scaled. */
#ifndef MICA_RUN_COLUMNS_SCALE_H
#define MICA_RUN_COLUMNS_SCALE_H

#include "base/error.h"

#include <mica/run.h>

/* MICA_E_INVALID unless the setting "mean" or "deviation" is empty or a list of numbers; deviations are above 0. */
mica_status mica__scale_check(const char *name, const char *value);
/* Sets the stored values "mean" and "deviation" from the settings of these names; *given is false if they are not set.
 * A single number applies to all channels of a picture, or to all columns of a row. */
mica_status mica__run_note_given_scale(mica_run *run, bool *given);
/* A column that loaders scale, and the stored values that hold its mean and deviation. */
typedef struct mica__scale {
  const char *column, *mean, *deviation;
} mica__scale;

/* Sets the two stored values that `scale` names from the training part: one number per channel of a picture, or per
 * number of the column. Does nothing if the training part does not have the column. */
mica_status mica__run_note_scale(mica_run *run, const mica__scale *scale);
/* Sets the stored values "target_mean" and "target_deviation" from the training answers in a column of `count` numbers;
 * the deviation of a constant is 1. If an answer is not finite, MICA_E_FORMAT with a message that names the sample. */
mica_status mica__run_note_answer_scale(mica_run *run, size_t column, size_t count);
/* Sets in the configuration which columns the loader scales: the columns of `data` that the input scales
 * (mica__input.scales), and the answers if they are several numbers per sample. (A single number is scaled by the
 * head.) The run owns the list until the next call. */
mica_status mica__run_take_scales(mica_run *run, const mica_dataset *data, mica_loader_config *config);

/* True if inputs are not scaled: mean 0 and deviation 1. */
bool mica__run_is_unscaled(const mica_run *run);

#endif
