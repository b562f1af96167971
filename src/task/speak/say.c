/* Speaking with a trained network: letters to durations, durations to spectra, spectra to a wave. */
#include "data/picture/paint.h"
#include "data/sound/letters.h"
#include "networks/speaker_wave.h"
#include "run/columns/columns.h"
#include "run/letters.h"
#include "run/predict/once.h"
#include "run/predict/wave.h"
#include "run/state/evaluation.h"
#include "task/speak/speak.h"

#include "base/arith.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The most bytes of a text, and the highest speed relative to the usual one; the lowest is its reciprocal. */
#define MOST_LETTERS 10000
#define FASTEST 10.0
/* The most frames of an utterance. */
#define MOST_FRAMES (1 << 22)
/* Magnitudes are raised to this power, which restores the peaks that averaging of spectra flattens. */
#define POWER 1.2
/* The most speakers that speak in a report. */
#define SHOWN 6

/* The utterance that is being made. */
typedef struct saying {
  int32_t *letters; /* code points */
  float *durations; /* frames of each letter */
  int64_t count, frames;
  float *shares; /* the share of each of the run's speakers in the voice */
} saying;

static void free_saying(saying *s) {
  free(s->letters);
  free(s->durations);
  free(s->shares);
}

/* Indices of inputs. The graph that computes durations has the inputs before BOTH; the graph that computes spectra has
 * all inputs. */
enum { LETTERS, LENGTH, SHARES, BOTH, DURATIONS = BOTH, FRAMES, ALL };

/* The argument of build(): the network, and which of its two graphs to build. */
typedef struct building {
  mica__speaker network;
  bool spectra; /* true: build spectra from letters and their durations; false: build the durations */
} building;

static mica_value build(mica_nn *nn, const mica_run *run, const mica_value *in, void *user) {
  const building *b = user;
  const mica__speaker_words words = {.letters = in[LETTERS], .lengths = in[LENGTH], .shares = in[SHARES]};
  const mica__speaker_code code = mica__speaker_encode(nn, &b->network, &words);
  (void)run;
  if (!b->spectra) return code.durations;
  return mica__speaker_unscale(mica__speaker_decode(nn, &b->network, &code, in[DURATIONS], in[FRAMES]).spectrum);
}

/* Computes `count` numbers: the spectra or, if `frames` is NULL, the durations of the letters. `frames` has a one for
 * each frame. */
static mica_status compute(mica_run *run, const saying *s, const float *frames, int64_t count, float *output) {
  const int64_t speakers = (int64_t)mica__speak_facts_of(run).speakers.count;
  const int32_t length = (int32_t)s->count;
  const mica__once_input inputs[ALL] = {{"letters", MICA_I32, MICA_SHAPE(1, s->count), s->letters},
                                        {"length", MICA_I32, MICA_SHAPE(1), &length},
                                        {"shares", MICA_F32, MICA_SHAPE(1, speakers), s->shares},
                                        {"durations", MICA_F32, MICA_SHAPE(1, s->count), s->durations},
                                        {"frames", MICA_F32, MICA_SHAPE(1, 1, s->frames), frames}};
  building b = {.spectra = frames};
  int32_t *letters = NULL;
  mica_status status = mica__speak_network(run, &b.network, &letters);
  if (status == MICA_OK) status = mica__run_once(run, inputs, b.spectra ? ALL : BOTH, build, &b, output, count);
  free(letters);
  return status;
}

/* --- what to say --- */

/* Reads the letters of a text, with silence at both ends. */
static mica_status read_letters(const mica_run *run, const char *text, saying *s) {
  const size_t size = strlen(text);
  if (!size) return mica__fail(MICA_E_INVALID, "the text is empty: there is nothing to say");
  if (size > MOST_LETTERS)
    return mica__fail(MICA_E_INVALID, "the text has %zu bytes, but may have at most %d", size, MOST_LETTERS);
  if (!(s->letters = calloc(size + 2, sizeof *s->letters))) return mica__fail_nomem("a text");
  MICA_TRY(mica__letters_of(run, text, s->letters + 1, &s->count));
  s->letters[0] = s->letters[s->count + 1] = MICA__SPEAKER_SILENCE;
  s->count += 2;
  return MICA_OK;
}

