/* runtime/queue.h: the queues of an engine, as the runtime's other files see them. */
#ifndef MICA_RUNTIME_QUEUE_H
#define MICA_RUNTIME_QUEUE_H

#include "runtime/objects.h"

/* A submission of a queue as one word, so that it can be exchanged in one step: the queue's id above, the submission's
 * number below. At a million submissions a second the number lasts half a year, and a late wrap-around costs reuse. */
#define MICA__STAMP_BITS 44
#define MICA__MAX_QUEUE_ID (((uint64_t)1 << (64 - MICA__STAMP_BITS)) - 1)

/* The stamp of what the queue is given next. */
uint64_t mica__queue_stamp(const mica_queue *queue);
/* True when the stamped work is known to be done, or must run before anything queued from now on. */
bool mica__stamp_is_done(mica_engine *engine, uint64_t stamp);

/* handle may be NULL: then a queue is made. */
mica_status mica__queue_create(mica_engine *engine, cl_command_queue handle, mica_queue **queue);

#endif
