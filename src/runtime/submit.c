/* Starts a launch at once, or adds it to a recording. */
#include "base/error.h"
#include "runtime/enqueue.h"
#include "runtime/kernel_table.h"
#include "runtime/recording.h"

mica_engine *mica__queue_engine(const mica_queue *queue) { return queue->engine; }

bool mica__queue_records(const mica_queue *queue) { return queue->recording != NULL; }

uint64_t mica__queue_id(const mica_queue *queue) { return queue->id; }

mica_status mica__queue_submit(mica_queue *queue, const mica__launch *launch) {
  MICA_TRY(mica__launch_check(queue->engine, launch));
  if (mica__launch_is_empty(launch)) return MICA_OK;
  if (queue->recording) return mica__recorder_add(queue, launch);
  mica__kernel *kernel = launch->kernel;
  pthread_mutex_lock(&kernel->lock);
  mica_status status = mica__launch_set_args(queue->engine, kernel->handle, launch);
  if (status == MICA_OK) status = mica__launch_enqueue(queue, kernel->handle, launch);
  if (status == MICA_OK) mica__kernel_ran(kernel, launch->local);
  pthread_mutex_unlock(&kernel->lock);
  /* Counts a change of each buffer, because the launch may write any of them. */
  for (uint32_t i = 0; i < launch->arg_count; i++)
    if (launch->args[i].kind == MICA__ARG_BUFFER && launch->args[i].value.buffer)
      atomic_fetch_add(&launch->args[i].value.buffer->changes, 1);
  return status;
}
