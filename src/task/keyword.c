/* keyword: which word a short recording says; a network of depthwise separable convolutions over log mel spectra (Zhang
 * et al. 2017). */
#include "run/columns/categories.h"
#include "run/columns/classes.h"
#include "run/common_settings.h"
#include "run/evaluation.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/predict/samples.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MODEL "dscnn"
#define BLOCKS 4
/* The mel power of a recording that is not empty is above it: that of rounding to 16 bits is below. */
#define LEAST_POWER 1e-7
/* What is so much below the loudest counts as silence (50 dB); the mean and the deviation of speech on that scale. */
#define RANGE 1e5
#define CENTRE 7.0
#define DEVIATION 3.0

#define KEYWORD_SETTINGS(X, S)                                                                                         \
  X(S, REAL, seconds, "seconds", "1", "S", "seconds from the middle of each recording, padded with zeros",             \
    .low = 0.05, .high = 60, .fixed = true)                                                                            \
  MICA__MEL_SETTINGS(X, S, 4)                                                                                          \
  X(S, INT, width, "width", "64", "N", "channels of the network", .low = 1, .high = 1024, .fixed = true)               \
  X(S, REAL, dropout, "dropout", "0.2", "P", "dropout before the last layer", .low = 0, .high = 0.95, .fixed = true)   \
  X(S, REAL, shift, "shift", "0.1", "S", "largest random shift in training, in seconds", .low = 0, .high = 10,         \
    .fixed = true)                                                                                                     \
  MICA__MASK_SETTINGS(X, S)                                                                                            \
  X(S, REAL, label_smoothing, "label-smoothing", "0.05", "S", "probability shared evenly by all classes", .low = 0,    \
    .high = 1, .fixed = true)
MICA__SETTINGS_STRUCT(keyword, KEYWORD_SETTINGS);
static MICA__SETTINGS_TABLE(keyword, KEYWORD_SETTINGS);

/* What config.json must hold of a run of the task. */
#define KEYWORD_FACTS(X, S)                                                                                            \
  X(S, TEXTS, classes, .needed = true)                                                                                 \
  X(S, NUMBER, rate, .needed = true, .most = 1 << 20)
MICA__FACTS_STRUCT(keyword, KEYWORD_FACTS);
static MICA__FACTS_TABLE(keyword, KEYWORD_FACTS, 2);

static mica__keyword_settings settings_of(const mica_run *run) {
  mica__keyword_settings settings;
  mica__settings_read(run, &mica__keyword_setting_list, &settings);
  return settings;
}

static mica__keyword_facts facts_of(const mica_run *run) {
  mica__keyword_facts facts;
  mica__facts_read(run, &mica__keyword_fact_list, &facts);
  return facts;
}

static const mica_task_metric metrics[] = {{"accuracy", false}, {NULL, false}};

static int64_t classes_of(const mica_run *run) { return (int64_t)facts_of(run).classes.count; }

static const mica_column *sound_of(const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (mica_dataset_column(data, i)->kind == MICA_COLUMN_KIND_SOUND) return mica_dataset_column(data, i);
  return NULL;
}

static const mica_column *label_of(const mica_dataset *data) {
  const mica_column *label = mica_dataset_column(data, mica_dataset_column_index(data, "label"));
  return label && label->kind == MICA_COLUMN_KIND_CLASS && label->shape.rank == 0 ? label : NULL;
}

static int32_t suits(const mica_dataset *data) { return sound_of(data) && label_of(data) ? 20 : 0; }

/* --- data --- */

static void opens(const mica_run *run, mica_dataset_config *config) {
  config->like = run->parts->whole;
  const double rate = facts_of(run).rate;
  config->rate = (int32_t)(rate > 0 ? rate : (double)settings_of(run).rate);
}

/* --- preparation --- */

/* Found on spoken digits, where they took 3 minutes of two shared cores (2026-11-25). */
static const mica_setting defaults[] = {{"model", MODEL},   {"epochs", "20"},       {"batch", "32"},
                                        {"lr", "0.004"},    {"optimizer", "adamw"}, {"weight-decay", "0.02"},
                                        {"warm-up", "100"}, {"schedule", "cosine"}, {0}};

