/* mica/ops.h: stateless operations on device tensors.
 *
 * mica_op_<op>_<pass>(queue, ...) checks its operands, queues its kernels and returns; it does not wait. All operands
 * belong to the queue's engine. Results are written in place: the output tensor is the caller's and has the right dtype
 * and shape. Unless an op says otherwise, its output may not overlap an input. Errors: MICA_E_INVALID (NULL, another
 * engine, strides an op cannot take, an output that overlaps an input or another output), MICA_E_DTYPE, MICA_E_SHAPE,
 * MICA_E_DEVICE_MEMORY (workspace), MICA_E_BUILD, MICA_E_DEVICE_LOST.
 *
 * Threads: any. */
#ifndef MICA_OPS_H
#define MICA_OPS_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* y[i] = value, as y's type: integers take value cut towards zero and modulo their range, bool takes value != 0.
 * y: contiguous, any dtype. */
MICA_API MICA_CHECKED mica_status mica_op_fill(mica_queue *queue, double value, mica_tensor *y);

/* y[i] = x[i]. x, y: contiguous, of one shape and dtype. */
MICA_API MICA_CHECKED mica_status mica_op_copy(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = x[i] as y's type. From floating to integer types the value is cut towards zero and saturates, and a NaN gives
 * 0; between integers it wraps; to bool it is x[i] != 0; to floating types it rounds to nearest even.
 * x, y: contiguous, of one shape. */
MICA_API MICA_CHECKED mica_status mica_op_cast(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* The bytes of y[i] = those of x[i]. x, y: contiguous, of one shape, their dtypes of one size; y is no bool unless x is
 * one: a byte may be neither 0 nor 1. */
MICA_API MICA_CHECKED mica_status mica_op_bitcast(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = alpha x[i] + beta y[i]; y is not read where beta is 0, so that it may hold anything.
 * x, y: contiguous, of one shape and floating dtype; x may be y. */
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

/* y = the reduction of x over one axis (negative ones count from the end). x: contiguous f32 f16 bf16 f64 i32
 * i64 u32 u64. y: contiguous, x's shape without the axis or with 1 in its place; x's dtype or f32, and for ARGMAX i32
 * or i64. Sums of f16 and bf16 are taken in f32; sums of integers wrap. For MAX and ARGMAX a NaN is the largest value;
 * ARGMAX gives the first of equals. Over an axis of 0 elements SUM gives 0 and the others fail with MICA_E_SHAPE. The
 * order of a sum depends on the sizes alone. */
MICA_API MICA_CHECKED mica_status mica_op_reduce(mica_queue *queue, mica_reduction reduction, const mica_tensor *x,
                                                 int axis, mica_tensor *y);

/* Functions that end a formula: name, text. With x the value and p the activation's argument: clipped_relu is
 * min(max(x, 0), p), leaky_relu x or p x, elu x or p (e^x - 1), gelu x Phi(x) exactly, gelu_tanh its approximation by
 * tanh, silu x sigmoid(x), softplus log(1 + e^x), hard_sigmoid min(max(x / 6 + 1/2, 0), 1), hard_swish x times that.
 * The others take no p. */
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

/* "gelu_tanh"; "?" for a value that is no activation. */
MICA_API const char *mica_activation_name(mica_activation activation);

/* y[i] = the activation of x[i]; argument is its p. x, y: contiguous, of one shape and floating dtype; y may be x. The
 * compiled call is kept as those of mica/norm.h are. */
MICA_API MICA_CHECKED mica_status mica_op_activation_fwd(mica_queue *queue, mica_activation activation, double argument,
                                                         const mica_tensor *x, mica_tensor *y);
/* dx[i] = dy[i] times the derivative at x[i]; dx may be dy or x. */
MICA_API MICA_CHECKED mica_status mica_op_activation_bwd(mica_queue *queue, mica_activation activation, double argument,
                                                         const mica_tensor *x, const mica_tensor *dy, mica_tensor *dx);

/* Which index of D a bias has: bias[column], as in a layer whose rows are samples, or bias[row]. */
typedef enum mica_bias_axis { MICA_BIAS_AXIS_COLUMN = 1, MICA_BIAS_AXIS_ROW = 2 } mica_bias_axis;

typedef struct mica_gemm_config {
  double alpha;             /* 0: 1; MICA_ZERO: 0 */
  double beta;              /* 0: c is not read */
  mica_bias_axis bias_axis; /* 0: COLUMN */
  mica_activation activation;
  float activation_arg;
  /* f32 operands may be rounded to 10 bits of mantissa on tensor cores (tf32); sums stay f32. */
  bool allow_tf32;
} mica_gemm_config;

/* alpha 1, beta 0, a bias element for each column, no activation, full precision: what zeros mean. */
MICA_API mica_gemm_config mica_gemm_config_default(void);

/* d = activation(alpha a b + beta c + bias), for each matrix of a batch.
 *
 * a is (..., M, K), b (..., K, N), c and d (..., M, N); a transposed operand is a view with its last two dimensions
 * swapped (mica_tensor_transpose), and any strides are taken. The leading dimensions of d are the batches; those of a,
 * b and c are the same or 1 (or absent, or of stride 0), and must be walked by one stride: contiguous, or one
 * dimension. The columns of c and d are adjacent. bias is (N) or (M), adjacent. M, N, K may be 0; K 0 makes the
 * product 0.
 *
 * Types of a and b: f32, f16, bf16 (one type or mixed, sums in f32; c, d f32, f16 or bf16); f64 (all f64); i8 and u8
 * (sums, c and d i32; alpha and beta are taken as integers, and of the activations none and relu). bias is of d's type
 * or, where sums are f32, any of the three. config may be NULL for the default; c may be NULL where beta is 0, and is
 * not read then; bias may be NULL.
 * d may be c; otherwise it may not overlap an operand. Sums are taken in an order that the sizes and the device decide:
 * the same call gives the same bits. */
MICA_API MICA_CHECKED mica_status mica_op_gemm(mica_queue *queue, const mica_gemm_config *config, const mica_tensor *a,
                                               const mica_tensor *b, const mica_tensor *c, const mica_tensor *bias,
                                               mica_tensor *d);

MICA_END_DECLS

#endif
