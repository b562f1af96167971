/* Builders of Fourier transforms of any length: stages if all prime factors are small, otherwise Bluestein's
 * algorithm. */
#include "base/error.h"
#include "ops/signal/signal.h"

#include <math.h>
#include <stdlib.h>

#define MOST_LENGTH ((int64_t)1 << 24)
/* Prime factors up to this become stages. A stage of radix p adds p terms per number, Bluestein's convolution about
 * 60. */
#define MOST_RADIX 61

mica_value mica__signal_matrix(const char *op, mica_value like, const double *values, int64_t rows, int64_t columns) {
  if (!values) return mica__builder_fail(op, like, MICA_E_NOMEM, "there is not enough memory for a table of numbers");
  mica_value matrix = mica_constant(like.graph, MICA_F64, MICA_SHAPE(rows, columns), values);
  return mica_cast(matrix, mica_value_dtype(like));
}

static bool needs_convolution(int64_t n) {
  for (int64_t p = 2; p <= MOST_RADIX; p++)
    while (n % p == 0) n /= p;
  return n > 1;
}

/* --- Bluestein 1970: with w[k] = e^(-+ pi i k k / n), y[k] = w[k] sum_j (x[j] w[j]) / w[k - j] --- */

/* Returns x (..., k, 1 or 2) times the complex numbers (k, 2). `room` is scratch memory of the same size as w. */
static mica_value times(mica_value x, const double *w, int64_t k, double *room) {
  const int32_t last = mica_value_shape(x).rank - 1;
  if (mica_value_shape(x).dim[last] == 1) return mica_mul(x, mica__signal_matrix("fft", x, w, k, 2));
  for (int64_t i = 0; i < k; i++) room[2 * i] = room[2 * i + 1] = w[2 * i];
  mica_value straight = mica_mul(x, mica__signal_matrix("fft", x, room, k, 2));
  for (int64_t i = 0; i < k; i++) room[2 * i] = -(room[2 * i + 1] = w[2 * i + 1]);
  return mica_add(straight, mica_mul(mica_flip(x, MICA_AXES(-1)), mica__signal_matrix("fft", x, room, k, 2)));
}

/* Returns a spectrum (..., k, 2) times the spectrum of one row, (k, 2). */
static mica_value times_value(mica_value x, mica_value w) {
  mica_value re = mica_slice(w, -1, 0, 1, 1), im = mica_slice(w, -1, 1, 2, 1);
  const double signs[] = {-1, 1};
  mica_value rotated = mica_mul(mica_flip(x, MICA_AXES(-1)), mica__signal_matrix("fft", x, signs, 1, 2));
  return mica_add(mica_mul(x, re), mica_mul(rotated, im));
}

static mica_value convolved(mica_value x, int64_t n, int64_t m, bool inverse, bool real) {
  const mica_shape shape = mica_value_shape(x);
  int64_t h = shape.dim[shape.rank - 2], length = 1;
  while (length < 2 * n - 1) length *= 2;
  if (length > MOST_LENGTH)
    return mica__builder_fail("fft", x, MICA_E_UNSUPPORTED,
                              "n is %lld, but above 2^23 must have no prime factor above %d", (long long)n, MOST_RADIX);
  double *w = malloc((size_t)n * 2 * sizeof *w), *room = malloc((size_t)n * 2 * sizeof *room);
  double *filter = calloc((size_t)length * 2, sizeof *filter);
  mica_value y = {0};
  if (w && room && filter) {
    for (int64_t k = 0; k < n; k++) {
      double angle = MICA__PI * (double)(k * k % (2 * n)) / (double)n;
      w[2 * k] = cos(angle);
      w[2 * k + 1] = inverse ? sin(angle) : -sin(angle);
      int64_t mirror = k ? length - k : 0;
      filter[2 * k] = filter[2 * mirror] = w[2 * k];
      filter[2 * k + 1] = filter[2 * mirror + 1] = -w[2 * k + 1];
    }
    mica_value spectrum = mica__dft(mica__signal_matrix("fft", x, filter, length, 2), length, length, false, false);
    y = mica__dft(times(x, w, h, room), length, length, false, false);
    y = mica__dft(times_value(y, spectrum), length, m, true, false);
    y = mica_affine(times(y, w, m, room), 1 / (double)length, 0);
    if (real) y = mica_slice(y, -1, 0, 1, 1);
  } else {
    mica__builder_fail("fft", x, MICA_E_NOMEM, "there is not enough memory for a Fourier transform");
  }
  free(w);
  free(room);
  free(filter);
  return y;
}

