/* runtime/queue.h: an engine's queues, as other files of the runtime see them. */
#ifndef MICA_RUNTIME_QUEUE_H
#define MICA_RUNTIME_QUEUE_H

#include "runtime/objects.h"

/* A stamp identifies one submission to one queue in a single word, so that it can be exchanged atomically. The upper
 * bits are the queue's id, the lower MICA__STAMP_BITS bits the submission's number. At a million submissions per
 * second, these numbers last half a year. */
#define MICA__STAMP_BITS 44
#define MICA__MAX_QUEUE_ID (((uint64_t)1 << (64 - MICA__STAMP_BITS)) - 1)

/* The stamp of the queue's next submission. */
uint64_t mica__queue_stamp(const mica_queue *queue);
/* True if the stamped work is known to be done, or must run before anything queued from now on. */
bool mica__stamp_is_done(mica_engine *engine, uint64_t stamp);

/* Makes a queue of the engine. `handle` is an OpenCL queue of the caller's, which is retained; if it is NULL, a new one
 * is made. */
mica_status mica__queue_create(mica_engine *engine, cl_command_queue handle, mica_queue **queue);

#endif
