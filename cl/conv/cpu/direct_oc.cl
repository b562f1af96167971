/* conv/cpu/direct_oc.cl: direct convolution vectorised over the output channels, from some channels to many, for the
 * CPU class. Strips, input tiles and taps are those of conv/input_tile.clh.
 *
 * Lanes are channels of D, so that rows may have any length and pixels any distance: a register tile is MANY adjacent
 * pixels of two rows of the grid, or FEW, by NV vectors of channels. Results of 16 NV channels gather in local memory,
 * pixel after pixel, and are transposed when they are stored.
 *
 * pitch: at least MANY and the halo. scratch: the input tile, NV 16 rows out_stride1 O2 floats and R1 (CG R2 + 1) ints.
 * The vectors of channels, the last of which need not be full, are a multiple of NV. */
#include "common/epilogue.clh"
#include "common/register_tile.clh"
#include "common/stream.clh"
#include "common/transpose.clh"
#include "conv/input_tile.clh"

#ifndef MANY /* pixels of a register tile, in each of two rows */
#define MANY 8
#endif
#ifndef NV /* vectors of channels of a register tile */
#define NV 1
#endif
#define FEW 2
#define CACHE_LINE (64 / (int)sizeof(STORAGE(D_T))) /* elements */

/* A register tile: where its pixels are in the input and in `sums`, of the upper and of the lower row; `stride` from
 * one to the next in sums, of which a vector of channels has `pitch` floats and W `w_pitch`. */
typedef struct pixels {
  int2 from, to;
  int count, stride, pitch, w_pitch;
} pixels;

/* sums[v][16 (to + i stride) ..] = W of vector v of channels times the input that pixel i reads, i < count <= SIZE,
 * which is a number in the text: PoCL keeps no array of another size in registers. */
#define DEFINE_MULTIPLY(SIZE)                                                                                          \
  static inline void multiply_##SIZE(__global const float *W, __local const float *input, __local const int *at,       \
                                     tap_ranges taps, const pixels p, __local float *sums) {                           \
    vec upper[SIZE][NV], lower[SIZE][NV];                                                                              \
    TILE_CLEAR(upper, SIZE, NV);                                                                                       \
    TILE_CLEAR(lower, SIZE, NV);                                                                                       \
    for (; taps.ranges > 0; taps.ranges--, taps.begin += taps.step) {                                                  \
      __global const float *w = W + taps.begin * VW;                                                                   \
      for (int t = taps.begin; t < taps.begin + taps.count; t++, w += VW) {                                            \
        __local const float *tap = input + at[t];                                                                      \
        vec weights[NV];                                                                                               \
        UNROLL for (int v = 0; v < NV; v++) weights[v] = MICA_VLOAD(VW, w, v * p.w_pitch);                             \
        TILE_MULTIPLY_ADD(upper, SIZE, NV, tap[p.from.x + i], weights)                                                 \
        TILE_MULTIPLY_ADD(lower, SIZE, NV, tap[p.from.y + i], weights)                                                 \
      }                                                                                                                \
    }                                                                                                                  \
    UNROLL for (int i = 0; i < SIZE; i++) {                                                                            \
      if (i >= p.count) break;                                                                                         \
      UNROLL for (int v = 0; v < NV; v++) {                                                                            \
        STOREV(f32, VW, upper[i][v], sums, v *p.pitch + (p.to.x + i * p.stride) * VW);                                 \
        STOREV(f32, VW, lower[i][v], sums, v *p.pitch + (p.to.y + i * p.stride) * VW);                                 \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define DEFINE_MULTIPLY_OF(SIZE) DEFINE_MULTIPLY(SIZE)
DEFINE_MULTIPLY_OF(MANY)
DEFINE_MULTIPLY_OF(FEW)

CPU_KERNEL conv_cpu_direct_oc(CONV_PARAMS, const int8 tile, source S, const long S_at, __global const float *P,
                              const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  TILE_UNPACK
  const int tiles = (KG + VW - 1) / VW, results = rows * out_stride1 * O2 * VW;
  __local float *sums = scratch + CG * channel;
  __local int *ints = (__local int *)(sums + NV * results);
  tap_list taps = {ints, ints + R1, 0, 0, 0};
  pack_input(CONV, tile, S + S_at, (n * G + g) * CG * I1 * I2, top, channel, scratch);
  P += P_at;
  for (int m = 0; m < KG; m += NV * VW) {
    long packed = 0;
    for (int i = 0; i < min(NV * VW, KG - m); i++) {
      __global STORAGE(D_T) *to = D + D_at + n * D_batch + (g * KG + m + i) * D_row + first;
      for (int p = 0; !STREAM && p < total; p += CACHE_LINE) PREFETCH_WRITE(to + p);
    }
    for (int phase = 0; phase < phases; phase++) {
      const int phase1 = phase / phases2, phase2 = phase % phases2;
      if (m == 0 || phases > 1) find_taps(CONV, tile, channel, phase1, phase2, &taps);
      const int w_pitch = CG * taps.taps * VW;
      __global const float *w = P + packed + (g * tiles + m / VW) * w_pitch;
      packed += (long)G * tiles * w_pitch;
      const int height1 = min(height, (O1 - phase1 + out_stride1 - 1) / out_stride1 - row0);
      const int width = (O2 - phase2 + out_stride2 - 1) / out_stride2;
      for (int y = 0; y < height1; y += 2) {
        const int below = min(y + 1, height1 - 1);
        const int2 row = (int2)(y, below);
        const tap_ranges ranges = skip_padding(&taps, CG, top + y * step1, top + below * step1, I1);
        for (int x = 0; x < width;) {
          const bool many = width >= MANY && width - x >= MANY - 1;
          const int at = many ? min(x, width - MANY) : x, count = min(many ? MANY : FEW, width - at);
          const pixels p = {row * step1 * step2 * pitch + at,
                            (row * out_stride1 + phase1) * O2 + at * out_stride2 + phase2,
                            count,
                            out_stride2,
                            results,
                            w_pitch};
          if (many)
            MICA_PASTE(multiply_, MANY)(w, scratch, taps.at, ranges, p, sums);
          else
            MICA_PASTE(multiply_, FEW)(w, scratch, taps.at, ranges, p, sums);
          x = at + count;
        }
      }
    }
    for (int v = 0; v < NV; v++) {
      __local const float *from = sums + v * results;
      const int filters = min(VW, KG - m - v * VW);
      for (int p = 0; p < total; p += VW) {
        vec x[VW];
        /* The last vector overlaps the one before, unless C is read, which may be D. */
        if (p + VW > total && total >= VW && beta == 0) p = total - VW;
        UNROLL for (int i = 0; i < VW; i++) x[i] = MICA_VLOAD(VW, from, min(p + i, total - 1) * VW);
        mica_transpose16(x);
        vec stored[VW]; /* indexed by a variable: x itself stays in registers */
        UNROLL for (int i = 0; i < VW; i++) stored[i] = x[i];
        for (int i = 0; i < filters; i++) {
          const long k = g * KG + m + v * VW + i;
          const bool aligned = (size_t)(D + D_at + n * D_batch + k * D_row + first + p) % 64 == 0;
          if (STREAM && aligned && p + VW <= total)
            FINISH_BY(STREAMV, 16, stored[i], n, k, first + p);
          else if (p + VW <= total)
            FINISH(16, stored[i], n, k, first + p);
          else
            for (int j = 0; j < total - p; j++) FINISH(1, ((const float *)&stored[i])[j], n, k, first + p + j);
        }
      }
    }
  }
}
