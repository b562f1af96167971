/* data/table/date.h: dates and times as tables write them.
 *
 *   2026-01, 2026-01-31, 2026/1/31          a month, a day
 *   2026-01-31 23:59, 2026-01-31T23:59:30   with a time of the day; zeros may follow as a fraction of the second
 *   ...Z, ...+02:00, ...-0530, ...+02       with the time's distance from UTC
 *   20260131                                a day, where a whole column is written so */
#ifndef MICA_DATA_TABLE_DATE_H
#define MICA_DATA_TABLE_DATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct mica__moment {
  int64_t months;  /* since the beginning of year 0 */
  int64_t day;     /* day of the month, from 1; 0: not given */
  int64_t seconds; /* seconds of the day; -1: not given */
  int64_t offset;  /* seconds east of UTC */
  bool zoned;      /* an offset is given, or Z */
} mica__moment;

typedef enum mica__date_form {
  MICA__DATE_NONE,       /* the text does not have the form of a date */
  MICA__DATE_IMPOSSIBLE, /* it has the form, but there is no such day or time: 2024-02-30 */
  MICA__DATE_GOOD
} mica__date_form;

/* Parses a whole text in any of these forms except eight digits. */
mica__date_form mica__date_parse(const char *text, size_t length, mica__moment *moment);
/* Parses a day of the years 1500 to 2500 as eight digits; false if the text is anything else. */
bool mica__date_parse_digits(const char *text, size_t length, mica__moment *moment);

/* Days since 1970-01-01, in the proleptic Gregorian calendar. */
int64_t mica__date_days(int64_t months, int64_t day);
/* The month, and the day of the month, of a day counted from 1970-01-01. */
void mica__date_of_days(int64_t days, int64_t *months, int64_t *day);
int64_t mica__date_month_length(int64_t months);
/* Seconds since 1970-01-01 00:00 UTC; without a day the first of the month is taken, without a time midnight. */
int64_t mica__date_seconds(const mica__moment *moment);

#endif
