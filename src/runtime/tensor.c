#include "runtime/tensor.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/objects.h"

#include <mica/opencl.h>
#include <stdlib.h>
#include <string.h>

/* Row-major strides of a shape with count elements; all 0 if it has none, because the products may then overflow. */
static void row_major(mica_shape shape, int64_t count, int64_t strides[MICA_MAX_RANK]) {
  int64_t step = count > 0;
  for (int32_t i = shape.rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= shape.dim[i];
  }
}

static bool is_row_major(mica_shape shape, int64_t count, const int64_t *strides) {
  int64_t expected[MICA_MAX_RANK];
  row_major(shape, count, expected);
  for (int32_t i = 0; i < shape.rank; i++)
    if (count > 0 && shape.dim[i] != 1 && strides[i] != expected[i]) return false;
  return true;
}

/* Sets *extent to the number of elements from the first to the last one that a window of this shape has, including
 * those that it skips; 0 if it is empty. MICA_E_INVALID if a stride is negative. MICA_E_OVERFLOW if int64_t cannot hold
 * the number. */
static mica_status window_extent(mica_shape shape, const int64_t *strides, int64_t *extent) {
  int64_t end = 1;
  for (int32_t i = 0; i < shape.rank; i++) {
    if (shape.dim[i] == 0) {
      *extent = 0;
      return MICA_OK;
    }
    int64_t reach = 0;
    if (strides[i] < 0)
      return mica__fail(MICA_E_INVALID, "a stride is %lld, but must not be negative", (long long)strides[i]);
    if (!mica__mul_i64(shape.dim[i] - 1, strides[i], &reach) || __builtin_add_overflow(end, reach, &end))
      return mica__fail(MICA_E_OVERFLOW, "the strides reach beyond 2^63 elements");
  }
  *extent = end;
  return MICA_OK;
}

/* Makes every tensor. Retains the buffer. If strides is NULL, they are row-major. */
static mica_status tensor_make(mica_buffer *buffer, mica_dtype dtype, mica_shape shape, const int64_t *strides,
                               int64_t first, mica_tensor **out) {
  char text[MICA_SHAPE_TEXT];
  int64_t count = 0, extent = 0, end = 0, end_bytes = 0;
  MICA_TRY(mica_shape_count(shape, &count));
  mica_tensor made = {.buffer = buffer, .dtype = dtype, .shape = shape, .first = first, .count = count};
  if (strides)
    memcpy(made.strides, strides, (size_t)shape.rank * sizeof *strides);
  else
    row_major(shape, count, made.strides);
  made.contiguous = is_row_major(shape, count, made.strides);
  MICA_TRY(window_extent(shape, made.strides, &extent));
  if (first < 0 || __builtin_add_overflow(first, extent, &end) ||
      !mica__mul_i64(end, (int64_t)mica_dtype_size(dtype), &end_bytes) || (uint64_t)end_bytes > buffer->bytes)
    return mica__fail(MICA_E_INVALID, "a %s tensor %s that begins at element %lld exceeds its buffer of %zu bytes",
                      mica_dtype_name(dtype), mica_shape_format(shape, text), (long long)first, buffer->bytes);
  mica_tensor *tensor = malloc(sizeof *tensor);
  if (!tensor) return mica__fail_nomem("a tensor");
  *tensor = made;
  mica__buffer_retain(buffer);
  *out = tensor;
  return MICA_OK;
}

