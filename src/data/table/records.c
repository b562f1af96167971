/* Records of tables as text. */
#include "base/number.h"
#include "data/table/date.h"
#include "data/table/table.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define MAX_COLUMNS 65536
/* The first size of the window on a file; it grows to hold the longest record, up to a limit. */
#define FIRST_WINDOW ((size_t)1 << 20)
#define MAX_WINDOW ((size_t)1 << 28)
/* How many records decide on the delimiter. */
#define JUDGED_RECORDS 20

mica__records mica__records_in(const char *name, char *content, size_t size) {
  mica__records r = {.name = name, .file = -1, .window = content, .filled = size, .ended = true, .delimiter = ','};
  mica__records_rewind(&r);
  return r;
}

mica__records mica__records_of(const char *name, int file) {
  return (mica__records){.name = name, .file = file, .delimiter = ',', .next_line = 1};
}

void mica__records_free(mica__records *r) {
  if (r->file >= 0) free(r->window);
  free(r->cells);
}

/* Steps over the byte order mark of UTF-8. */
static void skip_mark(mica__records *r) {
  if (r->window_offset == 0 && r->at == 0 && r->filled >= 3 && !memcmp(r->window, "\xef\xbb\xbf", 3)) r->at = 3;
}

void mica__records_rewind(mica__records *r) {
  r->at = 0;
  r->next_line = 1;
  r->width = r->passed = 0;
  if (r->file >= 0) {
    r->filled = 0;
    r->window_offset = 0;
    r->ended = false;
  } else {
    skip_mark(r);
  }
}

static mica_status check_text(const mica__records *r, size_t from) {
  if (r->filled == from || !memchr(r->window + from, '\0', r->filled - from)) return MICA_OK;
  return mica__fail(
      MICA_E_FORMAT,
      "%s holds a zero byte, so it is not a text, and its format is not known; if it is a text in UTF-16, "
      "save it as UTF-8",
      r->name);
}

