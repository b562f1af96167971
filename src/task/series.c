#include "task/series.h"

#include "base/text.h"
#include "data/table.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ROWS 100000000
/* Squares of larger values, and sums of these, are not finite in f32. */
#define MOST_VALUE 1e18

/* --- reading --- */

/* A walk over a table: what each of its columns is. */
typedef struct reading {
  mica__records records;
  const mica__series_choice *choice;
  bool header;
  size_t columns;
  char **names;
  /* Kinds of columns. '?': empty so far, 'n': numbers, 'c': such with a comma, and so no times, 't': texts. */
  char *kinds;
  size_t time; /* SIZE_MAX: there is none */
  size_t *at;  /* the column of each series */
} reading;

static char *copy_cell(mica__cell cell) {
  char *plain = calloc(1, cell.length + 1);
  if (plain) mica__cell_unquote(cell, plain);
  char *name = plain ? mica__name_printable(plain) : NULL;
  free(plain);
  return name;
}

/* The first record names the columns if none of its cells is a number or empty. Na (sodium), which elsewhere says that
 * a number is missing, is a name beside others; in a row of values one begins with a digit, as a time does. */
static mica_status take_names(reading *r) {
  const mica__records *records = &r->records;
  double number = 0;
  bool found = false;
  MICA_TRY(mica__records_find_delimiter(&r->records));
  MICA_TRY(mica__records_next(&r->records, &found));
  if (!found) return mica__fail(MICA_E_FORMAT, "%s holds no row", records->name);
  r->columns = records->count;
  bool words = false, named = false;
  r->header = true;
  for (size_t i = 0; i < r->columns; i++) {
    const mica__cell cell = records->cells[i];
    const bool word = mica__cell_is_missing(cell);
    r->header = r->header && !mica__cell_is_empty(cell) && !mica__cell_is_numeric(cell, &number);
    words = words || word;
    named = named || (!word && cell.length > 0 && !isdigit((unsigned char)*cell.text));
  }
  r->header = r->header && (!words || named);
  r->names = calloc(r->columns, sizeof *r->names);
  r->kinds = malloc(r->columns + 1);
  if (!r->names || !r->kinds) return mica__fail_nomem(records->name);
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

/* Counts rows and finds what columns are: the first cell that is not empty says it. */
static mica_status see_rows(reading *r, int64_t *rows) {
  const mica__records *records = &r->records;
  double number = 0;
  for (bool found = false;; ++*rows) {
    MICA_TRY(mica__records_next(&r->records, &found));
    if (!found) break;
    if (records->count != r->columns)
      return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, the first one %zu", records->name, records->line,
                        records->count, r->columns);
    for (size_t i = 0; i < r->columns; i++)
      if (r->kinds[i] == '?' && !mica__cell_is_missing(records->cells[i]))
        r->kinds[i] = mica__cell_is_numeric(records->cells[i], &number) ? 'n'
                      : mica__cell_has_comma(records->cells[i])         ? 'c'
                                                                        : 't';
  }
  if (!*rows) return mica__fail(MICA_E_FORMAT, "%s holds no row", records->name);
  if (*rows > MOST_ROWS) return mica__fail(MICA_E_UNSUPPORTED, "%s has too many rows", records->name);
  mica__records_rewind(&r->records);
  bool found = false;
  return r->header ? mica__records_next(&r->records, &found) : MICA_OK;
}

static size_t find_column(const reading *r, const char *name) {
  size_t i = 0;
  while (i < r->columns && strcmp(r->names[i], name) != 0) i++;
  return i;
}

static bool is_time_name(const char *name) {
  static const char *const names[] = {"time", "date", "datetime", "timestamp", "year", "month", "week",
                                      "day",  "hour", "step",     "index",     "t",    "ds",    NULL};
  for (size_t i = 0; names[i]; i++) {
    size_t k = 0;
    while (names[i][k] && tolower((unsigned char)name[k]) == names[i][k]) k++;
    if (!names[i][k] && !name[k]) return true;
  }
  return false;
}

static mica_status find_time(reading *r) {
  const char *name = r->choice->time;
  r->time = SIZE_MAX;
  if (*name) {
    r->time = find_column(r, name);
    return r->time < r->columns
               ? MICA_OK
               : mica__fail(MICA_E_FORMAT, "%s has no column '%s' for the setting time", r->records.name, name);
  }
  for (size_t i = r->columns; i-- > 0;)
    if (r->kinds[i] == 't') r->time = i;
  for (size_t i = r->columns; r->time == SIZE_MAX && i-- > 0;)
    if (is_time_name(r->names[i])) r->time = i;
  return MICA_OK;
}

