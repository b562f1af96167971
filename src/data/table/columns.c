/* Adds the columns of a table's schema to a store. */
#include "data/table/table.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

const char *mica__field_column(const mica__field *field) {
  if (field->label) return "label";
  return field->kind == MICA_COLUMN_KIND_NUMBER ? "x" : field->name;
}

/* Adds a description of several labels, such as "labels 'a', 'b', 2 numbers". */
static void add_answers(const mica__schema *schema, mica__text *text) {
  size_t there = 0;
  for (size_t k = 0; k < schema->answers; k++)
    for (size_t i = 0; i < schema->count; i++) {
      const mica__field *field = &schema->fields[i];
      if (!field->label || field->part != k || field->at == SIZE_MAX) continue;
      mica__text_addf(text, "%s '%s'", there++ ? "," : ", labels", field->name);
    }
  if (there) mica__text_addf(text, ", %zu %s", schema->answers, schema->flags ? "classes of 0 or 1" : "numbers");
}

/* A summary of the columns: "4 columns, label 'target', 3 classes". */
static mica_status summarise(const mica__schema *schema, mica__store *store) {
  mica__text text = {0};
  mica__text_addf(&text, "%zu columns", schema->columns);
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (!field->label || field->at == SIZE_MAX || schema->answers) continue;
    mica__text_addf(&text, ", label '%s', ", field->name);
    if (field->kind == MICA_COLUMN_KIND_CLASS)
      mica__text_addf(&text, "%d classes", field->numbered ? field->limit : field->classes.count);
    else
      mica__text_add(&text, "a number");
  }
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    /* Columns of numbers and of classes are not listed here; the caller that shows the summary describes them. */
    if (field->label || field->unread || field->kind == MICA_COLUMN_KIND_NUMBER ||
        field->kind == MICA_COLUMN_KIND_CLASS)
      continue;
    const bool files = field->kind == MICA_COLUMN_KIND_TEXT && mica__field_names_files(field, schema->files);
    mica__text_addf(&text, ", %s '%s'", files ? field->holds : mica_column_kind_name(field->kind), field->name);
  }
  add_answers(schema, &text);
  size_t repeated = 0;
  while (repeated < schema->count && !schema->fields[repeated].repeated) repeated++;
  if (repeated < schema->count)
    mica__text_addf(&text, ", names that repeat have numbers, as '%s'", schema->fields[repeated].name);
  bool missing = false;
  for (size_t i = 0; i < schema->count; i++)
    missing = missing || (schema->fields[i].slot >= 0 && schema->fields[i].missing);
  if (missing && schema->missing != MICA_MISSING_REFUSE && schema->missing != MICA_MISSING_NAN)
    mica__text_addf(&text, ", missing numbers are their column's %s", mica_missing_name(schema->missing));
  if (schema->leaves_out && schema->unlabelled)
    mica__text_addf(&text, ", %zu sample%s without a label left out", schema->unlabelled,
                    schema->unlabelled == 1 ? "" : "s");
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->unread && !schema->outline) mica__text_addf(&text, ", '%s' is not read: %s", field->name, field->unread);
    if (field->words) mica__text_addf(&text, ", '%s' has classes named %s", field->name, field->words);
    if (field->classes.texts && field->at != SIZE_MAX)
      mica__text_addf(&text, ", classes of '%s' are compared as texts: 01 is not 1", field->name);
    if (field->base != 0) mica__text_addf(&text, ", %.15g is subtracted from '%s'", field->base, field->name);
  }
  if (mica__text_status(&text) != MICA_OK) {
    mica__text_free(&text);
    return mica__fail_nomem(store->name);
  }
  store->summary = text.data;
  return MICA_OK;
}

/* Adds the column "x", whose rows hold all numbers that are inputs, and keeps the names of these numbers. */
static mica_status add_numbers(mica__schema *schema, mica__store *store) {
  mica__column *column = NULL;
  if (schema->numbers == 0) return MICA_OK;
  MICA_TRY(mica__store_add_input(store, MICA_F32, MICA_SHAPE(schema->numbers), &column));
  const char **names = calloc((size_t)schema->numbers, sizeof *names);
  if (!names) return mica__fail_nomem(store->name);
  for (size_t i = 0; i < schema->count; i++)
    if (schema->fields[i].slot >= 0) names[schema->fields[i].slot] = schema->fields[i].name;
  column->part_names = names;
  return mica__store_own(store, names, free);
}

