/* quant/gpu/depthwise.cl: convolutions of 8-bit images with filters of one channel, one pixel of a result per
 * work-item. product.clh defines the sums and how they are finished; rows there are filters, and columns are pixels.
 * Filter f reads channel f / each. Pixels outside of the image add nothing. All bytes are read as u8: w_mask and x_mask
 * are 128 for signed bytes, else 0, and are applied with xor.
 *
 * One dimension of images * filters * P * Q work-items. */
#include "quant/product.clh"

DEFINE_PACKED_FIELDS(DEPTHWISE_FIELDS);

RANGE_KERNEL int8_depthwise(__global const uchar *w, __global const uchar *x, FINISH_BUFFERS,
                            const mica_packed packed) {
  UNPACK_FIELDS(DEPTHWISE_FIELDS);
  FINISH_NUMBERS;
  const long item = get_global_id(0);
  const int q = (int)(item % Q);
  long rest = item / Q;
  const int p = (int)(rest % P);
  rest /= P;
  const int f = (int)(rest % filters), image = (int)(rest / filters);
  if (image >= images) return;
  const int channels = filters / each;
  x += ((long)image * channels + f / each) * H * W;
  w += (long)f * R * S;
  const int w_zero = ROW_ZERO(f), x_zero = COL_ZERO(0);
  int sum = 0;
  for (int r = 0; r < R; r++) {
    const int h = p * sh - pad_h + r * dh;
    if (h < 0 || h >= H) continue;
    for (int s = 0; s < S; s++) {
      const int column = q * sw - pad_w + s * dw;
      if (column < 0 || column >= W) continue;
      sum += ((int)(w[r * S + s] ^ w_mask) - w_zero) * ((int)(x[(long)h * W + column] ^ x_mask) - x_zero);
    }
  }
  STORE(Y_T, FINISHED(1, sum, ROW_SCALE(f) * COL_SCALE(0), ROW_BIAS(f)), y, item);
}
