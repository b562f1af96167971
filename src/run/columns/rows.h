/* run/columns/rows.h: columns of tables beside each other: numbers, classes, texts, names of files. */
#ifndef MICA_RUN_COLUMNS_ROWS_H
#define MICA_RUN_COLUMNS_ROWS_H

#include "base/error.h"

#include <mica/run.h>

/* Sets the facts "picture_column" and "sound_column", names of columns in the table, and "text_columns", all columns
 * whose cells are kept as texts. */
mica_status mica__run_note_files(mica_run *run);
/* MICA_E_FORMAT if the data have no files of that kind. `name`: the column in the table; `what`: "picture" or
 * "recording". */
mica_status mica__run_fits_files(const mica_dataset *data, mica_column_kind kind, const char *name, const char *what);

/* Sets the facts of mica__run_note_categories from the run's data, and "input" and "input_column" of its numbers "x" if
 * there are any. */
mica_status mica__run_note_rows(mica_run *run);
/* Checks numbers and categories of other data. MICA_E_FORMAT names a missing column. */
mica_status mica__run_fits_rows(const mica_run *run, const mica_dataset *data);

#endif
