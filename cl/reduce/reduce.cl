/* reduce/reduce.cl: reductions along one axis.
 *
 * x is treated as (outer, n, inner) and reduced over n > 0. With one chunk y is the result, (outer, 1, inner). So that
 * few long rows can fill a device, n can be divided into `chunks` parts of `chunk` elements. y is then (outer, chunks,
 * inner), and a second launch with n = chunks computes the result.
 *
 *   KIND    0: sum; 1: max; 2: argmax, only with one chunk. For max and argmax a NaN is larger than all numbers. If
 *           several elements are equal, argmax gives the first
 *   X_T     type of x; sums are computed in COMPUTE(X_T)
 *   Y_T     type of y
 *   VW      elements per vector
 *   SHARED  reduce_rows: 0, for the CPU class: a work-item reduces a chunk with UNROLL vectors. 1, for the GPU class: a
 *           group of GROUP work-items reduces a chunk and combines its partial results in local memory
 *
 *   reduce_rows      for inner = 1; global size (chunks, outer), times GROUP in the first dimension with SHARED 1
 *   reduce_columns   for inner > 1; global size (ceil(inner / VW), chunks, outer), in groups of 32 with SHARED 1. A
 *                    work-item reduces VW columns of a chunk
 *
 * The order of every sum depends only on sizes and parameters, so results are the same from run to run. */
#include "common/cast.clh"

#include "common/combine.clh"
#include "common/group.clh"

#define UNROLL 4
#define VALUE(w) COMPUTEV(X_T, w)
#define INDEX(w) COMBINE_INT(X_T, w)
#define ABOVE(w, a, b) ((INDEX(w))(COMBINE_OVER(a, b)))

/* TAKE combines the state (acc, at) with the value v at index i, which must be after all earlier indices; if values are
 * equal, the first one stays. MERGE combines two states, (acc, at) and (v, i), in any order of their indices. */
#if KIND == 0
#define TAKE(w, acc, at, v, i) acc += (v)
#define MERGE(acc, at, v, i) acc += (v)
#elif KIND == 1
#define TAKE(w, acc, at, v, i) acc = select(acc, v, ABOVE(w, v, acc))
#define MERGE(acc, at, v, i) TAKE(1, acc, at, v, i)
#else
#define TAKE(w, acc, at, v, i)                                                                                         \
  do {                                                                                                                 \
    const INDEX(w) above_ = ABOVE(w, v, acc);                                                                          \
    acc = select(acc, v, above_);                                                                                      \
    at = select(at, i, above_);                                                                                        \
  } while (0)
#define MERGE(acc, at, v, i)                                                                                           \
  do {                                                                                                                 \
    if (ABOVE(1, v, acc) || (!ABOVE(1, acc, v) && (i) < at)) {                                                         \
      acc = (v);                                                                                                       \
      at = (i);                                                                                                        \
    }                                                                                                                  \
  } while (0)
#endif

#if KIND == 2
#define PUT(w, acc, at, y, i) STOREV(Y_T, w, CAST(i64, Y_T, w, at), y, i)
#else
#define PUT(w, acc, at, y, i) STOREV(Y_T, w, CAST(X_T, Y_T, w, acc), y, i)
#endif

#if SHARED

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void reduce_rows(__global const STORAGE(X_T) * x,
                                                                             const long x_at, __global STORAGE(Y_T) * y,
                                                                             const long y_at, const int n,
                                                                             const int inner, const int chunk) {
  __local VALUE(1) values[GROUP];
  __local INDEX(1) indices[GROUP];
  const int me = get_local_id(0);
  const int begin = get_group_id(0) * chunk;
  const int count = min(chunk, n - begin);
  x += x_at + (long)get_group_id(1) * n;
  VALUE(1) acc = 0;
  INDEX(1) at = 0;
  if (me < count) {
    acc = LOAD(X_T, x, begin + me);
    at = begin + me;
  }
  for (int i = me + GROUP; i < count; i += GROUP) TAKE(1, acc, at, LOAD(X_T, x, begin + i), (INDEX(1))(begin + i));
  values[me] = acc;
  indices[me] = at;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_ = GROUP / 2; half_ > 0; half_ /= 2) {
    if (me < half_ && me + half_ < count) {
      MERGE(acc, at, values[me + half_], indices[me + half_]);
      values[me] = acc;
      indices[me] = at;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me == 0) PUT(1, acc, at, y, y_at + (long)get_group_id(1) * ((n + chunk - 1) / chunk) + get_group_id(0));
}

