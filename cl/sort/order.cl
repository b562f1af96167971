/* sort/order.cl: the first launch of a radix sort, and a complete sort for short rows. x is (outer, n, inner). A row is
 * the n elements with the same o and i; its number is row = o inner + i. X_T, KIND and KEY_BYTES are as in
 * sort/key.clh.
 *
 *   sort_keys   for a radix sort: keys[row n + j] = the key of x[o, j, i], and order[row n + j] = j
 *   sort_rank   sorts short rows: order[row n + r] = j if x[o, j, i] is the r-th element of its sorted row. Equal
 *               elements keep their order. Each work-item compares its element with all elements of the row
 *
 * One dimension of outer n inner work-items. */
#include "common/group.clh"
#include "sort/key.clh"

RANGE_KERNEL sort_keys(__global const STORAGE(X_T) * x, const long x_at, __global KEY_T *keys, const long keys_at,
                       __global int *order, const long order_at, const int outer, const int n, const int inner,
                       const int extent) {
  const long item = get_global_id(0);
  const long row = item / n;
  const int j = (int)(item % n);
  if (row >= (long)outer * inner) return;
  x += x_at + row / inner * n * inner + row % inner;
  keys[keys_at + item] = KEY(x, (long)j * inner);
  order[order_at + item] = j;
}

RANGE_KERNEL sort_rank(__global const STORAGE(X_T) * x, const long x_at, __global int *order, const long order_at,
                       const int outer, const int n, const int inner, const int extent) {
  const long item = get_global_id(0);
  const long row = item / n;
  const int j = (int)(item % n);
  if (row >= (long)outer * inner) return;
  x += x_at + row / inner * n * inner + row % inner;
  const KEY_T own = KEY(x, (long)j * inner);
  int rank = 0;
  for (int k = 0; k < n; k++) {
    const KEY_T other = KEY(x, (long)k * inner);
    rank += other < own || (other == own && k < j);
  }
  order[order_at + row * n + rank] = j;
}
