/* conv/conv_tile.cl: a window over a source (conv/window.clh) as a matrix product, for the CPU class: any window.
 *
 * The columns of the product are the places of the grid in all images, numbered through, so that small planes fill
 * vectors too. One work-item is one work-group: it takes PANELS panels of NR = NV * 16 columns, one after another, and
 * KB of K. It copies what a panel reads of the source, CB channels at a time, into local memory as rows [c][tap][NR]
 * with zeros outside the source, and multiplies it with packed weights (conv_pack.cl) in register tiles of MR rows by
 * NV vectors. Sums wait in local memory until all channels are in.
 *
 * cut: CB, KB, PANELS. NDRange: ceil(columns / (NR PANELS)), ceil(K / KB), groups of the convolution; work-group
 * (1, 1, 1). KB is a multiple of MR. scratch: (CB taps + KB) NR floats. */
#include "common/epilogue.clh"
#include "conv/window.clh"

#ifndef MR /* rows of a register tile */
#define MR 8
#endif
#ifndef NV /* vectors in a row of it */
#define NV 2
#endif
#define VW 16
#define NR (NV * VW)
#define UNROLL _Pragma("unroll")
#define READ(n, i) MICA_AS(float, n, LOADV(D_T, n, S, i))

/* A stretch of columns of one row of the grid, and the part of it that a tap finds inside the source. */
typedef struct stretch {
  int lane, count, n, o0, o1, o2;
} stretch;
typedef struct piece {
  int lane, count;
  long at;
} piece;

/* Cuts columns begin .. end - 1 where rows of the grid end; returns how many stretches there are. */
static int cut_columns(const long begin, const long end, const int OUT0, const int OUT1, const int OUT2,
                       stretch *list) {
  int count = 0;
  for (long column = begin; column < end; count++) {
    stretch s;
    long row = column / OUT2;
    s.lane = (int)(column - begin);
    s.o2 = (int)(column % OUT2);
    s.o1 = (int)(row % OUT1);
    s.o0 = (int)(row / OUT1 % OUT0);
    s.n = (int)(row / OUT1 / OUT0);
    s.count = (int)min((long)(OUT2 - s.o2), end - column);
    list[count] = s;
    column += s.count;
  }
  return count;
}

/* Copies elements at, at + step, ... of S. */
static inline void copy(__global const STORAGE(D_T) * S, const long at, const int step, const int count,
                        __local float *to) {
  if (step != 1 || count < 4) {
    for (int j = 0; j < count; j++) to[j] = READ(1, at + (long)j * step);
  } else if (count >= VW) {
    for (int j = 0; j < count - VW; j += VW) MICA_VSTORE(VW, READ(VW, at + j), to, j);
    MICA_VSTORE(VW, READ(VW, at + count - VW), to, count - VW);
  } else if (count >= 8) {
    const float8 first = READ(8, at), last = READ(8, at + count - 8);
    MICA_VSTORE(8, first, to, 0);
    MICA_VSTORE(8, last, to, count - 8);
  } else {
    const float4 first = READ(4, at), last = READ(4, at + count - 4);
    MICA_VSTORE(4, first, to, 0);
    MICA_VSTORE(4, last, to, count - 4);
  }
}

#define DIVIDE_UP(a, b) (((a) + (b)-1) / (b))
#define WINDOW window_size, window_taps, window_step, window_full

/* Where the tap (t0, t1, t2) finds columns inside channel `channel` of image 0; returns how many pieces there are. */
static inline int find_pieces(WINDOW_PARAMS, const stretch *list, const int stretches, const int t0, const int t1,
                              const int t2, const long channel, piece *pieces, int *lanes) {
  WINDOW_UNPACK
  int found = 0;
  *lanes = 0;
  for (int s = 0; s < stretches; s++) {
    const int i0 = list[s].o0 * STEP0 + FIRST0 + t0 * DELTA0, i1 = list[s].o1 * STEP1 + FIRST1 + t1 * DELTA1;
    const int i2 = list[s].o2 * STEP2 + FIRST2 + t2 * DELTA2;
    if (i0 < 0 || i0 >= IN0 || i1 < 0 || i1 >= IN1) continue;
    const int skip = i2 < 0 ? DIVIDE_UP(-i2, STEP2) : 0;
    const int stop = i2 < IN2 ? min(list[s].count, DIVIDE_UP(IN2 - i2, STEP2)) : 0;
    if (skip >= stop) continue;
    const long row = ((list[s].n * (long)G * CG + channel) * IN0 + i0) * IN1 + i1;
    pieces[found].lane = list[s].lane + skip;
    pieces[found].count = stop - skip;
    pieces[found].at = row * IN2 + i2 + skip * STEP2;
    *lanes += stop - skip;
    found++;
  }
  return found;
}

