#include "runtime/launch.h"

#include "base/checked.h"
#include "base/element.h"
#include "runtime/cl_error.h"
#include "runtime/engine.h"
#include "runtime/recording.h"

#include <string.h>

#include <stdio.h>

static _Atomic uint64_t launch_total;

uint64_t mica__launch_total(void) { return atomic_load(&launch_total); }

mica__launch mica__launch_of(mica__kernel *kernel) { return (mica__launch){.kernel = kernel}; }

void mica__launch_pack(mica__launch *launch) { launch->is_packed = true; }

static void fail_packing(mica__launch *launch, mica_status status, const char *what) {
  if (launch->status == MICA_OK) launch->status = mica__fail(status, "kernel %s: %s", launch->kernel->name, what);
}

static mica__arg *next_arg(mica__launch *launch) {
  static _Thread_local mica__arg spill; /* swallows what does not fit, so that callers need no check */
  if (launch->arg_count == MICA__MAX_ARGS) {
    fail_packing(launch, MICA_E_INVALID, "too many arguments");
    return &spill;
  }
  return &launch->args[launch->arg_count++];
}

/* Adds a value of 4 or 8 bytes to those of a packed launch. */
static void add_packed(mica__launch *launch, const void *value, size_t size) {
  if (launch->packed_count == MICA__MAX_PACKED) {
    fail_packing(launch, MICA_E_INVALID, "too many values");
    return;
  }
  int32_t word = 0;
  int64_t *to = &launch->packed[launch->packed_count++];
  memcpy(size == sizeof word ? (void *)&word : to, value, size);
  if (size == sizeof word) *to = word;
}

void mica__launch_buffer(mica__launch *launch, mica_buffer *buffer, int64_t first) {
  uint32_t place = launch->is_packed ? launch->packed_count : launch->arg_count + 1;
  *next_arg(launch) =
      (mica__arg){.kind = MICA__ARG_BUFFER, .size = sizeof(cl_mem), .first = place, .value.buffer = buffer};
  mica__launch_long(launch, first);
}

void mica__launch_tensor(mica__launch *launch, const mica_tensor *tensor) {
  mica__launch_buffer(launch, tensor->buffer, tensor->first);
}

void mica__launch_optional(mica__launch *launch, const mica_tensor *tensor) {
  mica__launch_buffer(launch, tensor ? tensor->buffer : NULL, tensor ? tensor->first : 0);
}

void mica__launch_size(mica__launch *launch, int64_t size) {
  if (size < INT32_MIN || size > INT32_MAX) fail_packing(launch, MICA_E_OVERFLOW, "a size does not fit 32 bits");
  mica__launch_int(launch, (int32_t)size);
}

#define DEFINE_VALUE(name, type, field)                                                                                \
  void mica__launch_##name(mica__launch *launch, type value) {                                                         \
    if (launch->is_packed)                                                                                             \
      add_packed(launch, &value, sizeof value);                                                                        \
    else                                                                                                               \
      *next_arg(launch) = (mica__arg){.kind = MICA__ARG_BYTES, .size = sizeof value, .value.field = value};            \
  }
DEFINE_VALUE(int, int32_t, i32)
DEFINE_VALUE(long, int64_t, i64)
DEFINE_VALUE(float, float, f32)
DEFINE_VALUE(double, double, f64)

#define DEFINE_VECTOR(name, scalar, type, field)                                                                       \
  void mica__launch_##name(mica__launch *launch, const type values[8]) {                                               \
    if (launch->is_packed) {                                                                                           \
      for (int i = 0; i < 8; i++) mica__launch_##scalar(launch, values[i]);                                            \
      return;                                                                                                          \
    }                                                                                                                  \
    mica__arg *arg = next_arg(launch);                                                                                 \
    *arg = (mica__arg){.kind = MICA__ARG_BYTES, .size = 8 * sizeof *values};                                           \
    memcpy(arg->value.field, values, arg->size);                                                                       \
  }
