#include "data/series/series.h"

#include "base/text.h"
#include "data/table/date.h"
#include "data/table/table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 100000000
/* The squares of larger values, or sums of these, would overflow f32. */
#define MOST_VALUE 1e18

/* --- reading --- */

/* What is known about a table while it is read to find out what each column is. */
typedef struct reading {
  mica__records records;
  const mica__series_choice *choice;
  bool header;
  size_t columns;
  char **names;
  /* Kinds of columns. '?': empty so far, 'n': numbers, 'd': days as eight digits, 'c': numbers with a comma, which
   * cannot be times, 't': texts, 'i': ignored, 'r': row numbers. */
  char *kinds;
  double *last; /* the last number of each column that has increased by 1 in every row; else NaN */
  size_t time;  /* SIZE_MAX: there is none */
  size_t *at;   /* the column of each series */
} reading;

static char *copy_cell(mica__cell cell) {
  char *plain = calloc(1, cell.length + 1);
  if (plain) mica__cell_unquote(cell, plain);
  char *name = plain ? mica__name_printable(plain) : NULL;
  free(plain);
  return name;
}

/* Reads the names of columns from the first record if that is a header. A header has no numbers, and only its first
 * cell may be empty (in a table of three columns or more). Cells such as "Na" are ambiguous: the symbol of sodium among
 * names, a missing number among values. If there are any, the record is a header only if another cell does not begin
 * with a digit, as times in a row of values do. */
static mica_status take_names(reading *r) {
  const mica__records *records = &r->records;
  double number = 0;
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(&r->records));
  MICA_TRY(mica__records_next(&r->records, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s holds no rows", records->name);
  r->columns = records->count;
  bool words = false, named = false;
  r->header = true;
  for (size_t i = 0; i < r->columns; i++) {
    const mica__cell cell = records->cells[i];
    const bool word = mica__cell_is_missing(cell);
    const bool empty = mica__cell_is_empty(cell) && (i > 0 || r->columns < 3);
    r->header = r->header && !empty && !mica__cell_is_numeric(cell, &number);
    words = words || word;
    named = named || (!word && cell.length > 0 && !isdigit((unsigned char)*cell.text));
  }
  r->header = r->header && (!words || named);
  r->names = calloc(r->columns, sizeof *r->names);
  r->kinds = malloc(r->columns + 1);
  r->last = calloc(r->columns, sizeof *r->last);
  if (!r->names || !r->kinds || !r->last) return mica__fail_nomem(records->name);
  memset(r->kinds, '?', r->columns);
  for (size_t i = 0; i < r->columns; i++) {
    char number_name[24];
    snprintf(number_name, sizeof number_name, "%zu", i);
    r->names[i] = r->header ? copy_cell(records->cells[i]) : mica__strdup(number_name);
    if (!r->names[i]) return mica__fail_nomem(records->name);
  }
  if (!r->header) mica__records_rewind(&r->records);
  return MICA_OK;
}

/* The first cell that is not empty decides what a column is; it holds days only as long as all cells are days. */
static void see_cell(char *kind, mica__cell cell) {
  double number = 0;
  mica__moment moment;
  const bool day = mica__date_parse_digits(cell.text, cell.length, &moment);
  if (mica__cell_is_missing(cell)) return;
  if (*kind == '?')
    *kind = day ? 'd' : mica__cell_is_numeric(cell, &number) ? 'n' : mica__cell_has_comma(cell) ? 'c' : 't';
  else if (*kind == 'd' && !day)
    *kind = 'n';
}

/* Counts rows and finds what columns are. */
static mica_status see_rows(reading *r, int64_t *rows) {
  const mica__records *records = &r->records;
  for (bool found = false;; ++*rows) {
    MICA_TRY(mica__records_next(&r->records, &found));
    if (!found) break;
    if (records->count != r->columns)
      return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, but the first row has %zu", records->name,
                        records->line, records->count, r->columns);
    for (size_t i = 0; i < r->columns; i++) {
      double number = NAN;
      see_cell(&r->kinds[i], records->cells[i]);
      if (!mica__cell_number(records->cells[i], &number)) number = NAN;
      r->last[i] = *rows == 0 || number == r->last[i] + 1 ? number : (double)NAN;
    }
  }
  if (!*rows) return mica__fail(MICA_E_FORMAT, "%s holds no rows", records->name);
  if (*rows > MOST_ROWS)
    return mica__fail(MICA_E_UNSUPPORTED, "%s has more than %d rows, the most that can be read", records->name,
                      MOST_ROWS);
  mica__records_rewind(&r->records);
  bool found = false;
  return r->header ? mica__records_next(&r->records, &found) : MICA_OK;
}

