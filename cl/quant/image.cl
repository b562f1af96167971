/* quant/image.cl: images of bytes with PER channels of a pixel side by side, padded by the zero point. Rows and columns
 * are grouped by their index modulo the stride, so that a tap reads adjacent pixels for adjacent results:
 *
 *   packed[image][c][ph * sw + pw][h][w] = channels c PER .. c PER + PER - 1 of pixel (h sh + ph - pad_h, w sw + pw -
 *                                          pad_w)
 *
 * Channels beyond those of x are 0.
 *
 * x is (images, channels, height, width), where groups count as images; packed has `steps` >= ceil(channels / PER).
 * After the last image there are `slack` elements of 0, which the last tile of a product reads; the results are
 * dropped.
 *
 *   mask   as in quant/pack.cl
 *   PER    4 or 2 bytes an element
 *   VW     adjacent pixels a work-item packs
 *
 * One dimension of images * steps * sh * sw * rows * ceil(columns / VW) work-items. */
#include "common/dtype.clh"
#include "common/group.clh"

#if PER == 4
#define ELEMENT uint
#else
#define ELEMENT ushort
#endif
#define ELEMENTS MICA_PASTE(ELEMENT, VW)
#define BYTES MICA_PASTE(uchar, VW)

#if VW > 1
/* VW pixels, sw apart; sw is 1 or 2. */
static inline BYTES row_of(__global const uchar *x, const int sw) {
  if (sw == 1) return MICA_VLOAD(VW, x, 0);
  return (BYTES)(MICA_VLOAD(VW, x, 0).even, MICA_VLOAD(VW, x, VW).even);
}
#endif

RANGE_KERNEL int8_image(__global const uchar *x, const long x_at, __global const float *zero, const long zero_at,
                        __global ELEMENT *packed, const long packed_at, const int images, const int channels,
                        const int steps, const int height, const int width, const int rows, const int columns,
                        const int sh, const int sw, const int pad_h, const int pad_w, const int mask,
                        const int has_zero, const int int_zeros, const int slack) {
  const long item = get_global_id(0);
  const int chunks = (columns + VW - 1) / VW;
  const int w0 = (int)(item % chunks) * VW;
  long rest = item / chunks;
  const int row = (int)(rest % rows);
  rest /= rows;
  const int phase = (int)(rest % (sh * sw));
  rest /= sh * sw;
  const int c0 = (int)(rest % steps) * PER;
  const int image = (int)(rest / steps);
  if (image >= images) return;
  const uchar fill = (!has_zero ? 0 : int_zeros ? as_int(zero[zero_at]) : (int)zero[zero_at]) ^ mask;
  const int h = row * sh + phase / sw - pad_h, wide = phase % sw - pad_w, lanes = min(VW, columns - w0);
  const bool inside = h >= 0 && h < height;
  x += x_at + (((long)image * channels + c0) * height + h) * width;
  packed += packed_at + item / chunks * columns + w0;
  const long plane = (long)height * width;
  if (item + 1 == (long)images * steps * sh * sw * rows * chunks)
    for (int i = 0; i < slack; i++) packed[lanes + i] = 0;
#if VW > 1
  const int first = w0 * sw + wide;
  if (inside && sw <= 2 && first >= 0 && first + VW * sw <= width && lanes == VW) {
    ELEMENTS pixels = 0;
#pragma unroll
    for (int d = 0; d < PER; d++)
      if (c0 + d < channels)
        pixels |= MICA_AS(ELEMENT, VW, row_of(x + d * plane + first, sw) ^ (BYTES)((uchar)mask)) << (ELEMENTS)(8 * d);
    MICA_VSTORE(VW, pixels, packed, 0);
    return;
  }
#endif
  for (int i = 0; i < lanes; i++) {
    const int w = (w0 + i) * sw + wide;
    const bool there = inside && w >= 0 && w < width;
    ELEMENT element = 0;
    for (int d = 0; d < PER; d++)
      element |= (ELEMENT)((uint)(c0 + d >= channels ? 0 : there ? x[d * plane + w] ^ mask : fill) << 8 * d);
    packed[i] = element;
  }
}
