/* reshape, transpose, expand: views of the same elements. */
#include "ops/layout/views.h"
#include "base/checked.h"
#include "ops/common/build.h"

#define TO_SHAPE_ATTRS(X, S) X(S, SHAPE, shape, 0, "what is asked for")
MICA__ATTR_STRUCT(to_shape, TO_SHAPE_ATTRS);
static MICA__ATTR_TABLE(to_shape, TO_SHAPE_ATTRS);

/* --- reshape: to the shape in the attributes (MICA_DYNAMIC: what remains; MICA__COPY_DIM: as the operand's), or to the
 * shape of a second operand --- */

/* Sets *count to the product of all known dimensions; false if it overflows. */
static bool product(mica_shape shape, int64_t *count) {
  *count = 1;
  for (int32_t i = 0; i < shape.rank; i++)
    if (shape.dim[i] >= 0 && !mica__mul_i64(*count, shape.dim[i], count)) return false;
  return true;
}

/* Copies the operand's dimensions where requested; *rest is the index of the dimension that takes the remaining
 * elements, or -1. False if a request names no dimension of the operand, or if two dimensions would take the rest. */
static bool copy_dims(mica_shape from, mica_shape *to, int32_t *rest) {
  *rest = -1;
  for (int32_t i = 0; i < to->rank; i++) {
    if (to->dim[i] < -1 - from.rank) return false;
    const int64_t k = to->dim[i] < MICA_DYNAMIC ? -2 - to->dim[i] : -1;
    if (to->dim[i] == MICA_DYNAMIC && *rest >= 0) return false;
    if (to->dim[i] == MICA_DYNAMIC) *rest = i;
    if (k >= 0) to->dim[i] = from.dim[k];
  }
  return true;
}

/* Sets *to to the asked shape, with copied dimensions and the remaining one filled in. The remaining dimension stays
 * open if the operand's shape is open. MICA_E_SHAPE if that is impossible. */
static mica_status resolve(mica_shape from, mica_shape asked, mica_shape *to) {
  char tf[MICA_SHAPE_TEXT], ta[MICA_SHAPE_TEXT];
  int64_t have = 1, known = 1;
  int32_t rest = -1;
  *to = asked;
  if (!copy_dims(from, to, &rest))
    return mica__fail(MICA_E_SHAPE,
                      "%s cannot become %s: at most one dimension may be open, and each dimension to copy must exist",
                      mica_shape_format(from, tf), mica_shape_format(asked, ta));
  bool fits = product(from, &have) && product(*to, &known);
  if (fits && mica__shape_is_known(from)) {
    fits = rest >= 0 ? known > 0 && have % known == 0 : known == have;
    if (fits && rest >= 0) to->dim[rest] = have / known;
  }
  if (fits) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "%s cannot become %s: the number of elements must stay the same",
                    mica_shape_format(from, tf), mica_shape_format(asked, ta));
}

static mica_status infer_reshape(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  out->dtype = inputs[0].dtype;
  if (input_count == 1) return resolve(inputs[0].shape, ((const mica__to_shape_attrs *)attrs)->shape, &out->shape);
  out->shape = inputs[1].shape;
  return mica__shape_is_known(out->shape) ? resolve(inputs[0].shape, out->shape, &out->shape) : MICA_OK;
}

static bool view_reshape(const mica__node *node, mica_shape input, mica__access *access) {
  (void)input;
  access->offset = 0;
  mica__row_major(node->type.shape, access->stride);
  return true;
}

static mica_status grad_reshape(const mica__grad *grad) {
  grad->dinputs[0] = mica__reshape_like(grad->dy, grad->inputs[0]);
  return MICA_OK;
}

const mica__op mica__op_reshape = {.name = "reshape",
                                   .kind = MICA__OP_VIEW,
                                   .min_inputs = 1,
                                   .max_inputs = 2,
                                   .attrs = &mica__to_shape_attr_list,
                                   .infer = infer_reshape,
                                   .grad = grad_reshape,
                                   .view = view_reshape,
                                   .shape_only = 2};

mica_value mica_reshape(mica_value x, mica_shape shape) {
  return mica__graph_add(&mica__op_reshape, &x, 1, &(mica__to_shape_attrs){shape});
}

/* --- transpose --- */

static MICA__ATTR_TABLE(transpose, MICA__TRANSPOSE_ATTRS);

static mica_status infer_transpose(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica_shape from = inputs[0].shape;
  int64_t *axes = ((mica__transpose_attrs *)attrs)->axes;
  char text[MICA_SHAPE_TEXT];
  unsigned seen = 0;
  *out = inputs[0];
  for (int32_t i = 0; i < from.rank; i++) {
    MICA_TRY(mica__axis(&axes[i], from.rank));
    seen |= 1u << axes[i];
    out->shape.dim[i] = from.dim[axes[i]];
  }
  if (seen == (1u << from.rank) - 1) return MICA_OK;
  return mica__fail(MICA_E_SHAPE, "axes must name each axis of %s once", mica_shape_format(from, text));
}

static bool view_transpose(const mica__node *node, mica_shape input, mica__access *access) {
  const mica__transpose_attrs *attrs = node->attrs;
  int64_t stride[MICA_MAX_RANK];
  mica__row_major(input, stride);
  access->offset = 0;
  for (int32_t i = 0; i < input.rank; i++) access->stride[i] = stride[attrs->axes[i]];
  return true;
}

static mica_status grad_transpose(const mica__grad *grad) {
  const mica__transpose_attrs *attrs = mica__attrs_of(grad->y);
  mica_axes back = {.count = mica_value_shape(grad->y).rank};
  for (int32_t i = 0; i < back.count; i++) back.axis[attrs->axes[i]] = i;
  grad->dinputs[0] = mica_transpose(grad->dy, back);
  return MICA_OK;
}

