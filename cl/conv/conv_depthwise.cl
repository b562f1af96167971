/* conv/conv_depthwise.cl: convolution where a group has one channel, in one or two dimensions, for the CPU class.
 *
 *   D[n][g KG + k][p][q] = sum over r, s of U[n][g][p STEP + first1 + r][q STEP + first2 + s] W[g KG + k][r][s]
 *
 * U is the source S (IN1 x IN2) with UP - 1 zeros between its elements, and zeros outside. Forward, UP is 1; backward
 * to the data STEP is 1, UP the stride, and FLIP turns the filter round.
 *
 * A work-item, which is a work-group, takes `planes` channels in turn and `rows` rows of D of each. It copies what it
 * reads of U into local memory, columns of one residue modulo STEP beside each other, so that a vector of results takes
 * one load and one multiply-add for each tap; results gather in local memory, from where they leave in whole vectors.
 *
 * size: G KG IN1 IN2 OUT1 OUT2 rows planes; more: first1 first2 UP FLIP R S (R and S where TAPS is 0), pitch.
 * NDRange: ceil(OUT1 / rows), ceil(G / planes), N; work-group (1, 1, 1). scratch: ((rows - 1) STEP + R) pitch floats
 * for U, where pitch is STEP times the columns of a residue, and rows OUT2 + VW for results. first1 and first2 are not
 * positive. */
#include "common/epilogue.clh"
#include "conv/copy.clh"

#ifndef TAPS /* height and width of the filter, if both are this; 0: any */
#define TAPS 3
#endif
#ifndef STEP /* 1 or 2 */
#define STEP 1
#endif
#ifndef VW /* elements of a vector: 8 for short rows */
#define VW 16
#endif
#define ROWS 4 /* rows that are computed together */
#define V COMPUTEV(f32, VW)
#define UNROLL _Pragma("unroll")

/* One row of U, `pitch` floats, from one of S; NULL for zeros. */
static inline void fill_row(__global const STORAGE(D_T) * S, const long at, const bool inside, const int IN2,
                            const int lead, const int UP, const int pitch, __local float *row) {
  for (int j = 0; j < pitch; j += VW) STOREV(f32, VW, (V)(0.0f), row, j);
  if (!inside) return;
  const int part = pitch / STEP, count = min(IN2, (pitch - lead + UP - 1) / UP);
  int i = 0;
#if STEP == 1
  if (UP == 1) {
    copy_row(S, at, 1, count, row + lead);
    return;
  }
  for (; UP == 2 && i + 8 <= count; i += 8) {
    float16 spaced = (float16)(0.0f);
    spaced.even = READ_ROW(8, at + i);
    STOREV(f32, 16, spaced, row, lead + 2 * i);
  }
#else
  if (lead % 2) {
    row[part + lead / 2] = READ_ROW(1, at);
    i = 1;
  }
  /* The last vector goes back over what is there already, by an even number, so that at most one element is left. */
  while (UP == 1 && count >= 9 && i + 1 < count) {
    i -= max(0, (i + 8 - count + 1) / 2 * 2);
    const float8 x = READ_ROW(8, at + i);
    STOREV(f32, 4, x.even, row, (lead + i) / 2);
    STOREV(f32, 4, x.odd, row, part + (lead + i) / 2);
    i += 8;
  }
#endif
  for (; i < count; i++) {
    const int j = lead + i * UP;
    row[j % STEP * part + j / STEP] = READ_ROW(1, at + i);
  }
}

/* ROWS vectors of results, from rows that begin at `u`. */
static inline void window(__local const float *u, const int pitch, __global const STORAGE(D_T) * W, const long w,
                          const int step, const int R, const int Q, V sums[ROWS]) {
  const int part = pitch / STEP;
  UNROLL for (int b = 0; b < ROWS; b++) sums[b] = (V)(0.0f);
#if TAPS
  UNROLL for (int r = 0; r < TAPS; r++) UNROLL for (int s = 0; s < TAPS; s++) {
    const V weight = (V)(MICA_AS(float, 1, LOAD(D_T, W, w + (r * TAPS + s) * step)));
#else
  for (int r = 0; r < R; r++)
    for (int s = 0; s < Q; s++) {
      const V weight = (V)(MICA_AS(float, 1, LOAD(D_T, W, w + (r * Q + s) * step)));
#endif
    UNROLL for (int b = 0; b < ROWS; b++) sums[b] =
        weight * MICA_VLOAD(VW, u, (b * STEP + r) * pitch + s % STEP * part + s / STEP) + sums[b];
  }
}

#define LEAVE(W) FINISH(W, MICA_VLOAD(W, results, i), n, (long)g *KG + k, (long)row0 *OUT2 + i)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_depthwise(const int8 size, const int8 more, __global const STORAGE(D_T) * S, const long S_at,
               __global const STORAGE(D_T) * W, const long W_at, __local float *scratch, EPILOGUE_PARAMS) {
  const int G = size.s0, KG = size.s1, IN1 = size.s2, IN2 = size.s3, OUT1 = size.s4, OUT2 = size.s5, rows = size.s6,
            planes = size.s7;
  const int first1 = more.s0, first2 = more.s1, UP = more.s2, FLIP = more.s3, pitch = more.s6;
#if TAPS
  const int R = TAPS, Q = TAPS;
#else
  const int R = more.s4, Q = more.s5;
#endif
  const int row0 = (int)get_group_id(0) * rows, height = min(rows, OUT1 - row0), n = (int)get_group_id(2);
  const int g0 = (int)get_group_id(1) * planes;
  __local float *results = scratch + ((rows + ROWS - 1) * STEP + R) * pitch + VW;
  for (int g = g0; g < min(G, g0 + planes); g++) {
    const long plane = S_at + ((long)n * G + g) * IN1 * IN2;
    for (int j = 0; j < (height - 1) * STEP + R; j++) {
      const int at = row0 * STEP + first1 + j, i = at / UP;
      fill_row(S, plane + (long)i * IN2, at >= 0 && i * UP == at && i < IN1, IN2, -first2, UP, pitch,
               scratch + j * pitch);
    }
    for (int k = 0; k < KG; k++) {
      const long w = W_at + ((long)g * KG + k) * R * Q + (FLIP ? R * Q - 1 : 0);
      for (int p = 0; p < height; p += ROWS)
        /* From the last: what a vector has beyond its row is written over by the next row. */
        for (int q = (OUT2 - 1) / VW * VW; q >= 0; q -= VW) {
          V sums[ROWS];
          window(scratch + p * STEP * pitch + q, pitch, W, w, FLIP ? -1 : 1, R, Q, sums);
          UNROLL for (int b = 0; b < ROWS; b++)
            if (p + b < height) STOREV(f32, VW, sums[b], results, (p + b) * OUT2 + q);
        }
      int i = 0;
      for (; i + VW <= height * OUT2; i += VW) LEAVE(VW);
      for (; i < height * OUT2; i++) LEAVE(1);
    }
  }
}
