#include "onnx/ops/family.h"

static mica_value optional(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

/* --- channels --- */

/* Lowers BatchNormalization in training mode. Result 0 is x, normalised by the batch's mean and variance. Results 1 and
 * 2 are the new running mean and variance, momentum * old + (1 - momentum) * the batch's. */
static mica_status batch_norm_train(mica__lowering *l, const mica__onnx_node *node, double epsilon) {
  mica_value mean, variance, x = x_of(l, node);
  double momentum = mica__onnx_real(node, "momentum", 0.9);
  mica_value y = mica_batch_norm_train(x, mica__lower_operand(l, node, 1), mica__lower_operand(l, node, 2), epsilon,
                                       &mean, &variance);
  mica_value now[] = {mean, variance};
  mica__lower_result(l, node, 0, y);
  for (int32_t k = 1; y.graph && k <= 2; k++) {
    mica_value old = mica__lower_operand(l, node, 2 + k), batch = mica_cast(now[k - 1], mica_value_dtype(old));
    mica__lower_result(l, node, k, mica_add(mica_affine(old, momentum, 0), mica_affine(batch, 1 - momentum, 0)));
  }
  return MICA_OK;
}

MICA__LOWER(batch_norm) {
  double epsilon = mica__onnx_real(node, "epsilon", 1e-5);
  if (mica__onnx_int(node, "training_mode", 0)) return batch_norm_train(l, node, epsilon);
  mica_value x = x_of(l, node);
  return give(l, node,
              mica_batch_norm(x, mica__lower_operand(l, node, 1), mica__lower_operand(l, node, 2),
                              mica__lower_operand(l, node, 3), mica__lower_operand(l, node, 4), epsilon));
}

MICA__LOWER(instance_norm) {
  double epsilon = mica__onnx_real(node, "epsilon", 1e-5);
  mica_value scale = mica__lower_operand(l, node, 1), bias = mica__lower_operand(l, node, 2);
  return give(l, node, mica_instance_norm(x_of(l, node), scale, bias, epsilon));
}

/* Since version 21, scale and bias have one number per channel; before, they had one per group. */
MICA__LOWER(group_norm) {
  double epsilon = mica__onnx_real(node, "epsilon", 1e-5);
  int64_t groups = mica__onnx_int(node, "num_groups", 0);
  mica_value x = x_of(l, node), part[2] = {mica__lower_operand(l, node, 1), mica__lower_operand(l, node, 2)};
  char text[MICA_SHAPE_TEXT];
  if (!x.graph || !part[0].graph || !part[1].graph) return MICA_OK;
  if (groups < 1)
    return mica__lower_fail(l, node, MICA_E_SHAPE, "num_groups is %lld, but must be at least 1", (long long)groups);
  if (mica_value_shape(x).rank < 2 || mica_value_shape(x).dim[1] < 0 || mica_value_shape(x).dim[1] % groups)
    return mica__lower_fail(
        l, node, MICA_E_SHAPE,
        "the input is %s, but must be (batch, channels, ...), and the number of channels must be known and a multiple "
        "of num_groups (%lld)",
        mica_shape_format(mica_value_shape(x), text), (long long)groups);
  int64_t channels = mica_value_shape(x).dim[1];
  for (int k = 0; node->version < 21 && k < 2; k++) {
    mica_value wide = mica_expand(mica_reshape(part[k], MICA_SHAPE(groups, 1)), MICA_SHAPE(groups, channels / groups));
    part[k] = mica_reshape(wide, MICA_SHAPE(channels));
  }
  return give(l, node, mica_group_norm(x, part[0], part[1], groups, epsilon));
}

MICA__LOWER(lrn) {
  double alpha = mica__onnx_real(node, "alpha", 1e-4), beta = mica__onnx_real(node, "beta", 0.75);
  double bias = mica__onnx_real(node, "bias", 1);
  return give(l, node, mica_local_response_norm(x_of(l, node), mica__onnx_int(node, "size", 1), alpha, beta, bias));
}

/* --- rows --- */

static mica_axes from_axis(int64_t axis, int32_t rank) {
  mica_axes axes = {0};
  for (int64_t i = axis; i < rank; i++) axes.axis[axes.count++] = (int32_t)i;
  return axes;
}

/* Returns true if `part`, a scale or bias, is absent or has exactly the shape of x's normalised axes (from `axis`
 * on). */
static bool is_of_row(mica_value x, int64_t axis, mica_value part) {
  if (!part.graph) return true;
  mica_shape whole = mica_value_shape(x), own = mica_value_shape(part);
  bool is = own.rank == whole.rank - axis;
  for (int32_t i = 0; is && i < own.rank; i++) is = own.dim[i] == whole.dim[axis + i];
  return is;
}

static mica_value scaled(mica_value y, mica_value scale, mica_value bias) {
  if (scale.graph) y = mica_mul(y, scale);
  return bias.graph ? mica_add(y, bias) : y;
}

/* Results 1 and 2, the mean and 1 / deviation, are computed in f32 (stash_type), or in f64 if x is f64. */
MICA__LOWER(layer_norm) {
  double epsilon = mica__onnx_real(node, "epsilon", 1e-5);
  int64_t axis = mica__onnx_int(node, "axis", -1);
  mica_value x = x_of(l, node), scale = mica__lower_operand(l, node, 1), bias = optional(l, node, 2);
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  bool fits = is_of_row(x, axis, scale) && is_of_row(x, axis, bias);
  mica_value y =
      fits ? mica_layer_norm(x, (int32_t)axis, scale, bias, epsilon)
           : scaled(mica_layer_norm(x, (int32_t)axis, (mica_value){0}, (mica_value){0}, epsilon), scale, bias);
  mica__lower_result(l, node, 0, y);
  if (!mica__lower_wants(node, 1) && !mica__lower_wants(node, 2)) return MICA_OK;
  mica_axes axes = from_axis(axis, mica_value_shape(x).rank);
  mica_value wide = mica_value_dtype(x) == MICA_F64 ? x : mica_cast(x, MICA_F32), mean = mica_mean(wide, axes, true);
  mica_value variance = mica_mean(mica_square(mica_sub(wide, mean)), axes, true);
  mica__lower_result(l, node, 1, mean);
  if (mica__lower_wants(node, 2)) mica__lower_result(l, node, 2, mica_rsqrt(mica_affine(variance, 1, epsilon)));
  return MICA_OK;
}

MICA__LOWER(rms_norm) {
  double epsilon = mica__onnx_real(node, "epsilon", 1e-5);
  int64_t axis = mica__onnx_int(node, "axis", -1);
  mica_value x = x_of(l, node), scale = mica__lower_operand(l, node, 1);
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  if (is_of_row(x, axis, scale)) return give(l, node, mica_rms_norm(x, (int32_t)axis, scale, epsilon));
  return give(l, node, scaled(mica_rms_norm(x, (int32_t)axis, (mica_value){0}, epsilon), scale, (mica_value){0}));
}

MICA__LOWER(lp_norm) {
  int64_t axis = mica__onnx_int(node, "axis", -1), p = mica__onnx_int(node, "p", 2);
  mica_value x = x_of(l, node);
  if (!x.graph || !mica__lower_axis(l, node, mica_value_shape(x).rank, &axis)) return MICA_OK;
  mica_axes axes = MICA_AXES((int32_t)axis);
  mica_value size = p == 1 ? mica_l1(x, axes, true) : mica_l2(x, axes, true);
  /* A row of zeros stays a row of zeros. */
  mica_value zero = mica__lower_number(size, 0), one = mica__lower_number(size, 1);
  return give(l, node, mica_div(x, mica_where(mica_equal(size, zero), one, size)));
}

MICA__LOWER(mean_variance_norm) {
  mica__integers list;
  mica_axes axes = MICA_AXES(0, 2, 3);
  mica_value x = x_of(l, node);
  if (!x.graph) return MICA_OK;
  if (mica__onnx_ints(node, "axes", &list) && !mica__lower_axes(l, node, &list, mica_value_shape(x).rank, &axes))
    return MICA_OK;
  mica_value centred = mica_sub(x, mica_mean(x, axes, true));
  mica_value deviation = mica_sqrt(mica_mean(mica_square(centred), axes, true));
  return give(l, node, mica_div(centred, mica_affine(deviation, 1, 1e-9)));
}
