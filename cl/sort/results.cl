/* sort/results.cl: the first k elements of sorted rows: values[o, r, i] = x[o, j, i] and indices[o, r, i] = j for
 * j = order[row n + r], row = o inner + i.
 *
 * x is (outer, n, inner), values and indices (outer, k, inner), k <= n.
 *
 *   X_T       type of x and values
 *   VALUES    1: values are written
 *   INDICES   1: indices are written
 *
 * One dimension of outer k inner work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

RANGE_KERNEL sort_results(__global const STORAGE(X_T) * x, const long x_at, __global const int *order,
                          const long order_at, __global STORAGE(X_T) * values, const long values_at,
                          __global long *indices, const long indices_at, const int outer, const int n, const int k,
                          const int inner) {
  const long item = get_global_id(0);
  const int i = (int)(item % inner), r = (int)(item / inner % k);
  const long o = item / inner / k;
  if (o >= outer) return;
  const int j = order[order_at + (o * inner + i) * n + r];
#if VALUES
  STORE(X_T, LOAD(X_T, x, x_at + (o * n + j) * inner + i), values, values_at + item);
#endif
#if INDICES
  indices[indices_at + item] = j;
#endif
}
