/* nn/optim_shard.h: optimiser state divided among ranks; each rank has the state of some weights (ZeRO stage 2;
 * Rajbhandari et al. 2020). */
#ifndef MICA_NN_OPTIM_SHARD_H
#define MICA_NN_OPTIM_SHARD_H

#include "base/error.h"

#include <mica/optim.h>

/* owners[i] receives the rank that keeps the state of weight i. All ranks get about the same number of elements. */
mica_status mica__shard_owners(const mica_value *weights, size_t count, int32_t ranks, int32_t *owners);
/* Reduces the gradients of the rank's own weights over all ranks, like mica__ranks_reduce; others do not change. *sent:
 * a value that the graph must use, or null. */
mica_status mica__shard_reduce(mica_graph *graph, const mica_optimizer_config *config, const int32_t *owners,
                               mica_value *gradients, size_t count, mica_value *sent);
/* Sends values[i], the new weight i, from its owner to all ranks, after `when`, a value that each run computes. Adds
 * to *sent, which the graph must use. */
mica_status mica__shard_broadcast(const mica_optimizer_config *config, const int32_t *owners, mica_value when,
                                  mica_value *values, size_t count, mica_value *sent);

#endif