DEFINE_VECTOR(int8, int, int32_t, i32x8)
DEFINE_VECTOR(long8, long, int64_t, i64x8)
DEFINE_VECTOR(float8, float, float, f32x8)

void mica__launch_scalar(mica__launch *launch, mica_dtype dtype, double value) {
  int64_t wide = 0;
  int32_t narrow = 0;
  mica__element_set(MICA_I64, &wide, 0, value);
  mica__element_set(MICA_I32, &narrow, 0, value);
  if (dtype == MICA_F64)
    mica__launch_double(launch, value);
  else if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT)
    mica__launch_float(launch, (float)value);
  else if (dtype == MICA_I64)
    mica__launch_long(launch, wide);
  else
    mica__launch_int(launch, narrow);
}

void mica__launch_local(mica__launch *launch, size_t bytes) {
  *next_arg(launch) = (mica__arg){.kind = MICA__ARG_LOCAL, .size = bytes};
}

static void set_range(mica__launch *launch, uint32_t dims, const int64_t *global, const size_t *local) {
  launch->dims = dims;
  for (uint32_t i = 0; i < dims; i++) {
    if (global[i] < 0 || (uint64_t)global[i] > SIZE_MAX / 2)
      fail_packing(launch, MICA_E_OVERFLOW, "an index space is too large");
    launch->global[i] = (size_t)global[i];
    launch->local[i] = local[i];
  }
}

void mica__launch_range1(mica__launch *launch, int64_t global, size_t local) { set_range(launch, 1, &global, &local); }

void mica__launch_range3(mica__launch *launch, const int64_t global[3], const size_t local[3]) {
  set_range(launch, 3, global, local);
}

void mica__launch_cost(mica__launch *launch, double flops, double bytes) {
  launch->flops = flops;
  launch->bytes = bytes;
}

/* Group sizes against the limits of device and kernel; local memory is checked by the driver, which alone knows what
 * the kernel itself declares. */
static mica_status check_group(const mica_engine *engine, const mica__launch *launch) {
  const mica_device_info *device = &engine->device.info;
  size_t items = 1;
  if (launch->local[0] == 0) return MICA_OK;
  for (uint32_t i = 0; i < launch->dims; i++) {
    if (launch->local[i] == 0) return mica__fail(MICA_E_INVALID, "kernel %s: half a group size", launch->kernel->name);
    if (launch->local[i] > device->max_group_dim[i] || !mica__mul_size(items, launch->local[i], &items))
      items = SIZE_MAX;
  }
  if (items > launch->kernel->max_group || items > device->max_group)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "kernel %s wants groups of %zu x %zu x %zu; %s allows it %zu, at most %zu x %zu x %zu",
                      launch->kernel->name, launch->local[0], launch->dims > 1 ? launch->local[1] : 1,
                      launch->dims > 2 ? launch->local[2] : 1, device->name,
                      launch->kernel->max_group < device->max_group ? launch->kernel->max_group : device->max_group,
                      device->max_group_dim[0], device->max_group_dim[1], device->max_group_dim[2]);
  return MICA_OK;
}

mica_status mica__launch_check(const mica_engine *engine, const mica__launch *launch) {
  if (launch->status != MICA_OK) return launch->status;
  const mica__kernel *kernel = launch->kernel;
  if (launch->dims == 0) return mica__fail(MICA_E_INVALID, "kernel %s: no index space", kernel->name);
  /* Too few would leave those of an earlier launch in place. */
  uint32_t count = launch->arg_count + (launch->is_packed ? 1 : 0);
  if (kernel->arg_count != MICA__ANY_ARGS && count != kernel->arg_count)
    return mica__fail(MICA_E_INVALID, "kernel %s takes %u arguments, not %u", kernel->name, kernel->arg_count, count);
  return check_group(engine, launch);
}

bool mica__launch_is_empty(const mica__launch *launch) {
  for (uint32_t i = 0; i < launch->dims; i++)
    if (launch->global[i] == 0) return true;
  return false;
}

