/* Dates and times as they are written in tables. */
#include "data/table/date.h"

#include <string.h>

/* Algorithms of days and dates: Hinnant, chrono-compatible low-level date algorithms. */
int64_t mica__date_days(int64_t months, int64_t day) {
  int64_t year = months / 12, month = months % 12 + 1;
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

void mica__date_of_days(int64_t days, int64_t *months, int64_t *day) {
  days += 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
  const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year + year / 4 - year / 100), m = (5 * of_year + 2) / 153;
  *day = of_year - (153 * m + 2) / 5 + 1;
  *months = (year + era * 400 + (m >= 10)) * 12 + (m < 10 ? m + 2 : m - 10);
}

int64_t mica__date_month_length(int64_t months) { return mica__date_days(months + 1, 1) - mica__date_days(months, 1); }

int64_t mica__date_seconds(const mica__moment *m) {
  return mica__date_days(m->months, m->day ? m->day : 1) * 86400 + (m->seconds < 0 ? 0 : m->seconds) - m->offset;
}

/* The part of a text that has not been read yet. */
typedef struct scan {
  const char *at, *end;
} scan;

/* A number of `least` to `most` digits; false if there are fewer or more. */
static bool take_digits(scan *s, int least, int most, int64_t *number) {
  int count = 0;
  for (*number = 0; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++, count++) {
    if (count == most) return false;
    *number = *number * 10 + (*s->at - '0');
  }
  return count >= least;
}

static bool take_char(scan *s, const char *any) {
  if (s->at >= s->end || !*s->at || !strchr(any, *s->at)) return false;
  s->at++;
  return true;
}

/* Reads a time of the day, "13:00", "13:00:30" or "13:00:30.000"; false if the text has another form. */
static bool take_time(scan *s, int64_t *seconds, bool *possible) {
  int64_t hour = 0, minute = 0, second = 0;
  if (!take_digits(s, 2, 2, &hour) || !take_char(s, ":") || !take_digits(s, 2, 2, &minute)) return false;
  if (take_char(s, ":") && !take_digits(s, 2, 2, &second)) return false;
  if (take_char(s, "."))
    while (take_char(s, "0")) continue;
  *possible = *possible && hour <= 23 && minute <= 59 && second <= 60;
  *seconds = (hour * 60 + minute) * 60 + second;
  return true;
}

/* Reads a distance from UTC, "Z", "+02", "+0200" or "-05:30"; false if the text has another form. */
static bool take_offset(scan *s, int64_t *offset, bool *possible) {
  int64_t hours = 0, minutes = 0;
  const bool west = s->at < s->end && *s->at == '-';
  if (take_char(s, "Zz")) return true;
  if (!take_char(s, "+-") || s->end - s->at < 2) return false;
  scan two = {s->at, s->at + 2};
  if (!take_digits(&two, 2, 2, &hours)) return false;
  s->at += 2;
  const bool parted = take_char(s, ":");
  if ((parted || s->at < s->end) && !take_digits(s, 2, 2, &minutes)) return false;
  *possible = *possible && hours <= 18 && minutes <= 59;
  *offset = (west ? -1 : 1) * (hours * 60 + minutes) * 60;
  return true;
}

mica__date_form mica__date_parse(const char *text, size_t length, mica__moment *m) {
  scan s = {text, text + length};
  int64_t year = 0, month = 0;
  bool possible = true;
  *m = (mica__moment){.seconds = -1};
  if (!take_digits(&s, 4, 4, &year) || s.at >= s.end) return MICA__DATE_NONE;
  const char mark[] = {*s.at, '\0'};
  if (!take_char(&s, "-/") || !take_digits(&s, 1, 2, &month)) return MICA__DATE_NONE;
  m->months = 12 * year + month - 1;
  if (s.at == s.end) return month >= 1 && month <= 12 ? MICA__DATE_GOOD : MICA__DATE_NONE;
  if (!take_char(&s, mark) || !take_digits(&s, 1, 2, &m->day)) return MICA__DATE_NONE;
  if (s.at < s.end && !(take_char(&s, " T") && take_time(&s, &m->seconds, &possible))) return MICA__DATE_NONE;
  if (s.at < s.end && m->seconds >= 0) {
    (void)take_char(&s, " ");
    if (!take_offset(&s, &m->offset, &possible)) return MICA__DATE_NONE;
    m->zoned = true;
  }
  if (s.at != s.end) return MICA__DATE_NONE;
  possible = possible && month >= 1 && month <= 12 && m->day >= 1 && m->day <= mica__date_month_length(m->months);
  return possible ? MICA__DATE_GOOD : MICA__DATE_IMPOSSIBLE;
}

bool mica__date_parse_digits(const char *text, size_t length, mica__moment *m) {
  scan s = {text, text + length};
  int64_t number = 0;
  *m = (mica__moment){.seconds = -1};
  if (length != 8 || !take_digits(&s, 8, 8, &number)) return false;
  const int64_t year = number / 10000, month = number / 100 % 100;
  m->months = 12 * year + month - 1;
  m->day = number % 100;
  return year >= 1500 && year <= 2500 && month >= 1 && month <= 12 && m->day >= 1 &&
         m->day <= mica__date_month_length(m->months);
}
