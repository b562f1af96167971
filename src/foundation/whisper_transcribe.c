/* Transcripts by Whisper: windows, tokens, segments. Radford et al. 2022; windows and segments as in transformers. */
#include "foundation/whisper.h"

#include "base/arith.h"
#include "base/text.h"
#include "data/sound/sound.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds per frame of features, and per step of times. */
#define FRAME 0.01
#define STEP 0.02
/* Samples from one frame to the next. */
#define HOP 160
/* The least number of positions that a decoder must have: room for three given tokens and a chosen one. */
#define LEAST_POSITIONS 4
/* The most texts that may be drawn per temperature, for one window. */
#define MOST_TEXTS 100
/* The text of a window above this temperature is not passed on to the next window. */
#define MOST_TEMPERATURE 0.5

struct mica_whisper {
  const mica_foundation *model;
  mica_tokenizer *tokenizer;
  mica_whisper_config config; /* language is NULL */
  mica__whisper_rules rules;
  mica__whisper_sessions sessions;
  mica__whisper_sound sound;
  mica__resampler *resampler;
  int64_t frames; /* per window */
  int64_t seek;   /* the next window's first frame */
  int64_t pushed; /* samples at the given rate */
  bool finished;
  float *mel;
  /* language tokens. wanted -1: detect; language -1: not known yet. Both stay -1 if the model knows only English */
  int32_t wanted, language;
  char language_name[16];
  mica__whisper_reader reader; /* reader.text: the window's tokens */
  int32_t *past, *texts;       /* the last tokens before the window; a segment's tokens */
  size_t past_count;
  double no_speech; /* of the window */
};

/* --- making a transcriber --- */

/* Sets w->language to the token, and w->language_name to the code in its name: "en" for "<|en|>". The name is empty if
 * the token is -1. */
static void name_language(mica_whisper *w, int32_t token) {
  const char *name = token >= 0 ? mica_tokenizer_token(w->tokenizer, token) : NULL;
  w->language = token;
  w->language_name[0] = '\0';
  if (!name || strncmp(name, "<|", 2) != 0) return;
  snprintf(w->language_name, sizeof w->language_name, "%.*s", (int)strcspn(name + 2, "|"), name + 2);
}

static mica_status choose_language(mica_whisper *w, const char *language) {
  char name[40];
  w->wanted = -1;
  if (!w->rules.multilingual) {
    if (!language && !w->config.translate) return MICA_OK;
    return mica__fail(MICA_E_INVALID, "%s: the model knows only English; leave out the language and the translation",
                      w->model->path);
  }
  if (!language) return MICA_OK;
  snprintf(name, sizeof name, "<|%.32s|>", language);
  w->wanted = mica_tokenizer_id(w->tokenizer, name);
  if (w->wanted > w->rules.start && w->wanted <= mica__whisper_last_language(&w->rules)) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s: the model does not know the language \"%.32s\"; give a code such as en or de",
                    w->model->path, language);
}

static mica_status make(mica_whisper *w, mica_engine *engine, const char *language) {
  MICA_TRY(mica__whisper_sessions_create(engine, w->model, w->config.half, &w->sessions));
  MICA_TRY(mica_foundation_tokenizer(w->model, &w->tokenizer));
  MICA_TRY(mica__whisper_rules_open(w->model, w->tokenizer, &w->rules));
  MICA_TRY(choose_language(w, language));
  const mica_whisper_sizes *sizes = &w->sessions.sizes;
  w->frames = 2 * sizes->encoder.positions;
  if (sizes->decoder.positions < LEAST_POSITIONS)
    return mica__fail(MICA_E_FORMAT, "%s: the decoder has %" PRId64 " positions, but must have at least %d",
                      w->model->path, sizes->decoder.positions, LEAST_POSITIONS);
  MICA_TRY(mica__whisper_sound_create(engine, sizes->bins, &w->sound));
  w->mel = calloc((size_t)(sizes->bins * w->frames), sizeof *w->mel);
  w->past = calloc((size_t)sizes->decoder.positions, sizeof *w->past);
  w->texts = calloc((size_t)sizes->decoder.positions, sizeof *w->texts);
  if (!w->mel || !w->past || !w->texts) return mica__fail_nomem("a window of sound");
  w->reader = (mica__whisper_reader){
      .rules = &w->rules, .tokenizer = w->tokenizer, .sessions = &w->sessions, .config = w->config};
  MICA_TRY(mica__whisper_reader_create(&w->reader));
  mica_whisper_reset(w);
  return MICA_OK;
}