/* Adds the column of several labels. */
static mica_status add_several(const mica__schema *schema, mica__store *store) {
  const int64_t count = (int64_t)schema->answers;
  mica_column about = {.name = "label",
                       .kind = schema->flags ? MICA_COLUMN_KIND_CLASSES : MICA_COLUMN_KIND_NUMBER,
                       .dtype = schema->flags ? MICA_U8 : MICA_F32,
                       .shape = MICA_SHAPE(count),
                       .classes = schema->flags ? (int32_t)count : 0};
  const char **names = calloc(schema->answers, sizeof *names);
  mica__column *column = NULL;
  if (!names) return mica__fail_nomem(store->name);
  MICA_TRY(mica__store_own(store, names, free));
  for (size_t i = 0; i < schema->count; i++)
    if (schema->fields[i].label) names[schema->fields[i].part] = schema->fields[i].name;
  MICA_TRY(mica__store_add(store, &about, &column));
  column->part_names = names;
  return schema->flags ? mica__column_name_classes(column, names, about.classes) : MICA_OK;
}

static void release_schema(void *schema) { mica__schema_release(schema); }

mica_status mica__table_add_columns(mica__schema *schema, mica__store *store) {
  store->schema = schema;
  MICA_TRY(mica__store_own(store, schema, release_schema));
  MICA_TRY(mica__store_set_count(store, schema->samples));
  schema->lines = calloc(schema->samples, sizeof *schema->lines);
  if (!schema->lines) return mica__fail_nomem(store->name);
  MICA_TRY(add_numbers(schema, store));
  for (size_t i = 0; i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    if (field->at == SIZE_MAX || (field->kind == MICA_COLUMN_KIND_NUMBER && !field->label)) continue;
    if (field->label && schema->answers) {
      if (field->part == 0) MICA_TRY(add_several(schema, store));
      continue;
    }
    mica__column *column = NULL;
    mica_column about = {.name = mica__field_column(field), .kind = field->kind};
    switch (field->kind) {
    case MICA_COLUMN_KIND_CLASS:
      about.dtype = MICA_I32;
      about.classes = field->numbered ? field->limit : field->classes.count;
      break;
    case MICA_COLUMN_KIND_TEXT:
      about.dtype = MICA_U8;
      about.shape = MICA_SHAPE(MICA_DYNAMIC);
      break;
    case MICA_COLUMN_KIND_TIME: about.dtype = MICA_I64; break;
    default: about.dtype = MICA_F32;
    }
    if (mica__store_find(store, about.name))
      return mica__fail(MICA_E_FORMAT, "%s: rename the column \"%s\"; that name is reserved for %s", store->name,
                        about.name, strcmp(about.name, "x") ? "the answers" : "the numbers of the inputs");
    MICA_TRY(mica__store_add(store, &about, &column));
    if (field->kind == MICA_COLUMN_KIND_CLASS && !field->numbered)
      MICA_TRY(mica__column_name_classes(column, (const char *const *)field->classes.names, about.classes));
  }
  for (size_t k = 0; k < store->column_count; k++) store->columns[k].lines = schema->lines;
  return summarise(schema, store);
}

mica_status mica__table_fill(mica__store *store, const mica_dataset_config *config) {
  const mica__schema *schema = store->schema;
  const mica__column *x = mica__store_find(store, "x");
  const bool known = config->like && config->like->store->schema;
  if (known || !x || config->missing == MICA_MISSING_REFUSE || config->missing == MICA_MISSING_NAN) return MICA_OK;
  mica_dataset all = {.store = store, .count = store->count};
  double *fills = calloc((size_t)schema->numbers + 1, sizeof *fills);
  mica_status status = fills ? mica__fills_measure(&all, config->missing, fills) : mica__fail_nomem(store->name);
  if (status == MICA_OK) mica__fills_put(&all, x->part_names, fills, (size_t)schema->numbers);
  free(fills);
  return status;
}
