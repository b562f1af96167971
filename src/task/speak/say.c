/* Speaking with a trained network: letters to durations, durations to spectra, spectra to a wave. */
#include "nn/nn.h"
#include "run/columns/columns.h"
#include "run/facts.h"
#include "run/letters.h"
#include "run/network.h"
#include "run/state/evaluation.h"
#include "task/speak/speak.h"

#include "base/arith.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Letters of a text at most, and times of the usual speed. */
#define MOST_LETTERS 10000
#define FASTEST 10.0
/* Letters of an alphabet that a message lists at most. */
#define MOST_LISTED 100
/* Frames of what is spoken at most. */
#define MOST_FRAMES (1 << 22)
/* Frames of silence at an end at most, as the network speaks it. */
#define MOST_SILENCE 5.0
/* Magnitudes are raised to this power: what is loud stands out, as it does before spectra are averaged. */
#define POWER 1.2
/* Seconds of silence at both ends. */
#define SILENCE 0.15
/* Speakers that a report lets speak. */
#define SHOWN 6

enum { LETTERS, LENGTH, SHARES, DURATIONS, FRAMES, FEEDS };
static const char *const names[FEEDS] = {"letters", "length", "shares", "durations", "frames"};

/* What is being said. */
typedef struct saying {
  int32_t *letters; /* code points */
  float *durations; /* frames of each */
  int64_t count, frames;
  float *shares; /* of the run's speakers in the voice */
} saying;

static void free_saying(saying *s) {
  free(s->letters);
  free(s->durations);
  free(s->shares);
}

/* A network of the run's weights, with inputs of its own: durations of letters, or spectra of frames. */
typedef struct part {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *tensors[FEEDS];
} part;

static void free_part(part *p) {
  for (int i = 0; i < FEEDS; i++) mica_tensor_destroy(p->tensors[i]);
  mica_session_destroy(p->session);
  mica_nn_destroy(p->nn);
  mica_graph_destroy(p->graph);
}

static mica_status build(mica_run *run, const saying *s, bool spectra, part *p) {
  const mica_nn_config building = mica__run_building(run);
  const mica_session_config config = {.share = mica_trainer_test_session(run->trainer)};
  const int64_t speakers = (int64_t)mica__speak_facts_of(run).speakers.count;
  MICA_TRY(mica_graph_create(&p->graph));
  MICA_TRY(mica_nn_create(p->graph, &building, &p->nn));
  const mica__speak_words words = {.letters = mica_input(p->graph, names[LETTERS], MICA_I32, MICA_SHAPE(1, s->count)),
                                   .lengths = mica_input(p->graph, names[LENGTH], MICA_I32, MICA_SHAPE(1)),
                                   .shares = mica_input(p->graph, names[SHARES], MICA_F32, MICA_SHAPE(1, speakers))};
  const mica__speak_code code = mica__speak_encode(p->nn, run, &words);
  mica_value out = code.durations;
  if (spectra) {
    mica_value durations = mica_input(p->graph, names[DURATIONS], MICA_F32, MICA_SHAPE(1, s->count));
    mica_value frames = mica_input(p->graph, names[FRAMES], MICA_F32, MICA_SHAPE(1, 1, s->frames));
    out = mica__speak_unscale(mica__speak_decode(p->nn, run, &code, durations, frames).spectrum);
  }
  return mica_session_create(run->engine, p->graph, &out, 1, &config, &p->session);
}

static mica_status feed(mica_run *run, part *p, int which, mica_dtype dtype, mica_shape shape, const void *data) {
  MICA_TRY(mica_tensor_create(run->engine, dtype, shape, &p->tensors[which]));
  return mica_tensor_upload(mica_engine_queue(run->engine), p->tensors[which], data,
                            mica_tensor_bytes(p->tensors[which]));
}

/* The output of a part, which has `count` numbers. frames: ones. */
static mica_status compute(mica_run *run, const saying *s, const float *frames, int64_t count, float *output) {
  const int64_t speakers = (int64_t)mica__speak_facts_of(run).speakers.count;
  const int32_t length = (int32_t)s->count;
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_feed feeds[FEEDS];
  part p = {0};
  size_t fed = 0;
  mica_status status = build(run, s, frames, &p);
  if (status == MICA_OK) status = feed(run, &p, LETTERS, MICA_I32, MICA_SHAPE(1, s->count), s->letters);
  if (status == MICA_OK) status = feed(run, &p, LENGTH, MICA_I32, MICA_SHAPE(1), &length);
  if (status == MICA_OK) status = feed(run, &p, SHARES, MICA_F32, MICA_SHAPE(1, speakers), s->shares);
  if (status == MICA_OK && frames) status = feed(run, &p, DURATIONS, MICA_F32, MICA_SHAPE(1, s->count), s->durations);
  if (status == MICA_OK && frames) status = feed(run, &p, FRAMES, MICA_F32, MICA_SHAPE(1, 1, s->frames), frames);
  for (int i = 0; i < FEEDS; i++)
    if (p.tensors[i]) feeds[fed++] = (mica_feed){names[i], p.tensors[i]};
  if (status == MICA_OK) status = mica_session_run(p.session, queue, feeds, fed);
  if (status == MICA_OK)
    status = mica_tensor_download(queue, mica_session_output(p.session, 0), output, (size_t)count * sizeof *output);
  free_part(&p);
  return status;
}

