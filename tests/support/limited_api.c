#include "support/limited_api.h"

#include "runtime/opencl_api.h"
#include "runtime/split.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0: as the device has it. */
static struct {
  cl_device_type type;
  size_t group, groups, items, texture;
  cl_ulong local, buffer, memory;
  cl_uint bits, vectors, vendor_id;
  char vendor[32];
  bool planes, nofp64, nocompiler, unoptimised, kernel_writes, null;
} limit;

/* What is allocated, where `memory` limits it. */
static struct {
  pthread_mutex_t lock;
  struct {
    cl_mem memory;
    size_t bytes;
    int references;
  } blocks[4096];
  size_t count;
  cl_ulong bytes;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};

static mica__cl_api api, below;

#define CAP(type, value)                                                                                               \
  if ((value) && *(type *)out > (type)(value)) *(type *)out = (type)(value)

/* Takes the word out of a list of words, which becomes shorter. */
static void remove_word(char *list, const char *word) {
  char *at = strstr(list, word);
  if (at) memmove(at, at + strlen(word), strlen(at + strlen(word)) + 1);
}

static cl_int text_info(const char *text, size_t size, void *out, size_t *used) {
  size_t length = strlen(text) + 1;
  if (used) *used = length;
  if (!out) return CL_SUCCESS;
  if (size < length) return CL_INVALID_VALUE;
  memcpy(out, text, length);
  return CL_SUCCESS;
}

static bool is_unoptimised(cl_device_id device) {
  cl_device_type type = 0;
  return limit.unoptimised && below.GetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) == CL_SUCCESS &&
         type & CL_DEVICE_TYPE_CPU;
}

/* Another version than the driver's own, so that no cache takes an optimised program for one that is not. */
static cl_int unoptimised_driver(cl_device_id device, size_t size, void *out, size_t *used) {
  char driver[256];
  cl_int error = below.GetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver - 16, driver, NULL);
  if (error != CL_SUCCESS) return error;
  strcat(driver, ", unoptimised");
  return text_info(driver, size, out, used);
}

/* The device's extensions, and one more. */
static cl_int more_extensions(cl_device_id device, size_t size, void *out, size_t *used) {
  char list[8192];
  cl_int error = below.GetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof list - 64, list, NULL);
  if (error != CL_SUCCESS) return error;
  strcat(list, " cl_khr_image2d_from_buffer");
  return text_info(list, size, out, used);
}

#define IMAGE_PITCH_ALIGNMENT 0x104A
#define PITCH 64

static cl_int limited_device_info(cl_device_id device, cl_device_info what, size_t size, void *out, size_t *used) {
  if (what == CL_DEVICE_VENDOR && *limit.vendor) return text_info(limit.vendor, size, out, used);
  if (what == CL_DRIVER_VERSION && is_unoptimised(device)) return unoptimised_driver(device, size, out, used);
  if (what == CL_DEVICE_EXTENSIONS && limit.planes) return more_extensions(device, size, out, used);
  cl_int error = below.GetDeviceInfo(device, what, size, out, used);
  if (error != CL_SUCCESS || !out) return error;
  switch (what) {
  case CL_DEVICE_TYPE:
    if (limit.type) *(cl_device_type *)out = limit.type;
    break;
  case CL_DEVICE_COMPILER_AVAILABLE:
    if (limit.nocompiler) *(cl_bool *)out = CL_FALSE;
    break;
  case CL_DEVICE_MAX_WORK_GROUP_SIZE: CAP(size_t, limit.group); break;
  case CL_DEVICE_LOCAL_MEM_SIZE: CAP(cl_ulong, limit.local); break;
  case CL_DEVICE_LOCAL_MEM_TYPE:
    if (limit.type == CL_DEVICE_TYPE_GPU) *(cl_device_local_mem_type *)out = CL_LOCAL;
    break;
  case CL_DEVICE_MAX_MEM_ALLOC_SIZE: CAP(cl_ulong, limit.buffer); break;
  case CL_DEVICE_ADDRESS_BITS: CAP(cl_uint, limit.bits); break;
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: CAP(cl_uint, limit.vectors); break;
  case CL_DEVICE_IMAGE_MAX_BUFFER_SIZE: CAP(size_t, limit.texture); break;
  case IMAGE_PITCH_ALIGNMENT:
    if (limit.planes) *(cl_uint *)out = PITCH;
    break;
  case CL_DEVICE_VENDOR_ID:
    if (limit.vendor_id) *(cl_uint *)out = limit.vendor_id;
    break;
  case CL_DEVICE_GLOBAL_MEM_SIZE:
    if (limit.bits == 32) CAP(cl_ulong, UINT32_MAX);
    CAP(cl_ulong, limit.memory);
    break;
  case CL_DEVICE_DOUBLE_FP_CONFIG:
    if (limit.nofp64) *(cl_device_fp_config *)out = 0;
    break;
  case CL_DEVICE_EXTENSIONS:
    if (limit.nofp64) remove_word(out, "cl_khr_fp64");
    break;
  }
  return CL_SUCCESS;
}

