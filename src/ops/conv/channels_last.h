/* ops/conv/channels_last.h: operands of convolutions in graphs that have their channels last. */
#ifndef MICA_OPS_CONV_CHANNELS_LAST_H
#define MICA_OPS_CONV_CHANNELS_LAST_H

#include "ir/graph.h"
#include "ops/conv/conv.h"

/* The shape with channels first of a tensor that the op channels_last made. last: its own shape; channels: their
 * number before they were rounded up. */
mica_shape mica__conv_first_shape(mica_shape last, int64_t channels);
/* Makes a view, in the shape with channels first, of a tensor that has its channels last; the caller destroys it. */
mica_status mica__conv_view_last(const mica_tensor *last, int64_t channels, mica_tensor **view);

/* What a pass does, on the engine's device, with operands that can have their channels last. copies and takes are bits
 * of mica__conv_last.
 *
 * - copies: the operands of which the pass makes a copy with channels last
 * - takes: the operands that the pass can read if they already have their channels last
 * - writes: if the operands in `takes` have their channels last, the result can have them last, too
 *
 * `types` are the types of x, w and y. */
typedef struct mica__conv_lasts {
  unsigned copies, takes;
  bool writes;
} mica__conv_lasts;
mica__conv_lasts mica__conv_find_last(mica_engine *engine, mica__conv_pass pass, const mica_conv_config *config,
                                      const mica__type types[3]);

#endif
