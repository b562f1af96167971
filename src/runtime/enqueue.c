#include "runtime/enqueue.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/kernel_table.h"
#include "runtime/lost.h"
#include "runtime/profile.h"

#include <stdio.h>

static _Atomic uint64_t launch_total;

uint64_t mica__launch_total(void) { return atomic_load(&launch_total); }

/* Checks group sizes against the limits of device and kernel. The driver checks local memory, because only it knows
 * what the kernel itself declares. */
static mica_status check_group(const mica_engine *engine, const mica__launch *launch) {
  const mica_device_info *device = &engine->device.info;
  size_t items = 1;
  if (launch->local[0] == 0) return MICA_OK;
  for (uint32_t i = 0; i < launch->dims; i++) {
    if (launch->local[i] == 0)
      return mica__fail(MICA_E_INVALID, "kernel %s: only some sizes of the work-group are 0; all or none must be 0",
                        launch->kernel->name);
    if (launch->local[i] > device->max_group_dim[i] || !mica__mul_size(items, launch->local[i], &items))
      items = SIZE_MAX;
  }
  if (items > launch->kernel->max_group || items > device->max_group)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "kernel %s needs groups of %zu x %zu x %zu work-items, but %s allows at most %zu in all and %zu "
                      "x %zu x %zu by axis",
                      launch->kernel->name, launch->local[0], launch->dims > 1 ? launch->local[1] : 1,
                      launch->dims > 2 ? launch->local[2] : 1, device->name,
                      launch->kernel->max_group < device->max_group ? launch->kernel->max_group : device->max_group,
                      device->max_group_dim[0], device->max_group_dim[1], device->max_group_dim[2]);
  return MICA_OK;
}

mica_status mica__launch_check(const mica_engine *engine, const mica__launch *launch) {
  if (launch->status != MICA_OK) return launch->status;
  const mica__kernel *kernel = launch->kernel;
  if (launch->dims == 0)
    return mica__fail(MICA_E_INVALID, "kernel %s: the number of work-items was not set", kernel->name);
  /* If a launch gave too few arguments, the kernel would use those of an earlier launch for the missing ones. */
  uint32_t count = launch->arg_count + (launch->is_packed ? 1 : 0);
  if (kernel->arg_count != MICA__ANY_ARGS && count != kernel->arg_count)
    return mica__fail(MICA_E_INVALID, "kernel %s takes %u arguments, but was given %u", kernel->name, kernel->arg_count,
                      count);
  mica__split split;
  MICA_TRY(check_group(engine, launch));
  return mica__split_make(&engine->split_limits, launch, &split);
}

bool mica__launch_is_empty(const mica__launch *launch) {
  for (uint32_t i = 0; i < launch->dims; i++)
    if (launch->global[i] == 0) return true;
  return false;
}

static mica_status set_arg(mica_engine *engine, cl_kernel handle, const mica__launch *launch, uint32_t index,
                           size_t size, const void *value) {
  cl_int error = engine->api->SetKernelArg(handle, index, size, value);
  if (error == CL_SUCCESS) return MICA_OK;
  char where[128];
  snprintf(where, sizeof where, "kernel %s, argument %u of %zu bytes", launch->kernel->name, index, size);
  return mica__engine_check(engine, error, where);
}

mica_status mica__launch_set_arg(mica_engine *engine, cl_kernel handle, const mica__launch *launch, uint32_t index) {
  const mica__arg *arg = &launch->args[index];
  const void *value = &arg->value;
  cl_mem image = NULL;
  if (arg->kind == MICA__ARG_BUFFER) value = arg->value.buffer ? &arg->value.buffer->memory : NULL;
  if (arg->kind == MICA__ARG_LOCAL) value = NULL;
  if (arg->kind == MICA__ARG_TEXTURE) {
    MICA_TRY(mica__texture_prepare(arg->value.buffer, arg->first));
    image = atomic_load(&arg->value.buffer->textures[arg->first]);
    value = &image;
  }
  return set_arg(engine, handle, launch, index, arg->size, value);
}

