/* run/predict/once.h: computes the output of a separate graph with the weights of a run. */
#ifndef MICA_RUN_PREDICT_ONCE_H
#define MICA_RUN_PREDICT_ONCE_H

#include "base/error.h"

#include <mica/run.h>

typedef struct mica__once_input {
  const char *name;
  mica_dtype dtype;
  mica_shape shape;
  const void *data;
} mica__once_input;

/* Builds the output from the inputs, which are in the order of the list; a null value if the graph has failed. */
typedef mica_value mica__once_fn(mica_nn *nn, const mica_run *run, const mica_value *inputs, void *user);

/* The most inputs of such a graph. */
#define MICA__ONCE_INPUTS 8
/* Builds a graph, runs it and downloads its output, f32, to `output`, which has room for `count` numbers. Layers are
 * built as those of the run's network of tests, whose weights they share by name. Blocks. */
mica_status mica__run_once(mica_run *run, const mica__once_input *inputs, size_t inputs_count, mica__once_fn *build,
                           void *user, float *output, int64_t count);

#endif
