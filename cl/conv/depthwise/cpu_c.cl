/* conv/depthwise/cpu_c.cl: depthwise convolution vectorised over the channels, of any stride, dilation and filter, in
 * one or two dimensions, for the CPU class.
 *
 *   D[n][k][p][q] = sum over r, s of U[n][k / KG][FIRST1 + p ROW_STEP + r DI1][FIRST2 + q STEP2 + s DI2] W[k][r][s]
 *
 * U is the source S (IN1 x IN2) with UP1 - 1 zeros between its rows, UP2 - 1 zeros between its columns, and zeros
 * outside. In the forward pass UP1 and UP2 are 1. In the backward pass to the data ROW_STEP and STEP2 are 1, UP1 and
 * UP2 are the strides, and FLIP rotates the filter by 180 degrees.
 *
 * A work-group, which has one work-item, computes 16 channels and `rows` rows of D, for `images` images, one after
 * another. It packs the elements of U that it reads to local memory, transposed so that lanes are channels. So a vector
 * of results takes one load and one multiply-add per tap, for any stride and width. Results are collected in local
 * memory and transposed back.
 *
 *   TAPS              the filter is TAPS x TAPS and DI2 is 1; 0: it is R1 x R2
 *   STEP              STEP2 if it is 1 or 2; 0: STEP2 is COLUMN_STEP
 *   U_ROWS, U_PITCH   height and pitch of the packed part of U
 *
 * NDRange: ceil(OUT1 / rows), ceil(K / 16), ceil(N / images); work-group (1, 1, 1). scratch, in vectors of 16 floats:
 * R1 R2 for the filters, U_ROWS U_PITCH + 3 STEP2 + 1 for U, rows OUT2 + 16 for results; then one int per pixel of S
 * that is read, and 15 more. */
#include "common/fields.clh"
#include "common/finish.clh"
#include "common/simd.clh"
#include "common/transpose.clh"
#include "conv/fields.clh"

#define BLOCK 4        /* adjacent results that are computed together */
#define AHEAD (4 * VW) /* prefetch distance in pixels of a plane */
#define STEP2 (STEP ? STEP : COLUMN_STEP)

/* target[p] = the index in packed U of pixel p of rows begin .. end - 1 of S; `unread`, the index of an extra element,
 * if the pixel is outside of the packed part. */
static void find_targets(const int IN2, const int8 step, const int8 filter, const int top, const int begin,
                         const int end, const int unread, __local int *target) {
  UNPACK_INTS(DEPTHWISE_C_STEP, step)
  UNPACK_INTS(DEPTHWISE_C_FILTER, filter)
  int p = 0;
  for (int i = begin; i < end; i++)
    for (int j = 0; j < IN2; j++) {
      const int column = j * UP2 - FIRST2;
      target[p++] = column >= 0 && column < U_PITCH ? (i * UP1 - top) * U_PITCH + column : unread;
    }
  for (int i = 0; i < VW - 1; i++) target[p++] = unread;
}

/* u[target[p]] = pixel p of each of 16 planes, for p < pixels. planes[i] is the index in S of the first pixel of plane
 * i. S has `count` elements, and nothing is read after them. */
static void pack_planes(source S, __private const long planes[VW], const int pixels, const long count,
                        __local const int *target, __local float16 *u) {
  for (int p = 0; p < min(pixels, AHEAD); p += VW)
    for (int i = 0; i < VW; i++) PREFETCH_READ(S + planes[i] + p);
  for (int p = 0; p < pixels; p += VW) {
    float16 v[VW];
    UNROLL for (int i = 0; i < VW; i++) PREFETCH_READ(S + planes[i] + p + AHEAD);
    if (planes[VW - 1] + p + VW <= count) {
      UNROLL for (int i = 0; i < VW; i++) v[i] = READ(16, S, planes[i] + p);
    } else {
      float lanes[VW][VW];
      for (int i = 0; i < VW; i++)
        for (int j = 0; j < VW; j++) lanes[i][j] = p + j < pixels ? READ(1, S, planes[i] + p + j) : 0.0f;
      UNROLL for (int i = 0; i < VW; i++) v[i] = vload16(0, lanes[i]);
    }
    mica_transpose16(v);
    UNROLL for (int i = 0; i < VW; i++) u[target[p + i]] = v[i];
  }
}

/* Computes BLOCK adjacent results of 16 channels. u points to the element that the first tap of the first result
 * reads. */