mica_status mica_tensor_create(mica_engine *engine, mica_dtype dtype, mica_shape shape, mica_tensor **tensor) {
  char text[MICA_SHAPE_TEXT];
  if (!engine || !tensor) return mica__fail(MICA_E_INVALID, "mica_tensor_create: a pointer is NULL");
  if (!mica_dtype_is_valid(dtype)) return mica__fail(MICA_E_DTYPE, "%d is not a dtype", (int)dtype);
  if (dtype == MICA_F64 && !(engine->device.info.features & MICA_FEATURE_FP64))
    return mica__fail(MICA_E_UNSUPPORTED, "%s has no double precision", engine->device.info.name);
  int64_t count = 0;
  MICA_TRY(mica_shape_count(shape, &count));
  size_t bytes = 0;
  if ((uint64_t)count > SIZE_MAX || !mica__mul_size((uint64_t)count, mica_dtype_size(dtype), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "a %s tensor %s is too large", mica_dtype_name(dtype),
                      mica_shape_format(shape, text));
  mica_buffer *buffer = NULL;
  MICA_TRY(mica_buffer_create(engine, bytes, &buffer));
  mica_status status = tensor_make(buffer, dtype, shape, NULL, 0, tensor);
  mica_buffer_destroy(buffer);
  return status;
}

mica_status mica_tensor_wrap(mica_buffer *buffer, size_t offset_bytes, mica_dtype dtype, mica_shape shape,
                             mica_tensor **tensor) {
  if (!buffer || !tensor) return mica__fail(MICA_E_INVALID, "mica_tensor_wrap: a pointer is NULL");
  if (!mica_dtype_is_valid(dtype)) return mica__fail(MICA_E_DTYPE, "%d is not a dtype", (int)dtype);
  size_t size = mica_dtype_size(dtype);
  if (offset_bytes % size || !mica__fits_i64(offset_bytes / size))
    return mica__fail(MICA_E_INVALID,
                      "the offset is %zu bytes, but must be a multiple of %zu, the size of %s, and below 2^63",
                      offset_bytes, size, mica_dtype_name(dtype));
  return tensor_make(buffer, dtype, shape, NULL, (int64_t)(offset_bytes / size), tensor);
}

mica_status mica_tensor_view(const mica_tensor *base, mica_shape shape, const int64_t *strides, int64_t offset,
                             mica_tensor **tensor) {
  if (!base || !tensor) return mica__fail(MICA_E_INVALID, "mica_tensor_view: a pointer is NULL");
  int64_t first = 0;
  if (offset < 0 || __builtin_add_overflow(base->first, offset, &first))
    return mica__fail(MICA_E_INVALID,
                      "mica_tensor_view: offset is %lld elements, but must not be negative or reach 2^63",
                      (long long)offset);
  return tensor_make(base->buffer, base->dtype, shape, strides, first, tensor);
}

mica_status mica_tensor_transpose(const mica_tensor *base, mica_tensor **tensor) {
  if (!base || !tensor) return mica__fail(MICA_E_INVALID, "mica_tensor_transpose: a pointer is NULL");
  if (base->shape.rank < 2)
    return mica__fail(MICA_E_SHAPE, "mica_tensor_transpose: the tensor has rank %d, but must have at least 2",
                      base->shape.rank);
  mica_shape shape = base->shape;
  int64_t strides[MICA_MAX_RANK];
  memcpy(strides, base->strides, sizeof strides);
  int32_t last = shape.rank - 1;
  shape.dim[last] = base->shape.dim[last - 1], shape.dim[last - 1] = base->shape.dim[last];
  strides[last] = base->strides[last - 1], strides[last - 1] = base->strides[last];
  return tensor_make(base->buffer, base->dtype, shape, strides, base->first, tensor);
}

void mica_tensor_destroy(mica_tensor *tensor) {
  if (!tensor) return;
  mica_buffer_destroy(tensor->buffer);
  free(tensor);
}

bool mica__tensor_same_memory(const mica_tensor *a, const mica_tensor *b) {
  return a->buffer == b->buffer && a->first == b->first && a->dtype == b->dtype;
}

int64_t mica__tensor_first(const mica_tensor *tensor) { return tensor->first; }

bool mica__tensor_is_aligned(const mica_tensor *tensor) {
  return (size_t)tensor->first * mica_dtype_size(tensor->dtype) % MICA__TENSOR_ALIGNMENT == 0;
}

void mica__tensor_changed(const mica_tensor *tensor) { atomic_fetch_add(&tensor->buffer->changes, 1); }

uint64_t mica__buffer_changes(mica_buffer *buffer) {
  if (atomic_load(&buffer->foreign)) atomic_fetch_add(&buffer->changes, 1);
  return atomic_load(&buffer->changes);
}

uint64_t mica__tensor_changes(const mica_tensor *tensor) { return mica__buffer_changes(tensor->buffer); }

bool mica__tensor_is_read_only(const mica_tensor *tensor) { return tensor->buffer->read_only; }

mica_status mica__tensor_check_writable(const mica_tensor *tensor, const char *call, const char *name) {
  char text[MICA_SHAPE_TEXT];
  if (!tensor->buffer->read_only) return MICA_OK;
  return mica__fail(MICA_E_INVALID, "%s: %s %s is in read-only memory, and cannot be written", call, name,
                    mica_shape_format(tensor->shape, text));
}

mica_buffer *mica__tensor_buffer(const mica_tensor *tensor) { return tensor->buffer; }

mica_engine *mica_tensor_engine(const mica_tensor *tensor) { return tensor->buffer->engine; }
mica_dtype mica_tensor_dtype(const mica_tensor *tensor) { return tensor->dtype; }
mica_shape mica_tensor_shape(const mica_tensor *tensor) { return tensor->shape; }
const int64_t *mica_tensor_strides(const mica_tensor *tensor) { return tensor->strides; }
int64_t mica_tensor_count(const mica_tensor *tensor) { return tensor->count; }
size_t mica_tensor_bytes(const mica_tensor *tensor) { return (size_t)tensor->count * mica_dtype_size(tensor->dtype); }
bool mica_tensor_is_contiguous(const mica_tensor *tensor) { return tensor->contiguous; }

cl_mem mica_tensor_opencl(const mica_tensor *tensor, size_t *offset_bytes) {
  if (offset_bytes) *offset_bytes = (size_t)tensor->first * mica_dtype_size(tensor->dtype);
  atomic_store(&tensor->buffer->foreign, true);
  return tensor->buffer->memory;
}
