/* ops/amd_device.h: what a device says that is called an AMD GPU, for tests of choices by name. */
#ifndef MICA_TESTS_OPS_AMD_DEVICE_H
#define MICA_TESTS_OPS_AMD_DEVICE_H

#include "runtime/opencl_api.h"

#include <string.h>

/* The device below, and its name. */
static struct {
  const mica__cl_api *below;
  const char *name;
} amd;

static cl_int amd_text(const char *is, size_t size, void *out, size_t *used) {
  if (used) *used = strlen(is) + 1;
  if (out && size > strlen(is)) strcpy(out, is);
  return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL amd_platform_info(cl_platform_id platform, cl_platform_info what, size_t size,
                                                         void *out, size_t *used) {
  if (what == CL_PLATFORM_NAME) return amd_text("AMD Accelerated Parallel Processing", size, out, used);
  return amd.below->GetPlatformInfo(platform, what, size, out, used);
}

static CL_API_ENTRY cl_int CL_API_CALL amd_device_info(cl_device_id device, cl_device_info what, size_t size, void *out,
                                                       size_t *used) {
  if (what == CL_DEVICE_NAME) return amd_text(amd.name, size, out, used);
  if (what == CL_DEVICE_VENDOR) return amd_text("Advanced Micro Devices, Inc.", size, out, used);
  const cl_int error = amd.below->GetDeviceInfo(device, what, size, out, used);
  if (out && what == CL_DEVICE_TYPE) *(cl_device_type *)out = CL_DEVICE_TYPE_GPU;
  if (out && what == CL_DEVICE_LOCAL_MEM_TYPE) *(cl_device_local_mem_type *)out = CL_LOCAL;
  if (out && what == CL_DEVICE_VENDOR_ID) *(cl_uint *)out = 0x1002;
  return error;
}

#endif