#else

CPU_KERNEL reduce_rows(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(Y_T) * y, const long y_at,
                       const int n, const int inner, const int chunk) {
  const int begin = get_global_id(0) * chunk;
  const int end = min(begin + chunk, n);
  x += x_at + (long)get_global_id(1) * n;
  VALUE(1) acc = LOAD(X_T, x, begin);
  INDEX(1) at = begin;
  int i = begin + 1;
  if (end - begin >= VW * UNROLL) {
    VALUE(1) lane_value[VW * UNROLL];
    INDEX(1) lane_index[VW * UNROLL];
    for (int lane = 0; lane < VW * UNROLL; lane++) lane_index[lane] = begin + lane;
    VALUE(VW) accs[UNROLL];
    INDEX(VW) ats[UNROLL], indices[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      accs[u] = LOADV(X_T, VW, x, begin + u * VW);
      indices[u] = ats[u] = MICA_VLOAD(VW, lane_index, u * VW);
    }
    for (i = begin + VW * UNROLL; i + VW * UNROLL <= end; i += VW * UNROLL) {
#pragma unroll
      for (int u = 0; u < UNROLL; u++) {
        indices[u] += VW * UNROLL;
        TAKE(VW, accs[u], ats[u], LOADV(X_T, VW, x, i + u * VW), indices[u]);
      }
    }
#pragma unroll
    for (int u = 0; u < UNROLL; u++) {
      MICA_VSTORE(VW, accs[u], lane_value, u * VW);
      MICA_VSTORE(VW, ats[u], lane_index, u * VW);
    }
    acc = lane_value[0];
    at = lane_index[0];
    for (int lane = 1; lane < VW * UNROLL; lane++) MERGE(acc, at, lane_value[lane], lane_index[lane]);
  }
  for (; i < end; i++) TAKE(1, acc, at, LOAD(X_T, x, i), (INDEX(1))i);
  PUT(1, acc, at, y, y_at + (long)get_global_id(1) * get_global_size(0) + get_global_id(0));
}

#endif

/* Reduces w columns of one chunk, from column c on. */
#define COLUMNS(w, c)                                                                                                  \
  do {                                                                                                                 \
    VALUE(w) acc = LOADV(X_T, w, x, (long)begin * inner + (c));                                                        \
    INDEX(w) at = begin;                                                                                               \
    for (int i = begin + 1; i < end; i++) TAKE(w, acc, at, LOADV(X_T, w, x, (long)i *inner + (c)), (INDEX(w))(i));     \
    PUT(w, acc, at, y, c);                                                                                             \
  } while (0)

__kernel __attribute__((reqd_work_group_size(SHARED ? 32 : 1, 1, 1))) void
reduce_columns(__global const STORAGE(X_T) * x, const long x_at, __global STORAGE(Y_T) * y, const long y_at,
               const int n, const int inner, const int chunk) {
  const int first = get_global_id(0) * VW;
  const int begin = get_global_id(1) * chunk;
  const int end = min(begin + chunk, n);
  x += x_at + (long)get_global_id(2) * n * inner;
  const long chunks = SHARED ? (n + chunk - 1) / chunk : (int)get_global_size(1);
  y += y_at + ((long)get_global_id(2) * chunks + get_global_id(1)) * inner;
  if (first + VW <= inner) {
    COLUMNS(VW, first);
  } else {
    for (int c = first; c < inner; c++) COLUMNS(1, c);
  }
}