static mica_status no_series(const reading *r, const char *name) {
  mica__text list = {0};
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
    if (at == r->columns || r->kinds[at] == 't' || r->kinds[at] == 'c') return no_series(r, c->names[i]);
    r->at[s->count++] = at;
  }
  for (size_t i = 0; !c->names && i < r->columns; i++)
    if (i != r->time && r->kinds[i] == 'c')
      return mica__fail(MICA_E_FORMAT, "%s: column '%s' holds numbers with a comma, as 1,5; numbers have a point",
                        r->records.name, r->names[i]);
  for (size_t i = 0; i < r->columns; i++) {
    s->unused += i != r->time && r->kinds[i] != 'n';
    if (!c->names && i != r->time && r->kinds[i] == 'n') r->at[s->count++] = i;
  }
  for (size_t k = 0; k < s->count; k++)
    if (!(s->names[k] = mica__strdup(r->names[r->at[k]]))) return mica__fail_nomem(r->records.name);
  return s->count ? MICA_OK : mica__fail(MICA_E_FORMAT, "%s has no column of numbers", r->records.name);
}

/* Negative, 0 or positive; *known is false where the two cannot be compared: numbers are, and dates of one form. */
static int compare_times(const char *a, const char *b, bool *known) {
  char *end_a = NULL, *end_b = NULL;
  const double x = strtod(a, &end_a), y = strtod(b, &end_b);
  const size_t i = strspn(a, "0123456789"), k = strspn(b, "0123456789");
  *known = true;
  /* Whole numbers by their digits, which a double has not all of. */
  if (*a > '0' && *b > '0' && i && k && !a[i] && !b[k]) return i == k ? strcmp(a, b) : i < k ? -1 : 1;
  if (*a && *b && !*end_a && !*end_b) return (x > y) - (x < y);
  *known = strlen(a) == strlen(b) && strspn(a, "0123456789") == 4 && a[4] == '-' && b[4] == '-';
  return strcmp(a, b);
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
      return mica__fail(MICA_E_FORMAT, "%s line %zu: column '%s' holds \"%.*s\", which is no number", records->name,
                        records->line, s->names[k], (int)(cell.length < 40 ? cell.length : 40), cell.text);
    } else if (fabs(*value) > MOST_VALUE) {
      return mica__fail(MICA_E_FORMAT, "%s line %zu: column '%s' holds %g; values up to %g are forecast", records->name,
                        records->line, s->names[k], *value, MOST_VALUE);
    }
  }
  if (r->time == SIZE_MAX) return MICA_OK;
  bool known = false;
  s->times[row] = copy_cell(records->cells[r->time]);
  if (!s->times[row]) return mica__fail_nomem(records->name);
  if (row == 0 || compare_times(s->times[row - 1], s->times[row], &known) < 0 || !known) return MICA_OK;
  return mica__fail(MICA_E_FORMAT,
                    "%s line %zu: '%s' does not come behind '%s' in column '%s', which is taken for times; rows are a "
                    "step each, in order, and --time names another column",
                    records->name, records->line, s->times[row], s->times[row - 1], r->names[r->time]);
}

/* Finds the neighbours with a value of each cell. */
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

static mica__spacing find_spacing(const mica__series *s);

static mica_status read_all(reading *r, mica__series *s) {
  MICA_TRY(take_names(r));
  MICA_TRY(see_rows(r, &s->rows));
  MICA_TRY(find_time(r));
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
  s->spacing = find_spacing(s);
  return find_neighbours(r->records.name, s);
}

mica_status mica__series_read(const char *name, char *content, size_t size, const mica__series_choice *choice,
                              mica__series *s) {
  reading r = {.records = mica__records_in(name, content, size), .choice = choice};
  *s = (mica__series){0};
  mica_status status = memchr(content, '\0', size) ? mica__fail(MICA_E_FORMAT, "%s is no text", name) : MICA_OK;
  if (status == MICA_OK) status = read_all(&r, s);
  for (size_t i = 0; r.names && i < r.columns; i++) free(r.names[i]);
  free(r.names);
  free(r.kinds);
  free(r.at);
  mica__records_free(&r.records);
  if (status != MICA_OK) mica__series_free(s);
  return status;
}

