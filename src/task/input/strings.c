/* Recordings with their texts, for networks that read the sound as it arrives. A string is a sample that joins several
 * recordings of one speaker. */
#include "task/input/strings.h"
#include "data/dataset.h"
#include "run/facts.h"
#include "run/fields.h"
#include "run/letters.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <mica/nodes.h>
#include <mica/signal.h>
#include <stdlib.h>
#include <string.h>

/* Training changes loudness by up to this many nepers: 10 dB. */
#define LOUDNESS 1.15
#define MOST_LETTERS 20000

#define READ_SETTINGS(X, S) STRINGS_SETTINGS(X, S) X(S, TEXT, model, "model", "", "", "")

MICA__SETTINGS_STRUCT(strings, READ_SETTINGS);
MICA__SETTINGS(strings, READ_SETTINGS);

/* Names of networks, ending with NULL. */
static const char *const networks[] = {"gru", "conformer", NULL};

const char *mica__strings_reduction_at(size_t i) {
  static const char *const names[] = {"4", "2", NULL};
  return names[i];
}

/* Returns a low value for recordings, because recordings with classes suit other tasks better. */
static int32_t suits(const mica_dataset *data) { return mica__dataset_find(data, MICA_COLUMN_KIND_SOUND) ? 5 : 0; }

/* --- preparation --- */

static const mica_setting gru_defaults[] = {{"lr", "0.006"}, {0}};
static const mica_setting conformer_defaults[] = {{"layers", "3"}, {"width", "64"}, {"lr", "0.002"}, {0}};

static int ascending(const void *a, const void *b) {
  const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return x < y ? -1 : x > y;
}

/* Adds the letters of a dataset's texts to a sorted list with room for MOST_LETTERS. */
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
        status = mica__fail(MICA_E_FORMAT, "%s: its texts have more than %d different letters", mica_dataset_name(data),
                            MOST_LETTERS);
      if (status != MICA_OK) break;
      letters[(*count)++] = tokens[k];
      qsort(letters, (size_t)*count, sizeof *letters, ascending);
    }
    free(tokens);
    MICA_TRY(status);
  }
  return MICA_OK;
}

