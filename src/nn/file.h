/* nn/file.h: weights and state of networks in safetensors files. */
#ifndef MICA_NN_FILE_H
#define MICA_NN_FILE_H

#include "nn/weights.h"

#include <mica/nn.h>

/* Which tensors to read from a file. WEIGHTS: the network without the optimiser's state. WHOLE: everything, except
 * weights that never change (mica_nn_held.frozen). AVERAGES: the network, but a weight that has a moving average
 * receives that average. OPTIMISER: only the optimiser's state. */
typedef enum mica__nn_extent {
  MICA__NN_WEIGHTS,
  MICA__NN_WHOLE,
  MICA__NN_AVERAGES,
  MICA__NN_OPTIMISER
} mica__nn_extent;

/* Adds the network's parameters in the session to `parts`: weights and state if `network`, the optimiser's state if
 * `optimiser`. With `optimiser`, leaves out weights that never change (mica_nn_held.frozen). Waits until they are on
 * the host. */
mica_status mica__nn_collect(const mica_nn *nn, mica_session *session, bool network, bool optimiser,
                             mica__weights *parts);
/* Compares the session's parameters with the file's tensors. MICA_E_FORMAT: a tensor is missing, or has another shape
 * or dtype. A tensor of f16 or bf16 is accepted for an f32 parameter. `path` is for the message. */
mica_status mica__nn_compare(const mica_nn *nn, mica_session *session, mica__nn_extent which, const char *path,
                             const mica_safetensors *file);
/* Fills the session's parameters from the file. If any tensor does not match, fails before it changes a parameter.
 * *missing receives the number of parameters that the file lacks; these keep their values. If missing is NULL, the file
 * must have all. */
mica_status mica__nn_fill(const mica_nn *nn, mica_session *session, mica__nn_extent which, const char *path,
                          const mica_safetensors *file, size_t *missing);

#endif