/* --- what to say --- */

static bool is_known(const int32_t *letters, int64_t count, int32_t letter) {
  for (int64_t i = 0; i < count; i++)
    if (letters[i] == letter) return true;
  return false;
}

static mica_status fail_letter(const int32_t *known, int64_t count, int32_t letter) {
  mica__text wrong = {0}, list = {0};
  mica__text_add(&wrong, letter < ' ' ? "" : "'");
  if (letter >= ' ') mica__letter_add(&wrong, letter);
  mica__text_add(&wrong, letter < ' ' ? "" : "' ");
  mica__text_add(&list, "");
  for (int64_t i = 0; i < count && i < MOST_LISTED; i++) mica__letter_add(&list, known[i]);
  if (count > MOST_LISTED) mica__text_add(&list, "...");
  mica_status status = mica__text_status(&wrong);
  if (status == MICA_OK) status = mica__text_status(&list);
  if (status == MICA_OK)
    status = mica__fail(MICA_E_INVALID, "the run has not learned the letter %s(U+%04X); it has learned \"%s\"",
                        wrong.data, (unsigned)letter, list.data);
  mica__text_free(&wrong);
  mica__text_free(&list);
  return status;
}

static mica_status read_letters(const mica_run *run, const char *text, saying *s) {
  const size_t size = strlen(text);
  int32_t *known = NULL;
  if (!size) return mica__fail(MICA_E_INVALID, "the text is empty: there is nothing to say");
  if (size > MOST_LETTERS)
    return mica__fail(MICA_E_INVALID, "the text has %zu bytes; %d are the most", size, MOST_LETTERS);
  if (!(s->letters = calloc(size + 2, sizeof *s->letters))) return mica__fail_nomem("a text");
  MICA_TRY(mica__letters_read(run, &known));
  mica_status status = MICA_OK;
  s->letters[s->count++] = MICA__SPEAK_SILENCE;
  for (size_t at = 0, bytes = 0; status == MICA_OK && at < size; at += bytes) {
    const int32_t letter = mica__letter_at(text + at, size - at, &bytes);
    if (letter < 0)
      status = mica__fail(MICA_E_INVALID, "the text is not UTF-8 at byte %zu", at + 1);
    else if (!is_known(known, mica__letters_classes(run) - 1, letter))
      status = fail_letter(known, mica__letters_classes(run) - 1, letter);
    else
      s->letters[s->count++] = letter;
  }
  s->letters[s->count++] = MICA__SPEAK_SILENCE;
  free(known);
  return status;
}

/* A voice of one speaker. */
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
      return mica__fail(MICA_E_INVALID, "the share of speaker %zu is %g; shares are from 0 to 1", i, shares[i]);
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

/* Frames of each letter, from log(1 + frames). */
static mica_status set_durations(mica_run *run, double speed, saying *s) {
  double sum = 0;
  if (!(s->durations = calloc((size_t)s->count, sizeof *s->durations))) return mica__fail_nomem("durations");
  MICA_TRY(compute(run, s, NULL, s->count, s->durations));
  for (int64_t i = 0; i < s->count; i++) {
    const double predicted = expm1((double)s->durations[i]) / speed;
    const double frames = i && i + 1 < s->count ? predicted : fmin(predicted, MOST_SILENCE);
    s->durations[i] = (float)frames;
    sum += frames;
  }
  if (!(sum <= MOST_FRAMES))
    return mica__fail(MICA_E_NUMERIC,
                      "the network predicts durations of %g frames in all, and %d are the most; train it longer, or "
                      "with a lower rate",
                      sum, MOST_FRAMES);
  s->frames = mica__max((int64_t)nearbyint(fmax(sum, 0)), 2);
  return MICA_OK;
}

/* Magnitudes (bins, frames), the caller's to free. */
static mica_status find_spectrum(mica_run *run, const saying *s, float **spectrum) {
  const int64_t count = mica__speak_bins(run) * s->frames;
  float *ones = malloc((size_t)s->frames * sizeof *ones);
  *spectrum = calloc((size_t)count, sizeof **spectrum);
  for (int64_t i = 0; ones && i < s->frames; i++) ones[i] = 1;
  mica_status status = ones && *spectrum ? compute(run, s, ones, count, *spectrum) : mica__fail_nomem("a spectrum");
  for (int64_t i = 0; status == MICA_OK && i < count; i++) (*spectrum)[i] = powf((*spectrum)[i], (float)POWER);
  free(ones);
  return status;
}

