/* task/input/fuse_series.h: series in cells of a table, as in "0.5 0.7 1.1": a part of the input fuse. */
#ifndef MICA_TASK_INPUT_FUSE_SERIES_H
#define MICA_TASK_INPUT_FUSE_SERIES_H

#include "run/composed.h"

extern const mica__input mica__fuse_series;

/* True if data have a column of series other than the one in the setting "text". run NULL: the setting is not set. */
bool mica__fuse_has_series(const mica_run *run, const mica_dataset *data);
/* True for the column in the setting "text". run NULL: the setting is not set. */
bool mica__fuse_is_text(const mica_run *run, const mica_dataset *data, size_t column);
/* True if the first texts of a column are lists of numbers. */
bool mica__fuse_is_series(const mica_dataset *data, size_t column);

#endif
