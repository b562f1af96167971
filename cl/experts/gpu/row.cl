/* experts/gpu/row.cl: products of few rows with matrices of experts, on GPUs; experts/cpu/row.cl has the formula.
 *
 * LANES work-items share a row of w. Work-item l takes the pieces l, l + LANES, ... of 8 elements. The sums of the
 * LANES work-items are added by a tree in local memory.
 *
 *   LANES   work-items per row of w, a power of two
 *   ROWS    rows of w per group
 *
 * Groups of LANES x ROWS work-items, ceil(n / ROWS) x pairs of them. */
#define BLOCK_WIDTH 8
#include "experts/weights.clh"

__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void expert_row_gpu(EXPERT_ARGUMENTS,
                                                                                  __global const STORAGE(I_T) * ids,
                                                                                  const long ids_at) {
  __local float parts[ROWS][LANES];
  const int lane = get_local_id(0), row = get_local_id(1), j = get_group_id(0) * ROWS + row;
  const long pair = get_group_id(1), expert = INDEX(I_T, ids, ids_at + pair, experts);
  float8 acc = 0;
  float sum = 0;
  if (expert < experts) {
    __global const WEIGHT *p = w + (w_at + (expert * n + min(j, n - 1)) * WEIGHT_ROW(k));
    x += x_at + pair / share * k;
    for (int c = lane * 8; c + 8 <= k; c += LANES * 8) acc = MAC(weights_at(p, c), vload8(0, x + c), acc);
    for (int c = (k & ~7) + lane; c < k; c += LANES) sum = MAC(weight_at(p, c), x[c], sum);
  }
  const float4 four = acc.lo + acc.hi;
  parts[row][lane] = sum + ((four.x + four.z) + (four.y + four.w));
  for (int half_of = LANES / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane < half_of) parts[row][lane] += parts[row][lane + half_of];
  }
  if (lane == 0 && j < n) y[y_at + pair * n + j] = parts[row][0];
}
