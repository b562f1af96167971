/* nn/optim_ranks.h: gradients of several ranks. */
#ifndef MICA_NN_OPTIM_RANKS_H
#define MICA_NN_OPTIM_RANKS_H

#include "base/error.h"

#include <mica/optim.h>

/* Replaces the rank's gradients, in the order of their weights, by those of all ranks: the means weighted by
 * config->weight. They go bucket by bucket, last ones first, as the backward pass makes them. MICA_E_DTYPE or
 * MICA_E_NOMEM; other errors stand in the graph. */
mica_status mica__ranks_reduce(mica_graph *graph, const mica_optimizer_config *config, mica_value *gradients,
                               size_t count);

/* --- shared with optim_shard --- */

/* The bytes of gradients that travel together, at most. */
int64_t mica__ranks_bucket(const mica_optimizer_config *config);
/* counted: what a loss is divided by that is a mean of `weight` things, and at least of `least`; its gradient is
 * multiplied by it before those of all parts are added up. divisor: what their sum is divided by, where the weights of
 * the parts have this sum. */
mica_value mica__ranks_counted(mica_value weight, double least);
mica_value mica__ranks_divisor(mica_value weights, double least);
/* What the rank's gradients are multiplied by (1 where config has no weight), and what their sum is divided by. */
void mica__ranks_weight(mica_graph *graph, const mica_optimizer_config *config, mica_value *weight, mica_value *all);

#endif