/* Sets the voice to that of one speaker. */
static mica_status set_speaker(const mica_run *run, size_t speaker, saying *s) {
  s->shares = calloc(mica__speak_facts_of(run).speakers.count, sizeof *s->shares);
  if (!s->shares) return mica__fail_nomem("speakers");
  s->shares[speaker] = 1;
  return MICA_OK;
}

static mica_status mix_speakers(const mica_run *run, const double *shares, saying *s) {
  double sum = 0;
  MICA_TRY(set_speaker(run, 0, s));
  for (size_t i = 0; i < mica__speak_facts_of(run).speakers.count; i++) {
    if (!(shares[i] >= 0 && shares[i] <= 1))
      return mica__fail(MICA_E_INVALID, "shares[%zu] is %g, but shares of speakers must be from 0 to 1", i, shares[i]);
    s->shares[i] = (float)shares[i];
    sum += shares[i];
  }
  if (fabs(sum - 1) <= 1e-3) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "the shares of speakers add up to %g, not 1", sum);
}

static mica_status find_speaker(const mica_run *run, const char *name, saying *s) {
  const mica__fact_texts all = mica__speak_facts_of(run).speakers;
  const size_t found = name ? mica__run_find_name(all.list, all.count, name) : 0;
  mica__text list = {0};
  if (found < all.count) return set_speaker(run, found, s);
  if (all.count == 1 && !*all.list[0])
    return mica__fail(MICA_E_NOT_FOUND, "the run has one speaker without a name; leave out the speaker");
  for (size_t i = 0; i < all.count; i++) mica__text_addf(&list, "%s%s", i ? ", " : "", all.list[i]);
  mica_status status =
      mica__fail(MICA_E_NOT_FOUND, "the run has no speaker \"%s\"; choose from %s", name, list.data ? list.data : "");
  mica__text_free(&list);
  return status;
}

/* --- speaking --- */

/* Computes the number of frames of each letter at this speed, from the network's log(1 + frames), and the number of
 * frames of the utterance. */
static mica_status set_durations(mica_run *run, double speed, saying *s) {
  if (!(s->durations = calloc((size_t)s->count, sizeof *s->durations))) return mica__fail_nomem("durations");
  MICA_TRY(compute(run, s, NULL, s->count, s->durations));
  const double sum = mica__speaker_time(s->durations, s->count, speed);
  if (!(sum <= MOST_FRAMES))
    return mica__fail(MICA_E_NUMERIC,
                      "the network predicts %g frames for the text, but at most %d are possible; shorten the text or "
                      "train the network longer",
                      sum, MOST_FRAMES);
  s->frames = mica__max((int64_t)nearbyint(fmax(sum, 0)), 2);
  return MICA_OK;
}

/* Computes the magnitudes (bins, frames) of the utterance, raised to POWER; the caller frees them. */
static mica_status find_spectrum(mica_run *run, const saying *s, float **spectrum) {
  const int64_t count = mica__speaker_bins(mica__speak_facts_of(run).rate) * s->frames;
  float *ones = malloc((size_t)s->frames * sizeof *ones);
  *spectrum = calloc((size_t)count, sizeof **spectrum);
  for (int64_t i = 0; ones && i < s->frames; i++) ones[i] = 1;
  mica_status status = ones && *spectrum ? compute(run, s, ones, count, *spectrum) : mica__fail_nomem("a spectrum");
  for (int64_t i = 0; status == MICA_OK && i < count; i++) (*spectrum)[i] = powf((*spectrum)[i], (float)POWER);
  free(ones);
  return status;
}

