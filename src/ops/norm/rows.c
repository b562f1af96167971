/* softmax, log_softmax, layer norm and RMS norm: reductions and pointwise ops over rows, which one generated kernel
 * computes. Their own gradients need fewer passes than automatic differentiation would find.
 *
 * In each, one op returns its first operand. That op's gradient rule bypasses the computation of this operand and goes
 * straight to the second one. */
#include "ops/norm/norm.h"

#include <float.h>

#define ROWS_ATTRS(X, S) X(S, AXES, axes, 0, "what a row is")
MICA__ATTR_STRUCT(rows, ROWS_ATTRS);
static MICA__ATTR_TABLE(rows, ROWS_ATTRS);

mica_status mica__infer_passed(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

bool mica__view_passed(const mica__node *node, mica_shape input, mica__access *access) {
  (void)node;
  access->offset = 0;
  mica__row_major(input, access->stride);
  return true;
}

/* Returns the axes over which a node's rows extend. */
static mica_axes axes_of(mica_value y) { return mica__axes_of(((const mica__rows_attrs *)mica__attrs_of(y))->axes); }

/* y (dy - sum(dy y)) */
static mica_status grad_softmax(const mica__grad *grad) {
  mica_value product = mica_mul(grad->dy, grad->y);
  grad->dinputs[1] = mica_sub(product, mica_mul(grad->y, mica_sum(product, axes_of(grad->y), true)));
  return MICA_OK;
}

/* dy - e^y sum(dy) */
static mica_status grad_log_softmax(const mica__grad *grad) {
  mica_value sum = mica_sum(grad->dy, axes_of(grad->y), true);
  grad->dinputs[1] = mica_sub(grad->dy, mica_mul(mica_exp(grad->y), sum));
  return MICA_OK;
}

/* r (dy - mean(dy) - y mean(dy y)), where operand 2 is the factor r */
static mica_status grad_standardize(const mica__grad *grad) {
  mica_axes axes = axes_of(grad->y);
  mica_value along = mica_mul(grad->y, mica_mean(mica_mul(grad->dy, grad->y), axes, true));
  mica_value centred = mica_sub(grad->dy, mica_mean(grad->dy, axes, true));
  grad->dinputs[1] = mica_mul(grad->inputs[2], mica_sub(centred, along));
  return MICA_OK;
}

/* r (dy - y mean(dy y)) */
static mica_status grad_rescale(const mica__grad *grad) {
  mica_value along = mica_mul(grad->y, mica_mean(mica_mul(grad->dy, grad->y), axes_of(grad->y), true));
  grad->dinputs[1] = mica_mul(grad->inputs[2], mica_sub(grad->dy, along));
  return MICA_OK;
}

#define PASS(label, operands)                                                                                          \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kind = MICA__OP_VIEW,                                                            \
                                     .min_inputs = operands,                                                           \
                                     .max_inputs = operands,                                                           \
                                     .attrs = &mica__rows_attr_list,                                                   \
                                     .infer = mica__infer_passed,                                                      \
                                     .grad = grad_##label,                                                             \
                                     .view = mica__view_passed,                                                        \
                                     .shape_only = (1u << (operands)) - 2};
PASS(softmax, 2)
PASS(log_softmax, 2)
PASS(standardize, 3)
PASS(rescale, 3)

/* Sets *axes to all axes from `first` on or, if `alone`, to `first` only. x must be floating and, if `alone`, have
 * elements along that axis. False after recording an error, or for a null x. */
static bool row_axes(const char *op, mica_value x, int32_t first, bool alone, mica_axes *axes) {
  int64_t axis = first;
  *axes = (mica_axes){0};
  if (!mica__builder_axis(op, x, &axis)) return false;
  if (mica_dtype_kind_of(mica_value_dtype(x)) != MICA_DTYPE_KIND_FLOAT) {
    mica__builder_fail(op, x, MICA_E_DTYPE, "x is %s, but must be of a floating type",
                       mica_dtype_name(mica_value_dtype(x)));
    return false;
  }
  if (alone && mica_value_shape(x).dim[axis] == 0) {
    mica__builder_fail(op, x, MICA_E_SHAPE, "axis %d has no elements", (int)axis);
    return false;
  }
  for (int64_t k = axis; k < (alone ? axis + 1 : mica_value_shape(x).rank); k++) axes->axis[axes->count++] = (int32_t)k;
  return true;
}

static mica_value add_pass(const mica__op *op, const mica_value *operands, mica_axes axes) {
  mica__rows_attrs attrs = {0};
  for (int32_t i = 0; i < axes.count; i++) attrs.axes |= 1u << axes.axis[i];
  return mica__graph_add(op, operands, op->min_inputs, &attrs);
}

