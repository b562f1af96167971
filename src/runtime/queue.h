/* runtime/queue.h: an engine's queues, as other files of the runtime see them. */
#ifndef MICA_RUNTIME_QUEUE_H
#define MICA_RUNTIME_QUEUE_H

#include "runtime/objects.h"

/* A stamp is a submission to a queue as one word, so that it can be exchanged atomically: the queue's id in the upper
 * bits, the submission's number in the lower ones. At a million submissions per second the numbers last half a year; a
 * late wrap-around only prevents reuse. */
#define MICA__STAMP_BITS 44
#define MICA__MAX_QUEUE_ID (((uint64_t)1 << (64 - MICA__STAMP_BITS)) - 1)

/* The stamp of the queue's next submission. */
uint64_t mica__queue_stamp(const mica_queue *queue);
/* True if the stamped work is known to be done, or must run before anything queued from now on. */
bool mica__stamp_is_done(mica_engine *engine, uint64_t stamp);

/* Makes a queue of the engine for the caller's `handle`, which is retained; if that is NULL, for a new one. */
mica_status mica__queue_create(mica_engine *engine, cl_command_queue handle, mica_queue **queue);

#endif
