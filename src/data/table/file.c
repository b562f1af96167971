/* Tables that stay in their file: only the position, size and line of each record are kept, and a record is read and
 * parsed when it is needed. */
#include "data/table/table.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct table_file {
  const mica__schema *schema; /* owned by the store */
  char *name;                 /* the name of the store */
  int file;
  char delimiter;
  uint64_t *offsets; /* of each record */
  uint64_t *sizes;
} table_file;

/* The `user` of a column's functions: a field of a table, or all numbers. */
typedef struct table_column {
  const table_file *table;
  const mica__field *field; /* NULL: the numbers of "x" */
} table_column;

static void release_table(void *object) {
  table_file *table = object;
  close(table->file);
  free(table->offsets);
  free(table->sizes);
  free(table);
}

/* Reads and splits a record; the caller frees *text. */
static mica_status read_record(const table_file *table, uint64_t sample, mica__records *r, char **text) {
  const uint64_t begin = table->offsets[sample];
  const size_t size = (size_t)table->sizes[sample];
  *r = mica__records_of(table->name, -1);
  r->delimiter = table->delimiter;
  r->line = table->schema->lines[sample];
  *text = malloc(size + 1);
  if (!*text) return mica__fail_nomem(table->name);
  MICA_TRY(mica__file_read_at(table->name, table->file, begin, *text, size));
  (*text)[size] = '\0';
  if (memchr(*text, '\0', size))
    return mica__fail(MICA_E_FORMAT, "%s changed while it was read; read it again", table->name);
  MICA_TRY(mica__records_split(r, *text, size));
  if (r->count != table->schema->columns)
    return mica__fail(MICA_E_FORMAT, "%s changed while it was read; read it again", table->name);
  return MICA_OK;
}

static mica_status take_cells(const table_column *column, const mica__records *r, void *data, size_t bytes) {
  const mica__schema *schema = column->table->schema;
  const mica__field *field = column->field;
  float *x = data;
  for (size_t i = 0; !field && i < schema->count; i++)
    if (schema->fields[i].slot >= 0) MICA_TRY(mica__field_number(&schema->fields[i], r, x + schema->fields[i].slot));
  if (!field) return MICA_OK;
  if (field->label && schema->answers) return mica__field_answers(schema, r, data);
  switch (field->kind) {
  case MICA_COLUMN_KIND_CLASS: return mica__field_class(field, r, data);
  case MICA_COLUMN_KIND_TIME: return mica__field_time(field, r, data);
  case MICA_COLUMN_KIND_NUMBER: return mica__field_number(field, r, data);
  default: break;
  }
  const mica__cell cell = r->cells[field->at];
  char *copy = malloc(cell.length + 1);
  if (!copy) return mica__fail_nomem(r->name);
  const size_t length = mica__cell_unquote(cell, copy);
  if (length == bytes) memcpy(data, copy, bytes);
  free(copy);
  return length == bytes ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s changed while it was read; read it again", r->name);
}

static mica_status read_cells(void *user, uint64_t sample, void *data, size_t bytes) {
  const table_column *column = user;
  mica__records r;
  char *text = NULL;
  mica_status status = read_record(column->table, sample, &r, &text);
  if (status == MICA_OK) status = take_cells(column, &r, data, bytes);
  mica__records_free(&r);
  free(text);
  return status;
}

static mica_status read_length(void *user, uint64_t sample, int64_t *length) {
  const table_column *column = user;
  mica__records r;
  char *text = NULL;
  mica_status status = read_record(column->table, sample, &r, &text);
  if (status == MICA_OK) {
    const mica__cell cell = r.cells[column->field->at];
    *length = (int64_t)mica__cell_unquoted_length(cell);
  }
  mica__records_free(&r);
  free(text);
  return status;
}

/* Stores the offset, size and line of each record. */
static mica_status index_records(table_file *table, mica__records *r) {
  const mica__schema *schema = table->schema;
  bool found = false;
  table->offsets = calloc(schema->samples + 1, sizeof *table->offsets);
  table->sizes = calloc(schema->samples + 1, sizeof *table->sizes);
  if (!table->offsets || !table->sizes) return mica__fail_nomem(r->name);
  mica__records_rewind(r);
  if (schema->header) MICA_TRY(mica__records_next(r, &found));
  for (size_t i = 0; i < schema->samples; i++) {
    MICA_TRY(mica__schema_next(schema, r, &found));
    if (!found) return mica__fail(MICA_E_FORMAT, "%s changed while it was read; read it again", r->name);
    schema->lines[i] = (uint32_t)r->line;
    table->offsets[i] = r->offset;
    table->sizes[i] = r->bytes;
  }
  return MICA_OK;
}

/* Gives each column of the store its functions. */
static mica_status connect(const table_file *table, mica__store *store) {
  const mica__schema *schema = table->schema;
  table_column *users = calloc(schema->count + 1, sizeof *users);
  if (!users) return mica__fail_nomem(store->name);
  MICA_TRY(mica__store_own(store, users, free));
  for (size_t i = 0; i <= schema->count; i++) {
    const mica__field *field = i < schema->count ? &schema->fields[i] : NULL;
    if (field && (field->slot >= 0 || field->at == SIZE_MAX)) continue;
    mica__column *column = mica__store_find(store, field ? mica__field_column(field) : "x");
    if (!column) continue;
    users[i] = (table_column){table, field};
    column->user = &users[i];
    column->read = read_cells;
    column->length = read_length;
  }
  return MICA_OK;
}

static mica_status open_table(table_file *table, mica__records *r, const mica_dataset_config *config,
                              mica__store *store) {
  mica__schema *schema = NULL;
  MICA_TRY(mica__schema_infer(r, config, &schema));
  table->schema = schema;
  table->delimiter = r->delimiter;
  MICA_TRY(mica__table_add_columns(schema, store));
  MICA_TRY(index_records(table, r));
  MICA_TRY(connect(table, store));
  MICA_TRY(mica__table_fill(store, config));
  return mica__table_add_files(r->name, store, config);
}

mica_status mica__table_open(const char *path, const mica_dataset_config *config, mica__store *store) {
  table_file *table = calloc(1, sizeof *table);
  if (!table) return mica__fail_nomem(path);
  table->name = store->name;
  table->file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (table->file < 0) {
    free(table);
    return mica__fail(MICA_E_IO, "cannot read %s: %s", path, strerror(errno));
  }
  MICA_TRY(mica__store_own(store, table, release_table));
  mica__records records = mica__records_of(store->name, table->file);
  mica_status status = open_table(table, &records, config, store);
  mica__records_free(&records);
  return status;
}
