/* runtime/lost.h: a device that is lost: a kernel faulted, the driver reset it, or it is gone from its bus.
 *
 * Nothing can be done with it or with what its memory held, and drivers say so with codes that also mean less: NVIDIA's
 * was seen to answer CL_OUT_OF_RESOURCES to a download or a wait, then -9999 to uploads and CL_INVALID_COMMAND_QUEUE to
 * waits. Hence an error is followed by a question that only a lost device fails. From then on the engine's table
 * answers every call at once without the driver, but for releases. */
#ifndef MICA_RUNTIME_LOST_H
#define MICA_RUNTIME_LOST_H

#include "runtime/cl_error.h"
#include "runtime/objects.h"

typedef struct mica__loss {
  pthread_mutex_t lock; /* held while a device is asked and while it is declared lost */
  atomic_bool known;
  char reason[384]; /* the sentence; written before known is */
  mica__cl_api api; /* the engine's table once the device is lost */
} mica__loss;

mica_status mica__loss_init(mica__loss *loss);
void mica__loss_destroy(mica__loss *loss);

/* mica__cl_check for what was asked of the engine's device; MICA_E_DEVICE_LOST if that is lost, or is found to be
 * now. The calling thread holds no lock that work of the engine's own queue waits for. */
mica_status mica__engine_check(mica_engine *engine, cl_int error, const char *what);
/* The question alone, for callers with a sentence of their own for other errors: MICA_OK where the device answers. */
mica_status mica__engine_ask(mica_engine *engine, cl_int error, const char *what);
/* MICA_E_DEVICE_LOST if the device is known to be; asks nothing. */
mica_status mica__engine_alive(const mica_engine *engine);

#endif
