/* quant/image.cl: packs images of bytes, padded with their zero point. An element of the result holds PER channels of
 * one pixel. Pixels are grouped into phases, by their row and column modulo the stride, so that a tap reads adjacent
 * pixels for adjacent results:
 *
 *   packed[image][c][ph * sw + pw][h][w] = channels c PER .. c PER + PER - 1 of pixel (h sh + ph - pad_h, w sw + pw -
 *                                          pad_w)
 *
 * Channels beyond those of x are 0. x is (images, channels, height, width); each group of a grouped convolution is an
 * image of its own. c runs over `steps` >= ceil(channels / PER). After the last image there are `slack` elements of 0,
 * which the last tile of a product reads but whose results are not stored.
 *
 *   phases   1 for filters of one pixel, which read only the first phase; otherwise sh * sw
 *   mask     128 if the sign of the bytes must be changed (quant/pack.cl), else 0
 *   PER      bytes per element: 4 or 2
 *   VW       1: for GPUs; a work-item packs one pixel. 16: for CPUs; a group of one work-item packs `lines` rows of a
 *            plane, if possible in vectors of 16, 8 or 4 pixels; the last two vectors of a row may overlap
 *
 * One dimension of images * steps * phases * rows * columns work-items, or with VW 16 of images * steps * phases *
 * ceil(rows / lines). */
#include "common/dtype.clh"
#include "common/group.clh"

#if PER == 4
#define ELEMENT uint
#else
#define ELEMENT ushort
#endif

/* A row of a packed plane. Its pixels begin .. end - 1 are pixels first, first + sw, ... of a row of x. Its other
 * pixels are padding. */
typedef struct line {
  int begin, end, first;
} line;
static inline line line_of(const int columns, const int width, const int wide, const int sw, const bool inside) {
  line l;
  l.begin = inside ? min(columns, wide < 0 ? (sw - 1 - wide) / sw : 0) : columns;
  l.end = inside ? max(l.begin, min(columns, (width - wide + sw - 1) / sw)) : columns;
  l.first = l.begin * sw + wide;
  return l;
}

/* The element that holds `channels` channels of a pixel, which are `plane` bytes apart in x. */
static inline ELEMENT pixel(__global const uchar *x, const long plane, const int channels, const uchar mask) {
  ELEMENT element = 0;
  for (int d = 0; d < channels; d++) element |= (ELEMENT)((uint)(x[d * plane] ^ mask) << 8 * d);
  return element;
}

/* The element of a pixel of padding: `fill` in each of `channels` channels. */
static inline ELEMENT blank(const int channels, const uchar fill) {
  ELEMENT element = 0;
  for (int d = 0; d < channels; d++) element |= (ELEMENT)((uint)fill << 8 * d);
  return element;
}

#if VW > 1
/* to[i] = the element of pixel i, for i < n; pixels are sw (1 or 2) bytes apart in x. It reads n sw bytes of each
 * channel. */
#define PIXELS(n) MICA_PASTE(pixels, n)
#define DEFINE_PIXELS(n)                                                                                               \
  static inline void PIXELS(n)(__global ELEMENT * to, __global const uchar *x, const int sw, const long plane,         \
                               const int channels, const uchar mask) {                                                 \
    MICA_PASTE(ELEMENT, n) all = 0;                                                                                    \
    _Pragma("unroll") for (int d = 0; d < PER; d++) if (d < channels) {                                                \
      MICA_PASTE(uchar, n) bytes = MICA_VLOAD(n, x, d * plane);                                                        \
      if (sw == 2) bytes = (MICA_PASTE(uchar, n))(bytes.even, MICA_VLOAD(n, x, d * plane + n).even);                   \
      all |= MICA_AS(ELEMENT, n, bytes ^ (MICA_PASTE(uchar, n))(mask)) << (MICA_PASTE(ELEMENT, n))(8 * d);             \
    }                                                                                                                  \
    MICA_VSTORE(n, all, to, 0);                                                                                        \
  }
DEFINE_PIXELS(16)
DEFINE_PIXELS(8)
DEFINE_PIXELS(4)
/* Packs `count` pixels in vectors of n; the last vector may overlap the one before it. */
#define IN_VECTORS(n)                                                                                                  \
  for (int i = 0; i < count; i += n) {                                                                                 \
    const int at = min(i, count - n);                                                                                  \
    PIXELS(n)(to + at, x + at * sw, sw, plane, channels, mask);                                                        \
  }
static inline void pack_line(__global ELEMENT *to, __global const uchar *x, const int count, const int sw,
                             const long plane, const int channels, const uchar mask, const bool vectors) {
  if (vectors && count >= 16)
    IN_VECTORS(16)
  else if (vectors && count >= 8)
    IN_VECTORS(8)
  else if (vectors && count >= 4)
    IN_VECTORS(4)
  else
    for (int i = 0; i < count; i++) to[i] = pixel(x + i * sw, plane, channels, mask);
}
#endif

#if VW > 1
CPU_KERNEL
#else
RANGE_KERNEL
#endif
int8_image(__global const uchar *x, const long x_at, __global const float *zero, const long zero_at,
           __global ELEMENT *packed, const long packed_at, const int images, const int channels, const int steps,
           const int height, const int width, const int rows, const int columns, const int sh, const int sw,
           const int pad_h, const int pad_w, const int mask, const int has_zero, const int int_zeros, const int slack,
           const int lines, const int phases) {
  const long item = get_global_id(0);
#if VW > 1
  const int parts = (rows + lines - 1) / lines, part = (int)(item % parts);
#else
  const int parts = rows * columns, part = (int)(item % parts);
#endif
  long rest = item / parts;
  const int phase = (int)(rest % phases);
  rest /= phases;
  const int c0 = (int)(rest % steps) * PER;
  const int image = (int)(rest / steps);
  if (image >= images) return;
  const long plane = (long)height * width, of_image = ((long)image * channels + c0) * plane;
  const int there = clamp(channels - c0, 0, PER), wide = phase % sw - pad_w;
  const uchar flip = (uchar)mask, fill = (!has_zero   ? 0
                                          : int_zeros ? as_int(zero[zero_at])
                                                      : (int)zero[zero_at]) ^
                                         mask;
  const ELEMENT padding = blank(there, fill);
  x += x_at + of_image;
  packed += packed_at + item / parts * rows * columns;
  if (item + 1 == (long)images * steps * phases * parts)
    for (int i = 0; i < slack; i++) packed[(long)rows * columns + i] = 0;
#if VW > 1
  const long left = (long)images * channels * plane - of_image; /* bytes from x on */
  for (int row = part * lines; row < min(rows, (part + 1) * lines); row++) {
    const int h = row * sh + phase / sw - pad_h;
    const line l = line_of(columns, width, wide, sw, h >= 0 && h < height);
    const long at = (long)h * width + l.first;
    const bool vectors = sw <= 2 && at + (there - 1) * plane + (l.end - l.begin) * sw <= left;
    __global ELEMENT *to = packed + (long)row * columns;
    for (int i = 0; i < l.begin; i++) to[i] = padding;
    if (l.end > l.begin) pack_line(to + l.begin, x + at, l.end - l.begin, sw, plane, there, flip, vectors);
    for (int i = l.end; i < columns; i++) to[i] = padding;
  }
#else
  const int row = part / columns, w = part % columns, h = row * sh + phase / sw - pad_h;
  const line l = line_of(columns, width, wide, sw, h >= 0 && h < height);
  const bool outside = w < l.begin || w >= l.end;
  packed[part] = outside ? padding : pixel(x + (long)h * width + l.first + (w - l.begin) * sw, plane, there, flip);
#endif
}
