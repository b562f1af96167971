/* sample/sample.cl: samples x (N, C, D, H, W) at the points of grid (M, P, DIMS) by interpolation. The last axis of
 * grid has the coordinates x, y and, with DIMS 3, z.
 *
 *   sample             y[m, c, p] = sum over the taps k of weight[k] x[n, c, k], where n is images[m], or m without
 *                      IMAGES
 *   sample_grad_x      dx[n, c, k] = the sum of weight[k] dy[m, c, p] over all m of image n and all p, in ascending
 *                      order
 *   sample_grad_grid   dgrid[m, p, a] = sum over c and k of dy[m, c, p] x[n, c, k] times the derivative of weight[k] by
 *                      coordinate a
 *
 * A coordinate g along an axis of `size` elements gives the position u in elements:
 *   PIXELS 1            u = g
 *   PIXELS 0, ALIGN 1   u = (g + 1) / 2 (size - 1)
 *   PIXELS 0, ALIGN 0   u = ((g + 1) size - 1) / 2
 * The taps along the axis:
 *   MODE 0   the two neighbours of u, linearly
 *   MODE 1   the nearest element, ties to even
 *   MODE 2   four elements, by cubic convolution with a = -0.75 (Keys 1981); needs DIMS 2
 * Elements outside of the axis:
 *   PAD 0    are 0
 *   PAD 1    are replaced by the element at the border
 *   PAD 2    are reflected, at the centres of the border elements (ALIGN 1) or at their outer edges (ALIGN 0)
 * If an index in `images` is out of range, the image is all zeros.
 *
 *   X_T     type of x in sample and sample_grad_grid
 *   Y_T     type of grid, y and all gradients, f32 or f64
 *   I_T     type of images, i32 or i64
 *   IMAGES  1: n comes from `images`
 *   DIMS    2 or 3 axes; with 2, D is 1
 *   GROUP   work-items of a group
 *
 * One dimension of M P work-items (sample, sample_grad_grid), N C (sample_grad_x). */
#include "index/index.clh"

#ifndef X_T
#define X_T f32
#endif

typedef COMPUTE(Y_T) real;

/* These macros repeat F for each tap of an axis, F(0, ...) F(1, ...), without a loop. If there were a loop and a
 * compiler did not unroll it, it would keep the taps in memory. */
#if MODE == 0
#define TAPS 2
#define EACH_X(F, ...) F(0, __VA_ARGS__) F(1, __VA_ARGS__)
#define EACH_Y(F, G, ...) F(0, G, __VA_ARGS__) F(1, G, __VA_ARGS__)
#elif MODE == 1
#define TAPS 1
#define EACH_X(F, ...) F(0, __VA_ARGS__)
#define EACH_Y(F, G, ...) F(0, G, __VA_ARGS__)
#else
#define TAPS 4
#define EACH_X(F, ...) F(0, __VA_ARGS__) F(1, __VA_ARGS__) F(2, __VA_ARGS__) F(3, __VA_ARGS__)
#define EACH_Y(F, G, ...) F(0, G, __VA_ARGS__) F(1, G, __VA_ARGS__) F(2, G, __VA_ARGS__) F(3, G, __VA_ARGS__)
#endif
#if DIMS == 2
#define EACH_Z(F, G) F(0, G)
#elif MODE == 1
#define EACH_Z(F, G) F(0, G)
#else
#define EACH_Z(F, G) F(0, G) F(1, G)
#endif
/* EACH_TAP repeats F(i, j, l) for each tap of a point: tap i along x, j along y, l along z. */
#define TAPS_OF_ROW(j, F, l) EACH_X(F, j, l)
#define TAPS_OF_PLANE(l, F) EACH_Y(TAPS_OF_ROW, F, l)
#define EACH_TAP(F) EACH_Z(TAPS_OF_PLANE, F)
#define ALL_TAPS (DIMS == 3 ? TAPS * TAPS * TAPS : TAPS * TAPS)
#define TAP(i, j, l) (((l)*TAPS + (j)) * TAPS + (i))

#define SAMPLE_KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

/* Returns the position that is read instead of u according to PAD. On entry *slope is du / dg; on return it is the
 * derivative of the returned position by g. */
static inline real padded(const real u, const int size, __private real *slope) {
  real v = u;
#if PAD == 2
  const real low = ALIGN ? (real)0 : (real)-0.5, span = ALIGN ? (real)(size - 1) : (real)size;
  if (span == 0) {
    *slope = 0;
    return 0;
  }
  v = fabs(u - low);
  if (u < low) *slope = -*slope;
  const real flips = floor(v / span);
  const bool odd = fmod(flips, (real)2) != 0;
  v -= flips * span;
  if (odd) *slope = -*slope;
  v = (odd ? span - v : v) + low;
#endif
#if PAD
  if (!(v > 0)) {
    *slope = 0;
    v = 0;
  } else if (v >= size - 1) {
    *slope = 0;
    v = size - 1;
  }
#endif
  return v;
}

