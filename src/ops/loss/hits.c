/* Metrics: means over a batch, whether the largest logits include the target, and confusion matrices. */
#include "ops/common/build.h"

#include <mica/metric.h>

static mica_value as_f32(mica_value x) { return mica_value_dtype(x) == MICA_F32 ? x : mica_cast(x, MICA_F32); }

mica_metric mica_metric_mean(const char *name, mica_value x) {
  mica_value wide = as_f32(x);
  return (mica_metric){
      .name = name, .sum = mica_sum(wide, MICA_ALL_AXES, false), .weight = mica__count_along(wide, MICA_ALL_AXES)};
}

mica_value mica_hits(mica_value z, mica_value y) {
  const bool shares = mica_dtype_kind_of(mica_value_dtype(y)) == MICA_DTYPE_KIND_FLOAT;
  mica_value target = shares ? mica_argmax(y, 1, false) : mica_cast(y, MICA_I64);
  return as_f32(mica_equal(mica_argmax(z, 1, false), target));
}

mica_value mica_top_k_hits(mica_value z, mica_value y, int64_t k) {
  mica_value own = mica_gather_elements(z, mica_unsqueeze(y, MICA_AXES(1)), 1);
  mica_value larger = mica_sum(as_f32(mica_greater(z, own)), MICA_AXES(1), false);
  return as_f32(mica_less(larger, mica_scalar(z.graph, MICA_F32, (double)k)));
}

mica_value mica_confusion(mica_value z, mica_value y) {
  const int64_t classes = mica_value_shape(z).rank == 2 ? mica_value_shape(z).dim[1] : -1;
  if (!z.graph) return z;
  if (classes < 1)
    return mica__builder_fail("confusion", z, MICA_E_SHAPE,
                              "logits must be (N, classes), with classes known and at least 1");
  mica_value off = mica_scalar(z.graph, MICA_F32, 0), on = mica_scalar(z.graph, MICA_F32, 1);
  mica_value of_target = mica_one_hot(y, classes, 1, off, on);
  mica_value of_result = mica_one_hot(mica_argmax(z, 1, false), classes, 1, off, on);
  return mica_matmul(mica_transpose(of_target, MICA_AXES(1, 0)), of_result);
}
