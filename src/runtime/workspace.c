#include "runtime/workspace.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/recording.h"

mica_status mica__workspace_create(mica_queue *queue, size_t bytes, mica_buffer **out) {
  mica_engine *engine = mica__queue_engine(queue);
  if (!mica__queue_records(queue)) return mica_buffer_create(engine, bytes, out);
  if (mica__recorder_is_dry_run(queue)) return mica__placeholder_create(engine, bytes, out);
  return mica__recorder_workspace(queue, bytes, out);
}

mica_status mica__workspace_tensor(mica_queue *queue, mica_dtype dtype, mica_shape shape, mica_tensor **out) {
  int64_t count = 0;
  size_t bytes = 0;
  mica_buffer *buffer = NULL;
  MICA_TRY(mica_shape_count(shape, &count));
  if (!mica__mul_size((uint64_t)count, mica_dtype_size(dtype), &bytes))
    return mica__fail(MICA_E_OVERFLOW, "a workspace cannot have %lld elements", (long long)count);
  MICA_TRY(mica__workspace_create(queue, bytes, &buffer));
  mica_status status = mica_tensor_wrap(buffer, 0, dtype, shape, out);
  mica_buffer_destroy(buffer);
  return status;
}
