/* speak: speech from texts. A network learns the spectra of recordings from their letters and speakers. Connectionist
 * temporal classification of letters' positions learns which frames belong to which letter. */
#include "task/speak/speak.h"
#include "data/dataset.h"
#include "run/fields.h"
#include "run/letters.h"
#include "run/parts.h"
#include "run/settings.h"
#include "run/state/parts.h"

#include <math.h>
#include <mica/loss.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

/* The weights of the losses for alignment, durations and speakers beside that for spectra. */
#define ALIGNMENT 1.0
#define DURATIONS 0.2
#define VOICES 0.2

#define SEED_SETTINGS(X, S) X(S, REAL, seed, "seed", "", "", "")
MICA__SETTINGS_STRUCT(seed, SEED_SETTINGS);
MICA__SETTINGS(seed, SEED_SETTINGS);

static const mica_setting defaults[] = {
    {"model", "convolutions"}, {"epochs", "8"},   {"batch", "16"},        {"lr", "0.004"},    {"optimizer", "adamw"},
    {"weight-decay", "0.001"}, {"warm-up", "50"}, {"schedule", "cosine"}, {"clip-norm", "1"}, {0}};

static const mica_task_metric metrics[] = {{"spectrum_mae", true}, {"duration_mae", true}, {NULL, false}};
static const char *const answers[] = {"sound", "sound.length", NULL};

/* Data with texts suit speech better, so this task must be named. */
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

/* Each letter needs a frame, and so does the silence at each end. */
static mica__strings_time time_of(const mica_run *run) {
  const mica_stft_config c = mica__speak_stft(run);
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

/* Texts with a letter for silence at both ends. */
static mica__speak_words words_of(const mica_batch_values *batch) {
  mica_value letters = mica_batch_value(batch, "tokens"), lengths = mica_batch_value(batch, "tokens.length");
  if (!letters.graph || !lengths.graph) return (mica__speak_words){0};
  mica_value each = mica_unsqueeze(lengths, MICA_AXES(1)), silence = mica_full_like(each, MICA__SPEAK_SILENCE);
  mica_value positions = mica_cumsum(mica_full_like(letters, 1), 1, true, false);
  letters = mica_mul(letters, mica_cast(mica_less(positions, each), MICA_I32));
  return (mica__speak_words){.letters = mica_concat((mica_value[]){silence, letters, silence}, 3, 1),
                             .lengths = mica_add(lengths, mica_full_like(lengths, 2)),
                             .speakers = mica_batch_has(batch, "speaker") ? mica_batch_value(batch, "speaker")
                                                                          : mica_full_like(lengths, 0)};
}

/* The expected number of frames of each letter (N, L) over all alignments, and their loss, a sum. */
static mica_value durations_of(mica_value logits, const mica__speak_words *words, mica_value frames,
                               mica_value frame_mask, mica_value *loss) {
  mica_value first = mica_transpose(logits, MICA_AXES(1, 0, 2)), gradient = {0};
  mica_value positions = mica_cumsum(mica_full_like(words->letters, 1), 1, false, false);
  *loss = mica_ctc_loss(first, positions, frames, words->lengths,
                        &(mica_ctc_config){.reduction = MICA_LOSS_REDUCTION_SUM, .zero_infinity = true});
  if (!loss->graph || mica_gradients(*loss, &first, 1, &gradient) != MICA_OK) return (mica_value){0};
  /* The gradient of the loss is the softmax minus the probability of the letter at the frame. */
  mica_value there = mica_sub(mica_softmax(first, 2), gradient);
  there = mica_mul(there, mica_transpose(frame_mask, MICA_AXES(2, 0, 1)));
  return mica_stop_gradient(mica_gather_elements(mica_sum(there, MICA_AXES(0), false), positions, 1));
}

static mica_value total(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* The sum over frames of the mean distance of their frequencies. */
static mica_value distance(mica_value a, mica_value b, mica_value mask) {
  const double count = (double)mica_value_shape(a).dim[1];
  return mica_affine(total(mica_mul(mica_abs(mica_sub(a, b)), mask)), 1 / count, 0);
}

static void step(mica_nn *nn, const mica_batch_values *batch, const void *config, mica_objective *out) {
  const mica_run *run = config;
  const mica__speak_words words = words_of(batch);
  if (!words.letters.graph || !words.lengths.graph) return;
  const mica__speak_code code = mica__speak_encode(nn, run, &words);
  if (!mica_nn_is_training(nn)) out->outputs[0] = code.durations, out->output_names[0] = "durations";
  if (!mica_batch_has(batch, "sound") || !code.durations.graph) return;
  mica_value sound = mica_batch_value(batch, "sound"), lengths = mica_batch_value(batch, "sound.length");
  if (!sound.graph || !lengths.graph) return;
  mica_value frames = mica__speak_frames(run, lengths);
  const mica__speak_spectra want = mica__speak_spectra_of(run, mica__speak_levelled(sound, lengths));
  if (!want.mel.graph) return;
  mica_value mask = mica__speak_mask(want.mel, frames), aligned = {0};
  mica_value logits = mica__speak_align(nn, run, &words, want.mel, mask);
  mica_value durations = durations_of(logits, &words, frames, mask, &aligned);
  if (!durations.graph) return;
  const mica__speak_spectra z = mica__speak_decode(nn, run, &code, durations, mask);
  if (!z.mel.graph) return;
  mica_value letter_mask = mica_squeeze(code.mask, MICA_AXES(1)), count = total(mask);
  mica_value letters = mica_maximum(total(letter_mask), mica_full_like(count, 1));
  mica_value apart = mica_mul(mica_sub(code.durations, mica_log1p(durations)), letter_mask);
  mica_value error = mica_mul(mica_sub(mica_expm1(code.durations), durations), letter_mask);
  mica_value spectrum = distance(z.spectrum, want.spectrum, mask);
  mica_value loss = mica_add(spectrum, distance(z.mel, want.mel, mask));
  mica_value voices = mica__speak_listen(nn, run, want.mel, mask);
  loss = mica_div(mica_add(loss, mica_affine(aligned, ALIGNMENT, 0)), count);
  loss = mica_add(loss, mica_affine(mica_div(total(mica_square(apart)), letters), DURATIONS, 0));
  out->loss = mica_add(loss, mica_affine(mica_cross_entropy(voices, words.speakers, NULL), VOICES, 0));
  out->weight = count;
  out->metrics[0] = (mica_metric){.name = "spectrum_mae", .sum = spectrum, .weight = count};
  out->metrics[1] = (mica_metric){.name = "duration_mae", .sum = total(mica_abs(error)), .weight = letters};
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
                    "%s is a run of the task speak, which speaks: mica speak --model %s --text TEXT", run->folder,
                    run->folder);
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
