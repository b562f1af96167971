/* Recordings: log mel spectra of their middle part, and a network of depthwise separable convolutions over them (Zhang
 * et al. 2017). */
#include "task/input/sound.h"
#include "data/dataset.h"
#include "run/columns/columns.h"
#include "run/common_fields.h"
#include "run/evaluation.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/network.h"
#include "run/predict/samples.h"
#include "run/predict/truths.h"
#include "run/predict/visits.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/evaluation.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 4
/* The mel power of any sound is above this, and that of rounding to 16 bits is below. */
#define LEAST_POWER 1e-7
/* Everything this far below the loudest value counts as silence (50 dB); then the mean and the deviation of speech on
 * this scale. */
#define RANGE 1e5
#define CENTRE 7.0
#define DEVIATION 3.0
/* How many recordings a report shows. */
#define LOOKED_AT 500

static const char *const networks[] = {"dscnn", "cnn_gru", NULL};

MICA__SETTINGS(sound, SOUND_SETTINGS);
MICA__FACTS(sound, SOUND_FACTS, 2);

static int32_t suits(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_SOUND) ? 20 : 0; }

/* --- data --- */

static void opens(const mica_run *run, mica_dataset_config *config) {
  config->like = run->parts->whole;
  const double rate = facts_of(run).rate;
  config->rate = (int32_t)(rate > 0 ? rate : (double)settings_of(run).rate);
}

/* --- preparation --- */

static mica_status prepare(mica_run *run) {
  const double zero = 0, one = 1;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  /* If there are texts too, the setting "model" may be encoder; recordings then use dscnn. */
  if (!strcmp(mica__common_settings_of(run).model, "cnn_gru"))
    MICA_TRY(mica__task_check_heads("cnn_gru", settings_of(run).width, 0));
  if (!run->parts->whole) return MICA_OK;
  const mica_column *sound = mica__dataset_find(run->parts->whole, MICA_COLUMN_KIND_SOUND);
  const mica_column *label = mica__run_find_label(run->parts->whole);
  const double rate = mica_dataset_rate(run->parts->whole);
  if (!sound || label == sound)
    return mica__fail(MICA_E_FORMAT, "%s has no %s: the task %s wants an answer for each recording", run->data,
                      sound ? "answers" : "recordings", run->task->name);
  if (rate < 1000)
    return mica__fail(MICA_E_FORMAT, "%s: %g samples a second are no speech; --rate sets others", run->data, rate);
  const double input[] = {1, floor(rate * settings_of(run).seconds)};
  MICA_TRY(mica__run_note_numbers(run, "rate", &rate, 1));
  /* If a task has rows beside recordings, the fact "input" describes the rows. */
  if (run->task->input->traits.rows) return MICA_OK;
  MICA_TRY(mica__run_note_numbers(run, "input", input, 2));
  MICA_TRY(mica__run_note_numbers(run, "mean", &zero, 1));
  MICA_TRY(mica__run_note_numbers(run, "deviation", &one, 1));
  return mica__run_note_text(run, "input_column", sound->name);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  (void)run;
  if (mica__dataset_find(data, MICA_COLUMN_KIND_SOUND)) return MICA_OK;
  return mica__fail(MICA_E_FORMAT, "%s has no recordings, which the run is about", mica_dataset_name(data));
}

/* --- the network --- */

/* The middle of each recording (N, T): `length` samples, with zeros around it; training shifts it. */
static mica_value middles(mica_nn *nn, const mica_run *run, mica_value x, mica_value lengths, int64_t length) {
  const double most = settings_of(run).shift * facts_of(run).rate;
  mica_value count = mica_unsqueeze(mica_cast(lengths, MICA_F32), MICA_AXES(1));
  mica_value start = mica_affine(count, 0.5, -0.5 * (double)length);
  if (mica_nn_is_training(nn) && most >= 1)
    start = mica_add(start, mica_random_uniform(mica_nn_step(nn), start, 17, -most, most));
  mica_value at =
      mica_add(mica_reshape(mica_range(x.graph, MICA_F32, length), MICA_SHAPE(1, length)), mica_floor(start));
  mica_value inside = mica_logical_and(mica_greater_equal(at, mica_full_like(at, 0)), mica_less(at, count));
  mica_value index = mica_cast(mica_where(inside, at, mica_full_like(at, 0x1p30)), MICA_I64);
  return mica_gather_elements(x, index, 1);
}

