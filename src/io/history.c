#include "io/history.h"
#include "base/file.h"
#include "base/text.h"

#include <math.h>
#include <mica/io.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define COLUMN_NAME(name, text) #name,
    MICA_HISTORY_LIST(COLUMN_NAME)
#undef COLUMN_NAME
};
#define COLUMNS (sizeof names / sizeof *names)
_Static_assert(sizeof(mica_history_row) == COLUMNS * sizeof(double), "a row is its columns");

mica_status mica_history_write(const char *path, const mica_history_row *rows, size_t count) {
  if (!path || (!rows && count)) return mica__fail(MICA_E_INVALID, "mica_history_write: a pointer is NULL");
  mica__text text = {0};
  for (size_t c = 0; c < COLUMNS; c++) mica__text_addf(&text, c ? ",%s" : "%s", names[c]);
  for (size_t i = 0; i < count; i++) {
    double values[COLUMNS];
    memcpy(values, &rows[i], sizeof values);
    for (size_t c = 0; c < COLUMNS; c++) {
      mica__text_add(&text, c ? "," : "\n");
      if (!isnan(values[c])) mica__text_addf(&text, "%.9g", values[c]);
    }
  }
  mica__text_add(&text, "\n");
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) status = mica_file_write(path, text.data, text.length);
  mica__text_free(&text);
  return status;
}

/* Gets the next field of a line and moves *at behind it; false after the last. */
static bool next_field(const char **at, const char **field, size_t *length) {
  if (!*at) return false;
  *field = *at;
  *length = strcspn(*at, ",\r\n");
  *at += *length;
  *at = **at == ',' ? *at + 1 : NULL;
  return true;
}

/* Maps the columns of the file to those of a row; unknown ones to COLUMNS. */
static size_t read_names(const char *at, size_t columns[MICA__HISTORY_MAX_COLUMNS]) {
  const char *field = NULL;
  size_t length = 0, count = 0;
  while (count < MICA__HISTORY_MAX_COLUMNS && next_field(&at, &field, &length)) {
    size_t c = 0;
    while (c < COLUMNS && (strlen(names[c]) != length || memcmp(names[c], field, length) != 0)) c++;
    columns[count++] = c;
  }
  return count;
}

static bool read_row(const char *at, const size_t *columns, size_t count, mica_history_row *row) {
  double values[COLUMNS];
  const char *field = NULL;
  size_t length = 0, i = 0;
  for (size_t c = 0; c < COLUMNS; c++) values[c] = NAN;
  for (; i < count && next_field(&at, &field, &length); i++) {
    char *end = NULL;
    if (length == 0 || columns[i] == COLUMNS) continue;
    values[columns[i]] = strtod(field, &end);
    if (end != field + length) return false;
  }
  memcpy(row, values, sizeof values);
  return i == count && !at;
}

/* The line after this one; NULL when there is none. */
static const char *next_line(const char *at) {
  at = strchr(at, '\n');
  return at && at[1] ? at + 1 : NULL;
}

mica_status mica__history_parse(const char *name, const char *text, mica_history_row **out, size_t *row_count) {
  size_t columns[MICA__HISTORY_MAX_COLUMNS], column_count = read_names(text, columns), count = 0, lines = 1;
  for (const char *at = text; (at = next_line(at));) lines++;
  mica_history_row *rows = malloc(lines * sizeof *rows);
  if (!rows) return mica__fail_nomem(name);
  bool known = false;
  for (size_t i = 0; i < column_count; i++) known = known || columns[i] < COLUMNS;
  const char *at = text;
  for (; known && (at = next_line(at)); count++)
    if (!read_row(at, columns, column_count, &rows[count])) break;
  if (!known || at) {
    free(rows);
    return mica__fail(MICA_E_FORMAT, "%s line %zu is no row of a history", name, known ? count + 2 : 1);
  }
  *out = rows;
  *row_count = count;
  return MICA_OK;
}

mica_status mica_history_read(const char *path, mica_history_row **rows, size_t *count) {
  if (!path || !rows || !count) return mica__fail(MICA_E_INVALID, "mica_history_read: a pointer is NULL");
  unsigned char *data = NULL;
  size_t size = 0;
  MICA_TRY(mica__file_read(path, &data, &size));
  mica_status status = mica__history_parse(path, (const char *)data, rows, count);
  free(data);
  return status;
}