static inline int tap_at(const real v, const int size) { return v >= 0 && v < size ? (int)v : -1; }

/* Returns the weight of a tap in cubic convolution, where d = u - tap, and sets *slope to its derivative by d. */
static inline real cubic(const real d, __private real *slope) {
  const real a = (real)-0.75, s = fabs(d), sign = d < 0 ? -1 : 1;
  if (s <= 1) {
    *slope = sign * (3 * (a + 2) * s - 2 * (a + 3)) * s;
    return ((a + 2) * s - (a + 3)) * s * s + 1;
  }
  if (s >= 2) {
    *slope = 0;
    return 0;
  }
  *slope = sign * a * ((3 * s - 10) * s + 8);
  return a * (((s - 5) * s + 8) * s - 4);
}

typedef struct axis {
  int at[TAPS]; /* -1: outside */
  real weight[TAPS], slope[TAPS];
} axis;

static inline axis axis_of(const real g, const int size) {
  axis a;
  real slope = PIXELS ? (real)1 : ALIGN ? (real)(size - 1) / 2 : (real)size / 2;
  const real u = PIXELS ? g : ALIGN ? (g + 1) * slope : (g + 1) * slope - (real)0.5;
#if MODE == 2
  const real first = floor(u) - 1;
  real unused = 0;
#define CUBIC_TAP(k, axis)                                                                                             \
  axis.weight[k] = cubic(u - (first + k), &axis.slope[k]);                                                             \
  axis.slope[k] *= slope;                                                                                              \
  axis.at[k] = tap_at(rint(padded(first + k, size, &unused)), size);
  EACH_X(CUBIC_TAP, a)
#elif MODE == 1
  a.at[0] = tap_at(rint(padded(u, size, &slope)), size);
  a.weight[0] = 1;
  a.slope[0] = 0;
#else
  const real v = padded(u, size, &slope), first = floor(v), t = v - first;
  a.at[0] = tap_at(first, size);
  a.at[1] = tap_at(first + 1, size);
  a.weight[0] = 1 - t;
  a.weight[1] = t;
  a.slope[0] = -slope;
  a.slope[1] = slope;
#endif
  return a;
}

typedef struct taps {
  axis x, y;
#if DIMS == 3
  axis z;
#endif
} taps;

static inline taps taps_of(__global const STORAGE(Y_T) * g, const long at, const int d, const int h, const int w) {
  taps t;
  t.x = axis_of(LOAD(Y_T, g, at), w);
  t.y = axis_of(LOAD(Y_T, g, at + 1), h);
#if DIMS == 3
  t.z = axis_of(LOAD(Y_T, g, at + 2), d);
#endif
  return t;
}

/* The weight of a tap, the index of its element in a channel, and true if this element exists. The macros use the
 * variables t (taps), h and w (sizes). */
#if DIMS == 3
#define WEIGHT(i, j, l) (t.y.weight[j] * t.x.weight[i] * t.z.weight[l])
#define ELEMENT(i, j, l) (t.z.at[l] * h * w + t.y.at[j] * w + t.x.at[i])
#define IS_INSIDE(i, j, l) (t.x.at[i] >= 0 && t.y.at[j] >= 0 && t.z.at[l] >= 0)
#else
#define WEIGHT(i, j, l) (t.y.weight[j] * t.x.weight[i])
#define ELEMENT(i, j, l) (t.y.at[j] * w + t.x.at[i])
#define IS_INSIDE(i, j, l) (t.x.at[i] >= 0 && t.y.at[j] >= 0)
#endif

static inline long image_of(__global const STORAGE(I_T) * images, const long at, const long m, const int n) {
#if IMAGES
  return INDEX(I_T, images, at + m, n);
#else
  return m;
#endif
}

