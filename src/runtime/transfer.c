/* Uploads, downloads, fills and maps of tensors, and events. */
#include "base/element.h"
#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/lost.h"
#include "runtime/program.h"
#include "runtime/tensor.h"

#include <stdlib.h>
#include <string.h>

static size_t first_byte(const mica_tensor *tensor) { return (size_t)tensor->first * mica_dtype_size(tensor->dtype); }

static mica_status check_transfer(const mica_queue *queue, const mica_tensor *tensor, const void *data, size_t bytes,
                                  const char *what) {
  char text[MICA_SHAPE_TEXT];
  if (!queue || !tensor || (!data && bytes)) return mica__fail(MICA_E_INVALID, "%s: a pointer is NULL", what);
  if (!queue->handle)
    return mica__fail(MICA_E_STATE, "%s: the queue records launches for a session, and cannot copy data", what);
  if (tensor->buffer->engine != queue->engine)
    return mica__fail(MICA_E_INVALID, "%s: the tensor %s does not belong to the queue's engine", what,
                      mica_shape_format(tensor->shape, text));
  if (!tensor->contiguous)
    return mica__fail(MICA_E_INVALID, "%s: the tensor %s is not contiguous", what,
                      mica_shape_format(tensor->shape, text));
  if (bytes != mica_tensor_bytes(tensor))
    return mica__fail(MICA_E_INVALID, "%s: %zu bytes were given for a tensor %s of %zu bytes", what, bytes,
                      mica_shape_format(tensor->shape, text), mica_tensor_bytes(tensor));
  return MICA_OK;
}

static void count_submission(mica_queue *queue, const mica_tensor *tensor) {
  mica__buffer_use(tensor->buffer, queue);
  atomic_fetch_add(&queue->submitted, 1);
}

/* Counts a submission that writes to the tensor. */
static void count_writing(mica_queue *queue, const mica_tensor *tensor) {
  count_submission(queue, tensor);
  mica__tensor_changed(tensor);
}

/* Counts a wait of the host, and records that all submissions so far are finished. Called after a blocking command. The
 * caller must have held the queue's lock since it counted that command. */
static void count_wait(mica_queue *queue) {
  atomic_fetch_add(&queue->engine->stats.host_waits, 1);
  atomic_store(&queue->finished, atomic_load(&queue->submitted));
}

/* Gets the next piece of pinned memory; the pieces are used in turn. Waits if an upload from this piece is still in
 * flight. Fails if that upload has failed. */
