/* data/mask.cl: gathers the masks of a batch, changed as the pictures are (draw.clh).
 *
 * x holds masks of H x W bytes; sample s of the batch, 0 <= s < N, is number order(first + s) of them, and position +
 * s decides its change. y[s, r, q] is the class of the pixel of x that lies nearest to draw_source(q, r); -1 where that
 * is 255, is not below `classes`, or lies outside.
 *
 *   AUGMENT   0: as it is; else as in draw.clh     ORDERED   1: order(p) is order[p]; 0: a permutation
 *   SPAN      elements that a work-item makes
 *
 * One dimension of N ceil(H W / SPAN) work-items. */
#ifndef AUGMENT
#define AUGMENT 2
#endif
#ifndef ORDERED
#define ORDERED 0
#endif
#ifndef SPAN
#define SPAN 4
#endif

#include "data/draw.clh"

/* sizes: N, H, W, crop, flip, classes, two unused; keys: six of the permutation, two of the seed; range: angle, zoom,
 * six unused. */
__kernel void mask(__global const uchar *x, const long x_at, __global const int *order, const long order_at,
                   __global int *y, const long y_at, const int8 sizes, const int8 keys, const float8 range, const int n,
                   const int bits, const int first, const int position, const int epoch) {
  const int H = sizes.s1, W = sizes.s2, plane = H * W, spans = (plane + SPAN - 1) / SPAN;
  const long item = get_global_id(0);
  const int s = (int)(item / spans), begin = (int)(item % spans) * SPAN, end = min(begin + SPAN, plane);
  if (s >= sizes.s0) return;
  x += x_at + (long)SAMPLE_AT(first + s) * plane;
  y += y_at + (long)s * plane;
#if AUGMENT
  const uint2 seed = (uint2)((uint)keys.s6, (uint)keys.s7);
  const sample_draw d = draw_sample((uint)(position + s), (uint)epoch, seed, H, W, sizes.s3, sizes.s4, range);
#endif
  for (int at = begin; at < end; at++) {
#if AUGMENT
    const float2 from = draw_source(d, at % W, at / W, H, W) + 0.5f;
    const int q = from.x >= 0 && from.x < (float)W ? (int)from.x : -1;
    const int r = from.y >= 0 && from.y < (float)H ? (int)from.y : -1;
    const int value = q >= 0 && r >= 0 ? x[r * W + q] : 255;
#else
    const int value = x[at];
#endif
    y[at] = value < sizes.s5 ? value : -1;
  }
}
