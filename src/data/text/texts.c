/* A walk over the texts of a column. */
#include "data/text/texts.h"
#include "base/utf8.h"
#include "data/dataset.h"
#include "data/table/table.h"

#include <stdlib.h>
#include <string.h>

static mica_status grow(mica__texts *t, size_t bytes) {
  if (bytes < t->capacity) return MICA_OK;
  const size_t capacity = 2 * bytes + 256;
  char *grown = realloc(t->text, capacity);
  if (!grown) return mica__fail_nomem("a text");
  t->text = grown;
  t->capacity = capacity;
  return MICA_OK;
}

/* The class name of the sample; empty if it has no class. */
static mica_status read_class(mica__texts *t) {
  int32_t class_index = -1;
  MICA_TRY(mica_dataset_read(t->data, t->column, t->at, &class_index, sizeof class_index));
  const char *name = mica_dataset_column_class(t->data, t->column, class_index);
  t->bytes = name ? strlen(name) : 0;
  MICA_TRY(grow(t, t->bytes));
  memcpy(t->text, name ? name : "", t->bytes);
  return MICA_OK;
}

mica_status mica__texts_read(mica__texts *t) {
  int64_t length = 0;
  if (mica_dataset_column(t->data, t->column)->kind == MICA_COLUMN_KIND_CLASS) {
    MICA_TRY(read_class(t));
  } else {
    MICA_TRY(mica_dataset_length(t->data, t->column, t->at, &length));
    t->bytes = (size_t)length;
    MICA_TRY(grow(t, t->bytes));
    if (length) MICA_TRY(mica_dataset_read(t->data, t->column, t->at, t->text, t->bytes));
  }
  t->text[t->bytes] = '\0';
  t->at++;
  return MICA_OK;
}

mica_status mica__texts_check(const mica__texts *t) {
  const uint64_t line = mica_dataset_line(t->data, t->at - 1);
  const size_t valid = line ? mica__utf8_prefix(t->text, t->bytes) : t->bytes;
  if (valid == t->bytes) return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT, "%s line %llu: column \"%s\" is not UTF-8 at byte %zu of the cell; save the table as UTF-8",
      mica_dataset_name(t->data), (unsigned long long)line, mica_dataset_column(t->data, t->column)->name, valid + 1);
}

mica_status mica__texts_next(void *user, const char **text, size_t *bytes) {
  mica__texts *t = user;
  *text = NULL;
  if (t->at == mica_dataset_count(t->data)) return MICA_OK;
  MICA_TRY(mica__texts_read(t));
  MICA_TRY(mica__texts_check(t));
  *text = t->text;
  *bytes = t->bytes;
  return MICA_OK;
}

void mica__texts_free(mica__texts *t) { free(t->text); }

const char *mica__column_given_name(const mica_dataset *data, const mica_column *column) {
  const mica__schema *schema = data->store->schema;
  for (size_t i = 0; schema && i < schema->count; i++)
    if (schema->fields[i].label && !strcmp(column->name, "label")) return schema->fields[i].name;
  return column->name;
}

mica__texts mica__texts_of(const mica_dataset *data, const char *name) {
  const size_t count = mica_dataset_column_count(data);
  size_t i = 0;
  while (i < count && strcmp(mica__column_given_name(data, mica_dataset_column(data, i)), name) != 0) i++;
  /* A dataset derived from a table no longer knows the names of the table's columns. An unknown name then means the
   * column "label". */
  return (mica__texts){.data = data, .column = i < count ? i : mica_dataset_column_index(data, "label")};
}
