#include "runtime/launch.h"

#include "base/checked.h"
#include "base/element.h"
#include "base/error.h"
#include "runtime/kernel_table.h"
#include "runtime/objects.h"

#include <string.h>

mica__launch mica__launch_of(mica__kernel *kernel) { return (mica__launch){.kernel = kernel}; }

void mica__launch_pack(mica__launch *launch) { launch->is_packed = true; }

static void fail_packing(mica__launch *launch, mica_status status, const char *what) {
  if (launch->status == MICA_OK)
    launch->status = mica__fail(status, "kernel %s: %s", mica__kernel_name(launch->kernel), what);
}

static mica__arg *next_arg(mica__launch *launch) {
  static _Thread_local mica__arg spill; /* receives what does not fit, so that callers need no check */
  if (launch->arg_count == MICA__MAX_ARGS) {
    fail_packing(launch, MICA_E_INVALID, "there are more arguments than a kernel can have");
    return &spill;
  }
  return &launch->args[launch->arg_count++];
}

/* Adds a value of 4 or 8 bytes to a packed launch. */
static void add_packed(mica__launch *launch, const void *value, size_t size) {
  if (launch->packed_count == MICA__MAX_PACKED) {
    fail_packing(launch, MICA_E_INVALID, "there are more values than the packed argument of a kernel can hold");
    return;
  }
  int32_t word = 0;
  int64_t *to = &launch->packed[launch->packed_count++];
  memcpy(size == sizeof word ? (void *)&word : to, value, size);
  if (size == sizeof word) *to = word;
}

void mica__launch_buffer(mica__launch *launch, mica_buffer *buffer, int64_t first) {
  uint32_t index = launch->is_packed ? launch->packed_count : launch->arg_count + 1;
  *next_arg(launch) =
      (mica__arg){.kind = MICA__ARG_BUFFER, .size = sizeof(cl_mem), .first = index, .value.buffer = buffer};
  mica__launch_long(launch, first);
}

void mica__launch_tensor(mica__launch *launch, const mica_tensor *tensor) {
  mica__launch_buffer(launch, tensor->buffer, tensor->first);
}

void mica__launch_optional(mica__launch *launch, const mica_tensor *tensor) {
  mica__launch_buffer(launch, tensor ? tensor->buffer : NULL, tensor ? tensor->first : 0);
}

void mica__launch_texture(mica__launch *launch, const mica_tensor *tensor, mica__texture kind) {
  *next_arg(launch) = (mica__arg){.kind = MICA__ARG_TEXTURE,
                                  .size = sizeof(cl_mem),
                                  .first = mica__texture_slot(kind, tensor->dtype),
                                  .value.buffer = tensor->buffer};
  if (kind == MICA__TEXTURE_PLANE) mica__launch_int(launch, mica__texture_shift(&tensor->buffer->engine->device.info));
}

static int32_t narrowed(mica__launch *launch, int64_t size) {
  if (size < INT32_MIN || size > INT32_MAX)
    fail_packing(launch, MICA_E_OVERFLOW, "a size or an integer argument does not fit 32 bits");
  return (int32_t)size;
}

void mica__launch_size(mica__launch *launch, int64_t size) { mica__launch_int(launch, narrowed(launch, size)); }

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

void mica__launch_sizes(mica__launch *launch, const int64_t values[8]) {
  int32_t narrow[8];
  for (int i = 0; i < 8; i++) narrow[i] = narrowed(launch, values[i]);
  mica__launch_int8(launch, narrow);
}

void mica__launch_scalar(mica__launch *launch, mica_dtype dtype, double value) {
  mica_dtype_kind kind = mica_dtype_kind_of(dtype);
  bool is_unsigned = kind == MICA_DTYPE_KIND_UNSIGNED;
  int64_t wide = 0;
  int32_t narrow = 0;
  /* An unsigned value is passed as a signed argument with the same bits. */
  mica__element_set(is_unsigned ? MICA_U64 : MICA_I64, &wide, 0, value);
  mica__element_set(is_unsigned ? MICA_U32 : MICA_I32, &narrow, 0, value);
  if (dtype == MICA_F64)
    mica__launch_double(launch, value);
  else if (kind == MICA_DTYPE_KIND_FLOAT)
    mica__launch_float(launch, (float)value);
  else if (mica_dtype_size(dtype) == 8)
    mica__launch_long(launch, wide);
  else
    mica__launch_int(launch, narrow);
}

void mica__launch_local(mica__launch *launch, size_t bytes) {
  *next_arg(launch) = (mica__arg){.kind = MICA__ARG_LOCAL, .size = bytes};
}

static void set_range(mica__launch *launch, uint32_t dims, const int64_t *global, const size_t *local) {
  size_t items = 1;
  launch->dims = dims;
  for (uint32_t i = 0; i < dims; i++) {
    if (global[i] < 0 || (uint64_t)global[i] > SIZE_MAX / 2)
      fail_packing(launch, MICA_E_OVERFLOW, "the number of work-items is negative or too large");
    launch->global[i] = (size_t)global[i];
    launch->local[i] = local[i];
    if (!mica__mul_size(items, local[i], &items)) items = SIZE_MAX;
  }
  const mica__kernel *kernel = launch->kernel;
  for (; kernel && !kernel->declares_group && items > kernel->max_group && launch->local[0] > 1; items /= 2)
    launch->local[0] /= 2;
}

void mica__launch_range1(mica__launch *launch, int64_t global, size_t local) { set_range(launch, 1, &global, &local); }

void mica__launch_range3(mica__launch *launch, const int64_t global[3], const size_t local[3]) {
  set_range(launch, 3, global, local);
}

void mica__launch_whole(mica__launch *launch) { launch->is_whole = true; }

void mica__launch_cost(mica__launch *launch, double flops, double bytes) {
  launch->flops = flops;
  launch->bytes = bytes;
}
