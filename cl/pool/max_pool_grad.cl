/* pool/max_pool_grad.cl: dx[n, i] = the sum of dy[n, o], in ascending order of o, over the windows o whose maximum is
 * at i.
 *
 * dx is (planes, D, H, W), dy and position are (planes, outputs of D, H, W). The structs D, H and W describe the
 * windows along each axis (pool/window.clh). A position is the index of an element of the window, or D H W for a window
 * without elements.
 *
 *   max_pool_grad_each     with EACH: one work-item per WIDE adjacent elements of a row of dx, which share what they
 *                          read. planes * D * H * ceil(W / WIDE) work-items
 *   max_pool_grad_strips   a work-item computes `per` lines of one plane (H, W) of dx. First it copies all lines of dy
 *                          and `position` whose windows may reach them, at most `room` lines, to local memory, with
 *                          empty edges before and after. A line of the copy has `pitch` vectors; the first `margin` of
 *                          them are the edge. planes * D * ceil(H / per) work-items in groups of one. Not for adaptive
 *                          windows
 *
 *   X_T       type of dx and dy; sums are computed in COMPUTE(X_T)
 *   WIDE      elements per work-item (max_pool_grad_each)
 *   WHOLE     1: every row consists of whole, aligned vectors of WIDE elements (max_pool_grad_each)
 *   LARGE     1: work-items are counted in 64 bits, and WIDE is 1, because 64-bit divisions take many instructions and
 *             registers (max_pool_grad_each)
 *   STRIDE    stride along W (max_pool_grad_strips)
 *   VW        elements per vector, at most W / STRIDE and the outputs of W (max_pool_grad_strips) */
#include "common/group.clh"
#include "common/strided.clh"
#include "pool/window.clh"

#ifndef STRIDE
#define STRIDE 1
#endif
#ifndef VW
#define VW 4
#endif

#define OPERANDS                                                                                                       \
  __global const STORAGE(X_T) * dy, const long dy_at, __global const int *position, const long position_at,            \
      __global STORAGE(X_T) * dx, const long dx_at, const int planes, WINDOW_PARAMS

#ifdef EACH
#if LARGE
#undef WIDE
#define WIDE 1
#endif
#ifndef WIDE
#define WIDE 4
#endif
#ifndef WHOLE
#define WHOLE 0
#endif
RANGE_KERNEL max_pool_grad_each(OPERANDS) {
  WINDOWS;
  const count_t item = (count_t)get_global_id(0), across = (count_t)(W.elements + WIDE - 1) / WIDE,
                line = item / across;
  const count_t slice = line / (count_t)H.elements, plane = slice / (count_t)D.elements;
  const int w = (int)(item - line * across) * WIDE, h = (int)(line - slice * (count_t)H.elements);
  const int d = (int)(slice - plane * (count_t)D.elements), own = (d * H.elements + h) * W.elements + w;
  if (plane >= (count_t)planes) return;
  const int first = mica_first_cover(W, w), end = mica_end_cover(W, min(w + WIDE, W.elements) - 1);
  COMPUTE(X_T) sums[WIDE];
  _Pragma("unroll") for (int i = 0; i < WIDE; i++) sums[i] = 0;
  FOR_COVERS(o, D, d)
  FOR_COVERS(p, H, h) {
    const long row = (((long)plane * D.outputs + o) * H.outputs + p) * W.outputs;
    for (int q = first; q < end; q++) {
      const int at = position[position_at + row + q];
      const COMPUTE(X_T) v = LOAD(X_T, dy, dy_at + row + q);
      _Pragma("unroll") for (int i = 0; i < WIDE; i++) if (at == own + i) sums[i] += v;
    }
  }
  dx += dx_at + ((long)line * W.elements + w);
#if WHOLE
  STOREVA(X_T, WIDE, MICA_VLOAD(WIDE, sums, 0), dx, 0);
#else
  _Pragma("unroll") for (int i = 0; i < WIDE; i++) if (w + i < W.elements) STORE(X_T, sums[i], dx, i);
#endif
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

/* Declares the sums for the elements w + j, w + j + STRIDE, ... An element w has the coordinate w + padding = u STRIDE
 * + c. It can be the maximum of the windows in which it is tap k = c, c + STRIDE, ... */
#define SUM(j)                                                                                                         \
  VALUES sum_##j = 0;                                                                                                  \
  const int c_##j = (w + W.pad + j) % STRIDE, u_##j = (w + W.pad + j) / STRIDE;                                        \
  const POSITIONS own_##j = row + w + j + STRIDE * RAMP(int, VW, 0)
/* Adds the contributions of a line of dy, which begins at `from`, to these sums. It goes from the last tap to the
 * first, because this is the ascending order of outputs. */
#define TAKE(j)                                                                                                        \
  for (int k = reach - W.dilation; k >= 0; k -= W.dilation) {                                                          \
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
  WINDOWS;
  const int strips = (H.elements + per - 1) / per;
  const long item = get_global_id(0);
  const int first = (int)(item % strips) * per, end = min(first + per, H.elements),
            d = (int)(item / strips % D.elements);
  const long plane = item / strips / D.elements;
  const int p_first = mica_first_cover(H, first), p_end = mica_end_cover(H, end - 1), lines = p_end - p_first;
  const int o_first = mica_first_cover(D, d), reach = W.size * W.dilation;
  __local COMPUTE(X_T) *dy_line = (__local COMPUTE(X_T) *)dys;
  __local int *position_line = (__local int *)positions;
  for (int i = 0; i < room * pitch; i++) {
    dys[i] = 0;
    positions[i] = -1;
  }
  FOR_COVERS(o, D, d)
  for (int p = p_first; p < p_end; p++) {
    const long from = ((plane * D.outputs + o) * H.outputs + p) * W.outputs;
    const int to = (((o - o_first) * lines + p - p_first) * pitch + margin) * VW;
    for (int begin = 0; begin < W.outputs; begin += VW) {
      const int q = min(begin, W.outputs - VW);
      STOREV(WIDE, VW, LOADV(X_T, VW, dy, dy_at + from + q), dy_line, to + q);
      STOREV(i32, VW, LOADV(i32, VW, position, position_at + from + q), position_line, to + q);
    }
  }
  const int o_count = mica_end_cover(D, d) - o_first;
  for (int h = first; h < end; h++) {
    const int p_from = mica_first_cover(H, h) - p_first, p_to = mica_end_cover(H, h) - p_first;
    const long line = dx_at + ((plane * D.elements + d) * H.elements + h) * W.elements;
    const int row = (d * H.elements + h) * W.elements;
    for (int begin = 0; begin < W.elements; begin += VW * STRIDE) {
      const int w = min(begin, W.elements - VW * STRIDE);
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
