#include "ops/conv/gpu/channels_last.h"

#include "base/arith.h"
#include "base/error.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#define PIECE_BYTES 16

static const mica__kernel_param params[] = {MICA__CASE("SIZE", "bytes of an element", 2, 4)};
static const mica__variant variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 2)};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__conv_gpu_channels_last_kernel = {
    MICA__KERNEL("conv_gpu_channels_last", "conv/gpu/channels_last.cl", params, variants), .has_room = has_room};

/* The kernel's THREADS, PIXELS and PIECES. */
#define THREADS 256
#define PIXELS 64
#define PIECES 8

static bool has_room(const int32_t *values, const mica_device_info *device) {
  (void)values;
  return device->max_group >= THREADS && device->local_bytes >= PIECES * PIECE_BYTES * (PIXELS + 1);
}

int64_t mica__conv_pieces(mica_dtype dtype, int64_t channels) {
  return mica__ceil_div(channels * (int64_t)mica_dtype_size(dtype), PIECE_BYTES);
}

bool mica__conv_begins_piece(const mica_tensor *tensor) {
  return mica__tensor_first(tensor) * (int64_t)mica_dtype_size(mica_tensor_dtype(tensor)) % PIECE_BYTES == 0;
}

int64_t mica__conv_first_piece(const mica_tensor *tensor) {
  return mica__tensor_first(tensor) * (int64_t)mica_dtype_size(mica_tensor_dtype(tensor)) / PIECE_BYTES;
}

mica_status mica__conv_put_channels_last(mica_queue *queue, const mica_tensor *tensor, int64_t n, int64_t groups,
                                         int64_t channels, int64_t pixels, mica_buffer *last, int64_t first) {
  const mica__kernel_desc *desc = &mica__conv_gpu_channels_last_kernel;
  const mica_dtype dtype = mica_tensor_dtype(tensor);
  const int64_t pieces = mica__conv_pieces(dtype, channels);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &variants[0], values);
  mica__kernel_set(desc, values, "SIZE", (int32_t)mica_dtype_size(dtype));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch l = mica__launch_of(kernel);
  mica__launch_size(&l, n);
  mica__launch_size(&l, groups);
  mica__launch_size(&l, channels);
  mica__launch_size(&l, pixels);
  mica__launch_tensor(&l, tensor);
  mica__launch_buffer(&l, last, first);
  const int64_t tiles = mica__ceil_div(pixels, PIXELS) * mica__ceil_div(pieces, PIECES);
  mica__launch_range1(&l, tiles * n * groups * THREADS, THREADS);
  mica__launch_cost(&l, 0, (double)mica_tensor_bytes(tensor) + (double)(n * groups * pixels * pieces) * PIECE_BYTES);
  return mica__queue_submit(queue, &l);
}

mica_status mica__conv_channels_last(mica_queue *queue, const mica_tensor *tensor, int64_t n, int64_t groups,
                                     int64_t channels, int64_t pixels, mica_buffer **last) {
  const int64_t pieces = mica__conv_pieces(mica_tensor_dtype(tensor), channels);
  MICA_TRY(mica__workspace_create(queue, (size_t)(n * groups * pixels * pieces) * PIECE_BYTES, last));
  return mica__conv_put_channels_last(queue, tensor, n, groups, channels, pixels, *last, 0);
}