void mica__series_free(mica__series *s) {
  for (size_t i = 0; s->names && i < s->count; i++) free(s->names[i]);
  for (int64_t i = 0; s->times && i < s->rows; i++) free(s->times[i]);
  free(s->names);
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

/* --- times --- */

/* A time: months since year 0, the day of the month from 1 (0: none is given), seconds of the day (-1: none); or a
 * number. */
typedef struct moment {
  bool number;
  double value;
  long long months, day, seconds;
} moment;

/* Days since 1970-01-01 in the proleptic Gregorian calendar (Hinnant, chrono-compatible date algorithms). */
static long long days_of(long long months, long long day) {
  long long year = months / 12, month = months % 12 + 1;
  year -= month <= 2;
  const long long era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  const long long of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static void date_of(long long days, long long *months, long long *day) {
  days += 719468;
  const long long era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
  const long long year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const long long of_year = of_era - (365 * year + year / 4 - year / 100), m = (5 * of_year + 2) / 153;
  *day = of_year - (153 * m + 2) / 5 + 1;
  *months = (year + era * 400 + (m >= 10)) * 12 + (m < 10 ? m + 2 : m - 10);
}

/* "2001", "2001-12", "2001-12-29", "2001-12-29 13:00" with or without seconds and T. */
static bool parse_moment(const char *text, moment *m) {
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, end = 0;
  char *number_end = NULL;
  *m = (moment){.seconds = -1, .value = strtod(text, &number_end)};
  m->number = *text && !*number_end && isfinite(m->value);
  if (m->number) return true;
  if (strspn(text, "0123456789") != 4 || sscanf(text, "%4d-%2d%n", &year, &month, &end) < 2 || month < 1 || month > 12)
    return false;
  m->months = 12LL * year + month - 1;
  if (!text[end]) return true;
  text += end;
  if (sscanf(text, "-%2d%n", &day, &end) < 1 || day < 1 || day > 31) return false;
  m->day = day;
  if (!text[end]) return true;
  text += end;
  const int parts = sscanf(text, "%*1[ T]%2d:%2d%n:%2d%n", &hour, &minute, &end, &second, &end);
  if (parts < 2 || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 60) return false;
  m->seconds = 3600LL * hour + 60LL * minute + second;
  return !text[end] || !strcmp(text + end, "Z");
}

static bool is_of_form(const moment *a, const moment *b) {
  return a->number == b->number && !a->day == !b->day && (a->seconds < 0) == (b->seconds < 0);
}

static long long month_length(long long months) { return days_of(months + 1, 1) - days_of(months, 1); }

/* A vote of distances (Boyer and Moore 1991): a value that more than half of them have wins. */
typedef struct vote {
  double value, last;
  int64_t lead;
} vote;

static void vote_for(vote *v, double value) {
  v->last = value;
  if (v->lead == 0) v->value = value;
  v->lead += v->value == value ? 1 : -1;
}

static double winner(const vote *v) { return v->lead > 0 ? v->value : v->last; }

/* What rows have in common. */
typedef struct common {
  vote months, others;
  bool monthly;        /* months rise, and the time of the day stays */
  long long day, most; /* the day of rows that are not on last days (0: none is); the largest of all */
  bool one_day;        /* there is but one such day */
} common;

static void see_day(common *all, const moment *m) {
  const bool is_last = m->day >= month_length(m->months);
  all->one_day = all->one_day && (is_last || !all->day || all->day == m->day);
  if (!is_last) all->day = m->day;
  if (m->day > all->most) all->most = m->day;
}

static void see_distance(common *all, const moment *a, const moment *b) {
  const long long months = b->months - a->months, days = days_of(b->months, b->day) - days_of(a->months, a->day);
  const double seconds = (double)(days * 86400 + b->seconds - a->seconds);
  all->monthly = all->monthly && months > 0 && a->seconds == b->seconds;
  vote_for(&all->months, (double)months);
  vote_for(&all->others, b->number ? b->value - a->value : b->seconds < 0 ? (double)days : seconds);
}

/* Rows are months apart where no day is given, and where all are on one day or, in months without it, on the last. */
static mica__spacing find_spacing(const mica__series *s) {
  moment last, m, before = {0};
  common all = {.monthly = true, .one_day = true};
  int64_t pairs = 0;
  bool seen = false;
  if (!s->times || !parse_moment(s->times[s->rows - 1], &last)) return (mica__spacing){.unit = MICA__SPACING_NONE};
  for (int64_t row = 0; row < s->rows; row++) {
    const bool there = parse_moment(s->times[row], &m) && is_of_form(&m, &last);
    if (there && m.day) see_day(&all, &m);
    if (there && seen) see_distance(&all, &before, &m), pairs++;
    seen = there;
    before = m;
  }
  const bool monthly = all.monthly && all.one_day && (!all.day || all.most <= all.day);
  if (!pairs) return (mica__spacing){.unit = MICA__SPACING_NONE};
  if (last.number) return (mica__spacing){.unit = MICA__SPACING_NUMBER, .value = winner(&all.others)};
  if (!last.day || monthly)
    return (mica__spacing){.unit = MICA__SPACING_MONTHS,
                           .value = winner(&all.months),
                           .day = !last.day ? 0
                                  : all.day ? all.day
                                            : 31};
  return (mica__spacing){.unit = last.seconds < 0 ? MICA__SPACING_DAYS : MICA__SPACING_SECONDS,
                         .value = winner(&all.others)};
}

int64_t mica__series_season(const mica__series *s) {
  const mica__spacing d = s->spacing;
  if (d.unit == MICA__SPACING_MONTHS) return d.value == 1 ? 12 : d.value == 3 ? 4 : 1;
  if (d.unit == MICA__SPACING_DAYS) return d.value == 1 ? 7 : d.value == 7 ? 52 : 1;
  if (d.unit != MICA__SPACING_SECONDS) return 1;
  return d.value == 3600 ? 24 : d.value == 86400 ? 7 : 1;
}

/* True if b comes one spacing behind a. */
static bool is_next(const mica__spacing *d, const moment *a, const moment *b) {
  const long long days = days_of(b->months, b->day) - days_of(a->months, a->day);
  if (d->unit == MICA__SPACING_NUMBER) return fabs(b->value - a->value - d->value) <= 1e-6 * fabs(d->value);
  if (d->unit == MICA__SPACING_MONTHS) return (double)(b->months - a->months) == d->value;
  if (d->unit == MICA__SPACING_DAYS) return (double)days == d->value;
  return (double)(days * 86400 + b->seconds - a->seconds) == d->value;
}

int64_t mica__series_irregular(const mica__series *s, int64_t *first) {
  moment a, b;
  int64_t count = 0;
  if (s->spacing.unit == MICA__SPACING_NONE) return 0;
  bool before = parse_moment(s->times[0], &a);
  for (int64_t row = 1; row < s->rows; row++, a = b) {
    const bool there = parse_moment(s->times[row], &b);
    const bool fits = before && there && is_of_form(&a, &b) && is_next(&s->spacing, &a, &b);
    before = there;
    if (!fits && count++ == 0) *first = row;
  }
  return count;
}

void mica__series_next(const mica__series *s, int64_t step, char *text, size_t bytes) {
  moment last = {0};
  const mica__spacing d = s->spacing;
  if (d.unit != MICA__SPACING_NONE) parse_moment(s->times[s->rows - 1], &last);
  long long months = last.months, day = last.day, seconds = last.seconds;
  if (d.unit == MICA__SPACING_NONE) {
    snprintf(text, bytes, "+%lld", (long long)step);
    return;
  }
  if (d.unit == MICA__SPACING_NUMBER) {
    snprintf(text, bytes, "%.12g", last.value + d.value * (double)step);
    return;
  }
  const long long by = (long long)d.value * (long long)step;
  if (d.unit == MICA__SPACING_MONTHS) {
    months += by;
    day = d.day < month_length(months) ? d.day : month_length(months);
  }
  if (d.unit == MICA__SPACING_DAYS) date_of(days_of(months, day) + by, &months, &day);
  if (d.unit == MICA__SPACING_SECONDS) {
    const long long all = days_of(months, day) * 86400 + seconds + by, days = all / 86400 - (all % 86400 < 0);
    date_of(days, &months, &day);
    seconds = all - days * 86400;
  }
  int used = snprintf(text, bytes, "%04lld-%02lld", months / 12, months % 12 + 1);
  if (last.day && used > 0 && (size_t)used < bytes) used += snprintf(text + used, bytes - (size_t)used, "-%02lld", day);
  if (last.seconds >= 0 && used > 0 && (size_t)used < bytes)
    snprintf(text + used, bytes - (size_t)used, " %02lld:%02lld:%02lld", seconds / 3600, seconds / 60 % 60,
             seconds % 60);
}
