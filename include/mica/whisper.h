/* mica/whisper.h: Whisper's features, encoder and decoder. Radford et al. 2022.
 *
 *   mica_value sound = mica_input(graph, "sound", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, MICA_WHISPER_SAMPLES));
 *   mica_value mel = mica_whisper_features(sound, 80);
 *   mica_value logits = mica_whisper_decoder(nn, &sizes, ids, mica_whisper_encoder(nn, &sizes, mel));
 *
 * Whisper reads windows of 30 seconds at 16,000 Hz, one channel, samples from -1 to 1. A shorter sound is followed by
 * zeros.
 *
 * Threads: as in mica/nn.h. */
#ifndef MICA_WHISPER_H
#define MICA_WHISPER_H

#include <mica/foundation.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

#define MICA_WHISPER_RATE 16000     /* samples per second */
#define MICA_WHISPER_SAMPLES 480000 /* samples of a window */
#define MICA_WHISPER_FRAMES 3000    /* frames of features of a window: one every 10 ms */

/* Features (N, bins, T / 160) of sound x (N, T), as transformers' WhisperFeatureExtractor computes them. Frames of 400
 * samples every 160, Hann window, mirrored ends; p = power per mel bin (Slaney's scale and norm, 0 to 8,000 Hz);
 * l = log10(max(p, 1e-10)); y = (max(l, max(l) - 8) + 4) / 4, with the maximum per sound. T is a multiple of 160, at
 * least 320, and not dynamic. bins is 80, or 128 for the large models from version 3 on; 0: 80.
 * Float; sticky errors as in mica/nodes.h. MICA_E_SHAPE: x has another shape. MICA_E_INVALID: bins is negative or too
 * large. */
MICA_API mica_value mica_whisper_features(mica_value x, int64_t bins);

/* Sizes of a stack of blocks; none has a default. */
typedef struct mica_whisper_stack {
  int64_t layers, heads; /* encoder_layers, encoder_attention_heads of config.json; decoder_... */
  int64_t hidden;        /* features between dense layers: encoder_ffn_dim, decoder_ffn_dim */
  int64_t positions;     /* max_source_positions: half the number of frames; max_target_positions */
} mica_whisper_stack;

/* Sizes of a model; only embed_scale has a default. */
typedef struct mica_whisper_sizes {
  int64_t width, bins, vocabulary; /* d_model, num_mel_bins, vocab_size */
  mica_whisper_stack encoder, decoder;
  bool embed_scale; /* embeddings are multiplied by sqrt(width): scale_embedding */
} mica_whisper_sizes;

/* Encoder of features mel (N, bins, 2 encoder.positions): (N, encoder.positions, width). Two convolutions with GELU,
 * the second one with stride 2, learned positions, blocks with norms before their parts, a layer norm. Sticky, as in
 * mica/nn.h. MICA_E_INVALID: a size is out of range. MICA_E_SHAPE: mel has another shape. */
MICA_API mica_value mica_whisper_encoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value mel);
/* Decoder of tokens ids (N, T) i32, T at most decoder.positions, with memory (N, P, width) from the encoder: logits
 * (N, T, vocabulary) f32. The output layer uses the embeddings. Call it outside of mica_nn_push. Errors as of
 * mica_whisper_encoder. */
MICA_API mica_value mica_whisper_decoder(mica_nn *nn, const mica_whisper_sizes *sizes, mica_value ids,
                                         mica_value memory);
/* Sizes of a published model. mica_foundation_load reads the weights of a network with both parts. MICA_E_INVALID: the
 * model is of another family. */
MICA_API MICA_CHECKED mica_status mica_whisper_sizes_of(const mica_foundation *model, mica_whisper_sizes *sizes);

MICA_END_DECLS

#endif
