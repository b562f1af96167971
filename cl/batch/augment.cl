/* batch/augment.cl: gathers a batch of pictures, normalises and augments them, and copies the batch's small columns
 * (labels and the like) in the same launch.
 *
 * x holds samples of C planes of H x W elements, y has planes of h x w. Sample s of the batch, 0 <= s < N, is sample i
 * = order(first + s) of x. Its random numbers depend on position + s, epoch and seed (draw.clh).
 *
 *   y[s, c, r, q] = gain n + lift scale[c]     n = scale[c] x[i, c, r', q'] + shift[c], or 0 outside of x
 *
 *   scale, shift   per channel, from `affine`
 *   (q', r')       draw_source(q, r), bilinear between pixels; (q, r) with AUGMENT 0
 *   gain           random, from 1 - contrast to 1 + contrast; 1 with AUGMENT 0
 *   lift           random, from -brightness to brightness; 0 with AUGMENT 0
 *   cutout         y is 0 in a square of cutout x cutout pixels around a random pixel
 *   MIX 1          y is replaced by blend y + (1 - blend) y', where y' is computed in the same way from sample N - 1 -
 *                  s
 *   MIX 2          y is replaced by y' inside a rectangle (draw_is_inside); only with AUGMENT 1 to 3
 *
 * The small columns of a sample are a record of `width` words (0: there are none). words.clh says where they go.
 * `blend` is the weight of the sample's own label.
 *
 *   X_T       type of x: u8 or f32      Y_T   type of y      AUGMENT   0, or as in draw.clh      MIX   as above
 *   TARGETS   as in words.clh           ORDERED   1: order(p) is order[p]; 0: a permutation
 *   SPAN      elements of a plane that a work-item computes; the whole plane if it has fewer
 *   VW        elements that a work-item computes at a time with AUGMENT 0; it divides SPAN. With AUGMENT 1 and 2 it
 *             computes 4 at a time, with AUGMENT 3 one
 *
 * One dimension of N C ceil(h w / SPAN) work-items, any group size. */
#include "common/dtype.clh"

#include "batch/draw.clh"
#include "batch/words.clh"

/* Returns element (r, q) of a plane, normalised: affine.x * element + affine.y. 0 outside of the plane. */
static inline float pixel(__global const STORAGE(X_T) * plane, const int r, const int q, const int H, const int W,
                          const float2 affine) {
  return r >= 0 && r < H && q >= 0 && q < W ? affine.x * (float)LOAD(X_T, plane, r * W + q) + affine.y : 0.0f;
}

/* Computes element (r, q) of the augmented plane of h x w. */
static inline float element(__global const STORAGE(X_T) * plane, const sample_draw d, const int r, const int q,
                            const int H, const int W, const int h, const int w, const float2 affine, const int cutout) {
#if AUGMENT >= 2
  const float2 from = draw_source(d, q, r, h, w);
  const float x = from.x, y = from.y;
  const int x0 = (int)x - (x < (float)(int)x), y0 = (int)y - (y < (float)(int)y);
  const float wx = x - (float)x0, wy = y - (float)y0;
  const float a = pixel(plane, y0, x0, H, W, affine), b = pixel(plane, y0, x0 + 1, H, W, affine);
  const float c = pixel(plane, y0 + 1, x0, H, W, affine), e = pixel(plane, y0 + 1, x0 + 1, H, W, affine);
  const float above = a + (b - a) * wx, below = c + (e - c) * wx;
  const float n = above + (below - above) * wy;
#else
  const float n = pixel(plane, r + d.dy, (d.mirrored ? w - 1 - q : q) + d.dx, H, W, affine);
#endif
  const int cut = (uint)(r - d.cut_y + cutout / 2) < (uint)cutout && (uint)(q - d.cut_x + cutout / 2) < (uint)cutout;
  return cut ? 0.0f : d.gain * n + d.lift * affine.x;
}

#define GATHER4(plane, at)                                                                                             \
  (float4)((float)LOAD(X_T, plane, (at).x), (float)LOAD(X_T, plane, (at).y), (float)LOAD(X_T, plane, (at).z),          \
           (float)LOAD(X_T, plane, (at).w))

