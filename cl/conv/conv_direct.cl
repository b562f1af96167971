/* conv/conv_direct.cl: convolution with few channels on one of its sides, in one or two dimensions, for the CPU class.
 *
 *   D[n][g KG + k][o] = sum over c < CG and taps r of S[n][g CG + c][place] W[g][k][c][r]
 *
 * Forward (BACK 0) S is x, D is y and a place is o ST - PA + r DI. Backward to the data (BACK 1) S is y, D is x, and it
 * is (o + PA - r DI) / ST where that leaves no remainder; channels and extents are named after S and D: CG and I are
 * y's, KG and O are x's.
 *
 * A work-item, which is a work-group, takes `rows` rows of a grid of places, which backward stand ST apart in D, of all
 * filters of one group and image. It copies what they read of S into local memory, once, with its padding and forward
 * with columns parted by their residue of ST2, so that a tap of adjacent places finds adjacent elements: nothing is
 * copied for each tap. Backward the residues of ST1 and ST2 take turns on the same copy, each with taps of its own.
 * Weights are packed (conv_pack.cl, in one block, residue after residue); a register tile is MR of them by NV
 * vectors of places of a row. Results of MR channels of D gather in local memory, since rows seldom fill vectors.
 *
 * cut: rows, lines and pitch of the copy of a channel, columns of S that are copied, zeros before its first line and
 * column, BACK, STREAM (1: results are written past the caches). NDRange: ceil(rows of the grid / rows), N, G;
 * work-group (1, 1, 1). scratch: CG lines step pitch + MR (rows spread1 O2 + VW) floats and R1 (R2 + 1) ints, with step
 * ST2 forward and 1 backward, spread1 1 forward and ST1 backward. lines: what `rows` rows of the grid reach of S;
 * pitch: max(columns of the grid, VW) and what taps reach beyond. */
#include "common/epilogue.clh"
#include "common/prefetch.clh"
#include "common/stream.clh"
#include "conv/part.clh"
#include "conv/problem.clh"

#ifndef MR /* channels of D of a register tile */
#define MR 8
#endif
#ifndef NV /* vectors of it */
#define NV 2
#endif
#define VW 16
#define LINE (64 / (int)sizeof(STORAGE(D_T))) /* elements */
#define UNROLL _Pragma("unroll")

/* What a residue's places meet of a copy: rows[t1], counted from its first, and at[t1 taps2 + t2], elements. */
typedef struct meeting {
  __local int *rows, *at;
  int taps1, taps2;
} meeting;

/* Whether places of a residue meet anything at tap r, and how far from the place's own index times the step. */
static inline bool meets(const int back, const int residue, const int r, const int stride, const int pad,
                         const int dilation, int *place) {
  const int reach = back ? residue + pad - r * dilation : r * dilation - pad;
  *place = back ? reach / stride : reach;
  return !back || *place * stride == reach;
}

static void find_taps(CONV_PARAMS, const int8 cut, const int residue1, const int residue2, meeting *m) {
  CONV_UNPACK
  const int pitch = cut.s2, back = cut.s6, step = back ? 1 : ST2;
  int place, row;
  m->taps1 = m->taps2 = 0;
  for (int r = 0; r < R2; r++) m->taps2 += meets(back, residue2, r, ST2, PA2, DI2, &place);
  for (int r1 = 0; r1 < R1; r1++) {
    if (!meets(back, residue1, r1, ST1, PA1, DI1, &row)) continue;
    __local int *at = m->at + m->taps1 * m->taps2;
    m->rows[m->taps1++] = row + cut.s4;
    for (int r2 = 0; r2 < R2; r2++) {
      if (!meets(back, residue2, r2, ST2, PA2, DI2, &place)) continue;
      place += cut.s5;
      *at++ = ((row + cut.s4) * step + place % step) * pitch + place / step;
    }
  }
}

/* scratch[c channel + ..] = rows of the channels of group g of image n, from the source's row `top` on. */
static void copy_rows(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * S, const long image, const int top,
                      const int channel, __local float *scratch) {
  CONV_UNPACK
  const int lines = cut.s1, pitch = cut.s2, step = cut.s6 ? 1 : ST2;
  for (int i = 0; i < CG * channel; i += VW) STOREV(f32, VW, (float16)(0.0f), scratch, i);
  for (int c = 0; c < CG; c++)
    for (int y = max(0, -top); y < min(lines, I1 - top); y++)
      part_row(S, image + ((long)c * I1 + top + y) * I2, cut.s3, cut.s5, step, pitch,
               scratch + c * channel + y * step * pitch);
}

