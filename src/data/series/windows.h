/* data/series/windows.h: windows of time series as samples. */
#ifndef MICA_DATA_SERIES_WINDOWS_H
#define MICA_DATA_SERIES_WINDOWS_H

#include "data/series/series.h"

#include <mica/data.h>

/* The rows that a network reads, and the rows after them that it forecasts. Numbers are changes from the window's last
 * row, in units of each series' scale. A series that begins with empty cells is unknown at origins before its first
 * value: its numbers and level are 0 there, and nothing is forecast for it (column `known`). Origins at which all
 * forecast series are unknown are left out. */
typedef struct mica__windows {
  mica__series series; /* the first `targets` columns are forecast */
  size_t targets;
  int64_t window, horizon, season;
  int64_t training;         /* rows before the test part */
  int64_t learned;          /* rows before the validation part */
  int64_t first, count;     /* the origins, first rows of forecasts: first, first + 1, ... */
  double *scale;            /* one per series; NULL before the run is prepared */
  double *mean, *deviation; /* one per series, over the first `learned` rows; `level` is standardised by them */
} mica__windows;

/* The windows that a dataset of series consists of; NULL: it is a dataset of another kind. */
mica__windows *mica__windows_of(const mica_dataset *data);
/* Reads a table of series again, with the series that is forecast in front. */
mica_status mica__series_read_first(const char *name, char *content, size_t size, mica__series_choice choice,
                                    const char *first, mica__series *s);
/* Sets the origins of a part. The test part is the last share `test` of the rows; the validation part is the last share
 * `validation` of the rows before it. A part whose share is above 0 has at least `horizon` rows. MICA_E_NOT_FOUND if
 * the share of the part is 0; MICA_E_FORMAT if there are too few rows. */
mica_status mica__windows_part(const char *path, mica_part part, double test, double validation, mica__windows *w);
/* Makes a dataset with the columns window, level, target, season and known. An element of known is 0 if the cell to
 * forecast is empty or the series has no value before the origin, else 1. The dataset frees w, which is on the heap. */
mica_status mica__windows_dataset(const char *path, mica__windows *w, mica_dataset **data);
void mica__windows_free(void *windows);
/* Measures series k. Rows before its first value do not count.
 * - *scale: the root mean square change over the horizon, in the rows before the validation part (`learned`)
 * - *mean, *deviation: of the values, in the same rows
 * - *mase: the mean absolute change from one season to the next, in all rows before the test part (`training`); errors
 *   are divided by it (Hyndman and Koehler 2006)
 *
 * If nothing changes, *scale, *deviation and *mase are 1. */
void mica__windows_measure(const mica__windows *w, size_t k, double *scale, double *mean, double *deviation,
                           double *mase);

/* Writes what the network reads before row `origin`: window x series, and the window's level. */
void mica__windows_fill(const mica__windows *w, int64_t origin, float *window, float *level);
/* The seasonal forecast for row origin + step: the value of the last row before `origin` that is a whole number of
 * seasons earlier; the last value if rows do not go back so far. */
double mica__windows_seasonal(const mica__windows *w, int64_t origin, int64_t step, size_t series);

#endif
