/* Molecules and nodes to predict, and those that a report shows. */
#include "base/text.h"
#include "data/dataset.h"
#include "data/source.h"
#include "data/table/table.h"
#include "run/common_facts.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/parts.h"
#include "run/predict/truths.h"
#include "run/run.h"
#include "run/tokens.h"
#include "task/input/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many samples a report shows. */
#define LOOKED_AT 5000

/* A walk over samples: their names, their known answers, and where their outputs go. */
typedef struct walk {
  mica_run *run;
  const mica_dataset *data;
  uint64_t at, end;
  mica__truths truths;
  bool known; /* data have answers */
  double *truth;
  mica__texts names, others;
  mica__sample_fn *fn;
  void *user;
} walk;

static mica_status give(walk *w, const float *outputs) {
  mica__text name = {0};
  w->names.at = w->others.at = w->at;
  MICA_TRY(mica__texts_read(&w->names));
  mica__text_add(&name, w->names.text);
  if (w->others.data) MICA_TRY(mica__texts_read(&w->others));
  if (w->others.data) mica__text_addf(&name, " %s", w->others.text);
  mica_status status = mica__text_status(&name);
  for (size_t k = 0; k < mica__truth_count(w->run); k++) w->truth[k] = (double)NAN;
  if (status == MICA_OK && w->known) status = mica__truths_read(&w->truths, w->at, w->truth);
  const mica__sample sample = {.name = name.data, .truths = w->truth};
  if (status == MICA_OK) status = w->fn(w->run, &sample, outputs, w->user);
  mica__text_free(&name);
  w->at++;
  return status;
}

/* Predicts batch by batch in the order of the data. */
static mica_status infer(walk *w, mica_loader *loader) {
  const mica_batch_source source = mica_loader_source(loader);
  const size_t width = (size_t)w->run->task->head->outputs(w->run);
  mica_queue *queue = mica_engine_queue(w->run->engine);
  mica_status status = MICA_OK;
  while (status == MICA_OK && w->at < w->end) {
    mica_batch batch;
    MICA_TRY(source.next(source.user, queue, &batch));
    if (!batch.count) break;
    float *outputs = malloc((size_t)batch.count * width * sizeof *outputs + 1);
    status = outputs ? mica_trainer_predict(w->run->trainer, &batch) : mica__fail_nomem("predictions");
    if (status == MICA_OK)
      status = mica_tensor_download(queue, mica_trainer_output(w->run->trainer, w->run->task->head->output), outputs,
                                    (size_t)batch.count * width * sizeof *outputs);
    for (int64_t i = 0; status == MICA_OK && i < batch.count && w->at < w->end; i++)
      status = give(w, outputs + (size_t)i * width);
    free(outputs);
  }
  return status;
}

static mica_status visit_derived(mica_run *run, const mica_dataset *data, uint64_t most, bool known,
                                 mica__sample_fn *fn, void *user) {
  const uint64_t all = mica_dataset_count(data);
  const bool pairs = !strcmp(mica__graph_facts_of(run).sample_column, "other");
  const char *column = pairs ? "node" : mica__graph_facts_of(run).sample_column;
  walk w = {.run = run, .data = data, .end = most && most < all ? most : all, .known = known, .fn = fn, .user = user};
  mica_dataset *shown = NULL;
  mica_loader *loader = NULL;
  w.names = (mica__texts){.data = data, .column = mica_dataset_column_index(data, column)};
  if (pairs) w.others = (mica__texts){.data = data, .column = mica_dataset_column_index(data, "other")};
  w.truth = calloc(mica__truth_count(run) + 1, sizeof *w.truth);
  mica_status status = w.truth ? MICA_OK : mica__fail_nomem("predictions");
  if (status == MICA_OK && known) status = mica__truths_open(run, data, &w.truths);
  if (status == MICA_OK) status = mica__run_load(run, MICA_PART_TEST, data, MICA_RESIDENCE_AUTO, &shown, &loader);
  if (status == MICA_OK) status = infer(&w, loader);
  mica_loader_destroy(loader);
  mica_dataset_destroy(shown);
  mica__truths_close(&w.truths);
  mica__texts_free(&w.names);
  mica__texts_free(&w.others);
  free(w.truth);
  return status;
}

