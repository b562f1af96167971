#include "bench/device.h"

#include "bench/bench.h"
#include "runtime/opencl_api.h"
#include "runtime/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- data sheets --- */

#define NVIDIA                                                                                                         \
  .vendor = "NVIDIA Corporation", .vendor_id = 0x10de, .local = 48 << 10, .group = 1024,                               \
  .extensions = "cl_khr_fp64 cl_nv_device_attribute_query cl_nv_compiler_options"
#define AMD                                                                                                            \
  .vendor = "Advanced Micro Devices, Inc.", .vendor_id = 0x1002, .local = 64 << 10, .group = 256,                      \
  .extensions = "cl_khr_fp64 cl_khr_fp16 cl_khr_subgroups"
#define INTEL .vendor = "Intel(R) Corporation", .vendor_id = 0x8086, .units = 512, .group = 1024
#define INTEL_EXTENSIONS "cl_khr_fp16 cl_intel_subgroups cl_khr_subgroups cl_intel_required_subgroup_size"
/* One die of an MI250X, one stack of a PVC; an RDNA 2 reports pairs of units, Intel's report vector engines. */
static const bench_device devices[] = {
    {.name = "a100",
     .flops = 19.5e12,
     .bytes = 1555e9,
     .start = 3e-6,
     .host = 20e9,
     .matrix = 312e12,
     .reached = {0.84, 0.7}, /* by the model of its schedulers: 82 to 86, 64 to 78 % (RESULTS.md, `gemm_mma`) */
     NVIDIA,
     .model = "NVIDIA A100",
     .units = 108,
     .megahertz = 1410,
     .capability = 80},
    {.name = "h100",
     .flops = 67e12,
     .bytes = 3350e9,
     .start = 3e-6,
     .host = 40e9,
     NVIDIA,
     .clock = 0.915, /* 61.3 TFLOP/s by mica-bench peak */
     .matrix = 989e12,
     .reached = {0.28, 0.265}, /* products of 4,096 nn: 258 and 124 TFLOP/s, of which waves cost 7 and 5 % */
     .model = "NVIDIA H100",
     .units = 132,
     .megahertz = 1980,
     .capability = 90},
    {.name = "v100", .flops = 15.7e12, .bytes = 900e9, .start = 4e-6, .host = 11e9},
    {.name = "mi250x",
     .flops = 23.9e12,
     .bytes = 1638e9,
     .start = 5e-6,
     .host = 20e9,
     AMD,
     .model = "gfx90a",
     .units = 110,
     .megahertz = 1700},
    {.name = "rx6900",
     .flops = 23e12,
     .bytes = 512e9,
     .start = 5e-6,
     .host = 20e9,
     AMD,
     .model = "gfx1030",
     .units = 40,
     .megahertz = 2250},
    {.name = "arc",
     .flops = 17.2e12,
     .bytes = 560e9,
     .start = 5e-6,
     .host = 20e9,
     INTEL,
     .model = "Intel(R) Arc(TM) A770 Graphics",
     .extensions = INTEL_EXTENSIONS,
     .megahertz = 2100,
     .local = 64 << 10,
     .subgroups = {8, 32}},
    {.name = "pvc",
     .flops = 26e12,
     .bytes = 1640e9,
     .start = 5e-6,
     .host = 40e9,
     INTEL,
     .model = "Intel(R) Data Center GPU Max 1550",
     .extensions = INTEL_EXTENSIONS " cl_khr_fp64",
     .megahertz = 1600,
     .local = 128 << 10,
     .subgroups = {16, 32}},
    {.name = "here"},
};
enum { COUNT = sizeof devices / sizeof *devices };

const bench_device *bench_device_find(const char *name) {
  for (size_t i = 0; i < COUNT; i++)
    if (!strcmp(devices[i].name, name)) return &devices[i];
  return NULL;
}

const char *bench_device_names(bool planned) {
  static char text[128];
  *text = '\0';
  for (size_t i = 0; i < COUNT; i++)
    if (devices[i].vendor || !planned)
      snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", *text ? ", " : "", devices[i].name);
  return text;
}

/* --- a device that does nothing, and notes what it is given --- */

static mica__cl_api api, below;
static const bench_device *imagined;

typedef struct program {
  void *object;
  char *options, *source;
  bool generated; /* it has a kernel of the compiler's */
} program;
typedef struct kernel {
  void *object;
  bench_launch launch;
} kernel;
static program *programs;
static kernel *kernels;
static bench_launch *launches;
static size_t program_count, kernel_count, launch_count;
static bool keeps;

/* Room for one element more. */
static void *grown(void *list, size_t count, size_t size) {
  if (count & (count + 1)) return list;
  void *more = realloc(list, (2 * count + 2) * size);
  if (!more) exit(1);
  return more;
}

static cl_int answer(const void *value, size_t size, size_t room, void *out, size_t *used) {
  if (used) *used = size;
  if (!out) return CL_SUCCESS;
  if (room < size) return CL_INVALID_VALUE;
  memcpy(out, value, size);
  return CL_SUCCESS;
}
#define TEXT(text) answer(text, strlen(text) + 1, room, out, used)
#define VALUE(type, value) answer(&(type){value}, sizeof(type), room, out, used)

/* cl_ext.h has these where it is new enough. */
enum { CAPABILITY_MAJOR = 0x4000, CAPABILITY_MINOR = 0x4001, SUBGROUP_SIZES = 0x4108 };

