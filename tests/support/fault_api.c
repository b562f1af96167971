#include "support/fault_api.h"

#include "support/image_leaks.h"

#include <stdio.h>
#include <string.h>

#define KIND_LIST(X)                                                                                                   \
  X(none)                                                                                                              \
  X(context)                                                                                                           \
  X(queue)                                                                                                             \
  X(memory)                                                                                                            \
  X(program)                                                                                                           \
  X(kernel)                                                                                                            \
  X(event)                                                                                                             \
  X(mapping)

typedef enum kind {
#define KIND_ENUM(name) KIND_##name,
  KIND_LIST(KIND_ENUM)
#undef KIND_ENUM
      KIND_COUNT
} kind;

/* What a call that succeeds does to the number of live objects; anyway: it is carried out even when it fails. */
static const struct effect {
  kind kind;
  int change;
  bool anyway;
} effects[FAULT_CALL_COUNT] = {
    [FAULT_CreateContext] = {KIND_context, 1, false},
    [FAULT_RetainContext] = {KIND_context, 1, false},
    [FAULT_ReleaseContext] = {KIND_context, -1, true},
    [FAULT_CreateCommandQueue] = {KIND_queue, 1, false},
    [FAULT_RetainCommandQueue] = {KIND_queue, 1, false},
    [FAULT_ReleaseCommandQueue] = {KIND_queue, -1, true},
    [FAULT_CreateBuffer] = {KIND_memory, 1, false},
    [FAULT_CreateImage] = {KIND_memory, 1, false},
    [FAULT_RetainMemObject] = {KIND_memory, 1, false},
    [FAULT_ReleaseMemObject] = {KIND_memory, -1, true},
    [FAULT_CreateProgramWithSource] = {KIND_program, 1, false},
    [FAULT_CreateProgramWithBinary] = {KIND_program, 1, false},
    [FAULT_ReleaseProgram] = {KIND_program, -1, true},
    [FAULT_CreateKernel] = {KIND_kernel, 1, false},
    [FAULT_ReleaseKernel] = {KIND_kernel, -1, true},
    [FAULT_ReleaseEvent] = {KIND_event, -1, true},
    [FAULT_EnqueueMapBuffer] = {KIND_mapping, 1, false},
    [FAULT_EnqueueUnmapMemObject] = {KIND_mapping, -1, true},
    [FAULT_WaitForEvents] = {KIND_none, 0, true},
    [FAULT_Flush] = {KIND_none, 0, true},
    [FAULT_Finish] = {KIND_none, 0, true},
};

static struct {
  const mica__cl_api *below;
  fault_call armed, fired;
  unsigned remaining; /* calls until the one that fails; 0 for none */
  cl_int error;
  bool loses;                      /* what is armed loses the device */
  cl_int always[FAULT_CALL_COUNT]; /* what each function answers */
  unsigned long calls[FAULT_CALL_COUNT];
  long live[KIND_COUNT];
  const char *refused[2]; /* texts of options that do not build */
} layer;

/* What a lost device's driver answers to what reaches the device; the rest goes on as before. */
static const cl_int of_lost[FAULT_CALL_COUNT] = {
    [FAULT_EnqueueReadBuffer] = CL_OUT_OF_RESOURCES,
    [FAULT_EnqueueWriteBuffer] = -9999,
    [FAULT_EnqueueNDRangeKernel] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_EnqueueFillBuffer] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_EnqueueMapBuffer] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_EnqueueUnmapMemObject] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_EnqueueMarkerWithWaitList] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_EnqueueBarrierWithWaitList] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_WaitForEvents] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_Flush] = CL_INVALID_COMMAND_QUEUE,
    [FAULT_Finish] = CL_INVALID_COMMAND_QUEUE,
};

static cl_int begin(fault_call call) {
  layer.calls[call]++;
  if (layer.always[call] != CL_SUCCESS) return layer.always[call];
  if (layer.remaining == 0 || (layer.armed != FAULT_ANY && layer.armed != call) || --layer.remaining > 0)
    return CL_SUCCESS;
  layer.fired = call;
  if (layer.loses) memcpy(layer.always, of_lost, sizeof of_lost);
  return layer.error;
}

static void end(fault_call call, bool succeeded, const cl_event *event) {
  if (!succeeded) return;
  layer.live[effects[call].kind] += effects[call].change;
  if (event && *event) layer.live[KIND_event]++;
}

/* Where a function has a parameter `event` that hides this, the event it makes is counted. */
static cl_event *const event = NULL;
#pragma GCC diagnostic ignored "-Wshadow"