static mica_status set_arg(const mica_engine *engine, cl_kernel handle, const mica__launch *launch, uint32_t index,
                           size_t size, const void *value) {
  cl_int error = engine->api->SetKernelArg(handle, index, size, value);
  if (error == CL_SUCCESS) return MICA_OK;
  char where[128];
  snprintf(where, sizeof where, "kernel %s, argument %u of %zu bytes", launch->kernel->name, index, size);
  return mica__cl_check(error, where);
}

mica_status mica__launch_set_arg(const mica_engine *engine, cl_kernel handle, const mica__launch *launch,
                                 uint32_t index) {
  const mica__arg *arg = &launch->args[index];
  const void *value = &arg->value;
  if (arg->kind == MICA__ARG_BUFFER) value = arg->value.buffer ? &arg->value.buffer->memory : NULL;
  if (arg->kind == MICA__ARG_LOCAL) value = NULL;
  return set_arg(engine, handle, launch, index, arg->size, value);
}

mica_status mica__launch_set_packed(const mica_engine *engine, cl_kernel handle, const mica__launch *launch) {
  return set_arg(engine, handle, launch, launch->arg_count, launch->packed_count * sizeof *launch->packed,
                 launch->packed);
}

mica_status mica__launch_set_args(const mica_engine *engine, cl_kernel handle, const mica__launch *launch) {
  for (uint32_t i = 0; i < launch->arg_count; i++) MICA_TRY(mica__launch_set_arg(engine, handle, launch, i));
  return launch->is_packed ? mica__launch_set_packed(engine, handle, launch) : MICA_OK;
}

mica_status mica__launch_enqueue(mica_queue *queue, cl_kernel handle, const mica__launch *launch) {
  mica_engine *engine = queue->engine;
  size_t global[3] = {1, 1, 1};
  for (uint32_t i = 0; i < launch->dims; i++)
    global[i] = launch->local[0] ? mica__round_up(launch->global[i], launch->local[i]) : launch->global[i];
  bool profiled = atomic_load_explicit(&engine->profile.active, memory_order_relaxed) && queue->can_profile;
  cl_event event = NULL;
  MICA_TRY(mica__cl_check(engine->api->EnqueueNDRangeKernel(queue->handle, handle, launch->dims, NULL, global,
                                                            launch->local[0] ? launch->local : NULL, 0, NULL,
                                                            profiled ? &event : NULL),
                          launch->kernel->name));
  for (uint32_t i = 0; i < launch->arg_count; i++)
    if (launch->args[i].kind == MICA__ARG_BUFFER && launch->args[i].value.buffer)
      mica__buffer_use(launch->args[i].value.buffer, queue);
  if (event) mica__profile_add(engine, queue, launch, event);
  atomic_fetch_add(&queue->submitted, 1);
  atomic_fetch_add(&engine->stats.launches, 1);
  if (engine->device.info.device_class != MICA_DEVICE_CLASS_NULL) atomic_fetch_add(&launch_total, 1);
  return MICA_OK;
}

mica_status mica__queue_submit(mica_queue *queue, const mica__launch *launch) {
  MICA_TRY(mica__launch_check(queue->engine, launch));
  if (mica__launch_is_empty(launch)) return MICA_OK;
  if (queue->recording) return mica__recording_add(queue->recording, launch);
  mica__kernel *kernel = launch->kernel;
  pthread_mutex_lock(&kernel->lock);
  mica_status status = mica__launch_set_args(queue->engine, kernel->handle, launch);
  if (status == MICA_OK) status = mica__launch_enqueue(queue, kernel->handle, launch);
  if (status == MICA_OK) mica__program_used(kernel, launch->local);
  pthread_mutex_unlock(&kernel->lock);
  /* Which of them it writes is not known. */
  for (uint32_t i = 0; i < launch->arg_count; i++)
    if (launch->args[i].kind == MICA__ARG_BUFFER && launch->args[i].value.buffer)
      atomic_fetch_add(&launch->args[i].value.buffer->changes, 1);
  return status;
}
