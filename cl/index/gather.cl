/* index/gather.cl: y[o, j, i] = x[o, k, i], or 0 if k is out of range. k is indices[j], or with ELEMENTS 1 indices[o,
 * j, i]; a negative k counts from the end.
 *
 * x is (outer, n, inner), y (outer, m, inner), indices (m) or (outer, m, inner).
 *
 *   X_T        type of x and y
 *   I_T        type of the indices, i32 or i64
 *   ELEMENTS   1: an index for every element
 *   VW         elements along `inner` that a work-item copies
 *   AHEAD      a work-item prefetches the row that is needed AHEAD rows after the one it copies; 0: no prefetch. Rows
 *              of large tables are not in a cache, and without prefetches a core waits for each of them
 *
 * One dimension of outer * m * ceil(inner / VW) work-items. */
#include "common/group.clh"
#include "common/cpu/prefetch.clh"
#include "index/index.clh"

RANGE_KERNEL gather(__global const STORAGE(X_T) * x, const long x_at, __global const STORAGE(I_T) * indices,
                    const long indices_at, __global STORAGE(X_T) * y, const long y_at, const int outer, const int n,
                    const int m, const int inner) {
  const int chunks = (inner + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long row = item / chunks;
  const int j = (int)(row % m);
  const long o = row / m;
  if (o >= outer) return;
  x += x_at + o * n * inner;
  y += y_at + row * inner;
  indices += indices_at;
#if ELEMENTS
  for (int i = begin; i < min(begin + VW, inner); i++) {
    const long k = INDEX(I_T, indices, row * inner + i, n);
    STORE(X_T, k < n ? LOAD(X_T, x, k * inner + i) : 0, y, i);
  }
#else
  const long k = INDEX(I_T, indices, j, n);
#if AHEAD
  if (j + AHEAD < m) PREFETCH_READ(x + INDEX(I_T, indices, j + AHEAD, n) * inner + begin);
#endif
  if (k < n && begin + VW <= inner) {
    STOREV(X_T, VW, LOADV(X_T, VW, x, k * inner + begin), y, begin);
  } else {
    for (int i = begin; i < min(begin + VW, inner); i++) STORE(X_T, k < n ? LOAD(X_T, x, k * inner + i) : 0, y, i);
  }
#endif
}
