/* Outlines of tables: the kind and name of each column, which a network keeps so that other tables are read in the same
 * way. */
#include "base/text.h"
#include "data/table/table.h"

#include <stdlib.h>
#include <string.h>

#define LABEL "label"
#define NUMBERED "numbered"
#define FLAG "flag"
#define IGNORED "ignored"

/* Makes the outline of an array of rows with one label per row: one text per column, as for a table without names of
 * columns (mica__outline_list). */
static mica_status list_array(const mica__column *rows, const mica__column *label, char ***texts, size_t *count) {
  char **list = calloc(rows->extent_count + 1, sizeof *list);
  mica_status status = list ? MICA_OK : mica__fail_nomem("columns");
  for (size_t k = 0; status == MICA_OK && k <= rows->extent_count; k++) {
    mica__text text = {0};
    if (k < rows->extent_count)
      mica__text_addf(&text, "number %zu", k);
    else
      mica__text_addf(&text, "%s label", label->about.kind == MICA_COLUMN_KIND_CLASS ? NUMBERED : LABEL);
    status = mica__text_status(&text);
    list[(*count)++] = text.data;
  }
  *texts = list;
  return status;
}

/* True for an array that has a base for some number; other arrays need no outline. */
static bool has_bases(const mica__column *rows, const mica__column *label) {
  if (!rows || !rows->extents || rows->about.shape.rank != 1 || !label) return false;
  if (label->about.kind != MICA_COLUMN_KIND_CLASS && label->about.kind != MICA_COLUMN_KIND_NUMBER) return false;
  return mica__extents_have_bases(rows->extents, rows->extent_count) ||
         mica__extents_have_bases(label->extents, label->extent_count);
}

mica_status mica__outline_list(const mica_dataset *dataset, char ***texts, size_t *count, bool *header) {
  const mica__schema *schema = dataset->store->schema;
  const mica__column *rows = mica__store_input(dataset->store), *label = mica__store_label(dataset->store);
  *texts = NULL;
  *count = 0;
  *header = false;
  if (!schema) return has_bases(rows, label) ? list_array(rows, label, texts, count) : MICA_OK;
  char **list = calloc(schema->count + 1, sizeof *list);
  mica_status status = list ? MICA_OK : mica__fail_nomem("columns");
  for (size_t i = 0; status == MICA_OK && i < schema->count; i++) {
    const mica__field *field = &schema->fields[i];
    mica__text text = {0};
    mica__text_addf(&text, "%s %s",
                    field->unread     ? IGNORED
                    : !field->label   ? mica_column_kind_name(field->kind)
                    : field->numbered ? NUMBERED
                    : schema->flags   ? FLAG
                                      : LABEL,
                    field->name);
    status = mica__text_status(&text);
    list[(*count)++] = text.data;
  }
  *header = schema->header;
  if (status == MICA_OK) {
    *texts = list;
    return MICA_OK;
  }
  for (size_t i = 0; list && i < *count; i++) free(list[i]);
  free(list);
  return status;
}

static mica_status add_class(mica__field *field, const char *const *classes, size_t count) {
  mica__dictionary *d = &field->classes;
  field->limit = (int32_t)count;
  if (field->numbered) return MICA_OK;
  d->texts = mica__classes_are_texts(classes, count);
  d->names = calloc(count + 1, sizeof *d->names);
  if (!d->names) return mica__fail_nomem("classes");
  d->capacity = (int32_t)count;
  for (size_t i = 0; i < count; i++) {
    field->has_words = field->has_words || mica__cell_is_missing((mica__cell){classes[i], strlen(classes[i]), false});
    if (!(d->names[i] = mica__strdup(classes[i]))) return mica__fail_nomem("classes");
    d->count++;
    MICA_TRY(mica__name_table_add(&d->table, d->names[i], (int32_t)i));
  }
  return MICA_OK;
}

static bool is_of(const char *text, const char *word) {
  const size_t n = strlen(word);
  return !strncmp(text, word, n) && text[n] == ' ';
}

static size_t count_labels(const char *const *texts, size_t count, const char *word) {
  size_t labels = 0;
  for (size_t i = 0; i < count; i++) labels += is_of(texts[i], word);
  return labels;
}

