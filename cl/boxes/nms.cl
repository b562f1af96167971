/* boxes/nms.cl: greedy non-maximum suppression. Each of `rows` rows has n boxes, and `order`, their indices by
 * descending score (sort/order.cl). In this order a box is kept unless a box that was kept before overlaps it by more
 * than the threshold:
 *
 *   kept[row, k] = index of the k-th kept box, k < most; -1 after the last one
 *   count[row] = the number of kept boxes, at most `most`
 *
 * A box whose score is not above `least`, or is NaN, is never kept. A box suppresses only boxes of its own class. The
 * overlap of a and b is intersection / (area a + area b - intersection); 0 / 0 suppresses nothing.
 *
 *   nms_serial    one work-item per row compares each box with the boxes kept so far
 *   nms_pairs     removes[row, i, w]: bit b is set if box i of the order would suppress box j = 32 w + b, for j > i
 *   nms_collect   one work-group per row processes the order 32 boxes at a time. Its first work-item decides which of
 *                 them are kept. Then all work-items set the bits of the later boxes that these suppress in `gone`
 *                 (scratch, `words` words per row)
 *
 *   B_T, S_T   types of boxes and scores; overlaps are computed in COMPUTE(B_T)
 *   C_T        type of the classes, i32 or i64
 *   CLASSES    1: boxes have classes; 0: all boxes are of one class
 *   CENTERS    0: boxes are two opposite corners x y x y; 1: centre x y, width, height
 *   KEPT       1: nms_collect writes `kept`
 *   COUNT      1: `count` is written
 *   GROUP      work-items of a group (nms_collect)
 *
 * One dimension of rows (nms_serial), rows * n * words (nms_pairs), rows * GROUP (nms_collect) work-items; words =
 * ceil(n / 32). */
#include "common/dtype.clh"
#include "common/group.clh"

#ifndef B_T
#define B_T f32
#endif
#ifndef S_T
#define S_T f32
#endif
#ifndef C_T
#define C_T i64
#endif
#ifndef CLASSES
#define CLASSES 0
#endif
#ifndef CENTERS
#define CENTERS 0
#endif
#ifndef KEPT
#define KEPT 1
#endif
#ifndef COUNT
#define COUNT 1
#endif
#ifndef GROUP
#define GROUP 64
#endif

typedef COMPUTEV(B_T, 4) box; /* x0 y0 x1 y1 with x0 <= x1, y0 <= y1 */

static inline box load_box(__global const STORAGE(B_T) * p, const long i) {
  const box b = LOADV(B_T, 4, p, i * 4);
#if CENTERS
  const COMPUTEV(B_T, 2) half_size = fabs(b.s23) / 2;
  return (box)(b.s01 - half_size, b.s01 + half_size);
#else
  return (box)(fmin(b.s01, b.s23), fmax(b.s01, b.s23));
#endif
}

static inline COMPUTE(B_T) area(const box b) { return (b.s2 - b.s0) * (b.s3 - b.s1); }

static inline bool overlap(const box a, const box b, const COMPUTE(B_T) threshold) {
  const COMPUTE(B_T) width = fmin(a.s2, b.s2) - fmax(a.s0, b.s0), height = fmin(a.s3, b.s3) - fmax(a.s1, b.s1);
  const COMPUTE(B_T) both = width > 0 && height > 0 ? width * height : 0;
  return both > threshold * (area(a) + area(b) - both);
}

#if CLASSES
#define SAME_CLASS(i, j) (LOAD(C_T, classes, i) == LOAD(C_T, classes, j))
#else
#define SAME_CLASS(i, j) true
#endif

CPU_KERNEL nms_serial(__global const STORAGE(B_T) * boxes, const long boxes_at, __global const STORAGE(S_T) * scores,
                      const long scores_at, __global const STORAGE(C_T) * classes, const long classes_at,
                      __global const int *order, const long order_at, __global int *kept, const long kept_at,
                      __global int *count, const long count_at, const int n, const int most,
                      const COMPUTE(B_T) threshold, const COMPUTE(S_T) least) {
  const long row = get_global_id(0);
  boxes += boxes_at + row * n * 4;
  scores += scores_at + row * n;
  classes += classes_at + (CLASSES ? row * n : 0);
  order += order_at + row * n;
  kept += kept_at + row * most;
  int found = 0;
  for (int i = 0; i < n && found < most; i++) {
    const int at = order[i];
    const box own = load_box(boxes, at);
    bool stays = LOAD(S_T, scores, at) > least;
    for (int k = 0; k < found && stays; k++) {
      const int other = kept[k];
      stays = !(SAME_CLASS(at, other) && overlap(load_box(boxes, other), own, threshold));
    }
    if (stays) kept[found++] = at;
  }
  for (int k = found; k < most; k++) kept[k] = -1;
#if COUNT
  count[count_at + row] = found;
#endif
}

RANGE_KERNEL nms_pairs(__global const STORAGE(B_T) * boxes, const long boxes_at, __global const STORAGE(C_T) * classes,
                       const long classes_at, __global const int *order, const long order_at, __global uint *removes,
                       const long removes_at, const int rows, const int n, const int words,
                       const COMPUTE(B_T) threshold) {
  const long item = get_global_id(0);
  const int w = (int)(item % words), i = (int)(item / words % n);
  const long row = item / words / n;
  if (row >= rows) return;
  boxes += boxes_at + row * n * 4;
  classes += classes_at + (CLASSES ? row * n : 0);
  order += order_at + row * n;
  const int at = order[i];
  const box own = load_box(boxes, at);
  uint bits = 0;
  for (int j = max(32 * w, i + 1); j < min(n, 32 * w + 32); j++) {
    const int other = order[j];
    if (SAME_CLASS(at, other) && overlap(own, load_box(boxes, other), threshold)) bits |= 1u << (j - 32 * w);
  }
  removes[removes_at + item] = bits;
}

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void nms_collect(
    __global const STORAGE(S_T) * scores, const long scores_at, __global const int *order, const long order_at,
    __global const uint *removes, const long removes_at, __global uint *gone, const long gone_at, __global int *kept,
    const long kept_at, __global int *count, const long count_at, const int n, const int words, const int most,
    const COMPUTE(S_T) least) {
  const long row = get_group_id(0);
  const int item = get_local_id(0);
  scores += scores_at + row * n;
  order += order_at + row * n;
  removes += removes_at + row * n * words;
  gone += gone_at + row * words;
  kept += kept_at + row * most;
  __local int found;
  __local uint chosen;
  if (item == 0) found = 0;
  for (int w = item; w < words; w += GROUP) gone[w] = 0;
  for (int w = 0; w < words; w++) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    if (item == 0) {
      uint dead = gone[w], stay = 0;
      int k = found;
      for (int b = 0; b < 32 && 32 * w + b < n && k < most; b++) {
        const int i = 32 * w + b, at = order[i];
        if ((dead >> b & 1) || !(LOAD(S_T, scores, at) > least)) continue;
        stay |= 1u << b;
        dead |= removes[(long)i * words + w];
#if KEPT
        kept[k] = at;
#endif
        k++;
      }
      found = k;
      chosen = stay;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint stay = chosen;
    for (int v = w + 1 + item; v < words; v += GROUP) {
      uint bits = gone[v];
      for (int b = 0; b < 32; b++)
        if (stay >> b & 1) bits |= removes[(32L * w + b) * words + v];
      gone[v] = bits;
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
#if KEPT
  for (int k = found + item; k < most; k += GROUP) kept[k] = -1;
#endif
#if COUNT
  if (item == 0) count[count_at + row] = found;
#endif
}
