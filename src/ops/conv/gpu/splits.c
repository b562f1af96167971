#include "ops/conv/gpu/splits.h"

#include "ops/matmul/gemm.h"

mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial) {
  mica__gemm gemm = {
      .m = conv->rows, .n = conv->columns, .k = splits, .batches = conv->images, .epilogue = conv->epilogue};
  gemm.a.tensor = conv->y;
  gemm.b.tensor = conv->x;
  return mica__gemm_add_splits(queue, &gemm, splits, partial);
}
