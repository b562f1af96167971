/* foundation/whisper.h: parts of Whisper: the decoder with caches, features of a growing recording, rules of decoding,
 * sessions. */
#ifndef MICA_FOUNDATION_WHISPER_H
#define MICA_FOUNDATION_WHISPER_H

#include "base/error.h"
#include "foundation/model.h"

#include <mica/tokenizer.h>
#include <mica/whisper.h>

/* --- networks --- */

/* Keys and values of the decoder's tokens, and of the encoder's features. */
typedef struct mica__whisper_caches {
  mica_kv_cache self, cross;
} mica__whisper_caches;

/* mica_whisper_decoder. caches NULL: none. With caches memory may be null: the features of the last run with a memory
 * are used again. */
mica_value mica__whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids, mica_value memory,
                                 const mica__whisper_caches *caches);

/* log10 of max(power, 1e-10) of mel bins, (N, bins, frames), of sound (N, 160 (frames - 1) + 400): no frame crosses the
 * ends. */
mica_value mica__whisper_log_mel(mica_value sound, int64_t bins);

/* --- features of a recording --- */

typedef struct mica__whisper_sound {
  mica_engine *engine;
  mica_session *session;
  mica_tensor *part; /* the session's input */
  int64_t bins;
  float *signal, *computed; /* on the host: input and output of the session */
  float *samples;           /* `held` of them, from number `first_sample` on */
  int64_t first_sample, held, sample_room, total;
  float *frames; /* (frame_count, bins), log10 of powers, from frame `first_frame` on */
  int64_t first_frame, frame_count, frame_room;
  float loudest; /* maximum of all frames so far */
} mica__whisper_sound;

mica_status mica__whisper_sound_create(mica_engine *engine, int64_t bins, mica__whisper_sound *sound);
void mica__whisper_sound_free(mica__whisper_sound *sound);
/* Begins another recording. */
void mica__whisper_sound_reset(mica__whisper_sound *sound);
/* Adds samples, and computes frames in parts. */
mica_status mica__whisper_sound_push(mica__whisper_sound *sound, const float *samples, int64_t count);
/* Ends the recording and computes the rest: one frame per 160 samples, at least `least` frames, with zeros after the
 * samples. */
mica_status mica__whisper_sound_finish(mica__whisper_sound *sound, int64_t least);
/* Number of frames so far, with those that were dropped. */
int64_t mica__whisper_sound_frames(const mica__whisper_sound *sound);
/* Frees the frames before `frame`. */
void mica__whisper_sound_drop(mica__whisper_sound *sound, int64_t frame);
/* Features (bins, frames) of `frames` frames from `from` on, relative to the loudest frame so far; zeros after the last
 * one. */
void mica__whisper_sound_window(const mica__whisper_sound *sound, int64_t from, int64_t frames, float *mel);

/* --- rules --- */

typedef struct mica__whisper_tokens {
  int32_t *ids;
  size_t count;
} mica__whisper_tokens;

typedef struct mica__whisper_rules {
  int32_t start, end;
  int32_t no_timestamps;         /* tokens of times follow it: 0.00, 0.02, ...; the token of no speech precedes it */
  int32_t translate, transcribe; /* of multilingual models; languages are between start and these */
  bool multilingual;
  int32_t first_limit;                               /* steps of 0.02 s: the latest first time; -1: none */
  int64_t longest;                                   /* chosen tokens of a window */
  mica__whisper_tokens suppressed, suppressed_first; /* never chosen; not chosen first */
} mica__whisper_rules;

/* Reads generation_config.json, in memory (text NULL: no file), and the model's config.json. path is for
 * messages. Tokens that they do not name are -1. MICA_E_FORMAT. Nothing stays allocated after a failure. */
mica_status mica__whisper_rules_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                     mica__whisper_rules *rules);
/* Finds the other tokens by name. MICA_E_FORMAT: the tokenizer lacks one. */
mica_status mica__whisper_rules_name(const mica_foundation *model, const mica_tokenizer *tokenizer,
                                     mica__whisper_rules *rules);
/* Both, from the model's folder; preprocessor_config.json is checked too. Free the rules after a failure, too. */
mica_status mica__whisper_rules_open(const mica_foundation *model, const mica_tokenizer *tokenizer,
                                     mica__whisper_rules *rules);
void mica__whisper_rules_free(mica__whisper_rules *rules);
/* Checks preprocessor_config.json, in memory. MICA_E_FORMAT; MICA_E_UNSUPPORTED: other features. */
mica_status mica__whisper_features_check(const char *path, const char *text, size_t bytes,
                                         const mica_foundation *model);
/* Token of the last language. */
int32_t mica__whisper_last_language(const mica__whisper_rules *rules);

/* Chooses the token after `count` tokens of a window, without those that the caller gave. Changes logits: excluded
 * tokens become -inf. *log_probability: natural logarithm, among tokens that are left. All logits are finite. */
int32_t mica__whisper_choose(const mica__whisper_rules *rules, const int32_t *tokens, size_t count, float *logits,
                             int64_t vocabulary, double *log_probability);
/* The likeliest language by the logits after the token `start`. */
int32_t mica__whisper_language(const mica__whisper_rules *rules, const float *logits);
double mica__whisper_probability(const float *logits, int64_t vocabulary, int32_t token);

/* --- sessions --- */

/* Two sessions with the same weights and caches: one encodes a window and reads the first token, one reads a token. */
typedef struct mica__whisper_sessions {
  mica_engine *engine;
  mica_whisper_sizes sizes;
  mica_session *window, *step;
  mica_tensor *mel, *token, *offset;
  float *logits; /* (vocabulary), of the last run */
} mica__whisper_sessions;

mica_status mica__whisper_sessions_create(mica_engine *engine, const mica_foundation *model,
                                          mica__whisper_sessions *sessions);
void mica__whisper_sessions_free(mica__whisper_sessions *sessions);
/* Begins a window with features (bins, 2 encoder.positions) and the first token. */
mica_status mica__whisper_sessions_begin(mica__whisper_sessions *sessions, const float *mel, int32_t token);
/* Reads the token at a position from 1 on. MICA_E_FORMAT, of both: logits are not finite. */
mica_status mica__whisper_sessions_next(mica__whisper_sessions *sessions, int32_t token, int32_t position);

#endif
