/* conv/gpu/pack_weights.cl: the weights of a phase (conv/problem.clh) and the offset table of the source, as tiles of
 * conv/gpu/implicit_gemm.cl read them. GPU class.
 *
 *   P[(g DEPTH + k) ROWS + row] = W[first + g w_group + row w_k + c w_c + t0 w_tap0 + t1 w_tap1 + t2 w_tap2]
 *   T[k] = (offset, t0 DELTA0, t1 DELTA1, t2 DELTA2)
 *
 * with k = c taps + t, and offset from a column's first source element to the one that tap t of channel c reads. Rows
 * beyond KG and depths beyond CG taps are zero, and such a T lies outside every source. A zero stands behind P,
 * padding as deep as PAST behind T. size: ROWS, DEPTH, PAST; stride:
 * w_group, w_k, w_c, w_tap 0 1 2. NDRange: ROWS DEPTH G + 1 + PAST, rounded up; work-group
 * (64). */
#include "common/dtype.clh"
#include "common/group.clh"
#include "conv/problem.clh"

#ifndef D_T
#define D_T f32
#endif

#define OUTSIDE (1 << 30) /* no coordinate reaches it, and added to one it does not overflow */

RANGE_KERNEL conv_gpu_pack_weights(
    PHASE_PARAMS, __global const STORAGE(D_T) *restrict W, const long W_at, const long first, const long8 stride,
    const int8 size, __global STORAGE(D_T) *restrict P, const long P_at, __global int4 *restrict T, const long T_at) {
  PHASE_UNPACK
  const int ROWS = size.s0, DEPTH = size.s1, PAST = size.s2, count = G * DEPTH * ROWS, id = (int)get_global_id(0);
  const int row = id % ROWS, k = id / ROWS % DEPTH, g = id / ROWS / DEPTH;
  const int taps = TAPS0 * TAPS1 * TAPS2, c = taps > 0 ? k / taps : CG, t = k - c * taps;
  if (id >= count) {
    if (id == count) STORE(D_T, (COMPUTE(D_T))0, P, P_at + count);
    if (id > count && id <= count + PAST) T[T_at + DEPTH + id - count - 1] = (int4)(0, OUTSIDE, OUTSIDE, OUTSIDE);
  } else if (c < CG) {
    const int t2 = t % TAPS2, t1 = t / TAPS2 % TAPS1, t0 = t / TAPS2 / TAPS1;
    const long at =
        first + g * stride.s0 + row * stride.s1 + c * stride.s2 + t0 * stride.s3 + t1 * stride.s4 + t2 * stride.s5;
    const int d0 = t0 * DELTA0, d1 = t1 * DELTA1, d2 = t2 * DELTA2;
    STORE(D_T, row < KG ? LOAD(D_T, W, W_at + at) : (COMPUTE(D_T))0, P, P_at + id);
    if (g == 0 && row == 0) T[T_at + k] = (int4)(((c * IN0 + d0) * IN1 + d1) * IN2 + d2, d0, d1, d2);
  } else {
    STORE(D_T, (COMPUTE(D_T))0, P, P_at + id);
    if (g == 0 && row == 0) T[T_at + k] = (int4)(0, OUTSIDE, OUTSIDE, OUTSIDE);
  }
}
