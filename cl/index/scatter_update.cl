/* index/scatter_update.cl: combines (JOIN) y[o, v, i], in place, with every u[o, j, i] whose index is v, in ascending
 * order of j. Only elements of y that have an index are read and written. A negative index counts from the end; indices
 * out of range are ignored.
 *
 * y is (outer, n, inner), u (outer, m, inner). There is one index per j, (m), or with EACH one per element of u,
 * (outer, m, inner).
 *
 *   U_T    type of u and y; sums are taken in COMPUTE(U_T)
 *   I_T    type of the indices, i32 or i64
 *   JOIN   0: the last element of u replaces y; 1: sum; 2: product; 3: largest; 4: smallest
 *   EACH   1: one index per element of u; VW is then ignored and taken as 1
 *   FIND   how equal indices are found. 0: each index is compared with all others, for few indices. 1: no two indices
 *          are equal. 2: by `order`, the positions j sorted by their indices (sort/order.cl), (m), or with EACH (outer
 *          inner, m)
 *   VW     elements along `inner` that a work-item computes
 *
 * One dimension of outer * m * ceil(inner / VW) work-items. If several indices are equal, the work-item of the first
 * combines all their elements, so that the order of a sum depends only on the indices. */
#include "common/group.clh"
#include "index/index.clh"

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

#if EACH
#define WIDTH 1
#define INDEX_OF(k) INDEX(I_T, indices, (o * m + (k)) * inner + begin, n)
#else
#define WIDTH VW
#define INDEX_OF(k) INDEX(I_T, indices, k, n)
#endif

/* The position j that is tried k-th. */
#if FIND == 2
#define POSITION(k) order[k]
#else
#define POSITION(k) (k)
#endif

#if FIND == 0
#define MORE(k) ((k) < m)
#define TAKES(k) (INDEX_OF(k) == v)
#elif FIND == 1
#define MORE(k) ((k) == first)
#define TAKES(k) true
#else
#define MORE(k) ((k) < m && INDEX_OF(order[k]) == v)
#define TAKES(k) true
#endif

#define ROW(w, i)                                                                                                      \
  do {                                                                                                                 \
    COMPUTEV(U_T, w) sum = LOADV(U_T, w, y, y_first + (i));                                                            \
    for (int k = first; MORE(k); k++) {                                                                                \
      if (!TAKES(k)) continue;                                                                                         \
      const COMPUTEV(U_T, w) next = LOADV(U_T, w, u, (o * m + POSITION(k)) * inner + (i));                             \
      sum = JOINED(sum, next);                                                                                         \
    }                                                                                                                  \
    STOREV(U_T, w, sum, y, y_first + (i));                                                                             \
  } while (0)

RANGE_KERNEL scatter_update(__global const STORAGE(U_T) * u, const long u_at, __global STORAGE(U_T) * y,
                            const long y_at, __global const STORAGE(I_T) * indices, const long indices_at,
                            __global const int *order, const long order_at, const int outer, const int n, const int m,
                            const int inner) {
  const int chunks = (inner + WIDTH - 1) / WIDTH;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * WIDTH;
  const long row = item / chunks;
  const long o = row / m;
  const int first = (int)(row % m);
  if (o >= outer) return;
  u += u_at;
  y += y_at;
  indices += indices_at;
#if FIND == 2
  order += order_at + (EACH ? (o * inner + begin) * m : 0);
#endif
  const long v = INDEX_OF(POSITION(first));
  bool alone = v < n;
#if FIND == 0
  for (int k = 0; k < first && alone; k++) alone = INDEX_OF(k) != v;
#elif FIND == 2
  alone = alone && (first == 0 || INDEX_OF(order[first - 1]) != v);
#endif
  if (!alone) return;
  const long y_first = (o * n + v) * inner;
  if (begin + WIDTH <= inner)
    ROW(WIDTH, begin);
  else
    for (int i = begin; i < inner; i++) ROW(1, i);
}
