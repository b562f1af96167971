/* runtime/device.h: the devices behind the API tables, found and described. */
#ifndef MICA_RUNTIME_DEVICE_H
#define MICA_RUNTIME_DEVICE_H

#include "runtime/opencl_api.h"

#include <mica/device.h>

/* What PoCL calls its platform. */
#define MICA__POCL "Portable Computing Language"

typedef struct mica__device {
  const mica__cl_api *api;
  cl_platform_id platform;
  cl_device_id id;
  mica_device_info info;
} mica__device;

/* Every device of the table; *list is the caller's to free. No OpenCL at all is *count 0 and MICA_OK. One thread at a
 * time asks: drivers start when they are first asked for devices, and PoCL answers those who come meanwhile that it has
 * none. */
mica_status mica__device_collect(const mica__cl_api *api, mica__device **list, size_t *count);

/* The rule of mica_engine_config.device. */
mica_status mica__device_select(const char *selector, mica__device *device);

/* Fills info for a device the caller found by itself; info->id is "". */
mica_status mica__device_describe(const mica__cl_api *api, cl_platform_id platform, cl_device_id id,
                                  mica_device_info *info);

#endif
