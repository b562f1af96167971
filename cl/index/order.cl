/* index/order.cl: positions grouped by their index: a stable counting sort without atomics.
 *
 *   start[v]   how many indices are below v, 0 <= v <= n
 *   order[k]   for start[v] <= k < start[v + 1] the positions j with indices[j] = v, in rising order; positions of
 *              indices out of range come last
 *
 * indices has m elements; start n + 2 (the last element is scratch), order m.
 *
 *   I_T   type of the indices, i32 or i64
 *
 * order_serial   one work-item does it all, in n + 2 m steps: for devices of the CPU class.
 * order_starts   n + 1 work-items, each counting through the indices: for devices of many work-items.
 * order_scatter   m work-items, after order_starts, each counting its equals before it. */
#include "common/group.clh"
#include "index/index.clh"

#ifndef I_T
#define I_T i64
#endif

CPU_KERNEL order_serial(__global const STORAGE(I_T) * indices, const long indices_at, __global int *start,
                        const long start_at, __global int *order, const long order_at, const int n, const int m) {
  indices += indices_at;
  start += start_at;
  order += order_at;
  /* Counts are shifted by two: after the prefix sums start[v + 1] is the slot of v's next position, in the end the
   * start of v + 1. */
  for (int v = 0; v < n + 2; v++) start[v] = 0;
  for (int j = 0; j < m; j++) {
    const long v = INDEX(I_T, indices, j, n);
    if (v < n) start[v + 2]++;
  }
  for (int v = 2; v < n + 2; v++) start[v] += start[v - 1];
  int outside = start[n + 1];
  for (int j = 0; j < m; j++) {
    const long v = INDEX(I_T, indices, j, n);
    order[v < n ? start[v + 1]++ : outside++] = j;
  }
}

RANGE_KERNEL order_starts(__global const STORAGE(I_T) * indices, const long indices_at, __global int *start,
                          const long start_at, __global int *order, const long order_at, const int n, const int m) {
  const int v = get_global_id(0);
  int below = 0;
  if (v > n) return;
  for (int j = 0; j < m; j++) below += INDEX(I_T, indices, indices_at + j, n) < v;
  start[start_at + v] = below;
}

RANGE_KERNEL order_scatter(__global const STORAGE(I_T) * indices, const long indices_at, __global int *start,
                           const long start_at, __global int *order, const long order_at, const int n, const int m) {
  const int j = get_global_id(0);
  if (j >= m) return;
  const long v = INDEX(I_T, indices, indices_at + j, n);
  int slot = start[start_at + v];
  for (int k = 0; k < j; k++) slot += INDEX(I_T, indices, indices_at + k, n) == v;
  order[order_at + slot] = j;
}
