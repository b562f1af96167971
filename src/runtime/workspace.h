/* runtime/workspace.h: memory that an op needs for itself.
 *
 * The content of new workspace is undefined. The op destroys its workspace after queueing its launches; the memory then
 * stays in use until these launches are done. On an ordinary queue, workspace comes from the engine's pool. On a
 * recorder, memory that one op has destroyed is given to later ops of the same recording, because its launches run in
 * order; two recordings never share workspace. In a dry run, and after mica__recorder_keep, workspace is a
 * placeholder. */
#ifndef MICA_RUNTIME_WORKSPACE_H
#define MICA_RUNTIME_WORKSPACE_H

#include <mica/tensor.h>

mica_status mica__workspace_create(mica_queue *queue, size_t bytes, mica_buffer **workspace);
/* Gets a buffer of MICA__COUNTERS ints. They are 0 when a launch begins, and the launch must leave them 0. All launches
 * of a recording share one buffer. *counters is NULL between mica__recorder_keep and mica__recorder_kept, because such
 * launches run once for several sessions; the op must then do without counters. */
#define MICA__COUNTERS 16
mica_status mica__workspace_counters(mica_queue *queue, mica_buffer **counters);
/* Makes a contiguous tensor in new workspace. Destroying the tensor destroys the workspace. */
mica_status mica__workspace_tensor(mica_queue *queue, mica_dtype dtype, mica_shape shape, mica_tensor **workspace);

#endif
