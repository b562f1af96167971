/* Reductions in graphs, and ops composed of them. */
#include "ops/common/build.h"
#include "ops/layout/views.h"

#include <math.h>

static bool reduces(const mica__reduce_attrs *attrs, int32_t axis) { return attrs->axes >> axis & 1; }

static mica_status infer_reduce(const mica__type *inputs, const mica__reduce_attrs *attrs, bool of_nothing,
                                mica__type *out) {
  const mica_shape from = inputs[0].shape;
  char text[MICA_SHAPE_TEXT];
  *out = (mica__type){.dtype = inputs[0].dtype};
  for (int32_t i = 0; i < from.rank; i++) {
    bool reduced = reduces(attrs, i);
    if (reduced && from.dim[i] == 0 && !of_nothing)
      return mica__fail(MICA_E_SHAPE, "axis %d of %s has no elements to reduce", (int)i, mica_shape_format(from, text));
    if (!reduced || attrs->keep) out->shape.dim[out->shape.rank++] = reduced ? 1 : from.dim[i];
  }
  return MICA_OK;
}

static mica_status infer_fold(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  return infer_reduce(inputs, attrs, true, out);
}

/* An optional second operand sets the extents of the result. Its axes are aligned with the last axes of the first
 * operand. The sum then also runs over the axes where the second operand has extent 1 and the first has not. Infer runs
 * again when open extents become known, and finds further axes then. Reduced axes stay, with extent 1. */
static mica_status infer_sum(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  mica__reduce_attrs *given = attrs;
  if (input_count == 1) return infer_reduce(inputs, attrs, true, out);
  const mica_shape from = inputs[0].shape, to = inputs[1].shape;
  const int32_t extra = from.rank - to.rank;
  for (int32_t i = extra; i < from.rank; i++)
    if (to.dim[i - extra] == 1 && from.dim[i] != 1) given->axes |= 1u << i;
  MICA_TRY(infer_reduce(inputs, given, true, out));
  for (int32_t i = extra; i < from.rank; i++) out->shape.dim[i] = to.dim[i - extra];
  return MICA_OK;
}

static mica_status infer_extreme(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  return infer_reduce(inputs, attrs, false, out);
}

/* --- references --- */

typedef double fold_fn(double so_far, double x);

static double fold_sum(double so_far, double x) { return so_far + x; }
static double fold_prod(double so_far, double x) { return so_far * x; }
static double fold_max(double so_far, double x) { return x > so_far || isnan(x) ? x : so_far; }
static double fold_min(double so_far, double x) { return x < so_far || isnan(x) ? x : so_far; }

/* Finds the strides of the result along the axes of the operand: 0 along reduced axes. */
static void result_strides(const mica__eval *eval, int64_t stride[MICA_MAX_RANK]) {
  int64_t step = 1;
  for (int32_t i = eval->types[0].shape.rank - 1; i >= 0; i--) {
    bool reduced = reduces(eval->attrs, i);
    stride[i] = reduced ? 0 : step;
    if (!reduced) step *= eval->types[0].shape.dim[i];
  }
}

static mica_status fold(const mica__eval *eval, fold_fn *join, double first) {
  const mica_shape from = eval->types[0].shape;
  int64_t stride[MICA_MAX_RANK], index[MICA_MAX_RANK] = {0}, count = 0, results = 0;
  MICA_TRY(mica_shape_count(from, &count));
  MICA_TRY(mica_shape_count(eval->type->shape, &results));
  result_strides(eval, stride);
  for (int64_t i = 0; i < results; i++) eval->output[i] = first;
  for (int64_t i = 0; i < count; i++, mica__next_index(from, index)) {
    int64_t at = 0;
    for (int32_t k = 0; k < from.rank; k++) at += index[k] * stride[k];
    eval->output[at] = join(eval->output[at], eval->inputs[0][i]);
  }
  return MICA_OK;
}

static mica_status evaluate_sum(const mica__eval *eval) { return fold(eval, fold_sum, 0); }
static mica_status evaluate_prod(const mica__eval *eval) { return fold(eval, fold_prod, 1); }
static mica_status evaluate_max(const mica__eval *eval) { return fold(eval, fold_max, -(double)INFINITY); }
static mica_status evaluate_min(const mica__eval *eval) { return fold(eval, fold_min, (double)INFINITY); }

static mica_status evaluate_index(const mica__eval *eval, fold_fn *better) {
  const mica_shape from = eval->types[0].shape;
  int64_t outer = 1, n = 1, inner = 1;
  int32_t axis = 0;
  while (axis < from.rank && !reduces(eval->attrs, axis)) outer *= from.dim[axis++];
  if (axis < from.rank) n = from.dim[axis++];
  while (axis < from.rank) inner *= from.dim[axis++];
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < inner; i++) {
      const double *x = eval->inputs[0] + o * n * inner + i;
      int64_t best = 0;
      for (int64_t k = 1; k < n && !isnan(x[best * inner]); k++) {
        double joined = better(x[best * inner], x[k * inner]);
        if (joined != x[best * inner]) best = k;
      }
      eval->output[o * inner + i] = (double)best;
    }
  return MICA_OK;
}

