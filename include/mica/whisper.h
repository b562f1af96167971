/* mica/whisper.h: transcribe speech with Whisper. Radford et al. 2022.
 *
 *   mica_foundation_open("whisper-tiny.en", NULL, &model);
 *   mica_whisper_create(engine, model, &(mica_whisper_config){.segment = print}, &whisper);
 *   mica_whisper_push(whisper, samples, count);
 *   mica_whisper_finish(whisper);
 *
 *   void print(void *user, const mica_whisper_segment *s) { printf("%.2f: %s\n", s->from, s->text); }
 *
 * Features, encoder and decoder are builders too, for other uses and for training:
 *
 *   mica_value sound = mica_input(graph, "sound", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, MICA_WHISPER_SAMPLES));
 *   mica_value mel = mica_whisper_features(sound, 80);
 *   mica_value logits = mica_whisper_decoder(nn, &sizes, ids, mica_whisper_encoder(nn, &sizes, mel));
 *
 * Whisper reads windows of 30 seconds at 16,000 Hz, one channel, samples from -1 to 1. A shorter sound is padded with
 * zeros.
 *
 * Threads: use a mica_whisper from one thread at a time; builders as in mica/nn.h. */
#ifndef MICA_WHISPER_H
#define MICA_WHISPER_H

#include <mica/foundation.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* --- networks --- */

#define MICA_WHISPER_RATE 16000     /* samples per second */
#define MICA_WHISPER_SAMPLES 480000 /* samples of a window */
#define MICA_WHISPER_FRAMES 3000    /* frames of features of a window: one every 10 ms */

/* Features (N, bins, T / 160) of sound x (N, T), as transformers' WhisperFeatureExtractor computes them. Frames of 400
 * samples every 160, Hann window, mirrored ends; p = power per mel bin (Slaney's scale and norm, 0 to 8,000 Hz);
 * l = log10(max(p, 1e-10)); y = (max(l, max(l) - 8) + 4) / 4, with the maximum per sound. T is a multiple of 160, at
 * least 320, and not dynamic. bins is 80, or 128 for the large models from version 3 on; 0: 80.
 *
 * Float; sticky errors as in mica/nodes.h. MICA_E_SHAPE: x has another shape. MICA_E_INVALID: bins is negative or too
 * large. */
MICA_API mica_value mica_whisper_features(mica_value x, int64_t bins);

/* Sizes of the encoder or the decoder; none has a default. The comments give the keys of config.json. */
typedef struct mica_whisper_stack {
  int64_t layers, heads; /* (encoder|decoder)_layers, (encoder|decoder)_attention_heads */
  int64_t hidden;        /* features between dense layers: (encoder|decoder)_ffn_dim */
  int64_t positions;     /* encoder: max_source_positions, half the number of frames; decoder: max_target_positions */
} mica_whisper_stack;

/* Sizes of a model; only embed_scale has a default. */
typedef struct mica_whisper_sizes {
  int64_t width, bins, vocabulary; /* d_model, num_mel_bins, vocab_size */
  mica_whisper_stack encoder, decoder;
  bool embed_scale; /* embeddings are multiplied by sqrt(width): scale_embedding */
} mica_whisper_sizes;

/* Encoder of features mel (N, bins, 2 encoder.positions): (N, encoder.positions, width). Two convolutions with GELU,
 * the second one with stride 2, learned positions, transformer blocks with norms BEFORE (mica/sequence.h), a layer
 * norm. Sticky errors as in mica/nn.h. MICA_E_INVALID: a size is out of range. MICA_E_SHAPE: mel has another shape. */
MICA_API mica_value mica_whisper_encoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value mel);
/* Decoder of tokens ids (N, T) i32, T at most decoder.positions, with memory (N, P, width) from the encoder: logits
 * (N, T, vocabulary) f32. The weight of the output layer is the embedding table. Do not call it inside a scope of
 * mica_nn_push. Errors as in mica_whisper_encoder. */
MICA_API mica_value mica_whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids,
                                         mica_value memory);
/* Sizes of a published model. mica_foundation_load reads the weights of a network with both parts. MICA_E_INVALID: the
 * model is of another family. */
MICA_API MICA_CHECKED mica_status mica_whisper_sizes_of(const mica_foundation *model, mica_whisper_sizes *sizes);

/* --- transcripts --- */

/* A part of a recording, as the model divided it. */
typedef struct mica_whisper_segment {
  double from, to;  /* seconds since the beginning of the recording */
  const char *text; /* UTF-8, usually with a leading space; may be empty */
  /* Its tokens, including timestamps: a token t > n, where n is the id of <|notimestamps|>, means 0.02 (t - n - 1)
   * seconds after the beginning of the window. */
  const int32_t *tokens;
  size_t token_count;
  /* The following numbers are the same for all segments of a window. */
  double log_probability; /* natural logarithm; mean over the window's tokens, the end token included */
  double no_speech;       /* probability that the window has no speech */
  double temperature;     /* temperature at which the window's tokens were drawn; 0: the likeliest ones were taken */
  double compression;     /* bytes of the window's text / bytes of the text compressed by zlib; 0: not known */
} mica_whisper_segment;

