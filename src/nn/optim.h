/* nn/optim.h: an optimiser of gradients that others have made. */
#ifndef MICA_NN_OPTIM_H
#define MICA_NN_OPTIM_H

#include <mica/optim.h>

typedef struct mica__gradients {
  const mica_value *values; /* of the weights to be trained, in the order in which they were made */
  /* The network is a part of one that is divided among these ranks: its norms are of all parts. NULL: it is whole. */
  mica_communicator *parts;
  const bool *elsewhere; /* by value: another part has this weight too, and counts it in the norm */
} mica__gradients;

/* mica_optimize without a loss. The gradients are this rank's, as those of its loss would be. */
void mica__optimize_given(mica_nn *nn, const mica__gradients *gradients, const mica_optimizer_config *config);

#endif