static size_t find_column(const reading *r, const char *name) {
  size_t i = 0;
  while (i < r->columns && strcmp(r->names[i], name) != 0) i++;
  return i;
}

bool mica__is_time_name(const char *name) {
  static const char *const names[] = {"time", "date", "datetime", "timestamp", "year", "month", "week",
                                      "day",  "hour", "step",     "index",     "t",    "ds",    NULL};
  for (size_t i = 0; names[i]; i++) {
    size_t k = 0;
    while (names[i][k] && tolower((unsigned char)name[k]) == names[i][k]) k++;
    if (!names[i][k] && !name[k]) return true;
  }
  return false;
}

/* Eight-digit days are days only in the column of times, and only with several rows, because a single row does not show
 * that its number is a day. Elsewhere they are numbers. */
static void keep_days(reading *r, int64_t rows) {
  for (size_t i = 0; i < r->columns; i++)
    if (r->kinds[i] == 'd' && (i != r->time || rows < 2)) r->kinds[i] = 'n';
}

/* Ignored columns are neither times nor series. */
static void ignore(reading *r) {
  for (size_t i = 0; i < r->columns; i++)
    if (mica__list_has(r->choice->ignored, r->names[i])) r->kinds[i] = 'i';
}

static mica_status find_time(reading *r, int64_t rows) {
  const char *name = r->choice->time;
  ignore(r);
  r->time = *name ? find_column(r, name) : SIZE_MAX;
  if (*name && r->time == r->columns)
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s', but the setting time names it", r->records.name, name);
  for (size_t i = r->columns; !*name && i-- > 0;)
    if (r->kinds[i] == 't') r->time = i;
  for (size_t i = r->columns; r->time == SIZE_MAX && i-- > 0;)
    if (r->kinds[i] != 'i' && mica__is_time_name(r->names[i])) r->time = i;
  for (size_t i = r->columns; r->time == SIZE_MAX && rows > 1 && r->columns > 1 && i-- > 0;)
    if (r->kinds[i] == 'd') r->time = i;
  keep_days(r, rows);
  return MICA_OK;
}

/* Finds a column that numbers the rows, which is not a series. Such a column has no name, or one like "index" or "id",
 * and its numbers increase by 1 from row to row. Looks for one only if the table has a header and at least three rows,
 * and if the caller names no series and there are several. */
static mica_status find_row_numbers(const reading *r, mica__series *s, int64_t rows) {
  size_t series = 0;
  for (size_t i = 0; i < r->columns; i++) series += i != r->time && r->kinds[i] == 'n';
  for (size_t i = 0; !r->choice->names && r->header && rows > 2 && series > 1 && i < r->columns; i++) {
    if (i == r->time || r->kinds[i] != 'n' || isnan(r->last[i])) continue;
    if (*r->names[i] && !mica__is_index_name(r->names[i])) continue;
    r->kinds[i] = 'r';
    s->row_numbers = mica__strdup(r->names[i]);
    return s->row_numbers ? MICA_OK : mica__fail_nomem(r->records.name);
  }
  return MICA_OK;
}