static mica_status take_staging(mica_queue *queue, mica__staging **out) {
  mica_engine *engine = queue->engine;
  const mica__cl_api *api = engine->api;
  mica__staging *s = &queue->staging[queue->next_staging];
  cl_int error = CL_SUCCESS;
  if (!s->memory) {
    s->memory = api->CreateBuffer(engine->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, MICA__STAGING_BYTES, NULL,
                                  &error);
    if (!s->memory) return mica__engine_check(engine, error ? error : CL_OUT_OF_RESOURCES, "making staging memory");
    atomic_fetch_add(&engine->stats.allocations, 1);
  }
  if (!s->host) {
    s->host = api->EnqueueMapBuffer(queue->handle, s->memory, CL_TRUE, CL_MAP_WRITE, 0, MICA__STAGING_BYTES, 0, NULL,
                                    NULL, &error);
    if (!s->host) return mica__engine_check(engine, error ? error : CL_MAP_FAILURE, "mapping staging memory");
  }
  if (s->pending) {
    cl_int state = CL_QUEUED;
    MICA_TRY(mica__engine_check(
        engine, api->GetEventInfo(s->pending, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
        "asking whether an upload is done"));
    if (state > CL_COMPLETE) {
      atomic_fetch_add(&engine->stats.host_waits, 1);
      MICA_TRY(mica__engine_check(engine, api->WaitForEvents(1, &s->pending), "waiting for an upload"));
    }
    api->ReleaseEvent(s->pending);
    s->pending = NULL;
    /* The failure is reported once; the piece itself is free again. */
    if (state < 0) return mica__engine_check(engine, state, "an earlier upload failed");
  }
  queue->next_staging = (queue->next_staging + 1) % MICA__STAGING_COUNT;
  *out = s;
  return MICA_OK;
}

static mica_status upload_staged(mica_queue *queue, mica_tensor *tensor, const char *data, size_t bytes) {
  for (size_t at = 0; at < bytes;) {
    size_t piece = bytes - at < MICA__STAGING_BYTES ? bytes - at : MICA__STAGING_BYTES;
    mica__staging *s = NULL;
    MICA_TRY(take_staging(queue, &s));
    /* If take_staging returns MICA_OK, it has set s: mica__engine_check fails for every OpenCL error.
     * NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
    memcpy(s->host, data + at, piece);
    MICA_TRY(mica__engine_check(queue->engine,
                                queue->engine->api->EnqueueWriteBuffer(queue->handle, tensor->buffer->memory, CL_FALSE,
                                                                       first_byte(tensor) + at, piece, s->host, 0, NULL,
                                                                       &s->pending),
                                "uploading"));
    count_writing(queue, tensor);
    atomic_fetch_add(&queue->engine->stats.bytes_uploaded, piece);
    at += piece;
  }
  return MICA_OK;
}

static mica_status upload(mica_queue *queue, mica_tensor *tensor, const void *data, size_t bytes) {
  mica_engine *engine = queue->engine;
  bool idle = atomic_load(&queue->finished) == atomic_load(&queue->submitted);
  if (!idle || !engine->device.info.unified_memory) return upload_staged(queue, tensor, data, bytes);
  /* Device and host share memory and nothing is in flight, so copying directly to the destination waits hardly at
   * all. */
  count_writing(queue, tensor);
  MICA_TRY(mica__engine_check(engine,
                              engine->api->EnqueueWriteBuffer(queue->handle, tensor->buffer->memory, CL_TRUE,
                                                              first_byte(tensor), bytes, data, 0, NULL, NULL),
                              "uploading"));
  count_wait(queue);
  atomic_fetch_add(&engine->stats.bytes_uploaded, bytes);
  return MICA_OK;
}

/* Uploads bools that have bytes other than 0 and 1: makes a copy in which these bytes are 1, and uploads that. */
static mica_status upload_truths(mica_queue *queue, mica_tensor *tensor, const void *data, size_t bytes) {
  void *truths = malloc(bytes);
  if (!truths) return mica__fail_nomem("an upload");
  memcpy(truths, data, bytes);
  mica__bools_from(truths, bytes);
  mica_status status = upload(queue, tensor, truths, bytes);
  free(truths);
  return status;
}

mica_status mica_tensor_upload(mica_queue *queue, mica_tensor *tensor, const void *data, size_t bytes) {
  MICA_TRY(check_transfer(queue, tensor, data, bytes, "mica_tensor_upload"));
  MICA_TRY(mica__tensor_check_writable(tensor, "mica_tensor_upload", "the tensor"));
  if (bytes == 0) return MICA_OK;
  pthread_mutex_lock(&queue->lock);
  bool truths = tensor->dtype != MICA_BOOL || mica__bools_are(data, bytes);
  mica_status status = truths ? upload(queue, tensor, data, bytes) : upload_truths(queue, tensor, data, bytes);
  pthread_mutex_unlock(&queue->lock);
  return status;
}

mica_status mica__tensor_fill(mica_queue *queue, mica_tensor *tensor, const void *element) {
  size_t bytes = mica_tensor_bytes(tensor);
  MICA_TRY(check_transfer(queue, tensor, element, bytes, "filling"));
  MICA_TRY(mica__tensor_check_writable(tensor, "filling", "the tensor"));
  if (bytes == 0) return MICA_OK;
  pthread_mutex_lock(&queue->lock);
  count_writing(queue, tensor);
  cl_int error =
      queue->engine->api->EnqueueFillBuffer(queue->handle, tensor->buffer->memory, element,
                                            mica_dtype_size(tensor->dtype), first_byte(tensor), bytes, 0, NULL, NULL);
  pthread_mutex_unlock(&queue->lock);
  return mica__engine_check(queue->engine, error, "filling");
}

mica_status mica_tensor_create_from(mica_engine *engine, mica_dtype dtype, mica_shape shape, const void *data,
                                    mica_tensor **out) {
  if (!out) return mica__fail(MICA_E_INVALID, "mica_tensor_create_from: tensor is NULL");
  mica_tensor *tensor = NULL;
  MICA_TRY(mica_tensor_create(engine, dtype, shape, &tensor));
  mica_status status = mica_tensor_upload(engine->queue, tensor, data, mica_tensor_bytes(tensor));
  if (status == MICA_OK) status = mica_queue_finish(engine->queue);
  if (status == MICA_OK)
    *out = tensor;
  else
    mica_tensor_destroy(tensor);
  return status;
}

mica_status mica_tensor_download(mica_queue *queue, const mica_tensor *tensor, void *data, size_t bytes) {
  MICA_TRY(check_transfer(queue, tensor, data, bytes, "mica_tensor_download"));
  if (bytes == 0) return MICA_OK;
  mica_engine *engine = queue->engine;
  pthread_mutex_lock(&queue->lock);
  count_submission(queue, tensor);
  cl_int error = engine->api->EnqueueReadBuffer(queue->handle, tensor->buffer->memory, CL_TRUE, first_byte(tensor),
                                                bytes, data, 0, NULL, NULL);
  if (error == CL_SUCCESS) count_wait(queue);
  pthread_mutex_unlock(&queue->lock);
  MICA_TRY(mica__engine_check(engine, error, "downloading"));
  atomic_fetch_add(&engine->stats.bytes_downloaded, bytes);
  mica__programs_store(engine);
  return MICA_OK;
}

/* Makes an event whose command is not queued yet. */
static mica_status event_create(mica_queue *queue, mica_event **out) {
  mica_event *event = calloc(1, sizeof *event);
  if (!event) return mica__fail_nomem("an event");
  event->engine = queue->engine;
  *out = event;
  return MICA_OK;
}

/* If status is MICA_OK, starts the event's command, if it has one, and returns the event in *out. If status is an
 * error, or if starting fails, destroys the event and returns the error.
 *
 * The command is started by flushing the queue, because neither a test whether the event is done nor a wait for it in
 * another queue would start it. If flushing fails, this waits for the queue, because the caller gets no event to wait
 * for and may free its memory at once. */
static mica_status event_start(mica_queue *queue, mica_event *event, mica_status status, mica_event **out) {
  if (status == MICA_OK && event->handle) {
    status = mica__engine_check(queue->engine, queue->engine->api->Flush(queue->handle), "starting a queue");
    if (status != MICA_OK) queue->engine->api->Finish(queue->handle);
  }
  if (status == MICA_OK)
    *out = event;
  else
    mica_event_destroy(event);
  return status;
}

void mica__event_clear(mica_event *event) {
  if (event->handle) event->engine->api->ReleaseEvent(event->handle);
  event->handle = NULL;
}

/* Queues a download without waiting for it. */
static mica_status download_start(mica_queue *queue, const mica_tensor *tensor, void *data, size_t bytes,
                                  cl_event *handle) {
  pthread_mutex_lock(&queue->lock);
  cl_int error = queue->engine->api->EnqueueReadBuffer(queue->handle, tensor->buffer->memory, CL_FALSE,
                                                       first_byte(tensor), bytes, data, 0, NULL, handle);
  if (error == CL_SUCCESS) count_submission(queue, tensor);
  pthread_mutex_unlock(&queue->lock);
  MICA_TRY(mica__engine_check(queue->engine, error, "downloading"));
  atomic_fetch_add(&queue->engine->stats.bytes_downloaded, bytes);
  return MICA_OK;
}

mica_status mica__tensor_download_begin(mica_queue *queue, const mica_tensor *tensor, void *data, mica_event *event) {
  cl_event handle = NULL;
  size_t bytes = mica_tensor_bytes(tensor);
  MICA_TRY(check_transfer(queue, tensor, data, bytes, "downloading"));
  MICA_TRY(download_start(queue, tensor, data, bytes, &handle));
  mica__event_clear(event);
  event->engine = queue->engine;
  event->handle = handle;
  return MICA_OK;
}

mica_status mica__queue_flush(mica_queue *queue) {
  return mica__engine_check(queue->engine, queue->engine->api->Flush(queue->handle), "starting a queue");
}

mica_status mica_tensor_download_async(mica_queue *queue, const mica_tensor *tensor, void *data, size_t bytes,
                                       mica_event **out) {
  MICA_TRY(check_transfer(queue, tensor, data, bytes, "mica_tensor_download_async"));
  if (!out) return mica__fail(MICA_E_INVALID, "mica_tensor_download_async: event is NULL");
  mica_event *event = NULL;
  MICA_TRY(event_create(queue, &event));
  if (bytes == 0) return event_start(queue, event, MICA_OK, out);
  return event_start(queue, event, download_start(queue, tensor, data, bytes, &event->handle), out);
}

mica_status mica_tensor_upload_async(mica_queue *queue, mica_tensor *tensor, const void *data, size_t bytes,
                                     mica_event **out) {
  MICA_TRY(check_transfer(queue, tensor, data, bytes, "mica_tensor_upload_async"));
  MICA_TRY(mica__tensor_check_writable(tensor, "mica_tensor_upload_async", "the tensor"));
  if (!out) return mica__fail(MICA_E_INVALID, "mica_tensor_upload_async: event is NULL");
  mica_event *event = NULL;
  MICA_TRY(event_create(queue, &event));
  if (bytes == 0) return event_start(queue, event, MICA_OK, out);
  pthread_mutex_lock(&queue->lock);
  cl_int error = queue->engine->api->EnqueueWriteBuffer(queue->handle, tensor->buffer->memory, CL_FALSE,
                                                        first_byte(tensor), bytes, data, 0, NULL, &event->handle);
  if (error == CL_SUCCESS) count_writing(queue, tensor);
  pthread_mutex_unlock(&queue->lock);
  mica_status status = mica__engine_check(queue->engine, error, "uploading");
  if (status == MICA_OK) atomic_fetch_add(&queue->engine->stats.bytes_uploaded, bytes);
  return event_start(queue, event, status, out);
}

mica_status mica_queue_mark(mica_queue *queue, mica_event **out) {
  if (!queue || !out) return mica__fail(MICA_E_INVALID, "mica_queue_mark: a pointer is NULL");
  if (!queue->handle)
    return mica__fail(MICA_E_STATE, "mica_queue_mark: the queue records launches for a session, and cannot be marked");
  mica_event *event = NULL;
  MICA_TRY(event_create(queue, &event));
  mica_status status = mica__engine_check(
      queue->engine, queue->engine->api->EnqueueMarkerWithWaitList(queue->handle, 0, NULL, &event->handle),
      "marking a queue");
  return event_start(queue, event, status, out);
}

mica_status mica_queue_wait(mica_queue *queue, const mica_event *event) {
  if (!queue || !event) return mica__fail(MICA_E_INVALID, "mica_queue_wait: a pointer is NULL");
  if (!queue->handle)
    return mica__fail(MICA_E_STATE, "mica_queue_wait: the queue records launches for a session, and cannot wait");
  if (event->engine != queue->engine)
    return mica__fail(MICA_E_INVALID, "mica_queue_wait: the event belongs to another engine than the queue");
  if (!event->handle) return MICA_OK;
  return mica__engine_check(queue->engine,
                            queue->engine->api->EnqueueBarrierWithWaitList(queue->handle, 1, &event->handle, NULL),
                            "waiting for an event on the device");
}

mica_status mica_event_wait(mica_event *event) {
  if (!event) return mica__fail(MICA_E_INVALID, "mica_event_wait: event is NULL");
  if (!event->handle) return MICA_OK;
  atomic_fetch_add(&event->engine->stats.host_waits, 1);
  return mica__engine_check(event->engine, event->engine->api->WaitForEvents(1, &event->handle),
                            "waiting for an event");
}

mica_status mica_event_is_done(mica_event *event, bool *done) {
  if (!event || !done) return mica__fail(MICA_E_INVALID, "mica_event_is_done: a pointer is NULL");
  cl_int state = CL_COMPLETE;
  if (event->handle)
    MICA_TRY(mica__engine_check(
        event->engine,
        event->engine->api->GetEventInfo(event->handle, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
        "asking whether an event is done"));
  if (state < 0) return mica__engine_check(event->engine, state, "work on the device failed");
  *done = state == CL_COMPLETE;
  return MICA_OK;
}

void mica_event_destroy(mica_event *event) {
  if (!event) return;
  if (event->handle) event->engine->api->ReleaseEvent(event->handle);
  free(event);
}

mica_status mica_tensor_map(mica_queue *queue, mica_tensor *tensor, mica_map_mode mode, void **data) {
  MICA_TRY(check_transfer(queue, tensor, data, tensor ? mica_tensor_bytes(tensor) : 0, "mica_tensor_map"));
  size_t bytes = mica_tensor_bytes(tensor);
  if (!data || bytes == 0) return mica__fail(MICA_E_INVALID, "mica_tensor_map: the tensor has no elements to map");
  if (mode < MICA_MAP_MODE_READ || mode > MICA_MAP_MODE_READ_WRITE)
    return mica__fail(MICA_E_INVALID, "mica_tensor_map: mode is %d, but must be from 0 to %d", (int)mode,
                      (int)MICA_MAP_MODE_READ_WRITE);
  if (mode != MICA_MAP_MODE_READ) MICA_TRY(mica__tensor_check_writable(tensor, "mica_tensor_map", "the tensor"));
  cl_map_flags flags = mode == MICA_MAP_MODE_READ    ? CL_MAP_READ
                       : mode == MICA_MAP_MODE_WRITE ? CL_MAP_WRITE_INVALIDATE_REGION
                                                     : CL_MAP_READ | CL_MAP_WRITE;
  cl_int error = CL_SUCCESS;
  pthread_mutex_lock(&queue->lock);
  count_writing(queue, tensor);
  void *host = queue->engine->api->EnqueueMapBuffer(queue->handle, tensor->buffer->memory, CL_TRUE, flags,
                                                    first_byte(tensor), bytes, 0, NULL, NULL, &error);
  if (host) count_wait(queue);
  pthread_mutex_unlock(&queue->lock);
  if (!host) return mica__engine_check(queue->engine, error ? error : CL_MAP_FAILURE, "mapping a tensor");
  *data = host;
  return MICA_OK;
}

mica_status mica_tensor_unmap(mica_queue *queue, mica_tensor *tensor, void *data) {
  MICA_TRY(check_transfer(queue, tensor, data, tensor ? mica_tensor_bytes(tensor) : 0, "mica_tensor_unmap"));
  pthread_mutex_lock(&queue->lock);
  count_writing(queue, tensor);
  cl_int error = queue->engine->api->EnqueueUnmapMemObject(queue->handle, tensor->buffer->memory, data, 0, NULL, NULL);
  pthread_mutex_unlock(&queue->lock);
  return mica__engine_check(queue->engine, error, "unmapping a tensor");
}