static cl_int device_info(cl_device_id id, cl_device_info what, size_t room, void *out, size_t *used) {
  const bench_device *d = imagined;
  switch (what) {
  case CL_DEVICE_TYPE: return VALUE(cl_device_type, CL_DEVICE_TYPE_GPU);
  case CL_DEVICE_VENDOR_ID: return VALUE(cl_uint, d->vendor_id);
  case CL_DEVICE_VENDOR: return TEXT(d->vendor);
  case CL_DEVICE_NAME: return TEXT(d->model);
  case CL_DEVICE_MAX_COMPUTE_UNITS: return VALUE(cl_uint, d->units);
  case CL_DEVICE_MAX_CLOCK_FREQUENCY: return VALUE(cl_uint, d->megahertz);
  case CL_DEVICE_LOCAL_MEM_SIZE: return VALUE(cl_ulong, d->local);
  case CL_DEVICE_LOCAL_MEM_TYPE: return VALUE(cl_device_local_mem_type, CL_LOCAL);
  case CL_DEVICE_HOST_UNIFIED_MEMORY: return VALUE(cl_bool, CL_FALSE);
  case CL_DEVICE_MAX_WORK_GROUP_SIZE: return VALUE(size_t, d->group);
  case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT: return VALUE(cl_uint, 1);
  case CL_DEVICE_MEM_BASE_ADDR_ALIGN: return VALUE(cl_uint, 2048);
  case CL_DEVICE_EXTENSIONS: return TEXT(d->extensions);
  case CAPABILITY_MAJOR: return VALUE(cl_uint, d->capability / 10);
  case CAPABILITY_MINOR: return VALUE(cl_uint, d->capability % 10);
  case SUBGROUP_SIZES: return answer(d->subgroups, sizeof d->subgroups, room, out, used);
  default: return below.GetDeviceInfo(id, what, room, out, used);
  }
}

static cl_program create_program(cl_context context, cl_uint n, const char **texts, const size_t *sizes,
                                 cl_int *error) {
  programs = grown(programs, program_count, sizeof *programs);
  program *made = &programs[program_count++];
  *made = (program){.object = below.CreateProgramWithSource(context, n, texts, sizes, error)};
  made->source = n == 1 && !sizes ? strdup(texts[0]) : NULL;
  return made->object;
}

/* Objects' addresses come again: the last of one is meant. */
static program *program_of(cl_program object) {
  for (size_t i = program_count; i-- > 0;)
    if (programs[i].object == object) return &programs[i];
  return NULL;
}

static cl_int build(cl_program p, cl_uint n, const cl_device_id *ids, const char *options, mica__cl_build_fn fn,
                    void *user) {
  program *known = program_of(p);
  if (known) known->options = options ? strdup(options) : NULL;
  return below.BuildProgram(p, n, ids, options, fn, user);
}

static cl_kernel create_kernel(cl_program p, const char *name, cl_int *error) {
  kernels = grown(kernels, kernel_count, sizeof *kernels);
  kernel *k = &kernels[kernel_count++];
  *k = (kernel){.object = below.CreateKernel(p, name, error)};
  snprintf(k->launch.name, sizeof k->launch.name, "%s", name);
  program *known = program_of(p);
  if (known && known->options) snprintf(k->launch.options, sizeof k->launch.options, "%s", known->options);
  if (known && !strncmp(name, "fused_", 6)) known->generated = true;
  return k->object;
}

static kernel *kernel_of(cl_kernel object) {
  for (size_t i = kernel_count; i-- > 0;)
    if (kernels[i].object == object) return &kernels[i];
  return NULL;
}

static cl_int set_arg(cl_kernel object, cl_uint index, size_t size, const void *value) {
  kernel *k = kernel_of(object);
  if (k && index < 24 && value && (size == sizeof(int32_t) || size == sizeof k->launch.ints[0]))
    memcpy(k->launch.ints[index], value, size);
  return below.SetKernelArg(object, index, size, value);
}

static cl_int enqueue(cl_command_queue q, cl_kernel object, cl_uint dims, const size_t *offset, const size_t *global,
                      const size_t *local, cl_uint n, const cl_event *waits, cl_event *event) {
  const kernel *k = kernel_of(object);
  if (keeps && k) {
    launches = grown(launches, launch_count, sizeof *launches);
    bench_launch *l = &launches[launch_count++];
    *l = k->launch;
    l->groups = l->threads = 1;
    for (cl_uint d = 0; d < dims; d++) {
      const size_t items = local && local[d] ? local[d] : 1;
      l->groups *= global[d] / items;
      l->threads *= items;
    }
  }
  return below.EnqueueNDRangeKernel(q, object, dims, offset, global, local, n, waits, event);
}

void bench_device_imagine(const bench_device *device) {
  imagined = device;
  if (!device) {
    mica__cl_install(NULL);
    return;
  }
  below = api = *mica__cl_null();
  api.GetDeviceInfo = device_info;
  api.CreateProgramWithSource = create_program;
  api.BuildProgram = build;
  api.CreateKernel = create_kernel;
  api.SetKernelArg = set_arg;
  api.EnqueueNDRangeKernel = enqueue;
  mica__cl_install(&api);
}

bool bench_device_write_sources(const mica_device_info *info, const char *path) {
  const char *prelude = mica__split_prelude(info);
  FILE *file = fopen(path, "w");
  bool written = file != NULL;
  for (size_t i = 0; written && i < program_count; i++)
    if (programs[i].generated && programs[i].source) {
      const bool split = !strncmp(programs[i].source, prelude, strlen(prelude));
      written = fputs(programs[i].source + (split ? strlen(prelude) : 0), file) >= 0;
    }
  if (file && fclose(file) != 0) written = false;
  return written;
}

void bench_launches_begin(void) {
  keeps = true;
  launch_count = 0;
}

size_t bench_launches(const bench_launch **list) {
  *list = launches;
  return launch_count;
}
