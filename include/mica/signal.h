/* mica/signal.h: builders for sound and other signals: frames, Fourier transforms, spectrograms, mel features.
 *
 * Letters: N signals of T samples, F frames. A complex number is a pair (real, imaginary) on a last axis of 2. Frame f
 * holds samples f hop - pad to f hop - pad + length - 1. pad is length / 2 (rounded down) for centred frames, else 0.
 * There are 1 + floor((T + 2 pad - length) / hop) frames. T may be dynamic, unless a function says otherwise.
 *
 * librosa (the default) and torchaudio differ in padding, windows, scales and norms. Each difference is an option;
 * mica_mel_torchaudio and mica_mel_kaldi fill in other conventions. Values are float, computed in f32 for 16-bit types.
 * Sticky errors as in mica/nodes.h; gradients of any order.
 *
 * Threads: as in mica/graph.h. */
#ifndef MICA_SIGNAL_H
#define MICA_SIGNAL_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

/* --- frames --- */

/* Values beyond the ends of a signal. With ZERO, REFLECT (mirrored at the first and last sample; T must exceed length /
 * 2) and EDGE (first and last sample repeated), frames are centred. NONE: frames are not centred; all lie inside. */
typedef enum mica_signal_pad {
  MICA_SIGNAL_PAD_ZERO,
  MICA_SIGNAL_PAD_REFLECT,
  MICA_SIGNAL_PAD_EDGE,
  MICA_SIGNAL_PAD_NONE
} mica_signal_pad;

/* Splits x (N, T) into frames (N, F, length). hop and length must be from 1 to 2^29 - 1. MICA_E_SHAPE: the signal with
 * its padding is shorter than a frame, or too short to be mirrored. */
MICA_API mica_value mica_frames(mica_value x, int64_t length, int64_t hop, mica_signal_pad pad);
/* Adjoint of mica_frames: adds frames (N, F, length) at their positions in signals of like's shape (N, T). Only the
 * shape of like is read. The order of sums is fixed. */
MICA_API mica_value mica_overlap_add(mica_value frames, mica_value like, int64_t hop, mica_signal_pad pad);

/* --- Fourier transforms --- */

/* y[k] = sum_j x[j] e^(-2 pi i j k / n); the inverse has + in the exponent and divides by n. */

/* Transforms the axis before the pairs: x (..., m, 2) gives (..., n, 2). n 0: m. A shorter axis is padded with zeros, a
 * longer one cut. The axis must not be dynamic. n may be any number up to 2^24, but MICA_E_UNSUPPORTED if it is above
 * 2^23 and has a prime factor above 61. Factors 2, 3, 4 and 5 use butterflies, other factors up to 61 sums. If a prime
 * factor is larger, the transform is Bluestein's (1970) convolution, whose length is a power of two. */
MICA_API mica_value mica_fft(mica_value x, int64_t n);
MICA_API mica_value mica_ifft(mica_value x, int64_t n);
/* Real transform: x (..., m) gives the frequencies 0 to n / 2, (..., n / 2 + 1, 2). */
MICA_API mica_value mica_rfft(mica_value x, int64_t n);
/* Inverse of mica_rfft: x (..., m, 2) with the first m frequencies gives (..., n) real numbers. n 0: 2 (m - 1).
 * Imaginary parts of frequencies 0 and n / 2 are ignored. */
MICA_API mica_value mica_irfft(mica_value x, int64_t n);

/* --- spectrograms --- */

/* w[i] = a - b cos(2 pi i / n) + c cos(4 pi i / n). (a, b, c): HANN (0.5, 0.5, 0); HAMMING (0.54, 0.46, 0); BLACKMAN
 * (0.42, 0.5, 0.08); RECTANGULAR (1, 0, 0). POVEY is HANN to the power 0.85 (Kaldi). n is the window's width, or the
 * width - 1 if the window is symmetric. */
