/* conv/cpu/direct_w.cl: convolution to few channels, or from few to some, for the CPU class: a band (conv/band.clh).
 *
 * Lanes are places of a row of the grid. A register tile is MR channels of D by NV vectors of places. Results of MR
 * channels gather in local memory, since rows seldom fill vectors.
 *
 * pitch: at least VW and what taps reach beyond. scratch: the copy, MR (rows spread1 O2 + VW) floats and R1 (CG R2 +
 * 1) ints. */
#include "common/epilogue.clh"
#include "common/prefetch.clh"
#include "common/stream.clh"
#include "conv/band.clh"

#ifndef MR /* channels of D of a register tile */
#define MR 8
#endif
#ifndef NV /* vectors of it */
#define NV 2
#endif
#define VW 16
#define LINE (64 / (int)sizeof(STORAGE(D_T))) /* elements */
#define UNROLL _Pragma("unroll")

/* sum[i][v] = W of MR channels of D by what NV places of the copy meet. */
static inline void multiply(__global const float *W, __local const float *copy, __local const int *at, tap_runs taps,
                            const int *from, float16 sum[MR][NV]) {
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = (float16)(0.0f);
  for (; taps.runs > 0; taps.runs--, taps.begin += taps.step) {
    __global const float *w = W + taps.begin * MR;
    for (int t = taps.begin; t < taps.begin + taps.count; t++, w += MR) {
      __local const float *tap = copy + at[t];
      float16 x[NV];
      UNROLL for (int v = 0; v < NV; v++) x[v] = MICA_VLOAD(VW, tap, from[v]);
      UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = w[i] * x[v] + sum[i][v];
    }
  }
}

/* sums[i results + to[v] + j spread] = lane j of sum[i][v], of those that are used. */
static inline void spread_out(float16 sum[MR][NV], const int results, const int *to, const int *used, const int spread,
                              __local float *sums) {
  float16 whole[MR][NV];
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) whole[i][v] = sum[i][v];
  for (int i = 0; i < MR; i++)
    for (int v = 0; v < NV; v++) {
      const float *lanes = (const float *)&whole[i][v];
      for (int j = 0; j < used[v]; j++) sums[i * results + to[v] + j * spread] = lanes[j];
    }
}

/* `count` results leave, if so many are left. */
#define LEAVE(count)                                                                                                   \
  for (; p + count <= total; p += count) FINISH(count, MICA_VLOAD(count, row, p), n, k, first + p);

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void conv_cpu_direct_w(CONV_PARAMS, const int8 cut,
                                                                         __global const STORAGE(D_T) * S,
                                                                         const long S_at, __global const float *P,
                                                                         const long P_at, __local float *scratch,
                                                                         EPILOGUE_PARAMS) {
  BAND_UNPACK
  const int results = rows * spread1 * O2 + VW, tiles = (KG + MR - 1) / MR;
  const int across = (grid2 + VW - 1) / VW, vectors = height * across;
  /* What a short row has beyond its end is written over by the next one, where that is made after it. */
  const bool whole = spread2 == 1 && (spread1 == 1 || grid2 >= VW);
  __local float *sums = scratch + CG * channel;
  __local int *ints = (__local int *)(sums + MR * results);
  meeting met = {ints, ints + R1, 0, 0, 0};
  copy_band(conv_size, conv_extent, conv_step, cut, S, S_at, (n * G + g) * CG * I1 * I2, top, channel, scratch);
  P += P_at;
  for (int m = 0; m < KG; m += MR) {
    const int filters = min(MR, KG - m);
    long packed = 0;
    for (int i = 0; i < filters; i++) {
      __global STORAGE(D_T) *to = D + D_at + n * D_batch + (g * KG + m + i) * D_row + first;
      for (int p = 0; !STREAM && p < total; p += LINE) PREFETCH_WRITE(to + p);
    }
    for (int residue = 0; residue < residues; residue++) {
      const int residue1 = residue / residues2, residue2 = residue % residues2;
      if (m == 0 || residues > 1) find_taps(conv_size, conv_extent, conv_step, cut, channel, residue1, residue2, &met);
      __global const float *w = P + packed + (g * tiles + m / MR) * CG * met.taps * MR;
      packed += (long)G * tiles * CG * met.taps * MR;
      for (int begin = 0; begin < vectors; begin += NV) {
        int from[NV], to[NV], used[NV];
        float16 sum[MR][NV];
        UNROLL for (int v = 0; v < NV; v++) {
          const int vector = min(begin + v, vectors - 1), y = vector / across;
          const int x = min(vector % across * VW, max(0, grid2 - VW));
          from[v] = y * step1 * step2 * pitch + x;
          to[v] = (y * spread1 + residue1) * O2 + x * spread2 + residue2;
          used[v] = min(VW, (O2 - residue2 - x * spread2 + spread2 - 1) / spread2);
        }
        const int line = top + begin / across * step1, last = min(begin + NV, vectors) - 1;
        multiply(w, scratch, met.at, skip_idle(&met, CG, line, top + last / across * step1, I1), from, sum);
        if (whole)
          UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
              STOREV(f32, VW, sum[i][v], sums, i * results + to[v]);
        else
          spread_out(sum, results, to, used, spread2, sums);
      }
    }
    for (int i = 0; i < filters; i++) {
      __local const float *row = sums + i * results;
      const long k = g * KG + m + i;
      const bool aligned = (size_t)(D + D_at + n * D_batch + k * D_row + first) % 64 == 0;
      int p = 0;
      for (; STREAM && aligned && p + 16 <= total; p += 16)
        FINISH_BY(STREAMV, 16, MICA_VLOAD(16, row, p), n, k, first + p);
      LEAVE(16)
      /* Nothing reads what a vector writes twice. */
      if (p < total && total >= 16 && beta == 0) {
        p = total - 16;
        LEAVE(16)
      }
      LEAVE(4)
      LEAVE(1)
    }
  }
}
