/* conv/cpu/direct_w.cl: direct convolution vectorised over the width, for results or sources of few channels, for the
 * CPU class. conv/input_tile.clh describes strips, input tiles and taps.
 *
 * The lanes of a vector are adjacent pixels of a row. A register tile is MR channels of D by NV vectors of pixels. The
 * results of MR channels are collected in local memory, because rows are seldom a whole number of vectors.
 *
 * pitch: at least VW elements plus the halo. scratch: the input tile, MR (rows out_stride1 O2 + VW) floats and R1 (CG
 * R2 + 1) ints. */
#include "common/cpu/register_tile.clh"
#include "common/cpu/stream.clh"
#include "common/finish.clh"
#include "conv/input_tile.clh"

#define CACHE_LINE (64 / (int)sizeof(STORAGE(D_T))) /* elements in a cache line */

/* sum[i][v] = the sum over `taps` of the weight of channel i of D times the vector of inputs at from[v] + at[tap]. W
 * has MR weights per tap. */
VECTOR_FUNCTION inline void multiply(__global const float *W, __local const float *input, __local const int *at,
                                     tap_ranges taps, __private const int *from, __private vec sum[MR][NV]) {
  TILE_CLEAR(sum, MR, NV);
  for (; taps.ranges > 0; taps.ranges--, taps.begin += taps.step) {
    __global const float *w = W + taps.begin * MR;
    for (int t = taps.begin; t < taps.begin + taps.count; t++, w += MR) {
      __local const float *tap = input + at[t];
      vec x[NV];
      UNROLL for (int v = 0; v < NV; v++) x[v] = MICA_VLOAD(VW, tap, from[v]);
      TILE_MULTIPLY_ADD(sum, MR, NV, w[i], x)
    }
  }
}

/* sums[i results + to[v] + j stride] = lane j of sum[i][v], for the first used[v] lanes of each vector. */
VECTOR_FUNCTION inline void scatter(__private vec sum[MR][NV], const int results, __private const int *to,
                                    __private const int *used, const int stride, __local float *sums) {
  vec whole[MR][NV];
  TILE_EACH(MR, NV) whole[i][j] = sum[i][j];
  for (int i = 0; i < MR; i++)
    for (int v = 0; v < NV; v++) {
      __private const float *lanes = (__private const float *)&whole[i][v];
      for (int j = 0; j < used[v]; j++) sums[i * results + to[v] + j * stride] = lanes[j];
    }
}

/* Writes `total` results to channel k of image n of D, from element `first` of the channel on. With `stream`, if
 * element `first` begins a cache line, whole cache lines are written with non-temporal stores. */
APART void finish_row(__local const float *row, const int total, const long n, const long k, const long first,
                      const int stream, EPILOGUE_PARAMS) {
  const bool aligned = stream && (size_t)(D + D_at + n * D_batch + k * D_row + first) % 64 == 0;
  int p = 0;
  for (; aligned && p + 16 <= total; p += 16) FINISH_BY(STREAMV, 16, MICA_VLOAD(16, row, p), n, k, first + p);
  FINISH_WHILE(16, row, p, total, n, k, first)
  if (beta == 0) FINISH_LAST(16, row, p, total, n, k, first)
  FINISH_WHILE(4, row, p, total, n, k, first)
  FINISH_WHILE(1, row, p, total, n, k, first)
}

/* Computes the strip of work-group (x, y, z). */
APART void convolve_group(CONV_PARAMS, const int8 tile, source S, const long S_at, __global const float *P,
                          const long P_at, __local float *scratch, const int4 group, EPILOGUE_PARAMS) {
  TILE_UNPACK
  const int results = rows * out_stride1 * O2 + VW, tiles = (KG + MR - 1) / MR;
  const int across = (grid2 + VW - 1) / VW, vectors = height * across;
  /* True if whole vectors may be stored. A vector may reach beyond the end of a row that is shorter than a vector. That
   * is harmless if the next row is computed later and overwrites the surplus. */
  const bool whole = out_stride2 == 1 && (out_stride1 == 1 || grid2 >= VW);
  __local float *sums = scratch + CG * channel;
  __local int *ints = (__local int *)(sums + MR * results);
  tap_list taps = {ints, ints + R1, 0, 0, 0};
  pack_input(CONV, tile, S + S_at, (n * G + g) * CG * I1 * I2, top, channel, scratch);
  P += P_at;
  for (int m = 0; m < KG; m += MR) {
    const int filters = min(MR, KG - m);
    long packed = 0;
    for (int i = 0; i < filters; i++) {
      __global STORAGE(D_T) *to = D + D_at + n * D_batch + (g * KG + m + i) * D_row + first;
      for (int p = 0; !STREAM && p < total; p += CACHE_LINE) PREFETCH_WRITE(to + p);
    }
    for (int phase = 0; phase < phases; phase++) {
      const int phase1 = phase / phases2, phase2 = phase % phases2;
      if (m == 0 || phases > 1) find_taps(CONV, tile, channel, phase1, phase2, &taps);
      __global const float *w = P + packed + (g * tiles + m / MR) * CG * taps.taps * MR;
      packed += (long)G * tiles * CG * taps.taps * MR;
      for (int begin = 0; begin < vectors; begin += NV) {
        int from[NV], to[NV], used[NV];
        vec sum[MR][NV];
        UNROLL for (int v = 0; v < NV; v++) {
          const int vector = min(begin + v, vectors - 1), y = vector / across;
          const int x = min(vector % across * VW, max(0, grid2 - VW));
          from[v] = y * step1 * step2 * pitch + x;
          to[v] = (y * out_stride1 + phase1) * O2 + x * out_stride2 + phase2;
          used[v] = min(VW, (O2 - phase2 - x * out_stride2 + out_stride2 - 1) / out_stride2);
        }
        const int upper = top + begin / across * step1, lower = top + (min(begin + NV, vectors) - 1) / across * step1;
        multiply(w, scratch, taps.at, skip_padding(&taps, CG, upper, lower, I1), from, sum);
        if (whole)
          TILE_EACH(MR, NV) STOREV(f32, VW, sum[i][j], sums, i * results + to[j]);
        else
          scatter(sum, results, to, used, out_stride2, sums);
      }
    }
    for (int i = 0; i < filters; i++)
      finish_row(sums + i * results, total, n, g * KG + m + i, first, STREAM, alpha, beta, D, D_at, D_row, D_batch, C,
                 C_at, C_row, C_batch, bias, bias_at, act_arg);
  }
}

CPU_KERNEL conv_cpu_direct_w(CONV_PARAMS, const int8 tile, source S, const long S_at, __global const float *P,
                             const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  const int4 group = (int4)(get_group_id(0), get_group_id(1), get_group_id(2), 0);
  convolve_group(CONV, tile, S, S_at, P, P_at, scratch, group, alpha, beta, D, D_at, D_row, D_batch, C, C_at, C_row,
                 C_batch, bias, bias_at, act_arg);
}
