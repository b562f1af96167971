/* The null device. Objects are reference-counted blocks of one kind, buffers are host memory, kernels do nothing, and
 * everything queued is done at once. It lets graphs be built, planned and recorded without OpenCL. */
#include "base/checked.h"
#include "runtime/opencl_api.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct object {
  atomic_int references;
  cl_context context;
  void *block; /* what was allocated; the object begins at its first aligned byte */
  size_t bytes;
  /* An object's content follows it, with the alignment of OpenCL's largest vector. */
  _Alignas(128) unsigned char data[];
} object;

static const unsigned char platform_tag, device_tag;
#define PLATFORM ((cl_platform_id)(uintptr_t)&platform_tag)
#define DEVICE ((cl_device_id)(uintptr_t)&device_tag)

/* The content is zero, because hosts read what kernels would have written, such as computed shapes. calloc takes no
 * physical memory for zero pages, so large buffers cost nothing until they are written. */
static void *object_new(cl_context context, size_t bytes, cl_int *error) {
  size_t total = 0;
  object *o = NULL;
  void *block = mica__add_size(bytes, sizeof *o + 127, &total) ? calloc(1, total) : NULL;
  if (block) {
    void *aligned = (unsigned char *)block + (128 - (uintptr_t)block % 128) % 128;
    o = aligned;
    atomic_init(&o->references, 1);
    o->block = block;
    o->context = context;
    o->bytes = bytes;
  }
  if (error) *error = o ? CL_SUCCESS : CL_MEM_OBJECT_ALLOCATION_FAILURE;
  return o;
}

static cl_int object_retain(void *handle) {
  atomic_fetch_add(&((object *)handle)->references, 1);
  return CL_SUCCESS;
}

static cl_int object_release(void *handle) {
  if (atomic_fetch_sub(&((object *)handle)->references, 1) == 1) free(((object *)handle)->block);
  return CL_SUCCESS;
}

/* Answers a query for information as OpenCL does. */
static cl_int answer(const void *value, size_t size, size_t n, void *out, size_t *used) {
  if (used) *used = size;
  if (!out) return CL_SUCCESS;
  if (n < size) return CL_INVALID_VALUE;
  memcpy(out, value, size);
  return CL_SUCCESS;
}

#define ANSWER_TEXT(text) answer(text, sizeof text, n, out, used)
#define ANSWER(type, value) answer(&(type){value}, sizeof(type), n, out, used)

static cl_int null_GetPlatformIDs(cl_uint n, cl_platform_id *ids, cl_uint *count) {
  if (count) *count = 1;
  if (ids && n) ids[0] = PLATFORM;
  return CL_SUCCESS;
}

static cl_int null_GetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t n, void *out, size_t *used) {
  (void)p;
  return what == CL_PLATFORM_NAME ? ANSWER_TEXT("Mica null") : ANSWER_TEXT("OpenCL 1.2 null");
}

static cl_int null_GetDeviceIDs(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *ids, cl_uint *count) {
  (void)p, (void)type;
  if (count) *count = 1;
  if (ids && n) ids[0] = DEVICE;
  return CL_SUCCESS;
}

static cl_int null_GetDeviceInfo(cl_device_id d, cl_device_info what, size_t n, void *out, size_t *used) {
  (void)d;
  switch (what) {
  case CL_DEVICE_TYPE: return ANSWER(cl_device_type, CL_DEVICE_TYPE_CUSTOM);
  case CL_DEVICE_VENDOR_ID: return ANSWER(cl_uint, 0);
  case CL_DEVICE_MAX_COMPUTE_UNITS: return ANSWER(cl_uint, 1);
  case CL_DEVICE_MAX_CLOCK_FREQUENCY: return ANSWER(cl_uint, 1);
  case CL_DEVICE_GLOBAL_MEM_SIZE: return ANSWER(cl_ulong, (cl_ulong)64 << 30);
  case CL_DEVICE_MAX_MEM_ALLOC_SIZE: return ANSWER(cl_ulong, (cl_ulong)16 << 30);
  case CL_DEVICE_LOCAL_MEM_SIZE: return ANSWER(cl_ulong, 32 << 10);
  case CL_DEVICE_LOCAL_MEM_TYPE: return ANSWER(cl_device_local_mem_type, CL_GLOBAL);
  case CL_DEVICE_HOST_UNIFIED_MEMORY:
  case CL_DEVICE_ENDIAN_LITTLE: /* whatever the host's byte order is, because the device runs no kernels */
  case CL_DEVICE_AVAILABLE:
  case CL_DEVICE_COMPILER_AVAILABLE: return ANSWER(cl_bool, CL_TRUE);
  case CL_DEVICE_MAX_WORK_GROUP_SIZE: return ANSWER(size_t, 1024);
  case CL_DEVICE_MAX_WORK_ITEM_SIZES: {
    const size_t sizes[3] = {1024, 1024, 1024};
    return answer(sizes, sizeof sizes, n, out, used);
  }
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: return ANSWER(cl_uint, 16);
  case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return ANSWER(cl_uint, 1024);
  case CL_DEVICE_ADDRESS_BITS: return ANSWER(cl_uint, 64);
  case CL_DEVICE_EXTENSIONS: return ANSWER_TEXT("cl_khr_fp64");
  case CL_DEVICE_OPENCL_C_VERSION: return ANSWER_TEXT("OpenCL C 1.2");
  case CL_DEVICE_NAME: return ANSWER_TEXT("null");
  case CL_DEVICE_VENDOR: return ANSWER_TEXT("Mica");
  case CL_DRIVER_VERSION: return ANSWER_TEXT("1");
  }
  return CL_INVALID_VALUE;
}

