/* task/head/horizon.h: forecasts the next `horizon` rows of time series, all at once. It reads the columns "target",
 * "known" (0: an empty cell) and "season" (the seasonal forecast). */
#ifndef MICA_TASK_HEAD_HORIZON_H
#define MICA_TASK_HEAD_HORIZON_H

#include "run/composed.h"

/* The task's input stores these values with the run (run/facts.h); its head reads them. */
#define HORIZON_FACTS(X, S)                                                                                            \
  X(S, TEXTS, series, .needed = true)                                                                                  \
  X(S, NUMBER, targets, .needed = true)                                                                                \
  X(S, NUMBER, horizon, .needed = true)                                                                                \
  X(S, NUMBERS, scale, .needed = true)                                                                                 \
  X(S, NUMBERS, mase_scale, .needed = true)

#define HORIZON_METRICS                                                                                                \
  {                                                                                                                    \
    {"mase", true, "mae divided by the mae of a naive forecast of the training part; below 1 is better than naive",    \
     false},                                                                                                           \
        {"mae", true, "mean absolute error, in the units of the answers", false},                                      \
        {"rmse", true, "root of the mean squared error, in the units of the answers", true},                           \
        {"mae_last", true, "mae if each series keeps its last value", true},                                           \
        {"mae_season", true, "mae if each series repeats its last season", true},                                      \
        {"mase_last", true, "mase if each series keeps its last value", true},                                         \
        {"mase_season", true, "mase if each series repeats its last season", true}, {                                  \
      0                                                                                                                \
    }                                                                                                                  \
  }
#define HORIZON_ANSWERS                                                                                                \
  { "target", "known", "season", NULL }

extern const mica__head mica__head_horizon;

/* Functions that mica__head_horizon points to (in horizon_show.c). */
mica_status mica__horizon_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                                  const mica_run_input *given);
/* Adds to a report the errors per step, beside the errors of repeating the last value and the last season, and the
 * forecasts beside the actual values. */
mica_status mica__horizon_report(mica_run *run, mica_report *report);

#endif
