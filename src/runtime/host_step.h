/* runtime/host_step.h: work of the host between the launches of a recording. */
#ifndef MICA_RUNTIME_HOST_STEP_H
#define MICA_RUNTIME_HOST_STEP_H

#include <mica/tensor.h>
#include <stdbool.h>

/* What is done, in one go (run) or in two halves (begin and end, of whose contract mica__op.begin speaks): with the
 * elements of the inputs, which must not be changed, all those of the outputs are written. Tensors are contiguous and
 * may wrap placeholders. An empty one comes as a pointer to no element, NULL (an operand of which only the shape
 * matters) as NULL. The pointers are the same in every replay. */
typedef struct mica__host_call {
  const char *name; /* goes before the sentence of a failure, and into profiles; must stay as long as the engine */
  mica_status (*run)(void *user, const void *const *inputs, void *const *outputs);
  mica_status (*begin)(void *user, const void *const *inputs, void *const *outputs, mica_event *ready, void **pending);
  mica_status (*end)(void *user, void *pending, mica_status failed);
  const void *user; /* so many bytes of it are copied; the functions get the copy */
  size_t user_bytes;
  const mica_tensor *const *inputs;
  mica_tensor *const *outputs;
  int32_t input_count, output_count;
  int32_t number; /* the caller's, for mica__recording_host_step */
} mica__host_call;

/* Adds the call after what is recorded so far. A replay waits there until the inputs are on the host, calls run, and
 * queues the uploads of the outputs; what comes after is queued after them. Of two halves it queues the downloads of
 * the inputs and calls begin there, and waits for nothing. Host memory is allocated here. When run, begin or end fails
 * the replay ends with its status, and nothing that comes after is queued. */
mica_status mica__recorder_add_host_step(mica_queue *recorder, const mica__host_call *call);
/* A replay calls the end of the step with this number after what is recorded so far, and queues the uploads of the
 * outputs. One of which this is not said, or that has begun when a replay fails, is ended when the replay ends. Does
 * nothing for a step that has no end, or one already. */
mica_status mica__recorder_end_host_step(mica_queue *recorder, int32_t number);

/* --- for the recording --- */

typedef struct mica__host_step mica__host_step;

mica_status mica__host_step_create(const mica__host_call *call, mica__host_step **step);
/* All of it, or the first half. */
mica_status mica__host_step_run(mica__host_step *step, mica_queue *queue);
/* The second half, after which nothing of the first is in flight; `failed` is the replay's status so far. */
mica_status mica__host_step_end(mica__host_step *step, mica_queue *queue, mica_status failed);
/* True between the halves. */
bool mica__host_step_is_begun(const mica__host_step *step);
bool mica__host_step_has_end(const mica__host_step *step);
int32_t mica__host_step_number(const mica__host_step *step);
/* See mica__recording_bind. */
void mica__host_step_bind(mica__host_step *step, const mica_buffer *placeholder, const mica_tensor *tensor);
/* See mica__recording_give. */
void mica__host_step_give(mica__host_step *step, const mica_buffer *placeholder, mica_buffer *buffer);
void mica__host_step_destroy(mica__host_step *step);

#endif
