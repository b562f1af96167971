/* conv/cpu/direct_oc.cl: convolution from some channels to many, for the CPU class: a band (conv/band.clh).
 *
 * Lanes are channels of D, so that rows of any length and places at any distance do: a register tile is NV vectors of
 * them by MANY adjacent places of two rows of the grid, or FEW. Results of 16 NV channels gather in local memory, place
 * after place, and leave turned.
 *
 * pitch: at least MANY and what taps reach beyond. scratch: the copy, NV 16 rows spread1 O2 floats and R1 (CG R2 + 1)
 * ints. The vectors of channels, the last of which need not be full, are a multiple of NV. */
#include "common/epilogue.clh"
#include "common/prefetch.clh"
#include "common/stream.clh"
#include "common/transpose.clh"
#include "conv/band.clh"

#ifndef MANY /* places of a register tile, in each of two rows */
#define MANY 8
#endif
#ifndef NV /* vectors of channels of a register tile */
#define NV 1
#endif
#define FEW 2
#define VW 16
#define LINE (64 / (int)sizeof(STORAGE(D_T))) /* elements */
#define UNROLL _Pragma("unroll")

/* sums[v][16 (to[y] + i spread) ..] = W of vector v of channels by what place from[y] + i of the copy meets, i < count;
 * of a vector W has `next` floats, and sums `pitch`. */
#define DEFINE_TILE(PLACES)                                                                                            \
  static inline void tile_##PLACES(__global const float *W, const int next, __local const float *copy,                 \
                                   __local const int *at, tap_runs taps, const int2 from, const int2 to,               \
                                   const int count, const int spread, const int pitch, __local float *sums) {          \
    float16 upper[NV][PLACES], lower[NV][PLACES];                                                                      \
    UNROLL for (int v = 0; v < NV; v++) UNROLL for (int i = 0; i < PLACES; i++) upper[v][i] = lower[v][i] =            \
        (float16)(0.0f);                                                                                               \
    for (; taps.runs > 0; taps.runs--, taps.begin += taps.step) {                                                      \
      __global const float *w = W + taps.begin * VW;                                                                   \
      for (int t = taps.begin; t < taps.begin + taps.count; t++, w += VW) {                                            \
        __local const float *tap = copy + at[t];                                                                       \
        float16 weights[NV];                                                                                           \
        UNROLL for (int v = 0; v < NV; v++) weights[v] = MICA_VLOAD(VW, w, v *next);                                   \
        UNROLL for (int i = 0; i < PLACES; i++) {                                                                      \
          const float16 place = (float16)(tap[from.x + i]);                                                            \
          UNROLL for (int v = 0; v < NV; v++) upper[v][i] = place * weights[v] + upper[v][i];                          \
        }                                                                                                              \
        UNROLL for (int i = 0; i < PLACES; i++) {                                                                      \
          const float16 place = (float16)(tap[from.y + i]);                                                            \
          UNROLL for (int v = 0; v < NV; v++) lower[v][i] = place * weights[v] + lower[v][i];                          \
        }                                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    UNROLL for (int i = 0; i < PLACES; i++) {                                                                          \
      if (i >= count) break;                                                                                           \
      UNROLL for (int v = 0; v < NV; v++) {                                                                            \
        STOREV(f32, VW, upper[v][i], sums, v *pitch + (to.x + i * spread) * VW);                                       \
        STOREV(f32, VW, lower[v][i], sums, v *pitch + (to.y + i * spread) * VW);                                       \
      }                                                                                                                \
    }                                                                                                                  \
  }
#define DEFINE_TILE_OF(PLACES) DEFINE_TILE(PLACES)
DEFINE_TILE_OF(MANY)
DEFINE_TILE_OF(FEW)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void conv_cpu_direct_oc(CONV_PARAMS, const int8 cut,
                                                                           __global const STORAGE(D_T) * S,
                                                                           const long S_at, __global const float *P,
                                                                           const long P_at, __local float *scratch,
                                                                           EPILOGUE_PARAMS) {
  BAND_UNPACK
  const int tiles = (KG + VW - 1) / VW, results = rows * spread1 * O2 * VW;
  __local float *sums = scratch + CG * channel;
  __local int *ints = (__local int *)(sums + NV * results);
  meeting met = {ints, ints + R1, 0, 0, 0};
  copy_band(conv_size, conv_extent, conv_step, cut, S, S_at, (n * G + g) * CG * I1 * I2, top, channel, scratch);
  P += P_at;
  for (int m = 0; m < KG; m += NV * VW) {
    long packed = 0;
    for (int i = 0; i < min(NV * VW, KG - m); i++) {
      __global STORAGE(D_T) *to = D + D_at + n * D_batch + (g * KG + m + i) * D_row + first;
      for (int p = 0; !STREAM && p < total; p += LINE) PREFETCH_WRITE(to + p);
    }
    for (int residue = 0; residue < residues; residue++) {
      const int residue1 = residue / residues2, residue2 = residue % residues2;
      if (m == 0 || residues > 1) find_taps(conv_size, conv_extent, conv_step, cut, channel, residue1, residue2, &met);
      __global const float *w = P + packed + (g * tiles + m / VW) * CG * met.taps * VW;
      packed += (long)G * tiles * CG * met.taps * VW;
      const int height1 = min(height, (O1 - residue1 + spread1 - 1) / spread1 - row0);
      const int width = (O2 - residue2 + spread2 - 1) / spread2;
      for (int y = 0; y < height1; y += 2) {
        const int below = min(y + 1, height1 - 1);
        const int2 row = (int2)(y, below);
        const tap_runs runs = skip_idle(&met, CG, top + y * step1, top + below * step1, I1);
        for (int x = 0; x < width;) {
          const bool many = width >= MANY && width - x >= MANY - 1;
          const int at = many ? min(x, width - MANY) : x, count = min(many ? MANY : FEW, width - at);
          const int2 from = row * step1 * step2 * pitch + at;
          const int2 to = (row * spread1 + residue1) * O2 + at * spread2 + residue2;
          if (many)
            MICA_PASTE(tile_, MANY)
            (w, CG * met.taps * VW, scratch, met.at, runs, from, to, count, spread2, results, sums);
          else
            MICA_PASTE(tile_, FEW)
            (w, CG * met.taps * VW, scratch, met.at, runs, from, to, count, spread2, results, sums);
          x = at + count;
        }
      }
    }
    for (int v = 0; v < NV; v++) {
      __local const float *places = sums + v * results;
      const int filters = min(VW, KG - m - v * VW);
      for (int p = 0; p < total; p += VW) {
        float16 turned[VW];
        /* Nothing reads what a vector writes twice. */
        if (p + VW > total && total >= VW && beta == 0) p = total - VW;
        UNROLL for (int i = 0; i < VW; i++) turned[i] = MICA_VLOAD(VW, places, min(p + i, total - 1) * VW);
        mica_transpose16(turned);
        float16 leaving[VW];
        UNROLL for (int i = 0; i < VW; i++) leaving[i] = turned[i];
        for (int i = 0; i < filters; i++) {
          const long k = g * KG + m + v * VW + i;
          const bool aligned = (size_t)(D + D_at + n * D_batch + k * D_row + first + p) % 64 == 0;
          if (STREAM && aligned && p + VW <= total)
            FINISH_BY(STREAMV, 16, leaving[i], n, k, first + p);
          else if (p + VW <= total)
            FINISH(16, leaving[i], n, k, first + p);
          else
            for (int j = 0; j < total - p; j++) FINISH(1, ((const float *)&leaving[i])[j], n, k, first + p + j);
        }
      }
    }
  }
}
