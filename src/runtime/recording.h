/* runtime/recording.h: launches with their arguments already set, which can be started repeatedly. */
#ifndef MICA_RUNTIME_RECORDING_H
#define MICA_RUNTIME_RECORDING_H

#include "runtime/launch.h"

typedef struct mica__recording mica__recording;

/* A recorder is a queue that records what is submitted to it; transfers on it fail with MICA_E_STATE. End it with
 * mica__recorder_end, not mica_queue_destroy. */
mica_status mica__recorder_create(mica_engine *engine, mica_queue **recorder);
/* Makes a recorder that stores no launches. Ops do on it everything that they do before a launch, such as compiling
 * kernels, but their workspace gets no memory. */
mica_status mica__dry_run_create(mica_engine *engine, mica_queue **recorder);
bool mica__recorder_is_dry_run(const mica_queue *recorder);
/* The number of launches recorded so far, and launch i. */
size_t mica__recorder_count(const mica_queue *recorder);
const mica__launch *mica__recorder_launch(const mica_queue *recorder, size_t i);

/* A position: the number of launches and host entries recorded so far. */
typedef struct mica__recorder_mark {
  size_t launches, host_entries;
} mica__recorder_mark;
mica__recorder_mark mica__recorder_position(const mica_queue *recorder);

/* From now on workspaces are placeholders, which get memory when the recording has ended. */
void mica__recorder_keep(mica_queue *recorder);
/* Ends mica__recorder_keep. Sets *kept to the *count placeholders made since then. The caller destroys them and frees
 * *kept. */
void mica__recorder_kept(mica_queue *recorder, mica_buffer ***kept, size_t *count);

/* Sets *counters to the buffer that mica__recorder_give_counters was called with, or to NULL
 * (mica__workspace_counters). Returns false, and *counters must not be used, between mica__recorder_keep and
 * mica__recorder_kept. */
bool mica__recorder_counters(const mica_queue *recorder, mica_buffer **counters);
/* Gives a buffer of counters to the recording, which retains it. */
void mica__recorder_give_counters(mica_queue *recorder, mica_buffer *counters);

/* Ends recording: destroys the recorder and returns its launches, which the caller owns. NULL gives NULL. */
mica__recording *mica__recorder_end(mica_queue *recorder);

/* Adds a launch that was submitted to the recorder. */
mica_status mica__recorder_add(mica_queue *recorder, const mica__launch *launch);
/* Gets workspace of at least this many bytes: idle or new or, after mica__recorder_keep, a placeholder. The caller gets
 * a reference to it, and the recording keeps one. */
mica_status mica__recorder_workspace(mica_queue *recorder, size_t bytes, mica_buffer **workspace);

/* Starts all launches and host steps in order. Allocates and compiles nothing. Waits only at host steps: until their
 * inputs are on the host or, if a step has a `begin`, in its `end` (host_step.h). Only one thread at a time may replay
 * a recording. */
mica_status mica__recording_replay(mica__recording *recording, mica_queue *queue);
/* Replays from one position to another. Host steps that begin in this part also end in it. */
mica_status mica__recording_replay_part(mica__recording *recording, mica_queue *queue, mica__recorder_mark from,
                                        mica__recorder_mark to);
size_t mica__recording_host_step_count(const mica__recording *recording);
/* An entry of the recording's list of host steps, which is in the order of running: a whole step, or its begin or
 * end. */
typedef struct mica__host_entry {
  int32_t number; /* the number that its caller gave the step */
  size_t launches_before;
  bool is_begin, is_end; /* both false for a step that only has `run` */
} mica__host_entry;
/* Gets entry i; false if there are no more. */
bool mica__recording_host_entry(const mica__recording *recording, size_t i, mica__host_entry *entry);
size_t mica__recording_count(const mica__recording *recording);
const mica__launch *mica__recording_at(const mica__recording *recording, size_t index);
/* Bytes of the workspace that the recording's launches share. */
size_t mica__recording_workspace(const mica__recording *recording);
/* Lets every launch and host step that refers to the placeholder use the tensor's memory, from its first element on,
 * until the next call. The tensor's memory is not retained: it must live until the replays that use it are queued.
 * Allocates nothing. */
mica_status mica__recording_bind(mica__recording *recording, const mica_buffer *placeholder, const mica_tensor *tensor);
/* Lets every launch and host step that refers to the placeholder use the buffer permanently; the recording retains
 * it. */
mica_status mica__recording_give(mica__recording *recording, const mica_buffer *placeholder, mica_buffer *buffer);
/* NULL is a no-op. */
void mica__recording_destroy(mica__recording *recording);

#endif