static mica_status visit_data(mica_run *run, const mica_dataset *data, uint64_t most, bool known, mica__sample_fn *fn,
                              void *user) {
  const mica_dataset *made = NULL;
  MICA_TRY(mica__graph_derive(run, MICA_PART_TEST, data, &made));
  mica_status status = visit_derived(run, made, most, known, fn, user);
  mica_dataset_destroy((mica_dataset *)made);
  return status;
}

/* Visits the samples of a file, or of a part of a folder. */
static mica_status visit_path(mica_run *run, const char *path, mica_part part, int64_t count, mica__sample_fn *fn,
                              void *user) {
  mica_dataset *data = NULL;
  bool all = false;
  MICA_TRY(mica__run_open_given(run, path, part, &all, &data));
  const char *label = mica__common_facts_of(run).label_column;
  const bool known = mica_dataset_column(data, mica_dataset_column_index(data, label)) != NULL;
  mica_status status = run->task->fits(run, data);
  if (status == MICA_OK) status = visit_data(run, data, count > 0 ? (uint64_t)count : 0, known, fn, user);
  mica_dataset_destroy(data);
  return status;
}

/* One name per line: SMILES strings, or nodes. */
static mica_status visit_lines(mica_run *run, const char *name, const char *text, mica__sample_fn *fn, void *user) {
  const char *column = mica__graph_facts_of(run).sample_column;
  const size_t bytes = strlen(text);
  int64_t *ends = calloc(bytes + 2, sizeof *ends);
  char *joined = malloc(bytes + 1);
  uint64_t count = 0;
  mica_dataset *data = NULL;
  mica_status status = ends && joined ? MICA_OK : mica__fail_nomem("samples");
  if (status == MICA_OK && !strcmp(column, "other"))
    status = mica__fail(MICA_E_INVALID, "%s: give pairs of nodes as a table with the columns node and other", name);
  for (size_t at = 0; status == MICA_OK && at < bytes;) {
    const size_t length = strcspn(text + at, "\r\n");
    if (length) memcpy(joined + ends[count], text + at, length);
    if (length) ends[count + 1] = ends[count] + (int64_t)length, count++;
    at += length + 1;
  }
  if (status == MICA_OK && !count) status = mica__fail(MICA_E_FORMAT, "%s is empty", name);
  const mica_column_data texts = {
      .column = {column, MICA_COLUMN_KIND_TEXT, MICA_U8, {1, {MICA_DYNAMIC}}, 0}, .data = joined, .offsets = ends};
  if (status == MICA_OK) status = mica_dataset_create(name, count, &texts, 1, &data);
  if (status == MICA_OK) status = visit_data(run, data, 0, false, fn, user);
  mica_dataset_destroy(data);
  free(ends);
  free(joined);
  return status;
}

/* --- tables without answers --- */

/* The samples of a table: the names in one column, or in two, one column after the other. */
typedef struct listed {
  const char *columns[2];
  size_t column_count, at[2]; /* at: the positions of the columns in the table */
  mica__text texts[2];
  int64_t *ends[2];
  uint64_t count, room;
} listed;

static void free_listed(listed *l) {
  for (int c = 0; c < 2; c++) {
    mica__text_free(&l->texts[c]);
    free(l->ends[c]);
  }
}

static mica_status make_more_room(listed *l) {
  l->room = 2 * l->room + 256;
  for (int c = 0; c < 2; c++) {
    int64_t *ends = realloc(l->ends[c], (size_t)(l->room + 1) * sizeof *ends);
    if (!ends) return mica__fail_nomem("samples");
    l->ends[c] = ends;
    ends[0] = 0;
  }
  return MICA_OK;
}

static mica_status add_listed(listed *l, const mica__records *r, size_t width) {
  if (r->count != width)
    return mica__fail(MICA_E_FORMAT, "%s line %zu has %zu columns, the first line has %zu", r->name, r->line, r->count,
                      width);
  if (l->count == l->room) MICA_TRY(make_more_room(l));
  for (size_t c = 0; c < l->column_count; c++) {
    const mica__cell cell = r->cells[l->at[c]];
    char *text = malloc(cell.length + 1);
    if (!text) return mica__fail_nomem("samples");
    mica__text_add_bytes(&l->texts[c], text, mica__cell_unquote(cell, text));
    free(text);
    MICA_TRY(mica__text_status(&l->texts[c]));
    l->ends[c][l->count + 1] = (int64_t)l->texts[c].length;
  }
  l->count++;
  return MICA_OK;
}