/* Moves the window on, keeping bytes that are not read yet, and fills it. */
static mica_status fill_window(mica__records *r) {
  const size_t kept = r->filled - r->at;
  if (kept > 0 && r->at > 0) memmove(r->window, r->window + r->at, kept);
  r->window_offset += r->at;
  r->filled = kept;
  r->at = 0;
  if (kept + 1 >= r->capacity) {
    const size_t capacity = r->capacity ? r->capacity * 2 : FIRST_WINDOW;
    char *grown = capacity <= MAX_WINDOW ? realloc(r->window, capacity) : NULL;
    if (!grown && capacity > MAX_WINDOW)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu: the record has more than %zu bytes, or a quote in it is not closed", r->name,
                        r->next_line, MAX_WINDOW);
    if (!grown) return mica__fail_nomem(r->name);
    r->window = grown;
    r->capacity = capacity;
  }
  while (r->filled + 1 < r->capacity && !r->ended) {
    const ssize_t got =
        pread(r->file, r->window + r->filled, r->capacity - 1 - r->filled, (off_t)(r->window_offset + r->filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return mica__fail(MICA_E_IO, "cannot read %s: %s", r->name, strerror(errno));
    r->ended = got == 0;
    r->filled += (size_t)got;
  }
  r->window[r->filled] = '\0';
  skip_mark(r);
  return check_text(r, kept);
}

static mica_status add_cell(mica__records *r, mica__cell cell) {
  if (r->count == MAX_COLUMNS)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has more than %d columns", r->name, r->line, MAX_COLUMNS);
  if (r->count == r->capacity_cells) {
    const size_t capacity = r->capacity_cells ? r->capacity_cells * 2 : 64;
    mica__cell *grown = realloc(r->cells, capacity * sizeof *grown);
    if (!grown) return mica__fail_nomem(r->name);
    r->cells = grown;
    r->capacity_cells = capacity;
  }
  r->cells[r->count++] = cell;
  return MICA_OK;
}

static bool is_blank(char c) { return c == ' ' || c == '\r'; }

/* Finds the end of a cell in a table with tabs. Such a cell is quoted only if its first and last characters are quotes;
 * all other quotes are part of its text. */
static const char *tab_cell_end(const char *at, const char *end, mica__cell *cell) {
  const char *begin = at;
  while (at < end && *at != '\t' && *at != '\n') at++;
  const char *last = at;
  while (begin < last && is_blank(*begin)) begin++;
  while (last > begin && is_blank(last[-1])) last--;
  if (last - begin >= 2 && *begin == '"' && last[-1] == '"') {
    begin++, last--;
    for (const char *c = begin; c + 1 < last && !cell->doubled; c++) cell->doubled = c[0] == '"' && c[1] == '"';
  }
  cell->text = begin;
  cell->length = (size_t)(last - begin);
  return at;
}

/* The end of the cell at `at`: its delimiter, the end of its line, or `end`; NULL if a quote is not closed before.
 * *trails is set if something follows a closed quote. */
static const char *cell_end(const char *at, const char *end, char delimiter, mica__cell *cell, bool *trails) {
  *cell = (mica__cell){0};
  if (delimiter == '\t') return tab_cell_end(at, end, cell);
  while (at < end && is_blank(*at)) at++;
  const bool quoted = at < end && *at == '"';
  if (quoted) {
    const char *begin = ++at;
    for (;;) {
      at = at < end ? memchr(at, '"', (size_t)(end - at)) : NULL;
      if (!at) return NULL;
      if (at + 1 >= end || at[1] != '"') break;
      cell->doubled = true;
      at += 2;
    }
    cell->text = begin;
    cell->length = (size_t)(at - begin);
    at++;
  }
  const char *begin = at;
  for (; at < end && *at != delimiter && *at != '\n'; at++) *trails = *trails || (quoted && !is_blank(*at));
  if (quoted) return at;
  const char *last = at;
  while (last > begin && is_blank(last[-1])) last--;
  cell->text = begin;
  cell->length = (size_t)(last - begin);
  return at;
}

/* Splits the record at `at`; *next receives the position after its line end. *whole is false if the record may continue
 * after `end`, which is impossible with `last`. */
static mica_status split(mica__records *r, const char *at, const char *end, bool last, const char **next, bool *whole) {
  r->count = 0;
  *whole = false;
  for (;; at++) {
    mica__cell cell;
    bool trails = false;
    const char *stop = cell_end(at, end, r->delimiter, &cell, &trails);
    if (!stop && !last) return MICA_OK;
    if (!stop) return mica__fail(MICA_E_FORMAT, "%s line %zu: a quote is not closed", r->name, r->line);
    if (stop == end && !last) return MICA_OK;
    if (trails)
      return mica__fail(MICA_E_FORMAT,
                        "%s line %zu: a cell goes on after its closing quote; quotes within a cell are written twice",
                        r->name, r->line);
    MICA_TRY(add_cell(r, cell));
    at = stop;
    if (at == end || *at == '\n') break;
  }
  *next = at < end ? at + 1 : at;
  *whole = true;
  return MICA_OK;
}

static size_t count_lines(const char *at, const char *end) {
  size_t lines = 0;
  while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) lines++, at++;
  return lines;
}

/* Splits a line that begins with #: it is a record if it has as many cells as the first one, else it is skipped and has
 * no cells. An unclosed quote in such a line belongs to a comment and must not include the following lines. */
static mica_status split_comment(mica__records *r, const char *at, const char *end, const char **next, bool *whole) {
  const char *newline = memchr(at, '\n', (size_t)(end - at));
  if (r->width && (newline || r->ended)) {
    mica__attempt_begin();
    const mica_status status = split(r, at, newline ? newline + 1 : end, true, next, whole);
    if (status != MICA_OK && status != MICA_E_FORMAT) return mica__attempt_pass(status);
    mica__attempt_end();
    if (status == MICA_OK && r->count == r->width) return MICA_OK;
  }
  r->count = 0;
  *whole = newline || r->ended;
  *next = newline ? newline + 1 : end;
  r->passed += *whole;
  return MICA_OK;
}

