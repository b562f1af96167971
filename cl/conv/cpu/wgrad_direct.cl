/* conv/cpu/wgrad_direct.cl: the gradient of filters that see few channels, for the CPU class.
 *
 *   dW[g][k][c][r][s] = sum over n, p, q of
 *                       dY[n][g KG + k][p][q] X[n][g CG + c][p ST1 - PA1 + r DI1][q ST2 - PA2 + s DI2]
 *
 * A work-item, which is a work-group, takes a part of the bands, `rows` output rows of an image each, `slots` at a
 * time. It copies what they meet of X into local memory with its padding, columns parted by their residue of ST2, so
 * that what a tap meets of adjacent places is adjacent. Lanes are places of an output row; a register tile is FILTERS
 * rows of dY, read where they lie, by PAIRS pairs of channel and tap, whose lanes are added in the end. Neither dY nor
 * taps are packed.
 *
 * Output rows have at least VW places. cut: rows, bands of an image, slots, lines and pitch of the copy of a channel.
 * T is what conv/wgrad_reduce.cl takes with PANEL 3, MR PAIRS, NV 1. NDRange: parts, G, 1; work-group (1, 1, 1).
 * scratch: slots CG lines ST2 pitch floats, and an int for each pair of padded tiles. lines: (rows - 1) ST1 +
 * (R1 - 1) DI1 + 1; pitch: O2 and what taps reach beyond. */
#include "conv/filter.clh"
#include "conv/part.clh"

#ifndef FILTERS
#define FILTERS 2
#endif
#ifndef PAIRS
#define PAIRS 9
#endif

static inline float sum_lanes(const float16 v) {
  const float8 a = v.lo + v.hi;
  const float4 b = a.lo + a.hi;
  const float2 c = b.lo + b.hi;
  return c.x + c.y;
}

/* sum[f][i] += the products of places of dY's rows, the first of which are at y, and what they meet of a band's copy u.
 * What is `ahead` elements further will be read next. */
static inline void multiply(const operand y[FILTERS], const long ahead, __local const float *u, const long *at,
                            const int height, const int width, const int down, float16 sum[FILTERS][PAIRS]) {
  const int16 lanes = (int16)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (int p = 0; p < height; p++, u += down)
    for (int q = 0; q < width; q += VW) {
      /* The last vector of a row overlaps the one before, whose places are not added twice. */
      const int x = min(q, width - VW);
      const int16 used = lanes >= q - x;
      float16 row[FILTERS];
      UNROLL for (int f = 0; f < FILTERS; f++) {
        row[f] = select((float16)(0.0f), READ(VW, y[f], p * width + x), used);
        PREFETCH_READ(y[f] + p * width + x + ahead);
      }
      __local const float *first = u + x;
      UNROLL for (int i = 0; i < PAIRS; i++) {
        const float16 met = MICA_VLOAD(VW, first, at[i]);
        UNROLL for (int f = 0; f < FILTERS; f++) sum[f][i] = met * row[f] + sum[f][i];
      }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_cpu_wgrad_direct(CONV_PARAMS, const int8 cut, __global const STORAGE(D_T) * X, const long X_at,
                   __global const STORAGE(D_T) * Y, const long Y_at, __global float *T, const long T_at,
                   __local float *scratch) {
  CONV_UNPACK
  const int rows = cut.s0, bands = cut.s1, slots = cut.s2, lines = cut.s3, pitch = cut.s4, taps = R1 * R2;
  const int copy = CG * lines * ST2 * pitch, pairs = CG * taps, tiles = (pairs + PAIRS - 1) / PAIRS;
  const int panels = (KG + VW - 1) / VW, columns = min(I2, (O2 - 1) * ST2 + (R2 - 1) * DI2 + 1 - PA2);
  const int parts = (int)get_num_groups(0), part = (int)get_group_id(0), g = (int)get_group_id(1);
  const int begin = (int)((long)part * N * bands / parts), end = (int)((long)(part + 1) * N * bands / parts);
  __local int *at = (__local int *)(scratch + slots * copy);
  const long y_plane = (long)O1 * O2;
  T += T_at + ((long)part * G + g) * panels * tiles * PAIRS * VW;
  for (int i = 0; i < panels * tiles * PAIRS; i++) STOREV(f32, VW, (float16)(0.0f), T, i * VW);
  for (int i = 0; i < tiles * PAIRS; i++) {
    const int pair = min(i, pairs - 1), y = pair % taps / R2 * DI1, x = pair % R2 * DI2;
    at[i] = ((pair / taps * lines + y) * ST2 + x % ST2) * pitch + x / ST2;
  }
  for (int first = begin; first < end; first += slots) {
    const int count = min(slots, end - first);
    for (int i = 0; i < count * copy; i++) scratch[i] = 0.0f;
    for (int slot = 0; slot < count; slot++) {
      const int n = (first + slot) / bands, top = (first + slot) % bands * rows * ST1 - PA1;
      for (int c = 0; c < CG; c++)
        for (int y = max(0, -top); y < min(lines, I1 - top); y++)
          part_row(X, X_at + ((((long)n * G + g) * CG + c) * I1 + top + y) * I2, columns, PA2, ST2, pitch,
                   scratch + slot * copy + (c * lines + y) * ST2 * pitch);
    }
    for (int k = 0; k < KG; k += FILTERS)
      for (int tile = 0; tile < tiles; tile++) {
        float16 sum[FILTERS][PAIRS];
        long from[PAIRS];
        UNROLL for (int i = 0; i < PAIRS; i++) from[i] = at[tile * PAIRS + i];
        UNROLL for (int f = 0; f < FILTERS; f++) UNROLL for (int i = 0; i < PAIRS; i++) sum[f][i] = (float16)(0.0f);
        for (int slot = 0; slot < count; slot++) {
          const int n = (first + slot) / bands, o = (first + slot) % bands * rows;
          operand y[FILTERS];
          UNROLL for (int f = 0; f < FILTERS; f++)
              y[f] = Y + Y_at + (((long)n * G + g) * KG + min(k + f, KG - 1)) * y_plane + (long)o * O2;
          multiply(y, FILTERS * y_plane, scratch + slot * copy, from, min(rows, O1 - o), O2, ST1 * ST2 * pitch, sum);
        }
        UNROLL for (int f = 0; f < FILTERS; f++) {
          const long to = ((long)((k + f) / VW) * tiles + tile) * PAIRS * VW + (k + f) % VW;
          if (k + f < KG) UNROLL for (int i = 0; i < PAIRS; i++) T[to + i * VW] += sum_lanes(sum[f][i]);
        }
      }
  }
}
