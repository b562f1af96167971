/* conv/depthwise/wgrad_c.cl: the weight gradient of a depthwise convolution over small planes, vectorised over the
 * channels, for the CPU class.
 *
 *   dW[c][r][s] = sum over images and output pixels (p, q) of
 *                 dY[c][p][q] X[c][p stride - pad + r dilation][q stride - pad + s dilation]
 *
 * The filter is FR x FS. A group of the convolution has one channel and one filter, and there are at least 16 groups. A
 * work-group, which has one work-item, computes 16 channels for a part of the images. It packs their planes to local
 * memory as [pixel][16], and keeps a vector of sums per tap in registers. Rows outside X are read from a row of zeros;
 * taps outside its columns are skipped.
 *
 * T has the layout of conv/wgrad_reduce.cl for one group of G filters with PANEL 3, MR 9 and NV 1. NDRange: ceil(G /
 * 16), parts; work-group (1, 1, 1). scratch: 16 ((I1 + 1) I2 + O1 O2) floats. */
#include "common/simd.clh"
#include "common/transpose.clh"
#include "conv/problem.clh"

#define TAPS (FR * FS)
#define T_ROWS ((TAPS + 8) / 9 * 9)

/* to[pixel][c] = plane c of `count` pixels, for c < 16. Prefetches the planes of the next image, which are `next`
 * elements further. */
static inline void pack_planes(source from, const int count, const long next, __local float *to) {
  if (count == 1) STOREV(f32, VW, READ(VW, from, 0), to, 0);
  if (count < VW) {
    PREFETCH_READ(from + next);
    for (int i = 0; i < count && count > 1; i++)
      for (int c = 0; c < VW; c++) to[i * VW + c] = READ(1, from, c * count + i);
    return;
  }
  for (int i = 0; i < count; i += VW) {
    const int at = min(i, count - VW);
    float16 x[VW];
    UNROLL for (int c = 0; c < VW; c++) PREFETCH_READ(from + c * count + at + next);
    UNROLL for (int c = 0; c < VW; c++) x[c] = READ(VW, from, c * count + at);
    mica_transpose16(x);
    UNROLL for (int j = 0; j < VW; j++) STOREV(f32, VW, x[j], to, (at + j) * VW);
  }
}

#define EACH_TAP(r, s) UNROLL for (int r = 0; r < FR; r++) UNROLL for (int s = 0; s < FS; s++)
/* Adds the products of pixel q of a row of dY with the pixels of X that its taps read. `inside` is an expression that
 * says whether column i of X exists. */
#define ADD_PIXEL(q, inside)                                                                                           \
  do {                                                                                                                 \
    const float16 yv = MICA_VLOAD(VW, y, (q)*VW);                                                                      \
    UNROLL for (int s = 0; s < FS; s++) {                                                                              \
      const int i = (q)*ST2 - PA2 + s * DI2;                                                                           \
      if (inside) UNROLL for (int r = 0; r < FR; r++) sum[r][s] = MICA_VLOAD(VW, x[r], i * VW) * yv + sum[r][s];       \
    }                                                                                                                  \
  } while (0)

CPU_KERNEL conv_depthwise_wgrad_c(CONV_PARAMS, source X, const long X_at, source Y, const long Y_at,
                                  __global float *restrict T, const long T_at, __local float *scratch) {
  CONV_UNPACK
  const int first = (int)get_group_id(0) * VW, channel = min(first, G - VW);
  const int parts = (int)get_num_groups(1), part = (int)get_group_id(1);
  const int n_end = (int)((long)(part + 1) * N / parts);
  const int x_plane = I1 * I2, y_plane = O1 * O2, reach = (FS - 1) * DI2;
  __local float *ys = scratch + x_plane * VW, *zeros = ys + y_plane * VW;
  /* For columns whole .. edge - 1 of dY all taps read columns inside X. */
  const int whole = clamp((PA2 + ST2 - 1) / ST2, 0, O2);
  const int edge = max(whole, min(O2, I2 + PA2 > reach ? (I2 + PA2 - reach - 1) / ST2 + 1 : 0));
  float16 sum[FR][FS];
  EACH_TAP(r, s) sum[r][s] = (float16)(0.0f);
  for (int i = 0; i < I2; i++) STOREV(f32, VW, (float16)(0.0f), zeros, i * VW);
  for (int n = (int)((long)part * N / parts); n < n_end; n++) {
    const long at = (long)n * G + channel;
    pack_planes(X + X_at + at * x_plane, x_plane, (long)G * x_plane, scratch);
    pack_planes(Y + Y_at + at * y_plane, y_plane, (long)G * y_plane, ys);
    for (int p = 0; p < O1; p++) {
      __local const float *y = ys + p * O2 * VW, *x[FR];
      UNROLL for (int r = 0; r < FR; r++) {
        const int i = p * ST1 - PA1 + r * DI1;
        x[r] = i >= 0 && i < I1 ? scratch + i * I2 * VW : zeros;
      }
      for (int q = 0; q < whole; q++) ADD_PIXEL(q, i >= 0 && i < I2);
      for (int q = whole; q < edge; q++) ADD_PIXEL(q, true);
      for (int q = edge; q < O2; q++) ADD_PIXEL(q, i >= 0 && i < I2);
    }
  }
  T += T_at + ((long)part * get_num_groups(0) + (long)get_group_id(0)) * T_ROWS * VW;
  EACH_TAP(r, s) {
    float lanes[VW];
    STOREV(f32, VW, sum[r][s], lanes, 0);
    for (int c = first; c < min(first + VW, G); c++) T[(r * FS + s) * VW + c - first] = lanes[c - channel];
  }
}
