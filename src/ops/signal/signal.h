/* ops/signal/signal.h: builders of the ops that spectrograms consist of. */
#ifndef MICA_OPS_SIGNAL_SIGNAL_H
#define MICA_OPS_SIGNAL_SIGNAL_H

#include "ops/common/build.h"

#include <mica/signal.h>

#define MICA__PI 3.14159265358979323846

/* Cuts x (N, T) into frames (N, F, length), after lengthening each signal by `pad` samples before and `more` after;
 * negative numbers shorten it. NONE adds zeros, as ZERO does. */
mica_value mica__frames(mica_value x, int64_t length, int64_t hop, mica_signal_pad how, int64_t pad, int64_t more);
/* Adds frames (N, F, length) up into signals of like's shape; samples in the padding are dropped. */
mica_value mica__overlap_add(mica_value frames, mica_value like, int64_t length, int64_t hop, int64_t pad,
                             int64_t more);

/* Returns y[k] = sum_j x[j] e^(-+ 2 pi i j k / n) for k below m. j runs over the h numbers of x, which is (..., h, 1)
 * if they are real and (..., h, 2) if they are complex. y is (..., m, 2) or, without its imaginary part if `real` is
 * true, (..., m, 1). The exponent's sign is + if `inverse`. */
mica_value mica__dft(mica_value x, int64_t n, int64_t m, bool inverse, bool real);

/* Makes a constant matrix in like's dtype from doubles. If values is NULL, because memory was short, records this
 * error and returns null. */
mica_value mica__signal_matrix(const char *op, mica_value like, const double *values, int64_t rows, int64_t columns);

/* Copies config (NULL means all defaults), replaces zeros by defaults and checks it. Returns false if it records an
 * error. */
bool mica__stft_resolve(const char *op, mica_value x, const mica_stft_config *config, mica_stft_config *out);
/* Returns the `width` values of the window (after mica__stft_resolve), divided by their norm if the config says so.
 * The caller frees them; NULL if memory is short. */
double *mica__stft_window(const mica_stft_config *config);
/* Transforms x (N, T) to spectra (N, F, length / 2 + 1, 2), after mica__stft_resolve; x is f32 or f64. */
mica_value mica__spectra(mica_value x, const mica_stft_config *config);

#endif
