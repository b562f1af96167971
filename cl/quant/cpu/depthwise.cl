/* quant/cpu/depthwise.cl: convolutions of 8-bit images with filters of one channel, for CPUs. product.clh defines the
 * sums and how they are finished; rows there are filters, and columns are pixels. Filter f reads channel f / each. All
 * bytes are read as u8: w_mask and x_mask are 128 for signed bytes, else 0, and are applied with xor.
 *
 * A strip of rows of an image is converted once to floats, minus the zero point and padded with zeros. All taps of all
 * filters read these floats. Values and sums are whole numbers below 2^24, which floats represent exactly. Columns with
 * different remainders modulo the stride are in separate lines of `wide` floats:
 *
 *   stage[y][x % sw][x / sw] = pixel (y, x) of the padded strip
 *
 *   TAPS, STRIDE   filters are TAPS x TAPS, both strides are STRIDE, and there is no dilation. TAPS 0: the sizes are
 *                  arguments
 *   ROWS           rows of a result that are computed together, so that their input is read once. Every strip has at
 *                  least ROWS rows
 *   flat           1, only with ROWS 1 and stride 1: for images whose rows are shorter than a vector. The whole image
 *                  is one strip and is computed as one row of rows * wide pixels, at most FLAT; pixels from Q on of
 *                  each row are not stored
 *
 * A work-group, which has one work-item, computes one strip for `planes` consecutive channels: ceil(images * channels /
 * planes) x strips work-groups. `stage` has LANES more floats after its last line. P * Q and images * channels must be
 * below 2^31. */
#include "common/simd.clh"
#include "quant/product.clh"

#define LANES 16
#define FLAT 256
#define STRIP_ROWS 4

#define FIELDS(X) DEPTHWISE_FIELDS(X) DEPTHWISE_CUT(X)
DEFINE_PACKED_FIELDS(FIELDS);

#if TAPS
#define STEP STRIDE
#else
#define STEP sw
#endif
#define AS_FLOATS(bytes) (convert_float16((bytes) ^ (uchar16)(mask)) - zero)

/* to[c] = pixel c STEP + first of a line of `width` pixels, minus `zero`, for c < wide; 0 outside of the line. `left`
 * bytes may be read from `line` on. Elements of `to` from `wide` on may be overwritten. */
INLINE void stage_line(__local float *to, const int wide, __global const uchar *line, const long left, const int width,
                       const int first, const int sw, const uchar mask, const float zero) {
  const int begin = min(wide, first < 0 ? (STEP - 1 - first) / STEP : 0);
  const int end = max(begin, min(wide, (width - first + STEP - 1) / STEP));
  const long last = (long)(begin + (end - begin + LANES - 1) / LANES * LANES) * STEP + first;
  for (int c = 0; c < begin; c += LANES) STOREV(f32, 16, (float16)(0.0f), to, c);
  line += first;
  if (STEP == 1 && last <= left)
    for (int c = begin; c < end; c += LANES) STOREV(f32, 16, AS_FLOATS(vload16(0, line + c)), to, c);
  else if (STEP == 2 && last <= left)
    for (int c = begin; c < end; c += LANES)
      STOREV(f32, 16, AS_FLOATS((uchar16)(vload16(0, line + 2 * c).even, vload16(1, line + 2 * c).even)), to, c);
  else
    for (int c = begin; c < end; c++) to[c] = (float)(line[c * STEP] ^ mask) - zero;
  for (int c = end; c < wide; c += LANES) STOREV(f32, 16, (float16)(0.0f), to, c);
}

/* sum[i] = the sums of products for 16 pixels of row i of a result, for i < ROWS. x points to the element that the
 * first tap of the first pixel of row 0 reads. */
#if TAPS
INLINE void multiply(__private float16 *sum, __local const float *x, const int wide, __private const float *w) {
  UNROLL for (int i = 0; i < ROWS; i++) sum[i] = 0;
  UNROLL for (int y = 0; y < (ROWS - 1) * STRIDE + TAPS; y++) {
    float16 v[TAPS];
    UNROLL for (int s = 0; s < TAPS; s++) v[s] = vload16(0, x + (y * STRIDE + s % STRIDE) * wide + s / STRIDE);
    UNROLL for (int i = 0; i < ROWS; i++) if (y >= i * STRIDE && y < i * STRIDE + TAPS)
        UNROLL for (int s = 0; s < TAPS; s++) sum[i] = fma(v[s], w[(y - i * STRIDE) * TAPS + s], sum[i]);
  }
}
#define MULTIPLY(sum, x) multiply(sum, x, wide, taps)
#else
#define MULTIPLY(sum, x)                                                                                               \
  {                                                                                                                    \
    sum[0] = 0;                                                                                                        \
    for (int r = 0; r < R; r++)                                                                                        \
      for (int s = 0; s < S; s++)                                                                                      \
        sum[0] = fma(vload16(0, (x) + (r * dh * sw + s * dw % sw) * wide + s * dw / sw),                               \
                     (float)((int)(filter[r * S + s] ^ w_mask) - w_zero), sum[0]);                                     \
  }
