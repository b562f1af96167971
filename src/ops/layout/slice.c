/* slice, pad and concat: parts of a tensor, and tensors made of parts. */
#include "base/checked.h"
#include "ops/common/build.h"
#include "ops/layout/strided_copy.h"
#include "runtime/tensor.h"

#include <mica/ops.h>

/* slice and pad both describe a window of the larger tensor: along axis k the elements start[k] + i step[k]. */
#define WINDOW_ATTRS(X, S)                                                                                             \
  X(S, PER_AXIS, start, 0, "the window's first element; below 0 from the end, even of an axis that is open")           \
  X(S, PER_AXIS, step, 1, "from one of its elements to the next")                                                      \
  X(S, SHAPE, shape, 0, "of the result; ? for the operand's extent")                                                   \
  X(S, REAL, value, 0, "of pad: the elements around the window")
MICA__ATTR_STRUCT(window, WINDOW_ATTRS);
static MICA__ATTR_TABLE(window, WINDOW_ATTRS);

/* Makes the window's start 0 or more and checks that a window of shape `small` lies inside `large`. Open axes are
 * skipped. */
static mica_status fit_window(mica__window_attrs *attrs, mica_shape large, mica_shape small) {
  char tl[MICA_SHAPE_TEXT], ts[MICA_SHAPE_TEXT];
  for (int32_t k = 0; k < large.rank; k++) {
    int64_t start = attrs->start[k], last = 0;
    if (large.dim[k] == MICA_DYNAMIC || small.dim[k] == MICA_DYNAMIC) continue;
    if (start < 0) attrs->start[k] = start += large.dim[k];
    if (small.dim[k] == 0) continue;
    bool fits = mica__mul_i64(small.dim[k] - 1, attrs->step[k], &last) && !__builtin_add_overflow(last, start, &last);
    if (!fits || start < 0 || start >= large.dim[k] || last < 0 || last >= large.dim[k])
      return mica__fail(
          MICA_E_SHAPE,
          "%s, taken from position %lld (0: the first) in steps of %lld along axis %d, does not lie inside %s",
          mica_shape_format(small, ts), (long long)start, (long long)attrs->step[k], (int)k,
          mica_shape_format(large, tl));
  }
  return MICA_OK;
}

static mica_status infer_window(const mica__type *inputs, const mica__window_attrs *attrs, mica__type *out) {
  char tf[MICA_SHAPE_TEXT], ta[MICA_SHAPE_TEXT];
  *out = inputs[0];
  if (attrs->shape.rank != inputs[0].shape.rank)
    return mica__fail(MICA_E_SHAPE, "%s and %s must have the same rank", mica_shape_format(inputs[0].shape, tf),
                      mica_shape_format(attrs->shape, ta));
  for (int32_t k = 0; k < out->shape.rank; k++)
    if (attrs->shape.dim[k] != MICA_DYNAMIC) out->shape.dim[k] = attrs->shape.dim[k];
  return MICA_OK;
}

static mica_status infer_slice(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  MICA_TRY(infer_window(inputs, attrs, out));
  return fit_window(attrs, inputs[0].shape, out->shape);
}

static mica_status infer_pad(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  MICA_TRY(infer_window(inputs, attrs, out));
  return fit_window(attrs, out->shape, inputs[0].shape);
}

static mica__access window_access(const mica__window_attrs *attrs, mica_shape large) {
  mica__access access = {0};
  mica__row_major(large, access.stride);
  for (int32_t k = 0; k < large.rank; k++) {
    access.offset += attrs->start[k] * access.stride[k];
    access.stride[k] *= attrs->step[k];
  }
  return access;
}

static bool view_slice(const mica__node *node, mica_shape input, mica__access *access) {
  *access = window_access(node->attrs, input);
  return true;
}

extern const mica__op mica__op_slice, mica__op_pad;

/* The gradient of slice is pad, and the gradient of pad is slice, with the same window. Axes that the window covers
 * completely, in either direction, keep an open extent. */
