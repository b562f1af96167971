/* Forecasts that are predicted and shown. */
#include "data/dataset.h"
#include "run/evaluation.h"
#include "run/state/evaluation.h"
#include "task/input/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_A_TIME 256
/* Points of a curve at most. */
#define SHOWN 400

/* Runs the network before each of `count` origins from `first` on, `apart` rows apart; values gets count x horizon x
 * targets numbers in the user's units; NaN for a series without a value before an origin. */
static mica_status infer(mica_run *run, const mica__windows *w, int64_t first, int64_t apart, int64_t count,
                         double *values) {
  const int64_t row = w->window * (int64_t)w->series.count, series = (int64_t)w->series.count;
  const int64_t answers = w->horizon * (int64_t)w->targets;
  float *windows = malloc((size_t)(count * row) * sizeof *windows);
  float *levels = malloc((size_t)(count * series) * sizeof *levels);
  float *outputs = malloc((size_t)(count * answers) * sizeof *outputs);
  mica_tensor *tensors[2] = {NULL, NULL};
  mica_status status = windows && levels && outputs ? MICA_OK : mica__fail_nomem("forecasts");
  for (int64_t i = 0; status == MICA_OK && i < count; i++)
    mica__windows_fill(w, first + i * apart, windows + i * row, levels + i * series);
  if (status == MICA_OK)
    status = mica_tensor_create_from(run->engine, MICA_F32, MICA_SHAPE(count, w->window, series), windows, &tensors[0]);
  if (status == MICA_OK)
    status = mica_tensor_create_from(run->engine, MICA_F32, MICA_SHAPE(count, 1, series), levels, &tensors[1]);
  const mica_feed feeds[] = {{"window", tensors[0]}, {"level", tensors[1]}};
  if (status == MICA_OK)
    status = mica_trainer_predict(run->trainer, &(mica_batch){.count = count, .tensors = feeds, .tensor_count = 2});
  if (status == MICA_OK)
    status = mica_tensor_download(mica_engine_queue(run->engine), mica_trainer_output(run->trainer, "forecast"),
                                  outputs, (size_t)(count * answers) * sizeof *outputs);
  for (int64_t i = 0; status == MICA_OK && i < count * answers; i++) {
    const size_t k = (size_t)i % w->targets;
    const int64_t origin = first + i / answers * apart;
    values[i] = mica__series_seen(&w->series, k, origin)
                    ? mica__series_at(&w->series, origin - 1, k, origin) + (double)outputs[i] * w->scale[k]
                    : (double)NAN;
  }
  mica_tensor_destroy(tensors[0]);
  mica_tensor_destroy(tensors[1]);
  free(windows);
  free(levels);
  free(outputs);
  return status;
}

/* --- predictions --- */

/* What a row is called: its time, else its number from 1. */
static void name_row(const mica__windows *w, int64_t row, char *text, size_t bytes) {
  if (row >= w->series.rows)
    mica__series_next(&w->series, row - w->series.rows + 1, text, bytes);
  else if (w->series.times)
    snprintf(text, bytes, "%s", w->series.times[row]);
  else
    snprintf(text, bytes, "%lld", (long long)row + 1);
}

/* The actual value; NaN behind the end and for an empty cell. */
static double actual(const mica__windows *w, int64_t row, size_t k) {
  const bool there = row < w->series.rows && mica__series_known(&w->series, row, k);
  return there ? mica__series_at(&w->series, row, k, w->series.rows) : (double)NAN;
}

/* Adds a section with the forecast before row `origin`: a row a step, a column a series, beside them what came. */
static mica_status add_forecast(mica_run *run, const mica__windows *w, const char *title, int64_t origin,
                                mica_report *p) {
  const bool truths = origin < w->series.rows;
  const size_t targets = w->targets, columns = truths ? 2 * targets : targets, rows = (size_t)w->horizon;
  double *values = calloc(rows * targets, sizeof *values), *numbers = calloc(rows * columns, sizeof *numbers);
  char(*names)[48] = calloc(rows, sizeof *names), (*heads)[80] = calloc(columns, sizeof *heads);
  const char **row_names = calloc(rows, sizeof *row_names), **column_names = calloc(columns, sizeof *column_names);
  const bool room = values && numbers && names && heads && row_names && column_names;
  mica_status status = room ? infer(run, w, origin, 1, 1, values) : mica__fail_nomem("forecasts");
  for (size_t i = 0; status == MICA_OK && i < rows; i++) {
    name_row(w, origin + (int64_t)i, names[i], sizeof names[i]);
    row_names[i] = names[i];
    for (size_t k = 0; k < columns; k++) {
      numbers[i * columns + k] = k < targets ? values[i * targets + k] : actual(w, origin + (int64_t)i, k - targets);
      snprintf(heads[k], sizeof heads[k], "%.60s%s", w->series.names[k % targets], k < targets ? "" : " actual");
      column_names[k] = heads[k];
    }
  }
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = "forecast",
                           .rows = rows,
                           .columns = columns,
                           .row_names = row_names,
                           .column_names = column_names,
                           .numbers = numbers};
  if (status == MICA_OK) status = mica_report_begin(p, title);
  if (status == MICA_OK) status = mica_report_add(p, &table);
  free(values);
  free(numbers);
  free(names);
  free(heads);
  free(row_names);
  free(column_names);
  return status;
}