SAMPLE_KERNEL sample(__global const STORAGE(X_T) * x, const long x_at, __global const STORAGE(Y_T) * grid,
                     const long grid_at, __global const STORAGE(I_T) * images, const long images_at,
                     __global STORAGE(Y_T) * y, const long y_at, const int n, const int c, const int d, const int h,
                     const int w, const int m, const int p) {
  const long item = get_global_id(0);
  const long row = item / p;
  const int point = (int)(item % p);
  if (row >= m) return;
  const taps t = taps_of(grid, grid_at + item * DIMS, d, h, w);
  const long image = image_of(images, images_at, row, n), size = (long)d * h * w;
  x += x_at + image * c * size;
  y += y_at + row * c * p + point;
  for (int k = 0; k < c; k++) {
    real sum = 0;
#define ADD_TAP(i, j, l)                                                                                               \
  if (IS_INSIDE(i, j, l) && image < n) sum += WEIGHT(i, j, l) * LOAD(X_T, x, k * size + ELEMENT(i, j, l));
    EACH_TAP(ADD_TAP)
    STORE(Y_T, sum, y, (long)k * p);
  }
}

SAMPLE_KERNEL sample_grad_grid(__global const STORAGE(X_T) * x, const long x_at, __global const STORAGE(Y_T) * grid,
                               const long grid_at, __global const STORAGE(Y_T) * dy, const long dy_at,
                               __global const STORAGE(I_T) * images, const long images_at,
                               __global STORAGE(Y_T) * dgrid, const long dgrid_at, const int n, const int c,
                               const int d, const int h, const int w, const int m, const int p) {
  const long item = get_global_id(0);
  const long row = item / p;
  const int point = (int)(item % p);
  if (row >= m) return;
  const taps t = taps_of(grid, grid_at + item * DIMS, d, h, w);
  const long image = image_of(images, images_at, row, n), size = (long)d * h * w;
  real dots[ALL_TAPS], sum_x = 0, sum_y = 0;
#if DIMS == 3
  real sum_z = 0;
#endif
#define CLEAR_DOT(i, j, l) dots[TAP(i, j, l)] = 0;
  EACH_TAP(CLEAR_DOT)
  x += x_at + image * c * size;
  dy += dy_at + row * c * p + point;
  for (int k = 0; k < c; k++) {
    const real g = LOAD(Y_T, dy, (long)k * p);
#define ADD_DOT(i, j, l)                                                                                               \
  if (IS_INSIDE(i, j, l) && image < n) dots[TAP(i, j, l)] += g * LOAD(X_T, x, k * size + ELEMENT(i, j, l));
    EACH_TAP(ADD_DOT)
  }
#if DIMS == 3
#define ADD_SLOPES(i, j, l)                                                                                            \
  sum_z += t.z.slope[l] * t.y.weight[j] * t.x.weight[i] * dots[TAP(i, j, l)];                                          \
  sum_x += t.z.weight[l] * t.y.weight[j] * t.x.slope[i] * dots[TAP(i, j, l)];                                          \
  sum_y += t.z.weight[l] * t.y.slope[j] * t.x.weight[i] * dots[TAP(i, j, l)];
#else
#define ADD_SLOPES(i, j, l)                                                                                            \
  sum_x += t.y.weight[j] * t.x.slope[i] * dots[TAP(i, j, l)];                                                          \
  sum_y += t.y.slope[j] * t.x.weight[i] * dots[TAP(i, j, l)];
#endif
  EACH_TAP(ADD_SLOPES)
  STORE(Y_T, sum_x, dgrid, dgrid_at + item * DIMS);
  STORE(Y_T, sum_y, dgrid, dgrid_at + item * DIMS + 1);
#if DIMS == 3
  STORE(Y_T, sum_z, dgrid, dgrid_at + item * DIMS + 2);
#endif
}

SAMPLE_KERNEL sample_grad_x(__global const STORAGE(Y_T) * grid, const long grid_at, __global const STORAGE(Y_T) * dy,
                            const long dy_at, __global const STORAGE(I_T) * images, const long images_at,
                            __global STORAGE(Y_T) * dx, const long dx_at, const int n, const int c, const int d,
                            const int h, const int w, const int m, const int p) {
  const long item = get_global_id(0);
  const long own = item / c, size = (long)d * h * w;
  const int channel = (int)(item % c);
  if (own >= n) return;
  dx += dx_at + item * size;
  for (long i = 0; i < size; i++) dx[i] = 0;
  for (long row = IMAGES ? 0 : own; row < (IMAGES ? m : own + 1); row++) {
    if (image_of(images, images_at, row, n) != own) continue;
    for (int point = 0; point < p; point++) {
      const taps t = taps_of(grid, grid_at + (row * p + point) * DIMS, d, h, w);
      const real g = LOAD(Y_T, dy, dy_at + (row * c + channel) * p + point);
#define ADD_GRADIENT(i, j, l)                                                                                          \
  if (IS_INSIDE(i, j, l)) dx[ELEMENT(i, j, l)] += WEIGHT(i, j, l) * g;
      EACH_TAP(ADD_GRADIENT)
    }
  }
}
