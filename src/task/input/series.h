/* task/input/series.h: windows of time series, which training and showing forecasts have in common. */
#ifndef MICA_TASK_INPUT_SERIES_H
#define MICA_TASK_INPUT_SERIES_H

#include "data/series/series.h"
#include "run/run.h"

/* The rows that a network sees, and those behind them that it forecasts. Numbers are changes from the window's last
 * row, in units of each series' scale. A series that begins with empty cells is unknown at origins up to its first
 * value: it is 0 to the network, level and all, and has no answers there; origins without any answer are left out. */
typedef struct mica__windows {
  mica__series series; /* the first `targets` of them are forecast */
  size_t targets;
  int64_t window, horizon, season;
  int64_t training;         /* rows before the test part */
  int64_t learned;          /* of them before the validation part */
  int64_t first, count;     /* origins, the first rows that are forecast, are first, first + 1, ... */
  double *scale;            /* of each series; NULL before the run is prepared */
  double *mean, *deviation; /* of each over what is learned: they say how high a window lies */
} mica__windows;

/* The windows that a dataset of the task is made of. */
mica__windows *mica__windows_of(const mica_dataset *data);
/* Reads the series of a table in memory as the run wants them; windows of no part yet. */
mica_status mica__windows_read(const mica_run *run, const char *name, char *content, size_t size, mica__windows *w);
/* The part of a file that the setting "test" and "validation" leave or take, as a dataset of the columns window, level,
 * target, known (1, or 0 for an empty cell and for a series unknown at the origin) and season. */
mica_status mica__forecast_open(const mica_run *run, const char *path, const mica_dataset_config *config,
                                mica_dataset **data);
/* Gives the series the run's scales. */
mica_status mica__windows_scale(const mica_run *run, mica__windows *w);
/* Remarks on gaps between the times of a table, and on its empty cells. */
mica_status mica__windows_remark(mica_run *run, const char *name, const mica__windows *w);
void mica__windows_free(void *windows);

/* What the network sees before row `origin`: window x series, and how high it lies. */
void mica__windows_fill(const mica__windows *w, int64_t origin, float *window, float *level);
/* The forecast of the season: the last value before `origin` that is a multiple of a season before row origin + step;
 * the last value where rows do not go back so far. */
double mica__windows_seasonal(const mica__windows *w, int64_t origin, int64_t step, size_t series);

/* Next values behind the end of tables, or forecasts of the test part beside what came. */
mica_status mica__forecast_predict(mica_run *run, const mica_run_input *input, mica_report *prediction);
/* Errors by step beside those of the last value and of the season; forecasts beside what came. */
mica_status mica__forecast_report(mica_run *run, mica_report *report);

#endif
