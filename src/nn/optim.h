/* nn/optim.h: an optimiser for given gradients. */
#ifndef MICA_NN_OPTIM_H
#define MICA_NN_OPTIM_H

#include <mica/optim.h>

typedef struct mica__gradients {
  const mica_value *values; /* of the weights to train, in order of creation */
  /* The ranks that share the divided network; norms of gradients are over the parts on all of them. NULL: the network
   * is whole. */
  mica_communicator *parts;
  const bool *elsewhere; /* per value: another part has this weight too, and counts it in the norm */
} mica__gradients;

/* mica_optimize with given gradients instead of a loss. They are gradients of this rank's loss. */
void mica__optimize_given(mica_nn *nn, const mica__gradients *gradients, const mica_optimizer_config *config);

#endif
