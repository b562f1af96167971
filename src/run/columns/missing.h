/* run/columns/missing.h: missing cells of a run's tables. */
#ifndef MICA_RUN_COLUMNS_MISSING_H
#define MICA_RUN_COLUMNS_MISSING_H

#include "base/error.h"

#include <mica/run.h>

/* How tables treat missing numbers when they are opened: as NaN, which mica__run_fill replaces, or as an error. */
mica_missing mica__run_missing(const mica_run *run);
/* Sets the setting "missing" of a new run to "mean", unless it is set. */
mica_status mica__run_begin_missing(mica_run *run);
/* Computes the values that replace missing numbers from the training part, sets the stored value "fills", and fills the
 * parts that are open. */
mica_status mica__run_note_fills(mica_run *run);
/* Fills the missing numbers of data that were opened for the run. MICA_E_FORMAT if numbers are missing, but the run has
 * no values to replace them. */
mica_status mica__run_fill(const mica_run *run, mica_dataset *data);
/* Reports missing cells, rows without an answer, and unknown classes. */
mica_status mica__run_remark_missing(mica_run *run, const mica_dataset *data);
/* Does mica__run_remark_missing for the run's own training, validation and test data. Also names columns that only
 * number the rows. */
mica_status mica__run_remark_parts(mica_run *run);
/* Reports how many cells of a column have classes that training did not see, and the first such class. */
mica_status mica__run_remark_class(mica_run *run, const char *table, const char *column, uint64_t count,
                                   const char *first);
/* For a run whose task was not named: remarks that the answers of its table are taken for numbers, if they might be
 * classes. */
mica_status mica__run_remark_regress(mica_run *run);
/* Checks that the data have all columns that the setting "ignore" names. If not, MICA_E_INVALID with a message that
 * names the column. */
mica_status mica__run_check_ignored(const mica_run *run);

#endif