static cl_int limited_kernel_info(cl_kernel kernel, cl_device_id device, cl_kernel_work_group_info what, size_t size,
                                  void *out, size_t *used) {
  cl_int error = below.GetKernelWorkGroupInfo(kernel, device, what, size, out, used);
  if (error == CL_SUCCESS && out && what == CL_KERNEL_WORK_GROUP_SIZE) CAP(size_t, limit.group);
  return error;
}

/* A device without double does not define the macro of its extension. Mica gives its text whole. */
static cl_program limited_source(cl_context context, cl_uint count, const char **texts, const size_t *sizes,
                                 cl_int *error) {
  if (limit.nocompiler) {
    if (error) *error = CL_COMPILER_NOT_AVAILABLE;
    return NULL;
  }
  if (!limit.nofp64 || count != 1) return below.CreateProgramWithSource(context, count, texts, sizes, error);
  static const char without[] = "#undef cl_khr_fp64\n";
  return below.CreateProgramWithSource(context, 2, (const char *[]){without, texts[0]},
                                       (const size_t[]){0, sizes ? sizes[0] : 0}, error);
}

/* PoCL 6.0 ends the process on some kernels that LLVM 18 is not to optimise: "Instruction Combining did not reach a
 * fixpoint", or an assertion in isAutomaticLocal. Emulated matrix units are compiled without optimisation even so:
 * optimised, their results are sometimes wrong (tests/ops/emulation.h). */
static bool must_be_optimised(cl_device_id device, const char *options) {
  char platform[64] = "", driver[64] = "";
  cl_platform_id id = NULL;
  below.GetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof(cl_platform_id), &id, NULL);
  below.GetPlatformInfo(id, CL_PLATFORM_NAME, sizeof platform, platform, NULL);
  below.GetDeviceInfo(device, CL_DRIVER_VERSION, sizeof driver, driver, NULL);
  return strstr(platform, "Portable Computing Language") && atoi(driver) > 3 &&
         !(options && strstr(options, "MMA_NATIVE=0"));
}

static cl_int unoptimised_build(cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
                                void (*notify)(cl_program, void *), void *user) {
  char all[4096];
  if (!is_unoptimised(devices[0]) || must_be_optimised(devices[0], options))
    return below.BuildProgram(program, count, devices, options, notify, user);
  if ((size_t)snprintf(all, sizeof all, "%s -cl-opt-disable", options ? options : "") >= sizeof all)
    return CL_INVALID_BUILD_OPTIONS;
  return below.BuildProgram(program, count, devices, all, notify, user);
}

static cl_mem limited_buffer(cl_context context, cl_mem_flags flags, size_t size, void *host, cl_int *error) {
  cl_mem memory = NULL;
  if (limit.buffer && size > limit.buffer) {
    *error = CL_INVALID_BUFFER_SIZE;
    return NULL;
  }
  if (!limit.memory) return below.CreateBuffer(context, flags, size, host, error);
  pthread_mutex_lock(&held.lock);
  *error = CL_MEM_OBJECT_ALLOCATION_FAILURE;
  if (size <= limit.memory - held.bytes && held.count < sizeof held.blocks / sizeof *held.blocks)
    memory = below.CreateBuffer(context, flags, size, host, error);
  if (memory) {
    held.blocks[held.count].memory = memory;
    held.blocks[held.count].bytes = size;
    held.blocks[held.count++].references = 1;
    held.bytes += size;
  }
  pthread_mutex_unlock(&held.lock);
  return memory;
}

/* An image over a buffer as a driver makes it that has the extension: of rows that are aligned, and no larger than the
 * buffer. The buffer's memory is the host's, which shares it with an image made of it. */
