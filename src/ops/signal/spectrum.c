/* Spectrograms, their inverse and their magnitude. Short frames are multiplied by a matrix of windowed waves; long
 * frames are transformed in stages (dft.c). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/signal/signal.h"

#include <math.h>
#include <stdlib.h>

/* Up to this length a frame times a matrix of waves is as fast as the stages of a transform, which pass through memory;
 * the matrix has 4 MB. */
#define MOST_PRODUCT 1024
#define MOST_LENGTH ((int64_t)1 << 20)

bool mica__stft_resolve(const char *op, mica_value x, const mica_stft_config *given, mica_stft_config *out) {
  static const mica_stft_config none = {0};
  *out = given ? *given : none;
  if (out->length == 0) out->length = 512;
  if (out->hop == 0) out->hop = out->length / 4 > 0 ? out->length / 4 : 1;
  if (out->width == 0) out->width = out->length;
  if (out->length < 1 || out->length > MOST_LENGTH || out->hop < 1 || out->hop > MOST_LENGTH) {
    mica__builder_fail(op, x, MICA_E_INVALID, "length is %lld and hop is %lld, but both must be from 1 to 2^20",
                       (long long)out->length, (long long)out->hop);
    return false;
  }
  if (out->width < 1 || out->width > out->length) {
    mica__builder_fail(op, x, MICA_E_INVALID, "width is %lld, but must be from 1 to length (%lld)",
                       (long long)out->width, (long long)out->length);
    return false;
  }
  if (out->snip) out->pad = MICA_SIGNAL_PAD_NONE;
  return mica__builder_choice(op, x, "window", (int64_t)out->window, MICA_SIGNAL_WINDOW_POVEY + 1) &&
         mica__builder_choice(op, x, "pad", (int64_t)out->pad, MICA_SIGNAL_PAD_NONE + 1) &&
         mica__builder_number(op, x, "the pre-emphasis", out->preemphasis, -1, 1);
}

/* Returns the number of zeros before a window of `width` in a frame of `length`; with snip, all zeros follow the
 * window. */
static int64_t offset_of(const mica_stft_config *c) { return c->snip ? 0 : (c->length - c->width) / 2; }

double *mica__stft_window(const mica_stft_config *c) {
  static const double terms[][3] = {{0.5, 0.5, 0}, {0.54, 0.46, 0}, {0.42, 0.5, 0.08}, {1, 0, 0}, {0.5, 0.5, 0}};
  const double *t = terms[c->window], period = (double)(c->symmetric ? c->width - 1 : c->width);
  double *w = malloc((size_t)c->width * sizeof *w), squares = 0;
  for (int64_t i = 0; w && i < c->width; i++) {
    double angle = period > 0 ? 2 * MICA__PI * (double)i / period : MICA__PI;
    w[i] = t[0] - t[1] * cos(angle) + t[2] * cos(2 * angle);
    if (c->window == MICA_SIGNAL_WINDOW_POVEY) w[i] = pow(w[i], 0.85);
    squares += w[i] * w[i];
  }
  for (int64_t i = 0; w && c->normalized && i < c->width; i++) w[i] /= sqrt(squares);
  return w;
}

/* Cuts x into frames of `width` samples: those samples of a frame of `length` that lie under the window. They are not
 * yet multiplied by the window. */
static mica_value window_frames(mica_value x, const mica_stft_config *c) {
  int64_t pad = c->pad == MICA_SIGNAL_PAD_NONE ? 0 : c->length / 2, offset = offset_of(c);
  return mica__frames(x, c->width, c->hop, c->pad, pad - offset, c->snip ? 0 : pad - (c->length - c->width - offset));
}

/* --- short frames --- */

/* Pre-emphasis and the subtraction of the mean are linear. Builds them into the waves (width, columns), which are then
 * multiplied by unprocessed samples. */
static void fold_preparation(const mica_stft_config *c, double *waves, int64_t columns) {
  int64_t width = c->width;
  for (int64_t k = 0; k < columns; k++) {
    double mean = 0;
    for (int64_t i = 0; i < width; i++) {
      double *at = &waves[i * columns + k];
      *at = (i == 0 ? 1 - c->preemphasis : 1) * *at - (i + 1 < width ? c->preemphasis * at[columns] : 0);
      mean += *at / (double)width;
    }
    for (int64_t i = 0; c->centered_values && i < width; i++) waves[i * columns + k] -= mean;
  }
}

/* Returns frames times windowed cosines and negative sines: (N, F, bins, 2). */
static mica_value product(mica_value frames, const mica_stft_config *c, const double *window) {
  const int64_t bins = c->length / 2 + 1, offset = offset_of(c);
  double *waves = malloc((size_t)(c->width * 2 * bins) * sizeof *waves);
  for (int64_t i = 0; waves && i < c->width; i++)
    for (int64_t k = 0; k < bins; k++) {
      double angle = 2 * MICA__PI * (double)((i + offset) * k % c->length) / (double)c->length;
      waves[(i * bins + k) * 2] = window[i] * cos(angle);
      waves[(i * bins + k) * 2 + 1] = -window[i] * sin(angle);
    }
  if (waves) fold_preparation(c, waves, 2 * bins);
  mica_value y = mica_matmul(frames, mica__signal_matrix("stft", frames, waves, c->width, 2 * bins));
  free(waves);
  return mica_reshape(y, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), bins, 2));
}

/* --- long frames --- */

