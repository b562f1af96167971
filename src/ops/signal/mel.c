/* Mel spectrograms, decibels, cepstral coefficients. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/signal/signal.h"

#include <math.h>
#include <stdlib.h>

#define MOST_MELS 4096

mica_mel_config mica_mel_torchaudio(double rate, int64_t length, int64_t hop, int64_t mels) {
  return (mica_mel_config){.stft = {.length = length, .hop = hop, .pad = MICA_SIGNAL_PAD_REFLECT},
                           .rate = rate,
                           .mels = mels,
                           .scale = MICA_MEL_SCALE_HTK,
                           .norm = MICA_MEL_NORM_NONE};
}

mica_mel_config mica_mel_kaldi(double rate, int64_t mels) {
  int64_t width = (int64_t)(rate * 0.025), length = 1;
  while (length < width && length < 1 << 20) length *= 2;
  return (mica_mel_config){.stft = {.length = length,
                                    .hop = (int64_t)(rate * 0.01),
                                    .width = width,
                                    .window = MICA_SIGNAL_WINDOW_POVEY,
                                    .symmetric = true,
                                    .snip = true,
                                    .centered_values = true,
                                    .preemphasis = 0.97},
                           .rate = rate,
                           .mels = mels,
                           .low = 20,
                           .scale = MICA_MEL_SCALE_KALDI,
                           .norm = MICA_MEL_NORM_NONE};
}

/* Copies config (NULL means all defaults), replaces zeros by defaults and checks it. Returns false if it records an
 * error. */
static bool resolve(const char *op, mica_value x, const mica_mel_config *given, mica_mel_config *out) {
  static const mica_mel_config none = {0};
  *out = given ? *given : none;
  if (!mica__stft_resolve(op, x, &out->stft, &out->stft)) return false;
  out->rate = mica__or_default(out->rate, 16000);
  if (out->mels == 0) out->mels = 40;
  out->high = mica__or_default(out->high, out->rate / 2);
  out->power = mica__or_default(out->power, 2);
  if (!(out->rate > 0 && out->rate <= 1e9)) {
    mica__builder_fail(op, x, MICA_E_INVALID, "rate is %g, but must be above 0 and at most 1e9", out->rate);
    return false;
  }
  if (out->mels < 1 || out->mels > MOST_MELS) {
    mica__builder_fail(op, x, MICA_E_INVALID, "mels is %lld, but must be from 1 to %d", (long long)out->mels,
                       (int)MOST_MELS);
    return false;
  }
  if (!(out->low >= 0 && out->low < out->high && out->high <= out->rate / 2)) {
    mica__builder_fail(op, x, MICA_E_INVALID,
                       "low is %g Hz and high is %g Hz, but low must be at least 0 and below high, and high at most %g "
                       "Hz, half of rate",
                       out->low, out->high, out->rate / 2);
    return false;
  }
  return mica__builder_choice(op, x, "scale", (int64_t)out->scale, MICA_MEL_SCALE_KALDI + 1) &&
         mica__builder_choice(op, x, "norm", (int64_t)out->norm, MICA_MEL_NORM_NONE + 1);
}

/* --- filters --- */

static const double knee = 1000, knee_mel = 15, step = 27;

static double mel_of(double hertz, mica_mel_scale scale) {
  if (scale != MICA_MEL_SCALE_SLANEY) return 2595 * log10(1 + hertz / 700);
  return hertz < knee ? hertz * knee_mel / knee : knee_mel + step * log(hertz / knee) / log(6.4);
}
static double hertz_of(double mel, mica_mel_scale scale) {
  if (scale != MICA_MEL_SCALE_SLANEY) return 700 * (pow(10, mel / 2595) - 1);
  return mel < knee_mel ? mel * knee / knee_mel : knee * exp((mel - knee_mel) * log(6.4) / step);
}

static mica_value filters(const char *op, mica_value like, const mica_mel_config *c) {
  const int64_t bins = c->stft.length / 2 + 1;
  const double low = mel_of(c->low, c->scale), width = (mel_of(c->high, c->scale) - low) / (double)(c->mels + 1);
  const bool kaldi = c->scale == MICA_MEL_SCALE_KALDI;
  double *values = malloc((size_t)(bins * c->mels) * sizeof *values);
  for (int64_t m = 0; values && m < c->mels; m++) {
    double corner[3], hertz[3];
    for (int i = 0; i < 3; i++) {
      corner[i] = low + width * (double)(m + i);
      hertz[i] = hertz_of(corner[i], c->scale);
      if (!kaldi) corner[i] = hertz[i];
    }
    for (int64_t k = 0; k < bins; k++) {
      double f = (double)k * c->rate / (double)c->stft.length, at = kaldi ? mel_of(f, c->scale) : f;
      double rise = (at - corner[0]) / (corner[1] - corner[0]), fall = (corner[2] - at) / (corner[2] - corner[1]);
      double height = fmax(0, fmin(rise, fall));
      if (kaldi && 2 * k == c->stft.length) height = 0;
      values[k * c->mels + m] = c->norm == MICA_MEL_NORM_AREA ? height * 2 / (hertz[2] - hertz[0]) : height;
    }
  }
  mica_value matrix = mica__signal_matrix(op, like, values, bins, c->mels);
  free(values);
  return matrix;
}