/* Puts silence before and behind a wave: what hears it needs some before the first word. */
static mica_status add_silence(const mica_run *run, float **samples, int64_t *count) {
  const int64_t silence = (int64_t)(SILENCE * mica__speak_facts_of(run).rate);
  float *longer = calloc((size_t)(*count + 2 * silence) + 1, sizeof *longer);
  if (longer) memcpy(longer + silence, *samples, (size_t)*count * sizeof *longer);
  free(*samples);
  *samples = longer;
  *count += 2 * silence;
  return longer ? MICA_OK : mica__fail_nomem("a wave");
}

/* Makes a wave as loud as recordings, but for what would leave -1 to 1. */
static void level(float *samples, int64_t count) {
  double power = 0, most = 0;
  for (int64_t i = 0; i < count; i++) power += (double)samples[i] * (double)samples[i] / (double)count;
  for (int64_t i = 0; i < count; i++) most = fmax(most, fabs((double)samples[i]));
  const double factor = power > 0 ? fmin(MICA__SPEAK_LEVEL / sqrt(power), 1 / most) : 0;
  for (int64_t i = 0; i < count; i++) samples[i] = (float)(factor * (double)samples[i]);
}

static mica_status say(mica_run *run, const mica_speech_config *config, saying *s, float **samples, int64_t *count) {
  const int64_t iterations = config->iterations ? config->iterations : mica__speak_settings_of(run).iterations;
  const double speed = config->speed != 0 ? config->speed : 1;
  float *spectrum = NULL;
  if (!(speed >= 1 / FASTEST && speed <= FASTEST))
    return mica__fail(MICA_E_INVALID, "the speed is from %g to %g, not %g", 1 / FASTEST, FASTEST, config->speed);
  if (iterations < 1 || iterations > 10000)
    return mica__fail(MICA_E_INVALID, "iterations are from 1 to 10000, not %lld", (long long)iterations);
  MICA_TRY(read_letters(run, config->text, s));
  if (config->shares && config->speaker)
    return mica__fail(MICA_E_INVALID, "give a speaker or shares of speakers, not both");
  MICA_TRY(config->shares ? mix_speakers(run, config->shares, s) : find_speaker(run, config->speaker, s));
  MICA_TRY(set_durations(run, speed, s));
  mica_status status = find_spectrum(run, s, &spectrum);
  if (status == MICA_OK) status = mica__speak_wave(run, spectrum, s->frames, iterations, samples, count);
  free(spectrum);
  if (status == MICA_OK) level(*samples, *count);
  return status == MICA_OK ? add_silence(run, samples, count) : status;
}

mica_status mica__speak_say(mica_run *run, const mica_speech_config *config, float **samples, int64_t *count) {
  saying s = {0};
  mica_status status = say(run, config, &s, samples, count);
  free_saying(&s);
  return status;
}

/* --- the report --- */

/* Adds the text of the first sample of the data that are judged. */
static mica_status first_text(const mica_run *run, mica__text *text) {
  const mica_dataset *data = run->evaluation->data;
  const size_t column = data ? mica_dataset_column_index(data, "tokens") : 0;
  int64_t count = 0;
  if (!data || !mica_dataset_count(data)) return MICA_OK;
  MICA_TRY(mica_dataset_length(data, column, 0, &count));
  int32_t *letters = calloc((size_t)count + 1, sizeof *letters);
  if (!letters) return mica__fail_nomem("a text");
  mica_status status = mica_dataset_read(data, column, 0, letters, (size_t)count * sizeof *letters);
  for (int64_t i = 0; status == MICA_OK && i < count; i++) mica__letter_add(text, letters[i]);
  free(letters);
  return status == MICA_OK ? mica__text_status(text) : status;
}

/* Scaled magnitudes as a picture of two pixels per frequency, low ones at the bottom. */
static mica_status add_spectrum(const mica_run *run, const saying *s, const float *spectrum, const char *caption,
                                mica_report *report) {
  const int64_t bins = mica__speak_bins(run), frames = s->frames;
  uint8_t *planes = malloc((size_t)(2 * bins * frames));
  float most = 1e-6f;
  if (!planes) return mica__fail_nomem("a picture");
  for (int64_t i = 0; i < bins * frames; i++) most = fmaxf(most, spectrum[i]);
  for (int64_t i = 0; i < 2 * bins * frames; i++) {
    const double share = (double)spectrum[(bins - 1 - i / frames / 2) * frames + i % frames] / (double)most;
    planes[i] = (uint8_t)(255 * fmax(1 + log10(fmax(share, 1e-3)) / 3, 0));
  }
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
