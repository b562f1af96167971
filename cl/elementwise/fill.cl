/* elementwise/fill.cl: y[i] = value, 0 <= i < n.
 *
 *   Y_T   type of y
 *   VW    elements a work-item writes
 *
 * One dimension of ceil(n / VW) work-items; the last one writes the remaining elements one by one. */
#include "common/dtype.clh"
#include "common/group.clh"

RANGE_KERNEL fill(__global STORAGE(Y_T) *y, const long y_at, const long n, const COMPUTE(Y_T) value) {
  const long i = (long)get_global_id(0) * VW;
  y += y_at;
  if (i + VW <= n) {
    STOREV(Y_T, VW, (COMPUTEV(Y_T, VW))(value), y, i);
  } else {
    for (long j = i; j < n; j++) STORE(Y_T, value, y, j);
  }
}
