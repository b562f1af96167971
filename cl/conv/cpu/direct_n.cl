/* conv/cpu/direct_n.cl: direct convolution vectorised over the batch, for planes of a few pixels, forward and backward
 * to the data, for the CPU class.
 *
 * Each lane of a vector computes one image. So a vector of results needs one load of the source and one multiply-add
 * per tap, and only for taps that read inside the plane: 4 of 9 for a 3x3 filter on 2x2 pixels.
 *
 * The phase (conv/problem.clh) describes the forward pass, in which OUT pixels read IN pixels. With BACKWARD 1 the
 * roles are exchanged: S has OUT pixels and D has IN pixels. In both cases CG and KG are the channels of S and D, and W
 * is packed for them, in one block (conv/cpu/pack_weights.cl).
 *
 * A work-group, which has one work-item, computes NR = NV * 16 images and KB channels of D. It packs the source
 * transposed, t[c][pixel][NR]. KB is a multiple of MR. NDRange: ceil(N / NR), ceil(KG / KB), groups of the convolution;
 * work-group (1, 1, 1). scratch, with p pixels in D and q in S: (CG q + MR p) NR floats, and 2 p taps + p + 1 ints. */
#include "common/epilogue.clh"
#include "common/cpu/register_tile.clh"
#include "common/transpose.clh"
#include "conv/problem.clh"

#define MR 8 /* channels of a register tile */
#define NR (NV * VW)

/* In one dimension: the pixel of S that tap t of pixel `from` of D reads; -1 if there is none. S has `extent`
 * pixels. */
static int source_of(const int from, const int t, const int step, const int first, const int delta, const int extent) {
  const int reach = BACKWARD ? from - first - t * delta : from * step + first + t * delta;
  if (reach < 0 || (BACKWARD && reach % step)) return -1;
  const int at = BACKWARD ? reach / step : reach;
  return at < extent ? at : -1;
}

/* Lists the taps of each pixel d of D that read inside of S, in list[begin[d]] .. list[begin[d + 1] - 1]. An entry is
 * the offset of the tap in packed weights and the offset in t of the pixel that it reads. */
static void find_taps(PHASE_PARAMS, __local int *begin, __local int2 *list) {
  PHASE_UNPACK
  const int D0 = BACKWARD ? IN0 : OUT0, D1 = BACKWARD ? IN1 : OUT1, D2 = BACKWARD ? IN2 : OUT2;
  const int S0 = BACKWARD ? OUT0 : IN0, S1 = BACKWARD ? OUT1 : IN1, S2 = BACKWARD ? OUT2 : IN2;
  int count = 0;
  for (int d = 0; d < D0 * D1 * D2; d++) {
    begin[d] = count;
    for (int t = 0; t < TAPS0 * TAPS1 * TAPS2; t++) {
      const int s0 = source_of(d / D2 / D1, t / TAPS2 / TAPS1, STEP0, FIRST0, DELTA0, S0);
      const int s1 = source_of(d / D2 % D1, t / TAPS2 % TAPS1, STEP1, FIRST1, DELTA1, S1);
      const int s2 = source_of(d % D2, t % TAPS2, STEP2, FIRST2, DELTA2, S2);
      if (s0 >= 0 && s1 >= 0 && s2 >= 0) list[count++] = (int2)(t * MR, ((s0 * S1 + s1) * S2 + s2) * NR);
    }
  }
  begin[D0 * D1 * D2] = count;
}

/* t[i][n] = element i of image n, for i < size and n < NR; 0 for n >= images. Images in S are `pitch` elements apart; S
 * has `count` elements. */
static void pack_images(source S, const int images, const long pitch, const int size, const long count,
                        __local float *t) {
  for (int v = 0; v < NV; v++)
    for (int i = 0; i < size; i += VW) {
      vec x[VW];
      for (int n = 0; n < VW; n++) {
        const long at = (v * VW + n) * pitch + i;
        x[n] = (vec)(0.0f);
        if (v * VW + n >= images) continue;
        PREFETCH_READ(S + at + 4 * VW);
        if (at + VW <= count) {
          x[n] = READ(VW, S, at);
        } else {
          float rest[VW] = {0};
          for (int j = 0; i + j < size; j++) rest[j] = READ(1, S, at + j);
          x[n] = MICA_VLOAD(VW, rest, 0);
        }
      }
      mica_transpose16(x);
      for (int j = 0; j < min(VW, size - i); j++) STOREV(f32, VW, x[j], t, (i + j) * NR + v * VW);
    }
}

/* sums[MR][NR] = the sum over c < CG and the `count` entries of `list` of a[c][tap][MR] t[c][pixel][NR]. */
static inline void multiply(__global const float *a, const int a_step, __local const float *t, const int t_step,
                            const int CG, __local const int2 *list, const int count, __local float *sums) {
  vec sum[MR][NV];
  TILE_CLEAR(sum, MR, NV);
  for (int c = 0; c < CG; c++, a += a_step, t += t_step)
    for (int m = 0; m < count; m++) {
      __global const float *am = a + list[m].x;
      vec tv[NV];
      TILE_READ(tv, NV, t + list[m].y);
      TILE_MULTIPLY_ADD(sum, MR, NV, am[i], tv)
    }
  TILE_STORE(sum, MR, NV, sums, NR);
}

#define SUM(pixel) sums[((pixel)*MR + i) * NR + n]

CPU_KERNEL conv_cpu_direct_n(PHASE_PARAMS, const int KB, source S, const long S_at, __global const float *P,
                             const long P_at, __local float *scratch, EPILOGUE_PARAMS) {
  PHASE_UNPACK
  const int g = (int)get_group_id(2), n0 = (int)get_group_id(0) * NR, images = min(NR, N - n0);
  const int k_begin = (int)get_group_id(1) * KB, k_end = min(KG, k_begin + KB);
  const int taps = TAPS0 * TAPS1 * TAPS2, S_pixels = BACKWARD ? OUT0 * OUT1 * OUT2 : IN0 * IN1 * IN2;
  const int D_pixels = BACKWARD ? IN0 * IN1 * IN2 : OUT0 * OUT1 * OUT2;
  const long pitch = (long)G * CG * S_pixels, from = n0 * pitch + (long)g * CG * S_pixels;
  __local float *t = scratch, *sums = t + CG * S_pixels * NR;
  __local int2 *list = (__local int2 *)(sums + D_pixels * MR * NR);
  __local int *begin = (__local int *)(list + D_pixels * taps);
  find_taps(PHASE, begin, list);
  pack_images(S + S_at + from, images, pitch, CG * S_pixels, N * pitch - from, t);
  P += P_at + ((long)g * ((KG + MR - 1) / MR * MR) + k_begin) * CG * taps;
  for (int k = k_begin; k < k_end; k += MR, P += MR * CG * taps) {
    for (int d = 0; d < D_pixels; d++)
      multiply(P, taps * MR, t, S_pixels * NR, CG, list + begin[d], begin[d + 1] - begin[d], sums + d * MR * NR);
    for (int n = 0; n < images; n++)
      for (int i = 0; i < min(MR, k_end - k); i++) {
        int d = 0;
        for (; d + 4 <= D_pixels; d += 4)
          FINISH(4, (float4)(SUM(d), SUM(d + 1), SUM(d + 2), SUM(d + 3)), n0 + n, g * KG + k + i, d);
        for (; d < D_pixels; d++) FINISH(1, SUM(d), n0 + n, g * KG + k + i, d);
      }
  }
}