static mica_status evaluate_argmax(const mica__eval *eval) { return evaluate_index(eval, fold_max); }
static mica_status evaluate_argmin(const mica__eval *eval) { return evaluate_index(eval, fold_min); }

/* --- gradients --- */

/* Reshapes a result so that its reduced axes return, with extent 1. */
static mica_value with_axes(mica_value value, const mica__reduce_attrs *attrs, int32_t rank) {
  mica_shape to = {.rank = rank};
  int32_t k = 0;
  if (attrs->keep) return value;
  for (int32_t i = 0; i < rank; i++) to.dim[i] = reduces(attrs, i) ? 1 : MICA__COPY_DIM(k++);
  return mica_reshape(value, to);
}

static mica_status grad_sum(const mica__grad *grad) {
  const mica__reduce_attrs *attrs = mica__attrs_of(grad->y);
  mica_value x = grad->inputs[0];
  if (grad->input_count == 2) {
    grad->dinputs[0] = mica__graph_add(&mica__op_expand, (mica_value[]){grad->dy, x}, 2, NULL);
    return MICA_OK;
  }
  grad->dinputs[0] = mica__expand_like(with_axes(grad->dy, attrs, mica_value_shape(x).rank), x);
  return MICA_OK;
}

/* If several elements equal the extreme, they share its gradient equally. */
static mica_status grad_extreme(const mica__grad *grad) {
  mica__reduce_attrs attrs = *(const mica__reduce_attrs *)mica__attrs_of(grad->y);
  mica_value x = grad->inputs[0];
  int32_t rank = mica_value_shape(x).rank;
  mica_value y = with_axes(grad->y, &attrs, rank), dy = with_axes(grad->dy, &attrs, rank);
  mica_value chosen = mica_cast(mica_equal(x, y), mica_value_dtype(x));
  attrs.keep = true;
  mica_value equals = mica__graph_add(&mica__op_sum, &chosen, 1, &attrs);
  grad->dinputs[0] = mica_mul(chosen, mica_div(dy, equals));
  return MICA_OK;
}

/* The gradient of a factor is dy times the product of the factors before it and the product of the factors after it.
 * This needs no division, so a factor may be 0. It works for one axis only. */
static mica_status grad_prod(const mica__grad *grad) {
  const mica__reduce_attrs *attrs = mica__attrs_of(grad->y);
  mica_value x = grad->inputs[0];
  int32_t rank = mica_value_shape(x).rank, axis = 0;
  while (axis < rank && !reduces(attrs, axis)) axis++;
  mica_value dy = with_axes(grad->dy, attrs, rank);
  if (axis < rank) dy = mica_mul(dy, mica_mul(mica_cumprod(x, axis, true, false), mica_cumprod(x, axis, true, true)));
  grad->dinputs[0] = dy;
  return MICA_OK;
}

static mica_status grad_index(const mica__grad *grad) {
  grad->dinputs[0] = (mica_value){0};
  return MICA_OK;
}

/* --- descriptors and builders --- */

static MICA__ATTR_TABLE(reduce, MICA__REDUCE_ATTRS);

#define REDUCTION(label, how, most, takes, shape_rule, gradient)                                                       \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kind = MICA__OP_REDUCE,                                                          \
                                     .min_inputs = 1,                                                                  \
                                     .max_inputs = most,                                                               \
                                     .shape_only = most > 1 ? 2 : 0,                                                   \
                                     .attrs = &mica__reduce_attr_list,                                                 \
                                     .dtypes = takes,                                                                  \
                                     .infer = shape_rule,                                                              \
                                     .grad = gradient,                                                                 \
                                     .join = MICA__JOIN_##how,                                                         \
                                     .evaluate = evaluate_##label};
REDUCTION(sum, SUM, 2, "n>0", infer_sum, grad_sum)
REDUCTION(max, MAX, 1, "n>0", infer_extreme, grad_extreme)
REDUCTION(min, MIN, 1, "n>0", infer_extreme, grad_extreme)
REDUCTION(prod, PROD, 1, "n>0", infer_fold, grad_prod)
REDUCTION(argmax, ARGMAX, 1, "n>l", infer_extreme, grad_index)
REDUCTION(argmin, ARGMIN, 1, "n>l", infer_extreme, grad_index)

