/* quant/int8_planes.cl: convolutions of 8-bit images in which a filter has one channel, for rows that fill no vector:
 * lanes are 16 pixels of a result in the order of memory, whatever rows they are in, or whole planes of few pixels.
 * product.clh says what a sum is and becomes; otherwise as int8_depthwise.cl.
 *
 *   planes   planes of a work-item: 1, or as many as have 16 pixels together (each channel has one filter then)
 *   same     1: stride 1, and results as large as images: what a tap reads for adjacent pixels is adjacent
 *
 * One dimension of ceil(images * filters / planes) * ceil(P Q planes / 16) work-items. */
#include "quant/product.clh"

DEFINE_PACKED(FINISH_VALUES + 22);

#define LANES 16

/* Bytes at 16 distances. */
#define GATHER(from, at)                                                                                               \
  ((uchar16)((from)[at[0]], (from)[at[1]], (from)[at[2]], (from)[at[3]], (from)[at[4]], (from)[at[5]], (from)[at[6]],  \
             (from)[at[7]], (from)[at[8]], (from)[at[9]], (from)[at[10]], (from)[at[11]], (from)[at[12]],              \
             (from)[at[13]], (from)[at[14]], (from)[at[15]]))

/* The whole part of x / by, where it is below 2^20. */
static inline int16 divided(const int16 x, const int by) {
  return convert_int16((convert_float16(x) + 0.5f) / (float16)((float)by));
}

RANGE_KERNEL int8_planes(__global const uchar *w, __global const uchar *x, FINISH_BUFFERS, const mica_packed packed) {
  UNPACK_BEGIN;
  w += UNPACK(i64);
  x += UNPACK(i64);
  UNPACK_FINISH;
  const int images = UNPACK(i32), filters = UNPACK(i32), each = UNPACK(i32), H = UNPACK(i32), W = UNPACK(i32);
  const int P = UNPACK(i32), Q = UNPACK(i32), R = UNPACK(i32), S = UNPACK(i32), dh = UNPACK(i32), dw = UNPACK(i32);
  const int sh = UNPACK(i32), sw = UNPACK(i32), pad_h = UNPACK(i32), pad_w = UNPACK(i32);
  const uchar w_mask = UNPACK(i32), x_mask = UNPACK(i32);
  const int planes = UNPACK(i32), same = UNPACK(i32), chunks = UNPACK(i32);
  const uint item = get_global_id(0);
  const int first = (int)(item / chunks) * planes, begin = (int)(item % chunks) * LANES;
  if (first >= images * filters) return;
  /* Planes and pixels by lane; behind the last pixel lanes stay where they read nothing and are not stored. */
  const int lanes = min(min(LANES, P * Q * planes - begin), (images * filters - first) * P * Q - begin);
  const int16 at = begin + (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  const int16 plane = planes > 1 ? divided(at, P * Q) : 0, pixel = at - plane * (P * Q);
  const int16 p = divided(pixel, Q), q = pixel - p * Q;
  const int16 there = at < begin + lanes;
  const long input = (long)((uint)first / each) * H * W, all = (long)(images * filters / each) * H * W;
  const int f0 = (int)((uint)first % filters), x_zero = COL_ZERO(0);
  const int16 filter = min(plane, (int16)(images * filters - first - 1)) + f0;
  int filter_of[LANES], filter_at[LANES], zeros[LANES];
  vstore16(filter - select((int16)(0), (int16)(filters), filter >= filters), 0, filter_of);
  for (int l = 0; l < LANES; l++) filter_at[l] = filter_of[l] * R * S, zeros[l] = ROW_ZERO(filter_of[l]);
  const int zero = zeros[0];
  const int16 row = p * sh - pad_h, column = q * sw - pad_w;
  int16 sum = 0;
  for (int r = 0; r < R; r++) {
    const int16 h = row + r * dh, in_rows = there & as_int16(as_uint16(h) < (uint16)(H));
    if (r * dh - pad_h >= H || r * dh - pad_h + (P - 1) * sh < 0) continue;
    for (int s = 0; s < S; s++) {
      const int16 v = column + s * dw, inside = in_rows & as_int16(as_uint16(v) < (uint16)(W));
      if (s * dw - pad_w >= W || s * dw - pad_w + (Q - 1) * sw < 0) continue;
      const long from = input + begin + (r * dh - pad_h) * W + s * dw - pad_w;
      int16 near;
      if (same && from >= 0 && from + LANES <= all) {
        near = convert_int16(MICA_VLOAD(16, x, from) ^ (uchar16)(x_mask)) - x_zero;
      } else {
        /* Lanes beyond the image read its first pixel. */
        int offset[LANES];
        vstore16(inside & (plane * (H * W) + h * W + v), 0, offset);
        near = convert_int16(GATHER(x + input, offset) ^ (uchar16)(x_mask)) - x_zero;
      }
      int16 weight = (int)(w[f0 * R * S + r * S + s] ^ w_mask) - zero;
      if (planes > 1) weight = convert_int16(GATHER(w + r * S + s, filter_at) ^ (uchar16)(w_mask)) - vload16(0, zeros);
      sum += weight * (near & inside);
    }
  }
  float factors[LANES], biases[LANES];
  for (int l = 0; l < LANES; l++) {
    factors[l] = ROW_SCALE(filter_of[l]) * COL_SCALE(0);
    biases[l] = ROW_BIAS(filter_of[l]);
  }
  const COMPUTEV(Y_T, 16) done = FINISHED(16, sum, vload16(0, factors), vload16(0, biases));
  y += (long)first * P * Q + begin;
  if (lanes == LANES) {
    STOREV(Y_T, 16, done, y, 0);
    return;
  }
  COMPUTE(Y_T) each_done[LANES];
  MICA_VSTORE(16, done, each_done, 0);
  for (int l = 0; l < lanes; l++) STORE(Y_T, each_done[l], y, l);
}
