/* conv/gpu/depthwise_wgrad.cl: the weight gradient of a convolution whose groups have one channel of x (CG 1, two
 * dimensions). GPU class; bound by bandwidth.
 *
 * A work-group of THREADS work-items computes a part of the pixels for one filter. Each work-item keeps one sum per tap
 * in registers, over every THREADS-th pixel. Then the sums are added in local memory, in an order that depends only on
 * sizes. The results are written to P [PARTS][G KG][taps] of ACC_T, which matmul/gpu/splitk.cl adds in order.
 *
 * A part has PIXELS pixels. NDRange: THREADS * G KG * PARTS; work-group (THREADS).
 *
 * TAPS_H, TAPS_W: height and width of the filter. */
#include "common/epilogue.clh"
#include "common/mac.clh"
#include "conv/problem.clh"

#define UNROLL _Pragma("unroll")
#define TAPS (TAPS_H * TAPS_W)
#define LANES 8 /* sums per tap before the last addition; each is the sum of THREADS / LANES work-items */

__kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void conv_gpu_depthwise_wgrad(
    CONV_PARAMS, const int8 parts, __global const STORAGE(D_T) *restrict X, const long X_at,
    __global const STORAGE(D_T) *restrict Y, const long Y_at, __global acc_t *restrict P, const long P_at) {
  CONV_UNPACK
  UNPACK_INTS(GPU_DEPTHWISE_PARTS, parts)
  __local acc_t items[TAPS][THREADS], lanes[TAPS][LANES];
  const int item = (int)get_local_id(0), group = (int)get_group_id(0), filters = G * KG;
  const int filter = group % filters, part = group / filters, outputs = O1 * O2;
  const int begin = part * PIXELS, end = min(begin + PIXELS, N * outputs);
  X += X_at + (long)(filter / KG) * I1 * I2;
  Y += Y_at + (long)filter * outputs;
  acc_t sums[TAPS_H][TAPS_W];
  UNROLL for (int t1 = 0; t1 < TAPS_H; t1++) UNROLL for (int t2 = 0; t2 < TAPS_W; t2++) sums[t1][t2] = 0;

  for (int pixel = begin + item; pixel < end; pixel += THREADS) {
    const int n = pixel / outputs, o = pixel - n * outputs, o1 = o / O2, o2 = o - o1 * O2;
    const int i1 = o1 * ST1 - PA1, i2 = o2 * ST2 - PA2;
    __global const STORAGE(D_T) *x = X + (long)n * G * I1 * I2;
    const acc_t y = (acc_t)LOAD(D_T, Y, (long)n * filters * outputs + o);
    UNROLL for (int t1 = 0; t1 < TAPS_H; t1++) {
      const int row = i1 + t1 * DI1;
      UNROLL for (int t2 = 0; t2 < TAPS_W; t2++) {
        const int col = i2 + t2 * DI2;
        const bool inside = (uint)row < (uint)I1 && (uint)col < (uint)I2;
        const acc_t element = (acc_t)LOAD(D_T, x, inside ? row * I2 + col : 0);
        sums[t1][t2] = MAC(inside ? element : 0, y, sums[t1][t2]);
      }
    }
  }

  UNROLL for (int t = 0; t < TAPS; t++) items[t][item] = sums[t / TAPS_W][t % TAPS_W];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int i = item; i < TAPS * LANES; i += THREADS) {
    acc_t sum = 0;
    for (int k = i % LANES; k < THREADS; k += LANES) sum += items[i / LANES][k];
    lanes[i / LANES][i % LANES] = sum;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int t = item; t < TAPS; t += THREADS) {
    acc_t sum = 0;
    UNROLL for (int k = 0; k < LANES; k++) sum += lanes[t][k];
    P[P_at + ((long)part * filters + filter) * TAPS + t] = sum;
  }
}
