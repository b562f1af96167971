/* runtime/workspace.h: memory that an op needs for itself.
 *
 * It is in flight as long as the op's launches are; the op destroys it when they are queued. Its content is undefined.
 * On an ordinary queue it comes from the engine's pool. A recorder hands the same memory to one op after the other,
 * since its launches run in order, but not what another recording names too; a dry run hands out placeholders. */
#ifndef MICA_RUNTIME_WORKSPACE_H
#define MICA_RUNTIME_WORKSPACE_H

#include <mica/tensor.h>

mica_status mica__workspace_create(mica_queue *queue, size_t bytes, mica_buffer **workspace);
/* MICA__COUNTERS ints that are 0 when a launch begins; it must leave them as 0. Memory of a recording's counters serves
 * all its launches. *counters is NULL where launches are recorded to be run once for several sessions. */
#define MICA__COUNTERS 16
mica_status mica__workspace_counters(mica_queue *queue, mica_buffer **counters);
/* A contiguous tensor in a workspace that it alone holds. */
mica_status mica__workspace_tensor(mica_queue *queue, mica_dtype dtype, mica_shape shape, mica_tensor **workspace);

#endif
