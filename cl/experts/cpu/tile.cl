/* experts/cpu/tile.cl: products of many rows with matrices of experts, on CPUs; experts/cpu/row.cl has the formula.
 *
 * A work-item multiplies a tile, up to TM pairs with the same expert, by NB rows of the expert's matrix. For KC columns
 * at a time it first converts these rows to floats in local memory (the panel), once for all pairs. A register tile is
 * 4 rows of x by 3 rows of w. Each sum has VL lanes, which are kept in local memory between blocks of KC columns and
 * added up at the end. The order of a sum does not depend on other rows.
 *
 *   TM   pairs per tile, a multiple of 4
 *   NB   rows of w, a multiple of 3
 *   KC   columns, a multiple of 16
 *   VL   lanes per sum
 *
 * Groups of one work-item, ceil(n / NB) x the largest possible number of tiles. */
#define BLOCK_WIDTH 16
#include "common/cpu/prefetch.clh"
#include "experts/weights.clh"

/* The type of local memory is a vector, so that whole vectors are read and written with one instruction. */
#define LANES_T MICA_PASTE(float, VL)
#define VECTORS (KC / VL) /* vectors per row of the panel */
#define NUMBER(panel, s, c) ((__local const float *)(panel))[(s)*KC + (c)]

#if VL == 16
#define STORE_PANEL(v, p) (p)[0] = v
#define HALVES(v) ((v).lo + (v).hi)
#else
#define STORE_PANEL(v, p) ((p)[0] = (v).lo, (p)[1] = (v).hi)
#define HALVES(v) (v)
#endif

/* Returns the sum of the lanes of each of four vectors. The lanes of all four are added in the same order. */
BLOCK_FN float4 sums_of(const LANES_T v[4]) {
  const float8 a = HALVES(v[0]), b = HALVES(v[1]), c = HALVES(v[2]), d = HALVES(v[3]);
  const float8 ab = (float8)(a.lo, b.lo) + (float8)(a.hi, b.hi), cd = (float8)(c.lo, d.lo) + (float8)(c.hi, d.hi);
  const float8 pairs = (float8)(ab.even, cd.even) + (float8)(ab.odd, cd.odd);
  return pairs.even + pairs.odd;
}

/* Converts columns at .. at + count - 1 of the NB rows of w from row j on to floats, and writes them to the panel. */
BLOCK_FN void make_panel(__global const WEIGHT *w, const int j, const int n, const int k, const int at, const int count,
                         __local LANES_T *panel) {
  for (int s = 0; s < NB; s++) {
    __global const WEIGHT *p = w + min(j + s, n - 1) * WEIGHT_ROW(k);
    int c = 0;
    for (; c + 16 <= count; c += 16) {
      const float16 v = weights_at(p, at + c);
      STORE_PANEL(v, panel + s * VECTORS + c / VL);
    }
    for (; c < count; c++) ((__local float *)panel)[s * KC + c] = weight_at(p, at + c);
  }
}

/* Prefetches cache lines `line` and line + 1 of each of 3 rows of w from row j on. Line 0 begins at column `at`. It
 * does nothing if `line` lies after the KC columns from `at` on. */
BLOCK_FN void prefetch_rows(__global const WEIGHT *w, const int j, const int n, const int k, const int at,
                            const int line) {
  if (line * 64 >= WEIGHT_ROW(KC) * (long)sizeof(WEIGHT)) return;
  UNROLL for (int u = 0; u < 3; u++) {
    __global const uchar *p =
        (__global const uchar *)(w + min(j + u, n - 1) * WEIGHT_ROW(k) + WEIGHT_ROW(at)) + line * 64;
    PREFETCH_READ(p);
    PREFETCH_READ(p + 64);
  }
}

/* sums[u][r] += the products of `count` columns of row u of the panel with row r of x, for u < 3 and r < 4, as vectors
 * of lanes. With `first` the sums begin at 0. With `last` the lanes are added up and the 4 totals per row of the panel
 * are written to `result` instead. */
BLOCK_FN void add_products(__global const float *const __private *q, __local const LANES_T *panel, const int count,
                           const bool first, const bool last, __local LANES_T *sums, __local float *result) {
  const int whole = count & ~(VL - 1);
  LANES_T acc[3][4];
  UNROLL for (int u = 0; u < 3; u++) UNROLL for (int r = 0; r < 4; r++) acc[u][r] = 0;
  if (!first) UNROLL for (int u = 0; u < 3; u++) UNROLL for (int r = 0; r < 4; r++) acc[u][r] = sums[u * 4 + r];
  for (int c = 0; c < whole; c += VL) {
    LANES_T ws[3];
    UNROLL for (int u = 0; u < 3; u++) ws[u] = panel[u * VECTORS + c / VL];
    UNROLL for (int r = 0; r < 4; r++) {
      const LANES_T xs = MICA_VLOAD(VL, q[r], c);
      UNROLL for (int u = 0; u < 3; u++) acc[u][r] = MAC(xs, ws[u], acc[u][r]);
    }
  }
  if (!last) {
    UNROLL for (int u = 0; u < 3; u++) UNROLL for (int r = 0; r < 4; r++) sums[u * 4 + r] = acc[u][r];
    return;
  }
  UNROLL for (int u = 0; u < 3; u++) {
    float4 total = sums_of(acc[u]);
    for (int c = whole; c < count; c++)
      total = MAC((float4)(q[0][c], q[1][c], q[2][c], q[3][c]), (float4)(NUMBER(panel, u, c)), total);
    vstore4(total, u, result);
  }
}

CPU_KERNEL expert_tile_cpu(EXPERT_ARGUMENTS, __global const int *order, const long order_at) {
  __local LANES_T panel[NB * VECTORS], sums[TM * NB];
  __local float result[4 * NB];
  const expert_tile t = find_tile(order + order_at, experts, get_global_id(1), TM);
  __global const int *list = EXPERT_LIST(order + order_at, experts) + t.from;
  const int j0 = get_global_id(0) * NB, columns = min(NB, n - j0);
  if (t.count == 0) return;
  w += w_at + (long)t.expert * n * WEIGHT_ROW(k);
  y += y_at + j0;
  if (t.expert == experts)
    for (int i = 0; i < t.count; i++)
      for (int s = 0; s < columns; s++) y[(long)list[i] * n + s] = 0;
  for (int at = 0; at < k && t.expert < experts; at += KC) {
    const int count = min(KC, k - at);
    const bool last = at + KC >= k;
    make_panel(w, j0, n, k, at, count, panel);
    for (int i = 0; i < t.count; i += 4) {
      __global const float *q[4];
      UNROLL for (int r = 0; r < 4; r++) q[r] = x + (x_at + (long)(list[min(i + r, t.count - 1)] / share) * k + at);
      for (int s = 0; s < columns; s += 3) {
        prefetch_rows(w, last ? j0 + NB + s : j0 + s, n, k, last ? 0 : at + KC, i / 2);
        add_products(q, panel + s * VECTORS, count, at == 0, last, sums + i * NB + s * 4, result + s * 4);
      }
      for (int r = 0; last && r < min(4, t.count - i); r++)
        for (int s = 0; s < columns; s++) y[(long)list[i + r] * n + s] = result[s * 4 + r];
    }
  }
}
