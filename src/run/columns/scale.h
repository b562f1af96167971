/* run/columns/scale.h: the means and deviations by which inputs are scaled. */
#ifndef MICA_RUN_COLUMNS_SCALE_H
#define MICA_RUN_COLUMNS_SCALE_H

#include "base/error.h"

#include <mica/run.h>

/* MICA_E_INVALID unless a setting "mean" or "deviation" is a list of numbers, deviations above 0. "" is right. */
mica_status mica__scale_check(const char *name, const char *value);
/* Notes the facts "mean" and "deviation" if the settings of these names give them, else *given is false. One number
 * stands for all channels of pictures, or columns of rows. */
mica_status mica__run_note_given_scale(mica_run *run, bool *given);
/* True if inputs come as they are: mean 0 and deviation 1. */
bool mica__run_is_unscaled(const mica_run *run);

#endif
