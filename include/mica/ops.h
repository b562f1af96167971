/* mica/ops.h: stateless operations on device tensors.
 *
 * mica_op_<op>_<pass>(queue, ...) checks its operands, queues its kernels and returns; it does not wait. All operands
 * belong to the queue's engine. Results are written in place: the output tensor is the caller's and has the right dtype
 * and shape. Unless an op says otherwise, its output may not overlap an input. Errors: MICA_E_INVALID (NULL, another
 * engine, strides an op cannot take), MICA_E_DTYPE, MICA_E_SHAPE, MICA_E_DEVICE_MEMORY (workspace), MICA_E_BUILD. */
#ifndef MICA_OPS_H
#define MICA_OPS_H

#include <mica/tensor.h>

MICA_BEGIN_DECLS

/* y[i] = value, as y's type: integers take value cut towards zero and modulo their range, bool takes value != 0.
 * y: contiguous, any dtype. */
MICA_API mica_status mica_op_fill_fwd(mica_queue *queue, double value, mica_tensor *y);

/* y[i] = x[i]. x, y: contiguous, of one shape and dtype. */
MICA_API mica_status mica_op_copy_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = x[i] as y's type. From floating to integer types the value is cut towards zero and saturates, and a NaN gives
 * 0; between integers it wraps; to bool it is x[i] != 0; to floating types it rounds to nearest even.
 * x, y: contiguous, of one shape. */
MICA_API mica_status mica_op_cast_fwd(mica_queue *queue, const mica_tensor *x, mica_tensor *y);

/* y[i] = alpha x[i] + beta y[i]; y is not read where beta is 0, so that it may hold anything.
 * x, y: contiguous, of one shape and floating dtype; x may be y. */
MICA_API mica_status mica_op_scale_add_fwd(mica_queue *queue, double alpha, const mica_tensor *x, double beta,
                                           mica_tensor *y);

#define MICA_REDUCTION_LIST(X)                                                                                         \
  X(SUM, "sum")                                                                                                        \
  X(MAX, "max")                                                                                                        \
  X(ARGMAX, "argmax")

typedef enum mica_reduction {
#define MICA_REDUCTION_ENUM(name, text) MICA_REDUCE_##name,
  MICA_REDUCTION_LIST(MICA_REDUCTION_ENUM)
#undef MICA_REDUCTION_ENUM
} mica_reduction;

/* y = the reduction of x over one axis (negative ones count from the end). x: contiguous f32 f16 bf16 f64 i32 i64. y:
 * contiguous, x's shape without the axis or with 1 in its place; x's dtype or f32, and for ARGMAX i32 or i64. Sums of
 * f16 and bf16 are taken in f32; sums of integers wrap. For MAX and ARGMAX a NaN is the largest value; ARGMAX gives the
 * first of equals. Over an axis of 0 elements SUM gives 0 and the others fail with MICA_E_SHAPE. The order of a sum
 * depends on the sizes alone. */
MICA_API mica_status mica_op_reduce_fwd(mica_queue *queue, mica_reduction reduction, const mica_tensor *x, int axis,
                                        mica_tensor *y);

MICA_END_DECLS

#endif
