/* quant/cpu/winograd_image.cl: transforms images of bytes for quant/cpu/winograd.cl.
 *
 *   x        [image][channel][height][width], i8 or u8; groups count as images. width + pad_w and 2 across + 2 are at
 *            most MOST_WIDTH
 *   mask     128 if the bytes are i8: they become u8
 *   zero     the value of padding; if has_zero is 0, that is 0
 *   V        B' d B of the 4 x 4 pixels d whose first is (2 ty - pad_h, 2 tx - pad_w), where B' has the rows
 *            (1 0 -1 0), (0 1 1 0), (0 -1 1 0), (0 1 0 -1). No value exceeds 4 * 255
 *   packed   [image][block of 16 tiles][position of V, 16][step][tile of the block]. Tile (ty, tx) has the number
 *            ty * across + tx in its image. An element is a pair of shorts, for channels 2 step and 2 step + 1. A
 *            channel that does not exist is 0. Tiles after the last one have any values
 *   position the number of elements of a position: those of its steps and TILES more, without which all positions
 *            would lie in the same sets of a cache
 *
 * Groups of one work-item: images x steps x parts; a part is `run` blocks. */
#include "common/dtype.clh"
#include "common/group.clh"
#include "quant/cpu/copy.clh"

#define UNROLL _Pragma("unroll")
typedef ushort16 ushort16_anywhere __attribute__((aligned(1)));

#define TILES 16 /* tiles of a block, the lanes of vectors */
#define MOST_WIDTH 512
#define ROOM (MOST_WIDTH + 48) /* bytes of a line, which is filled and read in vectors */

/* line = a row of an image with `left` pixels of padding before it; `fill` everywhere else. The row lies outside the
 * image if `inside` is false. */
static inline void read_line(__private uchar *line, __global const uchar *row, const bool inside, const int left,
                             const int width, const int needed, const uchar mask, const uchar fill) {
  for (int i = 0; i < needed; i += 16) mica_store_uchar16((uchar16)(fill), line + i);
  if (!inside) return;
  COPY_BYTES(__private, line + left, __global, row, width);
  if (!mask) return;
  line += left;
  for (int i = 0; i < width; i += 16) mica_store_uchar16(vload16(0, line + i) ^ (uchar16)(mask), line + i);
  /* The last vector may have changed padding, too. */
  for (int i = width; i < (width + 15) / 16 * 16; i++) line[i] = fill;
}

/* out = B' (a, b, c, d)'. */
#define TRANSFORM(out, a, b, c, d)                                                                                     \
  {                                                                                                                    \
    (out)[0] = (a) - (c);                                                                                              \
    (out)[1] = (b) + (c);                                                                                              \
    (out)[2] = (c) - (b);                                                                                              \
    (out)[3] = (b) - (d);                                                                                              \
  }

CPU_KERNEL int8_winograd_image(__global const uchar *x, const long x_at, __global const float *zero, const long zero_at,
                               __global uint *packed, const long packed_at, const int channels, const int steps,
                               const int height, const int width, const int down, const int across, const int blocks,
                               const int run, const int position, const int pad_h, const int pad_w, const int mask,
                               const int has_zero, const int int_zeros) {
  const int image = get_global_id(0), step = get_global_id(1), there = min(2, channels - 2 * step);
  const uchar flip = (uchar)mask, fill = (!has_zero   ? 0
                                          : int_zeros ? as_int(zero[zero_at])
                                                      : (int)zero[zero_at]) ^
                                         mask;
  const long plane = (long)height * width;
  const int first = get_global_id(2) * run, end = min(first + run, blocks), needed = 2 * across + 34;
  uchar lines[2][4][ROOM];          /* row h of a channel, from -pad_h on, is line (h + pad_h) % 4 */
  ushort pixels[2][4][4][2 * TILES]; /* pixel (row, column) of each tile; 16 more, which stores may reach */
  x += x_at + ((long)image * channels + 2 * step) * plane;
  packed += packed_at + (long)image * blocks * 16 * position + step * TILES;
  for (int i = 0; i < 2 * 4 * 4 * 2; i++) mica_store_ushort16((ushort16)(0), &pixels[0][0][0][0] + 16 * i);
  int ready = first * TILES / across * 2; /* rows before this one are in lines, or not needed */
  for (int block = first; block < end; block++) {
    int ty = block * TILES / across, tx = block * TILES - ty * across;
    for (int lane = 0; lane < TILES && ty < down; ty++, tx = 0) {
      for (; ready < 2 * ty + 4; ready++) {
        const int h = ready - pad_h;
        for (int d = 0; d < there; d++)
          read_line(lines[d][ready % 4], x + d * plane + (long)h * width, h >= 0 && h < height, pad_w, width, needed,
                    flip, fill);
      }
      for (int d = 0; d < there; d++)
        UNROLL for (int i = 0; i < 4; i++) UNROLL for (int j = 0; j < 4; j += 2) {
          /* A word is an even pixel and the odd one after it, on the little-endian processors that have AVX2. */
          const ushort16 words = *(__private const ushort16_anywhere *)(lines[d][(2 * ty + i) % 4] + 2 * tx + j);
          mica_store_ushort16(words & (ushort16)(255), pixels[d][i][j] + lane);
          mica_store_ushort16(words >> (ushort16)(8), pixels[d][i][j + 1] + lane);
        }
      lane += min(TILES - lane, across - tx);
    }
    short16 between[2][4][4];
    for (int d = 0; d < there; d++)
      UNROLL for (int i = 0; i < 4; i++) {
        short16 v[4];
        UNROLL for (int j = 0; j < 4; j++) v[j] = as_short16(*(__private const ushort16_anywhere *)pixels[d][i][j]);
        TRANSFORM(between[d][i], v[0], v[1], v[2], v[3]);
      }
    __global uint *to = packed + block * 16l * position;
    UNROLL for (int s = 0; s < 4; s++) {
      short16 a[4], b[4] = {0, 0, 0, 0};
      TRANSFORM(a, between[0][0][s], between[0][1][s], between[0][2][s], between[0][3][s]);
      if (there > 1) TRANSFORM(b, between[1][0][s], between[1][1][s], between[1][2][s], between[1][3][s]);
      UNROLL for (int r = 0; r < 4; r++)
          vstore16(convert_uint16(as_ushort16(a[r])) | convert_uint16(as_ushort16(b[r])) << (uint16)(16), 0,
                   to + (4 * r + s) * position);
    }
  }
}
