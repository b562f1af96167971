/* matmul/gemm_dot.cl: D[M,N] = act(alpha op(A) op(B) + beta C + bias) for the CPU class, where one of M and N is small
 * and the large operand is adjacent along k: matrix times vector, or a few samples times the weights of a layer. (Right
 * for any sizes and strides, but slow where x_k is not 1.)
 *
 * The large operand X has `outer` lines of K elements, the small one Y has `inner` of them. With SWAP 0, X is A (outer
 * is M) and Y is B; with SWAP 1, X is B (outer is N) and Y is A. Bound by reading X once: a work-item, which is a
 * work-group, takes OB lines of X, XR at a time, and adds up their products with YR lines of Y in vectors of VW along
 * k. Y is copied into local memory when it is not adjacent along k (y_k is not 1); every line of X reads it there.
 *
 *   size    outer inner K OB - - - -
 *   stride  x_line x_k x_batch y_line y_k y_batch - -
 *
 * NDRange: ceil(outer / OB), batches, 1; work-group (1, 1, 1). scratch: inner * K floats where y_k is not 1, else one.
 * Sums are float: types f32, f16 and bf16. */
#include "common/epilogue.clh"

#ifndef SWAP /* 1: the large operand is B */
#define SWAP 0
#endif
#ifndef XR /* lines of X at a time */
#define XR 4
#endif
#ifndef YR /* lines of Y at a time */
#define YR 1
#endif
#ifndef VW /* elements of a vector */
#define VW 16
#endif
#ifndef A_T
#define A_T f32
#endif
#ifndef B_T
#define B_T f32
#endif
#if HAS_PROLOGUE_A || HAS_PROLOGUE_B
#error "gemm_dot takes no prologues"
#endif

#if SWAP
#define X_T B_T
#define Y_T A_T
#define FINISH_DOT(sum, o, i) FINISH(1, sum, z, (long)(i), o)
#else
#define X_T A_T
#define Y_T B_T
#define FINISH_DOT(sum, o, i) FINISH(1, sum, z, (long)(o), i)
#endif

#define UNROLL _Pragma("unroll")
#define V COMPUTEV(f32, VW)

/* The sum of a vector's lanes, always in the same order. */
static inline float lanes_of(V v) {
  float lane[VW];
  MICA_VSTORE(VW, v, lane, 0);
  UNROLL for (int reach = VW / 2; reach > 0; reach /= 2)
    UNROLL for (int i = 0; i < reach; i++) lane[i] += lane[i + reach];
  return lane[0];
}

/* sums[x][y] of XR lines of X (from o on; past the last line that one is repeated) with YR of Y (from i on), where y is
 * what reads n elements of line l from k on. */
#define DOT(READ_Y)                                                                                                    \
  do {                                                                                                                 \
    V sums[XR][YR];                                                                                                    \
    __global const STORAGE(X_T) *line[XR];                                                                             \
    UNROLL for (int x = 0; x < XR; x++) line[x] = X + min(o + x, outer - 1) * x_line;                                  \
    UNROLL for (int x = 0; x < XR; x++) UNROLL for (int y = 0; y < YR; y++) sums[x][y] = (V)(0.0f);                    \
    int k = 0;                                                                                                         \
    for (; x_k == 1 && k + VW <= K; k += VW) {                                                                         \
      V yv[YR];                                                                                                        \
      UNROLL for (int y = 0; y < YR; y++) yv[y] = READ_Y(VW, min(i + y, inner - 1), k);                                \
      UNROLL for (int x = 0; x < XR; x++) {                                                                            \
        const V xv = LOADV(X_T, VW, line[x], k);                                                                       \
        UNROLL for (int y = 0; y < YR; y++) sums[x][y] = xv * yv[y] + sums[x][y];                                      \
      }                                                                                                                \
    }                                                                                                                  \
    UNROLL for (int x = 0; x < XR; x++) UNROLL for (int y = 0; y < YR; y++) {                                          \
      float sum = lanes_of(sums[x][y]);                                                                                \
      for (int t = k; t < K; t++) sum += LOAD(X_T, line[x], t * x_k) * READ_Y(1, min(i + y, inner - 1), t);            \
      if (o + x < outer && i + y < inner) result[x][y] = sum;                                                          \
    }                                                                                                                  \
  } while (0)
#define Y_IN_PLACE(n, l, k) LOADV(Y_T, n, Y, (l)*y_line + (k))
#define Y_COPIED(n, l, k) MICA_VLOAD(n, scratch, (l)*K + (k))

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void
gemm_dot(__global const STORAGE(A_T) *A, const long A_at, __global const STORAGE(B_T) *B, const long B_at,
         const int8 size, const long8 stride, __local float *scratch, EPILOGUE_PARAMS) {
  const int outer = size.s0, inner = size.s1, K = size.s2, OB = size.s3;
  const long x_line = stride.s0, x_k = stride.s1, y_line = stride.s3, y_k = stride.s4;
  const int z = get_group_id(1), o_begin = get_group_id(0) * OB, o_end = min(outer, o_begin + OB);
#if SWAP
  __global const STORAGE(X_T) *X = B + B_at + z * stride.s2;
  __global const STORAGE(Y_T) *Y = A + A_at + z * stride.s5;
#else
  __global const STORAGE(X_T) *X = A + A_at + z * stride.s2;
  __global const STORAGE(Y_T) *Y = B + B_at + z * stride.s5;
#endif
  if (y_k != 1)
    for (int i = 0; i < inner; i++)
      for (int k = 0; k < K; k++) scratch[i * K + k] = LOAD(Y_T, Y, i * y_line + k * y_k);
  for (int o = o_begin; o < o_end; o += XR)
    for (int i = 0; i < inner; i += YR) {
      float result[XR][YR];
      if (y_k == 1)
        DOT(Y_IN_PLACE);
      else
        DOT(Y_COPIED);
      for (int x = 0; x < min(XR, o_end - o); x++)
        for (int y = 0; y < min(YR, inner - i); y++) FINISH_DOT(result[x][y], o + x, i + y);
    }
}
