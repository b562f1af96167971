/* blocks/gpu/row.cl: products of few rows with weights in blocks on GPUs; blocks/row.clh has the contract.
 *
 * LANES work-items share a row of w. Work-item l computes the pieces l, l + LANES, ... of 8 elements. The sums of the
 * LANES work-items are added by a tree in local memory.
 *
 * NORM: a group first computes mean and factor of the norm of its XR rows of x.
 *
 *   LANES   work-items per row of w
 *   ROWS    rows of w per work-group
 *
 * Groups of LANES x ROWS work-items, as many as the sum of ceil(n / ROWS) over all parts, x ceil(m / XR). `span` is not
 * used. */
#define BLOCK_WIDTH 8
#include "blocks/row.clh"

#if NORM
/* The sum of `value` over all work-items of the group, divided by `count`. */
static inline float mean_of(__local float *lanes, const int id, const float value, const int count) {
  barrier(CLK_LOCAL_MEM_FENCE);
  lanes[id] = value;
  for (int half_of = LANES * ROWS / 2; half_of > 0; half_of /= 2) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (id < half_of) lanes[id] += lanes[id + half_of];
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  return lanes[0] / count;
}

/* (mean, factor) of a row of k elements: its norm, before scale and shift, is (x - mean) * factor. In an RMS norm the
 * mean is 0. */
static inline float2 norm_of(__local float *lanes, const int id, __global const float *x, const int k,
                             const float epsilon) {
  float sum = 0, squares = 0, mean = 0;
#if NORM == 2
  for (int c = id; c < k; c += LANES * ROWS) sum += x[c];
  mean = mean_of(lanes, id, sum, k);
#endif
  for (int c = id; c < k; c += LANES * ROWS) squares += (x[c] - mean) * (x[c] - mean);
  return (float2)(mean, 1.0f / sqrt(mean_of(lanes, id, squares, k) + epsilon));
}
#define NORM_VALUES , __private const float2 *norms, __global const float *norm_scale, __global const float *norm_shift
#if NORM == 2
#define NORMED(v, i, piece) (((v)-norms[i].x) * norms[i].y * vload8(piece, norm_scale) + vload8(piece, norm_shift))
#else
#define NORMED(v, i, piece) ((v)*norms[i].y * vload8(piece, norm_scale))
#endif
#define NORM_GIVEN , norms, norm_scale + norm_scale_at, norm_shift + norm_shift_at
#else
#define NORM_VALUES
#define NORM_GIVEN
#define NORMED(v, i, piece) (v)
#endif

/* sums[i] = this work-item's part of the dot product of row i0 + i of x with the row of w at p, for i < XR. */
BLOCK_FN void add_pieces(__global const float *x, __global const uchar *p, const int i0, const int m, const int blocks,
                         const int lane, __private float *sums NORM_VALUES) {
  const int pieces = blocks * (BLOCK_FIELD(elements) / 8);
  block_floats acc[XR];
  UNROLL for (int i = 0; i < XR; i++) acc[i] = 0;
  for (int piece = lane; piece < pieces; piece += LANES) {
    const int e = piece * 8 % BLOCK_FIELD(elements);
    __global const uchar *block = p + (long)(piece * 8 / BLOCK_FIELD(elements)) * BLOCK_FIELD(bytes);
    const float2 scale = block_scale_at(block, e);
    const block_floats value = block_elements(block, e, scale.x, scale.y);
    UNROLL for (int i = 0; i < XR; i++) acc[i] =
        MAC(value, NORMED(vload8(piece, row_of_x(x, i0 + i, m, blocks)), i, piece), acc[i]);
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
#if NORM
  __local float lanes[LANES * ROWS];
  float2 norms[XR];
  UNROLL for (int i = 0; i < XR; i++) norms[i] = norm_of(
      lanes, row * LANES + lane, row_of_x(x + x_at, i0 + i, m, blocks), blocks * BLOCK_FIELD(elements), epsilon);
#endif
  add_pieces(x + x_at, row_of_w(part.w, j, part.n, blocks), i0, m, blocks, lane, sums[0] NORM_GIVEN);
#if GATED
  add_pieces(x + x_at, row_of_w(up + up_at, j, n, blocks), i0, m, blocks, lane, sums[1] NORM_GIVEN);
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