/* sum[i][v] = W of MR channels of D by what NV places of the copy meet: `taps` of each of CG channels. */
static inline void multiply(__global const float *w, const long w_step, __local const float *u, const int u_step,
                            __local const int *at, const int taps, const int CG, const int *from, float16 sum[MR][NV]) {
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = (float16)(0.0f);
  for (int c = 0; c < CG; c++, w += w_step, u += u_step) {
    __global const float *element = w;
    for (int t = 0; t < taps; t++, element += MR) {
      __local const float *tap = u + at[t];
      float16 x[NV];
      UNROLL for (int v = 0; v < NV; v++) x[v] = MICA_VLOAD(VW, tap, from[v]);
      UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = element[i] * x[v] + sum[i][v];
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

/* Whether row t of the taps meets nothing but padding between rows y0 and y1 of the grid. */
#define IS_IDLE(t) (met.rows[t] + y1 * step1 + top < 0 || met.rows[t] + y0 * step1 + top >= I1)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void conv_direct(CONV_PARAMS, const int8 cut,
                                                                         __global const STORAGE(D_T) * S,
                                                                         const long S_at, __global const float *P,
                                                                         const long P_at, __local float *scratch,
                                                                         EPILOGUE_PARAMS) {
  CONV_UNPACK
  const int rows = cut.s0, lines = cut.s1, pitch = cut.s2, BACK = cut.s6, STREAM = cut.s7;
  const int step1 = BACK ? 1 : ST1, step2 = BACK ? 1 : ST2, spread1 = BACK ? ST1 : 1, spread2 = BACK ? ST2 : 1;
  const int grid1 = (O1 + spread1 - 1) / spread1, grid2 = (O2 + spread2 - 1) / spread2;
  const int residues1 = min(spread1, O1), residues2 = min(spread2, O2);
  const int row0 = (int)get_group_id(0) * rows, height = min(rows, grid1 - row0), top = row0 * step1 - cut.s4;
  const int total = (min(O1, (row0 + height) * spread1) - row0 * spread1) * O2, results = rows * spread1 * O2 + VW;
  const long n = (long)get_group_id(1), g = (long)get_group_id(2), first = (long)row0 * spread1 * O2;
  const int channel = lines * step2 * pitch;
  const int across = (grid2 + VW - 1) / VW, vectors = height * across;
  /* What a short row has beyond its end is written over by the next one, where that is made after it. */
  const bool whole = spread2 == 1 && (spread1 == 1 || grid2 >= VW);
  const int tiles = (KG + MR - 1) / MR;
  __local float *sums = scratch + CG * channel;
  meeting met;
  met.rows = (__local int *)(sums + MR * results);
  met.at = met.rows + R1;
  copy_rows(conv_size, conv_extent, conv_step, cut, S, S_at + (n * G + g) * CG * I1 * I2, top, channel, scratch);
  P += P_at;
  for (int m = 0; m < KG; m += MR) {
    const int filters = min(MR, KG - m);
    long packed = 0;
    for (int i = 0; i < filters; i++) {
      __global STORAGE(D_T) *to = D + D_at + n * D_batch + (g * KG + m + i) * D_row + first;
      for (int p = 0; !STREAM && p < total; p += LINE) PREFETCH_WRITE(to + p);
    }
    for (int residue = 0; residue < residues1 * residues2; residue++) {
      const int residue1 = residue / residues2, residue2 = residue % residues2;
      if (m == 0 || residues1 * residues2 > 1)
        find_taps(conv_size, conv_extent, conv_step, cut, residue1, residue2, &met);
      const long taps = met.taps1 * met.taps2;
      __global const float *w = P + packed + ((g * tiles + m / MR) * CG) * taps * MR;
      packed += (long)G * tiles * CG * taps * MR;
      for (int begin = 0; begin < vectors; begin += NV) {
        int from[NV], to[NV], used[NV];
        float16 sum[MR][NV];
        const int y0 = begin / across, y1 = min(begin + NV - 1, vectors - 1) / across;
        int t0 = 0, t1 = met.taps1;
        UNROLL for (int v = 0; v < NV; v++) {
          const int vector = min(begin + v, vectors - 1), y = vector / across;
          const int x = min(vector % across * VW, max(0, grid2 - VW));
          from[v] = y * step1 * step2 * pitch + x;
          to[v] = (y * spread1 + residue1) * O2 + x * spread2 + residue2;
          used[v] = min(VW, (O2 - residue2 - x * spread2 + spread2 - 1) / spread2);
        }
        /* Rows of taps that meet nothing but padding are left out. */
        while (t0 < t1 && IS_IDLE(t0)) t0++;
        while (t0 < t1 && IS_IDLE(t1 - 1)) t1--;
        multiply(w + t0 * met.taps2 * MR, taps * MR, scratch, channel, met.at + t0 * met.taps2, (t1 - t0) * met.taps2,
                 CG, from, sum);
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
