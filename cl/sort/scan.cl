/* sort/scan.cl: exclusive prefix sums along rows, in place: x[r, i] becomes the sum of x[r, 0] .. x[r, i - 1].
 *
 *   GROUP   work-items of a group
 *
 * One dimension of rows * GROUP work-items, one group per row. Each work-item sums a part of the row, these sums are
 * scanned, and then each work-item scans its part from there. */

__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void radix_scan(__global int *x, const long x_at,
                                                                            const int n) {
  __local int sums[GROUP];
  const int item = get_local_id(0), size = (n + GROUP - 1) / GROUP;
  const int from = min(n, item * size), to = min(n, from + size);
  x += x_at + (long)get_group_id(0) * n;
  int sum = 0;
  for (int i = from; i < to; i++) sum += x[i];
  sums[item] = sum;
  for (int step = 1; step < GROUP; step *= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    const int below = item >= step ? sums[item - step] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    sums[item] += below;
  }
  sum = sums[item] - sum;
  for (int i = from; i < to; i++) {
    const int count = x[i];
    x[i] = sum;
    sum += count;
  }
}
