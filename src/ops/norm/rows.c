/* softmax, log_softmax, layer norm and RMS norm: rows of reductions and pointwise ops, which a generated kernel takes
 * as one, with gradients of their own, which need fewer passes than the ones that differentiation would find.
 *
 * Each ends in an op that only passes its first operand on: the gradient goes past the computation of that one, by the
 * op's rule, straight to the second. The axes are attributes as of a reduction that keeps them. */
#include "ops/norm/norm.h"

static mica_status infer_pass(const mica__type *inputs, int32_t input_count, mica__attrs *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

static bool view_pass(const mica__node *node, mica_shape input, mica__access *access) {
  (void)node;
  access->offset = 0;
  mica__row_major(input, access->stride);
  return true;
}

static mica_axes axes_of(const mica__attrs *attrs) {
  mica_axes axes = {0};
  for (int32_t k = 0; k < MICA_MAX_RANK; k++)
    if (attrs->ints[1 + k]) axes.axis[axes.count++] = k;
  return axes;
}

/* y (dy - sum(dy y)) */
static mica_status grad_softmax(const mica__grad *grad) {
  const mica__attrs attrs = mica__attrs_of(grad->y);
  mica_value product = mica_mul(grad->dy, grad->y);
  grad->dinputs[1] = mica_sub(product, mica_mul(grad->y, mica_sum(product, axes_of(&attrs), true)));
  return MICA_OK;
}

/* dy - e^y sum(dy) */
static mica_status grad_log_softmax(const mica__grad *grad) {
  const mica__attrs attrs = mica__attrs_of(grad->y);
  mica_value sum = mica_sum(grad->dy, axes_of(&attrs), true);
  grad->dinputs[1] = mica_sub(grad->dy, mica_mul(mica_exp(grad->y), sum));
  return MICA_OK;
}

/* With operand 2 the factor r: r (dy - mean(dy) - y mean(dy y)) */
static mica_status grad_standardize(const mica__grad *grad) {
  const mica__attrs attrs = mica__attrs_of(grad->y);
  mica_axes axes = axes_of(&attrs);
  mica_value along = mica_mul(grad->y, mica_mean(mica_mul(grad->dy, grad->y), axes, true));
  mica_value centred = mica_sub(grad->dy, mica_mean(grad->dy, axes, true));
  grad->dinputs[1] = mica_mul(grad->inputs[2], mica_sub(centred, along));
  return MICA_OK;
}

/* r (dy - y mean(dy y)) */
static mica_status grad_rescale(const mica__grad *grad) {
  const mica__attrs attrs = mica__attrs_of(grad->y);
  mica_value along = mica_mul(grad->y, mica_mean(mica_mul(grad->dy, grad->y), axes_of(&attrs), true));
  grad->dinputs[1] = mica_mul(grad->inputs[2], mica_sub(grad->dy, along));
  return MICA_OK;
}

#define PASS(label, operands)                                                                                          \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kind = MICA__OP_VIEW,                                                            \
                                     .min_inputs = operands,                                                           \
                                     .max_inputs = operands,                                                           \
                                     .infer = infer_pass,                                                              \
                                     .grad = grad_##label,                                                             \
                                     .view = view_pass,                                                                \
                                     .shape_only = (1u << (operands)) - 2};
PASS(softmax, 2)
PASS(log_softmax, 2)
PASS(standardize, 3)
PASS(rescale, 3)

/* The attributes of the axes from `first` on, or of that one alone; false when the error was recorded. */
static bool row_axes(const char *op, mica_value x, int32_t first, bool alone, mica__attrs *attrs) {
  int64_t axis = first;
  *attrs = (mica__attrs){.ints = {1}};
  if (!mica__builder_axis(op, x, &axis)) return false;
  for (int64_t k = axis; k < (alone ? axis + 1 : mica_value_shape(x).rank); k++) attrs->ints[1 + k] = 1;
  return true;
}

