/* nn/optim_shard.h: optimiser state divided among ranks; each rank has the state of some weights (ZeRO stage 2;
 * Rajbhandari et al. 2020). */
#ifndef MICA_NN_OPTIM_SHARD_H
#define MICA_NN_OPTIM_SHARD_H

#include "base/error.h"

#include <mica/optim.h>

/* owners[i] receives the rank that keeps the state of weight i. All ranks get about the same number of elements, as far
 * as whole weights allow. */
mica_status mica__shard_owners(const mica_value *weights, size_t count, int32_t ranks, int32_t *owners);
/* Reduces the gradients of the weights that this rank owns over all ranks, like mica__ranks_reduce. The gradients of
 * other weights do not change. Adds a value to *sent, which the graph must use so that the gradients are sent. */
mica_status mica__shard_reduce(mica_graph *graph, const mica_optimizer_config *config, const int32_t *owners,
                               mica_value *gradients, size_t count, mica_value *sent);
/* Sends the new weight values[i] from its owner to all ranks; on the other ranks, values[i] becomes the value received.
 * The transfer begins after `when`, a value that each run computes. Adds a value to *sent, which the graph must use. */
mica_status mica__shard_broadcast(const mica_optimizer_config *config, const int32_t *owners, mica_value when,
                                  mica_value *values, size_t count, mica_value *sent);

#endif
