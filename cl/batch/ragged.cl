/* batch/ragged.cl: gathers the samples of a ragged column and pads them.
 *
 * x holds rows of E elements. Sample s of the batch, 0 <= s < N, is sample i = order(first + s). Its rows begin at row
 * starts[i] of x, or at row i T with PADDED 1. Word `word` of its record is the number of its rows, of which at most T
 * are used.
 *
 *   y[s, t, e] = scale x[start + t, e] for t below this number, else `pad` (0 in floating types). Integers are not
 *   scaled
 *
 * With AUGMENT 1 to 3 the rows are boxes x0 y0 x1 y1, which are changed with the picture (draw.clh), but not bent. The
 * corners of a box are moved; the new box is the smallest one around them, clipped at the picture's edges. If less than
 * a quarter of its area is left after clipping, it becomes 0 0 0 0.
 *
 *   X_T       u8, i16, i32, i64 or f32
 *   Y_T       the same as X_T for u8, i32 and i64; f32, f16 or bf16 for i16 and f32
 *   FLOATING  1: Y_T is floating
 *   ORDERED   1: order(p) is order[p]; 0: a permutation
 *   SPAN      elements that a work-item computes, a multiple of 4
 *
 * One dimension of N ceil(T E / SPAN) work-items. */
#include "common/dtype.clh"

#include "batch/draw.clh"

#if FLOATING
#define SCALED(v) (range.s4 * (float)(v))
#define PAD 0.0f
#else
#define SCALED(v) (v)
#define PAD sizes.s7
#endif

/* The vector arguments:
 *
 *   sizes   N, T, E, word, words of a record, crop, flip, pad
 *   keys    six numbers of the permutation, two of the seed
 *   range   angle, zoom, H, W, scale, three unused */
__kernel void ragged(__global const STORAGE(X_T) * x, const long x_at, __global const long *starts,
                     const long starts_at, __global const int *words, const long words_at, __global const int *order,
                     const long order_at, __global STORAGE(Y_T) * y, const long y_at, const int8 sizes,
                     const int8 keys, const float8 range, const int n, const int bits, const int first,
                     const int position, const int epoch) {
  const int T = sizes.s1, E = sizes.s2, row = T * E, spans = (row + SPAN - 1) / SPAN;
  const long item = get_global_id(0);
  const int s = (int)(item / spans), begin = (int)(item % spans) * SPAN, end = min(begin + SPAN, row);
  if (s >= sizes.s0) return;
  const uint i = SAMPLE_AT(first + s);
  const int length = min(words[words_at + (long)i * sizes.s4 + sizes.s3], T), filled = min(length * E, end);
#if PADDED
  x += x_at + (long)i * row;
#else
  x += x_at + starts[starts_at + i] * E;
#endif
  y += y_at + (long)s * row;
  int at = begin;
#if AUGMENT
  const int H = (int)range.s2, W = (int)range.s3;
  const uint2 seed = (uint2)((uint)keys.s6, (uint)keys.s7);
  const float8 ranges = (float8)(range.s0, range.s1, 0, 0, 0, 0, 0, 0);
  const sample_draw d = draw_sample((uint)(position + s), (uint)epoch, seed, H, W, H, W, sizes.s5, sizes.s6, ranges);
  for (; at < filled; at += 4) {
    const float4 box = vload4(0, x + at);
    const float2 a = draw_target(d, box.x, box.y, H, W), b = draw_target(d, box.z, box.y, H, W);
    const float2 c = draw_target(d, box.x, box.w, H, W), e = draw_target(d, box.z, box.w, H, W);
    const float2 low = min(min(a, b), min(c, e)), high = max(max(a, b), max(c, e));
    const float2 low_in = clamp(low, 0.0f, (float2)((float)W, (float)H));
    const float2 high_in = clamp(high, 0.0f, (float2)((float)W, (float)H));
    const float whole = (high.x - low.x) * (high.y - low.y), seen = (high_in.x - low_in.x) * (high_in.y - low_in.y);
    vstore4(seen > 0 && seen >= 0.25f * whole ? (float4)(low_in, high_in) : (float4)(0), 0, y + at);
  }
#else
  for (; at < filled; at++) STORE(Y_T, SCALED(LOAD(X_T, x, at)), y, at);
#endif
  for (; at < end; at++) STORE(Y_T, PAD, y, at);
}
