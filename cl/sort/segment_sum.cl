/* sort/segment_sum.cl: y[s, i] = the sum of x[j, i] over all j with segments[j] = s, in ascending order of j.
 *
 * x is (m, inner), y is (count, inner). segments are m numbers in ascending order; those outside of 0 .. count - 1 are
 * ignored. A work-item finds the first j of its segment by binary search and continues to the end of the segment.
 *
 *   X_T   type of x and y; sums are computed in COMPUTE(X_T)
 *   I_T   type of segments, i32 or i64
 *   VW    elements along `inner` that a work-item computes
 *
 * One dimension of count * ceil(inner / VW) work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

#define ROW(w, i)                                                                                                      \
  do {                                                                                                                 \
    COMPUTEV(X_T, w) sum = (COMPUTEV(X_T, w))(0);                                                                      \
    for (int j = from; j < m && LOAD(I_T, segments, j) == s; j++) sum += LOADV(X_T, w, x, (long)j * inner + (i));      \
    STOREV(X_T, w, sum, y, s *inner + (i));                                                                            \
  } while (0)

RANGE_KERNEL segment_sum(__global const STORAGE(X_T) * x, const long x_at, __global const STORAGE(I_T) * segments,
                         const long segments_at, __global STORAGE(X_T) * y, const long y_at, const int m,
                         const int count, const int inner) {
  const int chunks = (inner + VW - 1) / VW;
  const long item = get_global_id(0);
  const int begin = (int)(item % chunks) * VW;
  const long s = item / chunks;
  if (s >= count) return;
  x += x_at;
  segments += segments_at;
  y += y_at;
  int from = 0;
  for (int to = m; from < to;) {
    const int middle = from + (to - from) / 2;
    if (LOAD(I_T, segments, middle) < s)
      from = middle + 1;
    else
      to = middle;
  }
  if (begin + VW <= inner)
    ROW(VW, begin);
  else
    for (int i = begin; i < inner; i++) ROW(1, i);
}
