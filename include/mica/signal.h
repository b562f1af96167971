/* mica/signal.h: sound and other signals as builders of graphs: frames, Fourier transforms, spectrograms, mel features.
 *
 * Letters: N signals of T samples, F frames, a complex number being a pair (real, imaginary) in a last axis of 2. A
 * frame f holds samples f hop - pad to f hop - pad + length - 1, pad being length / 2 (rounded down) where frames are
 * centred, and there are 1 + floor((T + 2 pad - length) / hop) of them. T may be open unless said otherwise.
 * Conventions of librosa (zero is its default) and of torchaudio differ in pads, windows, scales and norms: each is an
 * option, and mica_mel_torchaudio and mica_mel_kaldi fill in the latter's. Values are floats, in f32 for 16-bit types
 * inside; the builders are sticky and have gradients of any order, as mica/nodes.h says. Threads: as mica/graph.h. */
#ifndef MICA_SIGNAL_H
#define MICA_SIGNAL_H

#include <mica/nodes.h>

MICA_BEGIN_DECLS

/* --- frames --- */

/* What lies beyond the ends of a signal: frames are centred, with zeros, with the signal mirrored about its first and
 * last sample (T is more than length / 2), or with these repeated; NONE: not centred, every frame lies inside. */
typedef enum mica_signal_pad {
  MICA_SIGNAL_PAD_ZERO,
  MICA_SIGNAL_PAD_REFLECT,
  MICA_SIGNAL_PAD_EDGE,
  MICA_SIGNAL_PAD_NONE
} mica_signal_pad;

/* x (N, T) as frames (N, F, length). hop and length are at least 1. MICA_E_SHAPE for a signal without a whole frame. */
MICA_API mica_value mica_frames(mica_value x, int64_t length, int64_t hop, mica_signal_pad pad);
/* The adjoint of mica_frames: frames (N, F, length) added up where they lie in signals of like's (N, T), of which only
 * the shape is read. In a fixed order. */
MICA_API mica_value mica_overlap_add(mica_value frames, mica_value like, int64_t hop, mica_signal_pad pad);

/* --- Fourier transforms: y[k] = sum_j x[j] e^(-2 pi i j k / n), the inverse with + and divided by n --- */

/* The axis before the pairs is transformed: x (..., m, 2) gives (..., n, 2); n 0 stands for m, a shorter axis is padded
 * with zeros, a longer one cut. The axis is not open. Any n, up to 2^24: factors 2, 3, 4 and 5 have butterflies of
 * their own, others up to 61 are sums, and an n with a larger prime factor is Bluestein's (1970) convolution with
 * powers of two. */
MICA_API mica_value mica_fft(mica_value x, int64_t n);
MICA_API mica_value mica_ifft(mica_value x, int64_t n);
/* x (..., m) of real numbers gives the n / 2 + 1 frequencies from 0 on, (..., n / 2 + 1, 2). */
MICA_API mica_value mica_rfft(mica_value x, int64_t n);
/* The reverse: x (..., m, 2) of the first m frequencies gives (..., n) real numbers; n 0 stands for 2 (m - 1). The
 * imaginary parts of frequencies 0 and n / 2 do not count. */
MICA_API mica_value mica_irfft(mica_value x, int64_t n);

/* --- spectrograms --- */

/* w[i] = a - b cos(2 pi i / n) + c cos(4 pi i / n) with a, b, c: HANN 0.5 0.5 0, HAMMING 0.54 0.46 0, BLACKMAN 0.42
 * 0.5 0.08, RECTANGULAR 1 0 0; POVEY is HANN to the power of 0.85 (Kaldi). n is the window's length, or one less where
 * it is symmetric. */
typedef enum mica_signal_window {
  MICA_SIGNAL_WINDOW_HANN,
  MICA_SIGNAL_WINDOW_HAMMING,
  MICA_SIGNAL_WINDOW_BLACKMAN,
  MICA_SIGNAL_WINDOW_RECTANGULAR,
  MICA_SIGNAL_WINDOW_POVEY
} mica_signal_window;

typedef struct mica_stft_config {
  int64_t length; /* of a transform, at most 2^20; 0: 512 */
  int64_t hop;    /* 0: length / 4 */
  int64_t width;  /* of the window, in the middle of the frame; 0: length */
  mica_signal_window window;
  bool symmetric; /* the window, not periodic */
  mica_signal_pad pad;
  bool normalized; /* divided by the root of the window's sum of squares (torchaudio) */
  bool snip; /* Kaldi's frames: of `width` samples that all lie inside, zeros behind them up to length; pad is NONE */
  bool centered_values; /* each frame less its mean (Kaldi), before: */
  double preemphasis;   /* each frame's x[i] - p x[i - 1], its first one being x[0] - p x[0] (Kaldi) */
} mica_stft_config;

/* x (N, T) as spectra (N, length / 2 + 1, F, 2) of windowed frames; config may be NULL. Up to a length of 1,024 it is
 * one product with a matrix of windowed waves, above that a transform. */
MICA_API mica_value mica_stft(mica_value x, const mica_stft_config *config);
/* The signals (N, T) whose spectra are nearest to x (N, length / 2 + 1, F, 2) by least squares (Griffin and Lim 1984):
 * frames times the window, added up and divided by the sum of squared windows (by 1 where it is below 1e-11). like
 * (N, T) says T. For spectra without snip, centered_values and preemphasis. */
MICA_API mica_value mica_istft(mica_value x, mica_value like, const mica_stft_config *config);

/* |x|^power of pairs (..., 2): 2 is the power, 1 the magnitude, which is 0 with a gradient of 0 at 0. */
MICA_API mica_value mica_magnitude(mica_value x, double power);

