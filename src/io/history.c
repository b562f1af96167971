#include "io/history.h"
#include "base/file.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <mica/io.h>
#include <stdlib.h>
#include <string.h>

static const char *const fixed[] = {
#define COLUMN_NAME(name, text) #name,
    MICA_HISTORY_LIST(COLUMN_NAME)
#undef COLUMN_NAME
};
#define FIXED (sizeof fixed / sizeof *fixed)

/* Each row has its own array. If columns are added later, an earlier row stays shorter, and the missing values count as
 * NaN. */
typedef struct row {
  double *values;
  size_t count;
} row;

struct mica_history {
  char *names[MICA__HISTORY_MAX_COLUMNS];
  size_t columns;
  row *rows;
  size_t row_count, capacity;
};

static mica_status add_column(mica_history *h, const char *name, size_t length) {
  char *copy = malloc(length + 1);
  if (!copy) return mica__fail_nomem("a history");
  memcpy(copy, name, length);
  copy[length] = '\0';
  h->names[h->columns++] = copy;
  return MICA_OK;
}

mica_status mica_history_create(mica_history **out) {
  if (!out) return mica__fail(MICA_E_INVALID, "mica_history_create: history is NULL");
  mica_history *h = calloc(1, sizeof *h);
  mica_status status = h ? MICA_OK : mica__fail_nomem("a history");
  for (size_t i = 0; status == MICA_OK && i < FIXED; i++) status = add_column(h, fixed[i], strlen(fixed[i]));
  if (status == MICA_OK)
    *out = h;
  else
    mica_history_destroy(h);
  return status;
}

void mica_history_destroy(mica_history *h) {
  if (!h) return;
  for (size_t i = 0; i < h->columns; i++) free(h->names[i]);
  for (size_t i = 0; i < h->row_count; i++) free(h->rows[i].values);
  free(h->rows);
  free(h);
}

