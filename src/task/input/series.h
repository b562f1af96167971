/* task/input/series.h: windows of time series. A sample has the rows that a network reads, and the rows that follow
 * them. */
#ifndef MICA_TASK_INPUT_SERIES_H
#define MICA_TASK_INPUT_SERIES_H

#include "data/series/windows.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/run.h"
#include "run/setting_fields.h"

#include <math.h>

/* The condition for settings of all networks except "linear". */
#define SERIES_NETWORKS "model=gru|lstm|tcn|cnn_gru"

#define SERIES_SETTINGS(X, S)                                                                                          \
  X(S, INT, horizon, "horizon", "12", "N", "rows to forecast", .low = 1, .high = 1 << 16, .fixed = true)               \
  X(S, INT, window, "window", "0", "N",                                                                                \
    "rows of the past that a forecast sees; 0: two seasons, or 24 rows if there is no season", .low = 0,               \
    .high = 1 << 16, .fixed = true)                                                                                    \
  X(S, INT, season, "season", "0", "N",                                                                                \
    "rows per season; 0: by the time step (24 for hours, 7 for days, 52 for weeks, 12 for months), else none",         \
    .low = 0, .high = 1 << 20, .fixed = true)                                                                          \
  X(S, TEXT, time, "time", "", "COLUMN", "column of times (default: the column that holds dates or times)",            \
    .fixed = true)                                                                                                     \
  X(S, REAL, test, "test", "0.2", "SHARE", "share of the rows for the test part, from the end", .low = 0, .high = 0.9, \
    .fixed = true)                                                                                                     \
  X(S, INT, layers, "layers", "1", "N", "layers of the network", .low = 1, .high = 30, .of = SERIES_NETWORKS,          \
    .fixed = true, .structure = true)                                                                                  \
  X(S, INT, width, "width", "32", "N", "units per layer", .low = 1, .high = 1 << 14, .of = SERIES_NETWORKS,            \
    .fixed = true, .structure = true)                                                                                  \
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

/* Reads the series of a table in memory as the run needs them; no part is chosen yet. */
mica_status mica__windows_read(const mica_run *run, const char *name, char *content, size_t size, mica__windows *w);
/* Opens a part of a file, as the settings "test" and "validation" split it. The dataset has the columns "window",
 * "level", "target", "known" and "season". "known" is 1, or 0 for an empty cell and for a series that has no value
 * before the forecast. */
mica_status mica__series_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                              mica_dataset **data);
/* Sets the scales, means and deviations of the series to those of the run, unless they are set. */
mica_status mica__windows_scale(const mica_run *run, mica__windows *w);
/* Remarks on what a reader of forecasts should know of a table: rows that were passed over, gaps between times or times
 * that are not understood, a column of row numbers, and empty cells. */
mica_status mica__windows_remark(mica_run *run, const char *name, const mica__windows *w);
/* Functions that mica__input_series points to (in series_show.c). */
mica_status mica__series_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user);
mica_status mica__series_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user);

#endif
