/* runtime/workspace.h: memory that an op needs for itself.
 *
 * The content of new workspace is undefined. The op destroys its workspace after queueing its launches; the memory then
 * stays in use until these launches are done. On an ordinary queue, workspace comes from the engine's pool. On a
 * recorder, ops get the same memory one after the other, because the launches of a recording run in order; two
 * recordings never share workspace. In a dry run, workspace is a placeholder. */
#ifndef MICA_RUNTIME_WORKSPACE_H
#define MICA_RUNTIME_WORKSPACE_H

#include <mica/tensor.h>

mica_status mica__workspace_create(mica_queue *queue, size_t bytes, mica_buffer **workspace);
/* Gets a buffer of MICA__COUNTERS ints. They are 0 when a launch begins, and the launch must leave them 0. All launches
 * of a recording share one buffer. *counters is NULL between mica__recorder_keep and mica__recorder_kept: such launches
 * run once, and several sessions use their results. */
#define MICA__COUNTERS 16
mica_status mica__workspace_counters(mica_queue *queue, mica_buffer **counters);
/* Makes a contiguous tensor in new workspace. Destroying the tensor destroys the workspace. */
mica_status mica__workspace_tensor(mica_queue *queue, mica_dtype dtype, mica_shape shape, mica_tensor **workspace);

#endif
