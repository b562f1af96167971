/* The doctor's check of the functions that generated kernels call: built-in ones and those in common/math.clh. In a
 * driver's vector function one element may spoil another: PoCL 3.1's sine of an element was wrong if another element of
 * the vector was 1e8. */
#include "ir/op.h"
#include "ops/common/tolerance.h"
#include "ops/elementwise/pointwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const mica__kernel_param params[] = {MICA__POINTWISE_VW};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__POINTWISE_CPU),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA__POINTWISE_GPU),
};
static const mica__kernel_desc functions_kernel = {
    MICA__KERNEL("functions", "elementwise/functions.cl", params, variants)};

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

/* The functions in the kernel's order. ulps: the error that is allowed, in units in the last place. math.clh states it
 * (a division there adds 2), and for built-in functions OpenCL 1.2 (section 7.4). */
static const struct {
  const char *name;
  double (*reference)(double x);
  double ulps;
} functions[] = {
    {"exp", exp, 1},        {"expm1", expm1, 2},     {"log", log, 1},     {"log1p", log1p, 4}, {"tanh", tanh, 5},
    {"erf", erf, 2},        {"sigmoid", sigmoid, 5}, {"sin", sin, 3},     {"cos", cos, 3},     {"tan", tan, 7},
    {"rint", nearbyint, 0}, {"exp2", exp2, 3},       {"log2", log2, 3},   {"log10", log10, 3}, {"sqrt", sqrt, 3},
    {"asin", asin, 4},      {"acos", acos, 4},       {"atan", atan, 5},   {"sinh", sinh, 4},   {"cosh", cosh, 4},
    {"asinh", asinh, 4},    {"acosh", acosh, 4},     {"atanh", atanh, 5},
};
#define FUNCTIONS ((int32_t)(sizeof functions / sizeof *functions))

static mica_status launch(mica_queue *queue, const mica__variant *variant, const mica_tensor *x, mica_tensor *y,
                          int32_t function) {
  mica__launch launch;
  const int64_t n = mica_tensor_count(y);
  MICA_TRY(mica__pointwise_launch(queue, &functions_kernel, variant, MICA_F32, MICA_F32, n, &launch));
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_long(&launch, n);
  mica__launch_int(&launch, function);
  return mica__queue_submit(queue, &launch);
}

static mica_status check_function(mica__check_group *group, const mica__variant *variant, const mica__check_tensor *x,
                                  double *want, int32_t f) {
  mica__check *check = group->check;
  mica__check_tensor y = {0};
  double *bound = want + x->count + 1;
  mica_status status = mica__check_output(check, MICA_F32, MICA_SHAPE(x->count), &y);
  for (int64_t i = 0; status == MICA_OK && i < x->count; i++) {
    const double exact = functions[f].reference(x->values[i]);
    want[i] = (double)(float)exact;
    /* 2^-126 more: a device may flush a subnormal result to 0. */
    bound[i] = 0x1p-126 + mica__tolerance_ulps(MICA_F32, MICA_F32, functions[f].ulps, exact);
  }
  if (status == MICA_OK) status = launch(check->queue, variant, x->tensor, y.tensor, f);
  if (status == MICA_OK) status = mica__check_compare(group, &y, want, bound);
  mica__check_free(&y);
  if (status == MICA_OK) return MICA_OK;
  char said[400];
  snprintf(said, sizeof said, "%s", mica_error_message());
  return mica__fail(status, "%s: %s", functions[f].name, said);
}

/* Checks all functions on n small numbers, mixed with large ones, infinities and NaN. */
static mica_status check_case(mica__check_group *group, const mica__variant *variant, mica_dtype x_type,
                              mica_dtype y_type, int64_t n) {
  static const double extremes[] = {1e8, 0,    1e-7, INFINITY, 131073,    -0.5, 1e30,
                                    NAN, -3e7, 1,    100,      -INFINITY, -100, 2.5};
  mica__check_tensor x = {0};
  double *values = calloc((size_t)n + 1, 2 * sizeof *values);
  (void)x_type;
  (void)y_type;
  if (!values) return mica__fail_nomem("a reference");
  for (int64_t i = 0; i < n; i++)
    values[i] = i % 3 == 1 ? extremes[(size_t)(i / 3) % (sizeof extremes / sizeof *extremes)]
                           : mica__check_random(group->check) * (i % 2 ? 3 : 0.01);
  mica_status status = mica__check_input_values(group->check, MICA_F32, MICA_SHAPE(n), values, &x);
  for (int32_t f = 0; status == MICA_OK && f < FUNCTIONS; f++) status = check_function(group, variant, &x, values, f);
  mica__check_free(&x);
  free(values);
  return status;
}

static mica_status check_functions(mica__check *check) {
  return mica__pointwise_check(check, &functions_kernel, check_case);
}

static const mica__kernel_desc *const kernels[] = {&functions_kernel, NULL};
const mica__op mica__op_functions = {.name = "functions", .kernels = kernels, .check = check_functions};
