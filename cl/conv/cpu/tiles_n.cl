/* conv/cpu/tiles_n.cl: convolution of bf16 in two dimensions, without groups, forward or backward to the data, on the
 * matrix unit of Intel CPUs (common/cpu/tiles.clh). A tile holds one pixel of 16 images. So taps beyond an edge,
 * strides and dilation cost nothing, and planes of few pixels fill the tiles.
 *
 *   BACK 0   D = y of S = x     rows of a product are images, columns filters, sums run over channels
 *   BACK 1   D = x of S = y     rows are channels, columns images, sums run over filters
 *
 *   X    S as one matrix per pixel, X[pixel][block of 32 images], packed by matmul/cpu/amx_pack.cl. Sums have `steps`
 *        words; a tile takes `words` of them. A block is rows of A (BACK 0) or columns of B
 *   W    the filters as one matrix per tap, W[tap][panel of 32 channels of D], packed by conv/cpu/tiles_filters.cl. A
 *        panel is columns of B (BACK 0) or rows of A. W has only the taps1 by taps2 taps from (first1, first2) on; all
 *        other taps read only padding
 *   MICA_HAS_AMX  1: uses the instructions; 0: emulates them
 *
 * A work-group of one work-item computes `panels` panels by `strips` strips of 16 pixels of D, for 32 images. sums: 16
 * * PITCH floats. NDRange: ceil(strips of D / strips), ceil(panels of D / panels), ceil(N / 32). */
#include "common/finish.clh"
#include "common/group.clh"
#include "common/cpu/tiles.clh"
#include "common/transpose.clh"
#include "conv/problem.clh"

#define SIDE 32
#define STRIP 16
#define PITCH (SIDE * SIDE + 16) /* not a multiple of a page: cache lines a page apart compete for one cache set */
#define UNROLL _Pragma("unroll")
#define DIVIDE_UP(a, b) (((a) + (b)-1) / (b))

/* In one dimension: the pixel of S that tap r reads for pixel o of D; -1 if it reads padding. S has `pixels` pixels. */
static inline int source_of(const int o, const int r, const int step, const int pad, const int dilation,
                            const int pixels) {
#if BACK
  const int at = o + pad - r * dilation;
  return at < 0 || at % step || at / step >= pixels ? -1 : at / step;
#else
  const int at = o * step - pad + r * dilation;
  return at < 0 || at >= pixels ? -1 : at;
#endif
}

CPU_KERNEL conv_cpu_tiles_n(CONV_PARAMS, const int8 shape, __global const uint *restrict X, const long X_at,
                            __global const uint *restrict W, const long W_at, __local float *sums, EPILOGUE_PARAMS) {
  CONV_UNPACK
  UNPACK_INTS(TILES_N_SHAPE, shape)
  const int S1 = BACK ? O1 : I1, S2 = BACK ? O2 : I2, D1 = BACK ? I1 : O1, D2 = BACK ? I2 : O2;
  const int channels = BACK ? CG : KG, all_panels = DIVIDE_UP(channels, SIDE), pixels = D1 * D2;
  const int strip0 = (int)get_group_id(0) * strips, strip1 = min(strip0 + strips, DIVIDE_UP(pixels, STRIP));
  const int panel0 = (int)get_group_id(1) * panels, panel1 = min(panel0 + panels, all_panels);
  const int image = (int)get_group_id(2) * SIDE;
  const long matrix = (long)steps * SIDE, blocks = get_num_groups(2);
  X += X_at + get_group_id(2) * matrix;
  W += W_at;
  TILES_STORAGE;
  TILES_BEGIN(words);
  for (int panel = panel0; panel < panel1; panel++)
    for (int strip = strip0; strip < strip1; strip++) {
      const int first = strip * STRIP, count = min(STRIP, pixels - first);
      for (int q = 0; q < count; q++) {
        const int o1 = (first + q) / D2, o2 = (first + q) % D2;
        __local uint *to = (__local uint *)(sums + q * PITCH);
        BLOCK_ZERO;
        for (int t1 = 0; t1 < taps1; t1++) {
          const int h = source_of(o1, first1 + t1, ST1, PA1, DI1, S1);
          if (h < 0) continue;
          for (int t2 = 0; t2 < taps2; t2++) {
            const int w = source_of(o2, first2 + t2, ST2, PA2, DI2, S2);
            if (w < 0) continue;
            __global const uint *x = X + (h * S2 + w) * blocks * matrix;
            __global const uint *f = W + ((long)(t1 * taps2 + t2) * all_panels + panel) * matrix;
            for (int s = 0; s < steps; s += words, x += SIDE * words, f += SIDE * words) {
              __global const uint *a = BACK ? f : x, *b = BACK ? x : f;
              BLOCK_DOT(bf, a, 16 * words, 4l * words, b, 4 * SIDE);
            }
          }
        }
        BLOCK_STORE(to, SIDE);
      }
      /* Transposes the sums from [pixel][row][column] to [row][column][pixel], so that adjacent pixels are stored
       * together. */
      for (int i = 0; i < SIDE; i++)
        for (int j0 = 0; j0 < SIDE; j0 += 16) {
          float16 x[16];
          float lanes[16][16];
          UNROLL for (int q = 0; q < 16; q++) x[q] = vload16(0, sums + q * PITCH + i * SIDE + j0);
          mica_transpose16(x);
          UNROLL for (int j = 0; j < 16; j++) vstore16(x[j], 0, lanes[j]);
          for (int j = 0; j < 16; j++) {
            const int n = image + (BACK ? j0 + j : i), k = panel * SIDE + (BACK ? i : j0 + j);
            if (n >= N || k >= channels) continue;
            int q = 0;
            FINISH_WHILE(16, lanes[j], q, count, n, k, first)
            FINISH_WHILE(4, lanes[j], q, count, n, k, first)
            FINISH_WHILE(1, lanes[j], q, count, n, k, first)
          }
        }
    }
  TILES_END;
}
