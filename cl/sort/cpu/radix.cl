/* sort/cpu/radix.cl: a pass of a stable radix sort over 8 bits of the keys, for CPUs: one work-item per block of a row.
 *
 * Keys and the order that goes with them are (rows, n). A row is cut into `blocks` blocks of `size` elements (the last
 * one of fewer). After radix_count, starts (rows, 256, blocks) has how many keys of a block have a digit, after
 * radix_scan (sort/scan.cl) the slot of the first of them in the row, where radix_scatter puts them in their order.
 *
 *   KEY_BYTES   4 or 8
 *
 * One dimension of rows * blocks work-items. */
#include "common/group.clh"

#if KEY_BYTES == 8
#define KEY_T ulong
#else
#define KEY_T uint
#endif

#define DIGITS 256
#define DIGIT(key) ((int)((key) >> shift) & (DIGITS - 1))

CPU_KERNEL radix_count(__global const KEY_T *keys, const long keys_at, __global int *starts, const long starts_at,
                       const int n, const int blocks, const int size, const int shift) {
  const long row = get_global_id(0) / blocks;
  const int block = (int)(get_global_id(0) % blocks);
  const int from = block * size, to = min(n, from + size);
  int counts[DIGITS];
  for (int d = 0; d < DIGITS; d++) counts[d] = 0;
  keys += keys_at + row * n;
  for (int i = from; i < to; i++) counts[DIGIT(keys[i])]++;
  starts += starts_at + row * DIGITS * blocks + block;
  for (int d = 0; d < DIGITS; d++) starts[(long)d * blocks] = counts[d];
}

CPU_KERNEL radix_scatter(__global const KEY_T *keys, const long keys_at, __global const int *order, const long order_at,
                         __global KEY_T *keys_to, const long keys_to_at, __global int *order_to, const long order_to_at,
                         __global const int *starts, const long starts_at, const int n, const int blocks,
                         const int size, const int shift) {
  const long row = get_global_id(0) / blocks;
  const int block = (int)(get_global_id(0) % blocks);
  const int from = block * size, to = min(n, from + size);
  int next[DIGITS];
  starts += starts_at + row * DIGITS * blocks + block;
  for (int d = 0; d < DIGITS; d++) next[d] = starts[(long)d * blocks];
  keys += keys_at + row * n;
  order += order_at + row * n;
  keys_to += keys_to_at + row * n;
  order_to += order_to_at + row * n;
  for (int i = from; i < to; i++) {
    const KEY_T key = keys[i];
    const int slot = next[DIGIT(key)]++;
    keys_to[slot] = key;
    order_to[slot] = order[i];
  }
}
