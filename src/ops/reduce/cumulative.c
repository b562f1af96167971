/* Cumulative sums and products along an axis. */
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

#define CUMULATIVE_ATTRS(X, S)                                                                                         \
  X(S, INT, axis, 0, "along which elements are joined")                                                                \
  X(S, BOOL, exclusive, false, "without the element itself")                                                           \
  X(S, BOOL, reverse, false, "from the end")                                                                           \
  X(S, BOOL, product, false, "the product, not the sum")
MICA__ATTR_STRUCT(cumulative, CUMULATIVE_ATTRS);
static MICA__ATTR_TABLE(cumulative, CUMULATIVE_ATTRS);

static mica_status infer_cumulative(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  *out = inputs[0];
  return mica__axis(&((mica__cumulative_attrs *)attrs)->axis, out->shape.rank);
}

static mica_status evaluate_cumulative(const mica__eval *eval) {
  const mica__cumulative_attrs *how = eval->attrs;
  const mica__rows r = mica__rows_of(eval->types[0].shape, how->axis);
  for (int64_t o = 0; o < r.outer; o++)
    for (int64_t i = 0; i < r.inner; i++) {
      double so_far = how->product ? 1 : 0;
      for (int64_t j = 0; j < r.n; j++) {
        int64_t at = (o * r.n + (how->reverse ? r.n - 1 - j : j)) * r.inner + i;
        double joined = how->product ? so_far * eval->inputs[0][at] : so_far + eval->inputs[0][at];
        eval->output[at] = how->exclusive ? so_far : joined;
        so_far = joined;
      }
    }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__NUMBERS),          MICA__INT("PRODUCT", "1: the product", 0, 1),
    MICA__INT("EXCLUSIVE", "1: without the element itself", 0, 1), MICA__INT("REVERSE", "1: from the end", 0, 1),
    MICA__INT("VW", "columns a work-item takes", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 0, 0, 0, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 0, 0, 0, 1),
};
static const mica__kernel_desc cumulative = {MICA__KERNEL("cumulative", "reduce/cumulative.cl", params, variants)};

static mica_status launch_cumulative(const mica__exec *exec) {
  const mica__cumulative_attrs *how = exec->attrs;
  const mica__rows r = mica__rows_of(mica_tensor_shape(exec->output), how->axis);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, &cumulative, values));
  mica__kernel_set(&cumulative, values, "X_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(&cumulative, values, "PRODUCT", how->product);
  mica__kernel_set(&cumulative, values, "EXCLUSIVE", how->exclusive);
  mica__kernel_set(&cumulative, values, "REVERSE", how->reverse);
  int64_t width = values[mica__kernel_param_index(&cumulative, "VW")];
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &cumulative, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->inputs[0]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_size(&launch, r.outer);
  mica__launch_size(&launch, r.n);
  mica__launch_size(&launch, r.inner);
  mica__launch_range1(&launch, r.outer * ((r.inner + width - 1) / width), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, (double)mica_tensor_count(exec->output), 2 * (double)mica_tensor_bytes(exec->output));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_value add_cumulative(mica_value x, int64_t axis, bool product, bool exclusive, bool reverse) {
  const mica__cumulative_attrs attrs = {axis, exclusive, reverse, product};
  return mica__graph_add(product ? &mica__op_cumprod : &mica__op_cumsum, &x, 1, &attrs);
}

static mica_status grad_cumsum(const mica__grad *grad) {
  const mica__cumulative_attrs *attrs = mica__attrs_of(grad->y);
  grad->dinputs[0] = add_cumulative(grad->dy, attrs->axis, false, attrs->exclusive, !attrs->reverse);
  return MICA_OK;
}

/* x must not contain 0: the gradient divides by each factor. */
static mica_status grad_cumprod(const mica__grad *grad) {
  const mica__cumulative_attrs *attrs = mica__attrs_of(grad->y);
  mica_value share = add_cumulative(mica_mul(grad->dy, grad->y), attrs->axis, false, attrs->exclusive, !attrs->reverse);
  grad->dinputs[0] = mica_div(share, grad->inputs[0]);
  return MICA_OK;
}

static mica_status check_both(mica__check *check, const mica__op *op, bool product) {
  const mica__cumulative_attrs attrs[] = {{0, false, false, product},
                                          {1, true, false, product},
                                          {0, false, true, product},
                                          {-2, true, true, product},
                                          {1, false, false, product}};
  mica__launch_case list[] = {
      {.attrs = &attrs[0], .inputs = {{MICA_F32, {1, {300}}}}, .terms = 300},
      {.attrs = &attrs[1], .inputs = {{MICA_F32, {2, {5, 7}}}}, .terms = 7},
      {.attrs = &attrs[2], .inputs = {{MICA_F16, {2, {9, 33}}}}, .terms = 9},
      {.attrs = &attrs[3], .inputs = {{MICA_F64, {3, {2, 8, 17}}}}, .terms = 8},
      {.attrs = &attrs[4], .inputs = {{MICA_I32, {3, {2, 8, 16}}}}, .terms = 1},
      {.attrs = &attrs[0], .inputs = {{MICA_BF16, {2, {0, 3}}}}, .terms = 1},
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) list[i].input_count = 1;
  return mica__check_launches(check, op, op->name, list, sizeof list / sizeof *list);
}

static mica_status check_cumsum(mica__check *check) { return check_both(check, &mica__op_cumsum, false); }
static mica_status check_cumprod(mica__check *check) { return check_both(check, &mica__op_cumprod, true); }

static const mica__kernel_desc *const kernels[] = {&cumulative, NULL};

#define CUMULATIVE(label)                                                                                              \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kernels = kernels,                                                               \
                                     .check = check_##label,                                                           \
                                     .kind = MICA__OP_LAUNCH,                                                          \
                                     .min_inputs = 1,                                                                  \
                                     .max_inputs = 1,                                                                  \
                                     .attrs = &mica__cumulative_attr_list,                                             \
                                     .dtypes = "n>0",                                                                  \
                                     .infer = infer_cumulative,                                                        \
                                     .grad = grad_##label,                                                             \
                                     .evaluate = evaluate_cumulative,                                                  \
                                     .launch = launch_cumulative,                                                      \
                                     .may_alias = 1};
CUMULATIVE(cumsum)
CUMULATIVE(cumprod)

mica_value mica_cumsum(mica_value x, int32_t axis, bool exclusive, bool reverse) {
  return add_cumulative(x, axis, false, exclusive, reverse);
}

mica_value mica_cumprod(mica_value x, int32_t axis, bool exclusive, bool reverse) {
  return add_cumulative(x, axis, true, exclusive, reverse);
}
