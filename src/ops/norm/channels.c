/* Batch, instance and group norm, and local response norm. They are made of reductions, windowed sums and pointwise
 * ops, which generated kernels fuse with the ops before and after them. */
#include "base/error.h"
#include "ops/layout/views.h"
#include "ops/norm/norm.h"
#include "ops/resample/resample.h"

#include <math.h>

bool mica__has_channels(const char *op, mica_value x, const mica_value *values, int32_t count) {
  mica_shape shape = mica_value_shape(x);
  if (!x.graph) return false;
  if (shape.rank < 2) {
    mica__builder_fail(op, x, MICA_E_SHAPE, "the tensor has no axis 1 for channels");
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    mica_shape own = mica_value_shape(values[i]);
    if (!values[i].graph || (own.rank == 1 && (own.dim[0] == shape.dim[1] || shape.dim[1] == MICA_DYNAMIC))) continue;
    mica_status status =
        mica__fail(MICA_E_SHAPE, "the second operand must have one number for each channel (axis 1) of the first");
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
  if (!mica__epsilon_is_right("batch_norm", x, epsilon)) return (mica_value){0};
  if (!mica__has_channels("batch_norm", x, (mica_value[]){scale, bias, mean, variance}, 4)) return (mica_value){0};
  /* One factor and one term per channel. Fusion can move both into a convolution before the norm. */
  mica_value factor = mica_rsqrt(mica_affine(mica__widen(variance), 1, epsilon));
  if (scale.graph) factor = mica_mul(factor, mica__widen(scale));
  mica_value term = mica_neg(mica_mul(mica__widen(mean), factor));
  if (bias.graph) term = mica_add(term, mica__widen(bias));
  mica_value y = mica__scaled(mica__widen(x), x, mica__along_channels(factor, x), mica__along_channels(term, x));
  return mica__graph_mark(y, "batch_norm", (mica_value[]){x, scale, bias, mean, variance}, 5, &epsilon, 1);
}

/* Lists the axes from `first` on, and axis 0 too if `batch`. */
static mica_axes statistics_axes(mica_value x, int32_t first, bool batch) {
  mica_axes axes = {.count = batch};
  for (int32_t k = first; k < mica_value_shape(x).rank; k++) axes.axis[axes.count++] = k;
  return axes;
}

/* --- batch norm in training --- */

#define CHANNEL_ATTRS(X, S) X(S, AXES, axes, 0, "what statistics are taken over")
MICA__ATTR_STRUCT(channel, CHANNEL_ATTRS);
static MICA__ATTR_TABLE(channel, CHANNEL_ATTRS);

static mica_status infer_first(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  const mica__channel_attrs *a = attrs;
  char text[MICA_SHAPE_TEXT];
  (void)input_count;
  *out = inputs[0];
  for (int32_t i = 0; i < out->shape.rank; i++) {
    if (out->shape.dim[i] == 0)
      return mica__fail(MICA_E_SHAPE, "batch norm in training needs elements to compute statistics from, but x is %s",
                        mica_shape_format(inputs[0].shape, text));
    if (a->axes >> i & 1) out->shape.dim[i] = 1;
  }
  return MICA_OK;
}

static bool view_first(const mica__node *node, mica_shape input, mica__access *access) {
  const mica__channel_attrs *attrs = node->attrs;
  access->offset = 0;
  mica__row_major(input, access->stride);
  for (int32_t i = 0; i < input.rank; i++)
    if (attrs->axes >> i & 1) access->stride[i] = 0;
  return true;
}

/* A view in which every element is the first one of its channel. */
const mica__op mica__op_first_of_row = {.name = "first_of_row",
                                        .kind = MICA__OP_VIEW,
                                        .min_inputs = 1,
                                        .max_inputs = 1,
                                        .attrs = &mica__channel_attr_list,
                                        .infer = infer_first,
                                        .view = view_first};

/* dx = factor scale (dy - (db + z ds) / n), where db and ds are the sums of dy and of dy z over n elements. */
static mica_status grad_batch_normalize(const mica__grad *grad) {
  const mica__channel_attrs *attrs = mica__attrs_of(grad->y);
  const mica_axes axes = mica__axes_of(attrs->axes);
  const mica_value dy = grad->dy, factor = grad->inputs[2], z = grad->inputs[3], scale = grad->inputs[4];
  mica_value ds = mica_sum(mica_mul(dy, z), axes, true), db = mica_sum(dy, axes, true);
  mica_value share = mica_reciprocal(mica__count_along(dy, axes));
  mica_value along = mica_add(mica_mul(db, share), mica_mul(z, mica_mul(ds, share)));
  grad->dinputs[1] = mica_mul(mica_mul(factor, scale), mica_sub(dy, along));
  grad->dinputs[4] = mica__reshape_like(ds, scale);
  grad->dinputs[5] = mica__reshape_like(db, grad->inputs[5]);
  return MICA_OK;
}

/* Returns operand 0, z scale + bias. Operand 1 is x, 2 the factor of z, 3 z (x standardised), 4 and 5 scale and bias.
 * The gradients of x, scale and bias share two sums. */
const mica__op mica__op_batch_normalize = {.name = "batch_normalize",
                                           .kind = MICA__OP_VIEW,
                                           .min_inputs = 6,
                                           .max_inputs = 6,
                                           .attrs = &mica__channel_attr_list,
                                           .infer = mica__infer_passed,
                                           .grad = grad_batch_normalize,
                                           .view = mica__view_passed,
                                           .shape_only = (1u << 6) - 2};

/* Computes mean and variance in one pass over x, from sums of d = x - k and of d^2, where k is an element of the
 * channel. d is small even if the mean is far from 0, so mean(d^2) - mean(d)^2 loses few digits by cancellation. */
static void statistics(mica_value x, mica_axes axes, mica_value *mean, mica_value *variance) {
  mica__channel_attrs attrs = {0};
  for (int32_t i = 0; i < axes.count; i++) attrs.axes |= 1u << axes.axis[i];
  mica_value k = mica_stop_gradient(mica__graph_add(&mica__op_first_of_row, &x, 1, &attrs)), d = mica_sub(x, k);
  mica_value about = mica_mean(d, axes, true);
  *mean = mica_add(k, about);
  *variance = mica_sub(mica_mean(mica_square(d), axes, true), mica_square(about));
  *variance = mica_maximum(*variance, mica__number(*variance, 0));
}

/* Returns z scale + bias, where z is x standardised; scale and bias may be null; they have the type that mica__widen
 * returns. */
static mica_value normalised(mica_value x, mica_axes axes, mica_value scale, mica_value bias, double epsilon,
                             mica_value *mean, mica_value *variance) {
  mica__channel_attrs attrs = {0};
  for (int32_t i = 0; i < axes.count; i++) attrs.axes |= 1u << axes.axis[i];
  statistics(x, axes, mean, variance);
  mica_value factor = mica_rsqrt(mica_affine(*variance, 1, epsilon));
  mica_value z = mica__standardized(mica_mul(mica_sub(x, *mean), factor), x, factor, axes);
  if (!scale.graph || !bias.graph) return mica__scaled(z, z, scale, bias);
  mica_value y = mica_add(mica_mul(z, scale), bias);
  return mica__graph_add(&mica__op_batch_normalize, (mica_value[]){y, x, factor, z, scale, bias}, 6, &attrs);
}

mica_value mica_batch_norm_train(mica_value x, mica_value scale, mica_value bias, double epsilon, mica_value *mean,
                                 mica_value *variance) {
  mica_value m = {0}, v = {0}, y = {0};
  if (mean) *mean = m;
  if (variance) *variance = v;
  if (!mica__epsilon_is_right("batch_norm", x, epsilon)) return (mica_value){0};
  if (!mica__has_channels("batch_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  const mica_axes axes = statistics_axes(x, 2, true);
  const mica_value wide = mica__widen(x), s = mica__along_channels(scale, x), b = mica__along_channels(bias, x);
  bool empty = false;
  for (int32_t i = 0; i < mica_value_shape(x).rank; i++) empty = empty || mica_value_shape(x).dim[i] == 0;
  if (empty)
    y = mica__scaled(mica__standardize(wide, axes, epsilon, &m, &v), x, s, b);
  else
    y = mica__narrow(
        normalised(wide, axes, s.graph ? mica__widen(s) : s, b.graph ? mica__widen(b) : b, epsilon, &m, &v), x);
  mica_shape channels = {.rank = 1, .dim = {MICA__COPY_DIM(1)}};
  if (mean) *mean = mica_reshape(m, channels);
  if (variance) *variance = mica_reshape(v, channels);
  return y;
}

/* --- other norms --- */

mica_value mica_instance_norm(mica_value x, mica_value scale, mica_value bias, double epsilon) {
  mica_value m, v;
  if (!mica__epsilon_is_right("instance_norm", x, epsilon)) return (mica_value){0};
  if (!mica__has_channels("instance_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  if (mica_value_shape(x).rank < 3)
    return mica__builder_fail("instance_norm", x, MICA_E_SHAPE, "the tensor has no axes after batch and channels");
  const mica_axes axes = statistics_axes(x, 2, false);
  mica_value y = mica__standardize(mica__widen(x), axes, epsilon, &m, &v);
  y = mica__scaled(y, x, mica__along_channels(scale, x), mica__along_channels(bias, x));
  return mica__graph_mark(y, "instance_norm", (mica_value[]){x, scale, bias}, 3, &epsilon, 1);
}

mica_value mica_group_norm(mica_value x, mica_value scale, mica_value bias, int64_t groups, double epsilon) {
  mica_shape shape = mica_value_shape(x), split = {.rank = shape.rank + 1, .dim = {MICA__COPY_DIM(0), groups}};
  mica_value m, v;
  if (!mica__epsilon_is_right("group_norm", x, epsilon)) return (mica_value){0};
  if (!mica__has_channels("group_norm", x, (mica_value[]){scale, bias}, 2)) return (mica_value){0};
  bool whole = groups > 0 && shape.dim[1] != MICA_DYNAMIC && shape.dim[1] % groups == 0;
  if (!whole)
    return mica__builder_fail(
        "group_norm", x, MICA_E_SHAPE,
        "groups is %lld and the number of channels %lld (-1: not known), but groups must be at least 1 and divide a "
        "known number of channels",
        (long long)groups, (long long)shape.dim[1]);
  if (split.rank > MICA_MAX_RANK)
    return mica__builder_fail("group_norm", x, MICA_E_SHAPE, "x has rank %d, but at most %d is supported",
                              (int)shape.rank, MICA_MAX_RANK - 1);
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
  if (size < 1 || size > INT32_MAX)
    return mica__builder_fail("local_response_norm", x, MICA_E_SHAPE,
                              "size is %lld channels, but must be from 1 to 2^31 - 1", (long long)size);
  if (isnan(alpha) || isnan(beta) || isnan(k))
    return mica__builder_fail("local_response_norm", x, MICA_E_INVALID,
                              "alpha, beta or k is NaN, but all must be numbers");
  mica__axis_map window = {.kind = MICA__MAP_WINDOW};
  window.window =
      (mica__resample_window){.size = size, .stride = 1, .pad = (size - 1) / 2, .pad_end = size / 2, .dilation = 1};
  mica_value wide = mica__widen(x), squares = mica__resample_axis(mica_square(wide), 1, &window);
  mica_value base = mica_affine(squares, alpha / (double)size, k);
  mica_value y = mica__narrow(mica_mul(wide, mica_pow(base, mica__number(base, -beta))), x);
  return mica__graph_mark(y, "local_response_norm", &x, 1, (double[]){(double)size, alpha, beta, k}, 4);
}
