/* reduce/cumulative.cl: y[o, j, i] = the sum, or product, of x[o, 0 .. j, i].
 *
 * x and y are (outer, n, inner) and contiguous.
 *
 *   X_T       type of x and y; sums and products are computed in COMPUTE(X_T)
 *   PRODUCT   1: products; 0: sums
 *   EXCLUSIVE 1: y[o, j, i] does not include x[o, j, i]
 *   REVERSE   1: y[o, j, i] is the sum or product of x[o, j .. n-1, i]
 *   VW        columns along `inner` that a work-item computes
 *
 * One dimension of outer * ceil(inner / VW) work-items. y may be x. */
#include "common/dtype.clh"
#include "common/group.clh"

#if PRODUCT
#define JOINED(a, b) ((a) * (b))
#else
#define JOINED(a, b) ((a) + (b))
#endif

#define COLUMNS(w, i)                                                                                                  \
  do {                                                                                                                 \
    COMPUTEV(X_T, w) so_far = PRODUCT;                                                                                 \
    for (int j = 0; j < n; j++) {                                                                                      \
      const long at = (long)(REVERSE ? n - 1 - j : j) * inner + (i);                                                   \
      const COMPUTEV(X_T, w) joined = JOINED(so_far, LOADV(X_T, w, x, at));                                            \
      STOREV(X_T, w, EXCLUSIVE ? so_far : joined, y, at);                                                              \
      so_far = joined;                                                                                                 \
    }                                                                                                                  \
  } while (0)

RANGE_KERNEL cumulative(__global const STORAGE(X_T) *x, const long x_at, __global STORAGE(X_T) *y, const long y_at,
                        const int outer, const int n, const int inner) {
  const int chunks = (inner + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long o = item / chunks;
  if (o >= outer) return;
  x += x_at + o * n * inner;
  y += y_at + o * n * inner;
  if (begin + VW <= inner)
    COLUMNS(VW, begin);
  else
    for (int i = begin; i < inner; i++) COLUMNS(1, i);
}
