/* elementwise/scale_add.cl: y[i] = alpha x[i] + beta y[i], 0 <= i < n; y is not read if beta is 0.
 *
 *   X_T   the floating type of x and y
 *   VW    elements that a work-item computes
 *
 * One dimension of ceil(n / VW) work-items. x may be y. */
#include "common/dtype.clh"
#include "common/group.clh"

#define SCALAR COMPUTE(X_T)
#define SCALE_ADD(n, i)                                                                                                \
  STOREV(X_T, n,                                                                                                       \
         beta == 0 ? (COMPUTEV(X_T, n))(alpha) * LOADV(X_T, n, x, i)                                                   \
                   : fma((COMPUTEV(X_T, n))(alpha), LOADV(X_T, n, x, i),                                               \
                         (COMPUTEV(X_T, n))(beta) * LOADV(X_T, n, y, i)),                                              \
         y, i)

RANGE_KERNEL scale_add(__global const STORAGE(X_T) *x, const long x_at, __global STORAGE(X_T) *y, const long y_at,
                       const long n, const SCALAR alpha, const SCALAR beta) {
  const long i = (long)get_global_id(0) * VW;
  x += x_at;
  y += y_at;
  if (i + VW <= n) {
    SCALE_ADD(VW, i);
  } else {
    for (long j = i; j < n; j++) SCALE_ADD(1, j);
  }
}
