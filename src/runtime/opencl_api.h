/* runtime/opencl_api.h: every OpenCL function that Mica calls, as one table.
 *
 * All calls go through a table instead of directly to the loader, because there are several tables: the loader, the
 * null device, in tests a layer that fails on purpose, and one for a device that is lost (lost.h). An engine keeps the
 * table that it was made with until its device is lost. */
#ifndef MICA_RUNTIME_OPENCL_API_H
#define MICA_RUNTIME_OPENCL_API_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdbool.h>

typedef void(CL_CALLBACK *mica__cl_build_fn)(cl_program, void *);
typedef void(CL_CALLBACK *mica__cl_context_fn)(const char *, const void *, size_t, void *);
typedef void(CL_CALLBACK *mica__cl_memory_fn)(cl_mem, void *);

/* Lists the functions. STATUS(name, parameters, arguments) is a function that returns its error. OBJECT(type, name,
 * parameters, arguments) returns an object and writes the error through its last parameter, `error`. */
#define MICA__CL_CALLS(STATUS, OBJECT)                                                                                 \
  STATUS(GetPlatformIDs, (cl_uint n, cl_platform_id * ids, cl_uint * count), (n, ids, count))                          \
  STATUS(GetPlatformInfo, (cl_platform_id p, cl_platform_info what, size_t n, void *out, size_t *used),                \
         (p, what, n, out, used))                                                                                      \
  STATUS(GetDeviceIDs, (cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id * ids, cl_uint * count),        \
         (p, type, n, ids, count))                                                                                     \
  STATUS(GetDeviceInfo, (cl_device_id d, cl_device_info what, size_t n, void *out, size_t *used),                      \
         (d, what, n, out, used))                                                                                      \
  STATUS(CreateSubDevices,                                                                                             \
         (cl_device_id d, const cl_device_partition_property *how, cl_uint n, cl_device_id *ids, cl_uint *count),      \
         (d, how, n, ids, count))                                                                                      \
  OBJECT(cl_context, CreateContext,                                                                                    \
         (const cl_context_properties *properties, cl_uint n, const cl_device_id *ids, mica__cl_context_fn fn,         \
          void *user, cl_int *error),                                                                                  \
         (properties, n, ids, fn, user, error))                                                                        \
  STATUS(RetainContext, (cl_context c), (c))                                                                           \
  STATUS(ReleaseContext, (cl_context c), (c))                                                                          \
  OBJECT(cl_command_queue, CreateCommandQueue,                                                                         \
         (cl_context c, cl_device_id d, cl_command_queue_properties properties, cl_int * error),                       \
         (c, d, properties, error))                                                                                    \
  STATUS(GetCommandQueueInfo, (cl_command_queue q, cl_command_queue_info what, size_t n, void *out, size_t *used),     \
         (q, what, n, out, used))                                                                                      \
  STATUS(RetainCommandQueue, (cl_command_queue q), (q))                                                                \
  STATUS(ReleaseCommandQueue, (cl_command_queue q), (q))                                                               \
  OBJECT(cl_mem, CreateBuffer, (cl_context c, cl_mem_flags flags, size_t n, void *host, cl_int *error),                \
         (c, flags, n, host, error))                                                                                   \
  OBJECT(cl_mem, CreateImage,                                                                                          \
         (cl_context c, cl_mem_flags flags, const cl_image_format *format, const cl_image_desc *desc, void *host,      \
          cl_int *error),                                                                                              \
         (c, flags, format, desc, host, error))                                                                        \
  STATUS(GetMemObjectInfo, (cl_mem m, cl_mem_info what, size_t n, void *out, size_t *used), (m, what, n, out, used))   \
  STATUS(RetainMemObject, (cl_mem m), (m))                                                                             \
  STATUS(ReleaseMemObject, (cl_mem m), (m))                                                                            \
  STATUS(SetMemObjectDestructorCallback, (cl_mem m, mica__cl_memory_fn fn, void *user), (m, fn, user))                 \
  OBJECT(cl_program, CreateProgramWithSource,                                                                          \
         (cl_context c, cl_uint n, const char **text, const size_t *sizes, cl_int *error), (c, n, text, sizes, error)) \
  OBJECT(cl_program, CreateProgramWithBinary,                                                                          \
         (cl_context c, cl_uint n, const cl_device_id *ids, const size_t *sizes, const unsigned char **data,           \
          cl_int *each, cl_int *error),                                                                                \
         (c, n, ids, sizes, data, each, error))                                                                        \
  STATUS(BuildProgram,                                                                                                 \
         (cl_program p, cl_uint n, const cl_device_id *ids, const char *options, mica__cl_build_fn fn, void *user),    \
         (p, n, ids, options, fn, user))                                                                               \
  STATUS(GetProgramInfo, (cl_program p, cl_program_info what, size_t n, void *out, size_t *used),                      \
         (p, what, n, out, used))                                                                                      \
  STATUS(GetProgramBuildInfo,                                                                                          \
         (cl_program p, cl_device_id d, cl_program_build_info what, size_t n, void *out, size_t *used),                \
         (p, d, what, n, out, used))                                                                                   \
  STATUS(ReleaseProgram, (cl_program p), (p))                                                                          \
  OBJECT(cl_kernel, CreateKernel, (cl_program p, const char *name, cl_int *error), (p, name, error))                   \
  STATUS(GetKernelInfo, (cl_kernel k, cl_kernel_info what, size_t n, void *out, size_t *used),                         \
         (k, what, n, out, used))                                                                                      \
  STATUS(GetKernelWorkGroupInfo,                                                                                       \
         (cl_kernel k, cl_device_id d, cl_kernel_work_group_info what, size_t n, void *out, size_t *used),             \
         (k, d, what, n, out, used))                                                                                   \
  STATUS(SetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *value), (k, i, n, value))                        \
  STATUS(ReleaseKernel, (cl_kernel k), (k))                                                                            \
  STATUS(EnqueueNDRangeKernel,                                                                                         \
         (cl_command_queue q, cl_kernel k, cl_uint dims, const size_t *offset, const size_t *global,                   \
          const size_t *local, cl_uint n, const cl_event *waits, cl_event *event),                                     \
         (q, k, dims, offset, global, local, n, waits, event))                                                         \
  STATUS(EnqueueReadBuffer,                                                                                            \
         (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size, void *host, cl_uint n,                  \
          const cl_event *waits, cl_event *event),                                                                     \
         (q, m, block, at, size, host, n, waits, event))                                                               \
  STATUS(EnqueueWriteBuffer,                                                                                           \
         (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t size, const void *host, cl_uint n,            \
          const cl_event *waits, cl_event *event),                                                                     \
         (q, m, block, at, size, host, n, waits, event))                                                               \
  STATUS(EnqueueFillBuffer,                                                                                            \
         (cl_command_queue q, cl_mem m, const void *pattern, size_t pattern_size, size_t at, size_t size, cl_uint n,   \
          const cl_event *waits, cl_event *event),                                                                     \
         (q, m, pattern, pattern_size, at, size, n, waits, event))                                                     \
  OBJECT(void *, EnqueueMapBuffer,                                                                                     \
         (cl_command_queue q, cl_mem m, cl_bool block, cl_map_flags flags, size_t at, size_t size, cl_uint n,          \
          const cl_event *waits, cl_event *event, cl_int *error),                                                      \
         (q, m, block, flags, at, size, n, waits, event, error))                                                       \
  STATUS(EnqueueUnmapMemObject,                                                                                        \
         (cl_command_queue q, cl_mem m, void *host, cl_uint n, const cl_event *waits, cl_event *event),                \
         (q, m, host, n, waits, event))                                                                                \
  STATUS(EnqueueMarkerWithWaitList, (cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event),           \
         (q, n, waits, event))                                                                                         \
  STATUS(EnqueueBarrierWithWaitList, (cl_command_queue q, cl_uint n, const cl_event *waits, cl_event *event),          \
         (q, n, waits, event))                                                                                         \
  STATUS(WaitForEvents, (cl_uint n, const cl_event *events), (n, events))                                              \
  STATUS(GetEventInfo, (cl_event e, cl_event_info what, size_t n, void *out, size_t *used), (e, what, n, out, used))   \
  STATUS(GetEventProfilingInfo, (cl_event e, cl_profiling_info what, size_t n, void *out, size_t *used),               \
         (e, what, n, out, used))                                                                                      \
  STATUS(ReleaseEvent, (cl_event e), (e))                                                                              \
  STATUS(Flush, (cl_command_queue q), (q))                                                                             \
  STATUS(Finish, (cl_command_queue q), (q))