/* Returns the normalised plane at four points (x, y), interpolated bilinearly. A normalised pixel outside of the plane
 * is 0. */
static inline float4 four_between(__global const STORAGE(X_T) * plane, const float4 x, const float4 y, const int H,
                                  const int W, const float2 affine) {
  const int4 cut_x = convert_int4(x), cut_y = convert_int4(y);
  const int4 x0 = cut_x + (x < convert_float4(cut_x)), y0 = cut_y + (y < convert_float4(cut_y));
  const float4 wx = x - convert_float4(x0), wy = y - convert_float4(y0);
  const float4 left = select((float4)(0), 1.0f - wx, x0 >= 0 & x0 < W);
  const float4 right = select((float4)(0), wx, x0 >= -1 & x0 < W - 1);
  const float4 above = select((float4)(0), 1.0f - wy, y0 >= 0 & y0 < H);
  const float4 below = select((float4)(0), wy, y0 >= -1 & y0 < H - 1);
  const int4 from = clamp(x0, (int4)(0), (int4)(W - 1)), to = clamp(x0 + 1, (int4)(0), (int4)(W - 1));
  const int4 top = clamp(y0, (int4)(0), (int4)(H - 1)) * W, bottom = clamp(y0 + 1, (int4)(0), (int4)(H - 1)) * W;
  const float4 sum = above * (left * GATHER4(plane, top + from) + right * GATHER4(plane, top + to)) +
                     below * (left * GATHER4(plane, bottom + from) + right * GATHER4(plane, bottom + to));
  return affine.x * sum + affine.y * (left + right) * (above + below);
}

/* Computes elements (r, q) to (r, q + 3) of the augmented plane; q + 3 < w. Not for AUGMENT 3. */
static inline float4 four_elements(__global const STORAGE(X_T) * plane, const sample_draw d, const int r, const int q,
                                   const int H, const int W, const int h, const int w, const float2 affine,
                                   const int cutout) {
#if AUGMENT == 2
  const float4 lane = (float4)(0, 1, 2, 3), column = d.mirrored ? (float)(w - 1 - q) - lane : (float)q + lane;
  const float4 u = column - 0.5f * (float)(w - 1);
  const float v = (float)r - 0.5f * (float)(h - 1);
  const float4 n = four_between(plane, d.cosine * u - d.sine * v + 0.5f * (float)(w - 1) + (float)d.dx,
                                d.sine * u + d.cosine * v + 0.5f * (float)(h - 1) + (float)d.dy, H, W, affine);
#else
  /* If all four elements lie inside the plane, one vector load reads them. */
  const int left = (d.mirrored ? w - 4 - q : q) + d.dx, y = r + d.dy;
  float4 n = 0;
  if (y >= 0 && y < H && left >= 0 && left + 4 <= W)
    n = affine.x * convert_float4(LOADV(X_T, 4, plane, y * W + left)) + affine.y;
  else
    n = (float4)(pixel(plane, y, left, H, W, affine), pixel(plane, y, left + 1, H, W, affine),
                 pixel(plane, y, left + 2, H, W, affine), pixel(plane, y, left + 3, H, W, affine));
  if (d.mirrored) n = n.wzyx;
#endif
  const int4 across = (int4)(0, 1, 2, 3) + (q - d.cut_x + cutout / 2);
  const int down = r - d.cut_y + cutout / 2;
  const int4 cut = across >= 0 & across < cutout & (int4)(down >= 0 && down < cutout ? -1 : 0);
  return select(d.gain * n + d.lift * affine.x, (float4)(0), cut);
}

/* The elements of the vector arguments, and two scalars:
 *
 *   sizes   N, C, H, W, crop, flip, cutout, classes
 *   keys    six numbers of the permutation, two of the seed
 *   range   angle, zoom, brightness (in units of x, for example times 255 for bytes), contrast, blend, elastic, two
 *           unused
 *   h, w    equal to H and W with AUGMENT 0 */
