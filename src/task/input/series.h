/* task/input/series.h: windows of time series: the rows that a network reads, and the rows that follow them. */
#ifndef MICA_TASK_INPUT_SERIES_H
#define MICA_TASK_INPUT_SERIES_H

#include "data/series/series.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/run.h"
#include "run/setting_fields.h"

#include <math.h>

/* All networks except the linear function. */
#define SERIES_NETWORKS "model=gru|lstm|tcn|cnn_gru"

#define SERIES_SETTINGS(X, S)                                                                                          \
  X(S, INT, horizon, "horizon", "12", "N", "rows to forecast", .low = 1, .high = 1 << 16, .fixed = true)               \
  X(S, INT, window, "window", "0", "N", "rows of the past that the network sees; 0: two seasons, or 24", .low = 0,     \
    .high = 1 << 16, .fixed = true)                                                                                    \
  X(S, INT, season, "season", "0", "N",                                                                                \
    "rows per season; 0: by the times (hours 24, days 7, weeks 52, months 12), else none", .low = 0, .high = 1 << 20,  \
    .fixed = true)                                                                                                     \
  X(S, TEXT, time, "time", "", "COLUMN", "column of times (default: found)", .fixed = true)                            \
  X(S, REAL, test, "test", "0.2", "SHARE", "fraction of the rows, at the end, for the test part", .low = 0,            \
    .high = 0.9, .fixed = true)                                                                                        \
  X(S, INT, layers, "layers", "1", "N", "layers of the network", .low = 1, .high = 30, .of = SERIES_NETWORKS,          \
    .fixed = true)                                                                                                     \
  X(S, INT, width, "width", "32", "N", "units per layer", .low = 1, .high = 1 << 14, .of = SERIES_NETWORKS,            \
    .fixed = true)                                                                                                     \
  X(S, REAL, dropout, "dropout", "0.2", "P", "dropout after layers", .low = 0, .high = 0.95, .of = SERIES_NETWORKS,    \
    .fixed = true)

#define SERIES_FACTS(X, S)                                                                                             \
  X(S, TEXTS, series, .needed = true)                                                                                  \
  X(S, NUMBER, targets, .needed = true, .most = MICA__LARGEST_ROW)                                                     \
  X(S, NUMBER, horizon, .needed = true, .most = MICA__LARGEST_ROW)                                                     \
  X(S, NUMBER, window, .needed = true, .most = MICA__LARGEST_ROW)                                                      \
  X(S, NUMBER, season, .needed = true, .most = MICA__LARGEST_ROW)                                                      \
  X(S, NUMBERS, scale, .needed = true, .of = "series")                                                                 \
  X(S, NUMBERS, level_mean, .needed = true, .of = "series", MICA__ANY_SIGN)                                            \
  X(S, NUMBERS, level_deviation, .needed = true, .of = "series")                                                       \
  X(S, NUMBERS, mase_scale, .needed = true, .of = "series")

extern const mica__input mica__input_series;

/* The rows that a network reads, and the rows after them that it forecasts. Numbers are changes from the window's last
 * row, in units of each series' scale. A series that begins with empty cells is unknown at origins before its first
 * value: its numbers and level are 0 there, and it has no answers. Origins without any answer are left out. */
typedef struct mica__windows {
  mica__series series; /* the first `targets` columns are forecast */
  size_t targets;
  int64_t window, horizon, season;
  int64_t training;         /* rows before the test part */
  int64_t learned;          /* rows before the validation part */
  int64_t first, count;     /* the first row that is forecast (the origin) is first, first + 1, ... */
  double *scale;            /* one per series; NULL before the run is prepared */
  double *mean, *deviation; /* one per series, over the training rows: they describe a window's level */
} mica__windows;

/* The windows that a dataset of the task consists of. */
mica__windows *mica__windows_of(const mica_dataset *data);
/* Reads the series of a table in memory as the run needs them; no part is chosen yet. */
mica_status mica__windows_read(const mica_run *run, const char *name, char *content, size_t size, mica__windows *w);
/* A part of a file, chosen by the settings "test" and "validation", as a dataset of the columns window, level, target,
 * known (1, or 0 for an empty cell and for a series that is unknown at the origin) and season. */
mica_status mica__series_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data);
/* Sets the series' scales to the run's. */
mica_status mica__windows_scale(const mica_run *run, mica__windows *w);
/* Remarks on gaps between the times of a table, and on its empty cells. */
mica_status mica__windows_remark(mica_run *run, const char *name, const mica__windows *w);
void mica__windows_free(void *windows);

/* What the network reads before row `origin`: window x series, and the window's level. */
void mica__windows_fill(const mica__windows *w, int64_t origin, float *window, float *level);
/* The seasonal forecast for row origin + step: the last value before `origin` that lies whole seasons before that row;
 * the last value if rows do not go back so far. */
double mica__windows_seasonal(const mica__windows *w, int64_t origin, int64_t step, size_t series);

/* Members of the input (task/input/series_show.c). */
mica_status mica__series_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
mica_status mica__series_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
