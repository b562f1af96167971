/* run/units.h: converts numbers between the units of two runs, such as a run and its teacher. */
#ifndef MICA_RUN_UNITS_H
#define MICA_RUN_UNITS_H

#include "run/task.h"

/* The name of the k-th number of a row, or NULL if the row is shorter or the table has no names. */
const char *mica__units_number_name(const mica_run *run, size_t k);
/* The name of a column of numbers that the table of `other` has and the run's table lacks, or NULL. NULL also if one of
 * the tables has no names. */
const char *mica__units_lacking(const mica_run *run, const mica_run *other);
/* MICA_E_FORMAT if the weights in `path`, which `other` learned, belong to columns in another order, with other names
 * or with other classes than the run's data: weights know columns only by position. */
mica_status mica__units_check_columns(const mica_run *run, const mica_run *other, const char *path);
/* Converts x, the run's column `name` as its loader makes it, to what the loader of `other` would make; columns of a
 * table are matched by name. Returns x unchanged if a column is missing; if one of the runs has no scale for it, x is
 * only put in order. */
mica_value mica__units_of_input(const mica_run *run, const mica_run *other, const char *name, mica_value x);
/* Converts answers of `from` to the units of `to`. The answers are in deviations from the mean of the targets of `from`
 * or, if `plain`, in the target's own units. Returns y unchanged if a scale is not known. */
mica_value mica__units_of_answer(const mica_run *from, bool plain, const mica_run *to, mica_value y);

#endif
