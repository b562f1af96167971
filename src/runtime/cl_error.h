/* runtime/cl_error.h: turns OpenCL errors into statuses and messages. */
#ifndef MICA_RUNTIME_CL_ERROR_H
#define MICA_RUNTIME_CL_ERROR_H

#include "base/error.h"
#include "runtime/opencl_api.h"

/* MICA_OK if the error is CL_SUCCESS. Otherwise fails with the corresponding status and the message "what: CL_NAME". */
mica_status mica__cl_check(cl_int error, const char *what);

/* True if the error means that the device has no memory left (drivers disagree on which code that is). */
static inline int mica__cl_is_memory_error(cl_int error) {
  return error == CL_MEM_OBJECT_ALLOCATION_FAILURE || error == CL_OUT_OF_RESOURCES || error == CL_OUT_OF_HOST_MEMORY;
}

#endif
