/* nn/optim_shard.h: optimisers whose state is divided among ranks: each has that of some weights (ZeRO, stage 2;
 * Rajbhandari et al. 2020). */
#ifndef MICA_NN_OPTIM_SHARD_H
#define MICA_NN_OPTIM_SHARD_H

#include "base/error.h"

#include <mica/optim.h>

/* owners[i] is the rank that has the state of weight i: all have about as many elements. */
mica_status mica__shard_owners(const mica_value *weights, size_t count, int32_t ranks, int32_t *owners);
/* Replaces the gradients of the rank's own weights by those of all ranks, as mica__ranks_reduce; others are left.
 * *sent is a number that the graph has to use, or null. */
mica_status mica__shard_reduce(mica_graph *graph, const mica_optimizer_config *config, const int32_t *owners,
                               mica_value *gradients, size_t count, mica_value *sent);
/* values[i], the new weight i, is known to its owner; then all have it. `when` is any value of each run. *sent as
 * above, added to what it holds. */
mica_status mica__shard_broadcast(const mica_optimizer_config *config, const int32_t *owners, mica_value when,
                                  mica_value *values, size_t count, mica_value *sent);

#endif
