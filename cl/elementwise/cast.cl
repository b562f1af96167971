/* elementwise/cast.cl: y[i] = x[i] as another type (common/cast.clh), 0 <= i < n. With equal types it copies.
 *
 *   X_T, Y_T   types of x and y
 *   VW         elements a work-item moves
 *
 * One dimension of ceil(n / VW) work-items; the last one moves the remaining elements one by one. */
#include "common/cast.clh"
#include "common/group.clh"

RANGE_KERNEL cast(__global const STORAGE(X_T) *x, const long x_at, __global STORAGE(Y_T) *y, const long y_at,
                  const long n) {
  const long i = (long)get_global_id(0) * VW;
  x += x_at;
  y += y_at;
  if (i + VW <= n) {
    STOREV(Y_T, VW, CAST(X_T, Y_T, VW, LOADV(X_T, VW, x, i)), y, i);
  } else {
    for (long j = i; j < n; j++) STORE(Y_T, CAST(X_T, Y_T, 1, LOAD(X_T, x, j)), y, j);
  }
}
