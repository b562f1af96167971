/* mica/ops.h: stateless operations on device tensors.
 *
 * mica_op_<op>_<pass>(queue, ...) checks its operands, queues its kernels and returns without waiting. All operands
 * belong to the queue's engine. The caller provides output tensors of the right dtype and shape. An output must not
 * overlap an input, unless an op allows it. MICA_E_INVALID: NULL, another engine, strides that the op cannot use, or an
 * output that overlaps an input or another output. MICA_E_DTYPE, MICA_E_SHAPE, MICA_E_BUILD, MICA_E_DEVICE_LOST.
 * MICA_E_DEVICE_MEMORY: no workspace.
 *
 * Threads: any thread may call them. */
#ifndef MICA_OPS_H
#define MICA_OPS_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* y[i] = value, converted to y's dtype. Integers: truncated towards zero, modulo their range. bool: value != 0. y:
 * contiguous, any dtype. */
MICA_API MICA_CHECKED mica_status mica_op_fill(mica_queue *queue, double value, mica_tensor *y);

/* y[i] = x[i]. x, y: contiguous, with equal shapes and dtypes. */
MICA_API MICA_CHECKED mica_status mica_op_copy(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = x[i], converted to y's dtype. Float to integer: truncated towards zero and saturated; NaN gives 0. Integer to
 * integer: wraps. To bool: x[i] != 0. To float: rounds to nearest even. x, y: contiguous, with equal shapes. */
MICA_API MICA_CHECKED mica_status mica_op_cast(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* Copies bytes without conversion. x, y: contiguous, with equal shapes and dtypes of equal size. y may be bool only if
 * x is bool, because other bytes may be neither 0 nor 1. */
MICA_API MICA_CHECKED mica_status mica_op_bitcast(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = alpha x[i] + beta y[i]. If beta is 0, y is not read and may hold anything. x, y: contiguous, with equal shapes
 * and float dtype; x may be y. */
MICA_API MICA_CHECKED mica_status mica_op_scale_add(mica_queue *queue, double alpha, const mica_tensor *x, double beta,
                                                    mica_tensor *y);

#define MICA_REDUCTION_LIST(X)                                                                                         \
  X(SUM, "sum")                                                                                                        \
  X(MAX, "max")                                                                                                        \
  X(ARGMAX, "argmax")

typedef enum mica_reduction {
#define MICA_REDUCTION_ENUM(name, text) MICA_REDUCTION_##name,
  MICA_REDUCTION_LIST(MICA_REDUCTION_ENUM)
#undef MICA_REDUCTION_ENUM
} mica_reduction;

/* y = reduction of x over one axis; a negative axis counts from the end. x: contiguous f32 f16 bf16 f64 i32 i64 u32
 * u64. y: contiguous, x's shape without the axis or with extent 1 there; x's dtype or f32, for ARGMAX i32 or i64. Sums
 * of f16 and bf16 are in f32; integer sums wrap. For MAX and ARGMAX, NaN is the largest value; ARGMAX returns the first
 * maximum. For an axis of 0 elements, SUM gives 0, others MICA_E_SHAPE. The order of a sum depends only on the sizes.
 */
MICA_API MICA_CHECKED mica_status mica_op_reduce(mica_queue *queue, mica_reduction reduction, const mica_tensor *x,
                                                 int axis, mica_tensor *y);

/* Activation functions: name, text. x is the value, p the argument:
 *
 *   clipped_relu    min(max(x, 0), p)
 *   leaky_relu      x if x > 0, else p x
 *   elu             x if x > 0, else p (e^x - 1)
 *   gelu            x Phi(x), exact
 *   gelu_tanh       its approximation with tanh
 *   silu            x sigmoid(x)
 *   softplus        log(1 + e^x)
 *   hard_sigmoid    min(max(x / 6 + 1/2, 0), 1)
 *   hard_swish      x hard_sigmoid(x)
 *
 * The others have the usual meaning and no p. */
#define MICA_ACTIVATION_LIST(X)                                                                                        \
  X(NONE, "none")                                                                                                      \
  X(RELU, "relu")                                                                                                      \
  X(CLIPPED_RELU, "clipped_relu")                                                                                      \
  X(LEAKY_RELU, "leaky_relu")                                                                                          \
  X(ELU, "elu")                                                                                                        \
  X(GELU, "gelu")                                                                                                      \
  X(GELU_TANH, "gelu_tanh")                                                                                            \
  X(SIGMOID, "sigmoid")                                                                                                \
  X(TANH, "tanh")                                                                                                      \
  X(SILU, "silu")                                                                                                      \
  X(SOFTPLUS, "softplus")                                                                                              \
  X(HARD_SIGMOID, "hard_sigmoid")                                                                                      \
  X(HARD_SWISH, "hard_swish")

typedef enum mica_activation {
#define MICA_ACTIVATION_ENUM(name, text) MICA_ACTIVATION_##name,
  MICA_ACTIVATION_LIST(MICA_ACTIVATION_ENUM)
#undef MICA_ACTIVATION_ENUM
} mica_activation;

/* "none", "relu", ...; "?" for any other value. */
MICA_API const char *mica_activation_name(mica_activation activation);

/* y[i] = activation(x[i]); argument is p. x, y: contiguous, with equal shapes and float dtype; y may be x. Calls are
 * compiled and kept as in mica/norm.h. */
MICA_API MICA_CHECKED mica_status mica_op_activation_fwd(mica_queue *queue, mica_activation activation, double argument,
                                                         const mica_tensor *x, mica_tensor *y);
/* dx[i] = dy[i] times the derivative at x[i]; dx may be dy or x. */
MICA_API MICA_CHECKED mica_status mica_op_activation_bwd(mica_queue *queue, mica_activation activation, double argument,
                                                         const mica_tensor *x, const mica_tensor *dy, mica_tensor *dx);

/* Index of d that selects a bias element: bias[column], as in a layer whose rows are samples, or bias[row]. */
typedef enum mica_bias_axis { MICA_BIAS_AXIS_COLUMN = 1, MICA_BIAS_AXIS_ROW = 2 } mica_bias_axis;

typedef struct mica_gemm_config {
  double alpha;             /* 0: 1; MICA_ZERO: 0 */
  double beta;              /* 0: c is not read */
  mica_bias_axis bias_axis; /* 0: COLUMN */
  mica_activation activation;
  float activation_arg;
  /* f32 operands may be rounded to 10 bits of mantissa for tensor cores (tf32); sums stay f32. */
  bool allow_tf32;
} mica_gemm_config;

/* Defaults: alpha 1, beta 0, one bias element per column, no activation, full precision. */
MICA_API mica_gemm_config mica_gemm_config_default(void);

/* d = activation(alpha a b + beta c + bias) for each matrix of a batch. a (..., M, K), b (..., K, N), c and d (..., M,
 * N). config may be NULL. c may be NULL if beta is 0; it is not read then. bias may be NULL.
 *
 * Strides. Any strides are accepted; a transposed operand is a view with its last two dimensions swapped
 * (mica_tensor_transpose). Leading dimensions of d are batches. Leading dimensions of a, b and c are equal to d's, 1,
 * absent, or of stride 0; one stride must walk them all. Columns of c and d are adjacent. bias is (N) or (M), adjacent.
 * d may be c; otherwise it must not overlap an operand. M, N and K may be 0; for K 0 the product is 0.
 *
 * Types of a and b:
 *
 *   f32, f16, bf16   also mixed; sums in f32; c and d f32, f16 or bf16; bias any of the three
 *   f64              everything f64
 *   i8, u8           sums, c, d and bias i32; alpha and beta are used as integers; activation none or relu
 *
 * The order of sums depends on the sizes and the device; the same call gives the same bits. */
MICA_API MICA_CHECKED mica_status mica_op_gemm(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a,
                                               const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias,
                                               mica_tensor *d);

MICA_END_DECLS

#endif
