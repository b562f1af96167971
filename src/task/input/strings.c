/* speech: what a recording says, letter by letter; networks that hear as much as has come, trained by connectionist
 * temporal classification (Graves et al. 2006). */
#include "task/input/strings.h"
#include "run/common_settings.h"
#include "run/composed.h"
#include "run/fact_fields.h"
#include "run/facts.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include "data/dataset.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <mica/signal.h>
#include <stdlib.h>
#include <string.h>

/* Loudness changes in training by up to so many nepers: 10 dB. */
#define LOUDNESS 1.15
#define MOST_LETTERS 20000

static const char *reduction_at(size_t i) {
  static const char *const names[] = {"4", "2", NULL};
  return names[i];
}

#define SPEECH_SETTINGS(X, S)                                                                                          \
  X(S, TEXT, join, "join", "", "A-B",                                                                                  \
    "join A to B recordings of one speaker into a sample, their texts separated by spaces", .fixed = true)             \
  X(S, INT, strings, "strings", "0", "N", "joined samples per epoch; 0: twice the number of recordings", .low = 0,     \
    .high = 0x1p31, .of = "join=*", .fixed = true)                                                                     \
  X(S, REAL, gap, "gap", "0.3", "S", "longest silence between joined recordings, in seconds", .low = 0, .high = 60,    \
    .of = "join=*", .fixed = true)                                                                                     \
  X(S, REAL, noise, "noise", "15", "DB", "lowest signal-to-noise ratio of added noise; 0: no noise", .low = 0,         \
    .high = 120, .fixed = true)                                                                                        \
  MICA__MEL_SETTINGS(X, S, 8)                                                                                          \
  X(S, CHOICE, reduction, "reduction", "4", "N", "output time step, in units of 10 ms", .names = reduction_at,         \
    .fixed = true)                                                                                                     \
  X(S, INT, filters, "filters", "16", "N", "filters per convolution", .low = 1, .high = 1024, .fixed = true)           \
  X(S, INT, layers, "layers", "1", "N", "gru: recurrent layers; conformer: blocks, 3 unless given", .low = 1,          \
    .high = MICA__SPEECH_LAYERS, .fixed = true)                                                                        \
  X(S, INT, width, "width", "96", "N", "gru: units per layer; conformer: features, 64 unless given", .low = 1,         \
    .high = 4096, .fixed = true)                                                                                       \
  X(S, INT, heads, "heads", "4", "N", "attention heads of conformer", .low = 1, .high = 1024, .of = "model=conformer", \
    .fixed = true)                                                                                                     \
  X(S, INT, kernel, "kernel", "15", "N", "filter length of conformer, in steps", .low = 2, .high = 1024,               \
    .of = "model=conformer", .fixed = true)                                                                            \
  X(S, REAL, context, "context", "2.5", "S", "seconds of the past that attention of conformer can see", .low = 0.02,   \
    .high = 600, .of = "model=conformer", .fixed = true)                                                               \
  X(S, REAL, dropout, "dropout", "0.1", "P", "dropout before each layer", .low = 0, .high = 0.95, .fixed = true)       \
  MICA__MASK_SETTINGS(X, S)                                                                                            \
  X(S, INT, beam, "beam", "0", "N", "beam width; 0: the likeliest letter of each step", .high = 4096)
MICA__SETTINGS_STRUCT(speech, SPEECH_SETTINGS);
static MICA__SETTINGS_TABLE(speech, SPEECH_SETTINGS);

static const mica_task_metric metrics[] = {{"wer", true}, {"cer", true}, {NULL, false}};

static const mica_column *sound_of(const mica_dataset *data) {
  for (size_t i = 0; i < mica_dataset_column_count(data); i++)
    if (mica_dataset_column(data, i)->kind == MICA_COLUMN_KIND_SOUND) return mica_dataset_column(data, i);
  return NULL;
}

/* Recordings with classes rather suit keyword. */
static int32_t suits(const mica_dataset *data) { return sound_of(data) ? 5 : 0; }