__kernel void augment(__global const STORAGE(X_T) * x, const long x_at, __global const int *records,
                      const long records_at, __global const int *table, const long table_at, __global const int *order,
                      const long order_at, __global const float *affine, const long affine_at,
                      __global STORAGE(Y_T) * y, const long y_at, __global int *out, const long out_at,
                      __global float *mixed, const long mixed_at, const int8 sizes, const int8 keys,
                      const float8 range, const int n, const int bits, const int first, const int position,
                      const int epoch, const int width, const int across, const int down, const int h, const int w) {
  const int C = sizes.s1, H = sizes.s2, W = sizes.s3, plane = h * w, spans = (plane + SPAN - 1) / SPAN;
  const long item = get_global_id(0);
  const int c = (int)(item / spans % C), s = (int)(item / spans / C);
  const int begin = (int)(item % spans) * SPAN, end = min(begin + SPAN, plane);
  if (s >= sizes.s0) return;
  const uint i = SAMPLE_AT(first + s);
  const float2 a = vload2(c, affine + affine_at);
  __global const STORAGE(X_T) *from = x + x_at + ((long)i * C + c) * H * W;
#if MIX || TARGETS == 1
  const int other = sizes.s0 - 1 - s;
  const uint k = SAMPLE_AT(first + other);
#endif
#if MIX
  __global const STORAGE(X_T) *with = x + x_at + ((long)k * C + c) * H * W;
#endif
  y += y_at + ((long)s * C + c) * plane;
  if (c == 0 && begin == 0 && width > 0) {
    __global const int *record = records + records_at + (long)i * width;
#if TARGETS == 1
    write_probabilities(mixed + mixed_at + (long)s * sizes.s7, sizes.s7, record[0],
                        records[records_at + (long)k * width], range.s4);
#endif
    for (int word = TARGETS; word < width; word++)
      word_copy(record, table + table_at, out + out_at, s, word);
  }
#if AUGMENT
  const uint2 seed = (uint2)((uint)keys.s6, (uint)keys.s7);
  const sample_draw d = draw_sample((uint)(position + s), (uint)epoch, seed, H, W, h, w, sizes.s4, sizes.s5, range);
#if MIX
  const sample_draw e = draw_sample((uint)(position + other), (uint)epoch, seed, H, W, h, w, sizes.s4, sizes.s5, range);
#endif
  for (int r = begin / w, q = begin % w, at = begin; at < end;) {
    if (AUGMENT != 3 && q + 4 <= w && at + 4 <= end) {
      float4 value = four_elements(from, d, r, q, H, W, h, w, a, sizes.s6);
#if MIX == 1
      value = range.s4 * value + (1.0f - range.s4) * four_elements(with, e, r, q, H, W, h, w, a, sizes.s6);
#elif MIX == 2
      const int4 inside = -(int4)(draw_is_inside(q, r, across, down), draw_is_inside(q + 1, r, across, down),
                                  draw_is_inside(q + 2, r, across, down), draw_is_inside(q + 3, r, across, down));
      value = select(value, four_elements(with, e, r, q, H, W, h, w, a, sizes.s6), inside);
#endif
      STOREV(Y_T, 4, value, y, at);
      at += 4, q += 4;
    } else {
      float value = element(from, d, r, q, H, W, h, w, a, sizes.s6);
#if MIX == 2
      if (draw_is_inside(q, r, across, down)) value = element(with, e, r, q, H, W, h, w, a, sizes.s6);
#elif MIX == 1
      value = range.s4 * value + (1.0f - range.s4) * element(with, e, r, q, H, W, h, w, a, sizes.s6);
#endif
      STORE(Y_T, value, y, at);
      at++, q++;
    }
    if (q == w) q = 0, r++;
  }
#else
#if MIX
#define BLENDED(n, at)                                                                                                 \
  (a.x * (range.s4 * MICA_AS(float, n, LOADV(X_T, n, from, at)) +                                                      \
          (1.0f - range.s4) * MICA_AS(float, n, LOADV(X_T, n, with, at))) +                                            \
   a.y)
#else
#define BLENDED(n, at) (a.x * MICA_AS(float, n, LOADV(X_T, n, from, at)) + a.y)
#endif
  int at = begin;
  for (; at + VW <= end; at += VW) STOREV(Y_T, VW, BLENDED(VW, at), y, at);
  for (; at < end; at++) STORE(Y_T, BLENDED(1, at), y, at);
#endif
}
