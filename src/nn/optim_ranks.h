/* nn/optim_ranks.h: gradients over several ranks. */
#ifndef MICA_NN_OPTIM_RANKS_H
#define MICA_NN_OPTIM_RANKS_H

#include "base/error.h"

#include <mica/optim.h>

/* Replaces this rank's gradients by their means over all ranks, weighted by config->weight. The gradients are in the
 * order of their weights, but buckets are sent in the order of the backward pass, the last weights first. Returns
 * MICA_E_NOMEM, or MICA_E_INVALID if there are too many buckets; other errors are recorded in the graph. */
mica_status mica__ranks_reduce(mica_graph *graph, const mica_optimizer_config *config, mica_value *gradients,
                               size_t count);

/* --- shared with optim_shard --- */

/* Maximum bytes of gradients in a bucket; a larger gradient gets a bucket of its own. */
int64_t mica__ranks_bucket(const mica_optimizer_config *config);
/* counted returns the number of items over which a rank's loss is the mean: `weight`, but at least `least`. Gradients
 * are multiplied by this number before they are summed over ranks.
 *
 * divisor returns the number by which that sum is divided: `weights`, the sum of the ranks' weights, but at least
 * `least`. It is always above 0. */
mica_value mica__ranks_counted(mica_value weight, double least);
mica_value mica__ranks_divisor(mica_value weights, double least);
/* *weight: factor for this rank's gradients (1 if config has no weight). *all: divisor of their sum. */
void mica__ranks_weight(mica_graph *graph, const mica_optimizer_config *config, mica_value *weight, mica_value *all);

#endif
