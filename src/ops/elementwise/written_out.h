/* ops/elementwise/written_out.h: finds activations that model files write as products, sums and exponentials.
 * Constants, except 0 and the limits of clip, match within a relative 1e-4, because files have rounded ones such as
 * 1.4142 and 0.7978845. */
#ifndef MICA_OPS_ELEMENTWISE_WRITTEN_OUT_H
#define MICA_OPS_ELEMENTWISE_WRITTEN_OUT_H

#include "ir/op.h"

/* mica__op.match of the op with this name. */
#define MICA__WRITTEN_OUT(name)                                                                                        \
  bool mica__match_##name(const mica__match *match, int32_t root, int32_t *inputs, int32_t *count, void *attrs)
MICA__WRITTEN_OUT(silu);
MICA__WRITTEN_OUT(gelu);
MICA__WRITTEN_OUT(gelu_tanh);
MICA__WRITTEN_OUT(mish);
MICA__WRITTEN_OUT(hard_swish);

#endif