/* --- preparation --- */

/* Found on strings of spoken digits (2026-11-25). */
static const mica_setting defaults[] = {
    {"model", "gru"},         {"epochs", "6"},    {"batch", "8"},         {"lr", "0.006"},    {"optimizer", "adamw"},
    {"weight-decay", "0.01"}, {"warm-up", "100"}, {"schedule", "cosine"}, {"clip-norm", "5"}, {0}};

static const mica_setting conformer_defaults[] = {{"layers", "3"}, {"width", "64"}, {"lr", "0.002"}, {0}};

static int ascending(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* The letters of a dataset's texts, added to a rising list with room for MOST_LETTERS. */
static mica_status add_letters(const mica_dataset *data, int32_t *letters, int64_t *count) {
  const size_t column = mica_dataset_column_index(data, "tokens");
  for (uint64_t i = 0; i < mica_dataset_count(data); i++) {
    int64_t length = 0;
    MICA_TRY(mica_dataset_length(data, column, i, &length));
    int32_t *tokens = malloc((size_t)length * sizeof *tokens + 1);
    mica_status status = tokens ? MICA_OK : mica__fail_nomem("texts");
    if (status == MICA_OK) status = mica_dataset_read(data, column, i, tokens, (size_t)length * sizeof *tokens);
    for (int64_t k = 0; status == MICA_OK && k < length; k++) {
      if (bsearch(&tokens[k], letters, (size_t)*count, sizeof *letters, ascending)) continue;
      if (*count == MOST_LETTERS)
        status =
            mica__fail(MICA_E_FORMAT, "%s: its texts have more than %d letters", mica_dataset_name(data), MOST_LETTERS);
      if (status != MICA_OK) break;
      letters[(*count)++] = tokens[k];
      qsort(letters, (size_t)*count, sizeof *letters, ascending);
    }
    free(tokens);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* The alphabet as a fact, a letter a text. */
static mica_status note_alphabet(mica_run *run, const int32_t *letters, int64_t count) {
  char(*bytes)[8] = calloc((size_t)count, sizeof *bytes);
  const char **texts = calloc((size_t)count, sizeof *texts);
  mica_status status = bytes && texts ? MICA_OK : mica__fail_nomem("an alphabet");
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    mica__text text = {0};
    mica__text_add(&text, "x");
    mica__speech_add_letter(&text, letters[i]);
    status = mica__text_status(&text);
    if (status == MICA_OK) memcpy(bytes[i], text.data + 1, strlen(text.data));
    texts[i] = bytes[i];
    mica__text_free(&text);
  }
  if (status == MICA_OK) status = mica__run_note(run, "alphabet", texts, (size_t)count);
  free(bytes);
  free(texts);
  return status;
}

/* The letters of all texts that training sees. */
static mica_status find_alphabet(mica_run *run) {
  int32_t *letters = malloc(MOST_LETTERS * sizeof *letters);
  int64_t count = 0;
  const mica_dataset *validation = run->parts->at[MICA_PART_VALIDATION].data;
  mica_status status = letters ? add_letters(run->parts->whole, letters, &count) : mica__fail_nomem("an alphabet");
  if (status == MICA_OK && validation) status = add_letters(validation, letters, &count);
  if (status == MICA_OK && !count)
    status = mica__fail(MICA_E_FORMAT, "%s: all of its texts are empty: there is nothing to learn", run->data);
  if (status == MICA_OK) status = mica__speech_check(run, run->parts->whole, letters, count);
  if (status == MICA_OK && validation) status = mica__speech_check(run, validation, letters, count);
  if (status == MICA_OK) status = note_alphabet(run, letters, count);
  free(letters);
  return status;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const size_t columns = mica_dataset_column_count(data), tokens = mica_dataset_column_index(data, "tokens");
  int32_t *letters = NULL;
  if (mica_dataset_column_index(data, "sound") == columns || tokens == columns ||
      mica_dataset_column(data, tokens)->kind != MICA_COLUMN_KIND_TOKENS)
    return mica__fail(MICA_E_FORMAT,
                      "%s has no recordings with texts (columns 'sound' and 'tokens'), which the run is "
                      "about",
                      mica_dataset_name(data));
  MICA_TRY(mica__speech_alphabet(run, &letters));
  mica_status status = mica__speech_check(run, data, letters, mica__speech_classes(run) - 1);
  free(letters);
  return status;
}

static mica_status prepare(mica_run *run) {
  if (!strcmp(mica_run_setting(run, "model"), "conformer")) MICA_TRY(mica__run_set_unset(run, conformer_defaults));
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__speech_check_network(run));
  if (!run->parts->whole) return MICA_OK;
  const double known = mica_dataset_rate(run->parts->whole), zero = 0, one = 1;
  const double rate = known > 0 ? known : mica_run_number(run, "rate");
  if (!sound_of(run->parts->whole))
    return mica__fail(MICA_E_FORMAT, "%s has no recordings: the task speech wants a text for each recording",
                      run->data);
  if (rate < 1000)
    return mica__fail(MICA_E_FORMAT, "%s: %g samples a second are no speech; --rate sets others", run->data, rate);
  MICA_TRY(mica__run_note_numbers(run, "rate", &rate, 1));
  MICA_TRY(mica__run_note_numbers(run, "mean", &zero, 1));
  MICA_TRY(mica__run_note_numbers(run, "deviation", &one, 1));
  MICA_TRY(find_alphabet(run));
  return fits(run, run->parts->whole);
}

/* --- the step --- */

/* The steps that count of each recording, (N) i32. */
static mica_value steps_of(const mica_run *run, mica_value lengths) {
  const mica__speech_time t = mica__speech_time_of(run);
  mica_value reach = mica_full_like(lengths, (double)(t.reach - t.stride));
  mica_value steps = mica_div(mica_sub(lengths, reach), mica_full_like(lengths, (double)t.stride));
  return mica_maximum(steps, mica_full_like(lengths, 0));
}

/* Code points (N, S) as classes: 1 for the first letter of the alphabet. */
static mica_value classes_of(const mica_run *run, mica_value tokens) {
  const int64_t count = mica__speech_classes(run) - 1;
  int32_t *letters = NULL;
  if (mica__speech_alphabet(run, &letters) != MICA_OK) return (mica_value){0};
  mica_value alphabet = mica_constant(tokens.graph, MICA_I32, MICA_SHAPE(1, 1, count), letters);
  free(letters);
  mica_value above = mica_greater_equal(mica_unsqueeze(tokens, MICA_AXES(2)), alphabet);
  return mica_sum(mica_cast(above, MICA_I32), MICA_AXES(2), false);
}

/* Recordings louder or softer by chance, with white noise. Strings have noise already. */
static mica_value augmented(mica_nn *nn, const mica_run *run, mica_value x, mica_value lengths) {
  const double noise = mica_run_number(run, "noise");
  mica_value each = mica_mean(x, MICA_AXES(1), true);
  mica_value loudness = mica_random_uniform(mica_nn_step(nn), each, 29, -LOUDNESS, LOUDNESS);
  x = mica_mul(x, mica_exp(loudness));
  if (noise <= 0 || *mica_run_setting(run, "join")) return x;
  /* The noise of a recording is by its own power, without the zeros that a batch pads it with. */
  mica_value added = mica_sub(mica_add_noise(x, mica_nn_step(nn), 31, noise, noise + 20), x);
  mica_value own = mica_cast(mica_maximum(lengths, mica_full_like(lengths, 1)), mica_value_dtype(x));
  mica_value whole = mica_sum(mica_full_like(x, 1), MICA_AXES(1), true);
  return mica_add(x, mica_mul(added, mica_sqrt(mica_div(whole, mica_unsqueeze(own, MICA_AXES(1))))));
}

/* Logits (N, T, C) step by step; of recording n the first steps[n] count, together as much as any recording. */
static mica_answer answer_of(mica_value z, mica_value steps) {
  const mica_shape one_each = MICA_SHAPE(MICA_DYNAMIC);
  mica_value each = mica_unsqueeze(mica_cast(steps, MICA_F32), MICA_AXES(1));
  mica_value ones = mica_full_like(mica_squeeze(mica_slice(z, 2, 0, 1, 1), MICA_AXES(2)), 1);
  mica_value counts = mica_cast(mica_less(mica_cumsum(ones, 1, true, false), each), MICA_F32);
  mica_value weight = mica_div(counts, mica_maximum(each, mica_full_like(each, 1)));
  return (mica_answer){.kind = MICA_ANSWER_KIND_CLASSES,
                       .value = mica_flatten(z, 2),
                       .weight = mica_reshape(weight, one_each),
                       .count = mica_sum(mica_full_like(each, 1), MICA_ALL_AXES, false)};
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const bool training = mica_nn_is_training(nn);
  mica_value x = mica_batch_value(batch, "sound"), lengths = mica_batch_value(batch, "sound.length");
  mica_value steps = steps_of(run, lengths);
  if (training) x = augmented(nn, run, x, lengths), out->seen = x, out->seen_column = "sound";
  mica_value z = mica__speech_network(nn, run, x, NULL);
  if (!training) {
    out->outputs[0] = mica_log_softmax(z, 2), out->output_names[0] = "scores";
    out->outputs[1] = steps, out->output_names[1] = "steps";
    out->outputs[2] = mica__speech_spectra(run, x), out->output_names[2] = "spectra";
  }
  if (mica_value_is_null(z)) return;
  out->answers[0] = answer_of(z, steps);
  if (!mica_batch_has(batch, "tokens")) return;
  mica_value classes = classes_of(run, mica_batch_value(batch, "tokens"));
  out->loss = mica_ctc_loss(mica_transpose(z, MICA_AXES(1, 0, 2)), classes, steps,
                            mica_batch_value(batch, "tokens.length"), &(mica_ctc_config){.zero_infinity = true});
}

/* A model hears whole recordings: log probabilities (N, steps, classes), 0 for none and k for letter k - 1. */
static const mica_batch_column export_columns[] = {{"sound", MICA_F32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};

static const mica_onnx_text export_docs[] = {
    {"sound", "a recording, numbers from -1 to 1 at \"rate\" samples a second; 0.4 s of zeros behind it let it end"},
    {"scores", "log probabilities a step: at index 0 of no letter, at index k of the k-th of the \"alphabet\", from 1"},
    {0}};

static void exports(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  out->outputs[0] = mica_log_softmax(mica__speech_network(nn, config, mica_batch_value(batch, "sound"), NULL), 2);
  out->output_names[0] = "scores";
}

/* What config.json must hold of a run of the task. */
#define SPEECH_FACTS(X, S)                                                                                             \
  X(S, TEXTS, alphabet, .needed = true)                                                                                \
  X(S, NUMBER, rate, .needed = true, .most = 1 << 20)
MICA__FACTS_STRUCT(speech, SPEECH_FACTS);
static MICA__FACTS_TABLE(speech, SPEECH_FACTS, 0);

static const mica__input input = {
    .name = "strings",
    .networks = mica__speech_networks,
    .traits.own_input = true,
    .onnx.columns = export_columns,
};

const mica__task_row mica__task_speech = {
    .name = "speech",
    .text = "what recordings say, as text, for mica transcribe",
    .input = &input,
    .metrics = metrics,
    .facts = &mica__speech_fact_list,
    .settings = &mica__speech_setting_list,
    .defaults = defaults,
    .open = mica__speech_open,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .answer_columns = (const char *const[]){"tokens", NULL},
    .step = step,
    .exports = exports,
    .export_docs = export_docs,
    .evaluate = mica__speech_evaluate,
    .predict = mica__speech_predict,
    .search = mica__speech_set_search,
    .closes = mica__speech_close,
    .answers = mica__speech_answers,
    .report = mica__speech_report,
};
