/* Times of series: their order, their spacing, and the times after the last row. */
#include "base/number.h"
#include "data/series/series.h"
#include "data/table/date.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A date, or a number. */
typedef struct moment {
  bool number;
  double value;
  mica__moment date;
} moment;

static bool parse_moment(const char *text, bool digits, moment *m) {
  const size_t length = strlen(text);
  char *end = NULL;
  *m = (moment){0};
  if (digits) return mica__date_parse_digits(text, length, &m->date);
  m->value = mica__strtod(text, &end);
  m->number = *text && !*end && isfinite(m->value);
  return m->number || mica__date_parse(text, length, &m->date) == MICA__DATE_GOOD;
}

static bool is_of_form(const moment *a, const moment *b) {
  const mica__moment *x = &a->date, *y = &b->date;
  return a->number == b->number &&
         (a->number || (!x->day == !y->day && (x->seconds < 0) == (y->seconds < 0) && x->zoned == y->zoned));
}

int mica__series_compare(const char *a, const char *b, bool *known) {
  const size_t i = strspn(a, "0123456789"), k = strspn(b, "0123456789");
  moment x, y;
  *known = true;
  /* Compares whole numbers digit by digit, because a double cannot hold all of their digits. */
  if (*a > '0' && *b > '0' && i && k && !a[i] && !b[k]) return i == k ? strcmp(a, b) : i < k ? -1 : 1;
  *known = parse_moment(a, false, &x) && parse_moment(b, false, &y) && is_of_form(&x, &y);
  if (!*known) return 0;
  if (x.number) return (x.value > y.value) - (x.value < y.value);
  const int64_t p = mica__date_seconds(&x.date), q = mica__date_seconds(&y.date);
  return (p > q) - (p < q);
}

/* A majority vote of distances (Boyer and Moore 1991): a value that more than half of them have wins. */
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

/* What the rows seen so far have in common; it determines their spacing. */
typedef struct common {
  vote months, others;
  bool monthly; /* months increase, and the time of day stays */
  /* day: the day of rows not on the last day of a month, 0 if there are none; most: the latest day of any row. */
  int64_t day, most;
  bool one_day;       /* all rows that are not on the last day of a month have the same day */
  double least, high; /* the smallest and the largest distance of numbers */
} common;

static void see_day(common *all, const mica__moment *m) {
  const bool is_last = m->day >= mica__date_month_length(m->months);
  all->one_day = all->one_day && (is_last || !all->day || all->day == m->day);
  if (!is_last) all->day = m->day;
  if (m->day > all->most) all->most = m->day;
}

static double distance_of(const moment *a, const moment *b) {
  if (b->number) return b->value - a->value;
  if (b->date.seconds >= 0) return (double)(mica__date_seconds(&b->date) - mica__date_seconds(&a->date));
  return (double)(mica__date_days(b->date.months, b->date.day) - mica__date_days(a->date.months, a->date.day));
}

static void see_distance(common *all, const moment *a, const moment *b) {
  const int64_t months = b->date.months - a->date.months;
  const double distance = distance_of(a, b);
  all->monthly = all->monthly && months > 0 && a->date.seconds == b->date.seconds;
  all->least = fmin(all->least, distance);
  all->high = fmax(all->high, distance);
  vote_for(&all->months, (double)months);
  vote_for(&all->others, distance);
}

/* Times such as 1949.083 have few digits, so a step between them is not exactly a month or a quarter. It may differ by
 * this many years. */
#define FRACTION_SLACK 0.002

/* 12 if years with fractions increase by months, 4 if by quarters, else 0. */
static int32_t parts_of_year(const common *all, double last) {
  static const int32_t parts[] = {12, 4};
  if (last < 1500 || last > 2500) return 0;
  for (size_t i = 0; i < 2; i++)
    if (fabs(all->least - 1.0 / parts[i]) < FRACTION_SLACK && fabs(all->high - 1.0 / parts[i]) < FRACTION_SLACK)
      return parts[i];
  return 0;
}

static mica__spacing number_spacing(const common *all, double last) {
  const int32_t parts = parts_of_year(all, last);
  return (mica__spacing){
      .unit = MICA__SPACING_NUMBER, .value = parts ? 1.0 / parts : winner(&all->others), .parts = parts};
}

/* Rows with dates are months apart in two cases:
 * - The dates have no day.
 * - Each row is in a later month than the one before it, at the same time of day. Besides, either all rows have the
 *   same day, or the last day in months without that day, or all are on the last days of their months. */
mica__spacing mica__series_find_spacing(const mica__series *s) {
  moment last, m, before = {0};
  common all = {.monthly = true, .one_day = true, .least = INFINITY, .high = -INFINITY};
  int64_t pairs = 0;
  bool seen = false;
  if (!s->times || !parse_moment(s->times[s->rows - 1], s->digits, &last))
    return (mica__spacing){.unit = MICA__SPACING_NONE};
  for (int64_t row = 0; row < s->rows; row++) {
    const bool there = parse_moment(s->times[row], s->digits, &m) && is_of_form(&m, &last);
    if (there && m.date.day) see_day(&all, &m.date);
    if (there && seen) see_distance(&all, &before, &m), pairs++;
    seen = there;
    before = m;
  }
  const bool monthly = all.monthly && all.one_day && (!all.day || all.most <= all.day);
  if (!pairs) return (mica__spacing){.unit = MICA__SPACING_NONE};
  if (last.number) return number_spacing(&all, last.value);
  if (!last.date.day || monthly)
    return (mica__spacing){.unit = MICA__SPACING_MONTHS,
                           .value = winner(&all.months),
                           .day = !last.date.day ? 0
                                  : all.day      ? all.day
                                                 : 31};
  return (mica__spacing){.unit = last.date.seconds < 0 ? MICA__SPACING_DAYS : MICA__SPACING_SECONDS,
                         .value = winner(&all.others)};
}

