#include "runtime/cl_error.h"

mica_status mica__cl_check(cl_int error, const char *what) {
  if (error == CL_SUCCESS) return MICA_OK;
  if (error == MICA__CL_FORKED)
    return mica__fail(MICA_E_STATE,
                      "%s: OpenCL was in use before this process was forked, and drivers do not survive a fork; create "
                      "engines after the fork, or in only one of the two processes",
                      what);
  mica_status status = mica__cl_is_memory_error(error) ? MICA_E_DEVICE_MEMORY : MICA_E_DEVICE;
  const char *name = mica__cl_error_name(error);
  if (name) return mica__fail(status, "%s: the driver answers %s", what, name);
  return mica__fail(status, "%s: the driver answers error %d", what, (int)error);
}
