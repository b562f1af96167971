/* experts/by_k.cl: products of rows with matrices of experts (mixture of experts). The matrices are (k, n):
 *
 *   y[p][j] = sum over i of x[p / share][i] w[ids[p]][i][j], 0 if ids[p] is out of range
 *
 * Each row of x has `share` ids of experts. A pair p is a row and one of its ids. x is (rows, k) f32, w (experts, k,
 * n), y (pairs, n) f32. A work-item computes 16 columns for a tile: up to 8 pairs with the same expert, so that it
 * reads w once for them.
 *
 * One dimension of ceil(n / 16) times the largest possible number of tiles. */
#define BLOCK_WIDTH 16
#include "experts/weights.clh"

#define TB 8

/* Returns elements c .. c + lanes - 1 of a row; the other lanes of the 16 are zero. */
BLOCK_FN float16 some_weights(__global const WEIGHT *p, const int c, const int lanes) {
  float each[16] = {0};
  if (lanes == 16) return weights_at(p, c);
  for (int l = 0; l < lanes; l++) each[l] = weight_at(p, c + l);
  return vload16(0, each);
}

RANGE_KERNEL expert_by_k(EXPERT_ARGUMENTS, __global const int *order, const long order_at) {
  const int strips = (n + 15) / 16, j = get_global_id(0) % strips * 16, lanes = min(16, n - j);
  const expert_tile t = find_tile(order + order_at, experts, get_global_id(0) / strips, TB);
  __global const int *list = EXPERT_LIST(order + order_at, experts) + t.from;
  if (t.count == 0) return;
  float16 acc[TB];
  UNROLL for (int r = 0; r < TB; r++) acc[r] = 0;
  w += w_at + (long)t.expert * k * WEIGHT_ROW(n);
  for (int i = 0; i < k && t.expert < experts; i++) {
    const float16 row = some_weights(w + i * WEIGHT_ROW(n), j, lanes);
    UNROLL for (int r = 0; r < TB; r++) {
      const float factor = x[x_at + (long)(list[min(r, t.count - 1)] / share) * k + i];
      acc[r] = MAC((float16)(factor), row, acc[r]);
    }
  }
  for (int r = 0; r < t.count; r++) {
    float each[16];
    vstore16(acc[r], 0, each);
    for (int l = 0; l < lanes; l++) y[y_at + (long)list[r] * n + j + l] = each[l];
  }
}
