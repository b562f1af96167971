#include "ir/op.h"
#include "ops/common/operand.h"
#include "ops/common/tolerance.h"
#include "ops/elementwise/pointwise.h"

#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x and y", MICA__FLOATS),
    MICA__POINTWISE_VW,
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA__POINTWISE_CPU),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA__POINTWISE_GPU),
};
static const mica__kernel_desc scale_add = {MICA__KERNEL("scale_add", "elementwise/scale_add.cl", params, variants)};

static mica_status launch_scale_add(mica_queue *queue, const mica__variant *variant, double alpha, const mica_tensor *x,
                                    double beta, mica_tensor *y) {
  mica__launch launch;
  mica_dtype dtype = mica_tensor_dtype(x);
  int64_t n = mica_tensor_count(y);
  MICA_TRY(mica__pointwise_launch(queue, &scale_add, variant, dtype, dtype, n, &launch));
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_long(&launch, n);
  mica__launch_scalar(&launch, dtype, alpha);
  mica__launch_scalar(&launch, dtype, beta);
  mica__launch_cost(&launch, (beta == 0 ? 1.0 : 3.0) * (double)n,
                    (beta == 0 ? 2.0 : 3.0) * (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica_op_scale_add(mica_queue *queue, double alpha, const mica_tensor *x, double beta, mica_tensor *y) {
  MICA_TRY(mica__operand_check(queue, "scale_add", "x", x));
  MICA_TRY(mica__operand_check(queue, "scale_add", "y", y));
  MICA_TRY(mica__operand_same_shape("scale_add", x, y));
  MICA_TRY(mica__operand_same_dtype("scale_add", x, y));
  MICA_TRY(mica__operand_apart_or_same("scale_add", "y", y, "x", x));
  if (mica__kernel_choice(&scale_add, "X_T", (int32_t)mica_tensor_dtype(x)) < 0)
    return mica__fail(MICA_E_DTYPE, "scale_add: x is %s, but must be of a floating type",
                      mica_dtype_name(mica_tensor_dtype(x)));
  return launch_scale_add(queue, NULL, alpha, x, beta, y);
}

static mica_status check_case(mica__check_group *group, const mica__variant *variant, mica_dtype x_type,
                              mica_dtype y_type, int64_t n) {
  (void)y_type;
  mica__check *check = group->check;
  mica_dtype compute = x_type == MICA_F64 ? MICA_F64 : MICA_F32;
  /* Odd sizes add to y. Even sizes (beta is 0) overwrite y, which holds poison: values that make the check fail if the
   * kernel reads them. */
  const double alpha = 0.75, beta = n % 2 ? -1.25 : 0;
  mica__check_tensor x = {0}, y = {0};
  double *want = calloc((size_t)n + 1, 2 * sizeof *want), *bound = want ? want + n + 1 : NULL;
  if (!want) return mica__fail_nomem("a reference");
  mica_status status = mica__check_input(check, x_type, MICA_SHAPE(n), 2, &x);
  if (status == MICA_OK)
    status = beta == 0 ? mica__check_output(check, x_type, MICA_SHAPE(n), &y)
                       : mica__check_input(check, x_type, MICA_SHAPE(n), 2, &y);
  for (int64_t i = 0; status == MICA_OK && i < n; i++) {
    double added = beta == 0 ? 0 : beta * y.values[i];
    want[i] = alpha * x.values[i] + added;
    bound[i] = mica__tolerance_sum(compute, x_type, 2, fabs(alpha * x.values[i]) + fabs(added), want[i]);
  }
  if (status == MICA_OK) status = launch_scale_add(check->queue, variant, alpha, x.tensor, beta, y.tensor);
  if (status == MICA_OK) status = mica__check_compare(group, &y, want, bound);
  mica__check_free(&x);
  mica__check_free(&y);
  free(want);
  return status;
}

static mica_status check_scale_add(mica__check *check) { return mica__pointwise_check(check, &scale_add, check_case); }

static const mica__kernel_desc *const kernels[] = {&scale_add, NULL};
const mica__op mica__op_scale_add = {.name = "scale_add", .kernels = kernels, .check = check_scale_add};
