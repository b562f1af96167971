/* run/columns/rows.h: rows of tables that have columns of several kinds: numbers, classes, texts, names of files. */
#ifndef MICA_RUN_COLUMNS_ROWS_H
#define MICA_RUN_COLUMNS_ROWS_H

#include "base/error.h"

#include <mica/run.h>

/* Sets the stored values "picture_column" and "sound_column", names of columns in the table, and "text_columns", all
 * columns whose cells are kept as texts. */
mica_status mica__run_note_files(mica_run *run);
/* MICA_E_FORMAT if the data have no files of that kind. For the message, `name` is the table's column, and `what` is
 * "picture" or "recording". */
mica_status mica__run_fits_files(const mica_dataset *data, mica_column_kind kind, const char *name, const char *what);

/* Stores the values of mica__run_note_categories from the run's data. If the data have numbers, in a column "x", also
 * stores "input" (its shape) and "input_column" (its name). */
mica_status mica__run_note_rows(mica_run *run);
/* Checks numbers and categories of other data. If a column is missing, MICA_E_FORMAT with a message that names it. */
mica_status mica__run_fits_rows(const mica_run *run, const mica_dataset *data);

#endif
