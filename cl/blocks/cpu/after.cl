/* blocks/cpu/after.cl: products of few rows with weights in blocks on CPUs, and the RMS norm of the result:
 *
 *   t = x w^T + bias                                  (m, n), in `work`
 *   y = t / sqrt(mean of t^2 + epsilon) * scale + addend
 *
 * Sums are computed as in blocks/row.clh, in its order. A norm needs the whole row of t. If several groups compute
 * parts of the same XR rows, the group that finishes last computes their norm; no group waits for another. `counters`
 * has one counter per XR rows, which must be 0 before and is 0 again afterwards. It is not used if one group computes
 * whole rows.
 *
 * Groups of one work-item, ceil(n / span) x ceil(m / XR); n and span are multiples of 16. */
#define GATED 0
#define PARTS 1
#define NORM 0
#define ROW_LOCAL_X 0
#include "blocks/cpu/rows.clh"

CPU_KERNEL block_after_cpu(__global const float *x, const long x_at, __global const uchar *w, const long w_at,
                           __global float *y, const long y_at, __global const float *addend, const long addend_at,
                           __global float *work, const long work_at, __global int *counters, const long counters_at,
                           const int m, const int n, const int blocks, const int span, __global const float *bias,
                           const long bias_at, const int has_bias, __global const float *scale, const long scale_at,
                           const float epsilon) {
  const int first = get_global_id(0) * span, i0 = get_global_id(1) * XR;
  for (int j0 = first; j0 < min(n, first + span); j0 += 16) {
    float sums[XR * 16];
    for (int r = 0; r < 16; r += WR) dot_rows(x + x_at, w + w_at, i0, j0 + r, m, n, blocks, sums);
    for (int i = 0; i < XR && i0 + i < m; i++) {
      float16 v = vload16(i, sums);
      if (has_bias) v += vload16(0, bias + bias_at + j0);
      vstore16(v, 0, work + work_at + (long)(i0 + i) * n + j0);
    }
  }
  /* PoCL's atomic operations are sequentially consistent: a group that reads the counter after another group has
   * incremented it also sees everything that this other group wrote before. */
  if (get_num_groups(0) > 1) {
    volatile __global int *count = counters + counters_at + get_global_id(1);
    if (atomic_inc(count) + 1 < (int)get_num_groups(0)) return;
    *count = 0;
  }
  for (int i = i0; i < min(m, i0 + XR); i++) {
    const long at = (long)i * n;
    float16 squares = 0;
    for (int c = 0; c < n; c += 16) {
      const float16 t = vload16(0, work + work_at + at + c);
      squares = MAC(t, t, squares);
    }
    const float factor = 1.0f / sqrt(sum_of(squares) / n + epsilon);
    for (int c = 0; c < n; c += 16) {
      const float16 t = vload16(0, work + work_at + at + c) * factor * vload16(0, scale + scale_at + c);
      vstore16(t + vload16(0, addend + addend_at + at + c), 0, y + y_at + at + c);
    }
  }
}
