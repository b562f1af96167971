#include "runtime/opencl_api.h"

#include <pthread.h>
#include <stdatomic.h>

/* Set in a child process whose parent had used the loader. Threads of drivers do not survive a fork, and a call that
 * waits for such a thread would never return. So a child makes no call of OpenCL. */
static atomic_bool forked;
static pthread_once_t first_use = PTHREAD_ONCE_INIT;

static void note_fork(void) { atomic_store(&forked, true); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, note_fork); }

bool mica__cl_is_forked(void) { return atomic_load_explicit(&forked, memory_order_relaxed); }

/* The table has wrapper functions, not the loader's own: those have calling-convention attributes, and headers newer
 * than 1.2 mark some of them deprecated. */
#define STATUS_CALL(name, parameters, arguments)                                                                       \
  static cl_int loader_##name parameters { return mica__cl_is_forked() ? MICA__CL_FORKED : cl##name arguments; }
#define OBJECT_CALL(type, name, parameters, arguments)                                                                 \
  static type loader_##name parameters {                                                                               \
    if (!mica__cl_is_forked()) return cl##name arguments;                                                              \
    if (error) *error = MICA__CL_FORKED;                                                                               \
    return NULL;                                                                                                       \
  }
MICA__CL_CALLS(STATUS_CALL, OBJECT_CALL)

#define STATUS_ROW(name, parameters, arguments) .name = loader_##name,
#define OBJECT_ROW(type, name, parameters, arguments) .name = loader_##name,
static const mica__cl_api loader = {MICA__CL_CALLS(STATUS_ROW, OBJECT_ROW)};

static const mica__cl_api *installed = &loader;

const mica__cl_api *mica__cl_loader(void) {
  pthread_once(&first_use, watch_forks);
  return installed;
}

void mica__cl_install(const mica__cl_api *api) { installed = api ? api : &loader; }

#define ERROR_LIST(X)                                                                                                  \
  X(CL_DEVICE_NOT_FOUND)                                                                                               \
  X(CL_DEVICE_NOT_AVAILABLE)                                                                                           \
  X(CL_COMPILER_NOT_AVAILABLE)                                                                                         \
  X(CL_MEM_OBJECT_ALLOCATION_FAILURE)                                                                                  \
  X(CL_OUT_OF_RESOURCES)                                                                                               \
  X(CL_OUT_OF_HOST_MEMORY)                                                                                             \
  X(CL_PROFILING_INFO_NOT_AVAILABLE)                                                                                   \
  X(CL_MEM_COPY_OVERLAP)                                                                                               \
  X(CL_BUILD_PROGRAM_FAILURE)                                                                                          \
  X(CL_MAP_FAILURE)                                                                                                    \
  X(CL_MISALIGNED_SUB_BUFFER_OFFSET)                                                                                   \
  X(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST)                                                                      \
  X(CL_INVALID_VALUE)                                                                                                  \
  X(CL_INVALID_DEVICE_TYPE)                                                                                            \
  X(CL_INVALID_PLATFORM)                                                                                               \
  X(CL_INVALID_DEVICE)                                                                                                 \
  X(CL_INVALID_CONTEXT)                                                                                                \
  X(CL_INVALID_QUEUE_PROPERTIES)                                                                                       \
  X(CL_INVALID_COMMAND_QUEUE)                                                                                          \
  X(CL_INVALID_HOST_PTR)                                                                                               \
  X(CL_INVALID_MEM_OBJECT)                                                                                             \
  X(CL_INVALID_BINARY)                                                                                                 \
  X(CL_INVALID_BUILD_OPTIONS)                                                                                          \
  X(CL_INVALID_PROGRAM)                                                                                                \
  X(CL_INVALID_PROGRAM_EXECUTABLE)                                                                                     \
  X(CL_INVALID_KERNEL_NAME)                                                                                            \
  X(CL_INVALID_KERNEL_DEFINITION)                                                                                      \
  X(CL_INVALID_KERNEL)                                                                                                 \
  X(CL_INVALID_ARG_INDEX)                                                                                              \
  X(CL_INVALID_ARG_VALUE)                                                                                              \
  X(CL_INVALID_ARG_SIZE)                                                                                               \
  X(CL_INVALID_KERNEL_ARGS)                                                                                            \
  X(CL_INVALID_WORK_DIMENSION)                                                                                         \
  X(CL_INVALID_WORK_GROUP_SIZE)                                                                                        \
  X(CL_INVALID_WORK_ITEM_SIZE)                                                                                         \
  X(CL_INVALID_GLOBAL_OFFSET)                                                                                          \
  X(CL_INVALID_EVENT_WAIT_LIST)                                                                                        \
  X(CL_INVALID_EVENT)                                                                                                  \
  X(CL_INVALID_OPERATION)                                                                                              \
  X(CL_INVALID_BUFFER_SIZE)                                                                                            \
  X(CL_INVALID_GLOBAL_WORK_SIZE)

const char *mica__cl_error_name(cl_int error) {
  switch (error) {
#define ERROR_NAME(code)                                                                                               \
  case code: return #code;
    ERROR_LIST(ERROR_NAME)
#undef ERROR_NAME
  case -1001: return "CL_PLATFORM_NOT_FOUND_KHR";
  }
  return NULL;
}
