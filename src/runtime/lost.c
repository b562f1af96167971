#include "runtime/lost.h"

#include <stdio.h>

#define LOST (-9001) /* neither an error of OpenCL nor MICA__CL_FORKED; never shown in a message */

#define STATUS_CALL(name, parameters, arguments)                                                                       \
  static cl_int lost_##name parameters { return LOST; }
#define OBJECT_CALL(type, name, parameters, arguments)                                                                 \
  static type lost_##name parameters {                                                                                 \
    if (error) *error = LOST;                                                                                          \
    return NULL;                                                                                                       \
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
MICA__CL_CALLS(STATUS_CALL, OBJECT_CALL)
#pragma GCC diagnostic pop

mica_status mica__loss_init(mica__loss *loss) {
  return pthread_mutex_init(&loss->lock, NULL) ? mica__fail_nomem("a lock") : MICA_OK;
}

void mica__loss_destroy(mica__loss *loss) { pthread_mutex_destroy(&loss->lock); }

/* Releases still go to the driver, because objects still have memory on the host and handles of the process. */
static void replace_table(mica_engine *engine) {
  const mica__cl_api *below = engine->api;
#define STATUS_ROW(name, parameters, arguments) .name = lost_##name,
#define OBJECT_ROW(type, name, parameters, arguments) .name = lost_##name,
  mica__cl_api api = {MICA__CL_CALLS(STATUS_ROW, OBJECT_ROW)};
  api.ReleaseContext = below->ReleaseContext;
  api.ReleaseCommandQueue = below->ReleaseCommandQueue;
  api.ReleaseMemObject = below->ReleaseMemObject;
  api.ReleaseProgram = below->ReleaseProgram;
  api.ReleaseKernel = below->ReleaseKernel;
  api.ReleaseEvent = below->ReleaseEvent;
  engine->loss->api = api;
  engine->api = &engine->loss->api;
}

/* True if the device answers. Waits for the queued work, ignoring its errors, because they say nothing about later
 * work; then uploads four bytes. If there is no memory for them, waits for the queue once more instead. */
static bool answers(mica_engine *engine) {
  const mica__cl_api *api = engine->api;
  const cl_int value = 0;
  cl_int error = CL_SUCCESS;
  api->Finish(engine->queue->handle);
  cl_mem memory = api->CreateBuffer(engine->context, CL_MEM_READ_WRITE, sizeof value, NULL, &error);
  if (memory) {
    error = api->EnqueueWriteBuffer(engine->queue->handle, memory, CL_TRUE, 0, sizeof value, &value, 0, NULL, NULL);
    api->ReleaseMemObject(memory);
  }
  if (mica__cl_is_memory_error(error)) error = api->Finish(engine->queue->handle);
  return error == CL_SUCCESS;
}

static void declare_lost(mica_engine *engine, cl_int error, const char *what) {
  const char *name = mica__cl_error_name(error);
  char code[32];
  snprintf(code, sizeof code, "error %d", (int)error);
  snprintf(engine->loss->reason, sizeof engine->loss->reason,
           "the device %.128s is lost, with the content of its memory (%.96s: the driver answers %s)",
           engine->device.info.name, what, name ? name : code);
  replace_table(engine);
  atomic_store(&engine->loss->known, true);
}

mica_status mica__engine_alive(const mica_engine *engine) {
  if (!atomic_load_explicit(&engine->loss->known, memory_order_acquire)) return MICA_OK;
  return mica__fail(MICA_E_DEVICE_LOST, "%s", engine->loss->reason);
}

mica_status mica__engine_ask(mica_engine *engine, cl_int error, const char *what) {
  if (error == CL_SUCCESS || error == MICA__CL_FORKED) return MICA_OK;
  if (!engine->queue) return mica__engine_alive(engine); /* the engine is being created or destroyed */
  pthread_mutex_lock(&engine->loss->lock);
  if (!atomic_load(&engine->loss->known) && (error == CL_DEVICE_NOT_AVAILABLE || !answers(engine)))
    declare_lost(engine, error, what);
  pthread_mutex_unlock(&engine->loss->lock);
  return mica__engine_alive(engine);
}

mica_status mica__engine_check(mica_engine *engine, cl_int error, const char *what) {
  if (error == CL_SUCCESS) return MICA_OK;
  MICA_TRY(mica__engine_ask(engine, error, what));
  return mica__cl_check(error, what);
}