static mica_status prepare(mica_run *run) {
  const double zero = 0, one = 1;
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  if (!run->parts->whole) return MICA_OK;
  const mica_column *sound = sound_of(run->parts->whole), *label = label_of(run->parts->whole);
  const double rate = mica_dataset_rate(run->parts->whole);
  if (!sound || !label)
    return mica__fail(MICA_E_FORMAT, "%s has no %s: the task keyword wants a class for each recording", run->data,
                      sound ? "classes" : "recordings");
  if (rate < 1000)
    return mica__fail(MICA_E_FORMAT, "%s: %g samples a second are no speech; --rate sets others", run->data, rate);
  const double input[] = {1, floor(rate * settings_of(run).seconds)};
  MICA_TRY(mica__run_note_numbers(run, "rate", &rate, 1));
  MICA_TRY(mica__run_note_numbers(run, "input", input, 2));
  MICA_TRY(mica__run_note_numbers(run, "mean", &zero, 1));
  MICA_TRY(mica__run_note_numbers(run, "deviation", &one, 1));
  MICA_TRY(mica__run_note_text(run, "input_column", sound->name));
  MICA_TRY(mica__run_note_text(run, "label_column", label->name));
  return mica__run_note_classes(run, label);
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  int32_t *map = NULL;
  if (!sound_of(data) || !label_of(data))
    return mica__fail(MICA_E_FORMAT, "%s has no recordings with classes, which the run is about",
                      mica_dataset_name(data));
  mica_status status = mica__run_map_classes(run, data, &map);
  free(map);
  return status;
}

/* --- the step --- */

/* The middle of each recording (N, T), `length` samples of it with zeros around; training moves it. */
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

/* Log mel spectra (N, 1, mels, frames) from 0 at the loudest value of a recording down to -log(RANGE), in multiples of
 * DEVIATION about CENTRE: neither loudness nor the zeros around a recording count. */
