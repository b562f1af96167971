/* speak: speech from texts. A network learns the spectra of recordings from their letters and speakers. Connectionist
 * temporal classification learns which frames belong to which letter; its classes are the positions of the letters in
 * the text. */
#include "task/speak/speak.h"
#include "data/dataset.h"
#include "run/fields.h"
#include "run/letters.h"
#include "run/parts.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

#define SEED_SETTINGS(X, S) X(S, REAL, seed, "seed", "", "", "")
MICA__SETTINGS_STRUCT(seed, SEED_SETTINGS);
MICA__SETTINGS(seed, SEED_SETTINGS);

static const mica_setting defaults[] = {
    {"model", "convolutions"}, {"epochs", "8"},   {"batch", "16"},        {"lr", "0.004"},    {"optimizer", "adamw"},
    {"weight-decay", "0.001"}, {"warm-up", "50"}, {"schedule", "cosine"}, {"clip-norm", "1"}, {0}};

static const mica_task_metric metrics[] = {
    {"spectrum_mae", true, "mean absolute error of the scaled logarithmic spectrum", false},
    {"duration_mae", true, "mean absolute error of a letter's duration, in frames", false},
    {0}};
static const char *const answers[] = {"sound", "sound.length", NULL};

/* Returns 0, so that no data select this task by themselves: data with texts suit speech better. The user must choose
 * this task by name. */
static int32_t suits(const mica_dataset *data) {
  (void)data;
  return 0;
}

/* --- data --- */

static mica_status open_part(const mica_run *run, const char *path, const mica_dataset_config *config,
                             mica_dataset **data) {
  const mica__speak_settings s = mica__speak_settings_of(run);
  const mica__speak_facts facts = mica__speak_facts_of(run);
  const mica__strings_form form = {.join = s.join,
                                   .strings = s.strings,
                                   .gap = s.gap,
                                   .between = true,
                                   .rate = facts.rate > 0 ? (int32_t)facts.rate : (int32_t)s.rate,
                                   .seed = (uint64_t)settings_of(run).seed,
                                   .speakers = true,
                                   .known = facts.speakers.list,
                                   .known_count = facts.speakers.count};
  return mica__strings_open_form(run, path, config->part, &form, data);
}

/* The units of time by which texts are checked: a text needs at least a frame for each letter and for the silence at
 * each end. */
static mica__strings_time time_of(const mica_run *run) {
  const mica_stft_config c = mica__speaker_stft(mica__speak_facts_of(run).rate);
  return (mica__strings_time){.length = c.length,
                              .hop = c.hop,
                              .stride = c.hop,
                              .reach = 1 + 2 * c.hop,
                              .rate = mica__speak_facts_of(run).rate};
}

static mica_status fits(const mica_run *run, const mica_dataset *data) {
  const mica__strings_time time = time_of(run);
  return mica__strings_fits(run, &time, data);
}

static mica_status prepare(mica_run *run) {
  if (run->parts->whole && !run->resumed) MICA_TRY(mica__run_set_unset(run, defaults));
  MICA_TRY(mica__run_set_defaults(run));
  MICA_TRY(mica__task_check_network(run));
  const mica__speak_settings s = mica__speak_settings_of(run);
  if (s.kernel % 2 == 0)
    return mica__fail(MICA_E_INVALID, "kernel must be an odd number, not %lld", (long long)s.kernel);
  if (!run->parts->whole) return MICA_OK;
  MICA_TRY(mica__strings_note_speakers(run));
  return mica__strings_note(run, (double)s.rate, time_of);
}

static mica_status teaches(const mica_run *run, const mica_run *teacher) {
  (void)run;
  return mica__fail(MICA_E_UNSUPPORTED, "the task speak cannot learn from a teacher (%s); leave out --teacher",
                    teacher->folder);
}

/* --- the step --- */

static void step_of(mica_nn *nn, const mica__speaker *network, const mica_batch_values *batch, mica_objective *out) {
  mica_value letters = mica_batch_value(batch, "tokens"), counts = mica_batch_value(batch, "tokens.length");
  if (!letters.graph || !counts.graph) return;
  mica__speaker_words words = mica__speaker_words_of(letters, counts);
  words.speakers = mica_batch_has(batch, "speaker") ? mica_batch_value(batch, "speaker") : mica_full_like(counts, 0);
  if (!words.letters.graph || !words.lengths.graph) return;
  const mica__speaker_code code = mica__speaker_encode(nn, network, &words);
  if (!mica_nn_is_training(nn)) out->outputs[0] = code.durations, out->output_names[0] = "durations";
  if (!mica_batch_has(batch, "sound") || !code.durations.graph) return;
  mica_value sound = mica_batch_value(batch, "sound"), lengths = mica_batch_value(batch, "sound.length");
  if (!sound.graph || !lengths.graph) return;
  const mica__speaker_losses l = mica__speaker_losses_of(nn, network, &words, &code, sound, lengths);
  if (!l.loss.graph) return;
  out->loss = l.loss;
  out->weight = l.frames;
  out->metrics[0] = (mica_metric){.name = "spectrum_mae", .sum = l.spectrum, .weight = l.frames};
  out->metrics[1] = (mica_metric){.name = "duration_mae", .sum = l.duration, .weight = l.letters};
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  mica__speaker network;
  int32_t *letters = NULL;
  const mica_status status = mica__speak_network(config, &network, &letters);
  if (status == MICA_OK)
    step_of(nn, &network, batch, out);
  else
    mica_graph_fail(mica_nn_graph(nn), status, mica_error_message());
  free(letters);
}

/* --- the row --- */

static const char *const networks[] = {"convolutions", NULL};

static const mica_onnx_text export_docs[] = {
    {"tokens", "code points of texts"},
    {"tokens.length", "how many of them count"},
    {"speaker", "indices of the \"speakers\""},
    {"durations", "log(1 + frames) of the silence before, of each letter and of the silence after"},
    {0}};

/* Texts spoken by two runs cannot be compared one by one. */
static mica_status agree(mica_run *run, mica_run *other, int64_t most, double *share, int64_t *count) {
  (void)run, (void)other, (void)most;
  *share = (double)NAN;
  *count = 0;
  return MICA_OK;
}

static mica_status predict(mica_run *run, const mica_run_input *given, mica_report *prediction) {
  (void)given, (void)prediction;
  return mica__fail(MICA_E_UNSUPPORTED,
                    "%s is a run of the task speak, which does not predict; use mica speak --model %s --text TEXT",
                    run->folder, run->folder);
}

static const mica__input input = {.name = "letters", .traits = {.own_input = true}, .networks = networks};

const mica__task_row mica__task_speak = {
    .name = "speak",
    .text = "speech from texts, by the voices of recordings, for mica speak",
    .input = &input,
    .metrics = metrics,
    .facts = &mica__speak_fact_list,
    .settings = &mica__speak_setting_list,
    .defaults = defaults,
    .least_steps = 1000,
    .suits = suits,
    .open = open_part,
    .prepare = prepare,
    .fits = fits,
    .teaches = teaches,
    .answer_columns = answers,
    .step = step,
    .export_docs = export_docs,
    .agree = agree,
    .predict = predict,
    .report = mica__speak_report,
    .verbs.speak = mica__speak_say,
    .verbs.voice = mica__speak_voice,
};
