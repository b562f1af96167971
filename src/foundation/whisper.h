/* foundation/whisper.h: parts of Whisper, namely the decoder with caches, features of a growing recording, decoding
 * rules, sessions, and the reader of windows. */
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

/* Works like mica_whisper_decoder if caches is NULL. With caches, memory may be null: the decoder then uses the
 * encoder's features of the last run that had a memory. */
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
  float *samples;           /* the last `held` samples of the recording; samples[0] is its sample number first_sample */
  int64_t first_sample, held, sample_room, total;
  float *frames; /* (frame_count, bins), log10 of powers; the first is frame `first_frame` */
  int64_t first_frame, frame_count, frame_room;
  float loudest; /* the maximum of all frames so far */
} mica__whisper_sound;

mica_status mica__whisper_sound_create(mica_engine *engine, int64_t bins, mica__whisper_sound *sound);
void mica__whisper_sound_free(mica__whisper_sound *sound);
/* Begins another recording. */
void mica__whisper_sound_reset(mica__whisper_sound *sound);
/* Adds samples. Computes frames whenever the samples of a whole part (500 frames) are there. */
mica_status mica__whisper_sound_push(mica__whisper_sound *sound, const float *samples, int64_t count);
/* Ends the recording and computes the remaining frames: one per 160 samples, at least `least` in all. If the recording
 * is shorter than `least` frames, zeros follow its samples. */
mica_status mica__whisper_sound_finish(mica__whisper_sound *sound, int64_t least);
/* The number of frames so far, including dropped ones. */
int64_t mica__whisper_sound_frames(const mica__whisper_sound *sound);
/* Frees the frames before `frame`. */
void mica__whisper_sound_drop(mica__whisper_sound *sound, int64_t frame);
/* Writes the features (bins, frames) of `frames` frames, beginning with frame `from`. Powers are limited relative to
 * the loudest frame so far. Frames after the last computed one are zeros. */
void mica__whisper_sound_window(const mica__whisper_sound *sound, int64_t from, int64_t frames, float *mel);

/* --- rules --- */

typedef struct mica__whisper_tokens {
  int32_t *ids;
  size_t count;
} mica__whisper_tokens;

typedef struct mica__whisper_rules {
  int32_t start, end;
  int32_t no_timestamps;         /* the tokens of the times 0.00, 0.02, ... follow this one; the token of no speech is
                                  * the one before it */
  int32_t previous;              /* comes before the text of earlier windows; -1: the model has none */
  int32_t translate, transcribe; /* only multilingual models have these; the tokens of the languages lie between `start`
                                  * and these */
  bool multilingual;
  int32_t first_limit;                               /* the first time of a window is at most this many steps of 0.02 s;
                                                      * -1: no limit */
  int64_t longest;                                   /* maximum number of tokens that are chosen in a window */
  mica__whisper_tokens suppressed, suppressed_first; /* never chosen; never chosen first */
} mica__whisper_rules;

/* Reads generation_config.json from memory, and the model's config.json. `text` is NULL if there is no
 * generation_config.json; `path` is for messages. Tokens that are in neither file become -1. MICA_E_FORMAT: a file is
 * damaged, or a value is out of range. After a failure nothing stays allocated. */
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
/* Checks preprocessor_config.json, given as text. MICA_E_FORMAT: the text is damaged. MICA_E_UNSUPPORTED: the model
 * needs other features than those that Mica computes. */
mica_status mica__whisper_features_check(const char *path, const char *text, size_t bytes,
                                         const mica_foundation *model);
/* The token of the last language. */
int32_t mica__whisper_last_language(const mica__whisper_rules *rules);

/* Chooses a token of a window. `tokens` are the `count` tokens that have been chosen in this window so far, without the
 * tokens of the window's prompt. At temperature 0 the likeliest token is chosen. Otherwise `draw`, from 0 to less than
 * 1, selects a token from the distribution softmax(logits / temperature).
 *
 * Logits must be finite. The logits of excluded tokens are set to -inf. *log_probability receives the natural logarithm
 * of the token's probability at temperature 1, among the tokens that are not excluded. If all tokens are excluded,
 * returns the end token and sets *log_probability to 0. */
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
/* Reads `token` at a position of the decoder's text. `position` must be at least 1, because
 * mica__whisper_sessions_begin reads the token at position 0. MICA_E_FORMAT: the logits are not finite;
 * mica__whisper_sessions_begin can fail in this way too. */
mica_status mica__whisper_sessions_next(mica__whisper_sessions *sessions, int32_t token, int32_t position);
/* Reads `count` tokens, less than half of the decoder's positions, from position 1 on. Does not change the logits. */
mica_status mica__whisper_sessions_read(mica__whisper_sessions *sessions, const int32_t *tokens, size_t count);

/* --- tokens of a window --- */

/* The bytes of a text divided by its bytes after zlib compression. 0: it is empty, or this build lacks libdeflate. */
mica_status mica__whisper_compression(const char *text, size_t bytes, double *ratio);
/* True if the tokens end in 3 or more equal sequences of at most 64 tokens each, at least 48 tokens in all. */
bool mica__whisper_repeats(const int32_t *tokens, size_t count);

/* A candidate for the transcript of a window. */
typedef struct mica__whisper_text {
  int32_t *tokens; /* without the end token */
  size_t count;
  /* log_probability: the mean over the tokens, including the end token if it was chosen. score: the sum of these log
   * probabilities, divided by count; -inf if count is 0. */
  double log_probability, score;
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
/* Reads the window that begins at frame `seek`: chooses its tokens and sets reader->text. The sessions must have read
 * the window's prompt, which has `position` tokens. `silent`: the model's probability of no speech is above the
 * limit. */
mica_status mica__whisper_reader_read(mica__whisper_reader *reader, int64_t seek, int32_t position, bool silent);

#endif