static cl_context null_CreateContext(const cl_context_properties *properties, cl_uint n, const cl_device_id *ids,
                                     mica__cl_context_fn fn, void *user, cl_int *error) {
  (void)properties, (void)n, (void)ids, (void)fn, (void)user;
  return object_new(NULL, 0, error);
}
/* Refuses: the null device has one compute unit. */
static cl_int null_CreateSubDevices(cl_device_id d, const cl_device_partition_property *how, cl_uint n,
                                    cl_device_id *ids, cl_uint *count) {
  (void)d, (void)how, (void)n, (void)ids, (void)count;
  return CL_DEVICE_PARTITION_FAILED;
}

static cl_int null_RetainContext(cl_context c) { return object_retain(c); }
static cl_int null_ReleaseContext(cl_context c) { return object_release(c); }

static cl_command_queue null_CreateCommandQueue(cl_context c, cl_device_id d, cl_command_queue_properties properties,
                                                cl_int *error) {
  (void)d, (void)properties;
  return object_new(c, 0, error);
}
static cl_int null_GetCommandQueueInfo(cl_command_queue q, cl_command_queue_info what, size_t n, void *out,
                                       size_t *used) {
  (void)q;
  return what == CL_QUEUE_PROPERTIES ? ANSWER(cl_command_queue_properties, CL_QUEUE_PROFILING_ENABLE)
                                     : CL_INVALID_VALUE;
}
static cl_int null_RetainCommandQueue(cl_command_queue q) { return object_retain(q); }
static cl_int null_ReleaseCommandQueue(cl_command_queue q) { return object_release(q); }

static cl_mem null_CreateBuffer(cl_context c, cl_mem_flags flags, size_t n, void *host, cl_int *error) {
  object *o = object_new(c, n, error);
  if (o && host && flags & CL_MEM_COPY_HOST_PTR) memcpy(o->data, host, n);
  return (cl_mem)o;
}
/* Refuses: the null device says that it has no images. */
static cl_mem null_CreateImage(cl_context c, cl_mem_flags flags, const cl_image_format *format,
                               const cl_image_desc *desc, void *host, cl_int *error) {
  (void)c, (void)flags, (void)format, (void)desc, (void)host;
  if (error) *error = CL_INVALID_OPERATION;
  return NULL;
}
static cl_int null_GetMemObjectInfo(cl_mem m, cl_mem_info what, size_t n, void *out, size_t *used) {
  const object *o = (const object *)m;
  if (what == CL_MEM_SIZE) return answer(&o->bytes, sizeof o->bytes, n, out, used);
  return what == CL_MEM_CONTEXT ? answer(&o->context, sizeof o->context, n, out, used) : CL_INVALID_VALUE;
}
static cl_int null_RetainMemObject(cl_mem m) { return object_retain(m); }
static cl_int null_ReleaseMemObject(cl_mem m) { return object_release(m); }
/* Refuses, so that the caller copies its memory: a buffer of the null device always has memory of its own. */
static cl_int null_SetMemObjectDestructorCallback(cl_mem m, mica__cl_memory_fn fn, void *user) {
  (void)m, (void)fn, (void)user;
  return CL_INVALID_OPERATION;
}

static cl_program null_CreateProgramWithSource(cl_context c, cl_uint n, const char **text, const size_t *sizes,
                                               cl_int *error) {
  (void)n, (void)text, (void)sizes;
  return object_new(c, 0, error);
}
static cl_program null_CreateProgramWithBinary(cl_context c, cl_uint n, const cl_device_id *ids, const size_t *sizes,
                                               const unsigned char **data, cl_int *each, cl_int *error) {
  (void)n, (void)ids, (void)sizes, (void)data;
  if (each) *each = CL_SUCCESS;
  return object_new(c, 0, error);
}
static cl_int null_BuildProgram(cl_program p, cl_uint n, const cl_device_id *ids, const char *options,
                                mica__cl_build_fn fn, void *user) {
  (void)p, (void)n, (void)ids, (void)options, (void)fn, (void)user;
  return CL_SUCCESS;
}
static cl_int null_GetProgramInfo(cl_program p, cl_program_info what, size_t n, void *out, size_t *used) {
  (void)p;
  if (what == CL_PROGRAM_BINARY_SIZES) return ANSWER(size_t, 0);
  return what == CL_PROGRAM_BINARIES ? CL_SUCCESS : CL_INVALID_VALUE;
}
static cl_int null_GetProgramBuildInfo(cl_program p, cl_device_id d, cl_program_build_info what, size_t n, void *out,
                                       size_t *used) {
  (void)p, (void)d, (void)what;
  return ANSWER_TEXT("");
}
static cl_int null_ReleaseProgram(cl_program p) { return object_release(p); }

