/* index/scatter.cl: y[o, v, i] = x[o, v, i] combined with every u[o, j, i] whose index is v, in order of j; without
 * an x it starts from 0. Indices out of range are ignored.
 *
 * y and x are (outer, n, inner), u (outer, m, inner).
 *
 *   scatter_rows       an index for every j, sorted by order.cl into start and order
 *   scatter_elements   indices (outer, m, inner), an index for every element of u
 *
 *   U_T    type of x, u and y; sums are taken in COMPUTE(U_T)
 *   I_T    type of the indices, i32 or i64 (scatter_elements)
 *   JOIN   0 the last one wins, 1 sum, 2 product, 3 largest, 4 smallest
 *   BASE   1: there is an x; 2: in place, x is y: elements that no index names are not written
 *   VW     elements along `inner` a work-item makes (scatter_rows)
 *
 * One dimension of outer * n * ceil(inner / VW) work-items (VW counts as 1 for scatter_elements). Every
 * element of y is written once: the order of every sum depends on the indices alone. */
#include "common/group.clh"
#include "index/index.clh"

#ifndef U_T
#define U_T f32
#endif
#ifndef I_T
#define I_T i64
#endif
#ifndef JOIN
#define JOIN 1
#endif
#ifndef BASE
#define BASE 0
#endif
#ifndef VW
#define VW 4
#endif

#if JOIN == 0
#define JOINED(a, b) (b)
#elif JOIN == 1
#define JOINED(a, b) ((a) + (b))
#elif JOIN == 2
#define JOINED(a, b) ((a) * (b))
#elif JOIN == 3
#define JOINED(a, b) max(a, b)
#else
#define JOINED(a, b) min(a, b)
#endif

#if BASE
#define FIRST(w, x, i) LOADV(U_T, w, x, i)
#else
#define FIRST(w, x, i) ((COMPUTEV(U_T, w))(0))
#endif

#define ROW(w, i)                                                                                                      \
  do {                                                                                                                 \
    COMPUTEV(U_T, w) sum = FIRST(w, x, y_row + (i));                                                                   \
    for (int k = from; k < to; k++) {                                                                                  \
      const COMPUTEV(U_T, w) next = LOADV(U_T, w, u, (o * m + order[k]) * inner + (i));                                \
      sum = JOINED(sum, next);                                                                                         \
    }                                                                                                                  \
    STOREV(U_T, w, sum, y, y_row + (i));                                                                               \
  } while (0)

RANGE_KERNEL scatter_rows(__global const STORAGE(U_T) * x, const long x_at, __global const STORAGE(U_T) * u,
                          const long u_at, __global STORAGE(U_T) * y, const long y_at, __global const int *start,
                          const long start_at, __global const int *order, const long order_at, const int outer,
                          const int n, const int m, const int inner) {
  const int chunks = (inner + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long row = item / chunks;
  const long o = row / n;
  const int v = (int)(row % n);
  if (o >= outer) return;
  const long y_row = row * inner;
  const int from = start[start_at + v], to = start[start_at + v + 1];
#if BASE == 2
  if (from == to) return;
#endif
  x += x_at;
  u += u_at;
  y += y_at;
  order += order_at;
  if (begin + VW <= inner)
    ROW(VW, begin);
  else
    for (int i = begin; i < inner; i++) ROW(1, i);
}

RANGE_KERNEL scatter_elements(__global const STORAGE(U_T) * x, const long x_at, __global const STORAGE(U_T) * u,
                              const long u_at, __global STORAGE(U_T) * y, const long y_at,
                              __global const STORAGE(I_T) * indices, const long indices_at, const int outer,
                              const int n, const int m, const int inner) {
  const long item = get_global_id(0);
  const long o = item / inner / n;
  const int v = (int)(item / inner % n), i = (int)(item % inner);
  if (o >= outer) return;
  COMPUTE(U_T) sum = FIRST(1, x, x_at + item);
  bool named = BASE != 2;
  for (int j = 0; j < m; j++) {
    const long element = (o * m + j) * inner + i;
    if (INDEX(I_T, indices, indices_at + element, n) == v) {
      const COMPUTE(U_T) next = LOAD(U_T, u, u_at + element);
      sum = JOINED(sum, next);
      named = true;
    }
  }
  if (named) STORE(U_T, sum, y, y_at + item);
}
