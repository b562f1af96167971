/* ops/matmul/linear.h: a product of two matrices and the steps after it: activation(scale a b + c + bias). It has no
 * builder: the compiler makes it from matmul and its users. */
#ifndef MICA_OPS_MATMUL_LINEAR_H
#define MICA_OPS_MATMUL_LINEAR_H

#include "ir/graph.h"
#include "ops/common/activation.h"

/* Operands: a (M, K), b (K, N), then the bias (N elements) and c (M N elements) in the order in which they were fused.
 * The result may have any shape of M N elements. */
extern const mica__op mica__op_linear;

/* A shape without its last two dimensions. */
mica_shape mica__matmul_lead(mica_shape shape);
/* mica__op.infer of products (..., M, K) (..., K, N), also used by the product of integers, mica__op_matmul_integer. */
mica_status mica__matmul_infer(const struct mica__type *inputs, int32_t input_count, void *attrs,
                               struct mica__type *out);
extern const mica__op mica__op_matmul_integer;

/* Attributes of an op whose epilogue is that of a product. */
#define MICA__LINEAR_ATTRS(X, S)                                                                                       \
  X(S, INT, bias, 0, "which operand it is; 0 for none")                                                                \
  X(S, INT, addend, 0, "likewise")                                                                                     \
  X(S, REAL, scale, 1, "of the product")                                                                               \
  X(S, ENUM, activation, MICA_ACTIVATION_NONE, "of the sum", mica__activation_names)                                   \
  X(S, REAL, activation_argument, 0, "its argument")
MICA__ATTR_STRUCT(linear, MICA__LINEAR_ATTRS);

/* True if the user adds a bias or a tensor of the result's size, or applies an activation, and the epilogue lacks it
 * yet. */
bool mica__linear_takes(const mica__epilogue_fusion *fusion, mica__linear_attrs *attrs);
/* mica__op.fuse_epilogue of matmul and linear. */
bool mica__linear_fuse_epilogue(mica__epilogue_fusion *fusion);

#endif
