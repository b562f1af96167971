/* Stores the columns of the batches that tests read under the name "columns" in the run's config.json, and reads them
 * back when the run is opened. */
#include "run/columns/batch_columns.h"
#include "base/text.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/composed.h"
#include "run/config.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <stdlib.h>
#include <string.h>

mica_status mica__run_note_batch_columns(mica_run *run, const mica_batch_source *source) {
  mica__text *texts = calloc(source->column_count + 1, sizeof *texts);
  const char **list = calloc(source->column_count + 1, sizeof *list);
  mica_status status = texts && list ? MICA_OK : mica__fail_nomem("a run");
  for (size_t i = 0; status == MICA_OK && i < source->column_count; i++) {
    const mica_batch_column *column = &source->columns[i];
    mica__text_addf(&texts[i], "%s %s", column->name, mica_dtype_name(column->dtype));
    for (int32_t d = 0; d < column->shape.rank; d++)
      mica__text_addf(&texts[i], " %lld", (long long)column->shape.dim[d]);
    status = mica__text_status(&texts[i]);
    list[i] = texts[i].data;
  }
  if (status == MICA_OK) status = mica__run_note(run, "columns", list, source->column_count);
  for (size_t i = 0; texts && i < source->column_count; i++) mica__text_free(&texts[i]);
  free(texts);
  free(list);
  return status;
}

/* Parses "NAME TYPE DIM..."; false if the text has another form or memory for the name is short. */
static bool parse_column(const char *text, mica_batch_column *column) {
  const char *end = text + strlen(text), *at = NULL;
  int parts = 0;
  /* The name may hold spaces: it ends where the last type name begins. */
  for (const char *space = strchr(text, ' '); space; space = strchr(space + 1, ' '))
    for (int d = 0; d < MICA_DTYPE_COUNT; d++) {
      const char *name = mica_dtype_name((mica_dtype)d);
      const size_t n = strlen(name);
      if (!strncmp(space + 1, name, n) && (space[1 + n] == ' ' || !space[1 + n])) {
        at = space;
        column->dtype = (mica_dtype)d;
        parts = (int)n;
      }
    }
  char *name = mica__strdup(text);
  column->name = name;
  if (!name || !at || at == text) return false;
  name[at - text] = '\0';
  column->shape.rank = 0;
  for (const char *dim = at + 1 + parts; dim < end && column->shape.rank < MICA_MAX_RANK;) {
    char *next = NULL;
    const long long size = strtoll(dim, &next, 10);
    if (next == dim || size < -1 || size > INT32_MAX) return false;
    column->shape.dim[column->shape.rank++] = size;
    dim = next;
  }
  return column->shape.rank > 0;
}

/* Sets the columns that Mica 0.2 always used: its config.json does not list them. */
static mica_status old_columns(mica_run *run) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const size_t classes = mica__common_facts_of(run).classes.count;
  if (!input.list || input.count + 1 > MICA_MAX_RANK)
    return mica__fail(
        MICA_E_FORMAT,
        "%s: config.json must hold \"input\", the shape of the network's input, with at most %d dimensions",
        run->folder, MICA_MAX_RANK - 1);
  run->parts->columns = calloc(2, sizeof *run->parts->columns);
  if (!run->parts->columns) return mica__fail_nomem("a run");
  run->parts->columns[0] = (mica_batch_column){
      mica__strdup(input.count == 3 ? "image" : "x"), MICA_F32, {(int32_t)input.count + 1, {MICA_DYNAMIC}}};
  for (size_t i = 0; i < input.count; i++) run->parts->columns[0].shape.dim[i + 1] = (int64_t)input.list[i];
  run->parts->columns[1] =
      (mica_batch_column){mica__strdup("label"), classes ? MICA_I32 : MICA_F32, {classes ? 1 : 2, {MICA_DYNAMIC, 1}}};
  run->parts->column_count = 2;
  return run->parts->columns[0].name && run->parts->columns[1].name ? MICA_OK : mica__fail_nomem("a run");
}

/* Checks that the input column has the shape of a sample. Recordings, and pictures that are read in tiles, may have
 * other shapes. */
static mica_status check_input_column(const mica_run *run, const mica_batch_column *column) {
  char has[MICA_SHAPE_TEXT];
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  if (!input.list || strcmp(column->name, mica__common_facts_of(run).input_column) != 0) return MICA_OK;
  if (run->task->input->views.shows || run->task->input->onnx.input) return MICA_OK;
  bool fits = column->shape.rank == (int32_t)input.count + 1;
  for (size_t i = 0; fits && i < input.count; i++)
    fits = column->shape.dim[i + 1] == MICA_DYNAMIC || (double)column->shape.dim[i + 1] == input.list[i];
  if (fits) return MICA_OK;
  return mica__run_damaged(run, run->data,
                           mica__fail(MICA_E_FORMAT,
                                      "config.json: \"columns\" has '%s' as %s, which does not match \"input\"",
                                      column->name, mica_shape_format(column->shape, has)));
}

mica_status mica__run_recall_columns(mica_run *run) {
  const mica__fact_texts texts = mica__common_facts_of(run).columns;
  MICA_TRY(mica__run_outline(run));
  if (!texts.list) return old_columns(run);
  run->parts->columns = calloc(texts.count + 1, sizeof *run->parts->columns);
  if (!run->parts->columns) return mica__fail_nomem("a run");
  for (; run->parts->column_count < texts.count; run->parts->column_count++) {
    mica_batch_column *column = &run->parts->columns[run->parts->column_count];
    if (parse_column(texts.list[run->parts->column_count], column)) continue;
    if (!column->name) return mica__fail_nomem("a run");
    free((void *)column->name);
    return mica__fail(MICA_E_FORMAT, "config.json: \"columns\" has '%s', which does not describe a column",
                      texts.list[run->parts->column_count]);
  }
  for (size_t i = 0; i < run->parts->column_count; i++) MICA_TRY(check_input_column(run, &run->parts->columns[i]));
  return MICA_OK;
}
