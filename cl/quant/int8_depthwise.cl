/* quant/int8_depthwise.cl: convolutions of 8-bit images in which a filter has one channel; product.clh says what a sum
 * is and becomes. Filter f reads channel f / each; rows are filters, columns pixels, so that a pixel beyond the image
 * adds nothing. Masks are 128 where bytes are signed: all are taken as u8.
 *
 *   VW   adjacent pixels of a result that a work-item makes, 1 or 16
 *
 * One dimension of images * filters * P * ceil(Q / VW) work-items. */
#include "quant/product.clh"

#ifndef VW
#define VW 16
#endif

DEFINE_PACKED(FINISH_VALUES + 19);

RANGE_KERNEL int8_depthwise(__global const uchar *w, __global const uchar *x, FINISH_BUFFERS,
                            const mica_packed packed) {
  UNPACK_BEGIN;
  w += UNPACK(i64);
  x += UNPACK(i64);
  UNPACK_FINISH;
  const int images = UNPACK(i32), filters = UNPACK(i32), each = UNPACK(i32), H = UNPACK(i32), W = UNPACK(i32);
  const int P = UNPACK(i32), Q = UNPACK(i32), R = UNPACK(i32), S = UNPACK(i32), dh = UNPACK(i32), dw = UNPACK(i32);
  const int sh = UNPACK(i32), sw = UNPACK(i32), pad_h = UNPACK(i32), pad_w = UNPACK(i32);
  const uchar w_mask = UNPACK(i32), x_mask = UNPACK(i32);
  const long item = get_global_id(0);
  const int chunks = (Q + VW - 1) / VW, q0 = (int)(item % chunks) * VW;
  long rest = item / chunks;
  const int p = (int)(rest % P);
  rest /= P;
  const int f = (int)(rest % filters), image = (int)(rest / filters), lanes = min(VW, Q - q0);
  if (image >= images) return;
  const int channels = filters / each;
  const long plane = ((long)image * channels + f / each) * H * W;
#if VW == 16
  const long all = (long)images * channels * H * W;
  const int16 lane = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
#endif
  w += (long)f * R * S;
  const int w_zero = ROW_ZERO(f), x_zero = COL_ZERO(0);
  COMPUTEV(i32, VW) sum = 0;
  for (int r = 0; r < R; r++) {
    const int h = p * sh - pad_h + r * dh;
    if (h < 0 || h >= H) continue;
    for (int s = 0; s < S; s++) {
      const int from = q0 * sw - pad_w + s * dw;
      const int weight = (int)(w[r * S + s] ^ w_mask) - w_zero;
#if VW == 16
      /* What lies beyond the line is read where it lies in memory, and taken as the zero point. */
      const long at = plane + (long)h * W + from;
      if (sw <= 2 && at >= 0 && at + sw * VW <= all) {
        uchar16 bytes = MICA_VLOAD(16, x, at);
        if (sw == 2) bytes = (uchar16)(bytes.even, MICA_VLOAD(16, x, at + 16).even);
        int16 near = convert_int16(bytes ^ (uchar16)(x_mask)) - x_zero;
        if (from < 0 || from + sw * VW > W) near &= as_uint16(lane * sw + from) < (uint16)(W);
        sum += weight * near;
        continue;
      }
      int near[VW];
      for (int l = 0; l < VW; l++) {
        const int column = from + l * sw;
        near[l] = l < lanes && column >= 0 && column < W ? (int)(x[at + l * sw] ^ x_mask) - x_zero : 0;
      }
      sum += weight * vload16(0, near);
#else
      if (from >= 0 && from < W) sum += weight * ((int)(x[plane + (long)h * W + from] ^ x_mask) - x_zero);
#endif
    }
  }
  const COMPUTEV(Y_T, VW) done =
      FINISHED(VW, sum, (COMPUTEV(f32, VW))(ROW_SCALE(f) * COL_SCALE(0)), (COMPUTEV(f32, VW))(ROW_BIAS(f)));
  y += (((long)image * filters + f) * P + p) * Q + q0;
#if VW == 16
  if (lanes < VW) {
    COMPUTE(Y_T) each_done[VW];
    MICA_VSTORE(16, done, each_done, 0);
    for (int l = 0; l < lanes; l++) STORE(Y_T, each_done[l], y, l);
    return;
  }
#endif
  STOREV(Y_T, VW, done, y, 0);
}
