/* Whisper's features of sound: log mel spectrograms. Radford et al. 2022. */
#include "foundation/whisper.h"

#include "ir/graph.h"

#include <mica/nodes.h>
#include <mica/signal.h>

enum { FRAME = 400, HOP = 160, BINS = 80 };

mica_value mica_whisper_features(mica_value x, int64_t bins) {
  if (mica_value_is_null(x)) return x;
  const mica_shape shape = mica_value_shape(x);
  const mica_mel_config mel = {
      .stft = {.length = FRAME, .hop = HOP, .pad = MICA_SIGNAL_PAD_REFLECT},
      .rate = MICA_WHISPER_RATE,
      .mels = bins ? bins : BINS,
  };
  if (shape.rank != 2 || shape.dim[1] < 2 * HOP || shape.dim[1] % HOP) {
    char text[MICA_SHAPE_TEXT];
    mica__graph_fail_with(x.graph,
                          mica__fail(MICA_E_SHAPE,
                                     "whisper_features: sound of the shape %s was given; it must be (N, T) with a "
                                     "fixed T that is a multiple of %d and at least %d",
                                     mica_shape_format(shape, text), HOP, 2 * HOP));
    return (mica_value){0};
  }
  /* Whisper omits the last frame, which is centred on the end of the sound.
   *
   * mica_decibels raises powers below 1e-10 to 1e-10, and then levels more than 80 dB below the maximum to that limit.
   * Whisper does the same with log10, where 80 dB are 8. dB = 10 log10, so Whisper's final (log10 + 4) / 4 equals dB /
   * 40 + 1. */
  const mica_value power = mica_slice(mica_mel(x, &mel), 2, 0, shape.dim[1] / HOP, 1);
  return mica_affine(mica_decibels(power, NULL), 1.0 / 40, 1);
}

mica_value mica__whisper_log_mel(mica_value sound, int64_t bins) {
  const mica_mel_config mel = {
      .stft = {.length = FRAME, .hop = HOP, .pad = MICA_SIGNAL_PAD_NONE}, .rate = MICA_WHISPER_RATE, .mels = bins};
  return mica_affine(mica_decibels(mica_mel(sound, &mel), &(mica_decibels_config){.range = MICA_ZERO}), 0.1, 0);
}
