/* The parts of a sample: rows of numbers and classes, texts, pictures. */
#include "data/dataset.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/network.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"
#include "run/tokens.h"
#include "task/input/fuse.h"

#include <mica/model.h>
#include <mica/nodes.h>
#include <stdlib.h>
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

static mica_status fits_rows(const mica_run *run, const mica_dataset *data) {
  const mica__fact_numbers input = mica__common_facts_of(run).input;
  const double numbers = input.count ? input.list[0] : 0;
  const mica_column *x = find(data, "x");
  const double has = x && x->shape.rank == 1 ? (double)x->shape.dim[0] : 0;
  /* Leaves out further columns by name. */
  const bool named = mica_dataset_number_name(data, mica_dataset_column_index(data, "x"), 0) != NULL;
  if (numbers > has || (numbers < has && !named))
    return mica__fail(MICA_E_FORMAT, "%s has %g columns of numbers, but the network was trained on %g",
                      mica_dataset_name(data), has, numbers);
  return mica__run_fits_categories(run, data);
}

static mica_value rows_network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const mica_model_config config = {.name = "mlp", .classes = outputs, .width = 2 * outputs};
  return mica__run_answers(run, mica_model_build(nn, mica__run_inputs(run, batch), &config), outputs);
}

static const mica__input rows = {.name = "rows", .fits = fits_rows, .network = rows_network};

/* --- texts --- */

static bool has_text(const mica_run *run, const mica_dataset *data) {
  bool has = false;
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    has = has || (mica_dataset_column(data, i)->kind == MICA_COLUMN_KIND_TEXT && !data->store->columns[i].paths &&
                  (mica__fuse_is_text(run, data, i) || !mica__fuse_is_series(data, i)));
  return has;
}

/* --- pictures --- */

const char *mica__fuse_model_at(size_t i) {
  static const char *const others[] = {"unet", "detector"};
  const char *name;
  for (size_t k = 0; (name = mica_model_name(k)); k++) {
    const bool other =
        mica_model_family_of(k) != MICA_MODEL_FAMILY_IMAGE || !strcmp(name, others[0]) || !strcmp(name, others[1]);
    if (!other && i-- == 0) return name;
  }
  return NULL;
}

static bool has_picture(const mica_run *run, const mica_dataset *data) {
  (void)run;
  return mica__dataset_find(data, MICA_COLUMN_KIND_IMAGE) != NULL;
}

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
  const mica_model_config config = {.name = mica__fuse_model_at((size_t)mica__fuse_settings_of(run).picture_model),
                                    .classes = outputs};
  return mica__run_answers(run, mica_model_build(nn, mica_batch_value(batch, "image"), &config), outputs);
}

static const mica__input picture = {
    .name = "picture", .opens = opens_picture, .prepare = prepare_picture, .network = picture_network};

/* --- recordings --- */

static bool has_sound(const mica_run *run, const mica_dataset *data) {
  (void)run;
  return mica__dataset_find(data, MICA_COLUMN_KIND_SOUND) != NULL;
}

/* --- all of them --- */

const mica__fuse_part mica__fuse_parts[] = {
    {has_text, &mica__input_tokens, {"text_column", "tokenizer", "vocabulary"}},
    {mica__fuse_has_series, &mica__fuse_series, {"series_column", "series_length", "series_mean", "series_deviation"}},
    {has_picture, &picture, {"picture", "picture_mean", "picture_deviation"}},
    {has_sound, &mica__input_sound, {"rate"}},
    {has_rows, &rows, {NULL}},
    {NULL, NULL, {NULL}}};

bool mica__fuse_has(const mica_run *run, const mica__fuse_part *part) {
  const mica__fact_texts names = mica__fuse_facts_of(run).parts;
  bool has = false;
  for (size_t i = 0; i < names.count; i++) has = has || !strcmp(names.list[i], part->input->name);
  return has;
}

/* MICA_E_FORMAT if the column of that name does not hold files of this kind. */
static mica_status check_files(const mica_dataset *data, mica_column_kind kind, const char *name, const char *what) {
  mica__texts texts = {.data = data, .column = mica_dataset_column_index(data, name)};
  if (mica__dataset_find(data, kind)) return MICA_OK;
  const mica_column *column = mica_dataset_column(data, texts.column);
  if (!column || column->kind != MICA_COLUMN_KIND_TEXT || !mica_dataset_count(data))
    return mica__fail(MICA_E_FORMAT, "%s has no column%s%s%s with names of %ss, which the network was trained on",
                      mica_dataset_name(data), *name ? " '" : "", name, *name ? "'" : "", what);
  mica_status status = mica__texts_read(&texts);
  if (status == MICA_OK)
    status =
        mica__fail(MICA_E_FORMAT, "%s line %llu: column \"%s\" holds \"%.40s\" instead of the name of a %s",
                   mica_dataset_name(data), (unsigned long long)mica_dataset_line(data, 0), name, texts.text, what);
  mica__texts_free(&texts);
  return status;
}

mica_status mica__fuse_fits(const mica_run *run, const mica_dataset *data) {
  const mica__fuse_facts facts = mica__fuse_facts_of(run);
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++) {
    if (!mica__fuse_has(run, p)) continue;
    if (p->input == &picture)
      MICA_TRY(check_files(data, MICA_COLUMN_KIND_IMAGE, facts.picture_column, "picture"));
    else if (p->input == &mica__input_sound)
      MICA_TRY(check_files(data, MICA_COLUMN_KIND_SOUND, facts.sound_column, "recording"));
    else if (p->input->fits)
      MICA_TRY(p->input->fits(run, data));
  }
  return MICA_OK;
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
  /* Shows for the training data how the table was interpreted. */
  if (status == MICA_OK && made != data && *mica_dataset_summary(data))
    status = mica__store_add_summary(made->store, mica_dataset_summary(data));
  if (status != MICA_OK && made != data) mica_dataset_destroy((mica_dataset *)(uintptr_t)made);
  if (status == MICA_OK) *out = made;
  return status;
}
