/* conv/cpu/wgrad_tiles.cl: weight gradient of convolutions of bf16 in two dimensions, without groups, on the matrix
 * unit of Intel CPUs (common/cpu/tiles.clh). Sums run over images, up to 32 per tile, and over pixels. A tap only
 * selects another pixel of x, so any strides, dilation and padding are possible.
 *
 *   Y    dy as one matrix of filters by images per pixel: Y[pixel][panel of 32 filters], rows of A
 *   X    x as one matrix of images by channels per pixel: X[pixel][panel of 32 channels], columns of B
 *   MICA_HAS_AMX  1: uses the instructions; 0: emulates them
 *
 * matmul/cpu/amx_pack.cl packs Y and X. Sums have `steps` words of two images; a tile takes `words` of them.
 *
 * A work-group of one work-item computes 32 filters by 32 channels, for all taps. It loops over blocks of `rows` rows
 * of y, whose operands stay in the second level cache from tap to tap. sums: taps * PITCH floats, then LINES lines of
 * 32 * taps + 16. NDRange: panels of channels, panels of filters, 1. */
#include "common/finish.clh"
#include "common/group.clh"
#include "common/cpu/tiles.clh"
#include "common/transpose.clh"
#include "conv/problem.clh"

#define SIDE 32
#define LINES 4                  /* filters whose sums are transposed at a time */
#define PITCH (SIDE * SIDE + 16) /* floats from the sums of a tap to those of the next; not a multiple of a page */
#define UNROLL _Pragma("unroll")
#define DIVIDE_UP(a, b) (((a) + (b)-1) / (b))

/* In one dimension: the range of output pixels o in from .. to - 1 for which a tap reads inside of x, that is 0 <= o
 * step + shift < pixels. The range is *begin .. result - 1. */
static inline int reached(const int from, const int to, const int shift, const int step, const int pixels,
                          __private int *begin) {
  *begin = max(from, shift < 0 ? DIVIDE_UP(-shift, step) : 0);
  return pixels <= shift ? *begin : min(to, DIVIDE_UP(pixels - shift, step));
}

/* line[c * taps + t] = row[t * PITCH + c] for 16 channels. */
static inline void weave(__local const float *row, const int taps, __local float *line) {
  float16 x[16];
  if (taps <= 16) {
    UNROLL for (int t = 0; t < 16; t++) x[t] = t < taps ? vload16(0, row + t * PITCH) : (float16)(0);
    mica_transpose16(x);
    UNROLL for (int c = 0; c < 16; c++) vstore16(x[c], 0, line + c * taps);
  } else {
    for (int c = 0; c < 16; c++)
      for (int t = 0; t < taps; t++) line[c * taps + t] = row[t * PITCH + c];
  }
}

CPU_KERNEL conv_cpu_wgrad_tiles(CONV_PARAMS, const int8 shape, __global const uint *restrict Y, const long Y_at,
                                __global const uint *restrict X, const long X_at, __local float *sums,
                                EPILOGUE_PARAMS) {
  CONV_UNPACK
  UNPACK_INTS(WGRAD_TILES_SHAPE, shape)
  const int taps = R1 * R2;
  const long matrix = (long)steps * SIDE, y_pixel = DIVIDE_UP(KG, SIDE) * matrix,
             x_pixel = DIVIDE_UP(CG, SIDE) * matrix;
  const int k0 = (int)get_group_id(1) * SIDE, c0 = (int)get_group_id(0) * SIDE;
  Y += Y_at + get_group_id(1) * matrix;
  X += X_at + get_group_id(0) * matrix;
  TILES_STORAGE;
  TILES_BEGIN(words);
  for (int row0 = 0; row0 == 0 || row0 < O1; row0 += rows)
    for (int t = 0; t < taps; t++) {
      const int shift1 = t / R2 * DI1 - PA1, shift2 = t % R2 * DI2 - PA2;
      int begin1, begin2;
      const int end1 = reached(row0, min(O1, row0 + rows), shift1, ST1, I1, &begin1);
      const int end2 = reached(0, O2, shift2, ST2, I2, &begin2);
      __local uint *to = (__local uint *)(sums + t * PITCH);
      if (row0 == 0) {
        BLOCK_ZERO;
      } else {
        TILE_LOAD(0, to, 4 * SIDE);
        TILE_LOAD(1, to + 16, 4 * SIDE);
        TILE_LOAD(2, to + 16 * SIDE, 4 * SIDE);
        TILE_LOAD(3, to + 16 * SIDE + 16, 4 * SIDE);
      }
      for (int o1 = begin1; o1 < end1; o1++)
        for (int o2 = begin2; o2 < end2; o2++) {
          __global const uint *a = Y + (o1 * O2 + o2) * y_pixel;
          __global const uint *b = X + ((o1 * ST1 + shift1) * I2 + o2 * ST2 + shift2) * x_pixel;
          for (int s = 0; s < steps; s += words, a += SIDE * words, b += SIDE * words) {
            BLOCK_DOT(bf, a, 16 * words, 4l * words, b, 4 * SIDE);
          }
        }
      BLOCK_STORE(to, SIDE);
    }
  TILES_END;
  /* Transposes the sums from [tap][channel] to [channel][tap], the order of filters in memory. */
  __local float *line = sums + taps * PITCH;
  const int length = min(SIDE, CG - c0) * taps, pitch = SIDE * taps + 16;
  for (int i0 = 0; i0 < min(SIDE, KG - k0); i0 += LINES) {
    /* Several lines are written before they are read, because a load has to wait if its bytes come from several recent
     * stores. */
    for (int i = 0; i < LINES; i++)
      for (int c = 0; c < SIDE; c += 16) weave(sums + (i0 + i) * SIDE + c, taps, line + i * pitch + c * taps);
    for (int i = 0; i < min(LINES, KG - k0 - i0); i++) {
      __local const float *from = line + i * pitch;
      int e = 0;
      FINISH_WHILE(16, from, e, length, 0, k0 + i0 + i, c0 * taps)
      FINISH_WHILE(1, from, e, length, 0, k0 + i0 + i, c0 * taps)
    }
  }
}
