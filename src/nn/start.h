/* nn/start.h: initial values of single layers, in place of the network's own. */
#ifndef MICA_NN_START_H
#define MICA_NN_START_H

#include "nn/nn.h"

#include <mica/session.h>

/* Uploads random values from U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)), as PyTorch's layers begin, for the weight (units,
 * fan_in) and the bias of the dense layer with this name (without name_prefix). Weight and bias are f32. `which` must
 * differ between layers, so that they get different values.
 *
 * If ranks divide the layer, each gets its part of the same values. If the session has only the weight, only the bias
 * or neither, as a stage of a pipeline can, only the existing ones are filled. */
MICA__SHARED mica_status mica__nn_start_dense(const mica_nn *nn, mica_session *session, const char *layer,
                                              uint64_t seed, uint32_t which);

#endif
