/* conv/gpu/depthwise.cl: a phase of a convolution (conv/problem.clh) whose groups have one source channel (CG 1, IN0
 * and TAPS0 1), forward or backward to the data. GPU class; bound by bandwidth.
 *
 * A work-item computes ROWS pixels of a column, one below the other. Neighbouring work-items compute neighbouring
 * columns. If STRIDE is not 0, a work-item reads each element that its taps need once. Weight (g, k, t) is W[first + g
 * w_group + k w_k + t1 w_tap1 + t2 w_tap2].
 *
 *   TAPS_H, TAPS_W   height and width of the filter
 *   STRIDE           1 or 2: the stride in height. Adjacent taps must then read adjacent pixels (DELTA 1); the host
 *                    reverses filters with DELTA -1. 0: any stride and DELTA; each pixel reads its rows separately
 *
 * NDRange: OUT2 * ceil(OUT1 / ROWS) * G KG * N, rounded up; work-group (64). */
#include "common/epilogue.clh"
#include "common/group.clh"
#include "common/mac.clh"
#include "conv/problem.clh"

#define UNROLL _Pragma("unroll")

RANGE_KERNEL conv_gpu_depthwise(PHASE_PARAMS, __global const STORAGE(D_T) *restrict S, const long S_at,
                                __global const STORAGE(D_T) *restrict W, const long W_at, const long first,
                                const long8 stride, EPILOGUE_PARAMS) {
  PHASE_UNPACK
  UNPACK_LONGS(WEIGHTS_STRIDES, stride)
  const int strips = (OUT1 + ROWS - 1) / ROWS, id = (int)get_global_id(0);
  const int o2 = id % OUT2, o1 = id / OUT2 % strips * ROWS, plane = id / OUT2 / strips;
  const int channel = plane % (G * KG), image = plane / (G * KG), g = channel / KG;
  if (image >= N) return;
  const long weights = W_at + first + g * w_group + (channel - g * KG) * w_k;
  acc_t w[TAPS_H][TAPS_W], sums[ROWS];
  UNROLL for (int t1 = 0; t1 < TAPS_H; t1++) UNROLL for (int t2 = 0; t2 < TAPS_W; t2++) w[t1][t2] =
      (acc_t)LOAD(D_T, W, weights + t1 * w_tap1 + t2 * w_tap2);
  UNROLL for (int j = 0; j < ROWS; j++) sums[j] = 0;

  S += S_at + ((long)image * G + g) * IN1 * IN2;
  const int i1 = o1 * STEP1 + FIRST1, i2 = o2 * STEP2 + FIRST2;
#if STRIDE
  UNROLL for (int r = 0; r < (ROWS - 1) * STRIDE + TAPS_H; r++) {
    acc_t x[TAPS_W];
    const bool row_inside = (uint)(i1 + r) < (uint)IN1;
    UNROLL for (int t2 = 0; t2 < TAPS_W; t2++) {
      const bool inside = row_inside && (uint)(i2 + t2) < (uint)IN2;
      const acc_t element = (acc_t)LOAD(D_T, S, inside ? (i1 + r) * IN2 + i2 + t2 : 0);
      x[t2] = inside ? element : 0;
    }
    UNROLL for (int j = 0; j < ROWS; j++) if (r >= j * STRIDE && r - j * STRIDE < TAPS_H)
        UNROLL for (int t2 = 0; t2 < TAPS_W; t2++) sums[j] = MAC(x[t2], w[r - j * STRIDE][t2], sums[j]);
  }
#else
  UNROLL for (int j = 0; j < ROWS; j++) {
    UNROLL for (int t1 = 0; t1 < TAPS_H; t1++) {
      const int row = i1 + j * STEP1 + t1 * DELTA1;
      UNROLL for (int t2 = 0; t2 < TAPS_W; t2++) {
        const int col = i2 + t2 * DELTA2;
        const bool inside = (uint)row < (uint)IN1 && (uint)col < (uint)IN2;
        const acc_t element = (acc_t)LOAD(D_T, S, inside ? row * IN2 + col : 0);
        sums[j] = MAC(inside ? element : 0, w[t1][t2], sums[j]);
      }
    }
  }
#endif
  UNROLL for (int j = 0; j < ROWS; j++) if (o1 + j < OUT1)
      FINISH(1, sums[j], image, channel, (AT1 + (o1 + j) * OUT_STRIDE1) * FULL2 + AT2 + o2 * OUT_STRIDE2);
}
