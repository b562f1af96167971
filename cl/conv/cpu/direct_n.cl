/* conv/cpu/direct_n.cl: convolution of planes of a few places, forward and backward to the data, for the CPU class.
 *
 * Lanes of vectors are images: a vector of results then needs one load of the source and one multiply-add for each
 * tap, and only for those taps that find it inside the plane, which of a 3x3 filter over 2x2 places are 4 of 9.
 *
 * The window (conv/window.clh) is that of the forward pass, OUT places which meet IN places by taps. BACKWARD 1 turns
 * the meetings round: S has OUT places and D has IN. CG and KG are the channels of S and D in any case; W is packed
 * for them, in one block (conv/cpu/pack_weights.cl).
 *
 * A work-item, which is a work-group, takes NR = NV * 16 images and KB channels of D. It copies the source into local
 * memory, turned: t[c][place][NR]. KB is a multiple of MR. NDRange: ceil(N / NR), ceil(KG / KB), groups of the
 * convolution; work-group (1, 1, 1). scratch: (CG places of S + MR places of D) NR floats, and ints: places of D + 1,
 * and 2 for each of them and each tap. */
#include "common/epilogue.clh"
#include "common/prefetch.clh"
#include "common/transpose.clh"
#include "conv/window.clh"

#ifndef NV /* vectors of images */
#define NV 2
#endif
#ifndef BACKWARD
#define BACKWARD 0
#endif
#define MR 8 /* channels of a register tile */
#define VW 16
#define NR (NV * VW)
#define UNROLL _Pragma("unroll")
#define READ(n, i) MICA_AS(float, n, LOADV(D_T, n, S, i))

/* The place that tap t of place `from` meets, or -1. */
static int meeting(const int from, const int t, const int step, const int first, const int delta, const int there) {
  const int reach = BACKWARD ? from - first - t * delta : from * step + first + t * delta;
  if (reach < 0 || (BACKWARD && reach % step)) return -1;
  const int at = BACKWARD ? reach / step : reach;
  return at < there ? at : -1;
}

/* Fills meetings[d] .. meetings[d + 1] - 1, for each place d of D, with what is to be multiplied: where a tap stands
 * in W and where the place it meets stands in t. */
static void find_meetings(WINDOW_PARAMS, __local int *begin, __local int2 *meetings) {
  WINDOW_UNPACK
  const int D0 = BACKWARD ? IN0 : OUT0, D1 = BACKWARD ? IN1 : OUT1, D2 = BACKWARD ? IN2 : OUT2;
  const int S0 = BACKWARD ? OUT0 : IN0, S1 = BACKWARD ? OUT1 : IN1, S2 = BACKWARD ? OUT2 : IN2;
  const int places = D0 * D1 * D2, taps = TAPS0 * TAPS1 * TAPS2;
  int count = 0;
  for (int d = 0; d < places; d++) {
    begin[d] = count;
    for (int t = 0; t < taps; t++) {
      const int s0 = meeting(d / D2 / D1, t / TAPS2 / TAPS1, STEP0, FIRST0, DELTA0, S0);
      const int s1 = meeting(d / D2 % D1, t / TAPS2 % TAPS1, STEP1, FIRST1, DELTA1, S1);
      const int s2 = meeting(d % D2, t % TAPS2, STEP2, FIRST2, DELTA2, S2);
      if (s0 < 0 || s1 < 0 || s2 < 0) continue;
      meetings[count++] = (int2)(t * MR, ((s0 * S1 + s1) * S2 + s2) * NR);
    }
  }
  begin[places] = count;
}

