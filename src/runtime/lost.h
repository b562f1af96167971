/* runtime/lost.h: detects that a device is lost, because a kernel faulted, the driver reset it, or it has gone from its
 * bus.
 *
 * A lost device and the content of its memory cannot be used any more. Drivers report the loss with error codes that
 * they also use for lesser errors: NVIDIA's was seen to return CL_OUT_OF_RESOURCES for a download or a wait, then -9999
 * for uploads and CL_INVALID_COMMAND_QUEUE for waits. So after an error the device is tested with a small task that
 * fails only on a lost device. If it is lost, the engine's table of OpenCL functions is replaced: all functions but
 * releases then fail at once, without a call of the driver. */
#ifndef MICA_RUNTIME_LOST_H
#define MICA_RUNTIME_LOST_H

#include "runtime/cl_error.h"
#include "runtime/objects.h"

typedef struct mica__loss {
  pthread_mutex_t lock; /* held while a device is tested and declared lost */
  atomic_bool known;
  char reason[384]; /* the message; written before `known` is set */
  mica__cl_api api; /* the engine's table once the device is lost */
} mica__loss;

mica_status mica__loss_init(mica__loss *loss);
void mica__loss_destroy(mica__loss *loss);

/* Like mica__cl_check, for calls to the engine's device. If the call failed, also tests the device; MICA_E_DEVICE_LOST
 * if the device is lost. The calling thread must hold no lock that work of the engine's own queue waits for. */
mica_status mica__engine_check(mica_engine *engine, cl_int error, const char *what);
/* Tests the device if `error` is an error, and returns MICA_OK unless the device is lost. For callers that then report
 * `error` with messages of their own. */
mica_status mica__engine_ask(mica_engine *engine, cl_int error, const char *what);
/* MICA_E_DEVICE_LOST if the device is known to be lost; does not test it. */
mica_status mica__engine_alive(const mica_engine *engine);

#endif
