/* runtime/host_step.h: host work between the launches of a recording. */
#ifndef MICA_RUNTIME_HOST_STEP_H
#define MICA_RUNTIME_HOST_STEP_H

#include <mica/tensor.h>
#include <stdbool.h>

/* Work on the host, in one go (run) or in two halves (begin and end; mica__op.begin states their contract). It reads
 * the elements of the inputs, which it must not change, and writes all elements of the outputs. Tensors are contiguous
 * and may wrap placeholders. An empty tensor is passed as a pointer to no elements; NULL (an operand whose shape alone
 * matters) is passed as NULL. The pointers are the same in every replay. */
typedef struct mica__host_call {
  const char *name; /* precedes messages of failures, and is used in profiles; must live as long as the engine */
  mica_status (*run)(void *user, const void *const *inputs, void *const *outputs);
  mica_status (*begin)(void *user, const void *const *inputs, void *const *outputs, mica_event *ready, void **pending);
  mica_status (*end)(void *user, void *pending, mica_status failed);
  const void *user; /* user_bytes of it are copied; the functions get the copy */
  size_t user_bytes;
  const mica_tensor *const *inputs;
  mica_tensor *const *outputs;
  int32_t input_count, output_count;
  int32_t number; /* the caller's, for mica__recording_host_step */
} mica__host_call;

/* Adds the call after what is recorded so far. A replay waits there until the inputs are on the host, calls run, and
 * queues the uploads of the outputs; later launches are queued after them. With two halves, it only queues the
 * downloads of the inputs and calls begin there, without waiting. Host memory is allocated by this call. If run, begin
 * or end fails, the replay ends with its status and queues nothing further. */
mica_status mica__recorder_add_host_step(mica_queue *recorder, const mica__host_call *call);
/* Lets a replay call the end of the step with this number after what is recorded so far, and queue the uploads of the
 * outputs. A step for which this is not called, or which has begun when a replay fails, is ended at the end of the
 * replay. Does nothing if the step has no second half, or its end is already recorded. */
mica_status mica__recorder_end_host_step(mica_queue *recorder, int32_t number);

/* --- for the recording --- */

typedef struct mica__host_step mica__host_step;

mica_status mica__host_step_create(const mica__host_call *call, mica__host_step **step);
/* Runs the whole step, or its first half. */
mica_status mica__host_step_run(mica__host_step *step, mica_queue *queue);
/* Runs the second half. Afterwards no work of the first half is in flight. `failed` is the replay's status so far. */
mica_status mica__host_step_end(mica__host_step *step, mica_queue *queue, mica_status failed);
/* True between the halves. */
bool mica__host_step_is_begun(const mica__host_step *step);
bool mica__host_step_has_end(const mica__host_step *step);
int32_t mica__host_step_number(const mica__host_step *step);
/* Binds a placeholder; see mica__recording_bind. */
void mica__host_step_bind(mica__host_step *step, const mica_buffer *placeholder, const mica_tensor *tensor);
/* Replaces a placeholder; see mica__recording_give. */
void mica__host_step_give(mica__host_step *step, const mica_buffer *placeholder, mica_buffer *buffer);
void mica__host_step_destroy(mica__host_step *step);

#endif
