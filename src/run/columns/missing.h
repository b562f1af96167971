/* run/columns/missing.h: missing cells of a run's tables. */
#ifndef MICA_RUN_COLUMNS_MISSING_H
#define MICA_RUN_COLUMNS_MISSING_H

#include "base/error.h"

#include <mica/run.h>

/* The treatment of missing numbers when tables are opened: NaN, which mica__run_fill replaces, or an error. */
mica_missing mica__run_missing(const mica_run *run);
/* Gives a run that begins its setting. */
mica_status mica__run_begin_missing(mica_run *run);
/* Finds what stands for missing numbers in the training part, notes it as "fills" and fills the parts that are open. */
mica_status mica__run_note_fills(mica_run *run);
/* Fills the missing numbers of data that were opened for the run. */
mica_status mica__run_fill(const mica_run *run, mica_dataset *data);
/* Says what became of missing cells, of rows without an answer and of classes that are not known. */
mica_status mica__run_remark_missing(mica_run *run, const mica_dataset *data);
/* Says it of the data that a run is trained, validated and tested on, and which columns number the rows. */
mica_status mica__run_remark_parts(mica_run *run);
/* Says how many cells of a column hold classes that training did not see, and the first of these. */
mica_status mica__run_remark_class(mica_run *run, const char *table, const char *column, uint64_t count,
                                   const char *first);
/* Says that a table's answers, whose task nobody named, are taken for numbers. */
mica_status mica__run_remark_regress(mica_run *run);
/* MICA_E_INVALID, naming the column, where the setting "ignore" is not about the data's. */
mica_status mica__run_check_ignored(const mica_run *run);

#endif
