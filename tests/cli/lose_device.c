/* Preloaded by tests: a device is lost after LOSE_AT launches (3000), the second that launches something, or the first
 * where LOSE_FIRST is set. LOSE says how: "fail", a launch fails, and from then on all that reaches the device does;
 * "fault", the launch seems to go well, and what comes after it fails; "hang", launches never come back; "large", one
 * launch asks for too much, and the device goes on; "write", a kernel writes out of bounds, and the rest is
 * up to the driver. The codes are those that NVIDIA's driver was seen to answer. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define QUEUE_CONTEXT 0x1090
#define QUEUE_DEVICE 0x1091
#define EVENT_QUEUE 0x11D0
#define OUT_OF_RESOURCES (-5)
#define INVALID_COMMAND_QUEUE (-36)
#define UNKNOWN (-9999)

typedef int info(void *, unsigned, size_t, void *, size_t *);

static _Atomic(void *) first;
static atomic_int launches;
static atomic_bool lost;

static bool is(const char *how) {
  const char *wanted = getenv("LOSE");
  return wanted && !strcmp(wanted, how);
}

/* True for the queue of the device that this is about. */
static bool concerns(void *queue) {
  static info *ask;
  void *device = NULL, *none = NULL;
  if (!ask) ask = (info *)dlsym(RTLD_NEXT, "clGetCommandQueueInfo");
  ask(queue, QUEUE_DEVICE, sizeof device, &device, NULL);
  atomic_compare_exchange_strong(&first, &none, device);
  return (device == first) == (getenv("LOSE_FIRST") != NULL);
}

static bool is_lost(void *queue) { return atomic_load(&lost) && concerns(queue); }

/* Calls the driver's function of that name. */
#define REAL(name, parameters, arguments)                                                                              \
  static int(*real) parameters;                                                                                        \
  if (!real) real = (int(*) parameters)dlsym(RTLD_NEXT, #name);                                                        \
  return real arguments

/* Launches a kernel that writes a terabyte after a buffer of 16 bytes. */
static void write_nowhere(void *queue) {
  typedef void *create_program(void *, unsigned, const char **, const size_t *, int *);
  typedef int build(void *, unsigned, void *const *, const char *, void *, void *);
  typedef void *create_kernel(void *, const char *, int *);
  typedef void *create_buffer(void *, unsigned long, size_t, void *, int *);
  typedef int set(void *, unsigned, size_t, const void *);
  typedef int launch(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const void *,
                     void *);
  const char *source = "__kernel void nowhere(__global int *p) { p[(1L << 38) + get_global_id(0) * 4096L] = 1; }";
  const size_t items = 1024;
  void *context = NULL;
  ((info *)dlsym(RTLD_NEXT, "clGetCommandQueueInfo"))(queue, QUEUE_CONTEXT, sizeof context, &context, NULL);
  void *program = ((create_program *)dlsym(RTLD_NEXT, "clCreateProgramWithSource"))(context, 1, &source, NULL, NULL);
  ((build *)dlsym(RTLD_NEXT, "clBuildProgram"))(program, 0, NULL, "", NULL, NULL);
  void *kernel = ((create_kernel *)dlsym(RTLD_NEXT, "clCreateKernel"))(program, "nowhere", NULL);
  void *buffer = ((create_buffer *)dlsym(RTLD_NEXT, "clCreateBuffer"))(context, 1, 16, NULL, NULL);
  ((set *)dlsym(RTLD_NEXT, "clSetKernelArg"))(kernel, 0, sizeof buffer, &buffer);
  ((launch *)dlsym(RTLD_NEXT, "clEnqueueNDRangeKernel"))(queue, kernel, 1, NULL, &items, NULL, 0, NULL, NULL);
}

int clEnqueueNDRangeKernel(void *queue, void *kernel, unsigned dims, const size_t *offset, const size_t *global,
                           const size_t *local, unsigned waits, const void *list, void *event) {
  const char *at = getenv("LOSE_AT");
  if (is_lost(queue)) return INVALID_COMMAND_QUEUE;
  if (getenv("LOSE") && concerns(queue) && atomic_fetch_add(&launches, 1) == (at ? atoi(at) : 3000)) {
    if (is("hang"))
      for (;;) pause();
    atomic_store(&lost, !is("large") && !is("write"));
    if (is("write"))
      write_nowhere(queue);
    else if (!is("fault"))
      return OUT_OF_RESOURCES;
  }
  REAL(clEnqueueNDRangeKernel,
       (void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, const void *, void *),
       (queue, kernel, dims, offset, global, local, waits, list, event));
}

int clEnqueueReadBuffer(void *queue, void *memory, unsigned blocks, size_t at, size_t size, void *to, unsigned waits,
                        const void *list, void *event) {
  if (is_lost(queue)) return OUT_OF_RESOURCES;
  REAL(clEnqueueReadBuffer, (void *, void *, unsigned, size_t, size_t, void *, unsigned, const void *, void *),
       (queue, memory, blocks, at, size, to, waits, list, event));
}

int clEnqueueWriteBuffer(void *queue, void *memory, unsigned blocks, size_t at, size_t size, const void *from,
                         unsigned waits, const void *list, void *event) {
  if (is_lost(queue)) return UNKNOWN;
  REAL(clEnqueueWriteBuffer, (void *, void *, unsigned, size_t, size_t, const void *, unsigned, const void *, void *),
       (queue, memory, blocks, at, size, from, waits, list, event));
}

static int finish(void *queue) { REAL(clFinish, (void *), (queue)); }

int clFinish(void *queue) { return is_lost(queue) ? INVALID_COMMAND_QUEUE : finish(queue); }

/* Nothing is in flight on a lost device, whereas the one below goes on. */
int clReleaseCommandQueue(void *queue) {
  if (is_lost(queue)) finish(queue);
  REAL(clReleaseCommandQueue, (void *), (queue));
}

int clWaitForEvents(unsigned count, void *const *events) {
  static info *ask;
  void *queue = NULL;
  if (!ask) ask = (info *)dlsym(RTLD_NEXT, "clGetEventInfo");
  if (count) ask(events[0], EVENT_QUEUE, sizeof queue, &queue, NULL);
  if (queue && is_lost(queue)) return INVALID_COMMAND_QUEUE;
  REAL(clWaitForEvents, (unsigned, void *const *), (count, events));
}
