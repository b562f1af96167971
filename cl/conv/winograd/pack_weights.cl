/* conv/winograd/pack_weights.cl: transforms and packs filters for conv/winograd/fused.cl, for the CPU class.
 *
 *   U[k / 32][point][c][k % 32] = element `point` of G g G', g[r][s] = W[k w_k + c w_c + 3 r + s]
 *
 * for c < CP, which is CG rounded up to 16. Elements beyond KG and CG are 0. U_at is a multiple of 16. With FLIP, g is
 * rotated by 180 degrees, for the backward pass to the data. W has `count` elements; U is float. A work-group, which
 * has one work-item, packs 32 filters and 16 channels. NDRange: ceil(KG / 32), CP / 16, 1; work-group (1, 1, 1). */
#include "common/cpu/stream.clh"
#include "common/simd.clh"
#include "common/transpose.clh"
#include "conv/winograd/winograd.clh"

#define NR 32

/* taps[t] = tap t of channel c of the 16 filters from k on, for t < 9; 0 beyond KG and CG. taps[9 .. 15] are
 * scratch. */
APART void read_taps(source W, const int c, const int k, const int CG, const int KG, const long w_k, const long w_c,
                     const long count, __private float16 taps[16]) {
  UNROLL for (int i = 0; i < 16; i++) {
    const long at = (k + i) * w_k + c * w_c;
    taps[i] = (float16)(0.0f);
    if (k + i >= KG || c >= CG) continue;
    if (at + 16 <= count)
      taps[i] = READ(16, W, at);
    else
      taps[i] = (float16)(READ(8, W, at), READ(1, W, at + 8), 0, 0, 0, 0, 0, 0, 0);
  }
  mica_transpose16(taps);
}

/* Packs the NR filters of a panel and 16 channels from c0 on. */
APART void pack_panel(source W, const int8 size, const long8 stride, const int panel, const int c0, __global float *U) {
  UNPACK_INTS(WINOGRAD_WEIGHTS, size)
  UNPACK_LONGS(WEIGHTS_STRIDES, stride)
  for (int part = 0; part < NR; part += 16)
    for (int c = c0; c < c0 + 16; c++) {
      float16 taps[16], columns[EDGE][3];
      read_taps(W, c, panel * NR + part, CG, KG, w_k, w_c, count, taps);
      UNROLL for (int s = 0; s < 3; s++) {
        float16 g[3], u[EDGE];
        UNROLL for (int r = 0; r < 3; r++) g[r] = FLIP ? taps[8 - r * 3 - s] : taps[r * 3 + s];
        WINOGRAD_FILTER(float16, g, u);
        UNROLL for (int i = 0; i < EDGE; i++) columns[i][s] = u[i];
      }
      const long at = ((long)panel * POINTS * CP + c) * NR + part;
      UNROLL for (int i = 0; i < EDGE; i++) {
        float16 u[EDGE];
        WINOGRAD_FILTER(float16, columns[i], u);
        /* The stores are non-temporal, because otherwise the rows of all points would compete for a few sets of the
         * cache. */
        UNROLL for (int j = 0; j < EDGE; j++) STREAMV(f32, 16, u[j], U, at + (long)(i * EDGE + j) * CP * NR);
      }
    }
}

CPU_KERNEL winograd_pack_weights(source W, const long W_at, const int8 size, const long8 stride,
                                 __global float *restrict U, const long U_at) {
  pack_panel(W + W_at, size, stride, (int)get_group_id(0), (int)get_group_id(1) * 16, U + U_at);
}
