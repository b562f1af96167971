/* experts/cpu/tile.cl: products of many rows with one of several matrices each, on CPUs; experts/cpu/row.cl has the
 * formula.
 *
 * A work-item multiplies up to TM rows that have the same expert by NB rows of its matrix. KC columns of them are made
 * floats in local memory first, once for all rows. The sums of 4 rows with 3 rows of w have VL lanes each. The order of
 * a sum does not depend on other rows.
 *
 *   TM   rows of x, a multiple of 4
 *   NB   rows of w, a multiple of 3
 *   KC   columns, a multiple of 16
 *   VL   lanes
 *
 * Groups of one work-item, ceil(n / NB) x the most tiles that the rows may have. */
#define BLOCK_WIDTH 16
#include "experts/weights.clh"

#define LANES_T MICA_PASTE(float, VL)

#if VL == 16
BLOCK_FN float sum_of(const float16 v) {
  const float8 x = v.lo + v.hi;
#else
BLOCK_FN float sum_of(const float8 x) {
#endif
  const float4 four = x.lo + x.hi;
  return (four.x + four.z) + (four.y + four.w);
}

/* Columns at to at + count - 1 of NB rows of w from row j on, as floats. */
BLOCK_FN void make_panel(__global const WEIGHT *w, const int j, const int n, const int k, const int at, const int count,
                         __local float *panel) {
  for (int s = 0; s < NB; s++) {
    __global const WEIGHT *p = w + min(j + s, n - 1) * WEIGHT_ROW(k);
    int c = 0;
    for (; c + 16 <= count; c += 16) vstore16(weights_at(p, at + c), 0, panel + s * KC + c);
    for (; c < count; c++) panel[s * KC + c] = weight_at(p, at + c);
  }
}

CPU_KERNEL expert_tile_cpu(EXPERT_ARGUMENTS, __global const int *order, const long order_at) {
  __local float panel[NB * KC], sums[TM * NB];
  const expert_tile t = find_tile(order + order_at, experts, get_global_id(1), TM);
  __global const int *list = EXPERT_LIST(order + order_at, experts) + t.from;
  const int j0 = get_global_id(0) * NB, columns = min(NB, n - j0);
  if (t.count == 0) return;
  w += w_at + (long)t.expert * n * WEIGHT_ROW(k);
  for (int i = 0; i < TM * NB; i++) sums[i] = 0;
  for (int at = 0; at < k && t.expert < experts; at += KC) {
    const int count = min(KC, k - at), whole = count & ~(VL - 1);
    make_panel(w, j0, n, k, at, count, panel);
    for (int i = 0; i < t.count; i += 4) {
      __global const float *q[4];
      UNROLL for (int r = 0; r < 4; r++) q[r] = x + (x_at + (long)(list[min(i + r, t.count - 1)] / share) * k + at);
      for (int s = 0; s < columns; s += 3) {
        LANES_T acc[4][3];
        UNROLL for (int r = 0; r < 4; r++) UNROLL for (int u = 0; u < 3; u++) acc[r][u] = 0;
        for (int c = 0; c < whole; c += VL) {
          LANES_T ws[3];
          UNROLL for (int u = 0; u < 3; u++) ws[u] = MICA_VLOAD(VL, panel, (s + u) * KC + c);
          UNROLL for (int r = 0; r < 4; r++) {
            const LANES_T xs = MICA_VLOAD(VL, q[r], c);
            UNROLL for (int u = 0; u < 3; u++) acc[r][u] = MAC(xs, ws[u], acc[r][u]);
          }
        }
        UNROLL for (int r = 0; r < 4; r++) UNROLL for (int u = 0; u < 3; u++) {
          float sum = sums[(i + r) * NB + s + u] + sum_of(acc[r][u]);
          for (int c = whole; c < count; c++) sum = MAC(q[r][c], panel[(s + u) * KC + c], sum);
          sums[(i + r) * NB + s + u] = sum;
        }
      }
    }
  }
  for (int i = 0; i < t.count; i++)
    for (int s = 0; s < columns; s++) y[y_at + (long)list[i] * n + j0 + s] = sums[i * NB + s];
}
