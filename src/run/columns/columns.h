/* run/columns/columns.h: the columns of a run's data: the input, the answer, and the outline of its table. */
#ifndef MICA_RUN_COLUMNS_COLUMNS_H
#define MICA_RUN_COLUMNS_COLUMNS_H

#include "base/error.h"

#include <mica/run.h>

/* The column of answers: "label", else the last column that is not an input. NULL: none. */
const mica_column *mica__run_find_label(const mica_dataset *data);
/* Notes the columns: "input" (shape), "input_column", "label_column", those of mica__run_note_categories. A table
 * without numbers has no input but classes. MICA_E_FORMAT names what is missing. */
mica_status mica__run_note_columns(mica_run *run, const mica_column **label);
/* Compares an input of other data with the run's. */
mica_status mica__run_fits_input(const mica_run *run, const mica_dataset *data);
/* True for a column of answers, or of their lengths, which a prediction goes without. */
bool mica__run_is_answer(const mica_run *run, const char *column);
/* The batch without these columns; *feeds holds its tensors and is the caller's to free. */
mica_status mica__run_withhold(const mica_run *run, const mica_batch *batch, mica_feed **feeds, mica_batch *blind);
/* Notes the columns of the table that the run is trained on: "table", of mica__outline_list, and "header". */
mica_status mica__run_note_table(mica_run *run);
/* The name of the column of answers in its table; what the dataset calls it elsewhere. */
const char *mica__run_answer_name(const mica_run *run, const mica_column *label);
/* Notes it as "label_name"; the names of several are a list as in "a,b". */
mica_status mica__run_note_answer_name(mica_run *run, const mica_column *label);
/* Makes the outline from these, or of runs without them from the number of inputs. */
mica_status mica__run_outline(mica_run *run);
/* *order gets, for each number of the run, its position in the data; the caller's to free. It stays NULL if both have
 * the same columns in the same order, or if one side has no names. Columns are matched by name, as predict does.
 * MICA_E_FORMAT where one lacks. */
mica_status mica__run_find_order(const mica_run *run, const mica_dataset *data, int64_t **order);
/* Remarks on columns of a table of these names, or of a dataset, that the run was not trained on. */
mica_status mica__run_remark_extras(mica_run *run, const char *table, const char *const *names, size_t count);
mica_status mica__run_remark_data(mica_run *run, const mica_dataset *data);
/* Remarks on lines of a table that begin with # and were not read; of a dataset, if it is a table. */
mica_status mica__run_remark_passed(mica_run *run, const char *table, size_t lines);
mica_status mica__run_remark_comments(mica_run *run, const mica_dataset *data);
/* Remarks on columns whose numbers f32 cannot tell apart. */
mica_status mica__run_remark_coarse(mica_run *run);
/* Refuses an array of u8 where the run was trained on other elements, and the reverse: u8 are divided by 255. */
mica_status mica__run_check_elements(mica_run *run, const mica_dataset *data);
/* MICA_E_FORMAT where a table has a second column, called "a.1", of a name "a" that the run reads, and the run knows no
 * "a.1": which of both is meant nobody can tell. */
mica_status mica__run_check_repeat(const mica_run *run, const char *table, const char *name);
/* True for the name that a column has where the first line names none: its position. */
bool mica__is_position(const char *name);
/* The index of a name among the columns of a run; the number of columns if it is unknown. */
size_t mica__run_find_name(const char *const *known, size_t count, const char *name);

#endif
