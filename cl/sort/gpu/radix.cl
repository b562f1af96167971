/* sort/gpu/radix.cl: sort/cpu/radix.cl for GPUs. A pass sorts by 4 bits of the keys, with one group per block of GROUP
 * * EACH elements.
 *
 * The arrays are those of sort/cpu/radix.cl, with 16 digits. In the scatter a work-item takes EACH adjacent elements
 * and counts their digits in local memory. An exclusive scan of these counters, in the order of digits and then of
 * work-items, gives the rank of a work-item's first element of each digit in the sorted block.
 *
 *   KEY_BYTES   4 or 8
 *   GROUP       work-items of a group
 *   EACH        elements per work-item
 *
 * One dimension of rows * blocks * GROUP work-items. */
#if KEY_BYTES == 8
#define KEY_T ulong
#else
#define KEY_T uint
#endif

#define DIGITS 16
#define DIGIT(key) ((int)((key) >> shift) & (DIGITS - 1))
#define GROUP_KERNEL __kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void

/* The number of work-items that add up the counters of one digit: item d * PARTS + p adds up part p of digit d. */
#define PARTS (GROUP / DIGITS)

GROUP_KERNEL radix_count_gpu(__global const KEY_T *keys, const long keys_at, __global int *starts, const long starts_at,
                             const int n, const int blocks, const int shift) {
  __local int counters[DIGITS * GROUP], sums[GROUP];
  const long row = get_group_id(0) / blocks;
  const int block = (int)(get_group_id(0) % blocks), item = get_local_id(0);
  const int first = block * GROUP * EACH;
  for (int d = 0; d < DIGITS; d++) counters[d * GROUP + item] = 0;
  keys += keys_at + row * n;
  /* For the counts the order of elements does not matter, so neighbouring work-items read neighbouring elements. */
  for (int e = 0; e < EACH; e++) {
    const int i = first + e * GROUP + item;
    if (i < n) counters[DIGIT(keys[i]) * GROUP + item]++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  int sum = 0;
  for (int k = 0; k < DIGITS; k++) sum += counters[item * DIGITS + k];
  sums[item] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (item < DIGITS) {
    sum = 0;
    for (int p = 0; p < PARTS; p++) sum += sums[item * PARTS + p];
    starts[starts_at + (row * DIGITS + item) * blocks + block] = sum;
  }
}

GROUP_KERNEL radix_scatter_gpu(__global const KEY_T *keys, const long keys_at, __global const int *order,
                               const long order_at, __global KEY_T *keys_to, const long keys_to_at,
                               __global int *order_to, const long order_to_at, __global const int *starts,
                               const long starts_at, const int n, const int blocks, const int shift) {
  __local int counters[DIGITS * GROUP], sums[GROUP];
  const long row = get_group_id(0) / blocks;
  const int block = (int)(get_group_id(0) % blocks), item = get_local_id(0);
  const int first = (block * GROUP + item) * EACH;
  KEY_T own[EACH];
  int slots[EACH];
  for (int d = 0; d < DIGITS; d++) counters[d * GROUP + item] = 0;
  keys += keys_at + row * n;
  order += order_at + row * n;
  for (int e = 0; e < EACH; e++) {
    if (first + e >= n) break;
    own[e] = keys[first + e];
    slots[e] = counters[DIGIT(own[e]) * GROUP + item]++;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  /* The exclusive scan: each counter becomes the sum of the counters before it. A work-item adds up DIGITS adjacent
   * counters, these sums are scanned, and then the work-item scans its counters from there. */
  int sum = 0;
  for (int k = 0; k < DIGITS; k++) sum += counters[item * DIGITS + k];
  sums[item] = sum;
  for (int step = 1; step < GROUP; step *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int below = item >= step ? sums[item - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] += below;
  }
  sum = sums[item] - sum;
  for (int k = 0; k < DIGITS; k++) {
    const int count = counters[item * DIGITS + k];
    counters[item * DIGITS + k] = sum;
    sum += count;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  starts += starts_at + row * DIGITS * blocks + block;
  keys_to += keys_to_at + row * n;
  order_to += order_to_at + row * n;
  for (int e = 0; e < EACH; e++) {
    if (first + e >= n) break;
    const int d = DIGIT(own[e]);
    const int slot = starts[(long)d * blocks] + counters[d * GROUP + item] - counters[d * GROUP] + slots[e];
    keys_to[slot] = own[e];
    order_to[slot] = order[first + e];
  }
}
