/* conv/ref/conv.cl: the reference implementation of convolution, one element of the result per work-item. It works on
 * any device, for any type and size, without local memory. Sums run in the order of memory.
 *
 *   PASS 0   forward: D is y, A is x, B is w
 *   PASS 1   backward to the data: D is x, A is y, B is w
 *   PASS 2   backward to the filter: D is w, A is x, B is y
 *
 * NDRange: one dimension, at least the number of elements of D; work-group (64). */
#include "common/epilogue.clh"
#include "common/group.clh"
#include "conv/problem.clh"

#define PRODUCT(a, b) ((acc_t)LOAD(D_T, A, A_at + (a)) * (acc_t)LOAD(D_T, B, B_at + (b)))

/* The indices of x[n][channel][i0][i1][i2], w[filter][c][r0][r1][r2] and y[n][filter][o0][o1][o2]. */
#define X_INDEX(n, channel, i0, i1, i2) (((((long)(n)*G * CG + (channel)) * I0 + (i0)) * I1 + (i1)) * I2 + (i2))
#define W_INDEX(filter, c, r0, r1, r2) (((((long)(filter)*CG + (c)) * R0 + (r0)) * R1 + (r1)) * R2 + (r2))
#define Y_INDEX(n, filter, o0, o1, o2) (((((long)(n)*G * KG + (filter)) * O0 + (o0)) * O1 + (o1)) * O2 + (o2))

/* In dimension d: the input pixel that tap r of output pixel o reads. It may be outside of the input. */
#define INPUT_AT(d, o, r) ((o)*ST##d - PA##d + (r)*DI##d)
#define INSIDE(d, i) ((i) >= 0 && (i) < I##d)
/* In dimension d: the output pixel whose tap r reads input pixel i; -1 if there is none. */
#define OUTPUT_AT(d, i, r) output_at((i) + PA##d - (r)*DI##d, ST##d, O##d)
static inline int output_at(const int at, const int stride, const int extent) {
  return at >= 0 && at % stride == 0 && at / stride < extent ? at / stride : -1;
}

RANGE_KERNEL conv_ref(CONV_PARAMS, __global const STORAGE(D_T) * A, const long A_at, __global const STORAGE(D_T) * B,
                      const long B_at, EPILOGUE_PARAMS) {
  CONV_UNPACK
  const long index = (long)get_global_id(0);
  acc_t sum = 0;
#if PASS == 0
  const int o2 = index % O2, o1 = index / O2 % O1, o0 = index / O2 / O1 % O0;
  const long pixels = (long)O0 * O1 * O2, filters = (long)G * KG;
  const long filter = index / pixels % filters, n = index / pixels / filters;
  if (n >= N) return;
  for (int c = 0; c < CG; c++)
    for (int r0 = 0; r0 < R0; r0++)
      for (int r1 = 0; r1 < R1; r1++)
        for (int r2 = 0; r2 < R2; r2++) {
          const int i0 = INPUT_AT(0, o0, r0), i1 = INPUT_AT(1, o1, r1), i2 = INPUT_AT(2, o2, r2);
          if (INSIDE(0, i0) && INSIDE(1, i1) && INSIDE(2, i2))
            sum += PRODUCT(X_INDEX(n, filter / KG * CG + c, i0, i1, i2), W_INDEX(filter, c, r0, r1, r2));
        }
  FINISH(1, sum, n, filter, index % pixels);
#elif PASS == 1
  const int i2 = index % I2, i1 = index / I2 % I1, i0 = index / I2 / I1 % I0;
  const long pixels = (long)I0 * I1 * I2, channels = (long)G * CG;
  const long channel = index / pixels % channels, n = index / pixels / channels;
  if (n >= N) return;
  for (int k = 0; k < KG; k++)
    for (int r0 = 0; r0 < R0; r0++)
      for (int r1 = 0; r1 < R1; r1++)
        for (int r2 = 0; r2 < R2; r2++) {
          const int o0 = OUTPUT_AT(0, i0, r0), o1 = OUTPUT_AT(1, i1, r1), o2 = OUTPUT_AT(2, i2, r2);
          const long filter = channel / CG * KG + k;
          if (o0 >= 0 && o1 >= 0 && o2 >= 0)
            sum += PRODUCT(Y_INDEX(n, filter, o0, o1, o2), W_INDEX(filter, channel % CG, r0, r1, r2));
        }
  FINISH(1, sum, n, channel, index % pixels);
#else
  const int r2 = index % R2, r1 = index / R2 % R1, r0 = index / R2 / R1 % R0;
  const long taps = (long)R0 * R1 * R2, c = index / taps % CG, filter = index / taps / CG;
  if (filter >= (long)G * KG) return;
  for (int n = 0; n < N; n++)
    for (int o0 = 0; o0 < O0; o0++)
      for (int o1 = 0; o1 < O1; o1++)
        for (int o2 = 0; o2 < O2; o2++) {
          const int i0 = INPUT_AT(0, o0, r0), i1 = INPUT_AT(1, o1, r1), i2 = INPUT_AT(2, o2, r2);
          if (INSIDE(0, i0) && INSIDE(1, i1) && INSIDE(2, i2))
            sum += PRODUCT(X_INDEX(n, filter / KG * CG + c, i0, i1, i2), Y_INDEX(n, filter, o0, o1, o2));
        }
  FINISH(1, sum, 0, filter, index % (taps * CG));
#endif
}