static mica_status no_series(const reading *r, const char *name, size_t at) {
  mica__text list = {0};
  if (at < r->columns)
    return mica__fail(MICA_E_FORMAT, "%s: column '%s' cannot be forecast, because it %s", r->records.name, name,
                      r->kinds[at] == 't'   ? "holds texts"
                      : r->kinds[at] == 'c' ? "holds numbers with a comma, as in 1,5; write them with a point"
                      : r->kinds[at] == 'i' ? "is ignored"
                                            : "holds the numbers of rows");
  for (size_t i = 0; i < r->columns && i < 20; i++) mica__text_addf(&list, i ? ", %s" : "%s", r->names[i]);
  mica__fail(MICA_E_FORMAT, "%s has no column '%s' of numbers; it has %s", r->records.name, name,
             list.data ? list.data : "none");
  mica__text_free(&list);
  return MICA_E_FORMAT;
}

static mica_status find_series(reading *r, mica__series *s) {
  const mica__series_choice *c = r->choice;
  r->at = calloc(r->columns + c->count, sizeof *r->at);
  s->names = calloc(r->columns + c->count, sizeof *s->names);
  if (!r->at || !s->names) return mica__fail_nomem(r->records.name);
  for (size_t i = 0; c->names && i < c->count; i++) {
    const size_t at = find_column(r, c->names[i]);
    if (at == r->columns || strchr("tcir", r->kinds[at])) return no_series(r, c->names[i], at);
    r->at[s->count++] = at;
  }
  for (size_t i = 0; !c->names && i < r->columns; i++)
    if (i != r->time && r->kinds[i] == 'c')
      return mica__fail(MICA_E_FORMAT, "%s: column '%s' holds numbers with a comma, as in 1,5; write them with a point",
                        r->records.name, r->names[i]);
  for (size_t i = 0; i < r->columns; i++) {
    s->unused += i != r->time && !strchr("nir", r->kinds[i]);
    if (!c->names && i != r->time && r->kinds[i] == 'n') r->at[s->count++] = i;
  }
  for (size_t k = 0; k < s->count; k++)
    if (!(s->names[k] = mica__strdup(r->names[r->at[k]]))) return mica__fail_nomem(r->records.name);
  return s->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s has no column of numbers", r->records.name);
}

/* Stores the time of a row as it is written. Refuses a day or time that does not exist, and a time that is not after
 * the time of the row before if the two can be compared. */
static mica_status take_time(const reading *r, mica__series *s, int64_t row) {
  const mica__records *records = &r->records;
  mica__moment moment;
  bool known = false;
  s->times[row] = copy_cell(records->cells[r->time]);
  if (!s->times[row]) return mica__fail_nomem(records->name);
  if (mica__date_parse(s->times[row], strlen(s->times[row]), &moment) == MICA__DATE_IMPOSSIBLE)
    return mica__fail(MICA_E_FORMAT, "%s line %zu: column '%s' holds \"%s\", and there is no such day or time",
                      records->name, records->line, r->names[r->time], s->times[row]);
  if (row == 0 || mica__series_compare(s->times[row - 1], s->times[row], &known) < 0 || !known) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s line %zu: '%s' is not after '%s' in column '%s', which was taken for times; sort the rows, or "
                    "name another column by --time",
                    records->name, records->line, s->times[row], s->times[row - 1], r->names[r->time]);
}

static mica_status take_row(const reading *r, mica__series *s, int64_t row) {
  const mica__records *records = &r->records;
  for (size_t k = 0; k < s->count; k++) {
    const mica__cell cell = records->cells[r->at[k]];
    double *value = &s->values[(size_t)row * s->count + k];
    if (mica__cell_is_missing(cell)) {
      *value = NAN;
      s->empty++;
    } else if (!mica__cell_number(cell, value)) {
      return mica__fail(
          MICA_E_FORMAT, "%s line %zu: column '%s' holds \"%.*s\", which is not a number from -3.4e38 to 3.4e38",
          records->name, records->line, s->names[k], (int)(cell.length < 40 ? cell.length : 40), cell.text);
    } else if (fabs(*value) > MOST_VALUE) {
      return mica__fail(MICA_E_FORMAT, "%s line %zu: column '%s' holds %g, but values must be from %g to %g",
                        records->name, records->line, s->names[k], *value, -MOST_VALUE, MOST_VALUE);
    }
  }
  return r->time == SIZE_MAX ? MICA_OK : take_time(r, s, row);
}

