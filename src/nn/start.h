/* nn/start.h: initial values of single layers, in place of the network's own. */
#ifndef MICA_NN_START_H
#define MICA_NN_START_H

#include "nn/nn.h"

#include <mica/session.h>

/* Uploads random values of U(-1 / sqrt(fan_in), 1 / sqrt(fan_in)) for the weight (units, fan_in) and the bias of the
 * dense layer with this name (without name_prefix): the distribution of PyTorch's layers. Both are f32. `which` makes
 * the values of layers differ. Ranks that divide the layer get their parts of the same values, and a session may have
 * one of the two or none, as a stage of a pipeline. */
MICA__SHARED mica_status mica__nn_start_dense(const mica_nn *nn, mica_session *session, const char *layer,
                                              uint64_t seed, uint32_t which);

#endif