static mica_status check_config(const mica_whisper_config *c) {
  if (c->rate < 0 || c->rate > MICA__SOUND_RATE || !(c->no_speech >= 0 && c->no_speech <= 1))
    return mica__fail(MICA_E_INVALID,
                      "mica_whisper_create: rate (%d) must be from 0 to %d Hz, and no_speech (%g) from 0 to 1",
                      (int)c->rate, MICA__SOUND_RATE, c->no_speech);
  if (!(c->least_log_probability <= 0) || !(c->most_compression >= 0) || c->best_of < 0 || c->best_of > MOST_TEXTS)
    return mica__fail(MICA_E_INVALID,
                      "mica_whisper_create: least_log_probability (%g) must be at most 0, most_compression (%g) at "
                      "least 0, and best_of (%d) from 0 to %d",
                      c->least_log_probability, c->most_compression, (int)c->best_of, MOST_TEXTS);
  return MICA_OK;
}

static mica_whisper_config with_defaults(mica_whisper_config c) {
  c.language = NULL;
  if (!c.rate) c.rate = MICA_WHISPER_RATE;
  c.no_speech = mica__or_default(c.no_speech, 0.6);
  c.least_log_probability = mica__or_default(c.least_log_probability, -1);
  c.most_compression = mica__or_default(c.most_compression, 2.4);
  if (!c.best_of) c.best_of = 5;
  return c;
}

mica_status mica_whisper_create(mica_engine *engine, const mica_foundation *model, const mica_whisper_config *config,
                                mica_whisper **whisper) {
  const mica_whisper_config c = config ? *config : (mica_whisper_config){0};
  mica_whisper_sizes sizes;
  if (!engine || !model || !whisper)
    return mica__fail(MICA_E_INVALID, "mica_whisper_create: engine, model or whisper is NULL");
  MICA_TRY(check_config(&c));
  MICA_TRY(mica_whisper_sizes_of(model, &sizes));
  mica_whisper *w = calloc(1, sizeof *w);
  if (!w) return mica__fail_nomem("a transcript");
  w->model = model;
  w->config = with_defaults(c);
  const mica_status status = make(w, engine, c.language);
  if (status == MICA_OK)
    *whisper = w;
  else
    mica_whisper_destroy(w);
  return status;
}

void mica_whisper_destroy(mica_whisper *w) {
  if (!w) return;
  mica__whisper_reader_free(&w->reader);
  mica__whisper_sessions_free(&w->sessions);
  mica__whisper_sound_free(&w->sound);
  mica__whisper_rules_free(&w->rules);
  mica__resampler_destroy(w->resampler);
  mica_tokenizer_destroy(w->tokenizer);
  free(w->mel);
  free(w->past);
  free(w->texts);
  free(w);
}

void mica_whisper_reset(mica_whisper *w) {
  if (!w) return;
  mica__whisper_sound_reset(&w->sound);
  mica__resampler_destroy(w->resampler);
  w->resampler = NULL;
  w->seek = w->pushed = 0;
  w->past_count = 0;
  w->finished = false;
  name_language(w, w->wanted);
  if (!w->rules.multilingual) snprintf(w->language_name, sizeof w->language_name, "en");
}

const char *mica_whisper_language(const mica_whisper *w) { return w ? w->language_name : ""; }
double mica_whisper_seconds(const mica_whisper *w) { return w ? (double)w->pushed / (double)w->config.rate : 0; }

/* --- tokens of a window --- */

/* Appends tokens to w->past, which later windows get as context. Only the last decoder.positions / 2 - 1 tokens are
 * kept. */
static void remember(mica_whisper *w, const int32_t *tokens, size_t count) {
  const size_t most = (size_t)(w->sessions.sizes.decoder.positions / 2 - 1);
  if (count > most) tokens += count - most, count = most;
  const size_t gone = w->past_count + count > most ? w->past_count + count - most : 0;
  memmove(w->past, w->past + gone, (w->past_count - gone) * sizeof *w->past);
  memcpy(w->past + w->past_count - gone, tokens, count * sizeof *w->past);
  w->past_count += count - gone;
}

