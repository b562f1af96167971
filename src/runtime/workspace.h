/* runtime/workspace.h: memory that an op needs for itself.
 *
 * Workspace is in use as long as the op's launches are in flight; the op destroys it when they are queued. Its content
 * is undefined. On an ordinary queue it comes from the engine's pool. A recorder gives the same memory to one op after
 * the other, because its launches run in order, but not memory that another recording refers to. A dry run gives
 * placeholders. */
#ifndef MICA_RUNTIME_WORKSPACE_H
#define MICA_RUNTIME_WORKSPACE_H

#include <mica/tensor.h>

mica_status mica__workspace_create(mica_queue *queue, size_t bytes, mica_buffer **workspace);
/* MICA__COUNTERS ints that are 0 when a launch begins, and that the launch must leave as 0. One set of counters serves
 * all launches of a recording. *counters is NULL if launches are recorded to be run once for several sessions. */
#define MICA__COUNTERS 16
mica_status mica__workspace_counters(mica_queue *queue, mica_buffer **counters);
/* Makes a contiguous tensor that is the only owner of its workspace. */
mica_status mica__workspace_tensor(mica_queue *queue, mica_dtype dtype, mica_shape shape, mica_tensor **workspace);

#endif