/* *found: the table has the columns that name samples, and none of answers. */
static mica_status list_table(const mica_run *run, mica__records *r, listed *l, bool *found) {
  bool more = false, answered = true;
  size_t there[2] = {0}, width;
  *found = false;
  MICA_TRY(mica__records_find_delimiter(r));
  MICA_TRY(mica__records_next(r, &more));
  if (!more) return MICA_OK;
  width = r->count;
  for (size_t k = 0; k < mica__truth_count(run); k++) {
    bool here = false;
    for (size_t i = 0; i < width; i++) here = here || mica__cell_is(r->cells[i], mica__truth_name(run, k), true);
    answered = answered && here;
  }
  for (size_t c = 0; c < l->column_count; c++)
    for (size_t i = width; i-- > 0;)
      if (mica__cell_is(r->cells[i], l->columns[c], true)) l->at[c] = i, there[c] = 1;
  *found = !answered && there[0] && (l->column_count == 1 || there[1]);
  MICA_TRY(mica__records_next(r, &more));
  while (*found && more) {
    MICA_TRY(add_listed(l, r, width));
    MICA_TRY(mica__records_next(r, &more));
  }
  return *found && !l->count ? mica__fail(MICA_E_FORMAT, "%s holds no row", r->name) : MICA_OK;
}

/* Predicts from a table without answers. *found is false if it has answers. */
static mica_status visit_unanswered(mica_run *run, const char *path, mica__sample_fn *fn, void *user, bool *found) {
  const char *column = mica__graph_facts_of(run).sample_column;
  const bool pairs = !strcmp(column, "other");
  listed l = {.columns = {pairs ? "node" : column, "other"}, .column_count = pairs ? 2 : 1};
  uint8_t *content = NULL;
  size_t size = 0;
  mica_dataset *data = NULL;
  MICA_TRY(mica__content_read(path, &content, &size));
  mica__records r = mica__records_in(path, (char *)content, size);
  mica_status status = list_table(run, &r, &l, found);
  mica__records_free(&r);
  free(content);
  mica_column_data texts[2];
  for (int c = 0; c < 2; c++)
    texts[c] = (mica_column_data){.column = {l.columns[c], MICA_COLUMN_KIND_TEXT, MICA_U8, {1, {MICA_DYNAMIC}}, 0},
                                  .data = l.texts[c].data,
                                  .offsets = l.ends[c]};
  if (status == MICA_OK && *found) status = mica_dataset_create(path, l.count, texts, l.column_count, &data);
  if (status == MICA_OK && *found) status = visit_data(run, data, 0, false, fn, user);
  mica_dataset_destroy(data);
  free_listed(&l);
  return status;
}

static mica_status visit_file(mica_run *run, const char *path, mica__sample_fn *fn, void *user) {
  uint8_t *content = NULL;
  size_t size = 0;
  if (mica__name_ends(path, ".csv") || mica__name_ends(path, ".tsv")) {
    bool found = false;
    MICA_TRY(visit_unanswered(run, path, fn, user, &found));
    return found ? MICA_OK : visit_path(run, path, MICA_PART_TEST, 0, fn, user);
  }
  MICA_TRY(mica__content_read(path, &content, &size));
  mica_status status = memchr(content, '\0', size) ? mica__fail(MICA_E_FORMAT, "%s is not a text", path)
                                                   : visit_lines(run, path, (const char *)content, fn, user);
  free(content);
  return status;
}

mica_status mica__graph_visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->data) return visit_path(run, given->data, given->part, given->count, fn, user);
  if (given->text) return visit_lines(run, given->name ? given->name : "the text", given->text, fn, user);
  for (size_t i = 0; i < given->file_count; i++) MICA_TRY(visit_file(run, given->files[i], fn, user));
  return given->file_count ? MICA_OK : mica__fail(MICA_E_INVALID, "there is nothing to predict from");
}

mica_status mica__graph_look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_data(run, data, LOOKED_AT, true, fn, user);
}

mica_status mica__graph_show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t sample,
                             const char *caption) {
  mica__texts texts = {
      .data = data, .column = mica_dataset_column_index(data, mica__graph_facts_of(run).sample_column), .at = sample};
  mica_status status = mica__texts_read(&texts);
  if (status == MICA_OK) status = mica_report_add_text(report, caption, texts.text);
  mica__texts_free(&texts);
  return status;
}
