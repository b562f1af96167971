/* Forecasts in predictions and reports. */
#include "run/fields.h"
#include "run/run.h"
#include "run/state/evaluation.h"
#include "task/head/horizon.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* SHOWN: the most points of a curve, unless a single forecast has more. SERIES: the most series that are shown. */
#define SHOWN 400
#define SERIES 8

MICA__FACTS(horizon, HORIZON_FACTS, 0);

/* Converts output `at` of a sample to the user's units: last value + output * scale. NaN if the series has no earlier
 * value. */
static double value_of(const mica__horizon_facts *facts, const mica__sample *sample, const float *outputs, size_t at) {
  const size_t k = at % (size_t)facts->targets;
  const double last = sample->ahead->last[k];
  return isnan(last) ? NAN : last + (double)outputs[at] * facts->scale.list[k];
}

/* --- predictions --- */

/* A table of forecasts: one row per step, one column per series. If the actual values are known, a column per series
 * with them follows. */
typedef struct table {
  size_t columns;
  double *numbers;
  char (*heads)[80];
  const char **names;
} table;

static mica_status fill_table(const mica__horizon_facts *facts, const mica__sample *sample, const float *outputs,
                              table *t) {
  const size_t targets = (size_t)facts->targets, rows = (size_t)facts->horizon;
  t->columns = sample->truths ? 2 * targets : targets;
  t->numbers = calloc(rows * t->columns, sizeof *t->numbers);
  t->heads = calloc(t->columns, sizeof *t->heads);
  t->names = calloc(t->columns, sizeof *t->names);
  if (!t->numbers || !t->heads || !t->names) return mica__fail_nomem("forecasts");
  for (size_t k = 0; k < t->columns; k++) {
    snprintf(t->heads[k], sizeof t->heads[k], "%.60s%s", facts->series.list[k % targets], k < targets ? "" : " actual");
    t->names[k] = t->heads[k];
    for (size_t i = 0; i < rows; i++)
      t->numbers[i * t->columns + k] =
          k < targets ? value_of(facts, sample, outputs, i * targets + k) : sample->truths[i * targets + k - targets];
  }
  return MICA_OK;
}

mica_status mica__horizon_section(mica_run *run, mica_report *report, const mica__sample *sample, const float *outputs,
                                  const mica_run_input *given) {
  const mica__horizon_facts facts = facts_of(run);
  table t = {0};
  (void)given;
  mica_status status = fill_table(&facts, sample, outputs, &t);
  const mica_item item = {.kind = MICA_ITEM_KIND_TABLE,
                          .name = "forecast",
                          .rows = (size_t)facts.horizon,
                          .columns = t.columns,
                          .row_names = sample->ahead->names,
                          .column_names = t.names,
                          .numbers = t.numbers};
  if (status == MICA_OK) status = mica_report_add(report, &item);
  free(t.numbers);
  free(t.heads);
  free(t.names);
  return status;
}

/* --- the report --- */

/* What a report shows for each series. First, the mean absolute error per step of the network, of repeating the last
 * value, and of repeating the last season. Second, a curve of forecasts beside the true values, made from every
 * `horizon`-th sample. */
typedef struct shown {
  mica__horizon_facts facts;
  size_t horizon, targets, series;
  double *sums, *counts; /* sums: (series, horizon, 3), of the three errors; counts: (series, horizon) */
  double *curve;         /* (series, most, horizon, 4): row, truth, forecast, season */
  size_t most, samples;  /* most: forecasts per curve; samples: number of samples seen so far */
} shown;

static void add_errors(shown *s, const mica__sample *sample, const float *outputs, size_t k) {
  const double last = sample->ahead->last[k];
  for (size_t h = 0; h < s->horizon; h++) {
    const size_t at = h * s->targets + k;
    const double truth = sample->truths[at];
    double *sums = s->sums + 3 * (k * s->horizon + h);
    if (isnan(last) || isnan(truth)) continue;
    sums[0] += fabs(value_of(&s->facts, sample, outputs, at) - truth);
    sums[1] += fabs(last - truth);
    sums[2] += fabs(sample->ahead->season[at] - truth);
    s->counts[k * s->horizon + h]++;
  }
}

