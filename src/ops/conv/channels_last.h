/* ops/conv/channels_last.h: operands of convolutions in graphs that have their channels last. */
#ifndef MICA_OPS_CONV_CHANNELS_LAST_H
#define MICA_OPS_CONV_CHANNELS_LAST_H

#include "ir/graph.h"
#include "ops/conv/conv.h"

/* The shape with channels first of a result of the op channels_last, which had so many channels. */
mica_shape mica__conv_first_shape(mica_shape last, int64_t channels);
/* A view of such a tensor in that shape; the caller destroys it. */
mica_status mica__conv_view_last(const mica_tensor *last, int64_t channels, mica_tensor **view);

/* The operands that the pass would copy to have their channels last, on the engine's device, as bits of
 * mica__conv_last. types: of x, w and y. */
unsigned mica__conv_copies_last(mica_engine *engine, mica__conv_pass pass, const mica_conv_config *config,
                                const mica__type types[3]);

#endif