typedef enum mica_signal_window {
  MICA_SIGNAL_WINDOW_HANN,
  MICA_SIGNAL_WINDOW_HAMMING,
  MICA_SIGNAL_WINDOW_BLACKMAN,
  MICA_SIGNAL_WINDOW_RECTANGULAR,
  MICA_SIGNAL_WINDOW_POVEY
} mica_signal_window;

typedef struct mica_stft_config {
  int64_t length; /* of a transform, at most 2^20; 0: 512 */
  int64_t hop;    /* 0: length / 4, at least 1 */
  int64_t width;  /* of the window, centred in the frame; 0: length */
  mica_signal_window window;
  bool symmetric; /* symmetric window, not periodic */
  mica_signal_pad pad;
  bool normalized; /* divide by the root of the window's sum of squares (torchaudio) */
  bool snip;       /* Kaldi's frames: `width` samples that all lie inside, then zeros up to length; pad is not used */
  bool centered_values; /* first subtract the mean of each frame (Kaldi) */
  double preemphasis; /* p: replaces x[i] of a frame by x[i] - p x[i - 1], and x[0] by x[0] - p x[0] (Kaldi); 0: off */
} mica_stft_config;

/* Spectra (N, length / 2 + 1, F, 2) of windowed frames of x (N, T). config may be NULL. A length of up to 1,024 is
 * computed as one matrix product, with windowed sines and cosines in the matrix; a larger length as mica_rfft. */
MICA_API mica_value mica_stft(mica_value x, const mica_stft_config *config);
/* Signals (N, T) whose spectra are closest to x (N, length / 2 + 1, F, 2), by least squares (Griffin and Lim 1984):
 * windowed frames are added up and divided by the sum of squared windows (by 1 if that is below 1e-11). like (N, T)
 * gives T. MICA_E_UNSUPPORTED: a config with snip, centered_values or preemphasis. */
MICA_API mica_value mica_istft(mica_value x, mica_value like, const mica_stft_config *config);

/* |x|^power of pairs (..., 2), power from 0 to 16: 2 gives the power, 1 the magnitude. The magnitude 0 has gradient 0.
 */
MICA_API mica_value mica_magnitude(mica_value x, double power);

/* --- mel --- */

/* Hertz to mel. SLANEY: linear below 1,000 Hz (Slaney 1998). HTK: 2595 log10(1 + f / 700). KALDI: like HTK, but
 * triangles are linear in mel, not in Hertz, and the frequency rate / 2 is omitted. */
typedef enum mica_mel_scale { MICA_MEL_SCALE_SLANEY, MICA_MEL_SCALE_HTK, MICA_MEL_SCALE_KALDI } mica_mel_scale;
/* AREA: each triangle is divided by half its width in Hertz. NONE: triangles have height 1. */
typedef enum mica_mel_norm { MICA_MEL_NORM_AREA, MICA_MEL_NORM_NONE } mica_mel_norm;

typedef struct mica_mel_config {
  mica_stft_config stft;
  double rate;      /* sample rate (Hz); 0: 16,000 */
  int64_t mels;     /* 0: 40 */
  double low, high; /* Hertz; high 0: rate / 2 */
  double power;     /* of the magnitude; 0: 2 */
  mica_mel_scale scale;
  mica_mel_norm norm;
} mica_mel_config;

/* torchaudio's defaults: mirrored ends, HTK scale without norm. */
MICA_API mica_mel_config mica_mel_torchaudio(double rate, int64_t length, int64_t hop, int64_t mels);
/* Kaldi's fbank: 25 ms every 10 ms, mean subtracted, pre-emphasis 0.97, Povey window, from 20 Hz. Kaldi reads integers:
 * multiply samples from -1 to 1 by 32768. */
MICA_API mica_mel_config mica_mel_kaldi(double rate, int64_t mels);

/* Constant matrix of triangles, (stft.length / 2 + 1, mels) f32. */
MICA_API mica_value mica_mel_filters(mica_graph *graph, const mica_mel_config *config);
/* Mel spectrograms (N, mels, F) of x (N, T): spectra to a power, times the filters. config may be NULL. */
MICA_API mica_value mica_mel(mica_value x, const mica_mel_config *config);

