/* conv/cpu/implicit_gemm.cl: a window over a source (conv/window.clh) as a matrix product, for the CPU class: any
 * window.
 *
 * The columns of the product are the places of the grid in all images, numbered through, so that small planes fill
 * vectors too. One work-item is one work-group: it takes PANELS panels of NR = NV * 16 columns, one after another, and
 * KB of K. It copies what a panel reads of the source, CB channels at a time, into local memory as rows [c][tap][NR]
 * with zeros outside the source, and multiplies it with packed weights (conv/cpu/pack_weights.cl) in register tiles of
 * MR rows by
 * NV vectors. Sums wait in local memory until all channels are in; where one block has them all, for a tile only.
 *
 * With HALVES 2 two windows that differ in TAPS2, FIRST2 and W share the work: the second, whose taps are `second` and
 * whose weights follow those of the first, makes the places of D beside the first's (AT2 0 and 1, SPREAD2 2), so that
 * rows leave whole; places beyond FULL2 are left out.
 *
 * cut: CB (also that of conv/cpu/pack_weights.cl), KB, PANELS, FLAT (1: the grid's places are adjacent in D, AT 0 and
 * SPREAD 1, so
 * that rows leave as one), STREAM (1: what fills lines of D is written past the caches), BARREN (1: the row of D below
 * each of the grid meets no tap; where it is inside, it leaves too, as sums of nothing). NDRange: ceil(columns / (NR
 * PANELS)), ceil(K / KB), groups of the convolution; work-group (1, 1, 1). KB is a multiple of MR. scratch: (CB taps +
 * HALVES KB + 2) NR floats, and 2 MR NR with HALVES 2, for the window with more taps. */
#include "common/epilogue.clh"
#include "common/prefetch.clh"
#include "common/stream.clh"
#include "conv/copy.clh"
#include "conv/window.clh"

#ifndef MR /* rows of a register tile */
#define MR 8
#endif
#ifndef NV /* vectors in a row of it */
#define NV 2
#endif
#ifndef HALVES /* windows that are computed together */
#define HALVES 1
#endif
#define VW 16
#define NR (NV * VW)
#define AHEAD 8 /* channels of S that are asked for before they are read */
#define UNROLL _Pragma("unroll")

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

/* Elements of a row of sums that leave for places at, at + step, ... of one channel of D. rows: 2 with a barren one. */
typedef struct parting {
  int lane, count, step, n, rows;
  long at;
} parting;

/* Of columns begin .. end - 1, of which `list` has room for the stretches; returns how many there are. */
static int find_leaving(WINDOW_PARAMS, const int FLAT, const int BARREN, const long begin, const long end,
                        stretch *list, parting *leaving) {
  WINDOW_UNPACK
  const int count = FLAT ? cut_columns(begin, end, 1, 1, OUT0 * OUT1 * OUT2, list)
                         : cut_columns(begin, end, OUT0, OUT1, OUT2, list);
  for (int s = 0; s < count; s++) {
    const stretch from = list[s];
    const long line = (long)(AT0 + from.o0 * SPREAD0) * FULL1 + AT1 + from.o1 * SPREAD1;
    leaving[s].at = line * FULL2 + AT2 + from.o2 * SPREAD2;
    leaving[s].lane = from.lane * HALVES;
    leaving[s].count = HALVES > 1 ? min(2 * from.count, FULL2 - 2 * from.o2) : from.count;
    leaving[s].step = HALVES > 1 ? 1 : SPREAD2;
    leaving[s].n = from.n;
    leaving[s].rows = BARREN && AT1 + from.o1 * SPREAD1 + 1 < FULL1 ? 2 : 1;
  }
  return count;
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
      if (lanes < NR) UNROLL for (int v = 0; v < NV; v++) STOREV(f32, VW, (float16)(0.0f), row, v *VW);
      for (int p = 0; p < found; p++) {
        const long at = pieces[p].at + c * plane, next = at + AHEAD * plane;
        if (t == 0) {
          PREFETCH_READ(S + next);
          PREFETCH_READ(S + next + (pieces[p].count - 1) * STEP2);
        }
        copy_row(S, at, STEP2, pieces[p].count, row + pieces[p].lane);
      }
    }
  }
}

