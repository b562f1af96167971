/* nn/held.h: weights that are kept in memory in their file's form: 16-bit floats, or blocks of few bits. Kernels widen
 * them when they read. */
#ifndef MICA_NN_HELD_H
#define MICA_NN_HELD_H

#include "ir/graph.h"

#include <mica/nn.h>

/* Asks mica_nn_config.hold in which form the weight should stay in memory. The form is f32 if there is no `hold`,
 * `hold` returns false or the weight has fewer than two axes. False, with an error in the graph, if the weight cannot
 * have the form that `hold` asks for. */
bool mica__nn_ask_held(mica_graph *graph, const mica_nn_config *config, const char *own_name, mica_shape shape,
                       mica_nn_held *held);

/* True if the weight's form in memory is not f32 elements; it cannot be trained then. */
static inline bool mica__nn_is_held(const mica_nn_held *held) {
  return held->dtype != MICA_F32 || held->block != MICA_BLOCK_NONE;
}

/* The type of the parameter for a weight of this shape; blocks are stored as bytes. */
mica__type mica__nn_held_type(const mica_nn_held *held, mica_shape shape);
/* The shape of a weight, from the shape of its parameter. */
mica_shape mica__nn_held_shape(const mica_nn_held *held, mica_shape parameter);

/* Converts a weight's parameter to elements of a dtype. */
mica_value mica__nn_held_value(const mica_nn_held *held, mica_value parameter, mica_dtype dtype);
/* Rows of the weight by ids, like mica_embedding. Rows of blocks are converted to this dtype; rows of other forms keep
 * the weight's dtype. */
mica_value mica__nn_held_rows(const mica_nn_held *held, mica_value parameter, mica_value ids, mica_dtype dtype);

#endif