#endif

/* The first row of strip i, a multiple of STRIP_ROWS. The last strip ends at P. */
#define STRIP(i) ((i) == strips ? P : (int)((long)(P / STRIP_ROWS) * (i) / strips) * STRIP_ROWS)
/* Stores v to elements at, at + 1, ... If v reaches beyond its row, the next row overwrites the surplus. Elements from
 * `end` on are not written. */
#define PUT(v, at, end) STORE_SOME(v, y_plane, at, (end) - (at))

/* done[i] = sum[i], finished: with QUICK, and again exactly if QUICK may be wrong for one of them (product.clh). */
#define FINISH(done)                                                                                                   \
  {                                                                                                                    \
    uint16 doubt = 0;                                                                                                  \
    if (quick) {                                                                                                       \
      UNROLL for (int i = 0; i < ROWS; i++)(done)[i] = QUICK(sum[i], factor, add, &doubt);                             \
    }                                                                                                                  \
    if (!quick || mica_any(doubt)) {                                                                                   \
      UNROLL for (int i = 0; i < ROWS; i++)(done)[i] = FINISHED_REAL(16, sum[i], factor, add);                         \
    }                                                                                                                  \
  }

CPU_KERNEL int8_depthwise_cpu(__global const uchar *w, __global const uchar *x, FINISH_BUFFERS, __local float *stage,
                              const mica_packed packed) {
  UNPACK_FIELDS(FIELDS);
  FINISH_NUMBERS;
  const int channels = filters / each, first = (int)get_group_id(0) * planes, strip = get_group_id(1);
  const int p0 = STRIP(strip), rows = STRIP(strip + 1) - p0, lines = (rows - 1) * sh + (R - 1) * dh + 1;
  const long area = (long)H * W, all = images * channels * area;
  const float x_zero = COL_ZERO(0);
  UNPACK_QUICK;
  for (int plane = first; plane < min(first + planes, images * channels); plane++) {
    __local float *to = stage;
    for (int i = 0; i < lines; i++) {
      const int h = p0 * sh + i - pad_h, width = h >= 0 && h < H ? W : 0;
      const long at = plane * area + (width ? (long)h * W : 0);
      for (int phase = 0; phase < STEP; phase++, to += wide)
        stage_line(to, wide, x + at, all - at, width, phase - pad_w, sw, x_mask, x_zero);
    }
    for (int e = 0; e < each; e++) {
      const int f = plane % channels * each + e, w_zero = ROW_ZERO(f);
      __global const uchar *filter = w + (long)f * R * S;
      __global STORAGE(Y_T) *y_plane = y + ((long)plane * each + e) * P * Q;
      const float16 factor = ROW_SCALE(f) * COL_SCALE(0), add = ROW_BIAS(f);
      const bool quick = CAN_BE_QUICK && IS_FINITE(factor.x) && IS_FINITE(add.x);
      float16 sum[ROWS];
#if TAPS
      float taps[TAPS * TAPS];
      UNROLL for (int t = 0; t < TAPS * TAPS; t++) taps[t] = (float)((int)(filter[t] ^ w_mask) - w_zero);
#endif
#if ROWS == 1
      if (flat) {
        COMPUTE(Y_T) done[FLAT + LANES];
        for (int at = 0; at < (rows - 1) * wide + Q; at += LANES) {
          COMPUTEV(Y_T, 16) finished[1];
          MULTIPLY(sum, stage + at);
          FINISH(finished);
          vstore16(finished[0], 0, done + at);
        }
        for (int p = 0; p < rows; p++) PUT(vload16(0, done + p * wide), p * Q, P * Q);
        continue;
      }
#endif
      for (int row = 0; row < rows; row += ROWS) {
        const int p = min(row, rows - ROWS);
        for (int column = 0; column < Q; column += LANES) {
          const int q = min(column, max(0, Q - LANES)), at = (p0 + p) * Q + q;
          COMPUTEV(Y_T, 16) finished[ROWS];
          MULTIPLY(sum, stage + p * sh * sw * wide + q);
          FINISH(finished);
          UNROLL for (int i = 0; i < ROWS; i++) PUT(finished[i], at + i * Q, (p0 + rows) * Q);
        }
      }
    }
  }
}
