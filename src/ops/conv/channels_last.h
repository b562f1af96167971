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

/* What a pass does on the engine's device with operands that can have their channels last, in bits of
 * mica__conv_last. copies: operands that it copies itself to have their channels last. takes: operands that it can
 * take with their channels last already. writes: if it takes these, it can write its result with channels last, too.
 * types: of x, w and y. */
typedef struct mica__conv_lasts {
  unsigned copies, takes;
  bool writes;
} mica__conv_lasts;
mica__conv_lasts mica__conv_find_last(mica_engine *engine, mica__conv_pass pass, const mica_conv_config *config,
                                      const mica__type types[3]);

#endif
