/* ops/elementwise/written_out.h: activations as files write them out, with products, sums and exponentials. Constants
 * are taken for equal within 1e-4 of their size: files have 1.4142 and 0.7978845. */
#ifndef MICA_OPS_ELEMENTWISE_WRITTEN_OUT_H
#define MICA_OPS_ELEMENTWISE_WRITTEN_OUT_H

#include "ir/op.h"

/* mica__op.match of the op of that name. */
#define MICA__WRITTEN_OUT(name)                                                                                        \
  bool mica__match_##name(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs)
MICA__WRITTEN_OUT(silu);
MICA__WRITTEN_OUT(gelu);
MICA__WRITTEN_OUT(gelu_tanh);
MICA__WRITTEN_OUT(mish);
MICA__WRITTEN_OUT(hard_swish);

#endif
