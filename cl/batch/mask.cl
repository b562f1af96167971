/* batch/mask.cl: gathers the masks of a batch, changed as the pictures are (draw.clh).
 *
 * x holds masks of H x W elements, y has masks of h x w. Sample s of the batch, 0 <= s < N, is mask order(first + s) of
 * x. Its random changes depend on position + s. y[s, r, q] comes from the pixel of x nearest to draw_source(q, r).
 *
 *   NUMBERS   0: elements of x are bytes, and y is the pixel's class. y is -1 if the class is 255 or not below
 *             `classes`, or if the pixel lies outside of x. 1: elements are floats, and y is the pixel's number, 0 if
 *             the pixel lies outside of x
 *   CUT       1: y inside a rectangle (draw_is_inside) comes from sample N - 1 - s
 *   AUGMENT   0: unchanged; else as in draw.clh     ORDERED   1: order(p) is order[p]; 0: a permutation
 *   SPAN      elements that a work-item computes
 *
 * One dimension of N ceil(h w / SPAN) work-items. */

#include "batch/draw.clh"

#if NUMBERS
#define ELEMENT float
#define RESULT float
#define NONE 0.0f
#define VALUE(element) (element)
#else
#define ELEMENT uchar
#define RESULT int
#define NONE 255
#define VALUE(element) ((element) < classes ? (element) : -1)
#endif

/* Returns the class or number at pixel (q, r) of a changed mask of h x w pixels; x has H x W. */
static inline RESULT value_at(__global const ELEMENT *x, const sample_draw d, const int q, const int r, const int H,
                              const int W, const int h, const int w, const int classes) {
#if AUGMENT
  const float2 from = draw_source(d, q, r, h, w) + 0.5f;
  const int qx = from.x >= 0 && from.x < (float)W ? (int)from.x : -1;
  const int rx = from.y >= 0 && from.y < (float)H ? (int)from.y : -1;
  const RESULT value = qx >= 0 && rx >= 0 ? x[rx * W + qx] : NONE;
#else
  const RESULT value = x[r * W + q];
#endif
  return VALUE(value);
}

/* The vector arguments:
 *
 *   sizes   N, H, W, crop, flip, classes, h, w; h and w are equal to H and W with AUGMENT 0
 *   keys    six numbers of the permutation, two of the seed
 *   range   angle, zoom, three unused, elastic, two unused */
__kernel void mask(__global const ELEMENT *x, const long x_at, __global const int *order, const long order_at,
                   __global RESULT *y, const long y_at, const int8 sizes, const int8 keys, const float8 range,
                   const int n, const int bits, const int first, const int position, const int epoch, const int across,
                   const int down) {
  const int H = sizes.s1, W = sizes.s2, h = sizes.s6, w = sizes.s7;
  const int plane = h * w, spans = (plane + SPAN - 1) / SPAN;
  const long item = get_global_id(0);
  const int s = (int)(item / spans), begin = (int)(item % spans) * SPAN, end = min(begin + SPAN, plane);
  if (s >= sizes.s0) return;
  __global const ELEMENT *mine = x + x_at + (long)SAMPLE_AT(first + s) * (H * W);
  const uint2 seed = (uint2)((uint)keys.s6, (uint)keys.s7);
  const sample_draw d = draw_sample((uint)(position + s), (uint)epoch, seed, H, W, h, w, sizes.s3, sizes.s4, range);
#if CUT
  const int other = sizes.s0 - 1 - s;
  __global const ELEMENT *its = x + x_at + (long)SAMPLE_AT(first + other) * (H * W);
  const sample_draw e = draw_sample((uint)(position + other), (uint)epoch, seed, H, W, h, w, sizes.s3, sizes.s4, range);
#endif
  y += y_at + (long)s * plane;
  for (int at = begin; at < end; at++) {
    const int q = at % w, r = at / w;
    RESULT value = value_at(mine, d, q, r, H, W, h, w, sizes.s5);
#if CUT
    if (draw_is_inside(q, r, across, down)) value = value_at(its, e, q, r, H, W, h, w, sizes.s5);
#endif
    y[at] = value;
  }
}
