/* nn/held.h: weights that stay in their file's form in memory: 16 bits, or blocks. Kernels convert what they read. */
#ifndef MICA_NN_HELD_H
#define MICA_NN_HELD_H

#include "ir/graph.h"

#include <mica/nn.h>

/* Asks mica_nn_config.hold about a weight. False, with an error in the graph, if the form is impossible. */
bool mica__nn_ask_held(mica_graph *graph, const mica_nn_config *config, const char *own_name, mica_shape shape,
                       mica_nn_held *held);

/* True if the weight is not stored as f32 elements. It cannot be trained then. */
static inline bool mica__nn_is_held(const mica_nn_held *held) {
  return held->dtype != MICA_F32 || held->block != MICA_BLOCK_NONE;
}

#endif