/* Log mel spectra (N, 1, mels, frames), from 0 at the loudest value of a recording down to -log(RANGE), in multiples of
 * DEVIATION about CENTRE. Neither the loudness nor the surrounding zeros have an influence. */
static mica_value features(mica_nn *nn, const mica_run *run, mica_value x) {
  const double rate = facts_of(run).rate;
  const mica__sound_settings settings = settings_of(run);
  mica_mel_config c = {.rate = rate, .mels = settings.mels, .low = 20};
  c.stft.length = 1;
  while ((double)c.stft.length < rate * 0.025) c.stft.length *= 2;
  c.stft.hop = (int64_t)(rate * 0.01);
  mica_value power = mica_mel(x, &c);
  mica_value loudest = mica_affine(mica_max(power, MICA_AXES(1, 2), true), 1, LEAST_POWER);
  mica_value y = mica_log(mica_affine(mica_div(power, loudest), 1, 1 / RANGE));
  y = mica_affine(y, 1 / DEVIATION, CENTRE / DEVIATION);
  const int64_t masks = settings.masks;
  if (mica_nn_is_training(nn) && masks > 0)
    y = mica_spec_augment(y, mica_nn_step(nn),
                          &(mica_spec_augment_config){.frequency_masks = masks,
                                                      .frequency_width = c.mels / 6,
                                                      .time_masks = masks,
                                                      .time_width = 12,
                                                      .seed = 23});
  return mica_unsqueeze(y, MICA_AXES(1));
}

static mica_value normed(mica_nn *nn, const char *name, mica_value x) {
  return mica_relu(mica_nn_batch_norm(nn, name, x, NULL));
}

/* The mel powers of a frame are one step of a sequence. */
static mica_value sequence_answers(mica_nn *nn, const mica_run *run, mica_value x, int64_t outputs) {
  const mica_model_config config = {.name = "cnn_gru",
                                    .classes = outputs,
                                    .width = settings_of(run).width,
                                    .dropout = settings_of(run).dropout,
                                    .sequence.pooled = true};
  return mica__run_answers(
      run, mica_model_build(nn, mica_transpose(mica_squeeze(x, MICA_AXES(1)), MICA_AXES(0, 2, 1)), &config), outputs);
}

static mica_value answers(mica_nn *nn, const mica_run *run, mica_value x, int64_t outputs) {
  const mica__sound_settings settings = settings_of(run);
  if (!strcmp(mica__common_settings_of(run).model, "cnn_gru")) return sequence_answers(nn, run, x, outputs);
  const int64_t width = settings.width;
  x = mica_nn_conv(
      nn, "conv", x, width, 3,
      &(mica_nn_conv_config){.window = {4, 10}, .how = {.stride = {2, 2}, .pad = {1, 4}}, .no_bias = true});
  x = normed(nn, "norm", x);
  for (int k = 0; k < BLOCKS; k++) {
    char name[16];
    snprintf(name, sizeof name, "block%d", k);
    mica_nn_push(nn, name);
    x = mica_nn_conv(nn, "depthwise", x, width, 3,
                     &(mica_nn_conv_config){.how = {.stride = {k ? 1 : 2, k ? 1 : 2}, .pad = {1, 1}, .groups = width},
                                            .no_bias = true});
    x = normed(nn, "norm1", x);
    x = normed(nn, "norm2", mica_nn_conv(nn, "pointwise", x, width, 1, &(mica_nn_conv_config){.no_bias = true}));
    mica_nn_pop(nn);
  }
  x = mica_mean(x, MICA_AXES(2, 3), false);
  return mica_nn_dense(nn, "classes", mica_nn_dropout(nn, x, settings.dropout), outputs, NULL);
}

/* How many samples of a recording are valid. */
static int64_t heard(const mica_run *run) { return (int64_t)floor(facts_of(run).rate * settings_of(run).seconds); }

static mica_value hears(mica_nn *nn, const mica_run *run, const mica_batch_values *batch) {
  const mica_value x = mica_batch_value(batch, "sound"), lengths = mica_batch_value(batch, "sound.length");
  return middles(nn, run, x, lengths, heard(run));
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  return answers(nn, run, features(nn, run, hears(nn, run, batch)), outputs);
}

/* An exported model reads whole recordings (N, T) of any length T, without lengths and random numbers. The surrounding
 * zeros are made by a mask, because ONNX does not define indices beyond the samples. */
