/* nn/optim_ranks.h: gradients over several ranks. */
#ifndef MICA_NN_OPTIM_RANKS_H
#define MICA_NN_OPTIM_RANKS_H

#include "base/error.h"

#include <mica/optim.h>

/* Replaces this rank's gradients, in the order of their weights, by their means over all ranks, weighted by
 * config->weight. Buckets are sent in the order of the backward pass, last weights first. MICA_E_DTYPE or MICA_E_NOMEM;
 * other errors are recorded in the graph. */
mica_status mica__ranks_reduce(mica_graph *graph, const mica_optimizer_config *config, mica_value *gradients,
                               size_t count);

/* --- shared with optim_shard --- */

/* Maximum bytes of gradients in a bucket. */
int64_t mica__ranks_bucket(const mica_optimizer_config *config);
/* mica__ranks_counted: the divisor of a loss that is a mean over `weight` items, at least `least`. Gradients are
 * multiplied by it before they are summed over ranks. mica__ranks_divisor: the divisor of the sum; `weights` is the sum
 * of the ranks' weights. */
mica_value mica__ranks_counted(mica_value weight, double least);
mica_value mica__ranks_divisor(mica_value weights, double least);
/* *weight: factor for this rank's gradients (1 if config has no weight). *all: divisor of their sum. */
void mica__ranks_weight(mica_graph *graph, const mica_optimizer_config *config, mica_value *weight, mica_value *all);

#endif
