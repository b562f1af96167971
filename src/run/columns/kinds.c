/* The kinds of a table's columns (numbers, classes, texts or times), as set by the user or kept by the run. */
#include "run/columns/kinds.h"
#include "data/dataset.h"
#include "data/table/table.h"
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/common_fields.h"
#include "run/composed.h"
#include "run/facts.h"
#include "run/run.h"
#include "run/shared_settings.h"
#include "run/state/facts.h"
#include "run/state/parts.h"

#include <stdlib.h>
#include <string.h>

const char *mica__kind_at(size_t i) {
  static const mica_column_kind kinds[] = {MICA_COLUMN_KIND_NUMBER, MICA_COLUMN_KIND_CLASS, MICA_COLUMN_KIND_TEXT,
                                           MICA_COLUMN_KIND_TIME};
  return i < sizeof kinds / sizeof *kinds ? mica_column_kind_name(kinds[i]) : NULL;
}

/* True if an entry NAME=KIND in `rest`, which begins with the comma before an entry, has this name too. */
static bool repeats(const char *rest, const char *name, size_t length) {
  for (; *rest == ','; rest += 1 + strcspn(rest + 1, ","))
    if (!strncmp(rest + 1, name, length) && rest[1 + length] == '=') return true;
  return false;
}

mica_status mica__kinds_check(const char *kinds) {
  const char *name = NULL;
  size_t length = 0;
  mica_column_kind kind;
  for (;;) {
    const char *entry = kinds;
    MICA_TRY(mica__kinds_next(&kinds, &name, &length, &kind));
    if (!name) return MICA_OK;
    if (repeats(entry + strcspn(entry, ","), name, length))
      return mica__fail(MICA_E_INVALID, "kinds of columns: \"%.*s\" is listed twice", (int)length, name);
  }
}

mica_status mica__run_check_kinds(const mica_run *run) {
  const char *kinds = mica__common_settings_of(run).kinds, *name = NULL;
  const mica__schema *schema = run->parts->whole->store->schema;
  size_t length = 0;
  mica_column_kind kind;
  if (!*kinds) return MICA_OK;
  if (run->config.dataset)
    return mica__fail(
        MICA_E_INVALID,
        "kinds applies only when a table is read from a file, but the data are already open; leave it out");
  if (!schema) return mica__fail(MICA_E_INVALID, "kinds is for the columns of tables; %s is not a table", run->data);
  for (;;) {
    MICA_TRY(mica__kinds_next(&kinds, &name, &length, &kind));
    if (!name) return MICA_OK;
    size_t i = 0;
    while (i < schema->count &&
           (strlen(schema->fields[i].name) != length || strncmp(schema->fields[i].name, name, length) != 0))
      i++;
    if (i == schema->count)
      return mica__fail(MICA_E_INVALID, "kinds: %s has no column '%.*s'", run->data, (int)length, name);
  }
}

static void add(mica__text *kinds, const char *name, mica_column_kind kind) {
  if (!*name || strpbrk(name, ",=")) return;
  mica__text_addf(kinds, "%s%s=%s", kinds->length ? "," : "", name, mica_column_kind_name(kind));
}

/* Adds the columns that hold texts according to the settings "from", "text" and "to", or to the stored values "from"
 * and "to" (run/facts.h), which come first. */
static void add_texts(const mica_run *run, mica__text *kinds) {
  const mica__common_facts facts = mica__common_facts_of(run);
  const mica__shared_settings settings = mica__shared_settings_of(run);
  add(kinds, *facts.from ? facts.from : settings.from, MICA_COLUMN_KIND_TEXT);
  add(kinds, settings.text, MICA_COLUMN_KIND_TEXT);
  add(kinds, *facts.to ? facts.to : settings.to, MICA_COLUMN_KIND_TEXT);
}

/* Adds the columns of texts and of file names that a trained run reads. In a table of few rows they could be taken
 * for classes. */
static void add_read(const mica_run *run, mica__text *kinds) {
  const mica__fact_texts names = mica__common_facts_of(run).text_columns;
  for (size_t i = 0; i < names.count; i++) add(kinds, names.list[i], MICA_COLUMN_KIND_TEXT);
}

mica_status mica__run_note_kinds(mica_run *run) {
  mica__text kinds = {0};
  static const char number[] = "number ";
  const mica__fact_texts numbers = mica__common_facts_of(run).numbers;
  const mica__fact_texts table = mica__common_facts_of(run).table;
  const char *stated = mica__common_settings_of(run).kinds;
  if (run->task && run->task->input->traits.kinds) mica__text_add(&kinds, run->task->input->traits.kinds);
  if (*stated) mica__text_addf(&kinds, "%s%s", kinds.length ? "," : "", stated);
  add_texts(run, &kinds);
  add_read(run, &kinds);
  for (size_t k = 0; k < mica__run_categories(run); k++)
    add(&kinds, mica__run_category(run, k).name, MICA_COLUMN_KIND_CLASS);
  /* A column that held numbers in training is read as numbers, whatever the cells of a new table look like. */
  for (size_t i = 0; i < numbers.count; i++) add(&kinds, numbers.list[i], MICA_COLUMN_KIND_NUMBER);
  /* Runs without categories have these columns in the stored list "table", with "number " before their names. */
  for (size_t i = 0; !numbers.list && table.list && i < table.count; i++)
    if (!strncmp(table.list[i], number, sizeof number - 1))
      add(&kinds, table.list[i] + sizeof number - 1, MICA_COLUMN_KIND_NUMBER);
  free(run->facts->kinds);
  run->facts->kinds = NULL;
  MICA_TRY(mica__text_status(&kinds));
  run->facts->kinds = kinds.data;
  return mica__run_take_bases(run);
}
