/* pool/max_pool_grad.cl: dx[n, i] = the sum of dy[n, o], in rising o, over the windows o whose place is i.
 *
 * dx is (planes, D, H, W), dy and place (planes, outputs of D, H, W); D, H and W are windows (pool/window.clh). A place
 * is one of its window's elements, or none: D H W.
 *
 *   max_pool_grad_each     a work-item an element of dx: planes * D * H * W of them, any group size
 *   max_pool_grad_lines    a work-item makes `per` lines of dx, one after the other: ceil(planes * D * H / per)
 *                          work-items in groups of one. No adaptive windows. Element w stands at w + padding =
 *                          u stride + c; sums has `most` elements for each of the stride's c, where most, a multiple of
 *                          VW, is above every u; dys and places have margin + most + VW
 *
 *   X_T       type of dx and dy; sums are taken in COMPUTE(X_T)
 *   STRIDE    stride along W where it is 1 or 2; 0: any (lines)
 *   VW        elements that are taken as one vector, at most W and the outputs of W; not 1 where STRIDE is 2 (lines) */
#include "common/strided.clh"
#include "pool/window.clh"

#ifndef X_T
#define X_T f32
#endif
#ifndef STRIDE
#define STRIDE 0
#endif
#ifndef VW
#define VW 4
#endif

#define OPERANDS                                                                                                       \
  __global const STORAGE(X_T) *dy, const long dy_at, __global const int *place, const long place_at,                   \
      __global STORAGE(X_T) *dx, const long dx_at, const int planes, const int8 D, const int8 H, const int8 W

__kernel void max_pool_grad_each(OPERANDS) {
  const long item = get_global_id(0);
  const int w = (int)(item % W.s0), h = (int)(item / W.s0 % H.s0), d = (int)(item / W.s0 / H.s0 % D.s0);
  const long plane = item / W.s0 / H.s0 / D.s0;
  const int own = (d * H.s0 + h) * W.s0 + w;
  if (plane >= planes) return;
  COMPUTE(X_T) sum = 0;
  FOR_COVERS(o, D, d)
  FOR_COVERS(p, H, h)
  FOR_COVERS(q, W, w) {
    const long at = ((plane * D.s1 + o) * H.s1 + p) * W.s1 + q;
    if (place[place_at + at] == own) sum += LOAD(X_T, dy, dy_at + at);
  }
  STORE(X_T, sum, dx, dx_at + item);
}

#define mica_mask_float int
#define mica_mask_double long
#define MASK(n) MICA_PASTE(MICA_PASTE(mica_mask_, COMPUTE(X_T)), n)
#define mica_as_mask_float(v) MICA_AS(int, VW, v)
#define mica_as_mask_double(v) MICA_AS(long, VW, v)
#define mica_wide_float f32
#define mica_wide_double f64
#define WIDE MICA_PASTE(mica_wide_, COMPUTE(X_T))
#if VW == 1
#define SAME(a, b) ((a) == (b) ? -1 : 0)
#else
#define SAME(a, b) MICA_PASTE(mica_as_mask_, COMPUTE(X_T))((a) == (b))
#endif

/* Writes the line at `at` of dx. */
#if STRIDE == 1
#define PUT_LINE(at)                                                                                                   \
  for (int begin = 0; begin < W.s0; begin += VW) {                                                                     \
    const int w = min(begin, W.s0 - VW);                                                                               \
    STOREV(X_T, VW, LOADV(WIDE, VW, sums, W.s4 + w), dx, (at) + w);                                                    \
  }
#elif STRIDE == 2
/* Elements u and most + u of the sums are neighbours. */
#define PUT_LINE(at)                                                                                                   \
  for (int u = 0, w = -W.s4; w < W.s0; u += VW / 2, w += VW) {                                                         \
    COMPUTEV(X_T, VW) both;                                                                                            \
    both.even = MICA_VLOAD(HALF, sums, u);                                                                             \
    both.odd = MICA_VLOAD(HALF, sums, most + u);                                                                       \
    if (w >= 0 && w + VW <= W.s0) {                                                                                    \
      STOREV(X_T, VW, both, dx, (at) + w);                                                                             \
    } else {                                                                                                           \
      for (int i = max(w, 0); i < min(w + VW, W.s0); i++)                                                              \
        STORE(X_T, sums[(i + W.s4) % 2 * most + (i + W.s4) / 2], dx, (at) + i);                                        \
    }                                                                                                                  \
  }
#if VW == 2
#define HALF 1
#elif VW == 4
#define HALF 2
#elif VW == 8
#define HALF 4
#else
#define HALF 8
#endif
#else
#define PUT_LINE(at)                                                                                                   \
  for (int w = 0; w < W.s0; w++) {                                                                                     \
    STORE(X_T, sums[(w + W.s4) % stride * most + (w + W.s4) / stride], dx, (at) + w);                                  \
  }
#endif

__kernel void max_pool_grad_lines(OPERANDS, const int per, const int margin, const int most,
                                  __local COMPUTE(X_T) *sums, __local COMPUTE(X_T) *dys, __local int *places) {
  const long first = get_global_id(0) * (long)per, lines = (long)planes * D.s0 * H.s0;
  const long last = min(first + per, lines);
  const int stride = W.s3, reach = W.s2 * W.s5;
  for (int i = 0; i < margin + most + VW; i++) {
    dys[i] = 0;
    places[i] = -1;
  }
  for (long line = first; line < last; line++) {
    const int h = (int)(line % H.s0), d = (int)(line / H.s0 % D.s0);
    const long plane = line / H.s0 / D.s0;
    const int own = (d * H.s0 + h) * W.s0 - W.s4;
    for (int i = 0; i < stride * most; i += VW) STOREV(WIDE, VW, (COMPUTEV(X_T, VW))(0), sums, i);
    FOR_COVERS(o, D, d)
    FOR_COVERS(p, H, h) {
      const long at = ((plane * D.s1 + o) * H.s1 + p) * W.s1;
      for (int begin = 0; begin < W.s1; begin += VW) {
        const int q = min(begin, W.s1 - VW);
        STOREV(WIDE, VW, LOADV(X_T, VW, dy, dy_at + at + q), dys, margin + q);
        STOREV(i32, VW, LOADV(i32, VW, place, place_at + at + q), places, margin + q);
      }
      for (int c = 0; c < stride; c++)
        for (int u = 0; u < most; u += VW) {
          const MICA_PASTE(int, VW) here = own + c + stride * RAMP(int, VW, u);
          COMPUTEV(X_T, VW) sum = LOADV(WIDE, VW, sums, c * most + u);
          /* The windows from the last to the first tap: rising outputs. */
          for (int k = reach - W.s5; k >= 0; k -= W.s5) {
            if ((k - c) % stride) continue;
            const int q = margin + u - (k - c) / stride;
            const COMPUTEV(X_T, VW) v = LOADV(WIDE, VW, dys, q);
            sum += select((COMPUTEV(X_T, VW))(0), v, SAME(LOADV(i32, VW, places, q), here));
          }
          STOREV(WIDE, VW, sum, sums, c * most + u);
        }
    }
    PUT_LINE(dx_at + line * W.s0);
  }
}
