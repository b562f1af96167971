/* mica/whisper.h: features of sound for Whisper. Radford et al. 2022.
 *
 *   mica_value sound = mica_input(graph, "sound", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, MICA_WHISPER_SAMPLES));
 *   mica_value mel = mica_whisper_features(sound, 80);
 *
 * Whisper reads windows of 30 seconds at 16,000 Hz, one channel, samples from -1 to 1. A shorter sound is followed by
 * zeros.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_WHISPER_H
#define MICA_WHISPER_H

#include <mica/graph.h>

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

MICA_END_DECLS

#endif