/* t[i][NR] = element i of each image, for i < size; S has `count` elements, image n begins at n pitch. */
static void fill(__global const STORAGE(D_T) * S, const int images, const long pitch, const int size, const long count,
                 __local float *t) {
  for (int v = 0; v < NV; v++)
    for (int i = 0; i < size; i += VW) {
      float16 x[VW];
      for (int n = 0; n < VW; n++) {
        const long at = (v * VW + n) * pitch + i;
        x[n] = (float16)(0.0f);
        if (v * VW + n >= images) continue;
        PREFETCH_READ(S + at + 4 * VW);
        if (at + VW <= count) {
          x[n] = READ(16, at);
        } else {
          float rest[VW] = {0};
          for (int j = 0; i + j < size; j++) rest[j] = READ(1, at + j);
          x[n] = vload16(0, rest);
        }
      }
      mica_transpose16(x);
      for (int j = 0; j < min(VW, size - i); j++) STOREV(f32, 16, x[j], t, (i + j) * NR + v * VW);
    }
}

/* sums[MR][NR] = the sum over c < CG and `count` meetings of a[c][meeting][MR] t[c][meeting][NR]. */
static inline void multiply(__global const float *a, const int a_step, __local const float *t, const int t_step,
                            const int CG, __local const int2 *meetings, const int count, __local float *sums) {
  float16 sum[MR][NV];
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++) sum[i][v] = (float16)(0.0f);
  for (int c = 0; c < CG; c++, a += a_step, t += t_step)
    for (int m = 0; m < count; m++) {
      __global const float *am = a + meetings[m].x;
      __local const float *tm = t + meetings[m].y;
      float16 tv[NV];
      UNROLL for (int v = 0; v < NV; v++) tv[v] = MICA_VLOAD(16, tm, v * VW);
      UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
          sum[i][v] = (float16)(am[i]) * tv[v] + sum[i][v];
    }
  UNROLL for (int i = 0; i < MR; i++) UNROLL for (int v = 0; v < NV; v++)
      STOREV(f32, 16, sum[i][v], sums, i * NR + v * VW);
}

#define SUM(place) sums[((place)*MR + i) * NR + n]

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_cpu_direct_n(WINDOW_PARAMS, const int KB, __global const STORAGE(D_T) * S, const long S_at,
                  __global const float *P,
            const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  WINDOW_UNPACK
  const int g = (int)get_group_id(2), n0 = (int)get_group_id(0) * NR, images = min(NR, N - n0);
  const int k_begin = (int)get_group_id(1) * KB, k_end = min(KG, k_begin + KB);
  const int taps = TAPS0 * TAPS1 * TAPS2, S_places = BACKWARD ? OUT0 * OUT1 * OUT2 : IN0 * IN1 * IN2;
  const int D_places = BACKWARD ? IN0 * IN1 * IN2 : OUT0 * OUT1 * OUT2;
  const long pitch = (long)G * CG * S_places, from = n0 * pitch + (long)g * CG * S_places;
  __local float *t = scratch, *sums = t + CG * S_places * NR;
  __local int2 *meetings = (__local int2 *)(sums + D_places * MR * NR);
  __local int *begin = (__local int *)(meetings + D_places * taps);
  find_meetings(window_size, window_taps, window_step, window_full, begin, meetings);
  fill(S + S_at + from, images, pitch, CG * S_places, N * pitch - from, t);
  P += P_at + ((long)g * ((KG + MR - 1) / MR * MR) + k_begin) * CG * taps;
  for (int k = k_begin; k < k_end; k += MR, P += MR * CG * taps) {
    for (int d = 0; d < D_places; d++)
      multiply(P, taps * MR, t, S_places * NR, CG, meetings + begin[d], begin[d + 1] - begin[d], sums + d * MR * NR);
    for (int n = 0; n < images; n++)
      for (int i = 0; i < min(MR, k_end - k); i++) {
        int d = 0;
        for (; d + 4 <= D_places; d += 4)
          FINISH(4, (float4)(SUM(d), SUM(d + 1), SUM(d + 2), SUM(d + 3)), n0 + n, g * KG + k + i, d);
        for (; d < D_places; d++) FINISH(1, SUM(d), n0 + n, g * KG + k + i, d);
      }
  }
}