/* Encodes the next window and reads the tokens that precede the transcript: the text of earlier windows if it is used,
 * then the token of start and, in multilingual models, the tokens of language and task. *position receives the number
 * of these tokens. */
static mica_status begin_window(mica_whisper *w, int32_t *position) {
  const mica__whisper_rules *r = &w->rules;
  const int64_t vocabulary = w->sessions.sizes.vocabulary;
  const bool room = (int64_t)w->past_count + 1 + LEAST_POSITIONS <= w->sessions.sizes.decoder.positions;
  const bool past = w->past_count > 0 && room && r->previous >= 0 && !w->config.no_context;
  mica__whisper_sound_window(&w->sound, w->seek, w->frames, w->mel);
  MICA_TRY(mica__whisper_sessions_begin(&w->sessions, w->mel, past ? r->previous : r->start));
  *position = 1;
  if (past) {
    MICA_TRY(mica__whisper_sessions_read(&w->sessions, w->past, w->past_count));
    *position += (int32_t)w->past_count;
    MICA_TRY(mica__whisper_sessions_next(&w->sessions, r->start, (*position)++));
  }
  w->no_speech = mica__whisper_probability(w->sessions.logits, vocabulary, r->no_timestamps - 1);
  if (!r->multilingual) return MICA_OK;
  if (w->language < 0) name_language(w, mica__whisper_language(r, w->sessions.logits));
  MICA_TRY(mica__whisper_sessions_next(&w->sessions, w->language, (*position)++));
  return mica__whisper_sessions_next(&w->sessions, w->config.translate ? r->translate : r->transcribe, (*position)++);
}

/* --- segments --- */

static bool is_time(const mica_whisper *w, size_t i) { return w->reader.text.tokens[i] > w->rules.no_timestamps; }
static double time_of(const mica_whisper *w, size_t i) {
  return STEP * (w->reader.text.tokens[i] - w->rules.no_timestamps - 1);
}

/* Passes the tokens first to end - 1 to the caller as a segment, unless it begins after the end of the recording. Also
 * remembers the tokens for the next window. `from` and `to` are seconds after the window's beginning. */
static mica_status give(mica_whisper *w, size_t first, size_t end, double from, double to) {
  const mica__whisper_text *t = &w->reader.text;
  const double offset = FRAME * (double)w->seek;
  char *text = NULL;
  size_t bytes = 0, count = 0;
  const bool twice = end - first > 2 && is_time(w, end - 2);
  remember(w, t->tokens + first, end - first - twice);
  if (!w->config.segment || offset + from >= mica_whisper_seconds(w)) return MICA_OK;
  for (size_t i = first; i < end; i++)
    if (!is_time(w, i) && !mica_tokenizer_is_special(w->tokenizer, t->tokens[i])) w->texts[count++] = t->tokens[i];
  MICA_TRY(mica_tokenizer_decode(w->tokenizer, w->texts, count, true, &text, &bytes));
  const mica_whisper_segment segment = {.from = offset + from,
                                        .to = offset + to,
                                        .text = text,
                                        .tokens = t->tokens + first,
                                        .token_count = end - first,
                                        .log_probability = t->log_probability,
                                        .no_speech = w->no_speech,
                                        .temperature = t->temperature,
                                        .compression = t->compression};
  w->config.segment(w->config.user, &segment);
  mica_free(text);
  return MICA_OK;
}

/* Passes on a window without a pair of times as one segment. */
static mica_status give_all(mica_whisper *w, int64_t frames) {
  const double rest = mica_whisper_seconds(w) - FRAME * (double)w->seek;
  size_t last = w->reader.text.count;
  double to = STEP * (double)(frames / 2);
  while (last > 0 && !is_time(w, last - 1)) last--;
  if (last > 0 && time_of(w, last - 1) > 0)
    to = time_of(w, last - 1);
  else if (to > rest)
    to = rest;
  return give(w, 0, w->reader.text.count, 0, to);
}

