/* ops/signal/signal.h: the ops that spectrograms are made of, as nodes. */
#ifndef MICA_OPS_SIGNAL_SIGNAL_H
#define MICA_OPS_SIGNAL_SIGNAL_H

#include "ops/common/build.h"

#include <mica/signal.h>

#define MICA__PI 3.14159265358979323846

/* x (N, T) as (N, F, length), T being made longer by `pad` samples before and `more` behind; pads of NONE are 0. */
mica_value mica__frames(mica_value x, int64_t length, int64_t hop, mica_signal_pad how, int64_t pad, int64_t more);
/* Frames (N, F, length) added up in signals of like's shape with such pads, of which nothing is kept. */
mica_value mica__overlap_add(mica_value frames, mica_value like, int64_t length, int64_t hop, int64_t pad,
                             int64_t more);

/* y[k] = sum_j x[j] e^(-+ 2 pi i j k / n) for k below m, j below the h elements of x (..., h, 1 or 2); `real` leaves
 * the imaginary part out: (..., m, 1 or 2). The sign in the exponent is + of `inverse`. */
mica_value mica__dft(mica_value x, int64_t n, int64_t m, bool inverse, bool real);

/* A constant matrix from doubles, of like's dtype; null, and the error recorded, where memory is short: values NULL. */
mica_value mica__signal_matrix(const char *op, mica_value like, const double *values, int64_t rows, int64_t columns);

/* config with what its zeros stand for; false when the error was recorded. */
bool mica__stft_resolve(const char *op, mica_value x, const mica_stft_config *config, mica_stft_config *out);
/* The `width` values of a resolved config's window, divided by the root of the sum of their squares where it says so;
 * the caller's to free, NULL if memory is short. */
double *mica__stft_window(const mica_stft_config *config);
/* x (N, T) as (N, F, length / 2 + 1, 2), of a resolved config; x is f32 or f64. */
mica_value mica__spectra(mica_value x, const mica_stft_config *config);

#endif
