/* pool/max_pool_grad.cl: dx[n, i] = the sum of dy[n, o], in rising o, over the windows o whose maximum is at i.
 *
 * dx is (planes, D, H, W), dy and position (planes, outputs of D, H, W); D, H and W are windows (pool/window.clh). A
 * position is one of its window's elements, or none: D H W.
 *
 *   max_pool_grad_each     with EACH: a work-item an element of dx: planes * D * H * W of them
 *   max_pool_grad_strips   a work-item makes `per` lines of one plane of (H, W): planes * D * ceil(H / per) work-items
 *                          in groups of one. First it copies all lines of dy and position that may look at them, `room`
 *                          at most, with edges of nothing before and after: a line of the copy has `pitch` vectors, the
 *                          first `margin` of them the edge. No adaptive windows
 *
 *   X_T       type of dx and dy; sums are taken in COMPUTE(X_T)
 *   STRIDE    stride along W (strips)
 *   VW        elements that are taken as one vector, at most W / STRIDE and the outputs of W (strips) */
#include "common/group.clh"
#include "common/strided.clh"
#include "pool/window.clh"

#ifndef X_T
#define X_T f32
#endif
#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef VW
#define VW 4
#endif

#define OPERANDS                                                                                                       \
  __global const STORAGE(X_T) * dy, const long dy_at, __global const int *position, const long position_at,            \
      __global STORAGE(X_T) * dx, const long dx_at, const int planes, const int8 D, const int8 H, const int8 W

#ifdef EACH
RANGE_KERNEL max_pool_grad_each(OPERANDS) {
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
    if (position[position_at + at] == own) sum += LOAD(X_T, dy, dy_at + at);
  }
  STORE(X_T, sum, dx, dx_at + item);
}

#else
#define VALUES COMPUTEV(X_T, VW)
#define POSITIONS MICA_PASTE(int, VW)
#define mica_wide_float f32
#define mica_wide_double f64
#define WIDE MICA_PASTE(mica_wide_, COMPUTE(X_T))
#define mica_mask_float(v) MICA_AS(int, VW, v)
#define mica_mask_double(v) MICA_AS(long, VW, v)
#if VW == 1
#define SAME(a, b) MICA_PASTE(mica_mask_, COMPUTE(X_T))((a) == (b) ? -1 : 0)
#else
#define SAME(a, b) MICA_PASTE(mica_mask_, COMPUTE(X_T))((a) == (b))
#endif

/* The sum of elements w + j, w + j + STRIDE, ... An element w stands at w + padding = u STRIDE + c, and windows of tap
 * k = c, c + STRIDE, ... may have it. */
#define SUM(j)                                                                                                         \
  VALUES sum_##j = 0;                                                                                                  \
  const int c_##j = (w + W.s4 + j) % STRIDE, u_##j = (w + W.s4 + j) / STRIDE;                                          \
  const POSITIONS own_##j = row + w + j + STRIDE * RAMP(int, VW, 0)
/* Adds what a line of dy, which stands from `from` on, has for them, from the last tap to the first: rising outputs. */
#define TAKE(j)                                                                                                        \
  for (int k = reach - W.s5; k >= 0; k -= W.s5) {                                                                      \
    if (k % STRIDE != c_##j) continue;                                                                                 \
    const int q = from + u_##j - k / STRIDE;                                                                           \
    const VALUES v = LOADV(WIDE, VW, dy_line, q);                                                                      \
    sum_##j += select((VALUES)(0), v, SAME(LOADV(i32, VW, position_line, q), own_##j));                                \
  }
#if STRIDE == 1
#define PUT(at) STOREV(X_T, VW, sum_0, dx, at)
#elif VW == 1
#define PUT(at)                                                                                                        \
  STORE(X_T, sum_0, dx, at);                                                                                           \
  STORE(X_T, sum_1, dx, (at) + 1)
#else
#define PUT(at)                                                                                                        \
  VALUES low, high;                                                                                                    \
  low.even = sum_0.lo;                                                                                                 \
  low.odd = sum_1.lo;                                                                                                  \
  high.even = sum_0.hi;                                                                                                \
  high.odd = sum_1.hi;                                                                                                 \
  STOREV(X_T, VW, low, dx, at);                                                                                        \
  STOREV(X_T, VW, high, dx, (at) + VW)
#endif

CPU_KERNEL max_pool_grad_strips(OPERANDS, const int per, const int room, const int margin, const int pitch,
                                __local VALUES *dys, __local POSITIONS *positions) {
  const int strips = (H.s0 + per - 1) / per;
  const long item = get_global_id(0);
  const int first = (int)(item % strips) * per, end = min(first + per, H.s0), d = (int)(item / strips % D.s0);
  const long plane = item / strips / D.s0;
  const int p_first = mica_first_cover(H, first), p_end = mica_end_cover(H, end - 1), lines = p_end - p_first;
  const int o_first = mica_first_cover(D, d), reach = W.s2 * W.s5;
  __local COMPUTE(X_T) *dy_line = (__local COMPUTE(X_T) *)dys;
  __local int *position_line = (__local int *)positions;
  for (int i = 0; i < room * pitch; i++) {
    dys[i] = 0;
    positions[i] = -1;
  }
  FOR_COVERS(o, D, d)
  for (int p = p_first; p < p_end; p++) {
    const long from = ((plane * D.s1 + o) * H.s1 + p) * W.s1;
    const int to = (((o - o_first) * lines + p - p_first) * pitch + margin) * VW;
    for (int begin = 0; begin < W.s1; begin += VW) {
      const int q = min(begin, W.s1 - VW);
      STOREV(WIDE, VW, LOADV(X_T, VW, dy, dy_at + from + q), dy_line, to + q);
      STOREV(i32, VW, LOADV(i32, VW, position, position_at + from + q), position_line, to + q);
    }
  }
  const int o_count = mica_end_cover(D, d) - o_first;
  for (int h = first; h < end; h++) {
    const int p_from = mica_first_cover(H, h) - p_first, p_to = mica_end_cover(H, h) - p_first;
    const long line = dx_at + ((plane * D.s0 + d) * H.s0 + h) * W.s0;
    const int row = (d * H.s0 + h) * W.s0;
    for (int begin = 0; begin < W.s0; begin += VW * STRIDE) {
      const int w = min(begin, W.s0 - VW * STRIDE);
      SUM(0);
#if STRIDE == 2
      SUM(1);
#endif
      for (int o = 0; o < o_count; o++)
        for (int p = p_from; p < p_to; p++) {
          const int from = ((o * lines + p) * pitch + margin) * VW;
          TAKE(0);
#if STRIDE == 2
          TAKE(1);
#endif
        }
      PUT(line + w);
    }
  }
}
#endif
