/* runtime/recording.h: launches with their arguments already set, which can be started repeatedly. */
#ifndef MICA_RUNTIME_RECORDING_H
#define MICA_RUNTIME_RECORDING_H

#include "runtime/launch.h"

typedef struct mica__recording mica__recording;

/* A recorder is a queue that records what is submitted to it; transfers on it fail with MICA_E_STATE. End it with
 * mica__recorder_end, not mica_queue_destroy. */
mica_status mica__recorder_create(mica_engine *engine, mica_queue **recorder);
/* Makes a recorder that keeps nothing: ops do everything that precedes a launch, but their workspace gets no memory. */
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
/* Ends mica__recorder_keep. *kept: the *count placeholders made since; the caller destroys them and frees *kept. */
void mica__recorder_kept(mica_queue *recorder, mica_buffer ***kept, size_t *count);

/* False between mica__recorder_keep and mica__recorder_kept. Otherwise sets *counters to those that were given by
 * mica__recorder_give_counters, or NULL (mica__workspace_counters). */
bool mica__recorder_counters(const mica_queue *recorder, mica_buffer **counters);
/* Gives the recording counters, which it retains. */
void mica__recorder_give_counters(mica_queue *recorder, mica_buffer *counters);

/* Ends recording: destroys the recorder and returns its launches, which the caller owns. NULL gives NULL. */
mica__recording *mica__recorder_end(mica_queue *recorder);

/* Adds a launch that was submitted to the recorder. */
mica_status mica__recorder_add(mica_queue *recorder, const mica__launch *launch);
/* Gets idle workspace of this many bytes; the caller gets a handle on it, and the recording keeps one. */
mica_status mica__recorder_workspace(mica_queue *recorder, size_t bytes, mica_buffer **workspace);

/* Starts every launch in order. Allocates and builds nothing. Waits only for what host steps read between segments of
 * launches, or for their results if they have two halves (host_step.h); a recording without host steps is one segment.
 * One thread at a time. */
mica_status mica__recording_replay(mica__recording *recording, mica_queue *queue);
/* Replays from one position to another; host steps in two halves begin and end within that range. */
mica_status mica__recording_replay_part(mica__recording *recording, mica_queue *queue, mica__recorder_mark from,
                                        mica__recorder_mark to);
size_t mica__recording_host_step_count(const mica__recording *recording);
/* A host step or one of its halves, in running order. */
typedef struct mica__host_entry {
  int32_t number; /* the number that its caller gave the step */
  size_t launches_before;
  bool is_begin, is_end; /* both false: a step in one go */
} mica__host_entry;
/* Gets entry i; false if there are no more. */
bool mica__recording_host_entry(const mica__recording *recording, size_t i, mica__host_entry *entry);
size_t mica__recording_count(const mica__recording *recording);
const mica__launch *mica__recording_at(const mica__recording *recording, size_t index);
/* Bytes of the workspace that its launches share. */
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