static cl_mem plane_image(cl_context context, cl_mem_flags flags, const cl_image_format *format,
                          const cl_image_desc *desc, void *host, cl_int *error) {
  cl_command_queue queue = NULL;
  cl_device_id device = NULL;
  size_t bytes = 0;
  if (!desc->buffer || desc->image_type != CL_MEM_OBJECT_IMAGE2D)
    return below.CreateImage(context, flags, format, desc, host, error);
  const size_t pixel = format->image_channel_data_type == CL_HALF_FLOAT ? 8 : 16;
  *error = below.GetMemObjectInfo(desc->buffer, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
  if (*error == CL_SUCCESS && (desc->image_width % PITCH || desc->image_row_pitch != desc->image_width * pixel ||
                               desc->image_height * desc->image_row_pitch > bytes))
    *error = CL_INVALID_IMAGE_DESCRIPTOR;
  if (*error == CL_SUCCESS) *error = clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
  if (*error == CL_SUCCESS) queue = below.CreateCommandQueue(context, device, 0, error);
  if (!queue) return NULL;
  cl_image_desc alone = *desc;
  alone.buffer = NULL;
  void *memory = below.EnqueueMapBuffer(queue, desc->buffer, CL_TRUE, CL_MAP_READ, 0, bytes, 0, NULL, NULL, error);
  cl_mem image = memory ? below.CreateImage(context, flags | CL_MEM_USE_HOST_PTR, format, &alone, memory, error) : NULL;
  if (memory) below.EnqueueUnmapMemObject(queue, desc->buffer, memory, 0, NULL, NULL);
  below.Finish(queue);
  below.ReleaseCommandQueue(queue);
  return image;
}

/* Counts a reference to a block more or less; the block is forgotten with the last. */
static void count_references(cl_mem memory, int change) {
  pthread_mutex_lock(&held.lock);
  for (size_t i = 0; i < held.count; i++) {
    if (held.blocks[i].memory != memory || (held.blocks[i].references += change) > 0) continue;
    held.bytes -= held.blocks[i].bytes;
    held.blocks[i--] = held.blocks[--held.count];
  }
  pthread_mutex_unlock(&held.lock);
}

static cl_int retain_memory(cl_mem memory) {
  count_references(memory, 1);
  return below.RetainMemObject(memory);
}

static cl_int release_memory(cl_mem memory) {
  count_references(memory, -1);
  return below.ReleaseMemObject(memory);
}

/* Made once for the context of the program's engine. */
static cl_kernel writing_kernel(cl_context context, cl_int *error) {
  static const char *source =
      "__kernel void put(__global const uchar *x, __global uchar *y, const ulong at, const ulong n) {\n"
      "  y[at + get_global_id(0)] = x[get_global_id(0) % n];\n"
      "}\n";
  static cl_context made_for;
  static cl_kernel kernel;
  if (kernel && made_for == context) return kernel;
  cl_program program = below.CreateProgramWithSource(context, 1, &source, NULL, error);
  if (!program) return NULL;
  *error = below.BuildProgram(program, 0, NULL, "", NULL, NULL);
  kernel = *error == CL_SUCCESS ? below.CreateKernel(program, "put", error) : NULL;
  made_for = context;
  below.ReleaseProgram(program);
  return kernel;
}

/* Writes `size` bytes, which are those of host, of which there are `given`, over and over. */
static cl_int kernel_put(cl_command_queue queue, cl_mem memory, cl_bool block, size_t at, size_t size, const void *host,
                         size_t given, cl_uint count, const cl_event *waits, cl_event *event) {
  union {
    const void *whole;
    void *taken;
  } data = {host};
  cl_context context = NULL;
  cl_kernel kernel = NULL;
  cl_ulong first = at, period = given;
  cl_int error = below.GetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof context, &context, NULL);
  if (error == CL_SUCCESS) kernel = writing_kernel(context, &error);
  cl_mem copy =
      kernel ? below.CreateBuffer(context, CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, given, data.taken, &error) : NULL;
  if (!copy) return error;
  error = below.SetKernelArg(kernel, 0, sizeof copy, &copy);
  if (error == CL_SUCCESS) error = below.SetKernelArg(kernel, 1, sizeof memory, &memory);
  if (error == CL_SUCCESS) error = below.SetKernelArg(kernel, 2, sizeof first, &first);
  if (error == CL_SUCCESS) error = below.SetKernelArg(kernel, 3, sizeof period, &period);
  if (error == CL_SUCCESS) error = below.EnqueueNDRangeKernel(queue, kernel, 1, NULL, &size, NULL, count, waits, event);
  if (error == CL_SUCCESS && block) error = below.Finish(queue);
  return error;
}

static cl_int kernel_write(cl_command_queue queue, cl_mem memory, cl_bool block, size_t at, size_t size,
                           const void *host, cl_uint count, const cl_event *waits, cl_event *event) {
  return kernel_put(queue, memory, block, at, size, host, size, count, waits, event);
}

static cl_int kernel_fill(cl_command_queue queue, cl_mem memory, const void *pattern, size_t pattern_size, size_t at,
                          size_t size, cl_uint count, const cl_event *waits, cl_event *event) {
  return kernel_put(queue, memory, CL_FALSE, at, size, pattern, pattern_size, count, waits, event);
}

static cl_int keep_memory(cl_mem memory) {
  (void)memory;
  return CL_SUCCESS;
}

