/* ops/matmul/linear.h: the op linear, a product of two matrices with the steps that follow it in one launch:
 *
 *   activation(scale a b + c + bias)
 *
 * It has no builder; the compiler makes it from matmul and matmul's users. */
#ifndef MICA_OPS_MATMUL_LINEAR_H
#define MICA_OPS_MATMUL_LINEAR_H

#include "ir/graph.h"
#include "ops/common/activation.h"

/* Operands: a (M, K), b (K, N), then the bias (N elements) and c (M N elements), as far as the node has them, in the
 * order in which they were fused. The result may have any shape of M N elements. */
extern const mica__op mica__op_linear;

/* Returns the shape without its last two dimensions. */
mica_shape mica__matmul_lead(mica_shape shape);
/* mica__op.infer of matmul and mica__op_matmul_integer: infers the shape of (..., M, K) times (..., K, N), whose
 * leading dimensions broadcast. It does not set the type of the elements. */
mica_status mica__matmul_infer(const struct mica__type *inputs, int32_t input_count, void *attrs,
                               struct mica__type *out);
extern const mica__op mica__op_matmul_integer;

/* Attributes of linear, and of other ops that end in the epilogue of a product. */
#define MICA__LINEAR_ATTRS(X, S)                                                                                       \
  X(S, INT, bias, 0, "which operand it is; 0 for none")                                                                \
  X(S, INT, addend, 0, "likewise")                                                                                     \
  X(S, REAL, scale, 1, "of the product")                                                                               \
  X(S, ENUM, activation, MICA_ACTIVATION_NONE, "of the sum", mica__activation_names)                                   \
  X(S, REAL, activation_argument, 0, "its argument")
MICA__ATTR_STRUCT(linear, MICA__LINEAR_ATTRS);

/* True if the node can take in its user: the user adds a bias or a tensor of the result's size, or applies an
 * activation, and *attrs has no activation yet, nor such an addend. Then notes the user's step in *attrs. */
bool mica__linear_takes(const mica__epilogue_fusion *fusion, mica__linear_attrs *attrs);
/* mica__op.fuse_epilogue of matmul and linear. */
bool mica__linear_fuse_epilogue(mica__epilogue_fusion *fusion);

#endif
