/* conv/conv_pack.cl: the weights of a window (conv/window.clh) in the order in which register tiles use them.
 *
 * Channels are parted into blocks of CB, the last of which may be smaller; a block of B channels from c0 on stands at
 *
 *   P[((g tiles CG + tiles c0 + (k / MR) B + c - c0) taps + t) MR + k % MR] =
 *       W[first + g w_group + k w_k + c w_c + t0 w_tap0 + t1 w_tap1 + t2 w_tap2]
 *
 * with tiles = ceil(KG / MR); rows beyond KG are 0. P is float. size: CG, KG, taps 0 1 2, CB; stride: w_group, w_k,
 * w_c, w_tap 0 1 2. NDRange: blocks * tiles, groups of the convolution, 1; work-group (1, 1, 1). */
#include "common/dtype.clh"
#include "common/prefetch.clh"

#ifndef D_T
#define D_T f32
#endif
#ifndef MR /* rows of a tile */
#define MR 8
#endif

/* Channels that are fetched ahead: backward, each is a page further. */
#define AHEAD 8
#define UNROLL _Pragma("unroll")

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
conv_pack(__global const STORAGE(D_T) * W, const long W_at, const long first, const int8 size, const long8 stride,
          __global float *restrict P, const long P_at) {
  const int CG = size.s0, KG = size.s1, taps0 = size.s2, taps1 = size.s3, taps2 = size.s4, CB = size.s5;
  const int tiles = (KG + MR - 1) / MR, tile = (int)get_group_id(0) % tiles, c0 = (int)get_group_id(0) / tiles * CB;
  const int c_end = min(CG, c0 + CB), left = KG - tile * MR;
  const long g = (long)get_group_id(1), taps = (long)taps0 * taps1 * taps2;
  W += W_at + first + g * stride.s0 + (long)tile * MR * stride.s1;
  P += P_at + (g * tiles * CG + (long)tiles * c0 + (long)tile * (c_end - c0)) * taps * MR;
  for (int c = c0; c < c_end; c++) {
#pragma unroll
    for (int i = 0; i < MR; i++) PREFETCH_READ(W + (c + AHEAD) * stride.s2 + i * stride.s1);
    for (int t0 = 0; t0 < taps0; t0++)
      for (int t1 = 0; t1 < taps1; t1++)
        for (int t2 = 0; t2 < taps2; t2++) {
          const long at = c * stride.s2 + t0 * stride.s3 + t1 * stride.s4 + t2 * stride.s5;
          if (left >= MR && stride.s1 == 1)
            UNROLL for (int i = 0; i < MR; i++) P[i] = LOAD(D_T, W, at + i);
          else
            UNROLL for (int i = 0; i < MR; i++) P[i] = i < left ? LOAD(D_T, W, at + i * stride.s1) : 0.0f;
          P += MR;
        }
  }
}
