/* blocks/gpu/row.cl: products of few rows with weights in blocks on GPUs; blocks/row.clh has the contract.
 *
 * LANES work-items share a row of w, 8 elements each in their turn, and their sums are added by a tree in local memory.
 *
 *   LANES   work-items of a row
 *   ROWS    rows of w of a group
 *
 * Groups of LANES x ROWS work-items, ceil(n / ROWS) of each part x ceil(m / XR) of them; span is not used. */
#define BLOCK_WIDTH 8
#include "blocks/row.clh"

#ifndef LANES
#define LANES 16
#endif
#ifndef ROWS
#define ROWS 4
#endif

/* This work-item's parts of the sums of a row at p with XR rows of x. */
BLOCK_FN void add_pieces(__global const float *x, __global const uchar *p, const int i0, const int m, const int blocks,
                         const int lane, __private float *sums) {
  const int pieces = blocks * (BLOCK_FIELD(elements) / 8);
  block_floats acc[XR];
  UNROLL for (int i = 0; i < XR; i++) acc[i] = 0;
  for (int piece = lane; piece < pieces; piece += LANES) {
    const int e = piece * 8 % BLOCK_FIELD(elements);
    __global const uchar *block = p + (long)(piece * 8 / BLOCK_FIELD(elements)) * BLOCK_FIELD(bytes);
    const float2 scale = block_scale_at(block, e);
    const block_floats value = block_elements(block, e, scale.x, scale.y);
    UNROLL for (int i = 0; i < XR; i++) acc[i] = MAC(value, vload8(piece, row_of_x(x, i0 + i, m, blocks)), acc[i]);
  }
  UNROLL for (int i = 0; i < XR; i++) {
    const float4 four = acc[i].lo + acc[i].hi;
    sums[i] = (four.x + four.z) + (four.y + four.w);
  }
}

__kernel __attribute__((reqd_work_group_size(LANES, ROWS, 1))) void block_row_gpu(ROW_ARGUMENTS) {
  __local float parts[1 + GATED][ROWS][LANES];
  const int lane = get_local_id(0), row = get_local_id(1);
  const int i0 = get_group_id(1) * XR;
  ROW_FIND_PART(part, (int)get_group_id(0), ROWS)
  const int j = part.strip * ROWS + row;
  float sums[1 + GATED][XR];
  add_pieces(x + x_at, row_of_w(part.w, j, part.n, blocks), i0, m, blocks, lane, sums[0]);
#if GATED
  add_pieces(x + x_at, row_of_w(up + up_at, j, n, blocks), i0, m, blocks, lane, sums[1]);
#endif
  UNROLL for (int i = 0; i < XR; i++) {
    UNROLL for (int g = 0; g <= GATED; g++) parts[g][row][lane] = sums[g][i];
    for (int half_of = LANES / 2; half_of > 0; half_of /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      if (lane < half_of) UNROLL for (int g = 0; g <= GATED; g++) parts[g][row][lane] += parts[g][row][lane + half_of];
    }
    if (lane == 0 && j < part.n && i0 + i < m) {
      const long at = (long)(i0 + i) * part.n + j;
      float v = parts[0][row][0];
      if (has_bias) v += bias[bias_at + j];
      if (has_addend) v += addend[addend_at + at];
      v = ACTIVATION(1, v, act_arg);
#if GATED
      v *= parts[1][row][0];
#endif
      part.y[at] = v;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
}