#define BUILDER(name)                                                                                                  \
  mica_value mica_##name(mica_value x, mica_axes axes, bool keep) {                                                    \
    mica__reduce_attrs attrs = {.keep = keep};                                                                         \
    if (!mica__builder_axes(#name, x, axes, &attrs.axes)) return (mica_value){0};                                      \
    return mica__graph_add(&mica__op_##name, &x, 1, &attrs);                                                           \
  }
BUILDER(sum)
BUILDER(max)
BUILDER(min)

/* Reduces one axis after another, from the last to the first, because grad_prod supports only one axis. */
mica_value mica_prod(mica_value x, mica_axes axes, bool keep) {
  uint32_t set = 0;
  if (!mica__builder_axes("prod", x, axes, &set)) return (mica_value){0};
  for (int32_t k = mica_value_shape(x).rank - 1; k >= 0; k--) {
    const mica__reduce_attrs one = {.axes = 1u << k, .keep = keep};
    if (set >> k & 1) x = mica__graph_add(&mica__op_prod, &x, 1, &one);
  }
  return x;
}

#define INDEX_BUILDER(name)                                                                                            \
  mica_value mica_##name(mica_value x, int32_t axis, bool keep) {                                                      \
    mica__reduce_attrs attrs = {.keep = keep};                                                                         \
    if (!mica__builder_axes(#name, x, MICA_AXES(axis), &attrs.axes)) return (mica_value){0};                           \
    return mica__graph_add(&mica__op_##name, &x, 1, &attrs);                                                           \
  }
INDEX_BUILDER(argmax)
INDEX_BUILDER(argmin)

/* --- the number of reduced elements, known as soon as the shape is --- */

static mica_status infer_extent(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = (mica__type){inputs[0].dtype, MICA_SCALAR};
  return MICA_OK;
}

static mica_status evaluate_extent(const mica__eval *eval) {
  eval->output[0] = 1;
  for (int32_t i = 0; i < eval->types[0].shape.rank; i++)
    if (reduces(eval->attrs, i)) eval->output[0] *= (double)eval->types[0].shape.dim[i];
  return MICA_OK;
}

const mica__op mica__op_extent = {.name = "extent",
                                  .kind = MICA__OP_SHAPE,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .attrs = &mica__reduce_attr_list,
                                  .infer = infer_extent,
                                  .grad = grad_index,
                                  .evaluate = evaluate_extent,
                                  .shape_only = 1};

mica_value mica__count_along(mica_value x, mica_axes axes) {
  mica__reduce_attrs attrs = {0};
  if (!mica__builder_axes("extent", x, axes, &attrs.axes)) return (mica_value){0};
  return mica__graph_add(&mica__op_extent, &x, 1, &attrs);
}

mica_value mica_mean(mica_value x, mica_axes axes, bool keep) {
  mica__reduce_attrs attrs = {.keep = keep};
  if (!mica__builder_axes("mean", x, axes, &attrs.axes)) return (mica_value){0};
  /* A sum in 16 bits could overflow although the mean does not. */
  mica_value wide = mica__widen(x), sum = mica__graph_add(&mica__op_sum, &wide, 1, &attrs);
  const mica_shape shape = mica_value_shape(x);
  double count = 1;
  for (int32_t i = 0; i < shape.rank; i++)
    if (reduces(&attrs, i)) count = count < 0 || shape.dim[i] == MICA_DYNAMIC ? -1 : count * (double)shape.dim[i];
  attrs.keep = false;
  mica_value mean =
      count >= 0 ? mica_affine(sum, 1 / count, 0) : mica_div(sum, mica__graph_add(&mica__op_extent, &wide, 1, &attrs));
  return mica__graph_mark(mica__narrow(mean, x), "mean", &x, 1, (double[]){attrs.axes, keep}, 2);
}

/* log sum e^x = m + log sum e^(x - m) for any m; with the largest x as m nothing overflows. An infinite m would give
 * NaN, so 0 replaces it. The result does not depend on m, so no gradient goes through it. */
mica_value mica_logsumexp(mica_value x, mica_axes axes, bool keep) {
  mica__reduce_attrs attrs = {.keep = true};
  if (!mica__builder_axes("logsumexp", x, axes, &attrs.axes)) return (mica_value){0};
  mica_value wide = mica__widen(x), most = mica__graph_add(&mica__op_max, &wide, 1, &attrs);
  most = mica_stop_gradient(mica_where(mica_isfinite(most), most, mica__number(wide, 0)));
  mica_value powers = mica_exp(mica_sub(wide, most));
  mica_value y = mica_add(mica_log(mica__graph_add(&mica__op_sum, &powers, 1, &attrs)), most);
  if (!keep) {
    mica_shape shape = mica_value_shape(x), to = {.rank = 0};
    for (int32_t i = 0; i < shape.rank; i++)
      if (!reduces(&attrs, i)) to.dim[to.rank++] = MICA__COPY_DIM(i);
    y = mica_reshape(y, to);
  }
  return mica__narrow(y, x);
}