#define STATUS_CALL(name, parameters, arguments)                                                                       \
  static cl_int fault_##name parameters {                                                                              \
    cl_int fault = begin(FAULT_##name);                                                                                \
    if (fault != CL_SUCCESS && !effects[FAULT_##name].anyway) return fault;                                            \
    cl_int answer = layer.below->name arguments;                                                                       \
    end(FAULT_##name, answer == CL_SUCCESS, event);                                                                    \
    return fault != CL_SUCCESS ? fault : answer;                                                                       \
  }
#define OBJECT_CALL(type, name, parameters, arguments)                                                                 \
  static type fault_##name parameters {                                                                                \
    cl_int fault = begin(FAULT_##name);                                                                                \
    if (fault != CL_SUCCESS) {                                                                                         \
      *error = fault;                                                                                                  \
      return NULL;                                                                                                     \
    }                                                                                                                  \
    type made = layer.below->name arguments;                                                                           \
    end(FAULT_##name, made != NULL, event);                                                                            \
    return made;                                                                                                       \
  }
MICA__CL_CALLS(STATUS_CALL, OBJECT_CALL)

/* Nothing is in flight on a lost device, whereas the one below goes on. */
static cl_int release_queue(cl_command_queue q) {
  if (layer.always[FAULT_Finish] != CL_SUCCESS) layer.below->Finish(q);
  return fault_ReleaseCommandQueue(q);
}

static cl_int build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                    void(CL_CALLBACK *done)(cl_program program, void *user), void *user) {
  for (int i = 0; i < 2; i++)
    if (layer.refused[i] && strstr(options, layer.refused[i])) return CL_BUILD_PROGRAM_FAILURE;
  return fault_BuildProgram(program, count, devices, options, done, user);
}

static cl_mem create_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                           const cl_image_desc *desc, void *host, cl_int *error) {
  image_leaks_begin();
  cl_mem image = fault_CreateImage(context, flags, format, desc, host, error);
  image_leaks_end();
  return image;
}

static cl_int release_memory(cl_mem memory) {
  cl_context kept = layer.below == mica__cl_null() ? NULL : image_leaks_context(memory);
  const cl_int answer = fault_ReleaseMemObject(memory);
  if (kept) clReleaseContext(kept);
  return answer;
}

void fault_install(const mica__cl_api *below) {
#define STATUS_ROW(name, parameters, arguments) .name = fault_##name,
#define OBJECT_ROW(type, name, parameters, arguments) .name = fault_##name,
  static mica__cl_api api = {MICA__CL_CALLS(STATUS_ROW, OBJECT_ROW)};
  api.ReleaseCommandQueue = release_queue;
  api.BuildProgram = build;
  api.CreateImage = create_image;
  api.ReleaseMemObject = release_memory;
  memset(&layer, 0, sizeof layer);
  layer.below = below;
  fault_arm(FAULT_ANY, 0, CL_SUCCESS);
  mica__cl_install(&api);
}

void fault_remove(void) { mica__cl_install(NULL); }

void fault_arm(fault_call call, unsigned n, cl_int error) {
  layer.armed = call;
  layer.remaining = n;
  layer.error = error;
  layer.fired = FAULT_CALL_COUNT;
  layer.loses = false;
}

void fault_lose(fault_call call, unsigned n, cl_int error) {
  fault_arm(call, n, error);
  layer.loses = true;
}

void fault_always(fault_call call, cl_int error) { layer.always[call] = error; }

void fault_build(const char *first, const char *second) {
  layer.refused[0] = first;
  layer.refused[1] = second;
}

fault_call fault_fired(void) { return layer.fired; }

unsigned long fault_calls(fault_call call) {
  if (call != FAULT_ANY) return layer.calls[call];
  unsigned long sum = 0;
  for (int i = 0; i < FAULT_CALL_COUNT; i++) sum += layer.calls[i];
  return sum;
}

const char *fault_call_name(fault_call call) {
  static const char *const names[] = {
#define STATUS_NAME(name, parameters, arguments) #name,
#define OBJECT_NAME(type, name, parameters, arguments) #name,
      MICA__CL_CALLS(STATUS_NAME, OBJECT_NAME)};
  return call < FAULT_CALL_COUNT ? names[call] : "none";
}

long fault_live(void) {
  long sum = 0;
  for (int i = 0; i < KIND_COUNT; i++) sum += layer.live[i] < 0 ? -layer.live[i] : layer.live[i];
  return sum;
}

const char *fault_live_text(void) {
  static const char *const names[] = {
#define KIND_NAME(name) #name,
      KIND_LIST(KIND_NAME)};
  static char text[256];
  int at = 0;
  text[0] = '\0';
  for (int i = 0; i < KIND_COUNT; i++)
    if (layer.live[i])
      at += snprintf(text + at, sizeof text - (size_t)at, "%s%ld %s", at ? ", " : "", layer.live[i], names[i]);
  return text;
}
