/* nn/held.h: weights that memory has as a file has them: halves, or blocks of few bits. Kernels widen what they read.
 */
#ifndef MICA_NN_HELD_H
#define MICA_NN_HELD_H

#include "ir/graph.h"

#include <mica/nn.h>

/* Asks mica_nn_config.hold about the weight; false, with the error in the graph, for a form that it cannot have. */
bool mica__nn_ask_held(mica_graph *graph, const mica_nn_config *config, const char *own_name, mica_shape shape,
                       mica_nn_held *held);

/* True if the weight has another form in memory than its elements as f32; then it cannot be trained. */
static inline bool mica__nn_is_held(const mica_nn_held *held) {
  return held->dtype != MICA_F32 || held->block != MICA_BLOCK_NONE;
}

/* The parameter of a weight of that shape: in blocks it is of bytes. */
mica__type mica__nn_held_type(const mica_nn_held *held, mica_shape shape);
/* The shape of the weight whose parameter has that one. */
mica_shape mica__nn_held_shape(const mica_nn_held *held, mica_shape parameter);

/* The weight's elements in a dtype, from its parameter. */
mica_value mica__nn_held_value(const mica_nn_held *held, mica_value parameter, mica_dtype dtype);
/* Rows of the weight by ids, as mica_embedding gives them; in blocks in that dtype, else in the weight's own. */
mica_value mica__nn_held_rows(const mica_nn_held *held, mica_value parameter, mica_value ids, mica_dtype dtype);

#endif
