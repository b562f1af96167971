/* Pictures and rows of tables: one column of numbers, and columns of classes beside it. */
#include "task/input/sample.h"
#include "ir/graph.h"
#include "networks/puzzle.h"
#include "nn/nn.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/common_facts.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/fields.h"
#include "run/network.h"
#include "run/parts.h"
#include "run/predict/samples.h"
#include "run/ranks.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "run/verbs/published.h"

#include <mica/nodes.h>
#include <stdlib.h>

#define AT_A_TIME 250
/* How many samples a report shows. */
#define LOOKED_AT 2000
#define LOSS_SCALE 1024.0

MICA__SETTINGS_STRUCT(sample, SAMPLE_SETTINGS);
MICA__SETTINGS(sample, SAMPLE_SETTINGS);

static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 10;
}

/* PuzzleMix needs pictures that can be cut into equal blocks, and samples that are not mixed already. */
static mica_status check_puzzle(const mica_run *run) {
  const long long blocks = (long long)settings_of(run).puzzle;
  const mica_shape shape = mica_dataset_shape(run->parts->whole);
  mica_augment_config augment;
  if (!blocks) return MICA_OK;
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &augment));
  if (shape.rank != 3 || mica__run_categories(run))
    return mica__fail(MICA_E_INVALID, "puzzle mixes pictures, but %s has rows", run->data);
  if (blocks < 2 || shape.dim[1] % blocks || shape.dim[2] % blocks)
    return mica__fail(
        MICA_E_INVALID,
        "puzzle %lld: pictures of %lld x %lld pixels cannot be cut into that many blocks per side; choose "
        "a divisor of both from 2 on, or another --size",
        blocks, (long long)shape.dim[1], (long long)shape.dim[2]);
  if (augment.mixup > 0 || augment.cutmix > 0)
    return mica__fail(MICA_E_INVALID, "%s and puzzle both mix pictures; choose one",
                      augment.mixup > 0 ? "mixup" : "cutmix");
  if (mica__run_is_divided(run))
    return mica__fail(MICA_E_UNSUPPORTED, "puzzle does not work with a network that is divided among ranks");
  return MICA_OK;
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  MICA_TRY(mica__published_open(run, true));
  if (!run->parts->whole) return MICA_OK;
  MICA_TRY(mica__run_note_columns(run, &label));
  MICA_TRY(check_puzzle(run));
  return mica__run_check_size(run);
}

/* PuzzleMix: the gradient of the clean pictures' loss decides how they are mixed. */
static void mix(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs, int64_t blocks) {
  const char *input = mica__common_facts_of(run).input_column, *label = mica__common_facts_of(run).label_column;
  mica__puzzle_batch b = {mica_batch_value(batch, input), mica_batch_value(batch, label), outputs};
  mica_objective clean = {0};
  mica_value gradient;
  mica__nn_first_pass_begin(nn);
  run->task->head->step(nn, run, mica__run_network(run, nn, mica__run_inputs(run, batch), outputs), batch, &clean);
  mica__nn_first_pass_end(nn);
  if (!clean.loss.graph) return;
  /* 16-bit types would round gradients of single pixels to 0. */
  const mica_status status = mica_gradients(mica_affine(clean.loss, LOSS_SCALE, 0), &b.x, 1, &gradient);
  if (status != MICA_OK) {
    mica__graph_fail_with(nn->graph, status);
    return;
  }
  mica__puzzle_mix(gradient, mica__puzzle_share(nn, (uint64_t)mica__common_settings_of(run).seed), blocks, &b);
  mica__batch_replace(batch, input, b.x);
  mica__batch_replace(batch, label, b.y);
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  const int64_t blocks = settings_of(run).puzzle;
  if (mica_nn_is_training(nn) && blocks) mix(nn, run, batch, outputs, blocks);
  return mica__run_network(run, nn, mica__run_inputs(run, batch), outputs);
}

/* Visits `count` samples from `from` on, which run through the network together. */
static mica_status visit_some(mica_run *run, const mica__samples *s, int64_t from, int64_t count, float *outputs,
                              mica__sample_fn *fn, void *user) {
  const int64_t width = run->task->head->outputs(run);
  MICA_TRY(mica__samples_infer(run, s, from, count, run->task->head->output, width, outputs));
  for (int64_t i = 0; i < count; i++) {
    const mica__sample sample = {.name = s->names[from + i],
                                 .truths = s->truths + (size_t)(from + i) * s->truth_count,
                                 .pixels = s->pixels[from + i]};
    MICA_TRY(fn(run, &sample, outputs + i * width, user));
  }
  return MICA_OK;
}

static mica_status visit_all(mica_run *run, const mica__samples *s, float *outputs, mica__sample_fn *fn, void *user) {
  mica_status status = MICA_OK;
  for (int64_t from = 0; status == MICA_OK && from < s->count; from += AT_A_TIME)
    status = visit_some(run, s, from, s->count - from < AT_A_TIME ? s->count - from : AT_A_TIME, outputs, fn, user);
  return status;
}

static mica_status make_room(const mica_run *run, float **outputs) {
  *outputs = malloc((size_t)(AT_A_TIME * run->task->head->outputs(run)) * sizeof **outputs);
  return *outputs ? MICA_OK : mica__fail_nomem("predictions");
}

static mica_status visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  mica__samples samples = {0};
  float *outputs = NULL;
  mica_status status = mica__samples_read(run, given, &samples);
  if (status == MICA_OK) status = make_room(run, &outputs);
  if (status == MICA_OK) status = visit_all(run, &samples, outputs, fn, user);
  mica__samples_free(&samples);
  free(outputs);
  return status;
}

static mica_status look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  const int64_t all = (int64_t)mica_dataset_count(data);
  float *outputs = NULL;
  mica_status status = make_room(run, &outputs);
  for (int64_t from = 0; status == MICA_OK && from < all && from < LOOKED_AT; from += AT_A_TIME) {
    mica__samples s = {0};
    status = mica__samples_of(run, data, (uint64_t)from, all - from < AT_A_TIME ? all - from : AT_A_TIME, &s);
    if (status == MICA_OK) status = visit_all(run, &s, outputs, fn, user);
    mica__samples_free(&s);
  }
  free(outputs);
  return status;
}

static mica_status show(mica_run *run, mica_report *report, const mica_dataset *data, uint64_t at,
                        const char *caption) {
  mica__samples s = {0};
  mica_status status = mica__samples_of(run, data, at, 1, &s);
  const mica__sample sample = {.name = s.names ? s.names[0] : NULL, .pixels = s.pixels ? s.pixels[0] : NULL};
  if (status == MICA_OK)
    status = sample.pixels ? mica__sample_add_picture(run, report, &sample, sample.name, caption)
                           : mica_report_add_text(report, sample.name, caption);
  mica__samples_free(&s);
  return status;
}

const mica__input mica__input_sample = {
    .name = "sample",
    .traits.sized = true,
    .traits.by_samples = true,
    .suits = suits,
    .prepare = prepare,
    .fits = mica__run_fits_input,
    .network = network,
    .samples.visit = visit,
    .samples.look = look,
    .samples.show = show,
};
