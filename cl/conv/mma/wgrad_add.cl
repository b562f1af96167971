/* conv/mma/wgrad_add.cl: W [rows][C][taps] = the sum over splits of P [splits][rows][taps][CP], which conv/mma/wgrad.cl
 * writes. The splits are added in order, so that the same inputs give the same bits. GPU class.
 *
 * NDRange: rows * taps * CP, rounded up; work-group (64).
 *
 * D_T: type of W. */
#include "common/dtype.clh"
#include "common/group.clh"

RANGE_KERNEL conv_gpu_wgrad_mma_add(const int rows, const int C, const int taps, const int CP, const int splits,
                                    __global const float *restrict P, const long P_at,
                                    __global STORAGE(D_T) *restrict W, const long W_at) {
  const int id = (int)get_global_id(0), count = rows * taps * CP;
  const int c = id % CP, tap = id / CP % taps, row = id / CP / taps;
  if (id >= count || c >= C) return;
  float sum = 0;
#pragma unroll 4
  for (int split = 0; split < splits; split++) sum += P[P_at + id + (long)split * count];
  STORE(D_T, sum, W, W_at + ((long)row * C + c) * taps + tap);
}
