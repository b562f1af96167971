/* Several inputs of a sample: their columns, and the network that joins their features. */
#include "task/input/fuse.h"
#include "data/dataset.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/columns/rows.h"
#include "run/columns/scale.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/network.h"
#include "run/predict/tables.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <mica/nodes.h>
#include <mica/sequence.h>
#include <string.h>

#define MOST_PARTS 8

static const char *const networks[] = {"encoder", "tagger", "tcn", "cnn_gru", NULL};

static int32_t suits(const mica_dataset *data) {
  bool some = false;
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++) some = some || mica__fuse_part_in(p, NULL, data);
  return some;
}

/* --- data --- */

static void opens(const mica_run *run, mica_dataset_config *config) {
  const bool known = mica__fuse_facts_of(run).parts.count > 0;
  const char *label = mica__common_facts_of(run).label_name;
  config->files = true;
  config->like = run->parts->whole;
  config->label_optional = known && !run->parts->whole;
  if (*label) config->label_column = label;
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++)
    if (p->input->opens && (!known || mica__fuse_has(run, p))) p->input->opens(run, config);
}

static bool reads(const mica_run *run, const mica_dataset *data, size_t column) {
  const mica_column *about = mica_dataset_column(data, column);
  return about->kind == MICA_COLUMN_KIND_IMAGE || about->kind == MICA_COLUMN_KIND_SOUND ||
         data->store->columns[column].paths || !strcmp(about->name, mica__fuse_facts_of(run).text_column) ||
         !strcmp(about->name, mica__fuse_facts_of(run).series_column);
}

static const mica__scale scales[] = {
    {"x", "row_mean", "row_deviation"}, {"image", "picture_mean", "picture_deviation"}, {0}};

/* --- preparation --- */

/* Stores with the run the names of the parts that the data have, and of the columns of texts and files
 * (run/facts.h). */
static mica_status note_parts(mica_run *run) {
  const mica_dataset *data = run->parts->whole;
  const char *names[MOST_PARTS];
  size_t count = 0;
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++)
    if (mica__fuse_part_in(p, run, data)) names[count++] = p->input->name;
  if (!count)
    return mica__fail(
        MICA_E_FORMAT,
        "%s has no inputs: the task %s wants a table of numbers, classes, texts or names of pictures, and "
        "an answer for each row",
        run->data, run->task->name);
  const char *text = mica__fuse_settings_of(run).text;
  if (*text && strcmp(names[0], mica__fuse_parts[0].input->name) != 0)
    return mica__fail(MICA_E_FORMAT, "%s has no column '%s' of texts for the setting text", run->data, text);
  MICA_TRY(mica__run_note(run, "parts", names, count));
  return mica__run_note_files(run);
}

static mica_status prepare(mica_run *run) {
  MICA_TRY(mica__run_set_defaults(run));
  const mica__fuse_settings s = mica__fuse_settings_of(run);
  MICA_TRY(mica__task_check_network(run));
  /* With attention, the join is a Transformer block, so the heads are checked as for the network "encoder". */
  if (s.join == MICA__FUSE_ATTENTION) MICA_TRY(mica__task_check_heads("encoder", s.width, s.heads));
  if (run->parts->whole) MICA_TRY(note_parts(run));
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++)
    if (p->input->prepare && mica__fuse_has(run, p)) MICA_TRY(p->input->prepare(run));
  return run->parts->whole ? mica__run_note_rows(run) : MICA_OK; /* the columns of the parts are known by now */
}

static mica_status complete(mica_run *run, const mica_column *label) {
  MICA_TRY(mica__run_note_answer_name(run, label));
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++)
    if (p->input->complete && mica__fuse_has(run, p)) MICA_TRY(p->input->complete(run, label));
  for (const mica__scale *s = scales; s->column; s++) MICA_TRY(mica__run_note_scale(run, s));
  return MICA_OK;
}

mica_status mica__fuse_checks(const mica_run *run) {
  const mica__fuse_facts facts = mica__fuse_facts_of(run);
  const mica__fact_texts names = facts.parts;
  size_t known = 0;
  if (facts.picture_mean.count && (!facts.picture.count || (double)facts.picture_mean.count != facts.picture.list[0]))
    return mica__fail(MICA_E_FORMAT, "\"picture_mean\" must have one number per channel");
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++) {
    if (!mica__fuse_has(run, p)) continue;
    known++;
    for (size_t i = 0; i < 4 && p->facts[i]; i++)
      if (!mica__run_find_fact(run, p->facts[i]))
        return mica__fail(MICA_E_FORMAT, "\"parts\" has \"%s\", but there is no \"%s\"", p->input->name, p->facts[i]);
  }
  if (known == names.count && known) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "\"parts\" is empty, or names an unknown part of a sample");
}

/* --- the network --- */

/* Joins the features of all parts, (N, parts, width), to (N, width): a Transformer block, in which each part attends to
 * all, then the mean over the parts. */
static mica_value attend(mica_nn *nn, const mica_run *run, mica_value x) {
  const mica__fuse_settings s = mica__fuse_settings_of(run);
  const mica_transformer_config config = {
      .self.heads = s.heads, .dropout = s.dropout, .norms = MICA_BLOCK_NORMS_BEFORE};
  x = mica_nn_transformer(nn, "join", x, (mica_value){0}, &config);
  return mica_mean(mica_nn_layer_norm(nn, "norm", x, NULL), MICA_AXES(1), false);
}

static mica_value build(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs,
                        bool exported) {
  const mica__fuse_settings s = mica__fuse_settings_of(run);
  mica_value features[MOST_PARTS], x;
  size_t count = 0;
  for (const mica__fuse_part *p = mica__fuse_parts; p->input; p++) {
    if (!mica__fuse_has(run, p)) continue;
    mica_nn_push(nn, p->input->name);
    x = (exported && p->input->onnx.network ? p->input->onnx.network : p->input->network)(nn, run, batch, s.width);
    mica_nn_pop(nn);
    features[count++] = s.join == MICA__FUSE_ATTENTION ? mica_unsqueeze(x, MICA_AXES(1)) : mica_relu(x);
  }
  x = mica_concat(features, count, 1);
  x = s.join == MICA__FUSE_ATTENTION ? attend(nn, run, x) : mica_relu(mica_nn_dense(nn, "join", x, 2 * s.width, NULL));
  x = mica_nn_dense(nn, "answers", mica_nn_dropout(nn, x, s.dropout), outputs, NULL);
  return mica__run_answers(run, x, outputs);
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  return build(nn, run, batch, outputs, false);
}

static mica_value exported(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  return build(nn, run, batch, outputs, true);
}

const mica__input mica__input_fuse = {
    .name = "fuse",
    .traits.own_input = true,
    .traits.rows = true,
    .traits.sized = true,
    .suits = suits,
    .opens = opens,
    .reads = reads,
    .prepare = prepare,
    .complete = complete,
    .fits = mica__fuse_fits,
    .views.derive = mica__fuse_derive,
    .scales = scales,
    .networks = networks,
    .network = network,
    .onnx.network = exported,
    .samples.visit = mica__tables_visit,
    .samples.look = mica__tables_look,
    .samples.show = mica__tables_show,
};
