/* quant/weights.cl: y = x W for few rows of x and weights stored as bytes or nibbles, never written as floats.
 *
 *   y[i][j] = sum over groups g of scale[j][g] sum over k in g of x[i][k] (q[j][k] - zero[j][g])
 *
 * Weights come in panels of 16 columns (int8_pack.cl): element (step, column) holds VALUES values that follow each
 * other along k, the first in the low bits. They are taken as unsigned: signed bytes were packed with 128 added, and
 * `flips` adds 8 to signed nibbles, by their highest bits; `lift` adds the same to zero points. Scale and zero of
 * column j and group g stand at j scale_j + g scale_g. A segment is `segment` steps of one group, whose values are
 * summed before they are multiplied by its scale.
 *
 *   BITS   8 or 4
 *   ROWS   rows of x that one walk over the weights serves
 *   VW     16: a work-item makes 16 columns, groups of one work-item, ceil(n / 16) x ceil(m / ROWS)
 *          1: a group of 16 x 16 work-items makes 16 columns, sharing the segments, as many groups */
#include "common/dtype.clh"
#include "common/group.clh"

#ifndef BITS
#define BITS 8
#endif
#ifndef ROWS
#define ROWS 1
#endif
#ifndef VW
#define VW 16
#endif

#define WIDTH 16
#define VALUES (32 / BITS)
#define LOW_BITS ((1 << BITS) - 1)
#define UNROLL _Pragma("unroll")
#define FLOATS MICA_PASTE(float, VW)
#define WORDS MICA_PASTE(uint, VW)
#define ARGUMENTS                                                                                                      \
  __global const float *x, const long x_at, __global const uint *packed, const long packed_at,                         \
      __global const float *scales, const long scales_at, __global const float *zeros, const long zeros_at,            \
      __global float *y, const long y_at, const int m, const int n, const int k, const int segment, const int group,   \
      const int scale_j, const int scale_g, const int zero_j, const int zero_g, const int has_zeros,                   \
      const float lift, const uint flips

#if VW > 1
CPU_KERNEL weights(ARGUMENTS) {
  const int block = get_global_id(0), row0 = get_global_id(1) * ROWS, lane = 0, slice = 0, slices = 1;
#else
__kernel __attribute__((reqd_work_group_size(WIDTH, 16, 1))) void weights(ARGUMENTS) {
  __local float parts[16][WIDTH];
  const int block = get_group_id(0), row0 = get_group_id(1) * ROWS;
  const int lane = get_local_id(0), slice = get_local_id(1), slices = 16;
#endif
  const int steps = (k + VALUES - 1) / VALUES, segments = (steps + segment - 1) / segment;
  const int j0 = block * WIDTH + lane;
  packed += packed_at + (long)block * steps * WIDTH + lane;
  x += x_at;
  scales += scales_at;
  zeros += zeros_at;
  FLOATS sum[ROWS];
  UNROLL for (int i = 0; i < ROWS; i++) sum[i] = 0;
  for (int s = slice; s < segments; s += slices) {
    const int first = s * segment, end = min(first + segment, steps), g = first / group;
    FLOATS part[ROWS];
    float4 all[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) part[i] = 0, all[i] = 0;
    for (int c = first; c < end; c++) {
      const WORDS w = MICA_VLOAD(VW, packed, (long)c * WIDTH) ^ (WORDS)(flips);
      UNROLL for (int i = 0; i < ROWS; i++) {
        __global const float *row = x + (long)min(row0 + i, m - 1) * k + c * VALUES;
        UNROLL for (int d = 0; d < VALUES; d++) part[i] +=
            MICA_AS(float, VW, (w >> (WORDS)(BITS * d)) & (WORDS)(LOW_BITS)) * row[d];
        UNROLL for (int d = 0; d < VALUES; d += 4) all[i] += vload4(0, row + d);
      }
    }
    float scale[VW], zero[VW];
    for (int l = 0; l < VW; l++) {
      const int j = min(j0 + l, n - 1);
      scale[l] = scales[(long)j * scale_j + (long)g * scale_g];
      zero[l] = lift + (has_zeros ? zeros[(long)j * zero_j + (long)g * zero_g] : 0);
    }
    UNROLL for (int i = 0; i < ROWS; i++) sum[i] +=
        (part[i] - MICA_VLOAD(VW, zero, 0) * (all[i].x + all[i].y + all[i].z + all[i].w)) * MICA_VLOAD(VW, scale, 0);
  }
  y += y_at;
#if VW > 1
  for (int i = 0; i < ROWS && row0 + i < m; i++) {
    float each[VW];
    MICA_VSTORE(VW, sum[i], each, 0);
    for (int l = 0; l < VW && j0 + l < n; l++) y[(long)(row0 + i) * n + j0 + l] = each[l];
  }
#else
  UNROLL for (int i = 0; i < ROWS; i++) {
    parts[slice][lane] = sum[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice == 0 && row0 + i < m && j0 < n) {
      float whole = 0;
      for (int p = 0; p < 16; p++) whole += parts[p][lane];
      y[(long)(row0 + i) * n + j0] = whole;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
}
