/* experts/gpu/tile.cl: products of many rows with matrices of experts, on GPUs; experts/cpu/row.cl has the formula.
 *
 * A group multiplies a tile, up to 32 pairs with the same expert, by 64 rows of the expert's matrix. It copies 16
 * columns at a time to local memory. A work-item computes 4 x 4 sums.
 *
 * Groups of 128 work-items, ceil(n / 64) x the largest possible number of tiles. */
#define BLOCK_WIDTH 8
#include "experts/weights.clh"

#define TM 32
#define TN 64
#define KC 16

/* Returns 8 elements, from element c on, of a row of w that has k elements; zeros after the last one. */
BLOCK_FN float8 weights_or_zeros(__global const WEIGHT *p, const int c, const int k) {
  float each[8] = {0};
  if (c + 8 <= k) return weights_at(p, c);
  for (int i = 0; c + i < k; i++) each[i] = weight_at(p, c + i);
  return vload8(0, each);
}

BLOCK_FN float8 floats_or_zeros(__global const float *p, const int c, const int k) {
  float each[8] = {0};
  if (c + 8 <= k) return vload8(0, p + c);
  for (int i = 0; c + i < k; i++) each[i] = p[c + i];
  return vload8(0, each);
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void expert_tile_gpu(EXPERT_ARGUMENTS,
                                                                               __global const int *order,
                                                                               const long order_at) {
  __local float xs[KC][TM + 1], ws[KC][TN + 1];
  const expert_tile t = find_tile(order + order_at, experts, get_group_id(1), TM);
  __global const int *list = EXPERT_LIST(order + order_at, experts) + t.from;
  const int id = get_local_id(0), j0 = get_group_id(0) * TN, row = id / 2, at = id % 2 * 8;
  const int i = id / 16, j = id % 16;
  float acc[4][4] = {{0}};
  /* All work-items of a group have the same tile, so no work-item misses a barrier. */
  if (t.count == 0) return;
  const long j_of_w = (long)t.expert * n + min(j0 + row, n - 1);
  __global const WEIGHT *p = w + (w_at + (t.expert < experts ? j_of_w : 0) * WEIGHT_ROW(k));
  __global const float *q = x + (x_at + (long)(list[min(row, t.count - 1)] / share) * k);
  for (int c = 0; c < k && t.expert < experts; c += KC) {
    float each[8];
    vstore8(weights_or_zeros(p, c + at, k), 0, each);
    UNROLL for (int e = 0; e < 8; e++) ws[at + e][row] = each[e];
    if (row < TM) {
      vstore8(floats_or_zeros(q, c + at, k), 0, each);
      UNROLL for (int e = 0; e < 8; e++) xs[at + e][row] = each[e];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL for (int e = 0; e < KC; e++) UNROLL for (int r = 0; r < 4; r++) UNROLL for (int s = 0; s < 4; s++)
      acc[r][s] = MAC(xs[e][i + 8 * r], ws[e][j + 16 * s], acc[r][s]);
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  UNROLL for (int r = 0; r < 4; r++) UNROLL for (int s = 0; s < 4; s++) {
    const int m = i + 8 * r, to = j0 + j + 16 * s;
    if (m < t.count && to < n) y[y_at + (long)list[m] * n + to] = acc[r][s];
  }
}