mica_value mica_softmax(mica_value x, int32_t axis) {
  mica_axes axes;
  if (!row_axes("softmax", x, axis, true, &axes)) return (mica_value){0};
  mica_value wide = mica__widen(x), most = mica_stop_gradient(mica_max(wide, axes, true));
  mica_value powers = mica_exp(mica_sub(wide, most));
  /* One division per row; the sum is at least 1. */
  mica_value y = mica_mul(powers, mica_reciprocal(mica_sum(powers, axes, true)));
  return mica__narrow(add_pass(&mica__op_softmax, (mica_value[]){y, wide}, axes), x);
}

mica_value mica_log_softmax(mica_value x, int32_t axis) {
  mica_axes axes;
  if (!row_axes("log_softmax", x, axis, true, &axes)) return (mica_value){0};
  mica_value wide = mica__widen(x), most = mica_stop_gradient(mica_max(wide, axes, true));
  mica_value below = mica_sub(wide, most);
  mica_value y = mica_sub(below, mica_log(mica_sum(mica_exp(below), axes, true)));
  return mica__narrow(add_pass(&mica__op_log_softmax, (mica_value[]){y, wide}, axes), x);
}

/* True if `other` (scale or bias) is null or has, for each of the axes, x's extent or 1; false after recording an
 * error. */
static bool has_axes(const char *op, mica_value x, mica_axes axes, mica_value other) {
  mica_shape whole = mica_value_shape(x), own = mica_value_shape(other), row = {0}, both;
  char has[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  if (!other.graph) return true;
  for (int32_t k = 0; k < axes.count; k++) row.dim[row.rank++] = whole.dim[axes.axis[k]];
  mica_status status = own.rank == row.rank ? mica__shape_broadcast(row, own, &both) : MICA_E_SHAPE;
  if (status == MICA_OK && (mica__shape_is_open(row) || mica_shape_equal(both, row))) return true;
  status = mica__fail(MICA_E_SHAPE, "scale or bias is %s, but must be %s", mica_shape_format(own, has),
                      mica_shape_format(row, want));
  mica__graph_fail_at(x.graph, status, op, (mica_value[]){x, other}, 2);
  return false;
}

mica_value mica__standardized(mica_value z, mica_value x, mica_value factor, mica_axes axes) {
  return add_pass(&mica__op_standardize, (mica_value[]){z, x, factor}, axes);
}

mica_value mica__standardize(mica_value x, mica_axes axes, double epsilon, mica_value *mean, mica_value *variance) {
  *mean = mica_mean(x, axes, true);
  mica_value centred = mica_sub(x, *mean);
  *variance = mica_mean(mica_square(centred), axes, true);
  mica_value factor = mica_rsqrt(mica_affine(*variance, 1, epsilon));
  return mica__standardized(mica_mul(centred, factor), x, factor, axes);
}

mica_value mica__scaled(mica_value y, mica_value x, mica_value scale, mica_value bias) {
  if (scale.graph) y = mica_mul(y, mica__widen(scale));
  if (bias.graph) y = mica_add(y, mica__widen(bias));
  return mica__narrow(y, x);
}

bool mica__epsilon_is_right(const char *op, mica_value x, double epsilon) {
  return mica__builder_number(op, x, "epsilon", epsilon, 0, DBL_MAX);
}

mica_value mica_layer_norm(mica_value x, int32_t axis, mica_value scale, mica_value bias, double epsilon) {
  mica_axes axes;
  mica_value mean, variance;
  if (!mica__epsilon_is_right("layer_norm", x, epsilon) || !row_axes("layer_norm", x, axis, false, &axes) ||
      !has_axes("layer_norm", x, axes, scale) || !has_axes("layer_norm", x, axes, bias))
    return (mica_value){0};
  mica_value y = mica__scaled(mica__standardize(mica__widen(x), axes, epsilon, &mean, &variance), x, scale, bias);
  return mica__graph_mark(y, "layer_norm", (mica_value[]){x, scale, bias}, 3, (double[]){epsilon, axes.axis[0]}, 2);
}

mica_value mica_rms_norm(mica_value x, int32_t axis, mica_value scale, double epsilon) {
  mica_axes axes;
  if (!mica__epsilon_is_right("rms_norm", x, epsilon) || !row_axes("rms_norm", x, axis, false, &axes) ||
      !has_axes("rms_norm", x, axes, scale))
    return (mica_value){0};
  mica_value wide = mica__widen(x);
  mica_value factor = mica_rsqrt(mica_affine(mica_mean(mica_square(wide), axes, true), 1, epsilon));
  mica_value y = mica_mul(wide, factor);
  mica_value passed = add_pass(&mica__op_rescale, (mica_value[]){y, wide, factor}, axes);
  y = mica__scaled(passed, x, scale, (mica_value){0});
  return mica__graph_mark(y, "rms_norm", (mica_value[]){x, scale}, 2, (double[]){epsilon, axes.axis[0]}, 2);
}