/* --- mel --- */

/* Hertz to mel: SLANEY is linear below 1,000 Hz (Slaney 1998), HTK 2595 log10(1 + f / 700). KALDI is HTK's with
 * triangles that are straight in mel, not in Hertz, and without the frequency rate / 2. */
typedef enum mica_mel_scale { MICA_MEL_SCALE_SLANEY, MICA_MEL_SCALE_HTK, MICA_MEL_SCALE_KALDI } mica_mel_scale;
/* AREA divides each triangle by half its width in Hertz; NONE: its height is 1. */
typedef enum mica_mel_norm { MICA_MEL_NORM_AREA, MICA_MEL_NORM_NONE } mica_mel_norm;

typedef struct mica_mel_config {
  mica_stft_config stft;
  double rate;      /* samples a second; 0: 16,000 */
  int64_t mels;     /* 0: 40 */
  double low, high; /* Hertz; high 0: rate / 2 */
  double power;     /* of the magnitude; 0: 2 */
  mica_mel_scale scale;
  mica_mel_norm norm;
} mica_mel_config;

/* torchaudio's: mirrored ends, HTK's scale without norm. */
MICA_API mica_mel_config mica_mel_torchaudio(double rate, int64_t length, int64_t hop, int64_t mels);
/* Kaldi's fbank: 25 ms each 10 ms, mean taken off, pre-emphasis of 0.97, Povey's window, from 20 Hertz on. Its samples
 * are integers: x times 32768. */
MICA_API mica_mel_config mica_mel_kaldi(double rate, int64_t mels);

/* The matrix (stft.length / 2 + 1, mels) f32 of triangles, a constant. */
MICA_API mica_value mica_mel_filters(mica_graph *graph, const mica_mel_config *config);
/* x (N, T) as mel spectrograms (N, mels, F): spectra to a power times the filters; config may be NULL. */
MICA_API mica_value mica_mel(mica_value x, const mica_mel_config *config);

typedef struct mica_decibels_config {
  bool amplitude;   /* x is a magnitude, not a power: 20 in place of 10 */
  double reference; /* 0 dB; 0: 1 */
  double floor;     /* the least x; 0: 1e-10, of amplitudes 1e-5 */
  double range; /* what is so many dB below the largest of a sample of axis 0 is raised to that; 0: 80, MICA_ZERO: no */
} mica_decibels_config;
/* 10 log10(max(x, floor) / reference); config may be NULL. No gradient flows where x is raised; it flows to the largest
 * value where that decides. */
MICA_API mica_value mica_decibels(mica_value x, const mica_decibels_config *config);

/* DECIBELS: mica_decibels with its defaults; LOG: log(x + 1e-6) (torchaudio's log_mels); KALDI: log(max(x, 2^-23)). */
typedef enum mica_mfcc_log { MICA_MFCC_LOG_DECIBELS, MICA_MFCC_LOG_LOG, MICA_MFCC_LOG_KALDI } mica_mfcc_log;
typedef struct mica_mfcc_config {
  mica_mel_config mel;
  int64_t coefficients; /* 0: 13; at most mels */
  mica_mfcc_log log;
  double lifter; /* coefficient k times 1 + L / 2 sin(pi (k + 1) / L), with KALDI k in place of k + 1; 0: none */
} mica_mfcc_config;
/* The first coefficients of the orthonormal cosine transform (type 2) of log mel spectrograms: (N, coefficients, F). */
MICA_API mica_value mica_mfcc(mica_value x, const mica_mfcc_config *config);

/* LIBROSA: a polynomial of degree `order` through `width` frames, also at the ends, where it is that of the first or
 * last frames (Savitzky and Golay 1964; F is not open and at least width); TORCHAUDIO: sum_k k x[t + k] / sum_k k^2,
 * ends repeated, `order` times. */
typedef enum mica_delta_style { MICA_DELTA_STYLE_LIBROSA, MICA_DELTA_STYLE_TORCHAUDIO } mica_delta_style;
/* The changes along the last axis of x (N, C, F); width is odd and at least 3, order 1 or 2. */
MICA_API mica_value mica_deltas(mica_value x, int64_t width, int32_t order, mica_delta_style style);

/* y[t] = x[t] - p x[t - 1] of x (N, T), T >= 2; y[0] is x[0], or 3 x[0] - x[1] as librosa has it. */
MICA_API mica_value mica_preemphasis(mica_value x, double p, bool librosa);

/* --- augmentation; random numbers as in mica/nodes.h: a function of seed, step and sample --- */

typedef struct mica_spec_augment_config {
  int64_t frequency_masks, frequency_width; /* 0: 2 and 8; -1: none */
  int64_t time_masks, time_width;           /* 0: 2 and 20; -1: none */
  uint64_t seed;
} mica_spec_augment_config;
/* x (N, C, F) with so many ranges of channels and of frames of each sample made 0, of widths from 0 to the given one,
 * each anywhere (Park et al. 2019, without warping). F may be open. config may be NULL. */
MICA_API mica_value mica_spec_augment(mica_value x, mica_value step, const mica_spec_augment_config *config);
/* x (N, T) with white noise added, of a ratio of signal to noise drawn for each between low and high decibels. */
MICA_API mica_value mica_add_noise(mica_value x, mica_value step, uint64_t seed, double low, double high);
/* x (N, T) moved by up to `most` samples to either side, zeros moving in. */
MICA_API mica_value mica_time_shift(mica_value x, mica_value step, uint64_t seed, int64_t most);

MICA_END_DECLS

#endif