/* The values behind the end of a table. */
static mica_status predict_table(mica_run *run, const char *name, char *content, size_t size, mica_report *p) {
  mica__windows w;
  MICA_TRY(mica__windows_read(run, name, content, size, &w));
  mica_status status = mica__windows_scale(run, &w);
  if (status == MICA_OK) status = mica__windows_remark(run, name, &w);
  if (status == MICA_OK && w.series.rows < w.window)
    status = mica__fail(MICA_E_FORMAT, "%s has %lld rows: a forecast sees %lld", name, (long long)w.series.rows,
                        (long long)w.window);
  if (status == MICA_OK) status = add_forecast(run, &w, name, w.series.rows, p);
  mica__windows_free(&w);
  return status;
}

static mica_status predict_file(mica_run *run, const char *path, mica_report *p) {
  uint8_t *content = NULL;
  size_t size = 0;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = predict_table(run, path, (char *)content, size, p);
  free(content);
  return status;
}

/* Origins of a part, evenly from its first to its last. */
static mica_status predict_part(mica_run *run, const mica_run_input *input, mica_report *p) {
  mica_dataset *data = NULL;
  bool all = false;
  MICA_TRY(mica__run_open_given(run, input->data, input->part, &all, &data));
  mica__windows *w = mica__windows_of(data);
  mica_status status = mica__windows_scale(run, w);
  if (status == MICA_OK) status = mica__windows_remark(run, mica_dataset_name(data), w);
  const int64_t count = input->count > 0 && input->count < w->count ? input->count : w->count;
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    const int64_t origin = w->first + (count > 1 ? i * (w->count - 1) / (count - 1) : 0);
    char title[80] = "from ";
    name_row(w, origin, title + 5, sizeof title - 5);
    status = add_forecast(run, w, title, origin, p);
  }
  mica_dataset_destroy(data);
  return status;
}

mica_status mica__forecast_predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  if (input->data) return predict_part(run, input, p);
  if (!input->text) {
    for (size_t i = 0; i < input->file_count; i++) MICA_TRY(predict_file(run, input->files[i], p));
    return MICA_OK;
  }
  char *copy = mica__strdup(input->text);
  if (!copy) return mica__fail_nomem("a table");
  mica_status status = predict_table(run, input->name ? input->name : "the text", copy, strlen(copy), p);
  free(copy);
  return status;
}

/* --- the report --- */

/* Mean absolute errors of one series by step: of the network, of the last value and of the season. */
typedef struct errors {
  double *sums, *counts; /* horizon x 3, horizon */
} errors;

static void add_errors(const mica__windows *w, int64_t origin, const double *values, size_t k, errors *e) {
  if (!mica__series_seen(&w->series, k, origin)) return;
  for (int64_t h = 0; h < w->horizon; h++) {
    const double truth = actual(w, origin + h, k);
    if (isnan(truth)) continue;
    e->sums[3 * h] += fabs(values[(size_t)h * w->targets + k] - truth);
    e->sums[3 * h + 1] += fabs(mica__series_at(&w->series, origin - 1, k, origin) - truth);
    e->sums[3 * h + 2] += fabs(mica__windows_seasonal(w, origin, h, k) - truth);
    e->counts[h]++;
  }
}

