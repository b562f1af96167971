/* Sorts elements along an axis: results VALUES and INDICES. */
#include "base/error.h"
#include "ops/index/index.h"
#include "ops/select/launch_check.h"
#include "ops/sort/order.h"

#include <math.h>
#include <stdlib.h>

enum { VALUES, INDICES, RESULTS };

#define SORT_ATTRS(X, S)                                                                                               \
  X(S, INT, axis, -1, "along which elements are sorted")                                                               \
  X(S, BOOL, falling, false, "the largest first")
MICA__ATTR_STRUCT(sort, SORT_ATTRS);
static MICA__ATTR_TABLE(sort, SORT_ATTRS);

static mica_status infer_sort(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  out[VALUES] = out[INDICES] = inputs[0];
  return mica__axis(&((mica__sort_attrs *)attrs)->axis, inputs[0].shape.rank);
}

typedef struct element {
  double value;
  int64_t at;
} element;

/* Negative if a precedes b; a NaN precedes all numbers, and equal values keep their order. */
static int compare_rising(const void *a, const void *b) {
  const element *x = a, *y = b;
  int order =
      isnan(x->value) != isnan(y->value) ? (isnan(x->value) ? -1 : 1) : (x->value > y->value) - (x->value < y->value);
  return order ? order : (x->at > y->at) - (x->at < y->at);
}

static int compare_falling(const void *a, const void *b) {
  const element *x = a, *y = b;
  int order =
      isnan(x->value) != isnan(y->value) ? (isnan(x->value) ? -1 : 1) : (x->value < y->value) - (x->value > y->value);
  return order ? order : (x->at > y->at) - (x->at < y->at);
}

static mica_status evaluate_sort(const mica__eval *eval) {
  const mica__sort_attrs *attrs = eval->attrs;
  const mica__rows r = mica__rows_of(eval->types[0].shape, attrs->axis);
  element *row = malloc(((size_t)r.n + 1) * sizeof *row);
  if (!row) return mica__fail_nomem("a reference");
  for (int64_t o = 0; o < r.outer; o++)
    for (int64_t i = 0; i < r.inner; i++) {
      for (int64_t j = 0; j < r.n; j++) row[j] = (element){eval->inputs[0][(o * r.n + j) * r.inner + i], j};
      qsort(row, (size_t)r.n, sizeof *row, attrs->falling ? compare_falling : compare_rising);
      for (int64_t j = 0; j < r.n; j++) {
        eval->outputs[VALUES][(o * r.n + j) * r.inner + i] = row[j].value;
        eval->outputs[INDICES][(o * r.n + j) * r.inner + i] = (double)row[j].at;
      }
    }
  free(row);
  return MICA_OK;
}

static mica_status launch_sort(const mica__exec *exec) {
  const mica__sort_attrs *attrs = exec->attrs;
  const mica_tensor *x = exec->inputs[0];
  const mica__rows r = mica__rows_of(mica_tensor_shape(x), attrs->axis);
  mica_tensor *order = NULL;
  if (mica_tensor_count(x) == 0) return MICA_OK;
  MICA_TRY(mica__sort_order(exec, x, r, attrs->falling ? MICA__ORDER_FALLING : MICA__ORDER_RISING, 0, &order));
  mica_status status = mica__sort_results(exec, x, r, r.n, order, exec->outputs[VALUES], exec->outputs[INDICES]);
  mica_tensor_destroy(order);
  return status;
}

static mica_status grad_sort(const mica__grad *grad) {
  if (!grad->dy.graph) return MICA_OK;
  const mica__sort_attrs *attrs = mica__attrs_of(grad->y);
  grad->dinputs[0] = mica__scatter_sum(grad->inputs[0], grad->results[INDICES], grad->dy, (int32_t)attrs->axis, true);
  return MICA_OK;
}

static mica_status check_sort(mica__check *check) {
  static const mica__sort_attrs rising = {.axis = -1}, falling = {.axis = -1, .falling = true}, first = {.axis = 0},
                                middle = {.axis = 1, .falling = true};
  const mica__launch_case list[] = {
      {.attrs = &rising, .inputs = {{MICA_F32, {1, {1}}}}},
      {.attrs = &rising, .inputs = {{MICA_F32, {2, {0, 7}}}}},
      {.attrs = &rising, .inputs = {{MICA_F32, {2, {5, 7}}}}},
      {.attrs = &falling, .inputs = {{MICA_I8, {2, {3, 64}}}}, .bound = {5}},
      {.attrs = &rising, .inputs = {{MICA_I64, {2, {3, 65}}}}, .bound = {9}},
      {.attrs = &falling, .inputs = {{MICA_F16, {3, {2, 129, 3}}}}, .unwanted = 1u << VALUES},
      {.attrs = &first, .inputs = {{MICA_BF16, {2, {300, 5}}}}, .unwanted = 1u << INDICES},
      {.attrs = &middle, .inputs = {{MICA_U16, {3, {2, 1025, 2}}}}, .bound = {300}},
      {.attrs = &falling, .inputs = {{MICA_F32, {1, {9000}}}}},
      {.attrs = &rising, .inputs = {{MICA_I32, {1, {8193}}}}, .bound = {50}},
      {.attrs = &falling, .inputs = {{MICA_F64, {2, {2, 4100}}}}},
      {.attrs = &falling, .inputs = {{MICA_U64, {1, {2047}}}}, .bound = {1e6}},
      {.attrs = &rising, .inputs = {{MICA_U32, {1, {1024}}}}, .bound = {9}},
  };
  mica__launch_case cases[sizeof list / sizeof *list];
  size_t count = sizeof list / sizeof *list;
  if (check->level != MICA__CHECK_FULL) count = 8; /* the longer ones take minutes in a simulator */
  for (size_t i = 0; i < count; i++) {
    cases[i] = list[i];
    cases[i].input_count = 1;
  }
  return mica__check_launches(check, &mica__op_sort, "sort", cases, count);
}

static const mica__kernel_desc *const kernels[] = {MICA__SORT_KERNELS, &mica__sort_results_kernel, NULL};
const mica__op mica__op_sort = {.name = "sort",
                                .kernels = kernels,
                                .check = check_sort,
                                .kind = MICA__OP_LAUNCH,
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .results = RESULTS,
                                .attrs = &mica__sort_attr_list,
                                .dtypes = "n>0l",
                                .infer = infer_sort,
                                .grad = grad_sort,
                                .evaluate = evaluate_sort,
                                .launch = launch_sort};

mica_top_k_results mica_sort(mica_value x, int32_t axis, bool falling) {
  mica_value values = mica__graph_add(&mica__op_sort, &x, 1, &(mica__sort_attrs){axis, falling});
  return (mica_top_k_results){values, mica__graph_result(values, INDICES)};
}
