/* nn/optim.h: an optimiser for given gradients. */
#ifndef MICA_NN_OPTIM_H
#define MICA_NN_OPTIM_H

#include <mica/optim.h>

typedef struct mica__gradients {
  const mica_value *values; /* of the weights to train, in order of creation */
  /* The ranks that have the other stages of a pipeline. Squared norms of gradients are summed over all of them. NULL:
   * this network is not a stage. */
  mica_communicator *parts;
  const bool *elsewhere; /* per value: another stage has this weight too, and that stage counts it in norms; NULL: none
                          * is shared */
} mica__gradients;

/* mica_optimize with given gradients instead of a loss. They are gradients of this rank's loss. */
void mica__optimize_given(mica_nn *nn, const mica__gradients *gradients, const mica_optimizer_config *config);

#endif