static inline void correlate(__local const float16 *u, __local const float16 *w, const int8 step, const int8 filter,
                             __private float16 sums[BLOCK]) {
  UNPACK_INTS(DEPTHWISE_C_STEP, step)
  UNPACK_INTS(DEPTHWISE_C_FILTER, filter)
  const int right = STEP2, next = TAPS ? 1 : DI2, down = DI1 * U_PITCH;
  UNROLL for (int b = 0; b < BLOCK; b++) sums[b] = (float16)(0.0f);
#if TAPS
  UNROLL for (int r = 0; r < TAPS; r++) UNROLL for (int s = 0; s < TAPS; s++) {
    const float16 weight = w[r * TAPS + s];
#else
  for (int r = 0; r < R1; r++)
    for (int s = 0; s < R2; s++) {
      const float16 weight = w[r * R2 + s];
#endif
    UNROLL for (int b = 0; b < BLOCK; b++) sums[b] = weight * u[r * down + s * next + b * right] + sums[b];
  }
}

CPU_KERNEL conv_depthwise_cpu_c(const int8 size, const int8 step, const int8 filter, source S, const long S_at,
                                source W, const long W_at, __local float16 *scratch, EPILOGUE_PARAMS) {
  UNPACK_INTS(DEPTHWISE_C_SIZE, size)
  UNPACK_INTS(DEPTHWISE_C_STEP, step)
  UNPACK_INTS(DEPTHWISE_C_FILTER, filter)
  const int taps = TAPS ? TAPS * TAPS : R1 * R2;
  const int row0 = (int)get_group_id(0) * rows, height = min(rows, OUT1 - row0), k0 = (int)get_group_id(1) * VW;
  const int n0 = (int)get_group_id(2) * images, top = row0 * ROW_STEP + FIRST1, bottom = top + U_ROWS;
  const int begin = max(0, (top + UP1 - 1) / UP1), area = U_ROWS * U_PITCH + 3 * STEP2;
  const int end = max(begin, bottom > 0 ? min(IN1, (bottom - 1) / UP1 + 1) : 0), pixels = (end - begin) * IN2;
  __local float16 *w = scratch, *u = w + taps, *results = u + area + 1;
  __local int *target = (__local int *)(results + rows * OUT2 + VW);
  for (int i = 0; i < VW; i++)
    for (int t = 0; t < taps; t++)
      ((__local float *)w)[t * VW + i] =
          MICA_AS(float, 1, LOAD(D_T, W, W_at + (long)min(k0 + i, K - 1) * taps + (FLIP ? taps - 1 - t : t)));
  for (int i = 0; i < area; i++) u[i] = (float16)(0.0f);
  find_targets(IN2, step, filter, top, begin, end, area, target);
  for (int n = n0; n < min(N, n0 + images); n++) {
    const long plane = (long)IN1 * IN2, G = K / KG;
    long planes[VW];
    for (int i = 0; i < VW; i++) planes[i] = (n * G + min(k0 + i, K - 1) / KG) * plane + (long)begin * IN2;
    pack_planes(S + S_at, planes, pixels, N * G * plane, target, u);
    for (int p = 0; p < height; p++) /* If a block reaches beyond its row, the next row overwrites the surplus. */
      for (int q = 0; q < OUT2; q += BLOCK) {
        float16 sums[BLOCK];
        correlate(u + p * ROW_STEP * U_PITCH + q * STEP2, w, step, filter, sums);
        UNROLL for (int b = 0; b < BLOCK; b++) results[p * OUT2 + q + b] = sums[b];
      }
    for (int p = 0; p < height * OUT2; p += VW) {
      const int left = min(VW, height * OUT2 - p), channels = min(VW, K - k0);
      const long first = (long)row0 * OUT2 + p;
      float16 v[VW];
      UNROLL for (int i = 0; i < VW; i++) v[i] = results[p + i];
      mica_transpose16(v);
      if (left == VW && channels == VW) {
        UNROLL for (int i = 0; i < VW; i++) FINISH(16, v[i], n, (long)k0 + i, first);
        continue;
      }
      float pixels[VW][VW];
      UNROLL for (int i = 0; i < VW; i++) STOREV(f32, 16, v[i], pixels[i], 0);
      for (int i = 0; i < channels; i++) {
        int j = 0;
        FINISH_WHILE(16, pixels[i], j, left, n, (long)k0 + i, first)
        FINISH_WHILE(4, pixels[i], j, left, n, (long)k0 + i, first)
        FINISH_WHILE(1, pixels[i], j, left, n, (long)k0 + i, first)
      }
    }
  }
}