mica_status mica_history_begin(mica_history *h) {
  if (!h) return mica__fail(MICA_E_INVALID, "mica_history_begin: history is NULL");
  if (h->row_count == h->capacity) {
    const size_t capacity = h->capacity ? 2 * h->capacity : 16;
    row *grown = realloc(h->rows, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem("a history");
    h->rows = grown;
    h->capacity = capacity;
  }
  h->rows[h->row_count++] = (row){0};
  return MICA_OK;
}

/* The index of a column by name; the number of columns if it is missing. */
static size_t find(const mica_history *h, const char *name, size_t length) {
  size_t i = 0;
  while (i < h->columns && (strlen(h->names[i]) != length || memcmp(h->names[i], name, length) != 0)) i++;
  return i;
}

/* True if the text can name a column: not empty, no comma, quote or control character. */
static bool is_name(const char *name, size_t length) {
  bool good = length > 0;
  for (size_t i = 0; i < length; i++) good = good && name[i] != ',' && name[i] != '"' && (unsigned char)name[i] >= ' ';
  return good;
}

static mica_status set(mica_history *h, size_t column, double value) {
  row *last = &h->rows[h->row_count - 1];
  if (column >= last->count) {
    double *grown = realloc(last->values, h->columns * sizeof *grown);
    if (!grown) return mica__fail_nomem("a history");
    while (last->count < h->columns) grown[last->count++] = NAN;
    last->values = grown;
  }
  last->values[column] = value;
  return MICA_OK;
}

mica_status mica_history_set(mica_history *h, const char *name, double value) {
  if (!h || !name) return mica__fail(MICA_E_INVALID, "mica_history_set: history or column is NULL");
  if (!h->row_count)
    return mica__fail(MICA_E_INVALID, "mica_history_set: there is no row; call mica_history_begin first");
  if (!is_name(name, strlen(name)))
    return mica__fail(MICA_E_INVALID,
                      "mica_history_set: the column's name is empty, or has a comma, a quote or a control character");
  const size_t column = find(h, name, strlen(name));
  if (column == MICA__HISTORY_MAX_COLUMNS)
    return mica__fail(MICA_E_OVERFLOW,
                      "mica_history_set: there is no room for a column '%s'; a history has at most %d columns", name,
                      MICA__HISTORY_MAX_COLUMNS);
  if (column == h->columns) MICA_TRY(add_column(h, name, strlen(name)));
  return set(h, column, value);
}

size_t mica_history_rows(const mica_history *h) { return h ? h->row_count : 0; }
size_t mica_history_columns(const mica_history *h) { return h ? h->columns : 0; }
const char *mica_history_column(const mica_history *h, size_t i) { return h && i < h->columns ? h->names[i] : NULL; }

static double value_at(const mica_history *h, size_t i, size_t column) {
  return column < h->rows[i].count ? h->rows[i].values[column] : (double)NAN;
}

double mica_history_get(const mica_history *h, size_t i, const char *name) {
  return h && name && i < h->row_count ? value_at(h, i, find(h, name, strlen(name))) : (double)NAN;
}

void mica__history_cut(mica_history *h, double epoch) {
  size_t kept = 0;
  while (kept < h->row_count && value_at(h, kept, 0) <= epoch) kept++;
  while (h->row_count > kept) free(h->rows[--h->row_count].values);
}

mica_status mica_history_write(const mica_history *h, const char *path) {
  if (!path || !h) return mica__fail(MICA_E_INVALID, "mica_history_write: history or path is NULL");
  mica__text text = {0};
  for (size_t c = 0; c < h->columns; c++) mica__text_addf(&text, c ? ",%s" : "%s", h->names[c]);
  for (size_t i = 0; i < h->row_count; i++)
    for (size_t c = 0; c < h->columns; c++) {
      const double value = value_at(h, i, c);
      mica__text_add(&text, c ? "," : "\n");
      if (!isnan(value)) mica__text_addf(&text, "%.9g", value);
    }
  mica__text_add(&text, "\n");
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_file_write(path, text.data, text.length);
  mica__text_free(&text);
  return status;
}

/* Reads the next field of a line and advances *at past it; false after the last. */
static bool next_field(const char **at, const char **field, size_t *length) {
  if (!*at) return false;
  *field = *at;
  *length = strcspn(*at, ",\r\n");
  *at += *length;
  *at = **at == ',' ? *at + 1 : NULL;
  return true;
}

/* Reads the file's column names and adds unknown ones to the history. columns[i] receives the history's index of the
 * file's column i, or MICA__HISTORY_MAX_COLUMNS if the column is ignored. *known becomes true if the file has one of
 * the fixed columns. */
static mica_status read_names(const char *at, mica_history *h, size_t columns[MICA__HISTORY_MAX_COLUMNS], size_t *count,
                              bool *known) {
  const char *field = NULL;
  size_t length = 0;
  *count = 0;
  while (*count < MICA__HISTORY_MAX_COLUMNS && next_field(&at, &field, &length)) {
    size_t c = find(h, field, length);
    *known = *known || c < FIXED;
    if (c == h->columns && (c == MICA__HISTORY_MAX_COLUMNS || !is_name(field, length)))
      c = MICA__HISTORY_MAX_COLUMNS;
    else if (c == h->columns)
      MICA_TRY(add_column(h, field, length));
    columns[(*count)++] = c;
  }
  return MICA_OK;
}

static mica_status read_row(const char *at, mica_history *h, const size_t *columns, size_t count, bool *good) {
  const char *field = NULL;
  size_t length = 0, i = 0;
  MICA_TRY(mica_history_begin(h));
  for (*good = true; *good && i < count && next_field(&at, &field, &length); i++) {
    char *end = NULL;
    if (length == 0 || columns[i] == MICA__HISTORY_MAX_COLUMNS) continue;
    const double value = mica__strtod(field, &end);
    if (end == field + length)
      MICA_TRY(set(h, columns[i], value));
    else
      *good = columns[i] >= FIXED;
  }
  *good = *good && i == count && !at;
  return MICA_OK;
}

/* Returns the line after this one; NULL after the last. */
static const char *next_line(const char *at) {
  at = strchr(at, '\n');
  return at && at[1] ? at + 1 : NULL;
}

static mica_status parse(const char *name, const char *text, mica_history *h) {
  size_t columns[MICA__HISTORY_MAX_COLUMNS], count = 0, line = 1;
  bool good = false;
  MICA_TRY(read_names(text, h, columns, &count, &good));
  for (const char *at = text; good && (at = next_line(at));) {
    MICA_TRY(read_row(at, h, columns, count, &good));
    line++;
  }
  return good ? MICA_OK
              : mica__fail(MICA_E_FORMAT, "%s line %zu is not %s of a history", name, line,
                           line > 1 ? "a row" : "the header");
}

mica_status mica__history_parse(const char *name, const char *text, mica_history **out) {
  mica_history *h = NULL;
  MICA_TRY(mica_history_create(&h));
  mica_status status = parse(name, text, h);
  if (status == MICA_OK)
    *out = h;
  else
    mica_history_destroy(h);
  return status;
}

mica_status mica_history_read(const char *path, mica_history **history) {
  if (!path || !history) return mica__fail(MICA_E_INVALID, "mica_history_read: path or history is NULL");
  unsigned char *data = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_read(path, &data, &size));
  mica_status status = mica__history_parse(path, (const char *)data, history);
  free(data);
  return status;
}
