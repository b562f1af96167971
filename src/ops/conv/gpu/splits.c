#include "ops/conv/gpu/splits.h"

#include "base/arith.h"
#include "cl/conv/fields.clh"
#include "ops/matmul/gemm.h"
#include "runtime/fields.h"

MICA__FIELDS(split_fields, GPU_WGRAD_SPLIT);
void mica__conv_push_split(mica__launch *launch, const mica__conv_dims *d, int64_t step, int64_t splits) {
  const int64_t rows = step / d->out[2], planes = rows / d->out[1];
  const split_fields s = {.ADVANCE_N = planes / d->out[0],
                          .ADVANCE0 = planes % d->out[0],
                          .ADVANCE1 = rows % d->out[1],
                          .ADVANCE2 = step % d->out[2],
                          .SPLITS = splits,
                          .STEPS = mica__ceil_div(mica__ceil_div(d->n * mica__product3(d->out), step), splits)};
  mica__launch_sizes(launch, s.values);
}

mica_status mica__conv_add_splits(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial) {
  mica__gemm gemm = {
      .m = conv->rows, .n = conv->columns, .k = splits, .batches = conv->images, .epilogue = conv->epilogue};
  if (mica__conv_is_result_last(conv)) {
    gemm.m = conv->columns;
    gemm.n = conv->rows;
    gemm.epilogue.bias_axis = MICA_BIAS_AXIS_COLUMN;
  }
  gemm.a.tensor = conv->y;
  gemm.b.tensor = conv->x;
  return mica__gemm_add_splits(queue, &gemm, splits, partial);
}