static mica_value features(mica_nn *nn, const mica_run *run, mica_value x) {
  const double rate = facts_of(run).rate;
  const mica__keyword_settings settings = settings_of(run);
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

static mica_value network(mica_nn *nn, const mica_run *run, mica_value x, int64_t classes) {
  const mica__keyword_settings settings = settings_of(run);
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
  return mica_nn_dense(nn, "classes", mica_nn_dropout(nn, x, settings.dropout), classes, NULL);
}

static mica_value hears(mica_nn *nn, const mica_run *run, const mica_batch_values *batch) {
  const double *input = mica_run_fact_numbers(run, "input", NULL);
  const mica_value x = mica_batch_value(batch, "sound"), lengths = mica_batch_value(batch, "sound.length");
  return middles(nn, run, x, lengths, (int64_t)input[1]);
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const char *label = mica__run_fact_text(run, "label_column");
  const int64_t classes = classes_of(run);
  const bool training = mica_nn_is_training(nn);
  mica_value z = network(nn, run, features(nn, run, hears(nn, run, batch)), classes);
  out->answers[0] = (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES, .value = z};
  if (!training) out->outputs[0] = mica_softmax(z, 1), out->output_names[0] = "shares";
  if (!mica_batch_has(batch, label) || !z.graph) return;
  mica_value y = mica_batch_value(batch, label);
  const double smoothing = settings_of(run).label_smoothing;
  out->loss = mica_cross_entropy(z, y, &(mica_cross_entropy_config){.label_smoothing = training ? smoothing : 0});
  out->metrics[0] = mica_metric_mean("accuracy", mica_hits(z, y));
  if (!training && classes <= MOST_CONFUSED)
    out->metrics[1] = (mica_metric){.name = "confusion", .sum = mica_confusion(z, y)};
}

/* A model hears whole recordings (N, T), of any T: no lengths, no random numbers, and the zeros around are made by a
 * mask, since an index beyond the samples has no meaning in ONNX. */
static const mica_batch_column export_columns[] = {{"sound", MICA_F32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};

static const mica_onnx_text export_docs[] = {
    {"sound", "a recording, numbers from -1 to 1 at \"rate\" samples a second, of any length: its middle is heard"},
    {"shares", "the probability of each of the \"classes\""},
    {0}};

static mica_value whole_middles(mica_value x, int64_t length) {
  /* Ones are made of the samples, whose shape may be open where the model is part of a graph. */
  mica_value ones = mica_affine(mica_clip(x, 0, 0), 1, 1);
  mica_value count = mica_max(mica_sum(ones, MICA_AXES(1), false), MICA_AXES(0), false);
  mica_value start = mica_floor(mica_affine(count, 0.5, -0.5 * (double)length));
  mica_value at = mica_add(mica_range(x.graph, MICA_F32, length), start);
  mica_value kept = mica_maximum(mica_minimum(at, mica_affine(count, 1, -1)), mica_full_like(at, 0));
  mica_value y = mica_gather(x, mica_cast(kept, MICA_I64), 1);
  return mica_mul(y, mica_cast(mica_equal(at, kept), MICA_F32));
}

static void exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const double *input = mica_run_fact_numbers(run, "input", NULL);
  mica_value x = whole_middles(mica_batch_value(batch, "sound"), (int64_t)input[1]);
  out->outputs[0] = mica_softmax(network(nn, run, features(nn, run, x), classes_of(run)), 1);
  out->output_names[0] = "shares";
}

/* --- predictions --- */

/* Adds the likeliest classes of one recording. truth may be NULL. */
static mica_status add_recording(mica_run *run, const char *name, const float *samples, int64_t length,
                                 const char *truth, int64_t top, mica_report *p) {
  mica_tensor *tensors[2] = {NULL, NULL};
  const mica__fact_texts known = facts_of(run).classes;
  const size_t classes = known.count;
  size_t rows = 0;
  const char **row_names = calloc(classes + 1, sizeof *row_names);
  double *numbers = calloc(classes + 1, sizeof *numbers);
  float *shares = calloc(classes + 1, sizeof *shares);
  mica_status status = row_names && numbers && shares ? MICA_OK : mica__fail_nomem("predictions");
  if (status == MICA_OK) status = mica__run_feed_sound(run, samples, length, tensors);
  const mica_feed feeds[] = {{"sound", tensors[0]}, {"sound.length", tensors[1]}};
  const mica_batch batch = {.count = 1, .tensors = feeds, .tensor_count = 2};
  if (status == MICA_OK) status = mica_trainer_predict(run->trainer, &batch);
  if (status == MICA_OK)
    status = mica_tensor_download(mica_engine_queue(run->engine), mica_trainer_output(run->trainer, "shares"), shares,
                                  classes * sizeof *shares);
  if (status == MICA_OK) status = mica_report_begin(p, name);
  if (status == MICA_OK && truth) status = mica_report_add_text(p, "truth", truth);
  for (; status == MICA_OK && rows < classes && (int64_t)rows < top; rows++) {
    size_t best = 0;
    for (size_t c = 1; c < classes; c++)
      if (shares[c] > shares[best]) best = c;
    row_names[rows] = known.list[best];
    numbers[rows] = (double)shares[best];
    shares[best] = -1;
  }
  const mica_item item = {.kind = MICA_ITEM_KIND_CHOICES,
                          .name = "classes",
                          .rows = rows,
                          .columns = 1,
                          .row_names = row_names,
                          .numbers = numbers};
  if (status == MICA_OK) status = mica_report_add(p, &item);
  mica_tensor_destroy(tensors[0]);
  mica_tensor_destroy(tensors[1]);
  free(row_names);
  free(numbers);
  free(shares);
  return status;
}

static mica_status predict_files(mica_run *run, const mica_run_input *input, int64_t top, mica_report *p) {
  for (size_t i = 0; i < input->file_count; i++) {
    float *samples = NULL;
    int64_t length = 0;
    MICA_TRY(mica_sound_read(input->files[i], (int32_t)facts_of(run).rate, &samples, &length, NULL));
    mica_status status = add_recording(run, input->files[i], samples, length, NULL, top, p);
    mica_free(samples);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status predict_part(mica_run *run, const mica_dataset *data, int64_t most, int64_t top, mica_report *p) {
  const size_t column = mica_dataset_column_index(data, "sound");
  const uint64_t all = mica_dataset_count(data), count = most > 0 && (uint64_t)most < all ? (uint64_t)most : all;
  for (uint64_t i = 0; i < count; i++) {
    int64_t length = 0;
    char name[48];
    snprintf(name, sizeof name, "recording %llu", (unsigned long long)i);
    MICA_TRY(mica_dataset_length(data, column, i, &length));
    float *samples = malloc((size_t)length * sizeof *samples + 1);
    if (!samples) return mica__fail_nomem("predictions");
    mica_status status = mica_dataset_read(data, column, i, samples, (size_t)length * sizeof *samples);
    if (status == MICA_OK)
      status =
          add_recording(run, name, samples, length, mica_dataset_class_name(data, mica_dataset_label(data, i)), top, p);
    free(samples);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static mica_status predict(mica_run *run, const mica_run_input *input, mica_report *p) {
  const int64_t top = input->top > 0 ? input->top : 3;
  mica_dataset *data = NULL;
  bool all = false;
  if (input->file_count) return predict_files(run, input, top, p);
  if (!input->data) return mica__fail(MICA_E_INVALID, "the task keyword predicts from recordings and data");
  MICA_TRY(mica__run_open_given(run, input->data, input->part, &all, &data));
  mica_status status = fits(run, data);
  if (status == MICA_OK) status = predict_part(run, data, input->count, top, p);
  mica_dataset_destroy(data);
  return status;
}

/* --- the report --- */

static mica_status report(mica_run *run, mica_report *r) {
  return classes_of(run) > MOST_CONFUSED ? MICA_OK : mica__run_report_classes(run, "Words", r);
}

static const char *const networks[] = {MODEL, NULL};

const mica__task_row mica__task_keyword = {
    .name = "keyword",
    .text = "which word a short recording says",
    .metrics = metrics,
    .facts = &mica__keyword_fact_list,
    .settings = &mica__keyword_setting_list,
    .defaults = defaults,
    .least_steps = 1200,
    .opens = opens,
    .networks = networks,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .step = step,
    .hears = hears,
    .exports = exports,
    .export_columns = export_columns,
    .export_docs = export_docs,
    .predict = predict,
    .report = report,
};
