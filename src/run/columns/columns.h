/* run/columns/columns.h: the columns of a run's data: the input, the answer, and the layout of its table. */
#ifndef MICA_RUN_COLUMNS_COLUMNS_H
#define MICA_RUN_COLUMNS_COLUMNS_H

#include "base/error.h"

#include <mica/run.h>

/* Finds the column of answers: "label" if there is one, otherwise the first column that is not an input. NULL if the
 * data have no such column. */
const mica_column *mica__run_find_label(const mica_dataset *data);
/* Stores with the run what its columns are: "input" (shape), "input_column", "label_column", and the values of
 * mica__run_note_categories. A table without numbers has classes as its only inputs. MICA_E_FORMAT if the data have no
 * inputs or no answers. */
mica_status mica__run_note_columns(mica_run *run, const mica_column **label);
/* Checks that an input of other data has the shape and type of the run's. */
mica_status mica__run_fits_input(const mica_run *run, const mica_dataset *data);
/* True for a column of answers or of their lengths, which predictions do not need. */
bool mica__run_is_answer(const mica_run *run, const char *column);
/* Sets *blind to the batch without the columns of answers, and *feeds to the list of its tensors, which the caller
 * frees. */
mica_status mica__run_withhold(const mica_run *run, const mica_batch *batch, mica_feed **feeds, mica_batch *blind);
/* Sets the stored values "table" (see mica__outline_list) and "header": the columns of the training table. Does nothing
 * if the run has categories, or if its samples are not rows of numbers. */
mica_status mica__run_note_table(mica_run *run);
/* The name that the answers' column has in its table; a dataset may call it something else. */
const char *mica__run_answer_name(const mica_run *run, const mica_column *label);
/* Sets the stored value "label_name"; several names form a list such as "a,b". */
mica_status mica__run_note_answer_name(mica_run *run, const mica_column *label);
/* Makes run->parts->outline, a dataset without rows whose columns tell how other tables are read. They come from the
 * stored values "table" and "header" or, for runs without those, from the number of inputs. Does nothing unless samples
 * are rows of numbers. */
mica_status mica__run_outline(mica_run *run);
/* Sets *order to a list, which the caller frees: entry k is the position in the data of the run's k-th number. Leaves
 * it NULL if the order is the same, or if the columns of the run or of the data have no names. Columns are matched by
 * name, as in predict. MICA_E_FORMAT if one is missing. */
mica_status mica__run_find_order(const mica_run *run, const mica_dataset *data, int64_t **order);
/* Remarks on columns that training did not have. mica__run_remark_extras takes the names of a table's `count` columns,
 * mica__run_remark_data takes a dataset, checks the type of an array, and also remarks on missing cells, classes that
 * training did not see, and skipped lines. */
mica_status mica__run_remark_extras(mica_run *run, const char *table, const char *const *names, size_t count);
mica_status mica__run_remark_data(mica_run *run, const mica_dataset *data);
/* Remarks on lines beginning with # that were skipped in a table. mica__run_remark_comments does nothing for a dataset
 * that is not a table. */
mica_status mica__run_remark_passed(mica_run *run, const char *table, size_t lines);
mica_status mica__run_remark_comments(mica_run *run, const mica_dataset *data);
/* Remarks on columns with numbers so close together that f32 makes them equal. */
mica_status mica__run_remark_coarse(mica_run *run);
/* Refuses u8 arrays if the run was trained on another type. If it was trained on u8, refuses other types, except floats
 * from 0 to 1. The reason: u8 is divided by 255. */
mica_status mica__run_check_elements(mica_run *run, const mica_dataset *data);
/* If a table has two columns "a", the second is called "a.1". Returns MICA_E_FORMAT if `name` is such a name and the
 * run reads "a" but has no "a.1": it cannot be known which of the two columns is meant. */
mica_status mica__run_check_repeat(const mica_run *run, const char *table, const char *name);
/* True for the name that a column without a name gets: its position. */
bool mica__is_position(const char *name);
/* The index of a name in the list `known`; `count` if it is not there. */
size_t mica__run_find_name(const char *const *known, size_t count, const char *name);

#endif
