/* Normalisation by statistics of channels: reductions and pointwise ops, which generated kernels take together with
 * what stands before and after them. */
#include "base/error.h"
#include "ops/layout/views.h"
#include "ops/norm/norm.h"
#include "ops/resample/resample.h"

bool mica__has_channels(const char *op, mica_value x, const mica_value *values, int32_t count) {
  mica_shape shape = mica_value_shape(x);
  if (!x.graph) return false;
  if (shape.rank < 2) {
    mica__builder_fail(op, x, MICA_E_SHAPE, "no axis of channels");
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    mica_shape own = mica_value_shape(values[i]);
    if (!values[i].graph || (own.rank == 1 && (own.dim[0] == shape.dim[1] || shape.dim[1] == MICA_DYNAMIC))) continue;
    mica_status status = mica__fail(MICA_E_SHAPE, "not one number a channel");
    mica__graph_fail_at(x.graph, status, op, (mica_value[]){x, values[i]}, 2);
    return false;
  }
  return true;
}

mica_value mica__along_channels(mica_value value, mica_value x) {
  mica_shape to = {.rank = mica_value_shape(x).rank - 1, .dim = {MICA__COPY_DIM(0)}};
  for (int32_t i = 1; i < to.rank; i++) to.dim[i] = 1;
  return value.graph ? mica_reshape(value, to) : value;
}

mica_value mica_batch_norm(mica_value x, mica_value scale, mica_value bias, mica_value mean, mica_value variance,
                           double epsilon) {
  if (!mean.graph || !variance.graph) return (mica_value){0};
  if (!mica__has_channels("batch_norm", x, (mica_value[]){scale, bias, mean, variance}, 4)) return (mica_value){0};
  /* One factor and one term a channel, which a convolution before it can take in. */
  mica_value factor = mica_rsqrt(mica_affine(mica__widen(variance), 1, epsilon));
  if (scale.graph) factor = mica_mul(factor, mica__widen(scale));
  mica_value term = mica_neg(mica_mul(mica__widen(mean), factor));
  if (bias.graph) term = mica_add(term, mica__widen(bias));
  mica_value y = mica__scaled(mica__widen(x), x, mica__along_channels(factor, x), mica__along_channels(term, x));
  return mica__graph_mark(y, "batch_norm", (mica_value[]){x, scale, bias, mean, variance}, 5, &epsilon, 1);
}

/* Statistics over all axes from `first` on, and over axis 0 too where `batch`. */
static mica_axes statistics_axes(mica_value x, int32_t first, bool batch) {
  mica_axes axes = {.count = batch};
  for (int32_t k = first; k < mica_value_shape(x).rank; k++) axes.axis[axes.count++] = k;
  return axes;
}

mica_value mica_batch_norm_train(mica_value x, mica_value scale, mica_value bias, double epsilon, mica_value *mean,
                                 mica_value *variance) {
  mica_value m = {0}, v = {0};
  if (mean) *mean = m;
  if (variance) *variance = v;
  if (!mica__has_channels("batch_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  const mica_axes axes = statistics_axes(x, 2, true);
  mica_value y = mica__standardize(mica__widen(x), axes, epsilon, &m, &v);
  mica_shape channels = {.rank = 1, .dim = {MICA__COPY_DIM(1)}};
  if (mean) *mean = mica_reshape(m, channels);
  if (variance) *variance = mica_reshape(v, channels);
  return mica__scaled(y, x, mica__along_channels(scale, x), mica__along_channels(bias, x));
}

mica_value mica_instance_norm(mica_value x, mica_value scale, mica_value bias, double epsilon) {
  mica_value m, v;
  if (!mica__has_channels("instance_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  if (mica_value_shape(x).rank < 3)
    return mica__builder_fail("instance_norm", x, MICA_E_SHAPE, "no axes but those of images and channels");
  const mica_axes axes = statistics_axes(x, 2, false);
  mica_value y = mica__standardize(mica__widen(x), axes, epsilon, &m, &v);
  y = mica__scaled(y, x, mica__along_channels(scale, x), mica__along_channels(bias, x));
  return mica__graph_mark(y, "instance_norm", (mica_value[]){x, scale, bias}, 3, &epsilon, 1);
}

mica_value mica_group_norm(mica_value x, mica_value scale, mica_value bias, int64_t groups, double epsilon) {
  mica_shape shape = mica_value_shape(x), split = {.rank = shape.rank + 1, .dim = {MICA__COPY_DIM(0), groups}};
  mica_value m, v;
  if (!mica__has_channels("group_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  bool whole = groups > 0 && shape.dim[1] != MICA_DYNAMIC && shape.dim[1] % groups == 0;
  if (!whole || split.rank > MICA_MAX_RANK)
    return mica__builder_fail("group_norm", x, MICA_E_SHAPE, "%lld groups of channels", (long long)groups);
  split.dim[2] = shape.dim[1] / groups;
  for (int32_t k = 2; k < shape.rank; k++) split.dim[k + 1] = MICA__COPY_DIM(k);
  mica_value grouped = mica_reshape(mica__widen(x), split);
  const mica_axes axes = statistics_axes(grouped, 2, false);
  mica_value y = mica__reshape_like(mica__standardize(grouped, axes, epsilon, &m, &v), x);
  y = mica__scaled(y, x, mica__along_channels(scale, x), mica__along_channels(bias, x));
  const double numbers[] = {epsilon, (double)groups};
  return mica__graph_mark(y, "group_norm", (mica_value[]){x, scale, bias}, 3, numbers, 2);
}

mica_value mica_local_response_norm(mica_value x, int64_t size, double alpha, double beta, double k) {
  if (!mica__has_channels("local_response_norm", x, NULL, 0)) return (mica_value){0};
  if (size < 1)
    return mica__builder_fail("local_response_norm", x, MICA_E_SHAPE, "a window of %lld channels", (long long)size);
  mica__axis_map window = {.kind = MICA__MAP_WINDOW};
  window.window = (mica__window){.size = size, .stride = 1, .pad = (size - 1) / 2, .pad_end = size / 2, .dilation = 1};
  mica_value wide = mica__widen(x), squares = mica__resample_axis(mica_square(wide), 1, &window);
  mica_value base = mica_affine(squares, alpha / (double)size, k);
  mica_value y = mica__narrow(mica_mul(wide, mica_pow(base, mica__number(base, -beta))), x);
  return mica__graph_mark(y, "local_response_norm", &x, 1, (double[]){(double)size, alpha, beta, k}, 4);
}
