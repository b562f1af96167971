/* The table of all parts of a sample, and the parts for rows of numbers and classes, texts and pictures. */
#include "data/dataset.h"
#include "data/table/number_lists.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/rows.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "task/input/fuse.h"

#include <mica/model.h>
#include <mica/nodes.h>
#include <string.h>

const char *mica__fuse_join_at(size_t i) {
  static const char *const names[] = {"concat", "attention", NULL};
  return names[i];
}

MICA__FIELDS(fuse, FUSE_SETTINGS, FUSE_FACTS);

static const mica_column *find(const mica_dataset *data, const char *name) {
  return mica_dataset_column(data, mica_dataset_column_index(data, name));
}

/* --- rows --- */

static bool has_rows(const mica_run *run, const mica_dataset *data) {
  (void)run;
  const mica_column *label = mica__run_find_label(data);
  bool has = find(data, "x") != NULL;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++) {
    const mica_column *column = mica_dataset_column(data, i);
    has = has || (column != label && column->kind == MICA_COLUMN_KIND_CLASS && column->shape.rank == 0 &&
                  column->classes <= MOST_CLASSES);
  }
  return has;
}

static mica_value rows_network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica_model_config config = {.name = "mlp", .classes = outputs, .width = 2 * outputs};
  return mica__run_answers(run, mica_model_build(nn, mica__run_inputs(run, batch), &config), outputs);
}

static const mica__input rows = {.name = "rows", .fits = mica__run_fits_rows, .network = rows_network};

/* --- texts --- */

static bool has_text(const mica_run *run, const mica_dataset *data) {
  bool has = false;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    has = has || (mica_dataset_column(data, i)->kind == MICA_COLUMN_KIND_TEXT && !data->store->columns[i].paths &&
                  (mica__fuse_is_text(run, data, i) || !mica__number_lists_fill(data, i)));
  return has;
}

/* --- pictures --- */

static mica_status prepare_picture(mica_run *run) {
  if (!run->parts->whole) return MICA_OK;
  const mica_column *image = mica__dataset_find(run->parts->whole, MICA_COLUMN_KIND_IMAGE);
  const double dims[] = {(double)image->shape.dim[0], (double)image->shape.dim[1], (double)image->shape.dim[2]};
  return mica__run_note_numbers(run, "picture", dims, 3);
}

static void opens_picture(const mica_run *run, mica_dataset_config *config) {
  const mica__fact_numbers sides = mica__fuse_facts_of(run).picture;
  if (sides.count != 3) return;
  config->channels = (int32_t)sides.list[0];
  config->height = (int32_t)sides.list[1];
  config->width = (int32_t)sides.list[2];
}

static mica_value picture_network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica_model_config config = {
      .name = mica__run_picture_model_at((size_t)mica__fuse_settings_of(run).picture_model), .classes = outputs};
  return mica__run_answers(run, mica_model_build(nn, mica_batch_value(batch, "image"), &config), outputs);
}

static const mica__input picture = {
    .name = "picture", .opens = opens_picture, .prepare = prepare_picture, .network = picture_network};

/* --- the table of parts --- */

const mica__fuse_part mica__fuse_parts[] = {
    {has_text, .input = &mica__input_tokens, .facts = {"text_column", "tokenizer", "vocabulary"}},
    {mica__fuse_has_series, .input = &mica__fuse_series,
     .facts = {"series_column", "series_length", "series_mean", "series_deviation"}},
    {.kind = MICA_COLUMN_KIND_IMAGE,
     .files = "picture",
     .input = &picture,
     .facts = {"picture", "picture_mean", "picture_deviation"}},
    {.kind = MICA_COLUMN_KIND_SOUND, .files = "recording", .input = &mica__input_sound, .facts = {"rate"}},
    {has_rows, .input = &rows},
    {.input = NULL}};

bool mica__fuse_part_in(const mica__fuse_part *part, const mica_run *run, const mica_dataset *data) {
  return part->files ? mica__dataset_find(data, part->kind) != NULL : part->in(run, data);
}

bool mica__fuse_has(const mica_run *run, const mica__fuse_part *part) {
  const mica__fact_texts names = mica__fuse_facts_of(run).parts;
  bool has = false;
  for (size_t i = 0; i < names.count; i++) has = has || !strcmp(names.list[i], part->input->name);
  return has;
}

mica_status mica__fuse_fits(const mica_run *run, const mica_dataset *data) {
  const mica__fuse_facts facts = mica__fuse_facts_of(run);
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++) {
    const char *column = p->kind == MICA_COLUMN_KIND_IMAGE ? facts.picture_column : facts.sound_column;
    if (!mica__fuse_has(run, p)) continue;
    MICA_TRY(p->files ? mica__run_fits_files(data, p->kind, column, p->files) : p->input->fits(run, data));
  }
  return MICA_OK;
}

/* Adds a summary of how the table was read. The reader of tables calls a column of series a text; the summary calls it
 * series. */
static mica_status add_summary(const mica_run *run, const mica_dataset *data, mica__store *store) {
  const char *summary = mica_dataset_summary(data), *series = mica__fuse_facts_of(run).series_column;
  mica__text text = {0}, read = {0};
  if (!*summary) return MICA_OK;
  mica__text_addf(&read, "text '%s'", series);
  mica_status status = mica__text_status(&read);
  const char *at = status == MICA_OK && *series ? strstr(summary, read.data) : NULL;
  if (at)
    mica__text_addf(&text, "%.*sseries '%s'%s", (int)(at - summary), summary, series, at + read.length);
  else
    mica__text_add(&text, summary);
  if (status == MICA_OK) status = mica__text_status(&text);
  if (status == MICA_OK) status = mica__store_add_summary(store, text.data);
  mica__text_free(&read);
  mica__text_free(&text);
  return status;
}

mica_status mica__fuse_derive(mica_run *run, mica_part part, const mica_dataset *data, const mica_dataset **out) {
  const mica_dataset *made = data;
  mica_status status = MICA_OK;
  for (const mica__fuse_part *p = mica__fuse_parts; status == MICA_OK && p->input; p++) {
    const mica_dataset *next = NULL;
    if (!p->input->views.derive || !mica__fuse_has(run, p)) continue;
    status = p->input->views.derive(run, part, made, &next);
    if (status == MICA_OK && made != data && next != made) mica_dataset_destroy((mica_dataset *)(uintptr_t)made);
    if (status == MICA_OK) made = next;
  }
  if (status == MICA_OK && made != data) status = add_summary(run, data, made->store);
  if (status != MICA_OK && made != data) mica_dataset_destroy((mica_dataset *)(uintptr_t)made);
  if (status == MICA_OK) *out = made;
  return status;
}
