/* resample/resample.cl: resamples planes. Each row and column of y is a weighted sum of rows and columns of x:
 *
 *   y[o, p, q] = the sum over j, k of v[j, p] w[k, q] x[o, r[j, p], c[k, q]]
 *
 * x is (outer, H, W), y (outer, P, Q). r (indices of rows) and v (weights) are (J, P); c (indices of columns) and w
 * (weights) are (K, Q). A term whose row or column index is out of range is 0.
 *
 *   resample_rows    only rows are resampled: W = Q, without c and w. One dimension of outer * P * ceil(W / VW)
 *                    work-items
 *   resample_each    one work-item per element of y, outer * P * Q in all
 *   resample_lines   a work-item computes `per` lines of y, one after another. It first computes the weighted sum of
 *                    rows, a line of W columns, in local memory. ceil(outer * P / per) work-items in groups of one
 *
 *   X_T   type of x and y; v, w and sums are COMPUTE(X_T)
 *   VW    columns per vector (resample_rows, resample_lines) */
#include "common/dtype.clh"
#include "common/group.clh"

/* Declares `sum`, a vector: columns i .. i + n - 1 of the sum over j of v[j, p] times row r[j, p] of x. */
#define ROW(n, sum, i)                                                                                                 \
  COMPUTEV(X_T, n) sum = 0;                                                                                            \
  for (int j = 0; j < J; j++) {                                                                                        \
    const int h = r[j * P + p];                                                                                        \
    if ((uint)h < (uint)H) sum += v[j * P + p] * LOADV(X_T, n, x, (long)h * W + (i));                                  \
  }

#define SUMS const COMPUTE(X_T)
#define OPERANDS                                                                                                       \
  __global const STORAGE(X_T) *x, const long x_at, __global STORAGE(X_T) *y, const long y_at, __global const int *r,   \
      const long r_at, __global SUMS *v, const long v_at

RANGE_KERNEL resample_rows(OPERANDS, const int outer, const int H, const int W, const int P, const int J) {
  const int chunks = (W + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long line = item / chunks;
  const int p = (int)(line % P);
  if (line / P >= outer) return;
  x += x_at + line / P * H * W;
  y += y_at + line * W;
  r += r_at;
  v += v_at;
  if (begin + VW <= W) {
    ROW(VW, sum, begin)
    STOREV(X_T, VW, sum, y, begin);
  } else {
    for (int i = begin; i < W; i++) {
      ROW(1, sum, i)
      STORE(X_T, sum, y, i);
    }
  }
}

RANGE_KERNEL resample_each(OPERANDS, __global const int *c, const long c_at, __global SUMS *w, const long w_at,
                           const int outer, const int H, const int W, const int P, const int J, const int Q,
                           const int K) {
  const long item = get_global_id(0);
  const long line = item / Q;
  const int p = (int)(line % P), q = (int)(item % Q);
  if (line / P >= outer) return;
  x += x_at + line / P * H * W;
  r += r_at;
  v += v_at;
  c += c_at + q;
  w += w_at + q;
  COMPUTE(X_T) result = 0;
  for (int k = 0; k < K; k++) {
    const int column = c[k * Q];
    if ((uint)column >= (uint)W) continue;
    ROW(1, sum, column)
    result += w[k * Q] * sum;
  }
  STORE(X_T, result, y, y_at + item);
}

CPU_KERNEL resample_lines(OPERANDS, __global const int *c, const long c_at, __global SUMS *w, const long w_at,
                          const int outer, const int H, const int W, const int P, const int J, const int Q,
                          const int K, const int per, __local COMPUTE(X_T) *columns) {
  const long first = get_global_id(0) * (long)per, lines = (long)outer * P;
  const long last = first + per < lines ? first + per : lines;
  y += y_at;
  r += r_at;
  v += v_at;
  c += c_at;
  w += w_at;
  __global const STORAGE(X_T) *planes = x + x_at;
  columns[W] = 0; /* indices that are out of range read this element */
  for (long line = first; line < last; line++) {
    const int p = (int)(line % P);
    x = planes + line / P * H * W;
    int i = 0;
    for (; i + VW <= W; i += VW) {
      ROW(VW, sum, i)
      MICA_VSTORE(VW, sum, columns, i);
    }
    for (; i < W; i++) {
      ROW(1, sum, i)
      columns[i] = sum;
    }
    for (int q = 0; q < Q; q++) {
      COMPUTE(X_T) sum = 0;
      for (int k = 0; k < K; k++) sum += w[k * Q + q] * columns[min((uint)c[k * Q + q], (uint)W)];
      STORE(X_T, sum, y, line * Q + q);
    }
  }
}
