/* sort/cpu/radix.cl: one pass of a stable radix sort, for CPUs. A pass sorts by one digit, 8 bits of the keys from bit
 * `shift` on. One work-item per block of a row.
 *
 * Keys, and the order that is sorted with them, are (rows, n). A row is divided into `blocks` blocks of `size`
 * elements; the last block may be smaller. A pass has three launches, which share starts (rows, 256, blocks):
 *   radix_count                   starts = the number of keys in a block that have a digit
 *   radix_scan (sort/scan.cl)     starts = the slot in the sorted row of the first of these keys
 *   radix_scatter                 copies keys and order to their slots
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