static cl_int limited_launch(cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
                             const size_t *global, const size_t *local, cl_uint count, const cl_event *waits,
                             cl_event *event) {
  size_t items = 1, all = 1;
  for (cl_uint d = 0; d < dims; d++) {
    size_t side = local ? local[d] : 1;
    if (limit.groups && d > 0 && global[d] / side > limit.groups) return CL_INVALID_GLOBAL_WORK_SIZE;
    items *= side;
    all *= global[d];
  }
  if (local && limit.group && items > limit.group) return CL_INVALID_WORK_GROUP_SIZE;
  if (limit.items && all > limit.items && all > items) return CL_INVALID_GLOBAL_WORK_SIZE;
  cl_device_id device = NULL;
  cl_ulong bytes = 0;
  if (limit.local && below.GetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL) == CL_SUCCESS &&
      below.GetKernelWorkGroupInfo(kernel, device, CL_KERNEL_LOCAL_MEM_SIZE, sizeof bytes, &bytes, NULL) ==
          CL_SUCCESS &&
      bytes > limit.local)
    return CL_OUT_OF_RESOURCES;
  return below.EnqueueNDRangeKernel(queue, kernel, dims, offset, global, local, count, waits, event);
}

static bool take_word(const char *word) {
  const char *value = strchr(word, '=');
  unsigned long long number = value ? strtoull(value + 1, NULL, 10) : 0;
  if (!strcmp(word, "class=cpu"))
    limit.type = CL_DEVICE_TYPE_CPU;
  else if (!strcmp(word, "class=gpu"))
    limit.type = CL_DEVICE_TYPE_GPU;
  else if (!strcmp(word, "nofp64"))
    limit.nofp64 = true;
  else if (!strcmp(word, "planes"))
    limit.planes = true;
  else if (!strcmp(word, "nocompiler"))
    limit.nocompiler = true;
  else if (!strcmp(word, "unoptimised"))
    limit.unoptimised = true;
  else if (!strcmp(word, "null"))
    limit.null = true;
  else if (!strcmp(word, "writes=kernel"))
    limit.kernel_writes = true;
  else if (number && !strncmp(word, "group=", 6))
    limit.group = (size_t)number;
  else if (number && !strncmp(word, "texture=", 8))
    limit.texture = (size_t)number;
  else if (number && !strncmp(word, "groups=", 7))
    limit.groups = (size_t)number;
  else if (number && !strncmp(word, "items=", 6))
    limit.items = (size_t)number;
  else if (number && !strncmp(word, "local=", 6))
    limit.local = number;
  else if (number && !strncmp(word, "buffer=", 7))
    limit.buffer = number;
  else if (number && !strncmp(word, "memory=", 7))
    limit.memory = number;
  else if (number && !strncmp(word, "vectors=", 8))
    limit.vectors = (cl_uint)number;
  else if (number && !strncmp(word, "vendor_id=", 10))
    limit.vendor_id = (cl_uint)number;
  else if (!strncmp(word, "vendor=", 7) && strlen(word + 7) < sizeof limit.vendor)
    strcpy(limit.vendor, word + 7);
  else if (number == 32 && !strncmp(word, "bits=", 5))
    limit.bits = 32;
  else
    return false;
  return true;
}

bool limited_install(const char *limits) {
  char words[256], *state = NULL;
  memset(&limit, 0, sizeof limit);
  mica__cl_install(NULL);
  snprintf(words, sizeof words, "%s", limits);
  for (char *word = strtok_r(words, " ", &state); word; word = strtok_r(NULL, " ", &state))
    if (!take_word(word)) {
      fprintf(stderr, "limited_install: \"%s\" is no limit\n", word);
      return false;
    }
  below = api = limit.null ? *mica__cl_null() : *mica__cl_loader();
  held.count = 0;
  held.bytes = 0;
  api.GetDeviceInfo = limited_device_info;
  api.GetKernelWorkGroupInfo = limited_kernel_info;
  api.CreateProgramWithSource = limited_source;
  api.CreateBuffer = limited_buffer;
  api.EnqueueNDRangeKernel = limited_launch;
  if (limit.planes) api.CreateImage = plane_image;
  if (limit.unoptimised) api.BuildProgram = unoptimised_build;
  if (limit.memory) api.RetainMemObject = retain_memory, api.ReleaseMemObject = release_memory;
  if (limit.kernel_writes)
    api.EnqueueWriteBuffer = kernel_write, api.EnqueueFillBuffer = kernel_fill, api.ReleaseMemObject = keep_memory;
  mica__cl_install(&api);
  return true;
}

void limited_split(mica_engine *engine) {
  mica__split_limits *limits = mica__engine_split_limits(engine);
  if (limit.groups) limits->groups[1] = limits->groups[2] = limit.groups;
  if (limit.items) limits->items = limit.items;
}

const char *limited_or_exit(const char *limits) {
  if (!limited_install(limits)) exit(1);
  return NULL;
}