mica_value mica_softmax(mica_value x, int32_t axis) {
  mica__attrs attrs;
  if (!row_axes("softmax", x, axis, true, &attrs)) return (mica_value){0};
  mica_axes axes = axes_of(&attrs);
  mica_value wide = mica__widen(x), most = mica_stop_gradient(mica_max(wide, axes, true));
  mica_value powers = mica_exp(mica_sub(wide, most));
  /* One division a row; the sum is at least 1. */
  mica_value y = mica_mul(powers, mica_reciprocal(mica_sum(powers, axes, true)));
  return mica__narrow(mica__graph_add(&mica__op_softmax, (mica_value[]){y, wide}, 2, &attrs), x);
}

mica_value mica_log_softmax(mica_value x, int32_t axis) {
  mica__attrs attrs;
  if (!row_axes("log_softmax", x, axis, true, &attrs)) return (mica_value){0};
  mica_axes axes = axes_of(&attrs);
  mica_value wide = mica__widen(x), most = mica_stop_gradient(mica_max(wide, axes, true));
  mica_value below = mica_sub(wide, most);
  mica_value y = mica_sub(below, mica_log(mica_sum(mica_exp(below), axes, true)));
  return mica__narrow(mica__graph_add(&mica__op_log_softmax, (mica_value[]){y, wide}, 2, &attrs), x);
}

/* Whether scale or bias, where there is one, has the shape of x's axes from `axis` on; false when the error was
 * recorded. */
static bool has_axes(const char *op, mica_value x, const mica__attrs *attrs, mica_value other) {
  mica_shape whole = mica_value_shape(x), own = mica_value_shape(other), row = {0}, both;
  char has[MICA_SHAPE_TEXT], want[MICA_SHAPE_TEXT];
  if (!other.graph) return true;
  for (int32_t k = 0; k < whole.rank; k++)
    if (attrs->ints[1 + k]) row.dim[row.rank++] = whole.dim[k];
  mica_status status = own.rank == row.rank ? mica__shape_broadcast(row, own, &both) : MICA_E_SHAPE;
  if (status == MICA_OK && (mica__shape_is_open(row) || mica_shape_equal(both, row))) return true;
  status = mica__fail(MICA_E_SHAPE, "scale and bias have shape %s, not %s", mica_shape_format(row, want),
                      mica_shape_format(own, has));
  mica__graph_fail_at(x.graph, status, op, (mica_value[]){x, other}, 2);
  return false;
}

mica_value mica__standardize(mica_value x, const mica__attrs *attrs, double epsilon, mica_value *mean,
                             mica_value *variance) {
  mica_axes axes = axes_of(attrs);
  *mean = mica_mean(x, axes, true);
  mica_value centred = mica_sub(x, *mean);
  *variance = mica_mean(mica_square(centred), axes, true);
  mica_value factor = mica_rsqrt(mica_affine(*variance, 1, epsilon));
  return mica__graph_add(&mica__op_standardize, (mica_value[]){mica_mul(centred, factor), x, factor}, 3, attrs);
}

mica_value mica__scaled(mica_value y, mica_value x, mica_value scale, mica_value bias) {
  if (scale.graph) y = mica_mul(y, mica__widen(scale));
  if (bias.graph) y = mica_add(y, mica__widen(bias));
  return mica__narrow(y, x);
}

mica_value mica_layer_norm(mica_value x, int32_t axis, mica_value scale, mica_value bias, double epsilon) {
  mica__attrs attrs;
  mica_value mean, variance;
  if (!row_axes("layer_norm", x, axis, false, &attrs) || !has_axes("layer_norm", x, &attrs, scale) ||
      !has_axes("layer_norm", x, &attrs, bias))
    return (mica_value){0};
  return mica__scaled(mica__standardize(mica__widen(x), &attrs, epsilon, &mean, &variance), x, scale, bias);
}

mica_value mica_rms_norm(mica_value x, int32_t axis, mica_value scale, double epsilon) {
  mica__attrs attrs;
  if (!row_axes("rms_norm", x, axis, false, &attrs) || !has_axes("rms_norm", x, &attrs, scale)) return (mica_value){0};
  mica_value wide = mica__widen(x);
  mica_value factor = mica_rsqrt(mica_affine(mica_mean(mica_square(wide), axes_of(&attrs), true), 1, epsilon));
  mica_value y = mica_mul(wide, factor);
  mica_value passed = mica__graph_add(&mica__op_rescale, (mica_value[]){y, wide, factor}, 3, &attrs);
  return mica__scaled(passed, x, scale, (mica_value){0});
}