static mica_status take_field(mica__schema *schema, const char *text, const char *const *classes, size_t class_count,
                              const char *bases) {
  static const mica_column_kind others[] = {MICA_COLUMN_KIND_CLASS, MICA_COLUMN_KIND_TEXT, MICA_COLUMN_KIND_TIME};
  mica__field *field = &schema->fields[schema->count];
  const size_t n = strcspn(text, " ");
  *field = (mica__field){.slot = -1, .at = SIZE_MAX, .name = mica__strdup(text[n] ? text + n + 1 : text)};
  if (!field->name) return mica__fail_nomem("a column");
  schema->count++;
  field->numbered = n == strlen(NUMBERED) && !strncmp(text, NUMBERED, n);
  field->label = field->numbered || is_of(text, schema->flags ? FLAG : LABEL);
  if (field->label && field->numbered && schema->answers)
    return mica__fail(MICA_E_FORMAT, "the run is damaged: \"table\" holds \"%.40s\"", text);
  const char *number = mica_column_kind_name(MICA_COLUMN_KIND_NUMBER);
  if (field->label || (n == strlen(number) && !strncmp(text, number, n))) {
    field->at = schema->count - 1;
    const bool alone = !schema->answers;
    if (field->label && !alone)
      for (size_t i = 0; i + 1 < schema->count; i++) field->part += schema->fields[i].label;
    field->kind = field->label && classes && alone ? MICA_COLUMN_KIND_CLASS : MICA_COLUMN_KIND_NUMBER;
    if (field->kind == MICA_COLUMN_KIND_NUMBER && (alone || !field->label))
      field->base = mica__field_base(bases, field);
    if (field->label && schema->label == SIZE_MAX) schema->label = schema->count - 1;
    if (field->label) return classes && alone ? add_class(field, classes, class_count) : MICA_OK;
    field->slot = schema->numbers++;
    return MICA_OK;
  }
  if (n == strlen(IGNORED) && !strncmp(text, IGNORED, n)) {
    field->unused = true;
    field->unread = "it was not used in training";
  }
  for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
    const char *word = mica_column_kind_name(others[k]);
    if (strlen(word) == n && !strncmp(text, word, n)) field->kind = others[k], field->unused = true;
  }
  return field->unused ? MICA_OK : mica__fail(MICA_E_FORMAT, "the run is damaged: \"table\" holds \"%.40s\"", text);
}

/* Fills the store with a sample of zeros, which is never read. */
static mica_status fill(mica__store *store) {
  for (size_t i = 0; i < store->column_count; i++) {
    void *zeros = calloc(1, store->columns[i].bytes + sizeof(int64_t));
    if (!zeros) return mica__fail_nomem(store->name);
    store->columns[i].data = zeros;
    MICA_TRY(mica__store_own(store, zeros, free));
  }
  return MICA_OK;
}

static mica_status outline(mica__schema *schema, mica_dataset **dataset) {
  mica__store *store = NULL;
  mica_status status = mica__store_create("the network's columns", &store);
  if (status != MICA_OK) {
    mica__schema_release(schema);
    return status;
  }
  status = mica__table_add_columns(schema, store);
  if (status == MICA_OK) status = fill(store);
  if (status == MICA_OK) return mica__dataset_of(store, dataset);
  mica__store_release(store);
  return status;
}

mica_status mica__outline_open(const char *const *texts, size_t count, bool header, const char *const *classes,
                               size_t class_count, const char *bases, mica_dataset **dataset) {
  mica__schema *schema = calloc(1, sizeof *schema);
  if (schema) schema->fields = calloc(count + 1, sizeof *schema->fields);
  if (!schema || !schema->fields) {
    free(schema);
    return mica__fail_nomem("columns");
  }
  mica_status status = MICA_OK;
  schema->header = header;
  schema->outline = true;
  schema->label = SIZE_MAX;
  schema->columns = count;
  schema->samples = 1;
  schema->flags = count_labels(texts, count, FLAG) > 0;
  const size_t labels = count_labels(texts, count, schema->flags ? FLAG : LABEL);
  if (labels > MICA__MOST_ANSWERS)
    status = mica__fail(MICA_E_FORMAT, "the run is damaged: \"table\" holds %zu labels, above %d", labels,
                        MICA__MOST_ANSWERS);
  if (schema->flags || labels > 1) schema->answers = labels;
  for (size_t i = 0; status == MICA_OK && i < count; i++)
    status = take_field(schema, texts[i], classes, class_count, bases);
  if (status == MICA_OK) return outline(schema, dataset);
  mica__schema_release(schema);
  return status;
}
