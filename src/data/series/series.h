/* data/series/series.h: time series of a table: a row a step, in order; columns of numbers, and one that says when. */
#ifndef MICA_DATA_SERIES_SERIES_H
#define MICA_DATA_SERIES_SERIES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The columns to read. */
typedef struct mica__series_choice {
  const char *time;         /* the column of times, by name or number; "": the first that is not a
                             * number, else one called time, date, year, ... */
  const char *ignored;      /* columns that are neither, "a,b"; NULL: none */
  const char *const *names; /* the series, in this order; NULL: all columns of numbers but that of times */
  size_t count;
} mica__series_choice;

/* The spacing of the rows, judged by all of them: by number, in months, days or seconds. */
typedef struct mica__spacing {
  enum {
    MICA__SPACING_NONE,
    MICA__SPACING_NUMBER,
    MICA__SPACING_MONTHS,
    MICA__SPACING_DAYS,
    MICA__SPACING_SECONDS
  } unit;
  double value;  /* what most distances are, else the last one */
  int32_t parts; /* of numbers that are years and months or quarters as fractions, 1949.083: 12 or 4; 0: others */
  int64_t day;   /* of months: the day that rows are on, or the last one of a shorter month; 31: all are on last days */
} mica__spacing;

typedef struct mica__series {
  char **names;
  char **times; /* of each row as it stands in the table; NULL without a column of times */
  size_t count;
  int64_t rows;
  double *values;          /* rows x count; an empty cell has what stands for it (mica__series_at) */
  int64_t *before, *after; /* rows x count: the nearest row up to and from this one on with a value; -1: none */
  int64_t empty;           /* cells without a value */
  char *row_numbers;       /* the name of a column that numbers the rows and is not a series; NULL: there is no such */
  bool digits;             /* times are days as eight digits, 20260131 */
  size_t passed;           /* lines that begin with # and are not rows */
  mica__spacing spacing;   /* of the times */
  size_t unused;           /* columns that are neither numbers nor times */
} mica__series;

/* Reads a table in memory, which a NUL ends. MICA_E_FORMAT, naming file, line and column, for a cell that is not a
 * number, rows of another width, times that do not rise, and columns that are not there. */
mica_status mica__series_read(const char *name, char *content, size_t size, const mica__series_choice *choice,
                              mica__series *series);
void mica__series_free(mica__series *series);

/* The value of a series at a row as it is known before row `now`: its own; of an empty cell what lies on the line
 * between its neighbours, where both are before `now`, else the last one before it. Cells before its first value
 * have that one once it is seen, 0 until then. */
double mica__series_at(const mica__series *series, int64_t row, size_t column, int64_t now);
/* True if the series has a value before row `now`. */
bool mica__series_seen(const mica__series *series, size_t column, int64_t now);
/* The row of its first value. */
int64_t mica__series_first(const mica__series *series, size_t column);
/* True if the cell was not empty. */
bool mica__series_known(const mica__series *series, int64_t row, size_t column);

/* True for what a column of times is called: time, date, year, ... */
bool mica__is_time_name(const char *name);

/* --- times (time.c) --- */

/* Negative, 0 or positive; *known is false if the two cannot be compared: numbers are, and dates of one form, those
 * with a distance from UTC as moments. */
int mica__series_compare(const char *a, const char *b, bool *known);
/* The spacing of the rows by their times. */
mica__spacing mica__series_find_spacing(const mica__series *series);
/* Steps of a season by how far times are apart: 24 of hours, 7 of days, 52 of weeks, 12 of months, 4 of quarters; 1
 * if there is none. */
int64_t mica__series_season(const mica__series *series);
/* The number of rows that do not follow the previous row by one spacing, and the first of them; 0 if there is no
 * spacing. */
int64_t mica__series_irregular(const mica__series *series, int64_t *first);
/* The time `step` steps after the last row, by the spacing; "+STEP" where that is not known. Months keep the day, or
 * take the last one of a shorter month; a series of last days stays on last days. */
void mica__series_next(const mica__series *series, int64_t step, char *text, size_t bytes);

#endif
