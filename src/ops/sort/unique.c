/* The unique elements of a tensor in rising order: results VALUES, INVERSE and COUNT. */
#include "base/error.h"
#include "ops/select/launch_check.h"
#include "ops/sort/order.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>
#include <mica/index.h>
#include <mica/ops.h>
#include <stdlib.h>

enum { VALUES, INVERSE, COUNT, RESULTS };

#define UNIQUE_ATTRS(X, S) X(S, REAL, fill, 0, "what stands behind the values")
MICA__ATTR_STRUCT(unique, UNIQUE_ATTRS);
static MICA__ATTR_TABLE(unique, UNIQUE_ATTRS);

static mica_status infer_unique(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  (void)attrs;
  int64_t count = MICA_DYNAMIC;
  if (mica__shape_is_known(inputs[0].shape)) MICA_TRY(mica_shape_count(inputs[0].shape, &count));
  out[VALUES].shape = MICA_SHAPE(count);
  out[INVERSE].shape = inputs[0].shape;
  out[COUNT].shape = MICA_SCALAR;
  return MICA_OK;
}

/* Negative if a precedes b; a NaN precedes all numbers and equals a NaN. */
static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  if (isnan(x) || isnan(y)) return !isnan(x) - !isnan(y);
  return (x > y) - (x < y);
}

static mica_status evaluate_unique(const mica__eval *eval) {
  const double *x = eval->inputs[0];
  int64_t n = 0, count = 0;
  MICA_TRY(mica_shape_count(eval->types[0].shape, &n));
  double *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
  if (!sorted) return mica__fail_nomem("a reference");
  for (int64_t i = 0; i < n; i++) sorted[i] = x[i];
  qsort(sorted, (size_t)n, sizeof *sorted, compare);
  for (int64_t i = 0; i < n; i++)
    if (count == 0 || compare(&sorted[count - 1], &sorted[i]) != 0) sorted[count++] = sorted[i];
  for (int64_t i = 0; i < n; i++) {
    const double *found = bsearch(&x[i], sorted, (size_t)count, sizeof *sorted, compare);
    eval->outputs[VALUES][i] = i < count ? sorted[i] : ((const mica__unique_attrs *)eval->attrs)->fill;
    eval->outputs[INVERSE][i] = (double)(found - sorted);
  }
  eval->outputs[COUNT][0] = (double)count;
  free(sorted);
  return MICA_OK;
}

static const mica__kernel_param count_params[] = {
    MICA__DTYPE("X_T", "type of x", MICA__NUMBERS),
    MICA__CASE("KEY_BYTES", "bytes of a key", 4, 8),
};
static const mica__variant count_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 4)};
static const mica__kernel_desc unique_count = {
    MICA__KERNEL("unique_count", "sort/unique.cl", count_params, count_variants)};

static const mica__kernel_param write_params[] = {
    MICA__DTYPE("X_T", "type of x", MICA__NUMBERS),    MICA__CASE("KEY_BYTES", "bytes of a key", 4, 8),
    MICA__CASE("VALUES", "1: they are written", 1, 0), MICA__CASE("INVERSE", "1: it is written", 1, 0),
    MICA__CASE("COUNT", "1: it is written", 1, 0),
};
static const mica__variant write_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32, 4, 1, 1, 1)};
static const mica__kernel_desc unique_write = {
    MICA__KERNEL("unique_write", "sort/unique.cl", write_params, write_variants)};

static mica_status begin(const mica__exec *exec, const mica__kernel_desc *desc, int32_t *values, mica__launch *launch) {
  mica_dtype dtype = mica_tensor_dtype(exec->inputs[0]);
  mica__kernel *kernel = NULL;
  mica__kernel_set(desc, values, "X_T", (int32_t)dtype);
  mica__kernel_set(desc, values, "KEY_BYTES", mica_dtype_size(dtype) == 8 ? 8 : 4);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  mica__launch_tensor(launch, exec->inputs[0]);
  return MICA_OK;
}

static mica_status end(const mica__exec *exec, int64_t n, const mica__blocks *b, int64_t items, mica__launch *launch) {
  mica__launch_size(launch, n);
  mica__launch_size(launch, b->count);
  mica__launch_size(launch, b->size);
  mica__launch_range1(launch, items, MICA__RANGE_GROUP);
  mica__launch_cost(launch, (double)n, 2 * (double)mica_tensor_bytes(exec->inputs[0]) + 8 * (double)n);
  return mica__queue_submit(exec->queue, launch);
}

