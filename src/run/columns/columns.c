/* Finds the columns of tasks with one input and one answer. */
#include "run/columns/columns.h"
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <stdlib.h>
#include <string.h>

/* The column of answers: "label" if there is one, otherwise the first column that is not an input. */
static const mica_column *find_label(const mica_dataset *data, const mica_column *input) {
  const mica_column *label = NULL;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (column == input) continue;
    if (!label || !strcmp(column->name, "label")) label = column;
  }
  return label;
}

static const mica_column *find_input(const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    if (column->kind == MICA_COLUMN_KIND_CLASS) continue;
    if (!strcmp(column->name, "image") || !strcmp(column->name, "x")) return column;
  }
  return NULL;
}

const mica_column *mica__run_find_label(const mica_dataset *data) { return find_label(data, find_input(data)); }

mica_status mica__run_note_columns(mica_run *run, const mica_column **label) {
  const mica_dataset *data = run->parts->whole;
  const mica_column *input = find_input(data);
  double dims[MICA_MAX_RANK];
  *label = find_label(data, input);
  if (*label) MICA_TRY(mica__run_note_categories(run, input, *label));
  if ((!input && !mica__run_categories(run)) || !*label)
    return mica__fail(MICA_E_FORMAT,
                      "%s has no %s; the task %s needs pictures or rows of numbers, and an answer for each", run->data,
                      *label ? "inputs" : "answers", run->task->name);
  MICA_TRY(mica__run_note_text(run, "label_column", (*label)->name));
  if (!input) return MICA_OK;
  for (int32_t i = 0; i < input->shape.rank; i++) dims[i] = (double)input->shape.dim[i];
  MICA_TRY(mica__run_note_numbers(run, "input", dims, (size_t)input->shape.rank));
  return mica__run_note_text(run, "input_column", input->name);
}

mica_status mica__run_fits_input(const mica_run *run, const mica_dataset *data) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const mica_shape is = mica_dataset_shape(data);
  mica_shape wanted = {.rank = (int32_t)input.count};
  char a[MICA_SHAPE_TEXT], b[MICA_SHAPE_TEXT];
  for (size_t i = 0; input.list && i < input.count && i < MICA_MAX_RANK; i++) wanted.dim[i] = (int64_t)input.list[i];
  /* If columns are found by name, the data may have more columns. */
  const bool more = mica__run_categories(run) && input.count == 1 && is.rank == 1 && is.dim[0] > wanted.dim[0] &&
                    mica_dataset_number_name(data, mica_dataset_column_index(data, "x"), 0);
  if (more || mica_shape_equal(is, wanted)) return mica__run_fits_categories(run, data);
  return mica__fail(MICA_E_FORMAT, "%s has inputs of %s, but the network was trained on %s", mica_dataset_name(data),
                    mica_shape_format(is, a), mica_shape_format(wanted, b));
}

bool mica__run_is_answer(const mica_run *run, const char *column) {
  const char *boxes = mica__common_facts_of(run).boxes_column;
  /* Data with boxes may have the columns "ignored" (crowds and difficult objects) and "area", which are annotations. In
   * data without boxes, columns of these names are inputs. */
  const char *names[8] = {mica__common_facts_of(run).label_column, boxes, *boxes ? "ignored" : "",
                          *boxes ? "area" : ""};
  size_t count = 4;
  for (const char *const *own = run->task->answer_columns; own && *own && count < 8; own++) names[count++] = *own;
  for (size_t i = 0; i < count; i++) {
    const size_t length = strlen(names[i]);
    if (length && !strncmp(column, names[i], length) && (!column[length] || !strcmp(column + length, ".length")))
      return true;
  }
  return false;
}

mica_status mica__run_withhold(const mica_run *run, const mica_batch *batch, mica_feed **feeds, mica_batch *blind) {
  *feeds = calloc(batch->tensor_count + 1, sizeof **feeds);
  if (!*feeds) return mica__fail_nomem("a batch");
  *blind = (mica_batch){.count = batch->count, .tensors = *feeds};
  for (size_t i = 0; i < batch->tensor_count; i++)
    if (!mica__run_is_answer(run, batch->tensors[i].name)) (*feeds)[blind->tensor_count++] = batch->tensors[i];
  return MICA_OK;
}
