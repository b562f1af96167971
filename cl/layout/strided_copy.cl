/* layout/strided_copy.cl: y[y_from + i . ys] = x[x_from + i . xs] for every index i = (i_0, i_1, ...) of a space of
 * RANK dimensions with extents e0 ... e<RANK-1>. i . s is the sum of i_k s_k. The bits are not changed.
 *
 *   X_T    an integer type of the elements' size
 *   RANK   the number of dimensions
 *   UNIT   1: the last dimension has stride 1 in x and in y, so that vectors are copied
 *   VW     elements along the last dimension that a work-item copies
 *   GROUP  work-items of a group, along the last dimension
 *   FLAT   1, for the GPU class: the launch copies `rows` rows, from row `row` on. A row is the elements along the last
 *          dimension. NDRange: one dimension of rows * ceil(e<RANK-1> / VW) work-items
 *          0: NDRange: ceil(e<RANK-1> / VW) work-items by the product of the other extents; `row` is 0
 *
 * Work-group: (GROUP, 1, 1). Strides may be negative. No element of y may be written twice, and elements of y must not
 * overlap elements that are read. */
#include "common/dtype.clh"

#define DIMENSION(k) const int e##k, const long xs##k, const long ys##k
/* Computes the index in dimension k of a row from `rest`, the row's number, and adds its offsets to x_at and y_at.
 * `rest` becomes the number of the row in dimensions 0 .. k - 1. */
#define STEP(k)                                                                                                        \
  if (k < RANK - 1) {                                                                                                  \
    const int i_ = rest % e##k;                                                                                        \
    rest /= e##k;                                                                                                      \
    x_at += i_ * xs##k;                                                                                                \
    y_at += i_ * ys##k;                                                                                                \
  }
#define LAST(name) MICA_PASTE(name, LAST_DIMENSION)
#if RANK == 1
#define LAST_DIMENSION 0
#elif RANK == 2
#define LAST_DIMENSION 1
#elif RANK == 3
#define LAST_DIMENSION 2
#elif RANK == 4
#define LAST_DIMENSION 3
#elif RANK == 5
#define LAST_DIMENSION 4
#elif RANK == 6
#define LAST_DIMENSION 5
#elif RANK == 7
#define LAST_DIMENSION 6
#else
#define LAST_DIMENSION 7
#endif

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void strided_copy(
    __global const STORAGE(X_T) *x, long x_at, __global STORAGE(X_T) *y, long y_at, const long x_from,
    const long y_from, DIMENSION(0), DIMENSION(1), DIMENSION(2), DIMENSION(3), DIMENSION(4), DIMENSION(5), DIMENSION(6),
    DIMENSION(7), const int row, const int rows) {
#if FLAT
  const uint item = get_global_id(0), steps = (LAST(e) - 1) / VW + 1;
  if (item / steps >= (uint)rows) return;
  int rest = row + (int)(item / steps);
  const int begin = (int)(item % steps) * VW;
#else
  int rest = get_global_id(1);
  const int begin = get_global_id(0) * VW;
#endif
  const int end = min(begin + VW, LAST(e));
  x_at += x_from;
  y_at += y_from;
  STEP(6) STEP(5) STEP(4) STEP(3) STEP(2) STEP(1) STEP(0)
#if UNIT
  if (end == begin + VW) {
    MICA_PASTE(vstore, VW)(MICA_PASTE(vload, VW)(0, x + x_at + begin), 0, y + y_at + begin);
    return;
  }
#endif
  for (int i = begin; i < end; i++) y[y_at + i * LAST(ys)] = x[x_at + i * LAST(xs)];
}
