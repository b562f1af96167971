/* experts/cpu/row.cl: products of few rows with matrices of experts (mixture of experts), on CPUs. The matrices are (n,
 * k):
 *
 *   y[p][j] = sum over i of x[p / share][i] w[ids[p]][j][i], 0 if ids[p] is out of range
 *
 * Each row of x has `share` ids of experts. A pair p is a row and one of its ids. x is (rows, k) f32, w (experts, n,
 * k), y (pairs, n) f32. Only the matrices of experts in ids are read. A sum has 16 lanes, as in blocks/cpu/row.cl.
 *
 *   WR     rows of w that are read at a time
 *   span   rows of w per group
 *
 * Groups of one work-item, ceil(n / span) x pairs. */
#define BLOCK_WIDTH 16
#include "experts/weights.clh"

BLOCK_FN float sum_of(const float16 x) {
  const float8 eight = x.lo + x.hi;
  const float4 four = eight.lo + eight.hi;
  return (four.x + four.z) + (four.y + four.w);
}

#if BLOCK
BLOCK_FN void dot_rows(__global const float *x, __global const WEIGHT **p, const int k, __private float *sums) {
  float16 acc[WR];
  UNROLL for (int r = 0; r < WR; r++) acc[r] = 0;
  for (int at = 0; at < k; at += BLOCK_FIELD(elements)) {
    float scale[WR][BLOCK_GROUPS], minimum[WR][BLOCK_GROUPS];
    UNROLL for (int r = 0; r < WR; r++) {
      const float2 halves = block_float(2, block_halves(p[r]));
      block_scales(p[r], halves.x, halves.y, scale[r], minimum[r]);
    }
    UNROLL for (int e = 0; e < BLOCK_FIELD(elements); e += 16) {
      const int g = e / (BLOCK_FIELD(elements) / BLOCK_GROUPS);
      const float16 xs = vload16(0, x + at + e);
      UNROLL for (int r = 0; r < WR; r++) acc[r] =
          MAC(block_elements(p[r], e, scale[r][g], minimum[r][g]), xs, acc[r]);
    }
    UNROLL for (int r = 0; r < WR; r++) p[r] += BLOCK_FIELD(bytes);
  }
  UNROLL for (int r = 0; r < WR; r++) sums[r] = sum_of(acc[r]);
}
#else
BLOCK_FN void dot_rows(__global const float *x, __global const WEIGHT **p, const int k, __private float *sums) {
  const int whole = k & ~15;
  float16 acc[WR];
  UNROLL for (int r = 0; r < WR; r++) acc[r] = 0;
  for (int at = 0; at < whole; at += 16) {
    const float16 xs = vload16(0, x + at);
    UNROLL for (int r = 0; r < WR; r++) acc[r] = MAC(weights_at(p[r], at), xs, acc[r]);
  }
  UNROLL for (int r = 0; r < WR; r++) sums[r] = sum_of(acc[r]);
  for (int at = whole; at < k; at++)
    UNROLL for (int r = 0; r < WR; r++) sums[r] = MAC(weight_at(p[r], at), x[at], sums[r]);
}
#endif

CPU_KERNEL expert_row_cpu(EXPERT_ARGUMENTS, __global const STORAGE(I_T) * ids, const long ids_at, const int span) {
  const long pair = get_global_id(1), expert = INDEX(I_T, ids, ids_at + pair, experts);
  const int first = get_global_id(0) * span, last = min(first + span, n);
  x += x_at + pair / share * k;
  y += y_at + pair * n;
  w += w_at + expert * n * WEIGHT_ROW(k);
  for (int j = first; j < last; j += WR) {
    float sums[WR] = {0};
    __global const WEIGHT *p[WR];
    UNROLL for (int r = 0; r < WR; r++) p[r] = w + min(j + r, n - 1) * WEIGHT_ROW(k);
    if (expert < experts) dot_rows(x, p, k, sums);
    for (int r = 0; r < WR && j + r < last; r++) y[j + r] = sums[r];
  }
}