/* Receives segments in order. Everything is valid during the call. */
typedef void mica_whisper_fn(void *user, const mica_whisper_segment *segment);

typedef struct mica_whisper_config {
  mica_whisper_fn *segment; /* NULL: none */
  void *user;
  int32_t rate; /* rate of pushed samples (Hz); 0: 16,000. Other rates are resampled like mica_sound_read. */
  /* Multilingual models: language of the speech, such as "de"; NULL: detected in the first window of each recording. */
  const char *language;
  bool translate; /* multilingual models: to English */
  /* Features are clamped from below relative to the loudest frame (mica_whisper_features).
   *
   * true: to the loudest frame so far. Each window is transcribed as soon as its samples are there, and memory does not
   * grow. false: to the loudest frame of the recording, as in transformers. Windows are transcribed in
   * mica_whisper_finish; until then the features are kept in memory, 32 kB per second with 80 bins. */
  bool stream;
  /* A window is skipped if its probability of no speech is above this and its log_probability is below
   * least_log_probability. 0: 0.6; MICA_ZERO: 0; 1: no window is skipped. */
  double no_speech;
  /* Unless it is skipped, a window is decoded again, at the temperatures 0.2, 0.4, ... 1.0, until its log_probability
   * is at least least_log_probability (0: -1) and its compression at most most_compression (0: 2.4). A higher
   * compression means that the text repeats itself. In a build without libdeflate, a text that ends in a repetition
   * fails this test. */
  double least_log_probability, most_compression;
  /* Texts drawn per window at a temperature above 0; the one with the highest mean log probability is kept. 0: 5. */
  int32_t best_of;
  uint64_t seed;    /* of draws. The same seed, recording and device give the same text. */
  bool no_fallback; /* each window is transcribed once, at temperature 0 */
  /* false: the decoder also gets the text of the previous windows, back to the last window that was decoded at a
   * temperature above 0.5, whose text is left out; at most decoder.positions / 2 - 1 tokens. true: the decoder does not
   * get previous text. */
  bool no_context;
  /* The decoder's matrices are kept as f16 even if the file has f32. Matrices of 16 bits stay as they are. Kernels
   * compute in f32. */
  bool half;
} mica_whisper_config;

typedef struct mica_whisper mica_whisper;

/* Loads tokeniser and weights of an opened model; computes in f32. config may be NULL. Engine and model must outlive
 * the new object. *whisper is only written on success. Fails like mica_foundation_load, or with:
 *
 *   MICA_E_INVALID       the model is of another family, config asks for a language or a translation but the model is
 *                        not multilingual or does not know the language, or a number is out of range
 *   MICA_E_NOT_FOUND     there is no tokenizer.json
 *   MICA_E_FORMAT        generation_config.json or preprocessor_config.json is invalid, a token is missing, or the
 *                        decoder has fewer than 4 positions
 *   MICA_E_UNSUPPORTED   the model reads other features than mica_whisper_features computes */
MICA_API MICA_CHECKED mica_status mica_whisper_create(mica_engine *engine, const mica_foundation *model,
                                                      const mica_whisper_config *config, mica_whisper **whisper);
/* NULL is a no-op. */
MICA_API void mica_whisper_destroy(mica_whisper *whisper);

/* Adds samples of one channel, -1 to 1. Results do not depend on how samples are divided into calls. Blocks while it
 * computes. MICA_E_FORMAT: a sample or a logit is not finite. After an error begin again with mica_whisper_reset. */
MICA_API MICA_CHECKED mica_status mica_whisper_push(mica_whisper *whisper, const float *samples, int64_t count);
/* Ends the recording and transcribes the rest. Later samples begin a new recording. A recording without samples has no
 * segments. MICA_E_FORMAT: a logit is not finite.
 *
 * Tokens are chosen as by transformers' generate(return_timestamps=True, task="transcribe",
 * condition_on_prev_tokens=True, temperature=(0, 0.2, ... 1)): if the text of a window has two adjacent times, and does
 * not end with a single time, the next window begins at the first of the last two. There are three differences:
 *
 *   - no segment begins after the end of the recording
 *   - a segment without a predicted end ends at the end of the recording at the latest
 *   - compression is measured on the text, as in OpenAI's program, not on the tokens */
MICA_API MICA_CHECKED mica_status mica_whisper_finish(mica_whisper *whisper);
/* Forgets the recording; the next samples begin a new one. */
MICA_API void mica_whisper_reset(mica_whisper *whisper);

/* Language of the recording, such as "en"; "" while unknown. The whisper owns it. */
MICA_API const char *mica_whisper_language(const mica_whisper *whisper);
/* Seconds of the recording so far. */
MICA_API double mica_whisper_seconds(const mica_whisper *whisper);

MICA_END_DECLS

#endif
