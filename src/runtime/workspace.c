#include "runtime/workspace.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/recording.h"
#include "runtime/tensor.h"

mica_status mica__workspace_create(mica_queue *queue, size_t bytes, mica_buffer **out) {
  mica_engine *engine = mica__queue_engine(queue);
  if (!mica__queue_records(queue)) return mica_buffer_create(engine, bytes, out);
  if (mica__recorder_is_dry_run(queue)) return mica__placeholder_create(engine, bytes, out);
  return mica__recorder_workspace(queue, bytes, out);
}

static mica_status fill_zero(mica_queue *queue, mica_buffer *buffer) {
  const int32_t zero = 0;
  mica_tensor *all = NULL;
  MICA_TRY(mica_tensor_wrap(buffer, 0, MICA_I32, MICA_SHAPE(MICA__COUNTERS), &all));
  const mica_status status = mica__tensor_fill(queue, all, &zero);
  mica_tensor_destroy(all);
  return status;
}

mica_status mica__workspace_counters(mica_queue *queue, mica_buffer **out) {
  const size_t bytes = MICA__COUNTERS * sizeof(int32_t);
  const bool records = mica__queue_records(queue);
  mica_buffer *found = NULL, *made = NULL;
  if (records && mica__recorder_is_dry_run(queue))
    return mica__placeholder_create(mica__queue_engine(queue), bytes, out);
  if (records && !mica__recorder_counters(queue, &found)) {
    *out = NULL;
    return MICA_OK;
  }
  if (found) {
    mica__buffer_retain(found);
    *out = found;
    return MICA_OK;
  }
  mica_queue *filling = records ? mica_engine_queue(mica__queue_engine(queue)) : queue;
  MICA_TRY(mica_buffer_create(mica__queue_engine(queue), bytes, &made));
  mica_status status = fill_zero(filling, made);
  if (status == MICA_OK && records) status = mica_queue_finish(filling);
  if (status != MICA_OK) {
    mica_buffer_destroy(made);
    return status;
  }
  if (records) mica__recorder_give_counters(queue, made);
  *out = made;
  return MICA_OK;
}

mica_status mica__workspace_tensor(mica_queue *queue, mica_dtype dtype, mica_shape shape, mica_tensor **out) {
  int64_t count = 0;
  size_t bytes = 0;
  mica_buffer *buffer = NULL;
  MICA_TRY(mica_shape_count(shape, &count));
  if (!mica__mul_size((uint64_t)count, mica_dtype_size(dtype), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "a workspace of %lld elements is too large", (long long)count);
  MICA_TRY(mica__workspace_create(queue, bytes, &buffer));
  mica_status status = mica_tensor_wrap(buffer, 0, dtype, shape, out);
  mica_buffer_destroy(buffer);
  return status;
}
