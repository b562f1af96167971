/* index/sparse_sum.cl: product of a sparse matrix, or of its transpose, with x.
 *
 *   BACK 0   y[n, i, f] = sum over the entries k of row i, in ascending order, of weights[n, k, head of f]
 *            x[n, entries[k, 1], f]
 *   BACK 1   y[n, i, f] = sum over the entries k of column i, in the order of `order`, of weights[n, k, head of f]
 *            x[n, entries[k, 0], f]
 *
 * See index/pattern.clh for X_T, I_T and the operands.
 *
 *   VW    features that a work-item computes
 *
 * One dimension of samples * vertices * heads * ceil(width / VW) work-items. */
#include "index/pattern.clh"

#define SUM(w, i)                                                                                                      \
  do {                                                                                                                 \
    COMPUTEV(X_T, w) sum = (COMPUTEV(X_T, w))(0);                                                                      \
    for (long j = from; j < to; j++) {                                                                                 \
      const long k = BACK ? AT(order, j) : j;                                                                          \
      if (!INSIDE(k, count)) continue;                                                                                 \
      const long v = AT(entries, 2 * k + !BACK);                                                                       \
      if (INSIDE(v, vertices)) sum += LOAD(X_T, weights, k * heads + head) * LOADV(X_T, w, x, v * row + (i));          \
    }                                                                                                                  \
    STOREV(X_T, w, sum, y, i);                                                                                         \
  } while (0)

RANGE_KERNEL sparse_sum(__global const STORAGE(X_T) * x, const long x_at, __global const STORAGE(X_T) * weights,
                        const long weights_at, __global const STORAGE(I_T) * rows, const long rows_at,
                        __global const STORAGE(I_T) * entries, const long entries_at,
                        __global const STORAGE(I_T) * columns, const long columns_at,
                        __global const STORAGE(I_T) * order, const long order_at, __global STORAGE(X_T) * y,
                        const long y_at, const int samples, const int vertices, const int count, const int heads,
                        const int width) {
  const int chunks = (width + VW - 1) / VW, row = heads * width;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const int head = (int)(item / chunks % heads);
  const long at = item / chunks / heads;
  const long n = at / vertices, vertex = at % vertices;
  if (n >= samples) return;
  x += x_at + n * vertices * row;
  weights += weights_at + n * count * heads;
  rows += rows_at + n * vertices * 2;
  entries += entries_at + n * count * 2;
  columns += columns_at + n * vertices * 2;
  order += order_at + n * count;
  y += y_at + at * row;
  const long from = max(BACK ? AT(columns, 2 * vertex) : AT(rows, 2 * vertex), 0l);
  const long to = min(BACK ? AT(columns, 2 * vertex + 1) : AT(rows, 2 * vertex + 1), (long)count);
  const int first = head * width;
  if (begin + VW <= width)
    SUM(VW, first + begin);
  else
    for (int i = first + begin; i < first + width; i++) SUM(1, i);
}