int64_t mica__series_season(const mica__series *s) {
  const mica__spacing d = s->spacing;
  if (d.unit == MICA__SPACING_NUMBER && d.parts) return d.parts;
  if (d.unit == MICA__SPACING_MONTHS) return d.value == 1 ? 12 : d.value == 3 ? 4 : 1;
  if (d.unit == MICA__SPACING_DAYS) return d.value == 1 ? 7 : d.value == 7 ? 52 : 1;
  if (d.unit != MICA__SPACING_SECONDS) return 1;
  return d.value == 3600 ? 24 : d.value == 86400 ? 7 : 1;
}

/* True if b comes one spacing after a. */
static bool is_next(const mica__spacing *d, const moment *a, const moment *b) {
  const double distance = distance_of(a, b);
  if (d->unit == MICA__SPACING_NUMBER)
    return fabs(distance - d->value) <= (d->parts ? FRACTION_SLACK : 1e-6 * fabs(d->value));
  if (d->unit == MICA__SPACING_MONTHS) return (double)(b->date.months - a->date.months) == d->value;
  return distance == d->value;
}

int64_t mica__series_irregular(const mica__series *s, int64_t *first) {
  moment a, b;
  int64_t count = 0;
  if (s->spacing.unit == MICA__SPACING_NONE) return 0;
  bool before = parse_moment(s->times[0], s->digits, &a);
  for (int64_t row = 1; row < s->rows; row++, a = b) {
    const bool there = parse_moment(s->times[row], s->digits, &b);
    const bool fits = before && there && is_of_form(&a, &b) && is_next(&s->spacing, &a, &b);
    before = there;
    if (!fits && count++ == 0) *first = row;
  }
  return count;
}

/* Writes a number. A year with a fraction gets as many decimals as the text `like` has, but 3 to 6. */
static void write_number(const mica__spacing *d, const char *like, double value, char *text, size_t bytes) {
  const char *point = strchr(like, '.');
  const int decimals = point ? (int)strspn(point + 1, "0123456789") : 0;
  if (d->parts)
    mica__snprintf(text, bytes, "%.*f", decimals < 3 ? 3 : decimals > 6 ? 6 : decimals, value);
  else
    mica__snprintf(text, bytes, "%.12g", value);
}

/* Writes a date in the form that the series' times have: with or without day, time of day and distance from UTC. */
static void write_date(const mica__series *s, const mica__moment *m, char *text, size_t bytes) {
  const long long year = m->months / 12, month = m->months % 12 + 1, day = m->day;
  int used = snprintf(text, bytes, s->digits ? "%04lld%02lld" : "%04lld-%02lld", year, month);
  if (m->day && used > 0 && (size_t)used < bytes)
    used += snprintf(text + used, bytes - (size_t)used, s->digits ? "%02lld" : "-%02lld", day);
  if (m->seconds < 0 || used <= 0 || (size_t)used >= bytes) return;
  used += snprintf(text + used, bytes - (size_t)used, " %02lld:%02lld:%02lld", (long long)m->seconds / 3600,
                   (long long)m->seconds / 60 % 60, (long long)m->seconds % 60);
  if (!m->zoned || (size_t)used >= bytes) return;
  const long long minutes = llabs((long long)m->offset) / 60;
  if (minutes)
    snprintf(text + used, bytes - (size_t)used, "%c%02lld:%02lld", m->offset < 0 ? '-' : '+', minutes / 60,
             minutes % 60);
  else
    snprintf(text + used, bytes - (size_t)used, "Z");
}

void mica__series_next(const mica__series *s, int64_t step, char *text, size_t bytes) {
  moment last = {0};
  const mica__spacing d = s->spacing;
  if (d.unit == MICA__SPACING_NONE || !parse_moment(s->times[s->rows - 1], s->digits, &last)) {
    snprintf(text, bytes, "+%lld", (long long)step);
    return;
  }
  if (d.unit == MICA__SPACING_NUMBER) {
    write_number(&d, s->times[s->rows - 1], last.value + d.value * (double)step, text, bytes);
    return;
  }
  mica__moment m = last.date;
  const int64_t by = (int64_t)d.value * step;
  if (d.unit == MICA__SPACING_MONTHS) {
    m.months += by;
    m.day = d.day < mica__date_month_length(m.months) ? d.day : mica__date_month_length(m.months);
  }
  if (d.unit == MICA__SPACING_DAYS) mica__date_of_days(mica__date_days(m.months, m.day) + by, &m.months, &m.day);
  if (d.unit == MICA__SPACING_SECONDS) {
    const int64_t all = mica__date_days(m.months, m.day) * 86400 + m.seconds + by;
    const int64_t days = all / 86400 - (all % 86400 < 0);
    mica__date_of_days(days, &m.months, &m.day);
    m.seconds = all - days * 86400;
  }
  write_date(s, &m, text, bytes);
}
