/* conv/gpu/pack_weights.cl: packs the weights of phases (conv/problem.clh) and computes the offset tables of the
 * source, in the layout that conv/gpu/implicit_gemm.cl reads. GPU class.
 *
 *   P[(g DEPTH + k) ROWS + row] = W[first + g w_group + row w_k + c w_c + t0 w_tap0 + t1 w_tap1 + t2 w_tap2]
 *   T[k] = (offset, t0 DELTA0, t1 DELTA1, t2 DELTA2)
 *
 * with k = c taps + t. `offset` is the number of elements from the source element that the first tap of channel 0 reads
 * to the element that tap t of channel c reads. P is zero for rows beyond KG and for k beyond CG taps; the entries of T
 * for such k are coordinates outside of every source. The P of all phases follow one another, with one zero after the
 * last. The T of the phases follow one another too, each with PAST more entries at its end, which are also outside.
 * phase_begins: the first element of each phase's P, and its DEPTH. P has `elements` elements and the zero. NDRange:
 * elements + 1 + PAST * phases, rounded up; work-group (64).
 *
 * D_T: type of the weights. */
#include "common/dtype.clh"
#include "common/group.clh"
#include "conv/problem.clh"

#define OUTSIDE (1 << 30) /* a coordinate plus this is outside of every source and does not overflow an int */

RANGE_KERNEL conv_gpu_pack_weights(PHASES_PARAMS, __global const STORAGE(D_T) *restrict W, const long W_at,
                                   const long8 first, const long8 stride, const int8 size,
                                   __global STORAGE(D_T) *restrict P, const long P_at, __global int4 *restrict T,
                                   const long T_at) {
  UNPACK_INTS(GPU_PACK_SIZE, size)
  UNPACK_LONGS(WEIGHTS_FIRST, first)
  UNPACK_LONGS(WEIGHTS_STRIDES, stride)
  const int id = (int)get_global_id(0), padding = id - elements - 1;
  PHASES_UNPACK(id < elements ? PHASE_AT(id) : min(padding / PAST, phases - 1))
  const int DEPTH = phase_number, own = id - phase_begin;
  const int row = own % ROWS, k = own / ROWS % DEPTH, g = own / ROWS / DEPTH;
  const int taps = TAPS0 * TAPS1 * TAPS2, c = taps > 0 ? k / taps : CG, t = k - c * taps;
  T += T_at + phase * PAST + PHASES_BEFORE(phase);
  if (id >= elements) {
    if (id == elements) STORE(D_T, (COMPUTE(D_T))0, P, P_at + elements);
    if (padding >= 0 && padding < phases * PAST)
      T[DEPTH + padding - phase * PAST] = (int4)(0, OUTSIDE, OUTSIDE, OUTSIDE);
  } else if (c < CG) {
    const int t2 = t % TAPS2, t1 = t / TAPS2 % TAPS1, t0 = t / TAPS2 / TAPS1;
    const long at = PHASE_SELECT(phase, first0, first1, first2, first3) + g * w_group + row * w_k + c * w_c +
                    t0 * w_tap0 + t1 * w_tap1 + t2 * w_tap2;
    const int d0 = t0 * DELTA0, d1 = t1 * DELTA1, d2 = t2 * DELTA2;
    STORE(D_T, row < KG ? LOAD(D_T, W, W_at + at) : (COMPUTE(D_T))0, P, P_at + id);
    if (g == 0 && row == 0) T[k] = (int4)(((c * IN0 + d0) * IN1 + d1) * IN2 + d2, d0, d1, d2);
  } else {
    STORE(D_T, (COMPUTE(D_T))0, P, P_at + id);
    if (g == 0 && row == 0) T[k] = (int4)(0, OUTSIDE, OUTSIDE, OUTSIDE);
  }
}
