/* pool/max_pool.cl: values[n, o] = the largest x[n, i] over the elements i of window o, and indices[n, o] = its index
 * in the plane, the first one if several are equal. A NaN counts as larger than all numbers.
 *
 * x is (planes, D, H, W), the results are (planes, outputs of D, H, W). The structs D, H and W describe the windows
 * along each axis (pool/window.clh). A window without elements gives `lowest` and the index D H W.
 *
 *   max_pool_each     with EACH: one work-item per output, planes * outputs in all
 *   max_pool_lines    a work-item computes `per` rows of outputs, one after another. For each row it first computes the
 *                     maximum of each column of the windows, in local memory, and then the maxima of the windows.
 *                     ceil(planes * rows / per) work-items in groups of one. Not for adaptive windows. The local arrays
 *                     `columns`, and `rows` with INDICES, have `length` + 2 VW elements: a row with its padding, as far
 *                     as windows reach
 *
 *   X_T       type of x and values
 *   VALUES    1: values are written
 *   INDICES   1: indices are written
 *   LARGE     1: work-items are counted in 64 bits (max_pool_each)
 *   STRIDE    1 or 2: the stride along W; 0: any stride (max_pool_lines)
 *   VW        columns, and outputs, per vector; at most W and the outputs of W (max_pool_lines) */
#include "common/group.clh"
#include "common/strided.clh"
#include "pool/window.clh"

#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef VW
#define VW 4
#endif

#ifdef EACH
RANGE_KERNEL max_pool_each(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values,
                           const long values_at, __global int *indices, const long indices_at, const int planes,
                           WINDOW_PARAMS, const COMPUTE(X_T) lowest) {
  WINDOWS;
  const count_t item = (count_t)get_global_id(0), line = item / (count_t)W.outputs, slice = line / (count_t)H.outputs;
  const count_t plane = slice / (count_t)D.outputs;
  const int q = (int)(item - line * (count_t)W.outputs), p = (int)(line - slice * (count_t)H.outputs);
  const int o = (int)(slice - plane * (count_t)D.outputs);
  if (plane >= (count_t)planes) return;
  x += x_at + (long)plane * D.elements * H.elements * W.elements;
  COMPUTE(X_T) best = lowest;
  int index = -1;
  FOR_TAPS(d, D, o)
  FOR_TAPS(h, H, p)
  FOR_TAPS(w, W, q) {
    const int at = (d * H.elements + h) * W.elements + w;
    const COMPUTE(X_T) v = LOAD(X_T, x, at);
    if (index < 0 || COMBINE_OVER(v, best)) {
      best = v;
      index = at;
    }
  }
#if VALUES
  STORE(X_T, best, values, values_at + item);
#endif
#if INDICES
  indices[indices_at + item] = index < 0 ? D.elements * H.elements * W.elements : index;
#endif
}

#else
/* The type of a comparison of vectors of COMPUTE(X_T): integers of the same width. AS_MASK converts ints to it. */
#define MASK(n) COMBINE_INT(X_T, n)
#define AS_MASK(v) MICA_PASTE(mica_as_mask_, COMPUTE(X_T))(v)
#define mica_as_mask_float(v) MICA_AS(int, VW, v)
#define mica_as_mask_double(v) MICA_AS(long, VW, v)
#define mica_as_mask_int(v) MICA_AS(int, VW, v)
#define mica_as_mask_long(v) MICA_AS(long, VW, v)
#define mica_as_mask_uint(v) MICA_AS(int, VW, v)
#define mica_as_mask_ulong(v) MICA_AS(long, VW, v)
/* The dtype whose elements in memory have the type in which X_T is computed. */
#define mica_wide_float f32
#define mica_wide_double f64
#define mica_wide_int i32
#define mica_wide_long i64
#define mica_wide_uint u32
#define mica_wide_ulong u64
#define WIDE MICA_PASTE(mica_wide_, COMPUTE(X_T))
/* Element k of each of the windows of outputs q, q + 1, ..., as a vector of n. */
#if STRIDE == 1
#define COLUMNS(T, n, line, q, k) LOADV(T, n, line, (q) + (k))
#elif STRIDE == 2
#define COLUMNS(T, n, line, q, k) MICA_PASTE(mica_even_, n)(T, line, 2 * (q) + (k))
#define mica_even_1(T, p, i) LOAD(T, p, i)
#define mica_even_2(T, p, i) LOADV(T, 4, p, i).even
#define mica_even_4(T, p, i) LOADV(T, 8, p, i).even
#define mica_even_8(T, p, i) LOADV(T, 16, p, i).even
#define mica_even_16(T, p, i) ((COMPUTEV(T, 16))(LOADV(T, 16, p, i).even, LOADV(T, 16, p, (i) + 16).even))
#else
#define COLUMNS(T, n, line, q, k) GATHER(T, n, line, (q)*W.stride + (k), W.stride)
#endif
#define mica_truth_1(c) ((c) ? -1 : 0)
#define mica_truth_2(c) (c)
#define mica_truth_4(c) (c)
#define mica_truth_8(c) (c)
#define mica_truth_16(c) (c)
#define TRUTH(n, c) MICA_PASTE(mica_truth_, n)(c)
#define NO_ROW INT_MAX