static mica_status launch_both(const mica__exec *exec, int64_t n, const mica_tensor *order, const mica__blocks *b,
                               const mica_tensor *starts) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(exec, &unique_count, values));
  MICA_TRY(begin(exec, &unique_count, values, &launch));
  mica__launch_tensor(&launch, order);
  mica__launch_tensor(&launch, starts);
  MICA_TRY(end(exec, n, b, b->count + 1, &launch));
  MICA_TRY(mica__sort_scan(exec, starts, 1, b->count + 1));
  MICA_TRY(mica__exec_values(exec, &unique_write, values));
  mica__kernel_set(&unique_write, values, "VALUES", exec->outputs[VALUES] != NULL);
  mica__kernel_set(&unique_write, values, "INVERSE", exec->outputs[INVERSE] != NULL);
  mica__kernel_set(&unique_write, values, "COUNT", exec->outputs[COUNT] != NULL);
  MICA_TRY(begin(exec, &unique_write, values, &launch));
  mica__launch_tensor(&launch, order);
  mica__launch_tensor(&launch, starts);
  for (int k = 0; k < RESULTS; k++) mica__launch_optional(&launch, exec->outputs[k]);
  return end(exec, n, b, b->count, &launch);
}

static mica_status launch_unique(const mica__exec *exec) {
  const mica__unique_attrs *attrs = exec->attrs;
  int64_t n = mica_tensor_count(exec->inputs[0]);
  const mica__rows row = {1, n, 1};
  mica_tensor *order = NULL, *starts = NULL;
  if (exec->outputs[VALUES] && n > 0) MICA_TRY(mica_op_fill(exec->queue, attrs->fill, exec->outputs[VALUES]));
  if (n == 0) return exec->outputs[COUNT] ? mica_op_fill(exec->queue, 0, exec->outputs[COUNT]) : MICA_OK;
  const mica__blocks b = mica__sort_blocks(exec, row);
  mica_status status = mica__sort_order(exec, exec->inputs[0], row, MICA__ORDER_RISING, 0, &order);
  if (status == MICA_OK) status = mica__workspace_tensor(exec->queue, MICA_I32, MICA_SHAPE(b.count + 1), &starts);
  if (status == MICA_OK) status = launch_both(exec, n, order, &b, starts);
  mica_tensor_destroy(order);
  mica_tensor_destroy(starts);
  return status;
}

static mica_status check_unique(mica__check *check) {
  static const mica__unique_attrs none = {0}, minus = {.fill = -1}, most = {.fill = 77};
  const mica__launch_case list[] = {
      {.attrs = &none, .inputs = {{MICA_F32, {1, {1}}}}, .input_count = 1},
      {.attrs = &minus, .inputs = {{MICA_I32, {2, {5, 7}}}}, .input_count = 1, .bound = {9}},
      {.attrs = &most, .inputs = {{MICA_I64, {1, {300}}}}, .input_count = 1, .bound = {99}},
      {.attrs = &none, .inputs = {{MICA_F16, {1, {65}}}}, .input_count = 1, .unwanted = 1u << VALUES},
      {.attrs = &none, .inputs = {{MICA_U8, {2, {3, 50}}}}, .input_count = 1, .unwanted = 1u << INVERSE | 1u << COUNT},
      {.attrs = &none, .inputs = {{MICA_F32, {2, {0, 7}}}}, .input_count = 1},
      {.attrs = &minus, .inputs = {{MICA_I64, {1, {9001}}}}, .input_count = 1, .bound = {500}},
      {.attrs = &most, .inputs = {{MICA_BF16, {1, {4097}}}}, .input_count = 1, .unwanted = 1u << COUNT},
  };
  size_t count = sizeof list / sizeof *list;
  if (check->level != MICA__CHECK_FULL) count -= 2; /* the longer ones take minutes in a simulator */
  return mica__check_launches(check, &mica__op_unique, "unique", list, count);
}

static const mica__kernel_desc *const kernels[] = {&unique_count, &unique_write, MICA__SORT_KERNELS, NULL};
const mica__op mica__op_unique = {.name = "unique",
                                  .kernels = kernels,
                                  .check = check_unique,
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .results = RESULTS,
                                  .attrs = &mica__unique_attr_list,
                                  .dtypes = "n>0ss",
                                  .infer = infer_unique,
                                  .evaluate = evaluate_unique,
                                  .launch = launch_unique};

mica_unique_results mica_unique(mica_value x, double fill) {
  mica_value values = mica__graph_add(&mica__op_unique, &x, 1, &(mica__unique_attrs){fill});
  return (mica_unique_results){values, mica__graph_result(values, INVERSE), mica__graph_result(values, COUNT)};
}
