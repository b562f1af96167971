/* Rows of tables to predict from, and rows that a report shows. */
#include "run/predict/tables.h"
#include "data/dataset.h"
#include "data/source.h"
#include "data/table/table.h"
#include "run/columns/missing.h"
#include "run/composed.h"
#include "run/evaluation.h"
#include "run/parts.h"
#include "run/predict/batches.h"
#include "run/predict/truths.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

/* How many samples a report looks at, to show some of them. */
#define LOOKED_AT 2000

/* State while samples are visited: their known answers, and where their outputs go. */
typedef struct walk {
  const mica_dataset *data;
  uint64_t at, end;
  mica__naming_fn *name;
  void *naming;
  mica__truths truths;
  double *truth;
  mica__sample_fn *fn;
  void *user;
} walk;

/* A mica__naming_fn for rows of tables. */
static mica_status name_row(void *user, const mica_dataset *data, uint64_t sample, mica__text *name) {
  const uint64_t line = mica_dataset_line(data, sample);
  (void)user;
  mica__text_addf(name, line ? "row %llu" : "sample %llu", (unsigned long long)(line ? line : sample));
  return mica__text_status(name);
}

static mica_status give(mica_run *run, walk *w, const float *outputs) {
  mica__text name = {0};
  mica_status status = w->name(w->naming, w->data, w->at, &name);
  if (status == MICA_OK) status = mica__truths_read(&w->truths, w->at, w->truth);
  const mica__sample sample = {.name = name.data, .truths = w->truth};
  w->at++;
  if (status == MICA_OK) status = w->fn(run, &sample, outputs, w->user);
  mica__text_free(&name);
  return status;
}

static mica_status give_batch(mica_run *run, const mica_batch *batch, const float *outputs, void *user) {
  const size_t width = (size_t)run->task->head->outputs(run);
  walk *w = user;
  for (int64_t i = 0; i < batch->count && w->at < w->end; i++) MICA_TRY(give(run, w, outputs + (size_t)i * width));
  return MICA_OK;
}

mica_status mica__loaded_visit(mica_run *run, const mica_dataset *data, uint64_t most, mica__naming_fn *name,
                               void *naming, mica__sample_fn *fn, void *user) {
  const uint64_t all = mica_dataset_count(data);
  walk w = {
      .data = data, .end = most && most < all ? most : all, .name = name, .naming = naming, .fn = fn, .user = user};
  mica_dataset *shown = NULL;
  mica_loader *loader = NULL;
  w.truth = calloc(mica__truth_count(run) + 1, sizeof *w.truth);
  mica_status status = w.truth ? mica__truths_open(run, data, &w.truths) : mica__fail_nomem("predictions");
  if (status == MICA_OK) status = mica__run_load(run, MICA_PART_TEST, data, MICA_RESIDENCE_AUTO, &shown, &loader);
  if (status == MICA_OK) {
    const mica_batch_source source = mica_loader_source(loader);
    status = mica__test_batches(run, &source, run->task->head->outputs(run), give_batch, &w);
  }
  mica_loader_destroy(loader);
  mica_dataset_destroy(shown);
  mica__truths_close(&w.truths);
  free(w.truth);
  return status;
}

/* Makes opened data ready (mica__run_make_ready), visits their samples, and destroys the data. */
static mica_status visit_opened(mica_run *run, mica_dataset *data, int64_t count, mica__sample_fn *fn, void *user) {
  mica_dataset *ready = NULL;
  MICA_TRY(mica__run_make_ready(run, MICA_PART_TEST, data, true, &ready));
  mica_status status = mica__loaded_visit(run, ready, count > 0 ? (uint64_t)count : 0, name_row, NULL, fn, user);
  mica_dataset_destroy(ready);
  return status;
}

/* Opens a table with or without answers, from a file or from a text. */
static mica_status open_table(mica_run *run, const char *name, const char *text, mica_dataset **data) {
  mica_dataset_config config = mica__run_opening(run, MICA_PART_TRAIN);
  config.keep_unlabelled = true;
  uint8_t *content = (uint8_t *)mica__strdup(text ? text : "");
  size_t size = text ? strlen(text) : 0;
  mica_status status = content ? MICA_OK : mica__fail_nomem("a table");
  if (!text) {
    free(content);
    content = NULL;
    if (mica__is_folder(name))
      return mica__fail(MICA_E_INVALID,
                        "%s is a folder, but the task %s predicts from tables; give the folder with --data", name,
                        run->task->name);
    status = mica__content_read(name, &content, &size);
    if (status == MICA_OK && memchr(content, 0, size))
      status = mica__fail(MICA_E_FORMAT,
                          "%s holds a zero byte, so it is not a table of text; the task %s predicts from the rows of "
                          "tables (if the file is a table in UTF-16, save it as UTF-8)",
                          name, run->task->name);
  }
  if (status == MICA_OK) status = mica__table_read(name, (char *)content, size, &config, data);
  free(content);
  if (status != MICA_OK) return status;
  status = mica__run_fill(run, *data);
  if (status != MICA_OK) mica_dataset_destroy(*data);
  return status;
}

static mica_status visit_table(mica_run *run, const char *name, const char *text, mica__sample_fn *fn, void *user) {
  mica_dataset *data = NULL;
  MICA_TRY(open_table(run, name, text, &data));
  return visit_opened(run, data, 0, fn, user);
}

mica_status mica__tables_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  mica_dataset *data = NULL;
  bool all = false;
  if (given->text) return visit_table(run, given->name ? given->name : "the text", given->text, fn, user);
  if (given->data) {
    MICA_TRY(mica__run_open_given(run, given->data, given->part, &all, &data));
    return visit_opened(run, data, given->count, fn, user);
  }
  for (size_t i = 0; i < given->file_count; i++) MICA_TRY(visit_table(run, given->files[i], NULL, fn, user));
  return given->file_count ? MICA_OK : mica__fail(MICA_E_INVALID, "give a file, data or a text to predict from");
}

mica_status mica__tables_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return mica__loaded_visit(run, data, LOOKED_AT, name_row, NULL, fn, user);
}

mica_status mica__tables_show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                              const char *caption) {
  mica__text name = {0};
  (void)run;
  mica_status status = name_row(NULL, data, sample, &name);
  if (status == MICA_OK) status = mica_report_add_text(report, name.data, caption);
  mica__text_free(&name);
  return status;
}
