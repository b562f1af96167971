/* ops/matmul/linear.h: a product of two matrices with what follows it: activation(scale a b + c + bias). No builder
 * makes it; the compiler does, from matmul and its users. */
#ifndef MICA_OPS_MATMUL_LINEAR_H
#define MICA_OPS_MATMUL_LINEAR_H

#include "ir/graph.h"
#include "ops/common/activation.h"

/* Operands: a (M, K), b (K, N), then the bias (N elements) and c (M N elements) in the order of their fusing.
 * The result may have any shape of M N elements. */
extern const mica__op mica__op_linear;

/* A shape without its last two dimensions. */
mica_shape mica__matmul_lead(mica_shape shape);
/* mica__op.infer of products (..., M, K) (..., K, N); and the product of integers. */
mica_status mica__matmul_infer(const struct mica__type *inputs, int32_t input_count, void *attrs,
                               struct mica__type *out);
extern const mica__op mica__op_matmul_integer;

/* What a product does to a sum, for attributes of ops with such an epilogue. */
#define MICA__LINEAR_ATTRS(X, S)                                                                                       \
  X(S, INT, bias, 0, "which operand it is; 0 for none")                                                                \
  X(S, INT, addend, 0, "likewise")                                                                                     \
  X(S, REAL, scale, 1, "of the product")                                                                               \
  X(S, ENUM, activation, MICA_ACTIVATION_NONE, "of the sum", mica__activation_names)                                   \
  X(S, REAL, activation_argument, 0, "its argument")
MICA__ATTR_STRUCT(linear, MICA__LINEAR_ATTRS);

/* True if the user adds a bias or as many elements to the result, or is an activation of it, that is not there yet. */
bool mica__linear_takes(const mica__epilogue_fusion *fusion, mica__linear_attrs *attrs);
/* mica__op.fuse_epilogue of matmul and linear. */
bool mica__linear_fuse_epilogue(mica__epilogue_fusion *fusion);

#endif
