/* runtime/device.h: finds and describes the devices of the API tables. */
#ifndef MICA_RUNTIME_DEVICE_H
#define MICA_RUNTIME_DEVICE_H

#include "runtime/opencl_api.h"

#include <mica/device.h>

/* The name of PoCL's platform. */
#define MICA__POCL "Portable Computing Language"

typedef struct mica__device {
  const mica__cl_api *api;
  cl_platform_id platform;
  cl_device_id id;
  mica_device_info info;
} mica__device;

/* Lists every device of the API table in *list, which the caller frees. If OpenCL or its drivers are missing, sets
 * *count to 0 and returns MICA_OK. Fails in a process that was forked after a driver had started. Only one thread at a
 * time lists devices: drivers start when they are first asked, and meanwhile PoCL reports no devices to other
 * threads. */
mica_status mica__device_collect(const mica__cl_api *api, mica__device **list, size_t *count);

/* Selects a device as mica_engine_config.device says. */
mica_status mica__device_select(const char *selector, mica__device *device);

/* Fills info for a device that the caller found itself; info->id is "". */
mica_status mica__device_describe(const mica__cl_api *api, cl_platform_id platform, cl_device_id id,
                                  mica_device_info *info);

#endif
