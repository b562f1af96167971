/* tests/support/trained.h: a random network trained a few steps and asked for predictions, on the device in any way
 * that the compiler has, and on the host in double. */
#ifndef MICA_TESTS_SUPPORT_TRAINED_H
#define MICA_TESTS_SUPPORT_TRAINED_H

#include "support/random_network.h"

/* A tensor as it was after a step. */
typedef struct trained_tensor {
  char name[80]; /* "2 l0.weight": of step 2 */
  double *values;
  int64_t count;
  mica_dtype dtype;
} trained_tensor;

/* All that a run gave, step by step: outputs, then parameters with the optimiser's state; predictions. */
typedef struct trained {
  trained_tensor *tensors;
  size_t count;
  bool kinks;
} trained;

/* How a session is made. */
typedef struct trained_way {
  bool no_fusion, no_simplify;
  unsigned without; /* mica__compile_without */
} trained_way;

/* Trains on test_engine, the arena full of NaNs before every run. */
trained trained_on_device(const random_network *network, uint32_t data, const trained_way *way);
/* Trains in double, by the graph as it was built. With `rounding` values are rounded: to the nearest by 1, as larger
 * numbers draw (test_interpret_values). */
trained trained_on_host(const random_network *network, uint32_t data, uint32_t rounding);
/* In double by the steps of the plans that sessions make, in their memory (support/plan_run.h); without epilogues,
 * which have no reference on the host. */
trained trained_by_plan(const random_network *network, uint32_t data, const trained_way *way);
const trained_tensor *trained_find(const trained *run, const char *name);
void trained_free(trained *run);

#endif
