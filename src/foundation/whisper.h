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
  bool only; /* no logits: the caches alone are wanted. The result is (N, T, width) */
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
  int32_t previous;              /* the text before the window follows it; -1: the model has none */
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

/* Chooses the token after `count` tokens of a window, without those that the caller gave: the likeliest one at
 * temperature 0. Otherwise the token at `draw`, from 0 to below 1, of the distribution of logits / temperature. Changes
 * logits: excluded tokens become -inf. *log_probability: natural logarithm at temperature 1, among tokens that are
 * left. All logits are finite. */
int32_t mica__whisper_choose(const mica__whisper_rules *rules, const int32_t *tokens, size_t count, float *logits,
                             int64_t vocabulary, double temperature, double draw, double *log_probability);
/* The likeliest language by the logits after the token `start`. */
int32_t mica__whisper_language(const mica__whisper_rules *rules, const float *logits);
double mica__whisper_probability(const float *logits, int64_t vocabulary, int32_t token);

/* --- sessions --- */

/* Sessions with the same weights and caches: one encodes a window and reads the first token, one reads a token, one
 * reads tokens whose logits nobody needs. */
typedef struct mica__whisper_sessions {
  mica_engine *engine;
  const mica_foundation *model;
  mica_whisper_sizes sizes;
  bool half;                          /* the decoder's f32 matrices are held as f16 */
  mica_bindings *bindings;            /* the decoder's matrices */
  mica_session *window, *step, *part; /* part: made when it is needed */
  mica_tensor *mel, *token, *offset, *part_tokens;
  float *logits; /* (vocabulary), of the last run */
} mica__whisper_sessions;

mica_status mica__whisper_sessions_create(mica_engine *engine, const mica_foundation *model, bool half,
                                          mica__whisper_sessions *sessions);
void mica__whisper_sessions_free(mica__whisper_sessions *sessions);
/* Begins a window with features (bins, 2 encoder.positions) and the first token. */
mica_status mica__whisper_sessions_begin(mica__whisper_sessions *sessions, const float *mel, int32_t token);
/* Reads the token at a position from 1 on. MICA_E_FORMAT, of both: logits are not finite. */
mica_status mica__whisper_sessions_next(mica__whisper_sessions *sessions, int32_t token, int32_t position);
/* Reads `count` tokens, less than half of the decoder's positions, from position 1 on. The logits stay. */
mica_status mica__whisper_sessions_read(mica__whisper_sessions *sessions, const int32_t *tokens, size_t count);

/* --- tokens of a window --- */

/* Bytes of a text over its bytes as zlib compresses it. 0: it is empty, or this build lacks libdeflate. */
mica_status mica__whisper_compression(const char *text, size_t bytes, double *ratio);
/* The tokens end in a repetition: 3 times the same ones or more, together 48 tokens at least. */
bool mica__whisper_repeats(const int32_t *tokens, size_t count);

/* A text of a window. */
typedef struct mica__whisper_text {
  int32_t *tokens; /* without the end */
  size_t count;
  double log_probability, score; /* mean with the end; sum with the end per token without it */
  double compression, temperature;
} mica__whisper_text;

/* Reads windows, at several temperatures if need be. */
typedef struct mica__whisper_reader {
  const mica__whisper_rules *rules;
  const mica_tokenizer *tokenizer;
  mica__whisper_sessions *sessions;
  mica_whisper_config config; /* without zeros that stand for a default */
  mica__whisper_text text, other;
  int32_t *texts; /* tokens of a text without times */
  float *first;   /* logits of the window's first token */
} mica__whisper_reader;

/* Rules, tokenizer, sessions and config are set. Free the reader after a failure, too. */
mica_status mica__whisper_reader_create(mica__whisper_reader *reader);
void mica__whisper_reader_free(mica__whisper_reader *reader);
/* Chooses the tokens of the window at frame `seek` whose given tokens were read, `position` of them, and sets `text`.
 * silent: the model finds no speech with more than the given probability. */
mica_status mica__whisper_reader_read(mica__whisper_reader *reader, int64_t seek, int32_t position, bool silent);

#endif