static const mica_batch_column columns[] = {{"sound", MICA_F32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};

static mica_value whole_middles(mica_value x, int64_t length) {
  /* The tensor of ones is computed from x, because the shape of x may be open if the model is part of a graph. */
  mica_value ones = mica_affine(mica_clip(x, 0, 0), 1, 1);
  mica_value count = mica_max(mica_sum(ones, MICA_AXES(1), false), MICA_AXES(0), false);
  mica_value start = mica_floor(mica_affine(count, 0.5, -0.5 * (double)length));
  mica_value at = mica_add(mica_range(x.graph, MICA_F32, length), start);
  mica_value kept = mica_maximum(mica_minimum(at, mica_affine(count, 1, -1)), mica_full_like(at, 0));
  mica_value y = mica_gather(x, mica_cast(kept, MICA_I64), 1);
  return mica_mul(y, mica_cast(mica_equal(at, kept), MICA_F32));
}

static mica_value exported(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  mica_value x = whole_middles(mica_batch_value(batch, "sound"), heard(run));
  return answers(nn, run, features(nn, run, x), outputs);
}

/* --- predictions --- */

/* The true answers of a sample, all unknown; NULL if memory is short. */
static double *make_truths(const mica_run *run) {
  const size_t count = mica__truth_count(run);
  double *truths = malloc((count + 1) * sizeof *truths);
  for (size_t k = 0; truths && k < count; k++) truths[k] = (double)NAN;
  return truths;
}

static mica_status visit_one(mica_run *run, const char *name, const float *samples, int64_t length,
                             const double *truths, mica__sample_fn *fn, void *user) {
  const mica__sample sample = {.name = name, .truths = truths};
  return mica__visit_sound(run, &sample, samples, length, run->task->head->outputs(run), fn, user);
}

static mica_status visit_files(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  const int32_t *classes = mica__truth_count(run) == 1 ? run->evaluation->file_classes : NULL;
  double *truths = make_truths(run);
  mica_status status = truths ? MICA_OK : mica__fail_nomem("predictions");
  for (size_t i = 0; status == MICA_OK && i < given->file_count; i++) {
    float *samples = NULL;
    int64_t length = 0;
    status = mica_sound_read(given->files[i], (int32_t)facts_of(run).rate, &samples, &length, NULL);
    if (status != MICA_OK) {
      status = mica__run_pass_file(run, given, given->files[i], status);
      continue;
    }
    if (classes) truths[0] = classes[i] < 0 ? (double)NAN : (double)classes[i];
    status = visit_one(run, given->files[i], samples, length, truths, fn, user);
    mica_free(samples);
  }
  free(truths);
  return status;
}

static mica_status visit_sample(mica_run *run, const mica_dataset *data, uint64_t i, const double *truths,
                                mica__sample_fn *fn, void *user) {
  float *samples = NULL;
  int64_t length = 0;
  char *name = mica__sample_name(data, i);
  mica_status status = name ? mica__sound_of(data, i, &samples, &length) : mica__fail_nomem("predictions");
  if (status == MICA_OK) status = visit_one(run, name, samples, length, truths, fn, user);
  free(samples);
  free(name);
  return status;
}

static mica_status visit_first(mica_run *run, const mica_dataset *data, uint64_t count, mica__sample_fn *fn,
                               void *user) {
  mica__truths known = {0};
  double *truths = make_truths(run);
  mica_status status = truths ? mica__truths_open(run, data, &known) : mica__fail_nomem("predictions");
  for (uint64_t i = 0; status == MICA_OK && i < count && i < mica_dataset_count(data); i++) {
    status = mica__truths_read(&known, i, truths);
    if (status == MICA_OK) status = visit_sample(run, data, i, truths, fn, user);
  }
  mica__truths_close(&known);
  free(truths);
  return status;
}

static mica_status visit(mica_run *run, const mica_run_input *given, mica__sample_fn *fn, void *user) {
  if (given->file_count) return visit_files(run, given, fn, user);
  if (given->data) return mica__visit_data(run, given, visit_first, fn, user);
  return mica__fail(MICA_E_INVALID, "the task %s predicts from recordings and data", run->task->name);
}

static mica_status look(mica_run *run, const mica_dataset *data, mica__sample_fn *fn, void *user) {
  return visit_first(run, data, LOOKED_AT, fn, user);
}

const mica__input mica__input_sound = {
    .name = "sound",
    .suits = suits,
    .opens = opens,
    .prepare = prepare,
    .fits = fits,
    .networks = networks,
    .network = network,
    .onnx.input = hears,
    .onnx.columns = columns,
    .onnx.network = exported,
    .samples.visit = visit,
    .samples.look = look,
};
