/* run/columns/columns.h: the columns of a run's data: the input, the answer, and the layout of its table. */
#ifndef MICA_RUN_COLUMNS_COLUMNS_H
#define MICA_RUN_COLUMNS_COLUMNS_H

#include "base/error.h"

#include <mica/run.h>

/* The column of answers: "label", else the first column that is not an input. NULL: none. */
const mica_column *mica__run_find_label(const mica_dataset *data);
/* Sets the facts about columns: "input" (shape), "input_column", "label_column", and those of
 * mica__run_note_categories. A table without numbers has classes as its only inputs. MICA_E_FORMAT names what is
 * missing. */
mica_status mica__run_note_columns(mica_run *run, const mica_column **label);
/* Checks that an input of other data has the shape and type of the run's. */
mica_status mica__run_fits_input(const mica_run *run, const mica_dataset *data);
/* True for a column of answers or of their lengths, which predictions do not need. */
bool mica__run_is_answer(const mica_run *run, const char *column);
/* Makes *blind the batch without the columns of answers; *feeds receives its tensors and is freed by the caller. */
mica_status mica__run_withhold(const mica_run *run, const mica_batch *batch, mica_feed **feeds, mica_batch *blind);
/* Sets the facts "table" (see mica__outline_list) and "header": the columns of the training table. Does nothing if
 * the run has categories, or if its samples are not rows of numbers. */
mica_status mica__run_note_table(mica_run *run);
/* The name that the answers' column has in its table; a dataset may call it something else. */
const char *mica__run_answer_name(const mica_run *run, const mica_column *label);
/* Sets the fact "label_name"; several names form a list such as "a,b". */
mica_status mica__run_note_answer_name(mica_run *run, const mica_column *label);
/* Makes run->parts->outline, which tells how other tables are read: from the facts "table" and "header" or, for runs
 * without them, from the number of inputs. Does nothing unless samples are rows of numbers. */
mica_status mica__run_outline(mica_run *run);
/* *order receives, for each number of the run, its position in the data; the caller frees it. It stays NULL if the
 * order is the same or if one side has no names. Columns are matched by name, as in predict. MICA_E_FORMAT if one is
 * missing. */
mica_status mica__run_find_order(const mica_run *run, const mica_dataset *data, int64_t **order);
/* Remarks on columns that training did not have. The first function takes the names of a table's `count` columns,
 * the second takes a dataset. */
mica_status mica__run_remark_extras(mica_run *run, const char *table, const char *const *names, size_t count);
mica_status mica__run_remark_data(mica_run *run, const mica_dataset *data);
/* Remarks on lines beginning with # that were skipped in a table. The second function does nothing for a dataset
 * that is not a table. */
mica_status mica__run_remark_passed(mica_run *run, const char *table, size_t lines);
mica_status mica__run_remark_comments(mica_run *run, const mica_dataset *data);
/* Remarks on columns with numbers so close together that f32 makes them equal. */
mica_status mica__run_remark_coarse(mica_run *run);
/* Refuses u8 arrays if the run was trained on another type, and other types if it was trained on u8: u8 is divided by
 * 255. */
mica_status mica__run_check_elements(mica_run *run, const mica_dataset *data);
/* MICA_E_FORMAT if `name` is "a.1", which the second column "a" of a table is called, and the run reads "a" but has
 * no "a.1": it cannot be known which of the two columns "a" is meant. */
mica_status mica__run_check_repeat(const mica_run *run, const char *table, const char *name);
/* True for the name that a column without a name gets: its position. */
bool mica__is_position(const char *name);
/* The index of a name among the columns of a run; the number of columns if it is unknown. */
size_t mica__run_find_name(const char *const *known, size_t count, const char *name);

#endif
