/* conv/conv_direct.cl: convolution with few channels, in one or two dimensions, for the CPU class.
 *
 *   Y[n][g KG + k][p][q] =
 *       sum over c, r, s of X[n][g CG + c][p ST1 - PA1 + r DI1][q ST2 - PA2 + s DI2] W[g][k][c][r][s]
 *
 * A work-item, which is a work-group, takes `rows` rows of all filters of one group and image. It copies what they read
 * of X into local memory, once, with its padding and with columns parted by their residue of ST2, so that a tap of
 * adjacent results finds adjacent elements: nothing is copied for each tap. Filters are packed (conv_pack.cl, in one
 * block); a register tile is MR of them by NV vectors of results of a row. Results of MR filters gather in local
 * memory, since rows seldom fill vectors.
 *
 * cut: rows, lines and pitch of the copy of a channel, floats of a filter's results. NDRange: ceil(O1 / rows), N, G;
 * work-group (1, 1, 1). scratch: CG lines ST2 pitch + MR results floats, and an int for each channel and tap. lines:
 * (rows - 1) ST1 + (R1 - 1) DI1 + 1; pitch: max(O2, VW) and what taps reach beyond; results: rows O2 + VW. */
#include "common/epilogue.clh"
#include "common/prefetch.clh"
#include "common/stream.clh"
#include "conv/part.clh"
#include "conv/problem.clh"

#ifndef MR /* filters of a register tile */
#define MR 8
#endif
#ifndef NV /* vectors of it */
#define NV 2
#endif
#ifndef STREAM /* 1: results are written past the caches */
#define STREAM 0
#endif
#define VW 16
#define LINE (64 / (int)sizeof(STORAGE(D_T))) /* elements */
#define UNROLL _Pragma("unroll")

/* sums[i results ..] = W of MR filters at NV places of the copy, and where these stand in a row of results. */
static inline void multiply(__global const float *w, __local const float *u, __local const int *at, const int depth,
                            const int *from, const int *to, const int results, __local float *sums) {
  float16 sum[MR][NV];
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = (float16)(0.0f);
  for (int t = 0; t < depth; t++, w += MR) {
    __local const float *tap = u + at[t];
    float16 x[NV];
    UNROLL for (int v = 0; v < NV; v++) x[v] = MICA_VLOAD(VW, tap, from[v]);
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = w[i] * x[v] + sum[i][v];
  }
  /* What a short row has beyond its end is written over by the next one. */
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
      STOREV(f32, VW, sum[i][v], sums, i *results + to[v]);
}

/* `count` results leave, if so many are left. */
#define LEAVE(count)                                                                                                   \
  for (; p + count <= total; p += count) FINISH(count, MICA_VLOAD(count, row, p), n, k, first + p);

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_direct(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * X, const long X_at, __global const float *P,
            const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  CONV_UNPACK
  const int rows = cut.s0, lines = cut.s1, pitch = cut.s2, results = cut.s3, depth = CG * R1 * R2;
  const int row0 = (int)get_group_id(0) * rows, height = min(rows, O1 - row0), total = height * O2;
  const long n = (long)get_group_id(1), g = (long)get_group_id(2), first = (long)row0 * O2;
  const int top = row0 * ST1 - PA1, used = (height - 1) * ST1 + (R1 - 1) * DI1 + 1;
  const int columns = min(I2, (O2 - 1) * ST2 + (R2 - 1) * DI2 + 1 - PA2), copy = CG * lines * ST2 * pitch;
  const int across = (O2 + VW - 1) / VW, vectors = height * across;
  __local float *sums = scratch + copy;
  __local int *at = (__local int *)(sums + MR * results);
  for (int i = 0; i < copy; i++) scratch[i] = 0.0f;
  for (int c = 0; c < CG; c++) {
    for (int t = 0; t < R1 * R2; t++) {
      const int y = t / R2 * DI1, x = t % R2 * DI2;
      at[c * R1 * R2 + t] = ((c * lines + y) * ST2 + x % ST2) * pitch + x / ST2;
    }
    for (int y = max(0, -top); y < min(used, I1 - top); y++)
      part_row(X, X_at + (((n * G + g) * CG + c) * I1 + top + y) * I2, columns, PA2, ST2, pitch,
               scratch + (c * lines + y) * ST2 * pitch);
  }
  P += P_at + g * ((KG + MR - 1) / MR * MR) * depth;
  for (int m = 0; m < KG; m += MR, P += MR * depth) {
    const int filters = min(MR, KG - m);
    for (int i = 0; i < filters; i++) {
      __global STORAGE(D_T) *to = D + D_at + n * D_batch + (g * KG + m + i) * D_row + first;
      for (int p = 0; !STREAM && p < total; p += LINE) PREFETCH_WRITE(to + p);
    }
    for (int begin = 0; begin < vectors; begin += NV) {
      int from[NV], to[NV];
      UNROLL for (int v = 0; v < NV; v++) {
        const int vector = min(begin + v, vectors - 1), y = vector / across;
        const int x = min(vector % across * VW, max(0, O2 - VW));
        from[v] = y * ST1 * ST2 * pitch + x;
        to[v] = y * O2 + x;
      }
      multiply(P, scratch, at, depth, from, to, results, sums);
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
