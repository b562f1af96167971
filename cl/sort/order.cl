/* sort/order.cl: the beginning of a sort, and all of a sort of short rows. x is (outer, n, inner); its rows, o inner
 * + i, lie along n. Parameters are as in sort/key.clh.
 *
 * sort_keys   keys[row n + j] = key of x[o, j, i], order[row n + j] = j
 * sort_rank   order[row n + r] = j, where x[o, j, i] is the r-th of its row; equals in rising j. Each work-item
 *             compares its element with the row's: for short rows
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