/* Refuses lines that end in CR alone, as old Macs wrote them: the file would be a single record. */
static mica_status check_line_ends(const mica__records *r, const char *at, const char *next) {
  const char *mark = memchr(at, '\r', (size_t)(next - at));
  while (mark && mark + 1 < next && mark[1] == '\n') mark = memchr(mark + 2, '\r', (size_t)(next - mark - 2));
  if (r->width || !r->ended || next != r->window + r->filled || next[-1] == '\n' || !mark || mark + 1 == next)
    return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has lines that end in CR alone, as old Macs wrote them; LF or CR LF are read",
                    r->name);
}

mica_status mica__records_next(mica__records *r, bool *found) {
  *found = false;
  if (r->file < 0 && r->at == 0) MICA_TRY(check_text(r, 0));
  while (!*found) {
    if (r->at == r->filled && r->ended) return MICA_OK;
    const char *at = r->window + r->at, *end = r->window + r->filled, *next = end;
    bool whole = false;
    r->line = r->next_line;
    if (r->at < r->filled)
      MICA_TRY(*at == '#' ? split_comment(r, at, end, &next, &whole) : split(r, at, end, r->ended, &next, &whole));
    if (!whole) {
      MICA_TRY(fill_window(r));
      continue;
    }
    MICA_TRY(check_line_ends(r, at, next));
    r->offset = r->window_offset + r->at;
    r->bytes = (size_t)(next - at);
    r->next_line += count_lines(at, next);
    r->at += r->bytes;
    *found = r->count > 1 || (r->count == 1 && r->cells[0].length > 0);
    if (*found && !r->width) r->width = r->count;
  }
  return MICA_OK;
}

mica_status mica__records_split(mica__records *r, const char *text, size_t size) {
  const char *next = NULL;
  bool whole = false;
  return split(r, text, text + size, true, &next, &whole);
}

/* *cells receives the number of cells that each of the first records has with a delimiter; 0 if the numbers differ or a
 * quote is not closed. *first receives the number of cells in the first record. */
static mica_status even_cells(mica__records *r, char delimiter, size_t *cells, size_t *first) {
  r->delimiter = delimiter;
  mica__records_rewind(r);
  *first = *cells = 0;
  for (int i = 0; i < JUDGED_RECORDS; i++) {
    bool found = false;
    mica__attempt_begin();
    const mica_status status = mica__records_next(r, &found);
    if (status != MICA_OK && status != MICA_E_FORMAT) return mica__attempt_pass(status);
    mica__attempt_end();
    if (status == MICA_OK && !found) break;
    if (i == 0) *cells = *first = r->count;
    if (status != MICA_OK || r->count != *cells) {
      *cells = 0;
      break;
    }
  }
  return MICA_OK;
}

/* Sets *has to whether the first records have three cells or more, and all of these except perhaps the last are numbers
 * with decimal commas, between semicolons: 0,1;0,2;x. Such records also have equally many cells if they are split at
 * the commas. */
static mica_status has_decimal_commas(mica__records *r, bool *has) {
  bool found = true;
  r->delimiter = ';';
  mica__records_rewind(r);
  *has = false;
  for (int i = 0; i < JUDGED_RECORDS; i++) {
    MICA_TRY(mica__records_next(r, &found));
    if (!found) return MICA_OK;
    *has = r->count >= 3;
    for (size_t k = 0; *has && k + 1 < r->count; k++) *has = mica__cell_has_comma(r->cells[k]);
    if (!*has) return MICA_OK;
  }
  return MICA_OK;
}

/* True for names that end in .tsv or .tsv.gz. */
static bool has_tabs(const char *name) {
  size_t n = strlen(name);
  if (n > 3 && !strcasecmp(name + n - 3, ".gz")) n -= 3;
  return n >= 4 && !strncasecmp(name + n - 4, ".tsv", 4);
}