/* The index of the second time in the last pair of adjacent times; 0: no pair. */
static size_t last_pair(const mica_whisper *w) {
  size_t i = w->reader.text.count;
  while (i > 1 && !(is_time(w, i - 1) && is_time(w, i - 2))) i--;
  return i > 1 ? i - 1 : 0;
}

/* Passes the window's segments to the caller. Two adjacent times separate two segments. *read receives the number of
 * frames after which the next window begins. */
static mica_status give_segments(mica_whisper *w, int64_t frames, int64_t *read) {
  const size_t count = w->reader.text.count, last = last_pair(w);
  const bool ends_once = count >= 2 && !is_time(w, count - 2) && is_time(w, count - 1);
  size_t first = 0;
  *read = frames;
  if (last == 0) return give_all(w, frames);
  for (size_t i = 1; i <= last; i++) {
    if (!is_time(w, i - 1) || !is_time(w, i)) continue;
    /* As in transformers, the last segment contains both of the times at its end. */
    MICA_TRY(give(w, first, i + (i == last && !ends_once), time_of(w, first), time_of(w, i - 1)));
    first = i;
  }
  if (ends_once) return give(w, first, count, time_of(w, first), time_of(w, count - 1));
  /* The text after the last two adjacent times is incomplete. The next window begins at the first of these two times
   * and reads that text again. */
  const int64_t next = 2 * (int64_t)(w->reader.text.tokens[last - 1] - w->rules.no_timestamps - 1);
  if (next > 0) *read = next;
  return MICA_OK;
}

/* Transcribes a window; `frames` of its frames belong to the recording. */
static mica_status read_window(mica_whisper *w, int64_t frames) {
  const mica__whisper_text *text = &w->reader.text;
  int64_t read = frames;
  int32_t position = 0;
  MICA_TRY(begin_window(w, &position));
  const bool quiet = w->no_speech > w->config.no_speech;
  MICA_TRY(mica__whisper_reader_read(&w->reader, w->seek, position, quiet));
  const bool silent = quiet && text->log_probability < w->config.least_log_probability;
  if (!silent) MICA_TRY(give_segments(w, frames, &read));
  /* Randomly drawn tokens would mislead the next window. */
  if (text->temperature > MOST_TEMPERATURE) w->past_count = 0;
  w->seek += read;
  mica__whisper_sound_drop(&w->sound, w->seek);
  return MICA_OK;
}

/* --- samples --- */

static mica_status take(void *user, const float *samples, int64_t count) {
  mica_whisper *w = user;
  MICA_TRY(mica__whisper_sound_push(&w->sound, samples, count));
  while (w->config.stream && mica__whisper_sound_frames(&w->sound) >= w->seek + w->frames &&
         w->sound.total > w->frames * HOP)
    MICA_TRY(read_window(w, w->frames));
  return MICA_OK;
}

/* Takes samples at the given rate; last: no more samples follow. */
static mica_status resample(mica_whisper *w, const float *samples, int64_t count, bool last) {
  return mica__sound_resample(&w->resampler, w->config.rate, MICA_WHISPER_RATE, samples, count, last, take, w);
}

mica_status mica_whisper_push(mica_whisper *w, const float *samples, int64_t count) {
  if (!w || count < 0 || (count && !samples))
    return mica__fail(MICA_E_INVALID,
                      "mica_whisper_push: whisper or samples is NULL, or count (%" PRId64 ") is negative", count);
  if (w->finished) mica_whisper_reset(w);
  MICA_TRY(mica__sound_check(samples, count, w->pushed));
  w->pushed += count;
  return resample(w, samples, count, false);
}

mica_status mica_whisper_finish(mica_whisper *w) {
  if (!w) return mica__fail(MICA_E_INVALID, "mica_whisper_finish: whisper is NULL");
  if (w->finished) mica_whisper_reset(w);
  if (w->pushed) MICA_TRY(resample(w, NULL, 0, true));
  w->finished = true;
  if (w->sound.total == 0) return MICA_OK;
  MICA_TRY(mica__whisper_sound_finish(&w->sound, w->frames));
  const int64_t all = mica__whisper_sound_frames(&w->sound), spoken = (w->sound.total + HOP - 1) / HOP;
  while (w->seek < all && w->seek < spoken)
    MICA_TRY(read_window(w, all - w->seek < w->frames ? all - w->seek : w->frames));
  return MICA_OK;
}
