/* runtime/host_step.h: host work between the launches of a recording. */
#ifndef MICA_RUNTIME_HOST_STEP_H
#define MICA_RUNTIME_HOST_STEP_H

#include <mica/tensor.h>
#include <stdbool.h>

/* Work on the host, in one go (run) or in two halves (begin and end; mica__op.begin states their contract). It reads
 * the elements of the inputs, which it must not change, and writes all elements of the outputs.
 *
 * Tensors are contiguous and may wrap placeholders. An empty tensor is passed to the functions as a pointer to no
 * elements. A tensor may be NULL, if the work needs only an operand's shape; the functions then get NULL. The pointers
 * are the same in every replay. */
typedef struct mica__host_call {
  const char *name; /* put before error messages and shown in profiles; must live as long as the engine */
  mica_status (*run)(void *user, const void *const *inputs, void *const *outputs);
  mica_status (*begin)(void *user, const void *const *inputs, void *const *outputs, mica_event *ready, void **pending);
  mica_status (*end)(void *user, void *pending, mica_status failed);
  const void *user; /* the functions get a copy of its first user_bytes bytes */
  size_t user_bytes;
  const mica_tensor *const *inputs;
  mica_tensor *const *outputs;
  int32_t input_count, output_count;
  int32_t number; /* chosen by the caller; mica__recorder_end_host_step finds the step by it */
} mica__host_call;

/* Adds the call after what is recorded so far. This function allocates all host memory that replays need.
 *
 * At this place, a replay waits until the inputs are on the host, calls run, and queues the uploads of the outputs;
 * later launches are queued after them. For a call with begin and end, a replay does not wait here: it only queues the
 * downloads of the inputs and calls begin. If run, begin or end fails, the replay ends with that status and queues
 * nothing further. */
mica_status mica__recorder_add_host_step(mica_queue *recorder, const mica__host_call *call);
/* Records that a replay, after what is recorded so far, calls `end` of the step with this number and queues the uploads
 * of its outputs. Does nothing if the call has no `end`, or if its `end` is already recorded.
 *
 * If this is never called for a step, the end of the replay calls its `end`. A replay that fails calls `end` of every
 * step that has begun. */
mica_status mica__recorder_end_host_step(mica_queue *recorder, int32_t number);

/* --- for the recording --- */

typedef struct mica__host_step mica__host_step;

mica_status mica__host_step_create(const mica__host_call *call, mica__host_step **step);
/* Runs the step: `run`, or only `begin` if the call has that. */
mica_status mica__host_step_run(mica__host_step *step, mica_queue *queue);
/* Calls `end`, waits for downloads that `begin` left in flight, and queues the uploads of the outputs unless something
 * has failed. `failed` is the replay's status so far. */
mica_status mica__host_step_end(mica__host_step *step, mica_queue *queue, mica_status failed);
/* True if `begin` has run and `end` has not. */
bool mica__host_step_is_begun(const mica__host_step *step);
bool mica__host_step_has_end(const mica__host_step *step);
int32_t mica__host_step_number(const mica__host_step *step);
/* Binds a placeholder; see mica__recording_bind. */
void mica__host_step_bind(mica__host_step *step, const mica_buffer *placeholder, const mica_tensor *tensor);
/* Replaces a placeholder; see mica__recording_give. */
void mica__host_step_give(mica__host_step *step, const mica_buffer *placeholder, mica_buffer *buffer);
void mica__host_step_destroy(mica__host_step *step);

#endif
