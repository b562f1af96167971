/* Input of pictures or of rows of tables. The dataset holds each picture, or all numbers of a row, in one column, and
 * each input that is a class in a column of its own. */
#include "task/input/sample.h"
#include "run/columns/categories.h"
#include "run/columns/columns.h"
#include "run/fields.h"
#include "run/network.h"
#include "run/parts.h"
#include "run/predict/samples.h"
#include "run/puzzle.h"
#include "run/run.h"
#include "run/state/parts.h"
#include "run/verbs/published.h"

#include <stdlib.h>

#define AT_A_TIME 250
/* Maximum number of samples that a report evaluates, to show some of them. */
#define LOOKED_AT 2000

MICA__SETTINGS_STRUCT(sample, SAMPLE_SETTINGS);
MICA__SETTINGS(sample, SAMPLE_SETTINGS);

static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 10;
}

static mica_status prepare(mica_run *run) {
  const mica_column *label = NULL;
  MICA_TRY(mica__published_open(run, true));
  if (!run->parts->whole) return MICA_OK;
  MICA_TRY(mica__run_note_columns(run, &label));
  MICA_TRY(mica__run_check_puzzle(run, settings_of(run).puzzle));
  return mica__run_check_size(run);
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  if (mica_nn_is_training(nn)) mica__run_puzzle(nn, run, batch, outputs, settings_of(run).puzzle);
  return mica__run_network(run, nn, mica__run_inputs(run, batch), outputs);
}

/* Runs `count` samples from `from` on through the network at once, and visits each. */
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