static mica_status say(mica_run *run, const mica_speech_config *config, saying *s, float **samples, int64_t *count) {
  const int64_t iterations = config->iterations ? config->iterations : mica__speak_settings_of(run).iterations;
  const double speed = config->speed != 0 ? config->speed : 1;
  const mica_stft_config stft = mica__speaker_stft(mica__speak_facts_of(run).rate);
  float *spectrum = NULL;
  if (!(speed >= 1 / FASTEST && speed <= FASTEST))
    return mica__fail(MICA_E_INVALID, "the speed must be from %g to %g, not %g", 1 / FASTEST, FASTEST, config->speed);
  if (iterations < 1 || iterations > 10000)
    return mica__fail(MICA_E_INVALID, "iterations must be from 1 to 10000, not %lld", (long long)iterations);
  MICA_TRY(read_letters(run, config->text, s));
  if (config->shares && config->speaker)
    return mica__fail(MICA_E_INVALID, "give a speaker or shares of speakers, not both");
  MICA_TRY(config->shares ? mix_speakers(run, config->shares, s) : find_speaker(run, config->speaker, s));
  MICA_TRY(set_durations(run, speed, s));
  mica_status status = find_spectrum(run, s, &spectrum);
  if (status == MICA_OK) status = mica__find_wave(run->engine, &stft, spectrum, s->frames, iterations, samples, count);
  free(spectrum);
  return status == MICA_OK ? mica__speaker_finish(samples, count, mica__speak_facts_of(run).rate) : status;
}

mica_status mica__speak_say(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count) {
  saying s = {0};
  mica_status status = say(run, config, &s, samples, count);
  free_saying(&s);
  return status;
}

/* --- the report --- */

/* Appends the text of the first sample of the evaluated data, if there is one. */
static mica_status first_text(const mica_run *run, mica__text *text) {
  const mica_dataset *data = run->evaluation->data;
  return data && mica_dataset_count(data) ? mica__letters_take(data, 0, text) : MICA_OK;
}

static mica_status add_spectrum(const mica_run *run, const saying *s, const float *spectrum, const char *caption,
                                mica_report *report) {
  const int64_t bins = mica__speaker_bins(mica__speak_facts_of(run).rate), frames = s->frames;
  uint8_t *planes = mica__paint_spectrum(spectrum, bins, frames);
  if (!planes) return mica__fail_nomem("a picture");
  const mica_item item = {.kind = MICA_ITEM_KIND_PICTURE,
                          .name = "spectrum",
                          .text = caption,
                          .planes = planes,
                          .shape = MICA_SHAPE(1, 2 * bins, frames)};
  mica_status status = mica_report_add(report, &item);
  free(planes);
  return status;
}

static mica_status add_speaker(mica_run *run, const char *text, size_t speaker, mica_report *report) {
  saying s = {0};
  float *spectrum = NULL;
  mica__text caption = {0};
  mica__text_addf(&caption, "%s: %s", mica__speak_facts_of(run).speakers.list[speaker], text);
  mica_status status = read_letters(run, text, &s);
  if (status == MICA_OK) status = set_speaker(run, speaker, &s);
  if (status == MICA_OK) status = set_durations(run, 1, &s);
  if (status == MICA_OK) status = find_spectrum(run, &s, &spectrum);
  if (status == MICA_OK) status = mica__text_status(&caption);
  if (status == MICA_OK) status = add_spectrum(run, &s, spectrum, caption.data, report);
  free(spectrum);
  free_saying(&s);
  mica__text_free(&caption);
  return status;
}

mica_status mica__speak_report(mica_run *run, mica_report *report) {
  const size_t speakers = (size_t)mica__min((int64_t)mica__speak_facts_of(run).speakers.count, SHOWN);
  mica__text text = {0};
  mica_status status = first_text(run, &text);
  if (status == MICA_OK && text.length) status = mica_report_begin(report, "Spoken");
  for (size_t i = 0; status == MICA_OK && text.length && i < speakers; i++)
    status = add_speaker(run, text.data, i, report);
  mica__text_free(&text);
  return status;
}
