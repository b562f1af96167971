/* run/units.h: converts numbers between the units of two runs, such as a run and its teacher. */
#ifndef MICA_RUN_UNITS_H
#define MICA_RUN_UNITS_H

#include "run/task.h"

/* The name of the k-th number of a row; NULL: there is none, or its table has no names. */
const char *mica__units_number_name(const mica_run *run, size_t k);
/* A column of numbers of the table that `other` was trained on which the run's table has not; NULL: it has all, or one
 * of both tables has no names. */
const char *mica__units_lacking(const mica_run *run, const mica_run *other);
/* MICA_E_FORMAT where the weights in `path`, which `other` learned, read columns in another order, of other names or of
 * other classes than the run's data have: weights know columns by their place alone. */
mica_status mica__units_check_columns(const mica_run *run, const mica_run *other, const char *path);
/* x, the run's column `name` as its loader makes it, as the loader of `other` would; columns of a table by their names.
 * As it is where one of both has no such scale, and where a column is lacking. */
mica_value mica__units_of_input(const mica_run *run, const mica_run *other, const char *name, mica_value x);
/* Answers of `from`, in its deviations about its mean or, if `plain`, in the target's own units, in those of `to`. */
mica_value mica__units_of_answer(const mica_run *from, bool plain, const mica_run *to, mica_value y);

#endif
