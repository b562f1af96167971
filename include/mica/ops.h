/* mica/ops.h: stateless operations on device tensors.
 *
 * mica_op_<op>_<pass>(queue, ...) checks its operands, queues its kernels and returns without waiting. All operands
 * belong to the queue's engine. The caller provides output tensors of the right dtype and shape. An output must not
 * overlap an input, unless an op allows it. Every function may fail with:
 *
 *   MICA_E_INVALID         an operand is NULL, belongs to another engine or has strides that the op cannot use; or an
 *                          output overlaps an input or another output
 *   MICA_E_DTYPE           an operand has a dtype that the op does not accept
 *   MICA_E_SHAPE           shapes do not match
 *   MICA_E_BUILD           a kernel does not compile
 *   MICA_E_DEVICE_MEMORY   the device has too little memory for the op's workspace
 *   MICA_E_DEVICE_LOST     the device has failed; see mica/device.h
 *
 * Threads: any thread may call these functions. */
#ifndef MICA_OPS_H
#define MICA_OPS_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* y[i] = value, converted to y's dtype. For an integer dtype, value is truncated towards zero and wraps; for bool, y is
 * value != 0. y: contiguous, any dtype. */
MICA_API MICA_CHECKED mica_status mica_op_fill(mica_queue *queue, double value, mica_tensor *y);

/* y[i] = x[i]. x, y: contiguous, with equal shapes and dtypes. */
MICA_API MICA_CHECKED mica_status mica_op_copy(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = x[i], converted to y's dtype. Float to integer: truncated towards zero and saturated; NaN gives 0. Integer to
 * integer: wraps. To bool: x[i] != 0. To float: rounds to nearest even. x, y: contiguous, with equal shapes. */
MICA_API MICA_CHECKED mica_status mica_op_cast(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* Copies bytes without conversion. x, y: contiguous, with equal shapes and dtypes of equal size. y may be bool only if
 * x is bool, because a bool must be 0 or 1, and bytes of other dtypes can have any value. */
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

/* y = reduction of x over one axis. A negative axis counts from the end.
 *
 *   x       contiguous; f32, f16, bf16, f64, i32, i64, u32 or u64
 *   y       contiguous; x's shape without the axis, or with extent 1 there
 *           SUM, MAX: x's dtype, or f32 if x is float; ARGMAX: i32 or i64
 *   SUM     sums f16 and bf16 in f32; integers wrap; 0 for an axis of 0 elements
 *   MAX     NaN is larger than any number; MICA_E_SHAPE for an axis of 0 elements
 *   ARGMAX  index of the first maximum; otherwise as MAX
 *
 * The order in which elements are added depends only on the sizes. */
MICA_API MICA_CHECKED mica_status mica_op_reduce(mica_queue *queue, mica_reduction reduction, const mica_tensor *x,
                                                 int axis, mica_tensor *y);

/* Activation functions: enumerator, name. x is the value, p the argument:
 *
 *   clipped_relu    min(max(x, 0), p)
 *   leaky_relu      x if x > 0, else p x
 *   elu             x if x > 0, else p (e^x - 1)
 *   gelu            x Phi(x), with Phi the normal distribution function
 *   gelu_tanh       x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, an approximation of gelu
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

/* y[i] = activation(x[i]); argument is p. x, y: contiguous, with equal shapes and float dtype; y may be x. The first
 * call with a new combination of arguments and shapes compiles, which blocks. The engine keeps the compiled kernels of
 * the last 64 combinations. */
MICA_API MICA_CHECKED mica_status mica_op_activation_fwd(mica_queue *queue, mica_activation activation, double argument,
                                                         const mica_tensor *x, mica_tensor *y);
/* dx[i] = dy[i] times the derivative at x[i]; dx may be dy or x. */
MICA_API MICA_CHECKED mica_status mica_op_activation_bwd(mica_queue *queue, mica_activation activation, double argument,
                                                         const mica_tensor *x, const mica_tensor *dy, mica_tensor *dx);

/* Index of d that selects a bias element: bias[column], as in a layer whose rows are samples, or bias[row]. */
typedef enum mica_bias_axis { MICA_BIAS_AXIS_COLUMN = 1, MICA_BIAS_AXIS_ROW = 2 } mica_bias_axis;

typedef struct mica_gemm_config {
  double alpha;             /* 0 means 1; MICA_ZERO means 0 */
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
 * N). config may be NULL. c may be NULL if beta is 0; it is not read then. bias may be NULL. M, N and K may be 0; if K
 * is 0, a b is 0.
 *
 * Matrices: a and b may have any strides, so a transposed operand is a view with its last two dimensions swapped
 * (mica_tensor_transpose). Each row of c and of d is contiguous, and so is bias, which is (N) or (M). d may be c;
 * otherwise d must not overlap an operand.
 *
 * Batches: d has one matrix per index of its leading dimensions. A leading dimension of a, b or c is equal to d's, is
 * 1, is absent or has stride 0; in the last three cases the operand's matrix is used repeatedly. Successive matrices of
 * an operand must lie at a constant distance in memory.
 *
 * Types of a and b:
 *
 *   f32, f16, bf16   also mixed; sums in f32; c and d f32, f16 or bf16; bias any of the three
 *   f64              everything f64
 *   i8, u8           sums, c, d and bias i32; alpha and beta are used as integers; activation none or relu
 *
 * The order of sums depends on the device and on sizes, types, strides and tuning (mica/tune.h). Without tuning, the
 * same call gives the same bits. */
MICA_API MICA_CHECKED mica_status mica_op_gemm(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a,
                                               const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias,
                                               mica_tensor *d);

MICA_END_DECLS

#endif