static mica_status grad_window(const mica__grad *grad, const mica__op *other) {
  mica__window_attrs attrs = *(const mica__window_attrs *)mica__attrs_of(grad->y);
  mica_shape shape = mica_value_shape(grad->inputs[0]);
  for (int32_t k = 0; k < shape.rank; k++)
    if (attrs.shape.dim[k] == MICA_DYNAMIC) shape.dim[k] = MICA_DYNAMIC;
  attrs.shape = shape;
  attrs.value = 0;
  grad->dinputs[0] = mica__graph_add(other, &grad->dy, 1, &attrs);
  return MICA_OK;
}

static mica_status grad_slice(const mica__grad *grad) { return grad_window(grad, &mica__op_pad); }
static mica_status grad_pad(const mica__grad *grad) { return grad_window(grad, &mica__op_slice); }

const mica__op mica__op_slice = {.name = "slice",
                                 .kind = MICA__OP_VIEW,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .attrs = &mica__window_attr_list,
                                 .infer = infer_slice,
                                 .grad = grad_slice,
                                 .view = view_slice};

/* --- pad: the operand in a window of the result --- */

static mica_status evaluate_pad(const mica__eval *eval) {
  int64_t index[MICA_MAX_RANK] = {0}, count = 0, total = 0;
  const mica_shape small = eval->types[0].shape;
  const mica__window_attrs *attrs = eval->attrs;
  mica__access access = window_access(attrs, eval->type->shape);
  MICA_TRY(mica_shape_count(small, &count));
  MICA_TRY(mica_shape_count(eval->type->shape, &total));
  for (int64_t i = 0; i < total; i++) eval->output[i] = attrs->value;
  for (int64_t i = 0; i < count; i++, mica__next_index(small, index))
    eval->output[mica__access_at(&access, small, index)] = eval->inputs[0][i];
  return MICA_OK;
}

static mica_status launch_pad(const mica__exec *exec) {
  const mica__window_attrs *attrs = exec->attrs;
  mica__access from = {0}, to = window_access(attrs, mica_tensor_shape(exec->output));
  mica_shape small = mica_tensor_shape(exec->inputs[0]);
  for (int32_t k = 0; k < small.rank; k++) from.stride[k] = mica_tensor_strides(exec->inputs[0])[k];
  MICA_TRY(mica_op_fill(exec->queue, attrs->value, exec->output));
  return mica__strided_copy(exec->queue, NULL, small, exec->inputs[0], &from, exec->output, &to);
}

static void window_of_pad(const mica_graph *graph, const mica__node *node, int32_t k, mica__inset *window,
                          double *fill) {
  (void)graph, (void)k;
  const mica__window_attrs *attrs = node->attrs;
  *fill = attrs->value;
  for (int32_t a = 0; a < node->type.shape.rank; a++) {
    window->start[a] = attrs->start[a];
    window->step[a] = attrs->step[a];
  }
}

const mica__op mica__op_pad = {.name = "pad",
                               .kind = MICA__OP_LAUNCH,
                               .narrows = MICA__NARROWS_LATER,
                               .min_inputs = 1,
                               .max_inputs = 1,
                               .attrs = &mica__window_attr_list,
                               .infer = infer_pad,
                               .grad = grad_pad,
                               .evaluate = evaluate_pad,
                               .window = window_of_pad,
                               .launch = launch_pad,
                               .takes_strides = 1};

