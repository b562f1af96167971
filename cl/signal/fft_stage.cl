/* signal/fft_stage.cl: one stage of the fast Fourier transform of rows of n complex numbers, in Stockham's order
 * (Stockham 1966). n is a product of factors, with one stage per factor. `done` is the product of the factors of the
 * stages before; the factor of this stage is RADIX.
 *
 *   y[(j / done) done RADIX + k] = sum_r x[j + r n / RADIX] e^(sign 2 pi i r k / (done RADIX))
 *
 * for j below n / RADIX and k = j % done + q done, q below RADIX. sign is 1 if `inverse` is set, else -1; nothing is
 * divided by n. A row of x holds `have` numbers; the others are 0. The first `want` numbers of a row of y are written.
 * Rows are contiguous. To compute sines and cosines, the octant of the angle is found with integers. Within the octant
 * a polynomial (f32) or the built-in functions (f64) give the value; the error of the polynomial is at most an ulp.
 *
 *   X_T        type of the real numbers, f32 or f64
 *   RADIX      2, 3, 4 or 5: a work-item computes a butterfly. 0: the radix is an argument, and a work-item computes
 *              one number
 *   X_PARTS    1: x holds real numbers; 2: complex numbers, as pairs
 *   Y_PARTS    1: only the real parts are written; 2: complex numbers, as pairs
 *
 * One dimension of rows * n / RADIX work-items, or with RADIX 0 of rows * n. */
#include "common/dtype.clh"
#include "common/group.clh"

typedef COMPUTE(X_T) real;
typedef COMPUTEV(X_T, 2) complex;

/* (cosine, sine) of x pi / 4 for 0 <= x <= 1. Floats use the Taylor series, whose first omitted term is below 2e-9;
 * doubles use the built-in functions. */
#define IS_f32 1
#define IS_f64 0
static inline complex eighth(const real x) {
#if MICA_PASTE(IS_, X_T)
  const float a = x * 0.78539816339744831f, b = a * a;
  const float c =
      1.0f + b * (-0.5f + b * (4.16666667e-2f + b * (-1.38888889e-3f + b * (2.48015873e-5f - b * 2.75573192e-7f))));
  const float s = a + a * b *
                          (-1.66666667e-1f +
                           b * (8.33333333e-3f + b * (-1.98412698e-4f + b * (2.75573192e-6f - b * 2.50521084e-8f))));
  return (complex)(c, s);
#else
  return (complex)(cospi(x * 0.25), sinpi(x * 0.25));
#endif
}

/* e^(sign 2 pi i k / n), 0 <= k < n <= 2^24. */
static inline complex wave(const int k, const int n, const real sign) {
  const int octant = k * 8 / n, rest = k * 8 - octant * n;
  const complex w = eighth((real)((octant & 1) ? n - rest : rest) / (real)n);
  const int swapped = (octant + 1) & 2;
  real c = swapped ? w.y : w.x, s = swapped ? w.x : w.y;
  c = octant >= 2 && octant < 6 ? -c : c;
  s = octant >= 4 ? -s : s;
  return (complex)(c, sign * s);
}

static inline complex times(const complex a, const complex b) {
  return (complex)(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

static inline complex taken(__global const STORAGE(X_T) * x, const int i, const int have) {
  if (i >= have) return (complex)(0, 0);
#if X_PARTS == 1
  return (complex)(x[i], 0);
#else
  return vload2(i, x);
#endif
}

static inline void put(__global STORAGE(X_T) * y, const int i, const int want, const complex value) {
  if (i >= want) return;
#if Y_PARTS == 1
  y[i] = value.x;
#else
  vstore2(value, i, y);
#endif
}

RANGE_KERNEL fft_stage(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * y, const long y_at,
                       const int rows, const int n, const int done, const int radix, const int have, const int want,
                       const int inverse) {
  const real sign = inverse ? 1 : -1;
#if RADIX
  const int each = n / RADIX;
#else
  const int each = n;
#endif
  const long item = get_global_id(0), row = item / each;
  if (row >= rows) return;
  x += x_at + row * have * X_PARTS;
  y += y_at + row * want * Y_PARTS;
#if RADIX
  const int j = (int)(item % each), k = j % done, to = (j - k) * RADIX + k;
  const complex w1 = wave(k, done * RADIX, sign);
  const complex a = taken(x, j, have), b = times(w1, taken(x, j + each, have));
#if RADIX == 2
  put(y, to, want, a + b);
  put(y, to + done, want, a - b);
#else
  const complex w2 = times(w1, w1), c = times(w2, taken(x, j + 2 * each, have));
#if RADIX == 3
  const complex sum = b + c, half_ = a - (real)0.5 * sum, d = (real)0.86602540378443864676 * sign * (b - c);
  const complex rotated = (complex)(-d.y, d.x);
  put(y, to, want, a + sum);
  put(y, to + done, want, half_ + rotated);
  put(y, to + 2 * done, want, half_ - rotated);
#else
  const complex d = times(times(w2, w1), taken(x, j + 3 * each, have));
#if RADIX == 4
  const complex ac = a + c, bd = b + d, a_c = a - c, b_d = sign * (b - d), rotated = (complex)(-b_d.y, b_d.x);
  put(y, to, want, ac + bd);
  put(y, to + done, want, a_c + rotated);
  put(y, to + 2 * done, want, ac - bd);
  put(y, to + 3 * done, want, a_c - rotated);
#else
  const complex e = times(times(w2, w2), taken(x, j + 4 * each, have));
  const complex be = b + e, cd = c + d, b_e = sign * (b - e), c_d = sign * (c - d);
  const real c1 = 0.30901699437494742410, c2 = -0.80901699437494742410, s1 = 0.95105651629515357212,
             s2 = 0.58778525229247312917;
  const complex p1 = a + c1 * be + c2 * cd, p2 = a + c2 * be + c1 * cd;
  const complex q1 = s1 * b_e + s2 * c_d, q2 = s2 * b_e - s1 * c_d;
  const complex t1 = (complex)(-q1.y, q1.x), t2 = (complex)(-q2.y, q2.x);
  put(y, to, want, a + be + cd);
  put(y, to + done, want, p1 + t1);
  put(y, to + 2 * done, want, p2 + t2);
  put(y, to + 3 * done, want, p2 - t2);
  put(y, to + 4 * done, want, p1 - t1);
#endif
#endif
#endif
#else
  const int per = n / radix, q = (int)(item % each) / per, j = (int)(item % each) % per, k = j % done;
  const int period = done * radix, step = k + q * done;
  complex sum = (complex)(0, 0);
  for (int r = 0, angle = 0; r < radix; r++) {
    sum += times(wave(angle, period, sign), taken(x, j + r * per, have));
    angle += step;
    angle = angle >= period ? angle - period : angle;
  }
  put(y, (j - k) * radix + k + q * done, want, sum);
#endif
}