const mica__op mica__op_transpose = {.name = "transpose",
                                     .kind = MICA__OP_VIEW,
                                     .min_inputs = 1,
                                     .max_inputs = 1,
                                     .attrs = &mica__transpose_attr_list,
                                     .infer = infer_transpose,
                                     .grad = grad_transpose,
                                     .view = view_transpose};

mica_value mica_transpose(mica_value x, mica_axes axes) {
  int32_t rank = mica_value_shape(x).rank;
  mica__transpose_attrs attrs = {0};
  if (x.graph && axes.count != 0 && axes.count != rank)
    return mica__builder_fail("transpose", x, MICA_E_SHAPE,
                              "%d axes are given, but must be 0 or %d, the rank of the tensor", (int)axes.count,
                              (int)rank);
  for (int32_t i = 0; i < rank; i++) attrs.axes[i] = axes.count ? axes.axis[i] : rank - 1 - i;
  return mica__graph_add(&mica__op_transpose, &x, 1, &attrs);
}

/* --- expand: broadcasts the operand with the shape in the attributes, or with the shape of a second operand --- */

static mica_status infer_expand(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  char tf[MICA_SHAPE_TEXT], tt[MICA_SHAPE_TEXT];
  out->dtype = inputs[0].dtype;
  const mica__to_shape_attrs *given = attrs;
  mica_shape from = inputs[0].shape, to = input_count == 1 ? given->shape : inputs[1].shape;
  MICA_TRY(mica__shape_broadcast(from, to, &out->shape));
  for (int32_t i = 0; i < out->shape.rank && input_count == 1; i++) {
    int32_t at = i - (out->shape.rank - from.rank), wanted = i - (out->shape.rank - to.rank);
    if (wanted < 0 || to.dim[wanted] != MICA_DYNAMIC) continue;
    if (at < 0)
      return mica__fail(MICA_E_SHAPE,
                        "cannot expand %s to %s: dimension %d is open in the second and missing in the first",
                        mica_shape_format(from, tf), mica_shape_format(to, tt), (int)wanted);
    out->shape.dim[i] = from.dim[at];
  }
  return MICA_OK;
}

static bool view_expand(const mica__node *node, mica_shape input, mica__access *access) {
  int64_t stride[MICA_MAX_RANK];
  int32_t extra = node->type.shape.rank - input.rank;
  mica__row_major(input, stride);
  *access = (mica__access){0};
  for (int32_t i = 0; i < input.rank; i++)
    if (input.dim[i] != 1) access->stride[extra + i] = stride[i];
  return true;
}

static mica_status grad_expand(const mica__grad *grad) {
  grad->dinputs[0] = mica__sum_to(grad->dy, grad->inputs[0]);
  return MICA_OK;
}

const mica__op mica__op_expand = {.name = "expand",
                                  .kind = MICA__OP_VIEW,
                                  .min_inputs = 1,
                                  .max_inputs = 2,
                                  .attrs = &mica__to_shape_attr_list,
                                  .infer = infer_expand,
                                  .grad = grad_expand,
                                  .view = view_expand,
                                  .shape_only = 2};

mica_value mica_expand(mica_value x, mica_shape shape) {
  return mica__graph_add(&mica__op_expand, &x, 1, &(mica__to_shape_attrs){shape});
}

static int32_t open_count(mica_shape shape) {
  int32_t count = 0;
  for (int32_t i = 0; i < shape.rank; i++) count += shape.dim[i] == MICA_DYNAMIC;
  return count;
}

mica_value mica__reshape_like(mica_value value, mica_value like) {
  mica_shape shape = mica_value_shape(like);
  if (mica_shape_equal(mica_value_shape(value), shape) && mica__shape_is_known(shape)) return value;
  if (open_count(shape) <= 1) return mica_reshape(value, shape);
  return mica__graph_add(&mica__op_reshape, (mica_value[]){value, like}, 2, NULL);
}

mica_value mica__expand_like(mica_value value, mica_value like) {
  mica_shape from = mica_value_shape(value), to = mica_value_shape(like);
  if (mica_shape_equal(from, to)) return value;
  for (int32_t i = 0; i < to.rank; i++) {
    int32_t at = i - (to.rank - from.rank);
    /* An open extent that does not come from the value must come from `like`. */
    if (to.dim[i] == MICA_DYNAMIC && (at < 0 || from.dim[at] != MICA_DYNAMIC))
      return mica__graph_add(&mica__op_expand, (mica_value[]){value, like}, 2, NULL);
  }
  return mica_expand(value, to);
}

mica_value mica__sum_to(mica_value value, mica_value like) {
  if (!value.graph || mica_dtype_kind_of(mica_value_dtype(like)) != MICA_DTYPE_KIND_FLOAT) return (mica_value){0};
  mica_shape from = mica_value_shape(value), to = mica_value_shape(like);
  int32_t extra = from.rank - to.rank;
  mica__reduce_attrs sum = {.keep = true};
  bool open = false; /* an open extent may turn out to be 1 although the value's is not */
  for (int32_t i = 0; i < from.rank; i++) {
    if (i < extra || (to.dim[i - extra] == 1 && from.dim[i] != 1))
      sum.axes |= 1u << i;
    else
      open = open || (to.dim[i - extra] == MICA_DYNAMIC && from.dim[i] != 1);
  }
  if (sum.axes || open) value = mica__graph_add(&mica__op_sum, (mica_value[]){value, like}, open ? 2 : 1, &sum);
  return extra > 0 ? mica__reshape_like(value, like) : value;
}
