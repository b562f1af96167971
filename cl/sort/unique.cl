/* sort/unique.cl: the distinct elements of x in ascending order.
 *
 *   values[u]    the u-th distinct element
 *   inverse[j]   the u for which values[u] is equal to x[j]
 *   count[0]     the number of distinct elements
 *
 * x, order and inverse have n elements, values at least count[0]. `order` is the sorted order of x (sort/order.cl). An
 * element is new if its key differs from the key before it in this order. The order is divided into `blocks` blocks of
 * `size` elements. There are three launches, which share starts (blocks + 1):
 *   unique_count                  starts[b] = the number of new elements in block b; starts[blocks] = 0
 *   radix_scan (sort/scan.cl)     starts[b] = the number of new elements in all blocks before b
 *   unique_write                  writes the results
 *
 *   X_T, KEY_BYTES   as in sort/key.clh, with KIND 0
 *   VALUES, INVERSE, COUNT   1: this result is written
 *
 * One dimension of blocks + 1 work-items (unique_count), or of blocks (unique_write). */
#include "common/group.clh"
#include "sort/key.clh"

#ifndef VALUES
#define VALUES 1
#endif
#ifndef INVERSE
#define INVERSE 1
#endif
#ifndef COUNT
#define COUNT 1
#endif

RANGE_KERNEL unique_count(__global const STORAGE(X_T) * x, const long x_at, __global const int *order,
                          const long order_at, __global int *starts, const long starts_at, const int n,
                          const int blocks, const int size) {
  const int block = get_global_id(0);
  if (block > blocks) return;
  const int from = block < blocks ? block * size : n, to = min(n, from + size);
  x += x_at;
  order += order_at;
  int count = 0;
  KEY_T last = from > 0 && from < n ? KEY(x, order[from - 1]) : 0;
  for (int i = from; i < to; i++) {
    const KEY_T key = KEY(x, order[i]);
    count += i == 0 || key != last;
    last = key;
  }
  starts[starts_at + block] = count;
}

RANGE_KERNEL unique_write(__global const STORAGE(X_T) * x, const long x_at, __global const int *order,
                          const long order_at, __global const int *starts, const long starts_at,
                          __global STORAGE(X_T) * values, const long values_at, __global int *inverse,
                          const long inverse_at, __global int *count, const long count_at, const int n,
                          const int blocks, const int size) {
  const int block = get_global_id(0);
  if (block >= blocks) return;
  const int from = block * size, to = min(n, from + size);
  x += x_at;
  order += order_at;
  starts += starts_at;
  int next = starts[block];
  KEY_T last = from > 0 ? KEY(x, order[from - 1]) : 0;
  for (int i = from; i < to; i++) {
    const int j = order[i];
    const KEY_T key = KEY(x, j);
    if (i == 0 || key != last) {
#if VALUES
      STORE(X_T, LOAD(X_T, x, j), values, values_at + next);
#endif
      next++;
    }
#if INVERSE
    inverse[inverse_at + j] = next - 1;
#endif
    last = key;
  }
#if COUNT
  if (block == 0) count[count_at] = starts[blocks];
#endif
}