mica_status mica__records_find_delimiter(mica__records *r) {
  static const char delimiters[] = {',', ';', '\t'};
  size_t most = 1, most_first = 0, semicolons = 0;
  char best = ',', best_first = ',';
  if (has_tabs(r->name)) {
    r->delimiter = '\t';
    return MICA_OK;
  }
  for (size_t i = 0; i < sizeof delimiters; i++) {
    size_t first = 0, cells = 0;
    MICA_TRY(even_cells(r, delimiters[i], &cells, &first));
    if (cells > most) most = cells, best = delimiters[i];
    if (first > most_first) most_first = first, best_first = delimiters[i];
    if (delimiters[i] == ';') semicolons = cells;
  }
  bool commas = false;
  if (best == ',' && semicolons > 1) MICA_TRY(has_decimal_commas(r, &commas));
  if (commas) best = ';';
  r->delimiter = most > 1 ? best : best_first;
  mica__records_rewind(r);
  return MICA_OK;
}

/* --- cells --- */

bool mica__cell_number(mica__cell cell, double *value) {
  return mica__cell_is_numeric(cell, value) && fabs(*value) <= (double)FLT_MAX;
}

bool mica__cell_is_numeric(mica__cell cell, double *value) {
  char *end = NULL;
  if (cell.length == 0 || strspn(cell.text, "+-.0123456789eE") < cell.length) return false;
  *value = mica__strtod(cell.text, &end);
  return end == cell.text + cell.length;
}

bool mica__cell_is_padded(mica__cell cell) {
  return cell.length > 1 && *cell.text == '0' && strspn(cell.text, "0123456789") >= cell.length;
}

bool mica__cell_has_comma(mica__cell cell) {
  const size_t sign = cell.length && (*cell.text == '-' || *cell.text == '+');
  const char *comma = memchr(cell.text, ',', cell.length), *end = cell.text + cell.length;
  return comma && strspn(cell.text + sign, "0123456789") == (size_t)(comma - cell.text) - sign && comma + 1 < end &&
         strspn(comma + 1, "0123456789") >= (size_t)(end - comma) - 1;
}

bool mica__cell_time(mica__cell cell, int64_t *seconds) {
  mica__moment moment;
  if (mica__date_parse(cell.text, cell.length, &moment) != MICA__DATE_GOOD || !moment.day) return false;
  *seconds = mica__date_seconds(&moment);
  return true;
}

bool mica__cell_is_no_date(mica__cell cell) {
  mica__moment moment;
  return mica__date_parse(cell.text, cell.length, &moment) == MICA__DATE_IMPOSSIBLE;
}

bool mica__cell_day(mica__cell cell, int64_t *seconds) {
  mica__moment moment;
  if (!mica__date_parse_digits(cell.text, cell.length, &moment)) return false;
  *seconds = mica__date_seconds(&moment);
  return true;
}

bool mica__cell_is(mica__cell cell, const char *text, bool any_case) {
  if (strlen(text) != cell.length) return false;
  return any_case ? !strncasecmp(cell.text, text, cell.length) : !memcmp(cell.text, text, cell.length);
}

bool mica__cell_is_missing(mica__cell cell) {
  static const char *const words[] = {"", "?", "na", "n/a", "nan", "null", "none"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (cell.length == 0 || mica__cell_is(cell, words[i], true)) return true;
  return false;
}

bool mica__cell_is_empty(mica__cell cell) { return cell.length == 0 || mica__cell_is(cell, "?", false); }

size_t mica__cell_unquoted_length(mica__cell cell) {
  size_t n = 0;
  for (size_t i = 0; i < cell.length; i++, n++)
    if (cell.doubled && cell.text[i] == '"' && i + 1 < cell.length && cell.text[i + 1] == '"') i++;
  return n;
}

size_t mica__cell_unquote(mica__cell cell, char *out) {
  size_t n = 0;
  for (size_t i = 0; i < cell.length; i++) {
    out[n++] = cell.text[i];
    if (cell.doubled && cell.text[i] == '"' && i + 1 < cell.length && cell.text[i + 1] == '"') i++;
  }
  return n;
}
