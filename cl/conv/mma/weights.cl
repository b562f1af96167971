/* conv/mma/weights.cl: packs the weights of phases (conv/problem.clh) for conv/mma/forward.cl. There is one row per
 * channel of the result; a row has all taps, and each tap has all channels of the source. GPU class.
 *
 *   P[((g KG + row) taps + t) CP + c] = W[first + g w_group + row w_k + c w_c + t0 w_tap0 + t1 w_tap1 + t2 w_tap2]
 *
 * and zero for CG <= c < CP. The P of the phases follow one another. phase_begins: the first element of each phase's P.
 * `elements` is the number of elements of all phases. The bits are not changed. NDRange: elements, rounded up;
 * work-group (64).
 *
 * SIZE: bytes per element, 2 or 4. */
#include "common/group.clh"
#include "conv/problem.clh"

#if SIZE == 2
typedef ushort bits_t;
#else
typedef uint bits_t;
#endif

RANGE_KERNEL conv_gpu_mma_weights(PHASES_PARAMS, const int CP, const int elements, __global const bits_t *restrict W,
                                  const long W_at, const long8 first, const long8 stride, __global bits_t *restrict P,
                                  const long P_at) {
  const int id = (int)get_global_id(0);
  PHASES_UNPACK(PHASE_AT(id))
  UNPACK_LONGS(WEIGHTS_FIRST, first)
  UNPACK_LONGS(WEIGHTS_STRIDES, stride)
  if (id >= elements) return;
  const int own = id - phase_begin, c = own % CP, t = own / CP % (TAPS0 * TAPS1 * TAPS2);
  const int row = own / CP / (TAPS0 * TAPS1 * TAPS2), g = row / KG, k = row % KG;
  const int t2 = t % TAPS2, t1 = t / TAPS2 % TAPS1, t0 = t / TAPS2 / TAPS1;
  const long at = PHASE_SELECT(phase, first0, first1, first2, first3) + g * w_group + k * w_k + c * w_c + t0 * w_tap0 +
                  t1 * w_tap1 + t2 * w_tap2;
  P[P_at + id] = c < CG ? W[W_at + at] : 0;
}
