/* sort/unique.cl: the different elements of x in rising order, from the order of sort/order.cl.
 *
 *   values[u] = the u-th different element, inverse[j] = u where x[j] is values[u], count[0] = how many there are
 *
 * An element is new if its key differs from the key before it in the order. x, order and inverse have n elements,
 * values at least count[0]. The order is cut into `blocks` blocks of `size` elements: unique_count writes the number of
 * new elements of each block to starts (blocks + 1, the last 0); radix_scan turns them into the number of new elements
 * in the blocks before.
 *
 *   X_T, KEY_BYTES   as in sort/key.clh, whose KIND is 0
 *   VALUES, INVERSE, COUNT   1: they are written
 *
 * One dimension of blocks + 1 work-items (unique_count), of blocks (unique_write). */
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