/* Sets the stored value "alphabet": one text per letter. */
static mica_status note_alphabet(mica_run *run, const int32_t *letters, int64_t count) {
  char(*bytes)[8] = calloc((size_t)count, sizeof *bytes);
  const char **texts = calloc((size_t)count, sizeof *texts);
  mica_status status = bytes && texts ? MICA_OK : mica__fail_nomem("an alphabet");
  for (int64_t i = 0; status == MICA_OK && i < count; i++) {
    mica__text text = {0};
    mica__text_add(&text, "x");
    mica__letter_add(&text, letters[i]);
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

static mica_status note_letters(mica_run *run, const mica__strings_time *time) {
  int32_t *letters = malloc(MOST_LETTERS * sizeof *letters);
  int64_t count = 0;
  const mica_dataset *validation = run->parts->at[MICA_PART_VALIDATION].data;
  mica_status status = letters ? add_letters(run->parts->whole, letters, &count) : mica__fail_nomem("an alphabet");
  if (status == MICA_OK && !count)
    status = mica__fail(MICA_E_FORMAT, "%s: all of its texts are empty: there is nothing to learn", run->data);
  if (status == MICA_OK) status = mica__strings_check(time, run->parts->whole, letters, count);
  if (status == MICA_OK && validation) status = mica__strings_check(time, validation, letters, count);
  if (status == MICA_OK) status = note_alphabet(run, letters, count);
  free(letters);
  return status;
}

mica_status mica__strings_fits(const mica_run *run, const mica__strings_time *time, const mica_dataset *data) {
  const size_t columns = mica_dataset_column_count(data), tokens = mica_dataset_column_index(data, "tokens");
  int32_t *letters = NULL;
  if (mica_dataset_column_index(data, "sound") == columns || tokens == columns ||
      mica_dataset_column(data, tokens)->kind != MICA_COLUMN_KIND_TOKENS)
    return mica__fail(MICA_E_FORMAT,
                      "%s has no recordings with texts (columns 'sound' and 'tokens'), but the run was "
                      "trained on them",
                      mica_dataset_name(data));
  MICA_TRY(mica__letters_read(run, &letters));
  mica_status status = mica__strings_check(time, data, letters, mica__letters_classes(run) - 1);
  free(letters);
  return status;
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica__strings_time time = mica__strings_time_of(run);
  return mica__strings_fits(run, &time, data);
}

mica_status mica__strings_note(mica_run *run, double rate, mica__strings_time (*time_of)(const mica_run *run)) {
  const double known = mica_dataset_rate(run->parts->whole), zero = 0, one = 1;
  if (known > 0) rate = known;
  if (!mica__dataset_find(run->parts->whole, MICA_COLUMN_KIND_SOUND))
    return mica__fail(MICA_E_FORMAT, "%s has no recordings: the task %s needs recordings with texts", run->data,
                      run->task->name);
  if (rate <= 0)
    return mica__fail(MICA_E_FORMAT, "%s: the sample rate is not known; give it with the setting rate", run->data);
  if (rate < 1000)
    return mica__fail(MICA_E_FORMAT,
                      "%s: the sample rate is %g Hz, but must be at least 1000 Hz; set another with --rate", run->data,
                      rate);
  MICA_TRY(mica__run_note_numbers(run, "rate", &rate, 1));
  MICA_TRY(mica__run_note_numbers(run, "mean", &zero, 1));
  MICA_TRY(mica__run_note_numbers(run, "deviation", &one, 1));
  const mica__strings_time time = time_of(run);
  MICA_TRY(note_letters(run, &time));
  return mica__strings_fits(run, &time, run->parts->whole);
}

static mica_status prepare(mica_run *run) {
  const bool conformer = !strcmp(settings_of(run).model, "conformer");
  MICA_TRY(mica__run_set_unset(run, conformer ? conformer_defaults : gru_defaults));
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  const mica__recogniser l = mica__strings_network(run);
  MICA_TRY(mica__recogniser_check(&l));
  return run->parts->whole ? mica__strings_note(run, (double)settings_of(run).rate, mica__strings_time_of) : MICA_OK;
}

/* --- the network --- */

/* The number of valid steps of each recording, (N) i32. */
static mica_value steps_of(const mica_run *run, const mica_batch_values *batch) {
  const mica_value lengths = mica_batch_value(batch, "sound.length");
  const mica__strings_time t = mica__strings_time_of(run);
  mica_value reach = mica_full_like(lengths, (double)(t.reach - t.stride));
  mica_value steps = mica_div(mica_sub(lengths, reach), mica_full_like(lengths, (double)t.stride));
  return mica_maximum(steps, mica_full_like(lengths, 0));
}

/* Makes recordings randomly louder or softer and adds white noise. Strings (the setting "join") already have noise, so
 * none is added to them. */
static mica_value augmented(mica_nn *nn, const mica_run *run, mica_value x, mica_value lengths) {
  const mica__strings_settings s = settings_of(run);
  mica_value each = mica_mean(x, MICA_AXES(1), true);
  mica_value loudness = mica_random_uniform(mica_nn_step(nn), each, 29, -LOUDNESS, LOUDNESS);
  x = mica_mul(x, mica_exp(loudness));
  if (s.noise <= 0 || *s.join) return x;
  /* mica_add_noise scales the noise by the mean power of a padded row. The zeros that pad a recording lower this mean,
   * so the noise is scaled up to fit the recording's own samples. */
  mica_value added = mica_sub(mica_add_noise(x, mica_nn_step(nn), 31, s.noise, s.noise + 20), x);
  mica_value own = mica_cast(mica_maximum(lengths, mica_full_like(lengths, 1)), mica_value_dtype(x));
  mica_value whole = mica_sum(mica_full_like(x, 1), MICA_AXES(1), true);
  return mica_add(x, mica_mul(added, mica_sqrt(mica_div(whole, mica_unsqueeze(own, MICA_AXES(1))))));
}

static mica_value network(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs) {
  mica_value x = mica_batch_value(batch, "sound");
  if (mica_nn_is_training(nn)) {
    /* Random numbers depend on how many values the graph has already. Earlier versions built the steps before them, so
     * the steps are built here too, although nothing uses them: the same seed gives the same numbers. */
    (void)steps_of(run, batch);
    x = augmented(nn, run, x, mica_batch_value(batch, "sound.length"));
    mica__batch_replace(batch, "sound", x);
  }
  const mica__recogniser l = mica__strings_network(run);
  return mica__recogniser_build(nn, &l, x, outputs, NULL);
}

static mica_value picture(const mica_run *run, const mica_batch_values *batch) {
  const mica__recogniser l = mica__strings_network(run);
  return mica__recogniser_spectra(&l, mica_batch_value(batch, "sound"));
}

/* An exported model reads whole recordings (N, T) of any length T. */
static const mica_batch_column export_columns[] = {{"sound", MICA_F32, {2, {MICA_DYNAMIC, MICA_DYNAMIC}}}, {0}};

const mica__input mica__input_strings = {
    .name = "strings",
    .traits.own_input = true,
    .suits = suits,
    .prepare = prepare,
    .fits = fits,
    .networks = networks,
    .network = network,
    .steps = steps_of,
    .onnx.columns = export_columns,
    .samples.visit = mica__strings_visit,
    .samples.look = mica__strings_look,
    .samples.picture = picture,
};