/* What the next panel, or the next channels of this one, will read of the source, for windows of a single tap, which
 * read each element once: asked for a share at a time while tiles are multiplied, it is near when they are done. */
typedef struct coming {
  piece pieces[NR];
  int found, next, end, share; /* channels */
} coming;

/* cb channels from `channel` on, in as many shares as there are tiles. */
static void expect(WINDOW_PARAMS, const stretch *list, const int stretches, const long channel, const int cb,
                   const int tiles, coming *c) {
  int lanes;
  c->found = find_pieces(WINDOW, list, stretches, 0, 0, 0, channel, c->pieces, &lanes);
  c->next = 0;
  c->end = cb;
  c->share = DIVIDE_UP(cb, tiles);
}

static inline void ask_for_share(coming *c, const long plane, const int step, __global const STORAGE(D_T) * S) {
  for (const int end = min(c->end, c->next + c->share); c->next < end; c->next++)
    for (int p = 0; p < c->found; p++) {
      const long at = c->pieces[p].at + c->next * plane;
      const int reach = (c->pieces[p].count - 1) * step;
      for (int j = 0; j < reach; j += VW) PREFETCH_FAR(S + at + j);
      PREFETCH_FAR(S + at + reach);
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
      STOREV(f32, VW, sum[i][v], sums, i *NR + v * VW);
}

/* row[2 NR] = elements of two rows in turn. */
static inline void mix(__local const float *even, __local const float *odd, __local float *row) {
  UNROLL for (int v = 0; v < NV; v++) {
    const float16 x = MICA_VLOAD(VW, even, v *VW), y = MICA_VLOAD(VW, odd, v *VW);
    float16 low, high;
    low.even = x.lo;
    low.odd = y.lo;
    high.even = x.hi;
    high.odd = y.hi;
    STOREV(f32, VW, low, row, 2 * v * VW);
    STOREV(f32, VW, high, row, (2 * v + 1) * VW);
  }
}

/* W adjacent elements of a row leave, of which the first of channel i of a tile goes to `place`. A last vector overlaps
 * the one before, unless C is read, which may be D, or that was written past the caches. */
#define LEAVE(W) LEAVE_BY(STOREV, W)
#define LEAVE_BY(store, W)                                                                                             \
  FINISH_BY(store, W, MICA_VLOAD(W, row, lane), n, channel + i, place + (lane - first) * step)
#define LEAVE_WHILE(W)                                                                                                 \
  for (; step == 1 && lane < stop && (lane + W <= stop || (overlap && count >= W)); lane += W) {                       \
    lane = min(lane, stop - W);                                                                                        \
    if (W == VW && stream && (place + lane - first) % VW == 0)                                                         \
      LEAVE_BY(STREAMV, 16);                                                                                           \
    else                                                                                                               \
      LEAVE(W);                                                                                                        \
  }

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_cpu_implicit_gemm(WINDOW_PARAMS, const int8 second, const int8 cut, __global const STORAGE(D_T) * S,
                       const long S_at,
          __global const float *P, const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  WINDOW_UNPACK
  const int CB = cut.s0, KB = cut.s1, PANELS = cut.s2, FLAT = cut.s3, BARREN = cut.s5, g = (int)get_group_id(2);
  const bool stream = cut.s4 && D_row % VW == 0 && (size_t)(D + D_at) % 64 == 0, overlap = beta == 0 && !stream;
  const int plane_taps = TAPS0 * TAPS1, most_taps = plane_taps * (HALVES > 1 ? max(TAPS2, second.s1) : TAPS2);
  const int tiles = DIVIDE_UP(KG, MR), k_begin = (int)get_group_id(1) * KB, k_end = min(KG, k_begin + KB);
  const long columns = (long)N * OUT0 * OUT1 * OUT2, first_column = (long)get_group_id(0) * PANELS * NR;
  /* Of smaller planes several share a line. */
  const bool single = plane_taps * TAPS2 == 1 && IN0 * IN1 * IN2 >= VW;
  const int k_tiles = DIVIDE_UP(k_end - k_begin, MR);
  __local float *panel = scratch, *sums_all = scratch + CB * most_taps * NR, *mixed = sums_all + HALVES * KB * NR;
  __local float *nothing = mixed + (HALVES > 1 ? 2 * MR * NR : 0);
  for (int i = 0; i < 2 * NR; i += VW) STOREV(f32, VW, (float16)(0.0f), nothing, i);
  P += P_at;
  for (long begin = first_column; begin < min(columns, first_column + PANELS * NR); begin += NR) {
    const long end = min(columns, begin + NR);
    stretch list[NR];
    parting leaving[NR];
    coming soon;
    const int leaves = find_leaving(WINDOW, FLAT, BARREN, begin, end, list, leaving);
    const int stretches = cut_columns(begin, end, OUT0, OUT1, OUT2, list);
    int c0 = 0, part = 0;
    while (part < HALVES) {
      const int8 part_taps = part ? second : window_taps;
      const int cb = min(CB, CG - c0), taps = plane_taps * part_taps.s1, depth = cb * taps;
      fill_panel(window_size, part_taps, window_step, window_full, list, stretches, (long)g * CG + c0, cb, S + S_at,
                 panel);
      __global const float *a = P + (part ? (long)G * tiles * CG * plane_taps * TAPS2 * MR : 0) +
                                ((long)(g * CG + c0) * tiles * taps + (long)k_begin / MR * depth) * MR;
      const int last = taps == 0 || c0 + CB >= CG;
      soon.next = soon.end = soon.share = 0;
      if (single && !last) {
        expect(WINDOW, list, stretches, (long)g * CG + c0 + CB, min(CB, CG - c0 - CB), k_tiles, &soon);
      } else if (single && part == 0 && end < columns) {
        stretch next[NR];
        const int count = cut_columns(end, min(columns, end + NR), OUT0, OUT1, OUT2, next);
        expect(WINDOW, next, count, (long)g * CG, min(CB, CG), k_tiles, &soon);
      }
      for (int m = k_begin; m < k_end; m += MR, a += depth * MR) {
        __local float *sums = sums_all + (CB < CG || HALVES > 1 ? part * KB + m - k_begin : 0) * NR;
        const int rows = last && part == HALVES - 1 ? min(MR, k_end - m) : 0;
        const long channel = (long)g * KG + m;
        for (int s = 0; s < (rows && !stream ? leaves : 0); s++) {
          __global STORAGE(D_T) *to = D + D_at + leaving[s].n * D_batch + channel * D_row + leaving[s].at;
          const int reach = (leaving[s].rows - 1) * FULL2 + (leaving[s].count - 1) * leaving[s].step;
          for (int i = 0; i < rows; i++, to += D_row) {
            for (int j = 0; j < reach; j += VW) PREFETCH_WRITE(to + j);
            PREFETCH_WRITE(to + reach);
          }
        }
        ask_for_share(&soon, (long)IN0 * IN1 * IN2, STEP2, S + S_at);
        multiply(a, panel, depth, c0 == 0, sums);
        __local const float *found = HALVES > 1 ? mixed : sums;
        for (int i = 0; HALVES > 1 && i < rows; i++) mix(sums + (i - KB) * NR, sums + i * NR, mixed + 2 * i * NR);
        for (int s = 0; s < leaves; s++) {
          const int first = leaving[s].lane, count = leaving[s].count, step = leaving[s].step, n = leaving[s].n;
          const int stop = first + count;
          for (int i = 0; i < rows; i++)
            for (int below = 0; below < leaving[s].rows; below++) {
              __local const float *row = below ? nothing : found + i * HALVES * NR;
              const long place = leaving[s].at + below * FULL2;
              int lane = first;
              LEAVE_WHILE(VW)
              LEAVE_WHILE(4)
              for (; lane < stop; lane++) LEAVE(1);
            }
        }
      }
      c0 = last ? 0 : c0 + CB;
      part += last;
    }
  }
}