/* Returns a window that covers all of x. */
static mica__window_attrs whole(mica_value x) {
  mica__window_attrs attrs = {.shape.rank = mica_value_shape(x).rank};
  for (int32_t k = 0; k < attrs.shape.rank; k++) {
    attrs.shape.dim[k] = MICA_DYNAMIC;
    attrs.step[k] = 1;
  }
  return attrs;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

mica_value mica_slice(mica_value x, int32_t axis, int64_t start, int64_t stop, int64_t step) {
  mica__window_attrs attrs = whole(x);
  int64_t k = axis;
  if (!mica__builder_axis("slice", x, &k)) return (mica_value){0};
  int64_t extent = mica_value_shape(x).dim[k];
  if (step == 0) return mica__builder_fail("slice", x, MICA_E_INVALID, "step must not be 0");
  if (extent == MICA_DYNAMIC)
    return mica__builder_fail("slice", x, MICA_E_SHAPE, "axis %d of '%s' is open, but must have a known size", (int)k,
                              mica_value_name(x));
  /* All steps of at least the extent take one element. The largest of them would overflow as strides. */
  step = clamp(step, extent ? -extent : -1, extent ? extent : 1);
  if (start < 0) start += extent;
  if (stop < 0 && stop != MICA_END) stop += extent;
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  if (stop == MICA_END) stop = step > 0 ? high : low;
  start = clamp(start, low, high);
  stop = clamp(stop, low, high);
  int64_t span = step > 0 ? stop - start : start - stop, size = step > 0 ? step : -step;
  attrs.shape.dim[k] = span > 0 ? (span - 1) / size + 1 : 0;
  attrs.start[k] = span > 0 ? start : 0;
  attrs.step[k] = step;
  return mica__graph_add(&mica__op_slice, &x, 1, &attrs);
}

mica_value mica_flip(mica_value x, mica_axes axes) {
  mica__window_attrs attrs = whole(x);
  uint32_t set = 0;
  if (!mica__builder_axes("flip", x, axes, &set)) return (mica_value){0};
  for (int32_t k = 0; k < attrs.shape.rank; k++)
    if (set >> k & 1) attrs.start[k] = attrs.step[k] = -1;
  return mica__graph_add(&mica__op_slice, &x, 1, &attrs);
}

mica_value mica__pad_axis(mica_value x, int32_t axis, int64_t before, int64_t after, double value) {
  mica__window_attrs attrs = whole(x);
  int64_t extent = mica_value_shape(x).dim[axis];
  if (extent == MICA_DYNAMIC)
    return mica__builder_fail("pad", x, MICA_E_SHAPE, "axis %d of '%s' is open, but must have a known size", (int)axis,
                              mica_value_name(x));
  attrs.start[axis] = before;
  if (__builtin_add_overflow(before, extent, &extent) || __builtin_add_overflow(extent, after, &extent))
    return mica__builder_fail("pad", x, MICA_E_OVERFLOW,
                              "padding of %lld and %lld along axis %d gives 2^63 elements or more", (long long)before,
                              (long long)after, (int)axis);
  attrs.shape.dim[axis] = extent;
  attrs.value = value;
  return mica__graph_add(&mica__op_pad, &x, 1, &attrs);
}

/* --- concat --- */

#define CONCAT_ATTRS(X, S) X(S, INT, axis, 0, "along which the operands follow each other")
MICA__ATTR_STRUCT(concat, CONCAT_ATTRS);
static MICA__ATTR_TABLE(concat, CONCAT_ATTRS);

static mica_status infer_concat(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  char ta[MICA_SHAPE_TEXT], tb[MICA_SHAPE_TEXT];
  *out = inputs[0];
  MICA_TRY(mica__axis(&((mica__concat_attrs *)attrs)->axis, out->shape.rank));
  const int64_t axis = ((mica__concat_attrs *)attrs)->axis;
  int64_t *sum = &out->shape.dim[axis];
  for (int32_t i = 1; i < input_count; i++) {
    mica_shape shape = inputs[i].shape;
    bool fits = shape.rank == out->shape.rank;
    for (int32_t k = 0; fits && k < shape.rank; k++) {
      if (k == axis) continue;
      if (out->shape.dim[k] == MICA_DYNAMIC) out->shape.dim[k] = shape.dim[k];
      fits = shape.dim[k] == out->shape.dim[k] || shape.dim[k] == MICA_DYNAMIC;
    }
    if (!fits)
      return mica__fail(MICA_E_SHAPE, "%s and %s must have the same rank and may differ along axis %lld only",
                        mica_shape_format(inputs[0].shape, ta), mica_shape_format(shape, tb), (long long)axis);
    int64_t extent = shape.dim[axis];
    if (*sum == MICA_DYNAMIC || extent == MICA_DYNAMIC)
      *sum = MICA_DYNAMIC;
    else if (__builtin_add_overflow(*sum, extent, sum))
      return mica__fail(MICA_E_OVERFLOW, "the result would have 2^63 elements or more along axis %lld",
                        (long long)axis);
  }
  return MICA_OK;
}

static mica_status evaluate_concat(const mica__eval *eval) {
  int64_t axis = ((const mica__concat_attrs *)eval->attrs)->axis, begin = 0;
  mica__access access = {0};
  mica__row_major(eval->type->shape, access.stride);
  for (int32_t i = 0; i < eval->input_count; i++) {
    mica_shape shape = eval->types[i].shape;
    int64_t index[MICA_MAX_RANK] = {0}, count = 0;
    MICA_TRY(mica_shape_count(shape, &count));
    access.offset = begin * access.stride[axis];
    for (int64_t e = 0; e < count; e++, mica__next_index(shape, index))
      eval->output[mica__access_at(&access, shape, index)] = eval->inputs[i][e];
    begin += shape.dim[axis];
  }
  return MICA_OK;
}

/* True if the operand already lies in its window of the result, because the compiler had it computed there. */
static bool lies_there(const mica_tensor *x, const mica_tensor *y, const mica__access *to) {
  const mica_shape shape = mica_tensor_shape(x);
  if (mica__tensor_buffer(x) != mica__tensor_buffer(y)) return false;
  if (mica__tensor_first(x) != mica__tensor_first(y) + to->offset) return false;
  for (int32_t k = 0; k < shape.rank; k++)
    if (shape.dim[k] > 1 && mica_tensor_strides(x)[k] != to->stride[k]) return false;
  return true;
}

static mica_status launch_concat(const mica__exec *exec) {
  int64_t axis = ((const mica__concat_attrs *)exec->attrs)->axis, begin = 0;
  mica__access to = {0};
  mica__row_major(mica_tensor_shape(exec->output), to.stride);
  for (int32_t i = 0; i < exec->input_count; i++) {
    mica_shape shape = mica_tensor_shape(exec->inputs[i]);
    mica__access from = {0};
    for (int32_t k = 0; k < shape.rank; k++) from.stride[k] = mica_tensor_strides(exec->inputs[i])[k];
    to.offset = begin * to.stride[axis];
    if (!lies_there(exec->inputs[i], exec->output, &to))
      MICA_TRY(mica__strided_copy(exec->queue, NULL, shape, exec->inputs[i], &from, exec->output, &to));
    begin += shape.dim[axis];
  }
  return MICA_OK;
}

static mica_status grad_concat(const mica__grad *grad) {
  int64_t axis = ((const mica__concat_attrs *)mica__attrs_of(grad->y))->axis, begin = 0;
  for (int32_t i = 0; i < grad->input_count; i++) {
    int64_t extent = mica_value_shape(grad->inputs[i]).dim[axis];
    grad->dinputs[i] = mica_slice(grad->dy, (int32_t)axis, begin, begin + extent, 1);
    begin += extent;
  }
  return MICA_OK;
}

static void window_of_concat(const mica_graph *graph, const mica__node *node, int32_t k, mica__inset *window,
                             double *fill) {
  int64_t axis = ((const mica__concat_attrs *)node->attrs)->axis;
  *fill = 0;
  for (int32_t a = 0; a < node->type.shape.rank; a++) {
    window->start[a] = 0;
    window->step[a] = 1;
  }
  for (int32_t i = 0; i < k; i++) window->start[axis] += mica__graph_node(graph, node->inputs[i])->type.shape.dim[axis];
}

const mica__op mica__op_concat = {.name = "concat",
                                  .kind = MICA__OP_LAUNCH,
                                  .narrows = MICA__NARROWS_LATER,
                                  .min_inputs = 1,
                                  .max_inputs = INT32_MAX,
                                  .attrs = &mica__concat_attr_list,
                                  .dtypes = "*0>0",
                                  .infer = infer_concat,
                                  .grad = grad_concat,
                                  .evaluate = evaluate_concat,
                                  .window = window_of_concat,
                                  .composes = true,
                                  .launch = launch_concat,
                                  .takes_strides = UINT32_MAX};

mica_value mica_concat(const mica_value *values, size_t count, int32_t axis) {
  if (count == 0 || !values) {
    (void)mica__fail(MICA_E_INVALID, "concat: %s", values ? "there are no operands" : "values is NULL");
    return (mica_value){0};
  }
  if (count == 1) return values[0];
  if (count > INT32_MAX)
    return mica__graph_fail(values[0].graph, MICA_E_INVALID, "concat: there are more than 2^31 - 1 operands");
  return mica__graph_add(&mica__op_concat, values, (int32_t)count, &(mica__concat_attrs){axis});
}