mica_value mica_mel_filters(mica_graph *graph, const mica_mel_config *config) {
  mica_mel_config c;
  mica_value like = mica_scalar(graph, MICA_F32, 0);
  return resolve("mel_filters", like, config, &c) ? filters("mel_filters", like, &c) : (mica_value){0};
}

/* Returns the mel spectrogram of x as (N, F, mels), in f32 or f64. resolve must have filled in the config's
 * defaults. */
static mica_value mel_frames(mica_value x, const mica_mel_config *c) {
  mica_value power = mica_magnitude(mica__spectra(x, &c->stft), c->power);
  return mica_matmul(power, filters("mel", x, c));
}

mica_value mica_mel(mica_value x, const mica_mel_config *config) {
  mica_mel_config c;
  if (!resolve("mel", x, config, &c)) return (mica_value){0};
  return mica__narrow(mica_transpose(mel_frames(mica__widen(x), &c), MICA_AXES(0, 2, 1)), x);
}

/* --- logarithms --- */

mica_value mica_decibels(mica_value x, const mica_decibels_config *given) {
  static const mica_decibels_config none = {0};
  const mica_decibels_config *c = given ? given : &none;
  const double factor = c->amplitude ? 20 : 10, reference = mica__or_default(c->reference, 1);
  const double floor_ = mica__or_default(c->floor, c->amplitude ? 1e-5 : 1e-10);
  const double range = mica__or_default(c->range, 80);
  const int32_t rank = mica_value_shape(x).rank;
  if (!(floor_ > 0) || !(reference > 0) || !(range >= 0))
    return mica__builder_fail("decibels", x, MICA_E_INVALID,
                              "floor (%g) and reference (%g) must be above 0, and range (%g) must not be negative",
                              floor_, reference, range);
  mica_value wide = mica__widen(x), least = mica_maximum(wide, mica__number(wide, floor_));
  mica_value y = mica_affine(mica_log10(least), factor, -factor * log10(fmax(floor_, reference)));
  if (range > 0) {
    mica_value top = mica_max(y, rank > 1 ? mica__axes_of((1u << rank) - 2) : MICA_ALL_AXES, true);
    y = mica_maximum(y, mica_affine(top, 1, -range));
  }
  return mica__narrow(y, x);
}

static mica_value logarithm(mica_value mel, mica_mfcc_log how) {
  if (how == MICA_MFCC_LOG_LOG) return mica_log(mica_affine(mel, 1, 1e-6));
  if (how == MICA_MFCC_LOG_KALDI) return mica_log(mica_maximum(mel, mica__number(mel, ldexp(1, -23))));
  return mica_decibels(mel, NULL);
}

mica_value mica_mfcc(mica_value x, const mica_mfcc_config *given) {
  static const mica_mfcc_config none = {0};
  const mica_mfcc_config *config = given ? given : &none;
  mica_mel_config c;
  if (!resolve("mfcc", x, &config->mel, &c)) return (mica_value){0};
  const int64_t count = config->coefficients == 0 ? 13 : config->coefficients, mels = c.mels;
  if (count < 1 || count > mels)
    return mica__builder_fail("mfcc", x, MICA_E_INVALID, "coefficients is %lld, but must be from 1 to the %lld mels",
                              (long long)count, (long long)mels);
  if (!mica__builder_choice("mfcc", x, "log", (int64_t)config->log, MICA_MFCC_LOG_KALDI + 1) ||
      !mica__builder_number("mfcc", x, "the lifter", config->lifter, 0, 1e6))
    return (mica_value){0};
  double *waves = malloc((size_t)(mels * count) * sizeof *waves);
  for (int64_t k = 0; waves && k < count; k++) {
    double phase = (double)(config->log == MICA_MFCC_LOG_KALDI ? k : k + 1), l = config->lifter;
    double lift = l > 0 ? 1 + l / 2 * sin(MICA__PI * phase / l) : 1, scale = sqrt((k ? 2.0 : 1.0) / (double)mels);
    for (int64_t m = 0; m < mels; m++)
      waves[m * count + k] = lift * scale * cos(MICA__PI * (double)k * ((double)m + 0.5) / (double)mels);
  }
  mica_value wide = mica__widen(x), mel = mel_frames(wide, &c);
  mica_value y = mica_matmul(logarithm(mel, config->log), mica__signal_matrix("mfcc", wide, waves, mels, count));
  free(waves);
  return mica__narrow(mica_transpose(y, MICA_AXES(0, 2, 1)), x);
}
