/* conv/wgrad_reduce.cl: computes dW from partial sums T. It is the second half of weight gradients on CPUs that are
 * computed in parts.
 *
 * T is [PARTS][groups * panels][tiles][taps][MR][NR], floats, NR = NV * 16. Parts are added in order, so that the same
 * inputs give the same bits. PANEL says what lanes and rows are:
 *   PANEL_X        lanes are channels, rows are filters
 *   PANEL_Y        lanes are filters, rows are channels
 *   PANEL_Y_TAPS   lanes are filters, rows are (channel, tap) pairs; the kernel treats a pair as a channel with one tap
 *
 * T has only the TAPS taps of the filter from FIRST on (PANEL_Y_TAPS: all taps); dW of the other taps becomes zero. dW
 * is [G KG][CG][filter]. NDRange: groups * panels, tiles; work-group (1, 1, 1). scratch: (MR + 1) * NR * t + 16 floats,
 * where t is the number of taps of the filter, or 1 with PANEL_Y_TAPS. */
#include "common/fields.clh"
#include "common/simd.clh"
#include "common/transpose.clh"
#include "conv/fields.clh"

#define PANEL_X 1
#define PANEL_Y 2
#define PANEL_Y_TAPS 3
#define NR (NV * VW)

/* D[at + lane * step + i] = from[i][lane], for i < count and lane < lanes; rows of `from` have NR elements. */
static inline void store_columns(__local const float *from, const int count, const int lanes, __global STORAGE(D_T) * D,
                                 const long at, const long step) {
  for (int lane = 0; lane < lanes; lane += VW)
    for (int i = 0; i < count; i += VW) {
      const int begin = max(0, min(i, count - VW));
      float16 x[VW];
      UNROLL for (int j = 0; j < VW; j++) x[j] = MICA_VLOAD(VW, from, min(begin + j, count - 1) * NR + lane);
      mica_transpose16(x);
      for (int j = 0; j < min(VW, lanes - lane); j++) {
        const long to = at + (lane + j) * step + begin;
        if (count >= VW) {
          STOREV(D_T, VW, x[j], D, to);
        } else if (count == 8) {
          STOREV(D_T, 8, x[j].lo, D, to);
        } else {
          float part[VW];
          STOREV(f32, VW, x[j], part, 0);
          for (int e = 0; e < count; e++) STORE(D_T, part[e], D, to + e);
        }
      }
    }
}

/* Does the same as store_columns for step == count, when all elements are adjacent in D. If count is not 1, it collects
 * them in `buffer` first. */
static inline void store_adjacent_columns(__local float *from, const int count, const int lanes, __local float *buffer,
                                          __global STORAGE(D_T) * D, const long at) {
  const int total = lanes * count;
  int i = 0;
  if (count == 1) buffer = from;
  for (int lane = 0; lane < lanes && count > 1 && count <= VW; lane += VW) {
    float16 x[VW];
    UNROLL for (int j = 0; j < VW; j++) x[j] = MICA_VLOAD(VW, from, min(j, count - 1) * NR + lane);
    mica_transpose16(x);
    /* Each store writes a whole vector; the next store overwrites the elements after the first `count`. */
    for (int j = 0; j < VW; j++) STOREV(f32, VW, x[j], buffer, (lane + j) * count);
  }
  for (int lane = 0; lane < lanes && count > VW; lane++)
    for (int tap = 0; tap < count; tap++) buffer[lane * count + tap] = from[tap * NR + lane];
  for (; i + VW <= total; i += VW) STOREV(D_T, VW, MICA_VLOAD(VW, buffer, i), D, at + i);
  for (; i < total; i++) STORE(D_T, buffer[i], D, at + i);
}

CPU_KERNEL conv_wgrad_reduce(const int8 size, const int8 used, __global const float *restrict T, const long T_at,
                             __global STORAGE(D_T) *restrict D, const long D_at, __local float *scratch) {
  UNPACK_INTS(REDUCE_SIZE, size)
  UNPACK_INTS(REDUCE_TAPS, used)
  const bool paired = PANEL == PANEL_Y_TAPS;
  const int all = R0 * R1 * R2;
  const int taps = paired ? 1 : all, summed = paired ? 1 : TAPS0 * TAPS1 * TAPS2, channels = paired ? CG * all : CG;
  const int lane_count = PANEL == PANEL_X ? channels : KG, row_count = PANEL == PANEL_X ? KG : channels;
  const int panels = (lane_count + NR - 1) / NR, tiles = (row_count + MR - 1) / MR, tile = (int)get_group_id(1);
  const int g = (int)get_group_id(0) / panels, panel = (int)get_group_id(0) % panels;
  const long block = (long)summed * MR * NR, part = (long)get_num_groups(0) * tiles * block;
  const int lanes = min(NR, lane_count - panel * NR), rows = min(MR, row_count - tile * MR);
  __local float *buffer = scratch + MR * taps * NR;
#if PANEL != PANEL_X
  const long at = D_at + (((long)g * KG + panel * NR) * channels + (long)tile * MR) * taps;
  for (int lane = 0; lane < lanes; lane++)
    for (int i = 0; i < rows * taps + VW; i += VW) PREFETCH_WRITE(D + at + (long)lane * channels * taps + i);
#endif
  T += T_at + ((long)get_group_id(0) * tiles + tile) * block;
  for (int i = 0; summed < taps && i < MR * taps * NR; i += VW) STOREV(f32, VW, (float16)(0.0f), scratch, i);
  /* Adds the parts and writes the sums to scratch[row][tap][NR]. */
  for (int t = 0; t < summed; t++) {
    const int r0 = FIRST0 + t / (TAPS1 * TAPS2), r1 = FIRST1 + t / TAPS2 % TAPS1, r2 = FIRST2 + t % TAPS2;
    const int tap = paired ? 0 : (r0 * R1 + r1) * R2 + r2;
    for (int row = 0; row < rows; row++) UNROLL for (int v = 0; v < NR; v += VW) {
        const long from = (long)(t * MR + row) * NR + v;
        float16 sum = MICA_VLOAD(VW, T, from);
        for (int p = 1; p < PARTS; p++) sum += MICA_VLOAD(VW, T, p * part + from);
        STOREV(f32, VW, sum, scratch, (row * taps + tap) * NR + v);
      }
  }
#if PANEL == PANEL_X
  for (int row = 0; row < rows; row++) {
    const long at = D_at + (((long)g * KG + tile * MR + row) * CG + panel * NR) * taps;
    store_adjacent_columns(scratch + row * taps * NR, taps, lanes, buffer, D, at);
  }
#else
  store_columns(scratch, rows * taps, lanes, D, at, (long)channels * taps);
#endif
}
