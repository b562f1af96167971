/* run/predict/wave.h: sound of spectra. */
#ifndef MICA_RUN_PREDICT_WAVE_H
#define MICA_RUN_PREDICT_WAVE_H

#include "base/error.h"

#include <mica/engine.h>
#include <mica/signal.h>

/* Finds a wave whose spectrum has magnitudes (stft->length / 2 + 1, frames), by Griffin-Lim: *count samples, stft->hop
 * (frames - 1), in *samples, freed by the caller. The same magnitudes give the same samples. Blocks. */
mica_status mica__find_wave(mica_engine *engine, const mica_stft_config *stft, const float *magnitudes, int64_t frames,
                            int64_t iterations, float **samples, int64_t *count);

#endif
