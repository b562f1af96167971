#include "runtime/queue.h"

#include "base/error.h"
#include "runtime/lost.h"
#include "runtime/program.h"

#include <mica/opencl.h>
#include <stdlib.h>

/* Checks that the caller's queue is on the engine's context and device. */
static mica_status check_owner(mica_engine *engine, cl_command_queue handle) {
  cl_context context = NULL;
  cl_device_id device = NULL;
  const mica__cl_api *api = engine->api;
  MICA_TRY(mica__engine_check(engine,
                              api->GetCommandQueueInfo(handle, CL_QUEUE_CONTEXT, sizeof context, &context, NULL),
                              "asking a queue for its context"));
  MICA_TRY(mica__engine_check(engine, api->GetCommandQueueInfo(handle, CL_QUEUE_DEVICE, sizeof device, &device, NULL),
                              "asking a queue for its device"));
  if (context != engine->context || device != engine->device.id)
    return mica__fail(MICA_E_INVALID, "the queue given to the engine belongs to another context or device");
  return MICA_OK;
}

/* Sets the queue's handle: the caller's, if the engine can use it, or a new one. Mica's own queues can always be
 * profiled: the property costs nothing until events are requested. */
static mica_status open_handle(mica_queue *queue, cl_command_queue handle) {
  const mica__cl_api *api = queue->engine->api;
  cl_command_queue_properties properties = CL_QUEUE_PROFILING_ENABLE;
  if (handle) {
    MICA_TRY(check_owner(queue->engine, handle));
    MICA_TRY(mica__engine_check(
        queue->engine, api->GetCommandQueueInfo(handle, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL),
        "asking a queue"));
    if (properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
      return mica__fail(MICA_E_INVALID,
                        "the queue given to the engine executes out of order, but must execute in order");
    MICA_TRY(mica__engine_check(queue->engine, api->RetainCommandQueue(handle), "retaining a queue"));
  } else {
    cl_int error = CL_SUCCESS;
    handle = api->CreateCommandQueue(queue->engine->context, queue->engine->device.id, properties, &error);
    if (!handle) return mica__engine_check(queue->engine, error ? error : CL_OUT_OF_RESOURCES, "making a queue");
  }
  queue->handle = handle;
  queue->can_profile = (properties & CL_QUEUE_PROFILING_ENABLE) != 0;
  return MICA_OK;
}

mica_status mica__queue_create(mica_engine *engine, cl_command_queue handle, mica_queue **out) {
  mica_queue *queue = calloc(1, sizeof *queue);
  if (!queue) return mica__fail_nomem("a queue");
  queue->engine = engine;
  if (pthread_mutex_init(&queue->lock, NULL)) {
    free(queue);
    return mica__fail_nomem("a lock");
  }
  mica_status status = open_handle(queue, handle);
  if (status != MICA_OK) {
    pthread_mutex_destroy(&queue->lock);
    free(queue);
    return status;
  }
  pthread_mutex_lock(&engine->lock);
  bool numbered = engine->next_queue_id < MICA__MAX_QUEUE_ID;
  if (numbered) {
    queue->id = ++engine->next_queue_id;
    queue->next = engine->queues;
    engine->queues = queue;
    engine->queue_count++;
  }
  pthread_mutex_unlock(&engine->lock);
  if (!numbered)
    status =
        mica__fail(MICA_E_OVERFLOW, "an engine can make at most %llu queues", (unsigned long long)MICA__MAX_QUEUE_ID);
  /* While the engine had one queue, the pool reused blocks that work in flight still uses, relying on the queue's
   * order. A second queue does not keep that order, so this work must end first. */
  if (status == MICA_OK && engine->queue)
    status = mica__engine_check(engine, engine->api->Finish(engine->queue->handle), "waiting for the engine's queue");
  if (status == MICA_OK)
    *out = queue;
  else
    mica_queue_destroy(queue);
  return status;
}

mica_status mica_queue_create(mica_engine *engine, mica_queue **queue) {
  if (!engine || !queue) return mica__fail(MICA_E_INVALID, "mica_queue_create: a pointer is NULL");
  return mica__queue_create(engine, NULL, queue);
}

static void release_staging(mica_queue *queue) {
  const mica__cl_api *api = queue->engine->api;
  for (int i = 0; i < MICA__STAGING_COUNT; i++) {
    mica__staging *s = &queue->staging[i];
    if (s->pending) api->ReleaseEvent(s->pending);
    if (s->host) api->EnqueueUnmapMemObject(queue->handle, s->memory, s->host, 0, NULL, NULL);
    if (s->memory) api->ReleaseMemObject(s->memory);
  }
}

void mica_queue_destroy(mica_queue *queue) {
  if (!queue) return;
  mica_engine *engine = queue->engine;
  mica__attempt_begin();
  mica_status status = mica_queue_finish(queue);
  if (status != MICA_OK && status != MICA_E_DEVICE_LOST) mica__log(MICA_LOG_LEVEL_ERROR, "%s", mica_error_message());
  mica__attempt_end();
  release_staging(queue);
  engine->api->Finish(queue->handle);
  pthread_mutex_lock(&engine->lock);
  for (mica_queue **at = &engine->queues; *at; at = &(*at)->next)
    if (*at == queue) {
      *at = queue->next;
      engine->queue_count--;
      break;
    }
  pthread_mutex_unlock(&engine->lock);
  engine->api->ReleaseCommandQueue(queue->handle);
  pthread_mutex_destroy(&queue->lock);
  free(queue);
}

static mica_status check_real(const mica_queue *queue, const char *what) {
  if (!queue) return mica__fail(MICA_E_INVALID, "%s: queue is NULL", what);
  if (!queue->handle)
    return mica__fail(MICA_E_STATE,
                      "%s: the queue records launches for a session, and has no work to start or wait for", what);
  return MICA_OK;
}

mica_status mica_queue_flush(mica_queue *queue) {
  MICA_TRY(check_real(queue, "mica_queue_flush"));
  return mica__engine_check(queue->engine, queue->engine->api->Flush(queue->handle), "flushing a queue");
}

mica_status mica_queue_finish(mica_queue *queue) {
  MICA_TRY(check_real(queue, "mica_queue_finish"));
  mica_engine *engine = queue->engine;
  /* Work counted in `submitted` has been queued, so the wait includes it. Other threads may queue more during the
   * wait. */
  pthread_mutex_lock(&queue->lock);
  uint64_t submitted = atomic_load(&queue->submitted);
  pthread_mutex_unlock(&queue->lock);
  atomic_fetch_add(&engine->stats.host_waits, 1);
  MICA_TRY(mica__engine_check(engine, engine->api->Finish(queue->handle), "waiting for a queue"));
  pthread_mutex_lock(&queue->lock);
  if (atomic_load(&queue->finished) < submitted) atomic_store(&queue->finished, submitted);
  pthread_mutex_unlock(&queue->lock);
  mica__programs_store(engine);
  return MICA_OK;
}

uint64_t mica__queue_stamp(const mica_queue *queue) {
  uint64_t number = (atomic_load(&queue->submitted) + 1) & (((uint64_t)1 << MICA__STAMP_BITS) - 1);
  return queue->id << MICA__STAMP_BITS | number;
}

bool mica__stamp_is_done(mica_engine *engine, uint64_t stamp) {
  if (stamp == 0) return true;
  uint64_t id = stamp >> MICA__STAMP_BITS, number = stamp & (((uint64_t)1 << MICA__STAMP_BITS) - 1);
  pthread_mutex_lock(&engine->lock);
  /* With a single in-order queue later work runs after earlier work anyway; mica__queue_create waits when a second
   * queue is made. A queue that no longer exists has finished its work. */
  bool finished = true;
  if (engine->queue_count > 1)
    for (const mica_queue *q = engine->queues; q; q = q->next)
      if (q->id == id) finished = atomic_load(&q->finished) >= number;
  pthread_mutex_unlock(&engine->lock);
  return finished;
}

cl_command_queue mica_queue_opencl(const mica_queue *queue) { return queue->handle; }