mica_status mica__launch_set_packed(mica_engine *engine, cl_kernel handle, const mica__launch *launch) {
  return set_arg(engine, handle, launch, launch->arg_count, launch->packed_count * sizeof *launch->packed,
                 launch->packed);
}

mica_status mica__launch_set_args(mica_engine *engine, cl_kernel handle, const mica__launch *launch) {
  for (uint32_t i = 0; i < launch->arg_count; i++) MICA_TRY(mica__launch_set_arg(engine, handle, launch, i));
  return launch->is_packed ? mica__launch_set_packed(engine, handle, launch) : MICA_OK;
}

static mica_status enqueue_part(mica_queue *queue, cl_kernel handle, const mica__launch *launch,
                                const mica__split *split, const size_t offset[3]) {
  mica_engine *engine = queue->engine;
  size_t range[3];
  bool profiled = atomic_load_explicit(&engine->profile->active, memory_order_relaxed) && queue->can_profile;
  cl_event event = NULL;
  for (int d = 0; d < 3; d++) {
    size_t left = split->global[d] - offset[d];
    range[d] = split->part[d] < left ? split->part[d] : left;
  }
  MICA_TRY(mica__engine_check(
      engine,
      engine->api->EnqueueNDRangeKernel(queue->handle, handle, launch->dims, split->count > 1 ? offset : NULL, range,
                                        launch->local[0] ? launch->local : NULL, 0, NULL, profiled ? &event : NULL),
      launch->kernel->name));
  if (event) mica__profile_add(engine, queue, launch, 1.0 / (double)split->count, event);
  return MICA_OK;
}

/* Flushes each part before the next is queued, so that the driver cannot join them. */
static mica_status enqueue_parts(mica_queue *queue, cl_kernel handle, const mica__launch *launch,
                                 const mica__split *split) {
  size_t at[3];
  for (at[2] = 0; at[2] < split->global[2]; at[2] += split->part[2])
    for (at[1] = 0; at[1] < split->global[1]; at[1] += split->part[1])
      for (at[0] = 0; at[0] < split->global[0]; at[0] += split->part[0]) {
        MICA_TRY(enqueue_part(queue, handle, launch, split, at));
        MICA_TRY(mica__engine_check(queue->engine, queue->engine->api->Flush(queue->handle), launch->kernel->name));
      }
  return MICA_OK;
}

static mica_status enqueue_all(mica_queue *queue, cl_kernel handle, const mica__launch *launch,
                               const mica__split *split) {
  if (split->count == 1)
    MICA_TRY(enqueue_part(queue, handle, launch, split, (const size_t[3]){0, 0, 0}));
  else
    MICA_TRY(enqueue_parts(queue, handle, launch, split));
  for (uint32_t i = 0; i < launch->arg_count; i++)
    if (launch->args[i].kind == MICA__ARG_BUFFER && launch->args[i].value.buffer)
      mica__buffer_use(launch->args[i].value.buffer, queue);
  atomic_fetch_add(&queue->submitted, 1);
  return MICA_OK;
}

mica_status mica__launch_enqueue(mica_queue *queue, cl_kernel handle, const mica__launch *launch) {
  mica_engine *engine = queue->engine;
  mica__split split;
  MICA_TRY(mica__split_make(&engine->split_limits, launch, &split));
  pthread_mutex_lock(&queue->lock);
  mica_status status = enqueue_all(queue, handle, launch, &split);
  pthread_mutex_unlock(&queue->lock);
  MICA_TRY(status);
  atomic_fetch_add(&engine->stats.launches, 1);
  if (engine->device.info.device_class != MICA_DEVICE_CLASS_NULL) atomic_fetch_add(&launch_total, 1);
  return MICA_OK;
}