/* COMBINE replaces `best` by v, which is in row r and column c, if v is larger. If both are equal, the one in the upper
 * row stays, then the one that came first. RAISE does the same if r is below all earlier rows. `select` is used instead
 * of ~under_, because in Oclgrind 21.10 true is 1 in a vector of constants, but -1 in the result of a comparison. */
#if INDICES
#define BEST(best)                                                                                                     \
  COMPUTEV(X_T, VW) best = lowest;                                                                                     \
  MASK(VW) best##_row = NO_ROW, best##_column = 0
#define COMBINE(best, v, r, c)                                                                                         \
  do {                                                                                                                 \
    const COMPUTEV(X_T, VW) v_ = v;                                                                                    \
    const MASK(VW) r_ = r, over_ = TRUTH(VW, COMBINE_OVER(v_, best)), under_ = TRUTH(VW, COMBINE_OVER(best, v_));      \
    const MASK(VW) above_ = TRUTH(VW, r_ < best##_row), take_ = over_ | select(above_, (MASK(VW))(0), under_);         \
    best = select(best, v_, take_);                                                                                    \
    best##_row = select(best##_row, r_, take_);                                                                        \
    best##_column = select(best##_column, (MASK(VW))(c), take_);                                                       \
  } while (0)
#define RAISE(best, v, r)                                                                                              \
  do {                                                                                                                 \
    const COMPUTEV(X_T, VW) v_ = v;                                                                                    \
    const MASK(VW) take_ = TRUTH(VW, COMBINE_OVER(v_, best));                                                          \
    best = select(best, v_, take_);                                                                                    \
    best##_row = select(best##_row, (MASK(VW))(r), take_);                                                             \
  } while (0)
#define BEGIN_ROWS(best) best##_row = first_row
#define ROWS(k) AS_MASK(COLUMNS(i32, VW, rows, q, k))
#else
#define BEST(best) COMPUTEV(X_T, VW) best = lowest
#define COMBINE(best, v, r, c)                                                                                         \
  do {                                                                                                                 \
    const COMPUTEV(X_T, VW) v_ = v;                                                                                    \
    const MASK(VW) take_ = TRUTH(VW, (v_ > best) | (v_ != v_));                                                        \
    best = select(best, v_, take_);                                                                                    \
  } while (0)
#define RAISE(best, v, r) COMBINE(best, v, r, 0)
#define BEGIN_ROWS(best)
#endif

CPU_KERNEL max_pool_lines(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values,
                          const long values_at, __global int *indices, const long indices_at, const int planes,
                          WINDOW_PARAMS, const COMPUTE(X_T) lowest, const int per, const int length,
                          __local COMPUTE(X_T) * columns, __local int *rows) {
  WINDOWS;
  const long first = get_global_id(0) * (long)per, lines = (long)planes * D.outputs * H.outputs;
  const long last = min(first + per, lines);
  /* Columns from `width` on are in no window. */
  const int width = min(W.elements, length - W.pad);
  for (int i = 0; i < length + 2 * VW; i++) {
    columns[i] = lowest;
#if INDICES
    rows[i] = NO_ROW;
#endif
  }
  for (long line = first; line < last; line++) {
    const int p = (int)(line % H.outputs), o = (int)(line / H.outputs % D.outputs);
    __global const STORAGE(X_T) *plane = x + x_at + line / H.outputs / D.outputs * D.elements * H.elements * W.elements;
    const int d_first = mica_first_tap(D, o), d_end = mica_end_tap(D, o);
    const int h_first = mica_first_tap(H, p), h_end = mica_end_tap(H, p);
#if INDICES
    const int first_row = d_first < d_end && h_first < h_end ? d_first * H.elements + h_first : NO_ROW;
#endif
    for (int begin = 0; begin < width; begin += VW) {
      const int i = min(begin, width - VW);
      BEST(best);
      BEGIN_ROWS(best);
      for (int d = d_first; d < d_end; d += D.dilation)
        for (int h = h_first; h < h_end; h += H.dilation) {
          const int r = d * H.elements + h;
          RAISE(best, LOADV(X_T, VW, plane, (long)r * W.elements + i), r);
        }
      STOREV(WIDE, VW, best, columns, W.pad + i);
#if INDICES
      STOREV(i32, VW, MICA_AS(int, VW, best_row), rows, W.pad + i);
#endif
    }
    for (int begin = 0; begin < W.outputs; begin += VW) {
      const int q = min(begin, W.outputs - VW);
      BEST(best);
      for (int k = 0; k < W.size * W.dilation; k += W.dilation)
        COMBINE(best, COLUMNS(WIDE, VW, columns, q, k), ROWS(k), k);
#if VALUES
      STOREV(X_T, VW, best, values, values_at + line * W.outputs + q);
#endif
#if INDICES
      const MASK(VW) column = best_column + AS_MASK(RAMP(int, VW, q)) * W.stride - W.pad;
      const MASK(VW) none = TRUTH(VW, best_row == NO_ROW);
      const MASK(VW) index =
          select(best_row * W.elements + column, (MASK(VW))(D.elements * H.elements * W.elements), none);
      STOREV(i32, VW, MICA_AS(int, VW, index), indices, indices_at + line * W.outputs + q);
#endif
    }
  }
}
#endif