static cl_kernel null_CreateKernel(cl_program p, const char *name, cl_int *error) {
  (void)p, (void)name;
  return object_new(NULL, 0, error);
}
static cl_int null_GetKernelInfo(cl_kernel k, cl_kernel_info what, size_t n, void *out, size_t *used) {
  (void)k;
  return what == CL_KERNEL_NUM_ARGS ? ANSWER(cl_uint, (cl_uint)-1) : CL_INVALID_VALUE;
}
static cl_int null_GetKernelWorkGroupInfo(cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t n,
                                          void *out, size_t *used) {
  (void)k, (void)d;
  static const size_t undeclared[3];
  if (what == CL_KERNEL_COMPILE_WORK_GROUP_SIZE) return answer(undeclared, sizeof undeclared, n, out, used);
  return what == CL_KERNEL_WORK_GROUP_SIZE ? ANSWER(size_t, 1024) : ANSWER(cl_ulong, 0);
}
static cl_int null_SetKernelArg(cl_kernel k, cl_uint i, size_t n, const void *value) {
  (void)k, (void)i, (void)n, (void)value;
  return CL_SUCCESS;
}
static cl_int null_ReleaseKernel(cl_kernel k) { return object_release(k); }

static cl_int event_done(cl_event *event) {
  cl_int error = CL_SUCCESS;
  if (event) *event = object_new(NULL, 0, &error);
  return error;
}

static cl_int null_EnqueueNDRangeKernel(cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset,
                                        const size_t *global, const size_t *local, cl_uint n, const cl_event *waits,
                                        cl_event *event) {
  (void)q, (void)k, (void)dims, (void)offset, (void)global, (void)local, (void)n, (void)waits;
  return event_done(event);
}
static cl_int null_EnqueueReadBuffer(cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size, void *host,
                                     cl_uint n, const cl_event *waits, cl_event *event) {
  (void)q, (void)block, (void)n, (void)waits;
  memcpy(host, ((const object *)m)->data + at, size);
  return event_done(event);
}
static cl_int null_EnqueueWriteBuffer(cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size,
                                      const void *host, cl_uint n, const cl_event *waits, cl_event *event) {
  (void)q, (void)block, (void)n, (void)waits;
  memcpy(((object *)m)->data + at, host, size);
  return event_done(event);
}
static cl_int null_EnqueueFillBuffer(cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size, size_t at,
                                     size_t size, cl_uint n, const cl_event *waits, cl_event *event) {
  (void)q, (void)n, (void)waits;
  for (size_t i = 0; i < size; i += pattern_size) memcpy(((object *)m)->data + at + i, pattern, pattern_size);
  return event_done(event);
}
static cl_int null_EnqueueMarkerWithWaitList(cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event) {
  (void)q, (void)n, (void)waits;
  return event_done(event);
}
static cl_int null_EnqueueBarrierWithWaitList(cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event) {
  (void)q, (void)n, (void)waits;
  return event_done(event);
}
static void *null_EnqueueMapBuffer(cl_command_queue q, cl_mem m, cl_bool block, cl_map_flags flags, size_t at,
                                   size_t size, cl_uint n, const cl_event *waits, cl_event *event, cl_int *error) {
  (void)q, (void)block, (void)flags, (void)size, (void)n, (void)waits;
  *error = event_done(event);
  return *error == CL_SUCCESS ? ((object *)m)->data + at : NULL;
}
static cl_int null_EnqueueUnmapMemObject(cl_command_queue q, cl_mem m, void *host, cl_uint n, const cl_event *waits,
                                         cl_event *event) {
  (void)q, (void)m, (void)host, (void)n, (void)waits;
  return event_done(event);
}
static cl_int null_WaitForEvents(cl_uint n, const cl_event *events) {
  (void)n, (void)events;
  return CL_SUCCESS;
}
static cl_int null_GetEventInfo(cl_event e, cl_event_info what, size_t n, void *out, size_t *used) {
  (void)e;
  return what == CL_EVENT_COMMAND_EXECUTION_STATUS ? ANSWER(cl_int, CL_COMPLETE) : CL_INVALID_VALUE;
}
static cl_int null_GetEventProfilingInfo(cl_event e, cl_profiling_info what, size_t n, void *out, size_t *used) {
  (void)e, (void)what;
  return ANSWER(cl_ulong, 0);
}
static cl_int null_ReleaseEvent(cl_event e) { return object_release(e); }
static cl_int null_Flush(cl_command_queue q) {
  (void)q;
  return CL_SUCCESS;
}
static cl_int null_Finish(cl_command_queue q) {
  (void)q;
  return CL_SUCCESS;
}

const mica__cl_api *mica__cl_null(void) {
#define STATUS_ROW(name, parameters, arguments) .name = null_##name,
#define OBJECT_ROW(type, name, parameters, arguments) .name = null_##name,
  static const mica__cl_api null_api = {MICA__CL_CALLS(STATUS_ROW, OBJECT_ROW)};
  return &null_api;
}
