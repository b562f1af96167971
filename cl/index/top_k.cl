/* index/top_k.cl: values[o, r, i] = the r-th largest element of x[o, :, i] (the largest is r = 0), and indices[o, r, i]
 * = its position along n, for r < k. Equal elements keep their order. A NaN counts as larger than all numbers.
 *
 * x is (outer, n, inner), values and indices (outer, k, inner), k <= n.
 *
 *   X_T        type of x and values
 *   VALUES     1: values are written
 *   INDICES    1: indices are written
 *   SMALLEST   1: the r-th smallest element; a NaN counts as smaller than all numbers
 *
 * One dimension of outer * inner work-items. A work-item scans its row once per result, for the first element in sort
 * order after the previous result. */
#include "common/dtype.clh"
#include "common/group.clh"

#if SMALLEST
#define BEFORE(a, b) ((a) < (b) || ((a) != (a) && (b) == (b)))
#else
#define BEFORE(a, b) ((a) > (b) || ((a) != (a) && (b) == (b)))
#endif

RANGE_KERNEL top_k(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(X_T) * values,
                   const long values_at, __global long *indices, const long indices_at, const int outer, const int n,
                   const int k, const int inner) {
  const long item = get_global_id(0);
  const long o = item / inner;
  const int i = (int)(item % inner);
  if (o >= outer) return;
  x += x_at + o * n * inner + i;
  const long first = o * k * inner + i;
  COMPUTE(X_T) last = 0;
  int last_at = -1;
  for (int r = 0; r < k; r++) {
    COMPUTE(X_T) best = 0;
    int best_at = -1;
    for (int j = 0; j < n; j++) {
      const COMPUTE(X_T) value = LOAD(X_T, x, (long)j * inner);
      const int follows = r == 0 || BEFORE(last, value) || (!BEFORE(value, last) && j > last_at);
      if (follows && (best_at < 0 || BEFORE(value, best))) {
        best = value;
        best_at = j;
      }
    }
#if VALUES
    STORE(X_T, best, values, values_at + first + (long)r * inner);
#endif
#if INDICES
    indices[indices_at + first + (long)r * inner] = best_at;
#endif
    last = best;
    last_at = best_at;
  }
}
