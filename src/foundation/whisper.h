/* foundation/whisper.h: parts of Whisper: the decoder with caches, features of a growing recording, decoding rules,
 * sessions. */
#ifndef MICA_FOUNDATION_WHISPER_H
#define MICA_FOUNDATION_WHISPER_H

#include "base/error.h"
#include "foundation/model.h"

#include <mica/tokenizer.h>
#include <mica/whisper.h>

/* --- networks --- */

/* Caches for keys and values of the decoder's tokens, and of the encoder's features. */
typedef struct mica__whisper_caches {
  mica_kv_cache self, cross;
  bool only; /* only fills the caches, computes no logits; the result is (N, T, width) */
} mica__whisper_caches;

/* mica_whisper_decoder with caches; NULL: none. With caches, memory may be null: the decoder then uses the features of
 * the last run with a memory. */
mica_value mica__whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids, mica_value memory,
                                 const mica__whisper_caches *caches);

/* log10 of max(power, 1e-10) in mel bins, (N, bins, frames), from sound (N, 160 (frames - 1) + 400): no frame extends
 * past the ends. */
mica_value mica__whisper_log_mel(mica_value sound, int64_t bins);

/* --- features of a recording --- */

typedef struct mica__whisper_sound {
  mica_engine *engine;
  mica_session *session;
  mica_tensor *part; /* the session's input */
  int64_t bins;
  float *signal, *computed; /* the session's input and output on the host */
  float *samples;           /* `held` samples, the first is number `first_sample` */
  int64_t first_sample, held, sample_room, total;
  float *frames; /* (frame_count, bins), log10 of powers; the first is frame `first_frame` */
  int64_t first_frame, frame_count, frame_room;
  float loudest; /* the maximum of all frames so far */
} mica__whisper_sound;

mica_status mica__whisper_sound_create(mica_engine *engine, int64_t bins, mica__whisper_sound *sound);
void mica__whisper_sound_free(mica__whisper_sound *sound);
/* Begins another recording. */
void mica__whisper_sound_reset(mica__whisper_sound *sound);
/* Adds samples, and computes frames part by part. */
mica_status mica__whisper_sound_push(mica__whisper_sound *sound, const float *samples, int64_t count);
/* Ends the recording and computes the remaining frames: one per 160 samples, at least `least` in all, with zeros after
 * the samples. */
mica_status mica__whisper_sound_finish(mica__whisper_sound *sound, int64_t least);
/* The number of frames so far, including dropped ones. */
int64_t mica__whisper_sound_frames(const mica__whisper_sound *sound);
/* Frees the frames before `frame`. */
void mica__whisper_sound_drop(mica__whisper_sound *sound, int64_t frame);
/* Writes the features (bins, frames) of `frames` frames, beginning at `from`, relative to the loudest frame so far;
 * zeros after the last one. */
void mica__whisper_sound_window(const mica__whisper_sound *sound, int64_t from, int64_t frames, float *mel);

/* --- rules --- */

typedef struct mica__whisper_tokens {
  int32_t *ids;
  size_t count;
} mica__whisper_tokens;

typedef struct mica__whisper_rules {
  int32_t start, end;
  int32_t no_timestamps;         /* the tokens of times follow it: 0.00, 0.02, ...; the no-speech token precedes it */
  int32_t previous;              /* comes before the text of earlier windows; -1: the model has none */
  int32_t translate, transcribe; /* of multilingual models; languages are between start and these */
  bool multilingual;
  int32_t first_limit;                               /* the latest first time, in steps of 0.02 s; -1: none */
  int64_t longest;                                   /* the most chosen tokens of a window */
  mica__whisper_tokens suppressed, suppressed_first; /* never chosen; never chosen first */
} mica__whisper_rules;

/* Reads generation_config.json from memory (text NULL: no file), and the model's config.json. path is for messages.
 * Tokens that neither names are -1. MICA_E_FORMAT. Nothing stays allocated after a failure. */
mica_status mica__whisper_rules_read(const char *path, const char *text, size_t bytes, const mica_foundation *model,
                                     mica__whisper_rules *rules);
/* Finds the remaining tokens by name. MICA_E_FORMAT: the tokenizer lacks one. */
mica_status mica__whisper_rules_name(const mica_foundation *model, const mica_tokenizer *tokenizer,
                                     mica__whisper_rules *rules);
/* Calls mica__whisper_rules_read and _name for the model's folder, and checks preprocessor_config.json. Free the rules
 * also after a failure. */