static void add_points(shown *s, const mica__sample *sample, const float *outputs, size_t k) {
  double *points = s->curve + 4 * s->horizon * (k * s->most + s->samples / s->horizon);
  for (size_t h = 0; h < s->horizon; h++, points += 4) {
    const size_t at = h * s->targets + k;
    points[0] = (double)(sample->ahead->row + (int64_t)h + 1);
    points[1] = sample->truths[at];
    points[2] = value_of(&s->facts, sample, outputs, at);
    points[3] = sample->ahead->season[at];
  }
}

static mica_status add_sample(mica_run *run, const mica__sample *sample, const float *outputs, void *user) {
  shown *s = user;
  (void)run;
  for (size_t k = 0; k < s->series; k++) {
    add_errors(s, sample, outputs, k);
    if (s->samples % s->horizon == 0 && s->samples / s->horizon < s->most) add_points(s, sample, outputs, k);
  }
  s->samples++;
  return MICA_OK;
}

static mica_status add_error_table(const shown *s, size_t k, mica_report *report) {
  static const char *const columns[] = {"forecast", "last value", "season"};
  const size_t rows = s->horizon + 1;
  double *numbers = calloc(rows * 3, sizeof *numbers), count = 0;
  char(*names)[24] = calloc(rows, sizeof *names), name[80];
  const char **row_names = calloc(rows, sizeof *row_names);
  mica_status status = numbers && names && row_names ? MICA_OK : mica__fail_nomem("a report");
  for (size_t h = 0; status == MICA_OK && h < rows; h++) {
    const bool all = h + 1 == rows;
    const double *sums = s->sums + 3 * (k * s->horizon + h), *counts = s->counts + k * s->horizon + h;
    snprintf(names[h], sizeof names[h], all ? "all steps" : "step %zu", h + 1);
    row_names[h] = names[h];
    if (!all) count += *counts;
    for (size_t i = 0; i < 3; i++) {
      if (!all) numbers[3 * (rows - 1) + i] += sums[i];
      const double n = all ? count : *counts;
      numbers[3 * h + i] = n > 0 ? (all ? numbers[3 * h + i] : sums[i]) / n : (double)NAN;
    }
  }
  snprintf(name, sizeof name, "mean absolute error of %.50s", s->facts.series.list[k]);
  const mica_item item = {.kind = MICA_ITEM_KIND_TABLE,
                          .name = name,
                          .rows = rows,
                          .columns = 3,
                          .row_names = row_names,
                          .column_names = columns,
                          .numbers = numbers};
  if (status == MICA_OK) status = mica_report_add(report, &item);
  free(numbers);
  free(names);
  free(row_names);
  return status;
}

static mica_status add_curve(const shown *s, size_t k, mica_report *report) {
  static const char *const columns[] = {"row", "actual", "forecast", "season"};
  const size_t forecasts = s->samples ? (s->samples - 1) / s->horizon + 1 : 0;
  const mica_item item = {.kind = MICA_ITEM_KIND_CURVE,
                          .name = s->facts.series.list[k],
                          .rows = (forecasts < s->most ? forecasts : s->most) * s->horizon,
                          .columns = 4,
                          .column_names = columns,
                          .numbers = s->curve + 4 * s->horizon * k * s->most};
  return mica_report_add(report, &item);
}

mica_status mica__horizon_report(mica_run *run, mica_report *report) {
  shown s = {.facts = facts_of(run)};
  s.horizon = (size_t)s.facts.horizon;
  s.targets = (size_t)s.facts.targets;
  s.series = s.targets < SERIES ? s.targets : SERIES;
  s.most = s.horizon < SHOWN ? SHOWN / s.horizon : 1;
  s.sums = calloc(s.series * s.horizon * 3, sizeof *s.sums);
  s.counts = calloc(s.series * s.horizon, sizeof *s.counts);
  s.curve = calloc(s.series * s.most * s.horizon * 4, sizeof *s.curve);
  mica_status status = s.sums && s.counts && s.curve ? MICA_OK : mica__fail_nomem("a report");
  if (status == MICA_OK) status = mica_report_begin(report, "Forecasts");
  if (status == MICA_OK) status = run->task->input->samples.look(run, run->evaluation->data, add_sample, &s);
  for (size_t k = 0; status == MICA_OK && k < s.series; k++) {
    status = add_error_table(&s, k, report);
    if (status == MICA_OK) status = add_curve(&s, k, report);
  }
  free(s.sums);
  free(s.counts);
  free(s.curve);
  return status;
}
