/* runtime/host_step.h: work of the host between the launches of a recording. */
#ifndef MICA_RUNTIME_HOST_STEP_H
#define MICA_RUNTIME_HOST_STEP_H

#include <mica/tensor.h>

/* What is done: run gets the elements of the inputs, which it must not change, and writes all those of the outputs.
 * Tensors are contiguous and may wrap placeholders. An empty one comes as a pointer to no element, NULL (an operand of
 * which only the shape matters) as NULL. */
typedef struct mica__host_call {
  const char *name; /* goes before the sentence of a failure; must stay as long as the recording */
  mica_status (*run)(const void *user, const void *const *inputs, void *const *outputs);
  const void *user; /* so many bytes of it are copied */
  size_t user_bytes;
  const mica_tensor *const *inputs;
  mica_tensor *const *outputs;
  int32_t input_count, output_count;
  int32_t number; /* the caller's, for mica__recording_host_step */
} mica__host_call;

/* Adds the call behind what is recorded so far. A replay waits there until the inputs are on the host, calls run, and
 * queues the uploads of the outputs; what comes after is queued behind them. Host memory is allocated here. When run
 * fails the replay ends with its status, and nothing that comes after is queued. */
mica_status mica__recorder_add_host_step(mica_queue *recorder, const mica__host_call *call);

/* --- for the recording --- */

typedef struct mica__host_step mica__host_step;

mica_status mica__host_step_create(const mica__host_call *call, mica__host_step **step);
mica_status mica__host_step_run(mica__host_step *step, mica_queue *queue);
int32_t mica__host_step_number(const mica__host_step *step);
/* See mica__recording_bind. */
void mica__host_step_bind(mica__host_step *step, const mica_buffer *placeholder, const mica_tensor *tensor);
void mica__host_step_destroy(mica__host_step *step);

#endif
