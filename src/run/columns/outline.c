/* The columns of the training table, stored with the run, so that other tables are read in the same way. */
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/missing.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/state/facts.h"
#include "run/state/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

mica_status mica__run_note_table(mica_run *run) {
  char **texts = NULL;
  size_t count = 0;
  bool header = false;
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  /* Tables with categories are read by the names of their columns. */
  if (!run->parts->whole || !input.list || input.count != 1 || mica__run_categories(run)) return MICA_OK;
  MICA_TRY(mica__outline_list(run->parts->whole, &texts, &count, &header));
  const double names = header;
  mica_status status = MICA_OK;
  if (texts) status = mica__run_note(run, "table", (const char *const *)texts, count);
  if (texts && status == MICA_OK) status = mica__run_note_numbers(run, "header", &names, 1);
  for (size_t i = 0; i < count; i++) free(texts[i]);
  free(texts);
  return status;
}

const char *mica__run_answer_name(const mica_run *run, const mica_column *label) {
  const mica__schema *schema = run->parts->whole ? run->parts->whole->store->schema : NULL;
  for (size_t i = 0; schema && i < schema->count; i++)
    if (schema->fields[i].label && !strcmp(label->name, "label")) return schema->fields[i].name;
  return label->name;
}

mica_status mica__run_note_answer_name(mica_run *run, const mica_column *label) {
  const mica__schema *schema = run->parts->whole ? run->parts->whole->store->schema : NULL;
  mica__text names = {0};
  for (size_t i = 0; schema && !strcmp(label->name, "label") && i < schema->count; i++)
    if (schema->fields[i].label) mica__text_addf(&names, "%s%s", names.length ? "," : "", schema->fields[i].name);
  mica_status status = mica__text_status(&names);
  if (status == MICA_OK) status = mica__run_note_text(run, "label_name", names.length ? names.data : label->name);
  mica__text_free(&names);
  return status;
}

/* Makes the run's outline, which describes a table's columns without its rows (mica__outline_open), for `count` numbers
 * without names. */
static mica_status count_columns(mica_run *run, size_t count) {
  char(*texts)[32] = calloc(count, sizeof *texts);
  const char **list = calloc(count, sizeof *list);
  mica_status status = texts && list ? MICA_OK : mica__fail_nomem("columns");
  for (size_t i = 0; status == MICA_OK && i < count; i++) {
    snprintf(texts[i], sizeof texts[i], "number %zu", i);
    list[i] = texts[i];
  }
  if (status == MICA_OK) status = mica__outline_open(list, count, false, NULL, 0, NULL, &run->parts->outline);
  free(list);
  free(texts);
  return status;
}

mica_status mica__run_outline(mica_run *run) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const mica__fact_texts texts = mica__common_facts_of(run).table;
  mica__fact_texts names = mica__common_facts_of(run).classes;
  if (mica__common_facts_of(run).several > 0) names.list = NULL;
  /* Only rows of numbers need an outline: the task has already recorded what pictures look like. */
  if (!input.list || input.count != 1) return MICA_OK;
  mica_dataset_destroy(run->parts->outline);
  run->parts->outline = NULL;
  run->parts->outlined = false;
  if (texts.list) {
    const bool header = mica__common_facts_of(run).header > 0;
    MICA_TRY(mica__outline_open(texts.list, texts.count, header, names.list, names.count, run->facts->bases,
                                &run->parts->outline));
    run->parts->outlined = (double)mica_dataset_shape(run->parts->outline).dim[0] == input.list[0];
    if (run->parts->outlined) return mica__run_fill(run, run->parts->outline);
    mica_dataset_destroy(run->parts->outline);
    run->parts->outline = NULL;
  }
  MICA_TRY(count_columns(run, (size_t)input.list[0]));
  return mica__run_fill(run, run->parts->outline);
}
