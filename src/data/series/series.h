/* data/series/series.h: time series in a table: one row per step, in order; columns of numbers, and at most one of
 * times. */
#ifndef MICA_DATA_SERIES_SERIES_H
#define MICA_DATA_SERIES_SERIES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The columns to read. */
typedef struct mica__series_choice {
  const char *time;         /* the column of times, by name or number; "": the first that is not a number, else one
                             * called time, date, year, ..., else one of days as eight digits */
  const char *ignored;      /* columns to ignore, "a,b"; NULL: none */
  const char *const *names; /* the series, in this order; NULL: all columns of numbers except the times */
  size_t count;
} mica__series_choice;

/* The spacing of the rows, judged from all of them: `value` months, days or seconds or, if the times are numbers
 * (NUMBER), the difference between two of them. */
typedef struct mica__spacing {
  enum {
    MICA__SPACING_NONE,
    MICA__SPACING_NUMBER,
    MICA__SPACING_MONTHS,
    MICA__SPACING_DAYS,
    MICA__SPACING_SECONDS
  } unit;
  double value;  /* the distance that more than half of the rows have, if there is one; else one of the distances */
  int32_t parts; /* 12 or 4 if numbers are years with months or quarters as fractions, 1949.083; else 0 */
  int64_t day;   /* with months: the day of the month (the last day of a shorter month); 31: last days; 0: no days */
} mica__spacing;

typedef struct mica__series {
  char **names;
  char **times; /* of each row as text; NULL if there is no column of times */
  size_t count;
  int64_t rows;
  double *values; /* rows x count; NaN in empty cells, for which mica__series_at gives a substitute */
  /* Both rows x count. before: the row of the nearest value in this row or above; after: in this row or below; -1:
   * none. */
  int64_t *before, *after;
  int64_t empty;         /* cells without a value */
  char *row_numbers;     /* the name of a column of row numbers, which is not a series; NULL: there is none */
  bool digits;           /* times are days as eight digits, 20260131 */
  size_t passed;         /* lines that begin with # and are not rows */
  mica__spacing spacing; /* of the times */
  size_t unused;         /* columns that are neither numbers nor times */
} mica__series;

/* Reads a table in memory, which ends with a NUL. MICA_E_FORMAT, naming the file, for a cell that is not a number, rows
 * of another width, times that do not increase, and missing columns. */
mica_status mica__series_read(const char *name, char *content, size_t size, const mica__series_choice *choice,
                              mica__series *series);
void mica__series_free(mica__series *series);

/* The value of a series at a row as known before row `now`. For an empty cell it is interpolated between its neighbours
 * if both are before `now`, else it is the last value before it. Cells before the first value have that value once it
 * is known, and 0 until then. */
double mica__series_at(const mica__series *series, int64_t row, size_t column, int64_t now);
/* True if the series has a value before row `now`. */
bool mica__series_seen(const mica__series *series, size_t column, int64_t now);
/* The row of the series' first value. */
int64_t mica__series_first(const mica__series *series, size_t column);
/* True if the cell was not empty. */
bool mica__series_known(const mica__series *series, int64_t row, size_t column);

/* True for usual names of a column of times: time, date, year, ... */
bool mica__is_time_name(const char *name);

/* --- times (time.c) --- */

/* Compares two times; the result is negative, 0 or positive. *known is false if they cannot be compared. Numbers
 * can, and dates of the same form; dates with a distance from UTC are compared as moments. */
int mica__series_compare(const char *a, const char *b, bool *known);
/* The spacing of the rows by their times. */
mica__spacing mica__series_find_spacing(const mica__series *series);
/* The steps of a season, by the spacing of times: 24 for hours, 7 for days, 52 for weeks, 12 for months, 4 for
 * quarters; 1 if there is none. */
int64_t mica__series_season(const mica__series *series);
/* How many rows do not follow the previous row by one spacing, and the first of them; 0 if no spacing is known. */
int64_t mica__series_irregular(const mica__series *series, int64_t *first);
/* The time `step` steps after the last row; "+STEP" if the spacing is not known. Months keep the day, or take the last
 * one of a shorter month; series on last days stay on last days. */
void mica__series_next(const mica__series *series, int64_t step, char *text, size_t bytes);

#endif