static mica_status add_error_table(const mica__windows *w, size_t k, const errors *e, mica_report *report) {
  static const char *const columns[] = {"forecast", "last value", "season"};
  const size_t rows = (size_t)w->horizon + 1;
  double *numbers = calloc(rows * 3, sizeof *numbers), count = 0;
  char(*names)[24] = calloc(rows, sizeof *names);
  const char **row_names = calloc(rows, sizeof *row_names);
  mica_status status = numbers && names && row_names ? MICA_OK : mica__fail_nomem("a report");
  for (size_t h = 0; status == MICA_OK && h < rows; h++) {
    const bool all = h + 1 == rows;
    snprintf(names[h], sizeof names[h], all ? "all steps" : "step %zu", h + 1);
    row_names[h] = names[h];
    if (!all) count += e->counts[h];
    for (size_t i = 0; i < 3; i++) {
      if (!all) numbers[3 * (rows - 1) + i] += e->sums[3 * h + i];
      const double n = all ? count : e->counts[h];
      numbers[3 * h + i] = n > 0 ? (all ? numbers[3 * h + i] : e->sums[3 * h + i]) / n : (double)NAN;
    }
  }
  char name[80];
  snprintf(name, sizeof name, "mean absolute error of %.50s", w->series.names[k]);
  const mica_item table = {.kind = MICA_ITEM_KIND_TABLE,
                           .name = name,
                           .rows = rows,
                           .columns = 3,
                           .row_names = row_names,
                           .column_names = columns,
                           .numbers = numbers};
  if (status == MICA_OK) status = mica_report_add(report, &table);
  free(numbers);
  free(names);
  free(row_names);
  return status;
}

/* Forecasts from every `horizon`-th origin on, one behind another, beside what came and the season's. */
static mica_status add_curve(const mica__windows *w, size_t k, const double *values, int64_t origins,
                             mica_report *report) {
  static const char *const columns[] = {"row", "actual", "forecast", "season"};
  const int64_t rows = origins * w->horizon;
  double *numbers = calloc((size_t)rows * 4 + 1, sizeof *numbers);
  if (!numbers) return mica__fail_nomem("a report");
  for (int64_t i = 0; i < rows; i++) {
    const int64_t origin = w->first + i / w->horizon * w->horizon, row = w->first + i;
    numbers[4 * i] = (double)row + 1;
    numbers[4 * i + 1] = actual(w, row, k);
    numbers[4 * i + 2] = values[(size_t)i * w->targets + k];
    numbers[4 * i + 3] =
        mica__series_seen(&w->series, k, origin) ? mica__windows_seasonal(w, origin, row - origin, k) : (double)NAN;
  }
  const mica_item curve = {.kind = MICA_ITEM_KIND_CURVE,
                           .name = w->series.names[k],
                           .rows = (size_t)rows,
                           .columns = 4,
                           .column_names = columns,
                           .numbers = numbers};
  mica_status status = mica_report_add(report, &curve);
  free(numbers);
  return status;
}

static mica_status sum_errors(mica_run *run, const mica__windows *w, size_t k, errors *e) {
  const size_t answers = (size_t)w->horizon * w->targets;
  double *values = malloc(AT_A_TIME * answers * sizeof *values);
  mica_status status = values ? MICA_OK : mica__fail_nomem("a report");
  for (int64_t from = 0; status == MICA_OK && from < w->count; from += AT_A_TIME) {
    const int64_t count = w->count - from < AT_A_TIME ? w->count - from : AT_A_TIME;
    status = infer(run, w, w->first + from, 1, count, values);
    for (int64_t i = 0; status == MICA_OK && i < count; i++)
      add_errors(w, w->first + from + i, values + (size_t)i * answers, k, e);
  }
  free(values);
  return status;
}

static mica_status report_series(mica_run *run, const mica__windows *w, size_t k, mica_report *report) {
  errors e = {calloc((size_t)w->horizon * 3, sizeof(double)), calloc((size_t)w->horizon, sizeof(double))};
  int64_t origins = (w->count - 1) / w->horizon + 1;
  while (origins > 1 && origins * w->horizon > SHOWN) origins--;
  double *values = malloc((size_t)(origins * w->horizon) * w->targets * sizeof *values);
  mica_status status = e.sums && e.counts && values ? sum_errors(run, w, k, &e) : mica__fail_nomem("a report");
  if (status == MICA_OK) status = add_error_table(w, k, &e, report);
  if (status == MICA_OK) status = infer(run, w, w->first, w->horizon, origins, values);
  if (status == MICA_OK) status = add_curve(w, k, values, origins, report);
  free(e.sums);
  free(e.counts);
  free(values);
  return status;
}

/* Series that are shown at most. */
#define SERIES 8

mica_status mica__forecast_report(mica_run *run, mica_report *report) {
  const mica__windows *w = mica__windows_of(run->evaluation->data);
  MICA_TRY(mica_report_begin(report, "Forecasts"));
  for (size_t k = 0; k < w->targets && k < SERIES; k++) MICA_TRY(report_series(run, w, k, report));
  return MICA_OK;
}
