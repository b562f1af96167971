/* conv/conv_filter_join.cl: the second half of a filter gradient: what conv_filter_tile left in T becomes dW.
 *
 * T is [PARTS][groups * panels][tiles][taps][MR][NR] of float; parts are added in their order, so that the same inputs
 * give the same bits. PANEL, MR and NV are those of conv_filter_tile. size: groups, channels and filters of one, taps,
 * PARTS. dW is [G KG][CG][taps].
 * NDRange: groups * panels, tiles; work-group (1, 1, 1). sums: taps * MR * NR floats (PANEL 3: MR * NR). */
#include "common/dtype.clh"

#ifndef D_T
#define D_T f32
#endif
#ifndef PANEL
#define PANEL 1
#endif
#ifndef MR
#define MR 8
#endif
#ifndef NV
#define NV 2
#endif

#define X 1
#define Y 2
#define Y_TAPS 3
#define VW 16
#define NR (NV * VW)

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_filter_join(const int8 size, __global const float *restrict T, const long T_at, __global STORAGE(D_T) *restrict D,
                 const long D_at, __local float *sums) {
  const int CG = size.s1, KG = size.s2, PARTS = size.s4;
  /* Seen from here a (channel, tap) pair is a channel of one tap. */
  const int taps = PANEL == Y_TAPS ? 1 : size.s3, channels = PANEL == Y_TAPS ? CG * size.s3 : CG;
  const int lane_count = PANEL == X ? channels : KG, row_count = PANEL == X ? KG : channels;
  const int panels = (lane_count + NR - 1) / NR, tiles = (row_count + MR - 1) / MR, tile = (int)get_group_id(1);
  const int g = (int)get_group_id(0) / panels, panel = (int)get_group_id(0) % panels;
  const long block = (long)taps * MR * NR, part = (long)get_num_groups(0) * tiles * block;
  const int lanes = min(NR, lane_count - panel * NR), rows = min(MR, row_count - tile * MR);
  T += T_at + ((long)get_group_id(0) * tiles + tile) * block;
  for (int i = 0; i < block; i += VW) {
    float16 sum = MICA_VLOAD(VW, T, i);
    for (int p = 1; p < PARTS; p++) sum += MICA_VLOAD(VW, T, p * part + i);
    MICA_VSTORE(VW, sum, sums, i);
  }
#if PANEL == X
  for (int row = 0; row < rows; row++) {
    long at = D_at + (((long)g * KG + tile * MR + row) * CG + panel * NR) * taps;
    if (taps == 1 && lanes == NR) {
#pragma unroll
      for (int v = 0; v < NR; v += VW) STOREV(D_T, VW, MICA_VLOAD(VW, sums, row *NR + v), D, at + v);
      continue;
    }
    for (int lane = 0; lane < lanes; lane++)
      for (int tap = 0; tap < taps; tap++) STORE(D_T, sums[(tap * MR + row) * NR + lane], D, at++);
  }
#else
  for (int lane = 0; lane < lanes; lane++) {
    long at = D_at + (((long)g * KG + panel * NR + lane) * channels + tile * MR) * taps;
    for (int row = 0; row < rows; row++)
      for (int tap = 0; tap < taps; tap++) STORE(D_T, sums[(tap * MR + row) * NR + lane], D, at++);
  }
#endif
}
