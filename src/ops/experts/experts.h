/* ops/experts/experts.h: products in which each row is multiplied by one of several matrices. */
#ifndef MICA_OPS_EXPERTS_EXPERTS_H
#define MICA_OPS_EXPERTS_EXPERTS_H

#include "ops/blocks/blocks.h"

#include <mica/experts.h>

/* expert_product (x, w, ids), and its gradient for weights that are not in blocks, expert_weights_grad (x, dy, ids). */
enum { MICA__EXPERT_X, MICA__EXPERT_W, MICA__EXPERT_IDS, MICA__EXPERT_OPERANDS };

#define MICA__EXPERT_ATTRS(X, S)                                                                                       \
  X(S, ENUM, block, MICA_BLOCK_NONE, "block type", mica__block_names)                                                  \
  X(S, INT, columns, 0, "elements of a row of blocks")                                                                 \
  X(S, BOOL, by_k, false, "matrices are not transposed")                                                               \
  X(S, INT, experts, 0, "of the gradient: number of matrices")
MICA__ATTR_STRUCT(expert, MICA__EXPERT_ATTRS);

extern const mica__op mica__op_expert_product, mica__op_expert_weights_grad;

/* The sizes of mica/experts.h: the number of rows, S (chosen), E (experts), n and k; share: the number of ids that
 * share a row of x, S or 1. */
typedef struct mica__expert_sizes {
  int64_t rows, chosen, experts, n, k, share;
} mica__expert_sizes;
/* Returns the sizes of operands whose shapes are all known. */
mica__expert_sizes mica__expert_sizes_of(const mica__expert_attrs *attrs, mica_shape x, mica_shape w, mica_shape ids);

/* The launches of both ops, and lists of their kernels, which end in NULL. */
mica_status mica__expert_launch(const mica__exec *exec);
mica_status mica__expert_launch_grad(const mica__exec *exec);
extern const mica__kernel_desc *const mica__expert_kernels[], *const mica__expert_grad_kernels[];

#endif