static mica_value transform(mica_value x, int64_t n, int64_t m, bool inverse, bool real) {
  mica_value wide = mica__widen(x);
  mica_value y = needs_convolution(n) ? convolved(wide, n, m, inverse, real) : mica__dft(wide, n, m, inverse, real);
  return mica__narrow(inverse ? mica_affine(y, 1 / (double)n, 0) : y, x);
}

/* Checks that x is (..., k, parts), and cuts it to at most `most` numbers along axis -2. A `most` of 0 means no limit.
 * Returns false if it records an error. */
static bool take(const char *op, mica_value *x, int32_t parts, int64_t most) {
  const mica_shape shape = mica_value_shape(*x);
  char text[MICA_SHAPE_TEXT];
  if (!x->graph) return false;
  if (shape.rank < 2 || shape.dim[shape.rank - 1] != parts || shape.dim[shape.rank - 2] < 1) {
    mica__builder_fail(op, *x, MICA_E_SHAPE, "x is %s, but must be %s with n known and at least 1",
                       mica_shape_format(shape, text), parts == 1 ? "(..., n)" : "(..., n, 2)");
    return false;
  }
  if (most > 0 && shape.dim[shape.rank - 2] > most) *x = mica_slice(*x, shape.rank - 2, 0, most, 1);
  return true;
}

/* Returns n, or `own` if n is 0. Returns 0 if it records an error. */
static int64_t length_of(const char *op, mica_value x, int64_t n, int64_t own) {
  if (n == 0) n = own;
  if (n >= 1 && n <= MOST_LENGTH) return n;
  mica__builder_fail(op, x, MICA_E_INVALID, "n is %lld, but must be from 1 to 2^24", (long long)n);
  return 0;
}

static mica_value pairs(const char *op, mica_value x, int64_t n, bool inverse) {
  if (!take(op, &x, 2, n)) return (mica_value){0};
  const mica_shape shape = mica_value_shape(x);
  n = length_of(op, x, n, shape.dim[shape.rank - 2]);
  return n ? transform(x, n, n, inverse, false) : (mica_value){0};
}
mica_value mica_fft(mica_value x, int64_t n) { return pairs("fft", x, n, false); }
mica_value mica_ifft(mica_value x, int64_t n) { return pairs("ifft", x, n, true); }

mica_value mica_rfft(mica_value x, int64_t n) {
  mica_value parts = mica_unsqueeze(x, MICA_AXES(-1));
  if (!take("rfft", &parts, 1, n)) return (mica_value){0};
  const mica_shape shape = mica_value_shape(parts);
  n = length_of("rfft", parts, n, shape.dim[shape.rank - 2]);
  return n ? transform(parts, n, n / 2 + 1, false, false) : (mica_value){0};
}

mica_value mica_irfft(mica_value x, int64_t n) {
  if (!take("irfft", &x, 2, n > 0 ? n / 2 + 1 : 0)) return (mica_value){0};
  const mica_shape shape = mica_value_shape(x);
  const int64_t h = shape.dim[shape.rank - 2];
  n = length_of("irfft", x, n, 2 * (h - 1));
  if (!n) return (mica_value){0};
  double *twice = malloc((size_t)h * sizeof *twice);
  for (int64_t k = 0; twice && k < h; k++) twice[k] = k == 0 || 2 * k == n ? 1 : 2;
  mica_value y = transform(mica_mul(x, mica__signal_matrix("irfft", x, twice, h, 1)), n, n, true, true);
  free(twice);
  return y.graph ? mica_squeeze(y, MICA_AXES(-1)) : y;
}
