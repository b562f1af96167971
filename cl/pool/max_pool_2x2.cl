/* pool/max_pool_2x2.cl: max pooling with windows of 2 x 2 that neither overlap nor reach into padding, and its
 * gradient, each in one pass over memory.
 *
 *   max_pool_2x2        values[n, p, q] = the largest of x[n, 2p .. 2p + 1, 2q .. 2q + 1], and indices[n, p, q] = its
 *                       index in the plane, the first one if several are equal. A NaN counts as larger than all numbers
 *   max_pool_2x2_grad   dx[n, h, w] = dy[n, h / 2, w / 2] if position[n, h / 2, w / 2] is h W + w, else 0. `position`
 *                       is the `indices` of max_pool_2x2
 *
 * x and dx are (planes, H, W); the other tensors are (planes, H / 2, W / 2), rounded down. A work-item computes `per`
 * rows of outputs, or the rows of dx that they cover, one after another. ceil(rows / per) work-items in groups of one,
 * where rows is planes * (H / 2).
 *
 *   X_T       f32, f16 or bf16: type of x, values, dx and dy
 *   VALUES    1: values are written
 *   INDICES   1: indices are written
 *   VW        outputs of a vector, at most W / 2 */
#include "common/combine.clh"
#include "common/fields.clh"
#include "common/group.clh"
#include "common/strided.clh"
#include "pool/every_other.clh"
#include "pool/fields.clh"

#ifndef VALUES
#define VALUES 1
#define INDICES 1
#endif

/* ACROSS is the inverse of IN_ORDER. For u = ACROSS(e) and w = ACROSS(f), LOW is the first half, and HIGH the second
 * half, of e0, f0, e1, f1, ... */
#define ACROSS(v) MICA_PASTE(mica_across_, VW)(v)
#define LOW(u, w) MICA_PASTE(mica_low_, VW)(u, w)
#define HIGH(u, w) MICA_PASTE(mica_high_, VW)(u, w)
#define mica_across_1(v) v
#define mica_low_1(u, w) u
#define mica_high_1(u, w) w
#define mica_across_2(v) v
#define mica_low_2(u, w) mica_even_2(u, w)
#define mica_high_2(u, w) mica_odd_2(u, w)
#define mica_across_4(v) v
#define mica_low_4(u, w) ((FLOATS)((u).s0, (w).s0, (u).s1, (w).s1))
#define mica_high_4(u, w) ((FLOATS)((u).s2, (w).s2, (u).s3, (w).s3))
#define mica_across_8(v) (v).s01452367
#define mica_low_8(u, w) ((FLOATS)((u).s0, (w).s0, (u).s1, (w).s1, (u).s4, (w).s4, (u).s5, (w).s5))
#define mica_high_8(u, w) ((FLOATS)((u).s2, (w).s2, (u).s3, (w).s3, (u).s6, (w).s6, (u).s7, (w).s7))
#define mica_across_16(v) (v).s018923ab45cd67ef
#define mica_low_16(u, w)                                                                                              \
  ((FLOATS)((u).s0, (w).s0, (u).s1, (w).s1, (u).s4, (w).s4, (u).s5, (w).s5, (u).s8, (w).s8, (u).s9, (w).s9, (u).sc,    \
            (w).sc, (u).sd, (w).sd))
#define mica_high_16(u, w)                                                                                             \
  ((FLOATS)((u).s2, (w).s2, (u).s3, (w).s3, (u).s6, (w).s6, (u).s7, (w).s7, (u).sa, (w).sa, (u).sb, (w).sb, (u).se,    \
            (w).se, (u).sf, (w).sf))

/* Replaces `best` by v, which is at offset k from the first element of the window, if v is larger. */
#define TAKE(v, k)                                                                                                     \
  do {                                                                                                                 \
    const FLOATS v_ = v;                                                                                               \
    const POSITIONS take_ = TRUTH(COMBINE_OVER(v_, best));                                                             \
    best = select(best, v_, take_);                                                                                    \
    slot = select(slot, (POSITIONS)(k), take_);                                                                        \
  } while (0)

CPU_KERNEL max_pool_2x2(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values,
                        const long values_at, __global int *indices, const long indices_at, const long rows,
                        const int8 plane) {
  UNPACK_INTS(POOL_2X2, plane);
  const long first = get_global_id(0) * (long)per, last = min(first + per, rows);
  for (long row = first; row < last; row++) {
    const int p = (int)(row % p_count);
    const long from = x_at + (row / p_count * height + 2 * p) * width, to = row * q_count;
    for (int begin = 0; begin < q_count; begin += VW) {
      const int q = min(begin, q_count - VW);
      const long at = from + 2 * q;
      const FLOATS a = LOADV(X_T, VW, x, at), b = LOADV(X_T, VW, x, at + VW);
      const FLOATS c = LOADV(X_T, VW, x, at + width), d = LOADV(X_T, VW, x, at + width + VW);
      FLOATS best = EVEN(a, b);
      POSITIONS slot = 0;
      TAKE(ODD(a, b), 1);
      TAKE(EVEN(c, d), width);
      TAKE(ODD(c, d), width + 1);
#if VALUES
      STOREV(X_T, VW, IN_ORDER(best), values, values_at + to + q);
#endif
#if INDICES
      const POSITIONS index = IN_ORDER(slot) + 2 * RAMP(int, VW, q) + 2 * p * width;
      STOREV(i32, VW, index, indices, indices_at + to + q);
#endif
    }
  }
}

/* The gradients of the elements at offset k from the first element of their windows: dy or 0. */
#define GIVEN(k) select((FLOATS)(0), v, TRUTH(slot == (POSITIONS)(k)))

CPU_KERNEL max_pool_2x2_grad(__global const STORAGE(X_T) * dy, const long dy_at, __global const int *position,
                             const long position_at, __global STORAGE(X_T) * dx, const long dx_at, const long rows,
                             const int8 plane) {
  UNPACK_INTS(POOL_2X2, plane);
  const long first = get_global_id(0) * (long)per, last = min(first + per, rows);
  for (long row = first; row < last; row++) {
    const int p = (int)(row % p_count);
    const long from = row * q_count, to = dx_at + (row / p_count * height + 2 * p) * width;
    for (int begin = 0; begin < q_count; begin += VW) {
      const int q = min(begin, q_count - VW);
      const long at = to + 2 * q;
      const FLOATS v = ACROSS(LOADV(X_T, VW, dy, dy_at + from + q));
      const POSITIONS own = LOADV(i32, VW, position, position_at + from + q) - 2 * RAMP(int, VW, q) - 2 * p * width;
      const POSITIONS slot = ACROSS(own);
      const FLOATS a = GIVEN(0), b = GIVEN(1), c = GIVEN(width), d = GIVEN(width + 1);
      STOREV(X_T, VW, LOW(a, b), dx, at);
      STOREV(X_T, VW, HIGH(a, b), dx, at + VW);
      STOREV(X_T, VW, LOW(c, d), dx, at + width);
      STOREV(X_T, VW, HIGH(c, d), dx, at + width + VW);
    }
    /* The gradient is 0 in the last column and row if no window covers them. */
    if (width & 1) {
      STORE(X_T, 0.0f, dx, to + width - 1);
      STORE(X_T, 0.0f, dx, to + 2 * width - 1);
    }
    if (height & 1 && p + 1 == p_count)
      for (int w = 0; w < width; w++) STORE(X_T, 0.0f, dx, to + 2 * width + w);
  }
}
