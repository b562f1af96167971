/* run/predict/wave.h: computes sound from spectra. */
#ifndef MICA_RUN_PREDICT_WAVE_H
#define MICA_RUN_PREDICT_WAVE_H

#include "base/error.h"

#include <mica/engine.h>
#include <mica/signal.h>

/* Finds, by Griffin-Lim, a wave whose spectrum has these magnitudes, of shape (stft->length / 2 + 1, frames). Sets
 * *samples to its stft->hop (frames - 1) samples, which the caller frees, and *count to their number. The same
 * magnitudes give the same samples. Blocks. */
mica_status mica__find_wave(mica_engine *engine, const mica_stft_config *stft, const float *magnitudes, int64_t frames,
                            int64_t iterations, float **samples, int64_t *count);

#endif