/* For each cell, finds the nearest rows with a value. */
static mica_status find_neighbours(const char *name, mica__series *s) {
  const size_t cells = (size_t)s->rows * s->count;
  s->before = malloc(cells * sizeof *s->before);
  s->after = malloc(cells * sizeof *s->after);
  if (!s->before || !s->after) return mica__fail_nomem(name);
  for (size_t k = 0; k < s->count; k++) {
    int64_t last = -1;
    for (int64_t i = 0; i < s->rows; i++) {
      const size_t cell = (size_t)i * s->count + k;
      s->before[cell] = last = isnan(s->values[cell]) ? last : i;
    }
    if (last < 0) return mica__fail(MICA_E_FORMAT, "%s: column '%s' is empty", name, s->names[k]);
    last = -1;
    for (int64_t i = s->rows; i-- > 0;) {
      const size_t cell = (size_t)i * s->count + k;
      s->after[cell] = last = isnan(s->values[cell]) ? last : i;
    }
  }
  return MICA_OK;
}

static mica_status read_all(reading *r, mica__series *s) {
  MICA_TRY(take_names(r));
  MICA_TRY(see_rows(r, &s->rows));
  MICA_TRY(find_time(r, s->rows));
  MICA_TRY(find_row_numbers(r, s, s->rows));
  MICA_TRY(find_series(r, s));
  s->values = calloc((size_t)s->rows * s->count, sizeof *s->values);
  if (r->time != SIZE_MAX) s->times = calloc((size_t)s->rows, sizeof *s->times);
  if (!s->values || (r->time != SIZE_MAX && !s->times)) return mica__fail_nomem(r->records.name);
  for (int64_t row = 0; row < s->rows; row++) {
    bool found = false;
    MICA_TRY(mica__records_next(&r->records, &found));
    MICA_TRY(take_row(r, s, row));
  }
  s->passed = r->records.passed;
  s->digits = r->time != SIZE_MAX && r->kinds[r->time] == 'd';
  s->spacing = mica__series_find_spacing(s);
  return find_neighbours(r->records.name, s);
}

mica_status mica__series_read(const char *name, char *content, size_t size, const mica__series_choice *choice,
                              mica__series *s) {
  reading r = {.records = mica__records_in(name, content, size), .choice = choice};
  *s = (mica__series){0};
  mica_status status =
      memchr(content, '\0', size)
          ? mica__fail(MICA_E_FORMAT, "%s holds a zero byte; if it is a text in UTF-16, save it as UTF-8", name)
          : MICA_OK;
  if (status == MICA_OK) status = read_all(&r, s);
  for (size_t i = 0; r.names && i < r.columns; i++) free(r.names[i]);
  free(r.names);
  free(r.kinds);
  free(r.last);
  free(r.at);
  mica__records_free(&r.records);
  if (status != MICA_OK) mica__series_free(s);
  return status;
}

void mica__series_free(mica__series *s) {
  for (size_t i = 0; s->names && i < s->count; i++) free(s->names[i]);
  for (int64_t i = 0; s->times && i < s->rows; i++) free(s->times[i]);
  free(s->names);
  free(s->row_numbers);
  free(s->times);
  free(s->values);
  free(s->before);
  free(s->after);
  *s = (mica__series){0};
}

/* --- values --- */

bool mica__series_known(const mica__series *s, int64_t row, size_t column) {
  return s->before[(size_t)row * s->count + column] == row;
}

int64_t mica__series_first(const mica__series *s, size_t column) { return s->after[column]; }

bool mica__series_seen(const mica__series *s, size_t column, int64_t now) { return s->after[column] < now; }

double mica__series_at(const mica__series *s, int64_t row, size_t column, int64_t now) {
  const size_t cell = (size_t)row * s->count + column;
  const int64_t before = s->before[cell], after = s->after[cell];
  const double *at = s->values + column;
  if (before == row) return at[(size_t)row * s->count];
  if (before < 0) return after < now ? at[(size_t)after * s->count] : 0;
  const double value = at[(size_t)before * s->count];
  if (after < 0 || after >= now) return value;
  return value + (at[(size_t)after * s->count] - value) * (double)(row - before) / (double)(after - before);
}
