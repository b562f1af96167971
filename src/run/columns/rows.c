#include "run/columns/rows.h"
#include "data/dataset.h"
#include "data/table/schema.h"
#include "data/text/texts.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/record.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <stdlib.h>
#include <string.h>

static mica_status note_field(mica_run *run, const mica__field *field) {
  const char *holds = field->holds ? field->holds : "";
  if (!strcmp(holds, "picture")) return mica__run_note_text(run, "picture_column", field->name);
  if (!strcmp(holds, "recording")) return mica__run_note_text(run, "sound_column", field->name);
  if (strcmp(holds, "table")) return MICA_OK;
  return mica__run_remark(run, "column '%s' names tables, which the task %s does not read", field->name,
                          run->task->name);
}

mica_status mica__run_note_files(mica_run *run) {
  const mica__schema *schema = run->parts->whole->store->schema;
  const char **columns = calloc((schema ? schema->count : 0) + 1, sizeof *columns);
  size_t count = 0;
  mica_status status = columns ? MICA_OK : mica__fail_nomem("a run");
  for (size_t i = 0; status == MICA_OK && schema && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->kind != MICA_COLUMN_KIND_TEXT || field->label || field->unread) continue;
    columns[count++] = field->name;
    status = note_field(run, field);
  }
  if (status == MICA_OK && count) status = mica__run_note(run, "text_columns", columns, count);
  free(columns);
  return status;
}

mica_status mica__run_fits_files(const mica_dataset *data, mica_column_kind kind, const char *name, const char *what) {
  mica__texts texts = {.data = data, .column = mica_dataset_column_index(data, name)};
  const mica__schema *schema = data->store->schema;
  for (size_t i = 0; schema && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->holds && !strcmp(field->name, name) && strcmp(field->holds, what) != 0)
      return mica__fail(MICA_E_FORMAT, "%s: column \"%s\" names %ss instead of %ss", mica_dataset_name(data), name,
                        field->holds, what);
  }
  if (mica__dataset_find(data, kind)) return MICA_OK;
  const mica_column *column = mica_dataset_column(data, texts.column);
  if (!column || column->kind != MICA_COLUMN_KIND_TEXT || !mica_dataset_count(data))
    return mica__fail(MICA_E_FORMAT, "%s has no column%s%s%s with names of %ss, but the network was trained on one",
                      mica_dataset_name(data), *name ? " '" : "", name, *name ? "'" : "", what);
  mica_status status = mica__texts_read(&texts);
  if (status == MICA_OK)
    status =
        mica__fail(MICA_E_FORMAT, "%s line %llu: column \"%s\" holds \"%.40s\" instead of the name of a %s",
                   mica_dataset_name(data), (unsigned long long)mica_dataset_line(data, 0), name, texts.text, what);
  mica__texts_free(&texts);
  return status;
}

mica_status mica__run_note_rows(mica_run *run) {
  const mica_dataset *data = run->parts->whole;
  const mica_column *x = mica_dataset_column(data, mica_dataset_column_index(data, "x"));
  MICA_TRY(mica__run_note_categories(run, x, mica__run_find_label(data)));
  if (!x) return MICA_OK;
  const double count = (double)x->shape.dim[0];
  MICA_TRY(mica__run_note_numbers(run, "input", &count, 1));
  return mica__run_note_text(run, "input_column", x->name);
}

mica_status mica__run_fits_rows(const mica_run *run, const mica_dataset *data) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const mica__fact_texts names = mica__common_facts_of(run).numbers;
  const size_t index = mica_dataset_column_index(data, "x");
  const mica_column *x = mica_dataset_column(data, index);
  const double wants = input.count ? input.list[0] : 0, has = x && x->shape.rank == 1 ? (double)x->shape.dim[0] : 0;
  if (wants > 0 && has == 0 && names.count && !mica__is_position(names.list[0]))
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s', but the network was trained on it",
                      mica_dataset_name(data), names.list[0]);
  /* Columns with names are found by name, so the data may have more columns. */
  if (wants != has && !mica_dataset_number_name(data, index, 0))
    return mica__fail(MICA_E_FORMAT, "%s has %g column%s of numbers, but the network was trained on %g",
                      mica_dataset_name(data), has, has == 1 ? "" : "s", wants);
  return mica__run_fits_categories(run, data);
}