mica_status mica__whisper_rules_open(const mica_foundation *model, const mica_tokenizer *tokenizer,
                                     mica__whisper_rules *rules);
void mica__whisper_rules_free(mica__whisper_rules *rules);
/* Checks preprocessor_config.json in memory. MICA_E_FORMAT; MICA_E_UNSUPPORTED: other features. */
mica_status mica__whisper_features_check(const char *path, const char *text, size_t bytes,
                                         const mica_foundation *model);
/* The token of the last language. */
int32_t mica__whisper_last_language(const mica__whisper_rules *rules);

/* Chooses the token after `count` chosen tokens of a window; given tokens do not count. At temperature 0 it is the
 * likeliest one; else the one at `draw`, in [0, 1), of the distribution of logits / temperature. Changes logits:
 * excluded tokens become -inf. *log_probability: natural logarithm at temperature 1 among the remaining tokens. Logits
 * must be finite. */
int32_t mica__whisper_choose(const mica__whisper_rules *rules, const int32_t *tokens, size_t count, float *logits,
                             int64_t vocabulary, double temperature, double draw, double *log_probability);
/* The likeliest language, from the logits after the token `start`. */
int32_t mica__whisper_language(const mica__whisper_rules *rules, const float *logits);
double mica__whisper_probability(const float *logits, int64_t vocabulary, int32_t token);

/* --- sessions --- */

/* Three sessions with shared weights and caches: window encodes a window and reads the first token, step reads one
 * token, part reads tokens whose logits are not needed. */
typedef struct mica__whisper_sessions {
  mica_engine *engine;
  const mica_foundation *model;
  mica_whisper_sizes sizes;
  bool half;                          /* keeps the decoder's f32 matrices as f16 */
  mica_bindings *bindings;            /* the decoder's matrices */
  mica_session *window, *step, *part; /* part: made at first use */
  mica_tensor *mel, *token, *offset, *part_tokens;
  float *logits; /* (vocabulary), of the last run */
} mica__whisper_sessions;

mica_status mica__whisper_sessions_create(mica_engine *engine, const mica_foundation *model, bool half,
                                          mica__whisper_sessions *sessions);
void mica__whisper_sessions_free(mica__whisper_sessions *sessions);
/* Begins a window with features (bins, 2 encoder.positions) and the first token. */
mica_status mica__whisper_sessions_begin(mica__whisper_sessions *sessions, const float *mel, int32_t token);
/* Reads the token at a position, from 1 on. MICA_E_FORMAT, also from _begin: logits are not finite. */
mica_status mica__whisper_sessions_next(mica__whisper_sessions *sessions, int32_t token, int32_t position);
/* Reads `count` tokens, less than half of the decoder's positions, from position 1 on. Does not change the logits. */
mica_status mica__whisper_sessions_read(mica__whisper_sessions *sessions, const int32_t *tokens, size_t count);

/* --- tokens of a window --- */

/* The bytes of a text divided by its bytes after zlib compression. 0: it is empty, or this build lacks libdeflate. */
mica_status mica__whisper_compression(const char *text, size_t bytes, double *ratio);
/* True if the tokens end in a repetition: 3 or more equal sequences, at least 48 tokens in all. */
bool mica__whisper_repeats(const int32_t *tokens, size_t count);

/* A text of a window. */
typedef struct mica__whisper_text {
  int32_t *tokens; /* without the end token */
  size_t count;
  double log_probability, score; /* mean including the end token; sum including it, divided by count */
  double compression, temperature;
} mica__whisper_text;

/* A reader of windows, which tries several temperatures if necessary. */
typedef struct mica__whisper_reader {
  const mica__whisper_rules *rules;
  const mica_tokenizer *tokenizer;
  mica__whisper_sessions *sessions;
  mica_whisper_config config; /* with defaults instead of zeros */
  mica__whisper_text text, other;
  int32_t *texts; /* tokens of a text without times */
  float *first;   /* logits of the window's first token */
} mica__whisper_reader;

/* Set rules, tokenizer, sessions and config first. Free the reader also after a failure. */
mica_status mica__whisper_reader_create(mica__whisper_reader *reader);
void mica__whisper_reader_free(mica__whisper_reader *reader);
/* Chooses the tokens of the window at frame `seek` after its given tokens, `position` of them, were read, and sets
 * `text`. silent: the model's probability of no speech is above the limit. */
mica_status mica__whisper_reader_read(mica__whisper_reader *reader, int64_t seek, int32_t position, bool silent);

#endif
