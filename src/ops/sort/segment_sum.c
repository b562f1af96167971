/* Sums the rows of each segment. A segment is a range of adjacent rows with the same segment number. */
#include "base/error.h"
#include "ops/select/launch_check.h"
#include "ops/sort/order.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"

#include <mica/index.h>

#define SEGMENT_ATTRS(X, S) X(S, INT, count, 0, "segments of the result")
MICA__ATTR_STRUCT(segment_sum, SEGMENT_ATTRS);
static MICA__ATTR_TABLE(segment_sum, SEGMENT_ATTRS);

static mica_status infer_segments(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__segment_sum_attrs *how = attrs;
  mica_shape x = inputs[0].shape, s = inputs[1].shape;
  char tx[MICA_SHAPE_TEXT], ts[MICA_SHAPE_TEXT];
  if (how->count < 0) return mica__fail(MICA_E_SHAPE, "count is %lld, but must not be negative", (long long)how->count);
  if (x.rank < 1 || s.rank != 1 || (x.dim[0] != s.dim[0] && x.dim[0] != MICA_DYNAMIC && s.dim[0] != MICA_DYNAMIC))
    return mica__fail(MICA_E_SHAPE, "segments are %s, but must be one number per row of %s", mica_shape_format(s, ts),
                      mica_shape_format(x, tx));
  *out = inputs[0];
  out->shape.dim[0] = how->count;
  return MICA_OK;
}

static mica_status evaluate_segments(const mica__eval *eval) {
  int64_t count = eval->type->shape.dim[0], m = eval->types[0].shape.dim[0];
  const mica__rows r = mica__rows_of(eval->types[0].shape, 0);
  for (int64_t i = 0; i < count * r.inner; i++) eval->output[i] = 0;
  for (int64_t j = 0; j < m; j++) {
    double s = eval->inputs[1][j];
    if (s < 0 || s >= (double)count) continue;
    for (int64_t i = 0; i < r.inner; i++) eval->output[(int64_t)s * r.inner + i] += eval->inputs[0][j * r.inner + i];
  }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__NUMBERS),
    MICA__DTYPE("I_T", "type of the segments", MICA_I64, MICA_I32),
    MICA__INT("VW", "elements a work-item makes", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_I64, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_I64, 1),
};
static const mica__kernel_desc segment_sum = {MICA__KERNEL("segment_sum", "sort/segment_sum.cl", params, variants)};

static mica_status launch_segments(const mica__exec *exec) {
  const mica_tensor *x = exec->inputs[0];
  const mica__rows r = mica__rows_of(mica_tensor_shape(x), 0);
  int64_t count = mica_tensor_shape(exec->output).dim[0];
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, &segment_sum, values));
  mica__kernel_set(&segment_sum, values, "X_T", (int32_t)mica_tensor_dtype(x));
  mica__kernel_set(&segment_sum, values, "I_T", (int32_t)mica_tensor_dtype(exec->inputs[1]));
  int64_t width = mica__kernel_value(&segment_sum, values, "VW");
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &segment_sum, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, exec->inputs[1]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_size(&launch, r.n);
  mica__launch_size(&launch, count);
  mica__launch_size(&launch, r.inner);
  mica__launch_range1(&launch, count * ((r.inner + width - 1) / width), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, (double)mica_tensor_count(x),
                    (double)mica_tensor_bytes(x) + (double)mica_tensor_bytes(exec->output) +
                        (double)mica_tensor_bytes(exec->inputs[1]));
  return mica__queue_submit(exec->queue, &launch);
}

/* Rows of invalid segments get no gradient: a gather reads 0 above the last index, so negative numbers are moved
 * there. */
static mica_status grad_segments(const mica__grad *grad) {
  const mica__segment_sum_attrs *how = mica__attrs_of(grad->y);
  mica_value s = grad->inputs[1], zero = mica__number(s, 0), above = mica__number(s, (double)how->count);
  grad->dinputs[0] = mica_gather(grad->dy, mica_where(mica_less(s, zero), above, s), 0);
  return MICA_OK;
}

/* A check's inputs are random, but segment numbers must rise. So with several rows their bound is below 1, which
 * makes all of them 0. tests/ops/test_index.c checks other numbers. */
static mica_status check_segments(mica__check *check) {
  static const mica__segment_sum_attrs three = {3}, none = {0};
  const mica__launch_case list[] = {
      {.attrs = &three,
       .inputs = {{MICA_F32, {2, {9, 7}}}, {MICA_I64, {1, {9}}}},
       .input_count = 2,
       .bound = {2, 0.5},
       .terms = 9},
      {.attrs = &three,
       .inputs = {{MICA_F16, {3, {300, 3, 11}}}, {MICA_I32, {1, {300}}}},
       .input_count = 2,
       .bound = {2, 0.5},
       .terms = 300},
      {.attrs = &three, .inputs = {{MICA_I32, {1, {1}}}, {MICA_I32, {1, {1}}}}, .input_count = 2, .bound = {9, 3}},
      {.attrs = &three, .inputs = {{MICA_F32, {2, {0, 5}}}, {MICA_I64, {1, {0}}}}, .input_count = 2},
      {.attrs = &none, .inputs = {{MICA_F32, {2, {4, 5}}}, {MICA_I64, {1, {4}}}}, .input_count = 2, .bound = {2, 0.5}},
  };
  return mica__check_launches(check, &mica__op_segment_sum, "segment_sum", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&segment_sum, NULL};
const mica__op mica__op_segment_sum = {.name = "segment_sum",
                                       .kernels = kernels,
                                       .check = check_segments,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = 2,
                                       .max_inputs = 2,
                                       .attrs = &mica__segment_sum_attr_list,
                                       .dtypes = "nx>0",
                                       .infer = infer_segments,
                                       .grad = grad_segments,
                                       .evaluate = evaluate_segments,
                                       .launch = launch_segments};

mica_value mica_segment_sum(mica_value x, mica_value segments, int64_t count) {
  return mica__graph_add(&mica__op_segment_sum, (mica_value[]){x, segments}, 2, &(mica__segment_sum_attrs){count});
}