typedef struct mica_decibels_config {
  bool amplitude;   /* x is a magnitude, not a power: use 20 instead of 10 */
  double reference; /* value of 0 dB; 0: 1 */
  double floor;     /* lower bound of x; 0: 1e-10, for amplitudes 1e-5 */
  double range;     /* lower bound relative to the maximum per sample of axis 0, in dB; 0: 80; MICA_ZERO: off */
} mica_decibels_config;
/* 10 log10(max(x, floor) / max(reference, floor)), for amplitudes 20 log10; then at least the sample's maximum - range.
 * config may be NULL. An element below `floor` has gradient 0. The gradient of an element that `range` raises goes to
 * the sample's maximum. */
MICA_API mica_value mica_decibels(mica_value x, const mica_decibels_config *config);

/* DECIBELS: mica_decibels with defaults; LOG: log(x + 1e-6) (torchaudio's log_mels); KALDI: log(max(x, 2^-23)). */
typedef enum mica_mfcc_log { MICA_MFCC_LOG_DECIBELS, MICA_MFCC_LOG_LOG, MICA_MFCC_LOG_KALDI } mica_mfcc_log;
typedef struct mica_mfcc_config {
  mica_mel_config mel;
  int64_t coefficients; /* 0: 13; at most mels */
  mica_mfcc_log log;
  double lifter; /* multiplies coefficient k by 1 + L / 2 sin(pi (k + 1) / L); KALDI: k instead of k + 1; 0: off */
} mica_mfcc_config;
/* First coefficients of the orthonormal cosine transform (type 2) of log mel spectrograms: (N, coefficients, F). */
MICA_API mica_value mica_mfcc(mica_value x, const mica_mfcc_config *config);

/* LIBROSA: fits a polynomial of degree `order` to the `width` frames around t and takes its derivative (Savitzky and
 * Golay 1964); near the ends, the polynomial of the first or last `width` frames is used. F must not be dynamic and
 * must be at least width. TORCHAUDIO: sum_k k x[t + k] / sum_k k^2 with repeated ends, applied `order` times. */
typedef enum mica_delta_style { MICA_DELTA_STYLE_LIBROSA, MICA_DELTA_STYLE_TORCHAUDIO } mica_delta_style;
/* Derivatives along the last axis of x (N, C, F). width must be odd and from 3 to 255, order 1 or 2. */
MICA_API mica_value mica_deltas(mica_value x, int64_t width, int32_t order, mica_delta_style style);

/* y[t] = x[t] - p x[t - 1] for x (N, T). y[0] is x[0], or 3 x[0] - x[1] as in librosa, for T >= 2. */
MICA_API mica_value mica_preemphasis(mica_value x, double p, bool librosa);

/* --- augmentation --- */

/* Random numbers as in mica/nodes.h: they depend on seed, step and sample. */

typedef struct mica_spec_augment_config {
  int64_t frequency_masks, frequency_width; /* 0: 2 and 8; -1: none */
  int64_t time_masks, time_width;           /* 0: 2 and 20; -1: none */
  uint64_t seed;
} mica_spec_augment_config;
/* Sets random ranges of channels and of frames to 0 in each sample of x (N, C, F). Widths are from 0 to the given one
 * (Park et al. 2019, without warping). F may be dynamic. config may be NULL. */
MICA_API mica_value mica_spec_augment(mica_value x, mica_value step, const mica_spec_augment_config *config);
/* Adds white noise to x (N, T). The signal-to-noise ratio of each signal is drawn from low to high (dB). */
MICA_API mica_value mica_add_noise(mica_value x, mica_value step, uint64_t seed, double low, double high);
/* Shifts x (N, T) by up to `most` samples in either direction and fills with zeros. */
MICA_API mica_value mica_time_shift(mica_value x, mica_value step, uint64_t seed, int64_t most);

MICA_END_DECLS

#endif
