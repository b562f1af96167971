/* quant/weights.cl: y = activation(x W + bias + addend) for few rows of x and weights that are stored as bytes or
 * nibbles. The weights are decoded in registers.
 *
 *   (x W)[i][j] = sum over groups g of scale[j][g] sum over k in g of x[i][k] (q[j][k] - zero[j][g])
 *
 * Weights are packed in panels of 16 columns (quant/pack.cl): element (step, column) holds VALUES values that are
 * adjacent along k, the first in the low bits. The kernel treats them as unsigned: signed bytes were packed with 128
 * added, and signed nibbles get 8 added here, by an xor with `flips`. The same number was added to the zero points; if
 * there are no zero points, it is `lift`. Scales and zero points are in panels of 16 columns, too, one row per group of
 * weights (weights_scales.cl). A group is `group` steps, a segment `segment` steps of one group. The values of a
 * segment are summed before they are multiplied by the scale.
 *
 *   BITS   bits per weight: 8 or 4
 *   ROWS   rows of x that are multiplied in one pass over the weights
 *   VW     16: a work-item, alone in its work-group, computes 16 columns
 *          1: a work-group of 16 x 16 work-items computes 16 columns; row s of the work-items takes every 16th segment
 *
 * There are ceil(n / 16) x ceil(m / ROWS) work-groups. */
#include "common/epilogue.clh"
#include "common/group.clh"

#define WIDTH 16
#define VALUES (32 / BITS)
#define LOW_BITS ((1 << BITS) - 1)
#define UNROLL _Pragma("unroll")
#define FLOATS MICA_PASTE(float, VW)
#define WORDS MICA_PASTE(uint, VW)
#define as_int1 as_int

/* VALUE(w, d) is value d of the words w, as a float. With VW 16 and one row of x, a value in byte 1 or 2 of the word is
 * not shifted down to byte 0, so VALUE is the value times 256 or 256^2. The values of each byte position have a
 * separate sum, which JOINED divides by that factor at the end (exactly, for sums of x up to 1e28). This saves shifts,
 * and four chains of multiply-adds do not wait for each other. With more rows of x, one shift serves several
 * multiply-adds. */
#define PART(w, shift, mask) MICA_AS(float, VW, MICA_PASTE(as_int, VW)(((w) >> (WORDS)(shift)) & (WORDS)(mask)))
#if VW > 1 && ROWS == 1
#define CHAINS 4
#define CHAIN(d) ((d)*BITS / 8)
#define BYTE(d) (LOW_BITS << (CHAIN(d) * 8 % 24))
#define VALUE(w, d) PART(w, CHAIN(d) == 3 ? 24 + (d)*BITS % 8 : (d)*BITS % 8, BYTE(d))
#define JOINED(c) (((c)[0] + (c)[1] * 0x1p-8f) + ((c)[2] * 0x1p-16f + (c)[3]))
#elif VW > 1 && ROWS == 2
#define CHAINS 2
#define CHAIN(d) ((d) % 2)
#define JOINED(c) ((c)[0] + (c)[1])
#else
#define CHAINS 1
#define CHAIN(d) 0
#define JOINED(c) (c)[0]
#endif
#ifndef VALUE
#define VALUE(w, d) PART(w, BITS *(d), LOW_BITS)
#endif
#define ARGUMENTS                                                                                                      \
  __global const float *x, const long x_at, __global const uint *packed, const long packed_at,                         \
      __global const float *scales, const long scales_at, __global const float *zeros, const long zeros_at,            \
      __global float *y, const long y_at, const int m, const int n, const int k, const int segment, const int group,   \
      const int has_zeros, const float lift, const uint flips, __global const float *bias, const long bias_at,         \
      const int has_bias, __global const float *addend, const long addend_at, const int has_addend,                    \
      const float act_arg

/* The `lanes` elements of a row from `at` on, then zeros. */
inline FLOATS some_of(__global const float *row, long at, int lanes) {
#if VW > 1
  if (lanes < VW) {
    float each[VW] = {0};
    for (int l = 0; l < lanes; l++) each[l] = row[at + l];
    return MICA_VLOAD(VW, each, 0);
  }
#endif
  return MICA_VLOAD(VW, row, at);
}

#define FINISHED(v, i)                                                                                                 \
  if (has_bias) v += some_of(bias, bias_at + j0, lanes);                                                               \
  if (has_addend) v += some_of(addend, addend_at + (long)(i)*n + j0, lanes);                                           \
  v = ACTIVATION(VW, v, act_arg)

inline long row_at(int row, int m, int k) { return (long)min(row, m - 1) * k; }

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
  scales += scales_at + (long)block * (steps / group) * WIDTH + lane;
  zeros += zeros_at + (long)block * (steps / group) * WIDTH + lane;
  FLOATS sum[ROWS];
  UNROLL for (int i = 0; i < ROWS; i++) sum[i] = 0;
  for (int s = slice; s < segments; s += slices) {
    const int first = s * segment, end = min(first + segment, steps), g = first / group;
    FLOATS chains[ROWS][CHAINS];
    float4 all[ROWS];
    UNROLL for (int i = 0; i < ROWS; i++) {
      UNROLL for (int t = 0; t < CHAINS; t++) chains[i][t] = 0;
      all[i] = 0;
    }
    for (int c = first; c < end; c++) {
      const WORDS w = MICA_VLOAD(VW, packed, (long)c * WIDTH) ^ (WORDS)(flips);
      UNROLL for (int d = 0; d < VALUES; d++) {
        const FLOATS value = VALUE(w, d);
        UNROLL for (int i = 0; i < ROWS; i++) chains[i][CHAIN(d)] += value * x[row_at(row0 + i, m, k) + c * VALUES + d];
      }
      UNROLL for (int i = 0; i < ROWS; i++) {
        all[i] += vload4(0, x + row_at(row0 + i, m, k) + c * VALUES);
        if (VALUES == 8) all[i] += vload4(0, x + row_at(row0 + i, m, k) + c * VALUES + 4);
      }
    }
    const FLOATS scale = MICA_VLOAD(VW, scales, g * WIDTH);
    const FLOATS zero = has_zeros ? MICA_VLOAD(VW, zeros, g * WIDTH) : (FLOATS)(lift);
    UNROLL for (int i = 0; i < ROWS; i++) sum[i] +=
        (JOINED(chains[i]) - zero * (all[i].x + all[i].y + all[i].z + all[i].w)) * scale;
  }
  y += y_at;
  const int lanes = min(VW, n - j0);
#if VW > 1
  for (int i = 0; i < ROWS && row0 + i < m; i++) {
    FLOATS v = sum[i];
    FINISHED(v, row0 + i);
    if (lanes == VW) {
      MICA_VSTORE(VW, v, y, (long)(row0 + i) * n + j0);
      continue;
    }
    float each[VW];
    MICA_VSTORE(VW, v, each, 0);
    for (int l = 0; l < lanes; l++) y[(long)(row0 + i) * n + j0 + l] = each[l];
  }
#else
  UNROLL for (int i = 0; i < ROWS; i++) {
    parts[slice][lane] = sum[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (slice == 0 && row0 + i < m && j0 < n) {
      float whole = 0;
      for (int p = 0; p < 16; p++) whole += parts[p][lane];
      FINISHED(whole, row0 + i);
      y[(long)(row0 + i) * n + j0] = whole;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#endif
}
