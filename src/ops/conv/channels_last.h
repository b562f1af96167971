/* ops/conv/channels_last.h: operands of convolutions in graphs that have their channels last. */
#ifndef MICA_OPS_CONV_CHANNELS_LAST_H
#define MICA_OPS_CONV_CHANNELS_LAST_H

#include "ir/graph.h"
#include "ops/conv/conv.h"

/* The shape with channels first of a result of the op channels_last with this number of channels. */
mica_shape mica__conv_first_shape(mica_shape last, int64_t channels);
/* A view of such a tensor in that shape; the caller destroys it. */
mica_status mica__conv_view_last(const mica_tensor *last, int64_t channels, mica_tensor **view);

/* What the pass does on the engine's device, by bits of mica__conv_last: the operands that it copies to have their
 * channels last, those that it can take so, and whether it can then write its result so. types: of x, w and y. */
typedef struct mica__conv_lasts {
  unsigned copies, takes;
  bool writes;
} mica__conv_lasts;
mica__conv_lasts mica__conv_find_last(mica_engine *engine, mica__conv_pass pass, const mica_conv_config *config,
                                      const mica__type types[3]);

#endif
