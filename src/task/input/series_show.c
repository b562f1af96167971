/* Visits forecasts: from the end of a given table, or from origins in the series of a dataset. */
#include "data/dataset.h"
#include "data/series/ahead.h"
#include "run/predict/document.h"
#include "run/predict/visits.h"
#include "run/state/evaluation.h"
#include "task/input/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT_A_TIME 256

/* Forecasts from each of `count` origins from `first` on. An origin is the first row of a forecast; the network reads
 * rows before it. `outputs` receives horizon x targets numbers per origin. */
static mica_status infer(mica_run *run, const mica__windows *w, int64_t first, int64_t count, float *outputs) {
  const int64_t row = w->window * (int64_t)w->series.count, series = (int64_t)w->series.count;
  float *windows = malloc((size_t)(count * row) * sizeof *windows);
  float *levels = malloc((size_t)(count * series) * sizeof *levels);
  mica_tensor *tensors[2] = {NULL, NULL};
  mica_status status = windows && levels ? MICA_OK : mica__fail_nomem("forecasts");
  for (int64_t i = 0; status == MICA_OK && i < count; i++)
    mica__windows_fill(w, first + i, windows + i * row, levels + i * series);
  if (status == MICA_OK)
    status = mica_tensor_create_from(run->engine, MICA_F32, MICA_SHAPE(count, w->window, series), windows, &tensors[0]);
  if (status == MICA_OK)
    status = mica_tensor_create_from(run->engine, MICA_F32, MICA_SHAPE(count, 1, series), levels, &tensors[1]);
  const mica_feed feeds[] = {{"window", tensors[0]}, {"level", tensors[1]}};
  if (status == MICA_OK)
    status = mica_trainer_predict(run->trainer, &(mica_batch){.count = count, .tensors = feeds, .tensor_count = 2});
  if (status == MICA_OK)
    status =
        mica_tensor_download(mica_engine_queue(run->engine), mica_trainer_output(run->trainer, run->task->head->output),
                             outputs, (size_t)(count * run->task->head->outputs(run)) * sizeof *outputs);
  mica_tensor_destroy(tensors[0]);
  mica_tensor_destroy(tensors[1]);
  free(windows);
  free(levels);
  return status;
}

/* --- a window --- */

/* Visits a sample for each of `count` origins from `first` on. The name of each sample is `name` or, if that is NULL,
 * "from" and the time of the origin. */
static mica_status visit_origins(mica_run *run, const mica__windows *w, int64_t first, int64_t count, const char *name,
                                 mica__sample_fn *fn, void *user) {
  const size_t width = (size_t)run->task->head->outputs(run);
  float *outputs = malloc((size_t)count * width * sizeof *outputs);
  char title[80];
  mica__rows_ahead r = {0};
  mica_status status = mica__windows_make_ahead(w, &r);
  if (status == MICA_OK) status = outputs ? infer(run, w, first, count, outputs) : mica__fail_nomem("forecasts");
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    mica__windows_ahead(w, first + i, &r);
    snprintf(title, sizeof title, "from %s", r.names[0]);
    const mica__ahead ahead = {.row = first + i, .names = r.list, .last = r.last, .season = r.season};
    const mica__sample sample = {
        .name = name ? name : title, .truths = first + i < w->series.rows ? r.truths : NULL, .ahead = &ahead};
    status = fn(run, &sample, outputs + (size_t)i * width, user);
  }
  free(outputs);
  mica__rows_ahead_free(&r);
  return status;
}

/* --- tables and data --- */

/* Visits one sample, the forecast of the rows after the end of a table. */
static mica_status visit_table(mica_run *run, const char *name, char *content, size_t size, mica__sample_fn *fn,
                               void *user) {
  mica__windows w;
  MICA_TRY(mica__windows_read(run, name, content, size, &w));
  mica_status status = mica__windows_scale(run, &w);
  if (status == MICA_OK) status = mica__windows_remark(run, name, &w);
  if (status == MICA_OK && w.series.rows < w.window)
    status = mica__fail(MICA_E_FORMAT, "%s has %lld rows, but a forecast needs at least %lld", name,
                        (long long)w.series.rows, (long long)w.window);
  if (status == MICA_OK) status = visit_origins(run, &w, w.series.rows, 1, name, fn, user);
  mica__windows_free(&w);
  return status;
}

/* Visits the end of the table in a file, or in the given text if path is NULL. */
static mica_status visit_given(mica_run *run, const mica_run_input *input, const char *path, mica__sample_fn *fn,
                               void *user) {
  mica__document document;
  MICA_TRY(mica__document_read(input, path, &document));
  mica_status status = visit_table(run, document.name, document.content, document.size, fn, user);
  free(document.content);
  return status;
}

/* Visits `most` origins of a part, evenly spaced from the first to the last. */
static mica_status visit_part(mica_run *run, const mica_dataset *data, uint64_t most, mica__sample_fn *fn, void *user) {
  mica__windows *w = mica__windows_of(data);
  const int64_t count = (int64_t)most;
  MICA_TRY(mica__windows_scale(run, w));
  MICA_TRY(mica__windows_remark(run, mica_dataset_name(data), w));
  for (int64_t i = 0; i < count; i++)
    MICA_TRY(visit_origins(run, w, w->first + (count > 1 ? i * (w->count - 1) / (count - 1) : 0), 1, NULL, fn, user));
  return MICA_OK;
}

mica_status mica__series_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->data) return mica__visit_data(run, given, visit_part, fn, user);
  if (given->text) return visit_given(run, given, NULL, fn, user);
  for (size_t i = 0; i < given->file_count; i++) MICA_TRY(visit_given(run, given, given->files[i], fn, user));
  return MICA_OK;
}

mica_status mica__series_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  const mica__windows *w = mica__windows_of(data);
  for (int64_t at = 0; at < w->count; at += AT_A_TIME)
    MICA_TRY(
        visit_origins(run, w, w->first + at, w->count - at < AT_A_TIME ? w->count - at : AT_A_TIME, NULL, fn, user));
  return MICA_OK;
}