static mica_value transformed(mica_value frames, const mica_stft_config *c, const double *window) {
  const int64_t offset = offset_of(c);
  if (c->centered_values) frames = mica_sub(frames, mica_mean(frames, MICA_AXES(-1), true));
  if (c->preemphasis != 0) {
    mica_value before[] = {mica_slice(frames, 2, 0, 1, 1), mica_slice(frames, 2, 0, c->width - 1, 1)};
    frames = mica_sub(frames, mica_affine(mica_concat(before, 2, 2), c->preemphasis, 0));
  }
  frames = mica_mul(frames, mica__signal_matrix("stft", frames, window, 1, c->width));
  if (offset > 0) frames = mica__pad_axis(frames, 2, offset, c->length - c->width - offset, 0);
  return mica_rfft(frames, c->length);
}

/* Marks spectra as the result of one transform of windowed frames (ir/graph.h), if frames are not preprocessed. The
 * window has no node of its own, because random numbers of later layers depend on the number of values in the graph. */
static mica_value marked(mica_value y, mica_value x, const mica_stft_config *c) {
  if (c->snip || c->centered_values || c->preemphasis != 0) return y;
  const double numbers[] = {(double)c->length, (double)c->hop,    (double)c->width,
                            (double)c->pad,    (double)c->window, c->symmetric + 2.0 * c->normalized};
  return mica__graph_mark(y, "stft", &x, 1, numbers, 6);
}

mica_value mica__spectra(mica_value x, const mica_stft_config *c) {
  double *window = mica__stft_window(c);
  mica_value frames = window_frames(x, c);
  mica_value y = !window ? mica__builder_fail("stft", x, MICA_E_NOMEM, "there is not enough memory for a window")
                 : c->length <= MOST_PRODUCT ? product(frames, c, window)
                                             : transformed(frames, c, window);
  free(window);
  return marked(y, x, c);
}

mica_value mica_stft(mica_value x, const mica_stft_config *config) {
  mica_stft_config c;
  if (!mica__stft_resolve("stft", x, config, &c)) return (mica_value){0};
  return mica__narrow(mica_transpose(mica__spectra(mica__widen(x), &c), MICA_AXES(0, 2, 1, 3)), x);
}

/* --- inverse --- */

/* Converts spectra (N, F, bins, 2) to frames of `width` samples, not yet windowed. */
static mica_value inverted(mica_value x, const mica_stft_config *c) {
  const int64_t bins = c->length / 2 + 1, offset = offset_of(c);
  if (c->length > MOST_PRODUCT) return mica_slice(mica_irfft(x, c->length), 2, offset, offset + c->width, 1);
  double *waves = malloc((size_t)(c->width * 2 * bins) * sizeof *waves);
  for (int64_t k = 0; waves && k < bins; k++)
    for (int64_t i = 0; i < c->width; i++) {
      double angle = 2 * MICA__PI * (double)((i + offset) * k % c->length) / (double)c->length;
      double share = (k == 0 || 2 * k == c->length ? 1 : 2) / (double)c->length;
      waves[2 * k * c->width + i] = share * cos(angle);
      waves[(2 * k + 1) * c->width + i] = -share * sin(angle);
    }
  mica_value flat = mica_reshape(x, MICA_SHAPE(MICA__COPY_DIM(0), MICA__COPY_DIM(1), 2 * bins));
  mica_value y = mica_matmul(flat, mica__signal_matrix("istft", x, waves, 2 * bins, c->width));
  free(waves);
  return y;
}

static mica_value added_up(mica_value frames, mica_value like, const mica_stft_config *c) {
  int64_t pad = c->pad == MICA_SIGNAL_PAD_NONE ? 0 : c->length / 2, offset = offset_of(c);
  return mica__overlap_add(frames, like, c->width, c->hop, pad - offset, pad - (c->length - c->width - offset));
}

mica_value mica_istft(mica_value x, mica_value like, const mica_stft_config *config) {
  mica_stft_config c;
  char text[MICA_SHAPE_TEXT];
  const mica_shape shape = mica_value_shape(x);
  if (!mica__stft_resolve("istft", x, config, &c)) return (mica_value){0};
  if (c.snip || c.centered_values || c.preemphasis != 0)
    return mica__builder_fail("istft", x, MICA_E_UNSUPPORTED,
                              "spectra with Kaldi's settings (snip, centered_values, preemphasis) cannot be inverted");
  if (shape.rank != 4 || shape.dim[1] != c.length / 2 + 1 || shape.dim[3] != 2)
    return mica__builder_fail("istft", x, MICA_E_SHAPE, "x is %s, but must be (N, %lld, frames, 2)",
                              mica_shape_format(shape, text), (long long)c.length / 2 + 1);
  double *window = mica__stft_window(&c);
  mica_value wide = mica__widen(x), frames = inverted(mica_transpose(wide, MICA_AXES(0, 2, 1, 3)), &c);
  mica_value w = mica__signal_matrix("istft", wide, window, 1, c.width);
  mica_value squares = added_up(mica_mul(mica_full_like(frames, 1), mica_square(w)), like, &c);
  mica_value y = added_up(mica_mul(frames, w), like, &c);
  mica_value covered = mica_greater(squares, mica__number(squares, 1e-11));
  free(window);
  return mica__narrow(mica_where(covered, mica_div(y, mica_where(covered, squares, mica__number(squares, 1))), y), x);
}

mica_value mica_magnitude(mica_value x, double power) {
  mica_value wide = mica__widen(x), squares = mica_sum_square(wide, MICA_AXES(-1), false);
  if (!mica__builder_number("magnitude", x, "the power", power, 0, 16)) return (mica_value){0};
  if (power == 2) return mica__narrow(squares, x);
  mica_value some = mica_greater(squares, mica__number(squares, 0));
  mica_value safe = mica_where(some, squares, mica__number(squares, 1));
  mica_value y = power == 1 ? mica_sqrt(safe) : mica_pow(safe, mica__number(safe, power / 2));
  return mica__narrow(mica_where(some, y, mica__number(y, 0)), x);
}