/* panel[c][tap][NR] for cb channels from `channel` on. */
static void fill_panel(WINDOW_PARAMS, const stretch *list, const int stretches, const long channel, const int cb,
                       __global const STORAGE(D_T) * S, __local float *panel) {
  WINDOW_UNPACK
  const long plane = (long)IN0 * IN1 * IN2;
  const int taps = TAPS0 * TAPS1 * TAPS2;
  for (int t = 0; t < taps; t++) {
    piece pieces[NR];
    int lanes;
    const int found = find_pieces(WINDOW, list, stretches, t / (TAPS1 * TAPS2), t / TAPS2 % TAPS1, t % TAPS2, channel,
                                  pieces, &lanes);
    for (int c = 0; c < cb; c++) {
      __local float *row = panel + (c * taps + t) * NR;
      if (lanes < NR) UNROLL for (int v = 0; v < NV; v++) MICA_VSTORE(VW, (float16)(0.0f), row, v *VW);
      for (int p = 0; p < found; p++)
        copy(S, pieces[p].at + c * plane, STEP2, pieces[p].count, row + pieces[p].lane);
    }
  }
}

/* sums[MR][NR] += a[depth][MR] b[depth][NR], in registers; `first` begins them at 0. */
static inline void multiply(__global const float *a, __local const float *b, const int depth, const bool first,
                            __local float *sums) {
  float16 sum[MR][NV];
  if (first)
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = (float16)(0.0f);
  else
    UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
        sum[i][v] = MICA_VLOAD(VW, sums, i *NR + v * VW);
  for (int l = 0; l < depth; l++) {
    float16 bv[NV];
    UNROLL for (int v = 0; v < NV; v++) bv[v] = MICA_VLOAD(VW, b, v *VW);
    UNROLL for (int i = 0; i < MR; i++) {
      const float16 av = (float16)(a[i]);
      UNROLL for (int v = 0; v < NV; v++) sum[i][v] = av * bv[v] + sum[i][v];
    }
    a += MR;
    b += NR;
  }
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
      MICA_VSTORE(VW, sum[i][v], sums, i *NR + v * VW);
}

/* W adjacent columns of a row leave. */
#define LEAVE(W)                                                                                                       \
  FINISH(W, MICA_VLOAD(W, sums, (m - k_begin) * NR + lane), list[s].n, (long)g *KG + m,                                \
         place + (lane - list[s].lane) * SPREAD2)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_tile(WINDOW_PARAMS, const int8 cut, __global const STORAGE(D_T) * S, const long S_at, __global const float *P,
          const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  WINDOW_UNPACK
  const int CB = cut.s0, KB = cut.s1, PANELS = cut.s2, taps = TAPS0 * TAPS1 * TAPS2, g = (int)get_group_id(2);
  const int k_begin = (int)get_group_id(1) * KB, k_end = min(KG, k_begin + KB);
  const long columns = (long)N * OUT0 * OUT1 * OUT2, first_column = (long)get_group_id(0) * PANELS * NR;
  __local float *panel = scratch, *sums = scratch + CB * taps * NR;
  P += P_at + (long)(g * DIVIDE_UP(KG, MR) + k_begin / MR) * CG * taps * MR;
  for (long begin = first_column; begin < min(columns, first_column + PANELS * NR); begin += NR) {
    stretch list[NR];
    const int stretches = cut_columns(begin, min(columns, begin + NR), OUT0, OUT1, OUT2, list);
    int c0 = 0;
    do {
      const int cb = min(CB, CG - c0);
      fill_panel(WINDOW, list, stretches, (long)g * CG + c0, cb, S + S_at, panel);
      for (int m = k_begin; m < k_end; m += MR)
        multiply(P + ((long)(m - k_begin) / MR * CG + c0) * taps * MR, panel, cb * taps, c0 == 0,
                 sums + (m - k_begin) * NR);
      c0 += CB;
    } while (c0 < CG);
    for (int s = 0; s < stretches; s++) {
      const int last = list[s].lane + list[s].count;
      const long row = (long)(AT0 + list[s].o0 * SPREAD0) * FULL1 + AT1 + list[s].o1 * SPREAD1;
      const long place = row * FULL2 + AT2 + list[s].o2 * SPREAD2;
      for (int m = k_begin; m < k_end; m++) {
        int lane = list[s].lane;
        for (; SPREAD2 == 1 && lane + VW <= last; lane += VW) LEAVE(VW);
        for (; lane < last; lane++) LEAVE(1);
      }
    }
  }
}