typedef struct mica__cl_api {
#define MICA__CL_STATUS_MEMBER(name, parameters, arguments) cl_int(*name) parameters;
#define MICA__CL_OBJECT_MEMBER(type, name, parameters, arguments) type(*name) parameters;
  MICA__CL_CALLS(MICA__CL_STATUS_MEMBER, MICA__CL_OBJECT_MEMBER)
#undef MICA__CL_STATUS_MEMBER
#undef MICA__CL_OBJECT_MEMBER
} mica__cl_api;

/* The loader's functions, or the table that mica__cl_install last put in their place. In a process that was forked
 * after the first call to this function, the loader's functions do nothing and fail with MICA__CL_FORKED. */
const mica__cl_api *mica__cl_loader(void);
bool mica__cl_is_forked(void);
#define MICA__CL_FORKED (-9000) /* not an error of OpenCL, whose codes end above -1200 */

/* The null device: one platform with one device whose memory is the host's and whose kernels do nothing. */
const mica__cl_api *mica__cl_null(void);

/* For tests: sets the table that mica__cl_loader returns from now on; NULL restores the loader. Not thread-safe. */
void mica__cl_install(const mica__cl_api *api);

/* A name such as "CL_OUT_OF_RESOURCES"; NULL for an unknown code. */
const char *mica__cl_error_name(cl_int error);

#endif
