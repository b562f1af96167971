/* conv/depthwise/wgrad_c.cl: the gradient of a depthwise convolution's filters, for the CPU class.
 *
 *   dW[g][r][s] = sum over images and output places (p, q) of dY[g][p][q] X[g][p st - pad + r di][q st - pad + s di]
 *
 * STAGE 0: one work-item is one work-group and owns 16 channels, which are lanes, of a part of the images: planes are
 * turned into [place][16] in local memory, a chunk of output rows and the rows of X that meet them at a time. Each tap
 * has a vector of sums in registers, which leave as T[PARTS][blocks][FR FS][16], blocks = ceil(G / 16). Rows outside X
 * are read from a row of zeros, columns outside are passed over. The last 16 channels may overlap those before.
 *
 * The filter is FR x FS, its group one channel and one filter; there are at least 16 groups. cut: output rows a chunk,
 * rows of X that meet so many. NDRange: blocks, PARTS; work-group (1, 1, 1).
 * scratch: 16 ((x rows + 1) I2 + rows O2 + FR FS) floats.
 *
 * STAGE 1, conv_depthwise_wgrad_c_join: dW is the sum of the PARTS, in their order. NDRange: blocks; work-group
 * (1, 1, 1). */
#include "common/transpose.clh"
#include "conv/filter.clh"

#ifndef STAGE
#define STAGE 0
#endif
#ifndef FR
#define FR 3
#endif
#ifndef FS
#define FS 3
#endif

#define BLOCK_BEGIN(G) min((int)get_group_id(0) * VW, (G)-VW)

#if STAGE == 0
/* to[i][16] = element i of 16 planes. What is `ahead` elements further will be turned next. */
static inline void turn(operand from, const long plane, const int count, const long ahead, __local float *to) {
  if (count < VW) {
    for (int i = 0; i < count; i++)
      for (int c = 0; c < VW; c++) to[i * VW + c] = READ(1, from, c * plane + i);
    return;
  }
  for (int i = 0; i < count; i += VW) {
    const int at = min(i, count - VW);
    float16 x[VW];
    UNROLL for (int c = 0; c < VW; c++) PREFETCH_READ(from + c * plane + at + ahead);
    UNROLL for (int c = 0; c < VW; c++) x[c] = READ(VW, from, c * plane + at);
    mica_transpose16(x);
    UNROLL for (int j = 0; j < VW; j++) STOREV(f32, VW, x[j], to, (at + j) * VW);
  }
}

/* The products of place q of a row of dY with what its taps meet; `test` says whether column i is inside. */
#define ADD_PLACE(q, test)                                                                                             \
  do {                                                                                                                 \
    const float16 yv = MICA_VLOAD(VW, y, (q)*VW);                                                                      \
    UNROLL for (int s = 0; s < FS; s++) {                                                                              \
      const int i = (q)*step - pad + s * dilation;                                                                     \
      if (test)                                                                                                        \
        UNROLL for (int r = 0; r < FR; r++) sum[r][s] = MICA_VLOAD(VW, x[r], i *VW) * yv + sum[r][s];                  \
    }                                                                                                                  \
  } while (0)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_wgrad_c(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * X, const long X_at,
                     __global const STORAGE(D_T) * Y, const long Y_at, __global float *T, const long T_at,
                     __local float *scratch) {
  CONV_UNPACK
  const int rows = cut.s0, x_rows = cut.s1, step = ST2, pad = PA2, dilation = DI2, reach = (FS - 1) * dilation;
  const int begin = BLOCK_BEGIN(G), parts = (int)get_num_groups(1), part = (int)get_group_id(1);
  const int n_begin = (int)((long)part * N / parts), n_end = (int)((long)(part + 1) * N / parts);
  const long x_plane = (long)I1 * I2, y_plane = (long)O1 * O2;
  __local float *ys = scratch + x_rows * I2 * VW, *zeros = ys + rows * O2 * VW, *sums = zeros + I2 * VW;
  /* Columns from `whole` to `edge` find all their taps inside. */
  const int whole = min(O2, (pad + step - 1) / step);
  const int edge = max(whole, min(O2, I2 + pad > reach ? (I2 + pad - reach - 1) / step + 1 : 0));
  for (int i = 0; i < I2 + FR * FS; i++) STOREV(f32, VW, (float16)(0.0f), zeros, i *VW);
  for (int n = n_begin; n < n_end; n++)
    for (int o = 0; o < O1; o += rows) {
      const int o_end = min(o + rows, O1), i_begin = clamp(o * ST1 - PA1, 0, I1);
      const int i_end = clamp((o_end - 1) * ST1 - PA1 + (FR - 1) * DI1 + 1, i_begin, I1);
      const long images = (long)n * G + begin;
      const bool more = o_end < O1;
      turn(X + X_at + images * x_plane + (long)i_begin * I2, x_plane, (i_end - i_begin) * I2,
           more ? (long)rows * ST1 * I2 : G * x_plane, scratch);
      turn(Y + Y_at + images * y_plane + (long)o * O2, y_plane, (o_end - o) * O2, more ? (long)rows * O2 : G * y_plane,
           ys);
      float16 sum[FR][FS];
      UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++) sum[r][s] =
          MICA_VLOAD(VW, sums, (r * FS + s) * VW);
      for (int p = o; p < o_end; p++) {
        __local const float *y = ys + (p - o) * O2 * VW, *x[FR];
        UNROLL for (int r = 0; r < FR; r++) {
          const int i = p * ST1 - PA1 + r * DI1;
          x[r] = i >= 0 && i < I1 ? scratch + (i - i_begin) * I2 * VW : zeros;
        }
        for (int q = 0; q < whole; q++) ADD_PLACE(q, i >= 0 && i < I2);
        for (int q = whole; q < edge; q++) ADD_PLACE(q, true);
        for (int q = edge; q < O2; q++) ADD_PLACE(q, i >= 0 && i < I2);
      }
      UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
          STOREV(f32, VW, sum[r][s], sums, (r * FS + s) * VW);
    }
  T += T_at + (part * (long)get_num_groups(0) + (long)get_group_id(0)) * FR * FS * VW;
  for (int i = 0; i < FR * FS * VW; i += VW) STOREV(f32, VW, MICA_VLOAD(VW, sums, i), T, i);
}
#endif

#if STAGE == 1
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise_wgrad_c_join(const int G, const int PARTS, __global const float *T, const long T_at,
                          __global STORAGE(D_T) * D, const long D_at) {
  const int begin = BLOCK_BEGIN(G), first = (int)get_group_id(0) * VW;
  const long block = FR * FS * VW, step = block * (long)get_num_groups(0);
  T += T_at + block * (long)get_group_id(0);
  for (int t = 0; t < FR * FS; t++) {
    float sum[VW];
    float16 all = MICA_VLOAD(VW, T, t * VW);
    for (int p = 1; p < PARTS; p++) all += MICA_VLOAD(VW, T, p * step + t * VW);
    STOREV(f32, VW, all, sum, 0);
    for (int c = first - begin; c < VW; c++) STORE(D_T, sum[c], D, D_at + (long)(begin + c) * FR * FS + t);
  }
}
#endif
