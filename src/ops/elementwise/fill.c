#include "base/element.h"
#include "ir/op.h"
#include "ops/common/operand.h"
#include "ops/elementwise/pointwise.h"
#include "runtime/tensor.h"

#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

static const mica__kernel_param params[] = {
    MICA__DTYPE("Y_T", "type of y", MICA__DTYPES),
    MICA__POINTWISE_VW,
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA__POINTWISE_CPU),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA__POINTWISE_GPU),
};
static const mica__kernel_desc fill = {MICA__KERNEL("fill", "elementwise/fill.cl", params, variants)};

/* Pushes integers by their bits, because a double does not hold all of them. */
static void push_value(mica__launch *launch, mica_dtype dtype, double value) {
  int64_t element = 0;
  if (mica_dtype_kind_of(dtype) == MICA_DTYPE_KIND_FLOAT) {
    mica__launch_scalar(launch, dtype, value);
    return;
  }
  mica__element_wrap(dtype, &element, 0, value);
  if (mica_dtype_size(dtype) == 8)
    mica__launch_long(launch, element);
  else
    mica__launch_int(launch, (int32_t)(int64_t)mica__element_get(dtype, &element, 0));
}

static mica_status launch_fill(mica_queue *queue, const mica__variant *variant, double value, mica_tensor *y) {
  mica__launch launch;
  mica_dtype dtype = mica_tensor_dtype(y);
  int64_t n = mica_tensor_count(y);
  MICA_TRY(mica__pointwise_launch(queue, &fill, variant, dtype, dtype, n, &launch));
  mica__launch_tensor(&launch, y);
  mica__launch_long(&launch, n);
  push_value(&launch, dtype, value);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica_op_fill(mica_queue *queue, double value, mica_tensor *y) {
  MICA_TRY(mica__operand_check(queue, "fill", "y", y));
  MICA_TRY(mica__operand_apart("fill", "y", y, NULL, NULL));
  if (mica__queue_records(queue)) return launch_fill(queue, NULL, value, y);
  uint64_t element = 0;
  mica__element_wrap(mica_tensor_dtype(y), &element, 0, value);
  return mica__tensor_fill(queue, y, (const unsigned char *)&element);
}

static mica_status check_case(mica__check_group *group, const mica__variant *variant, mica_dtype x_type,
                              mica_dtype y_type, int64_t n) {
  (void)x_type;
  mica__check *check = group->check;
  mica__check_tensor y = {0}, by_driver = {0};
  double value = -3, stored = 0;
  uint64_t element = 0;
  mica__element_wrap(y_type, &element, 0, value);
  stored = mica__element_get(y_type, &element, 0);
  double *want = calloc((size_t)n + 1, 2 * sizeof *want);
  mica_status status = want ? mica__check_output(check, y_type, MICA_SHAPE(n), &y) : mica__fail_nomem("a reference");
  for (int64_t i = 0; want && i < n; i++) want[i] = stored;
  if (status == MICA_OK) status = launch_fill(check->queue, variant, value, y.tensor);
  /* bound is 0: nothing is computed, so nothing may differ. */
  if (status == MICA_OK) status = mica__check_compare(group, &y, want, want + n + 1);
  if (status == MICA_OK) status = mica__check_output(check, y_type, MICA_SHAPE(n), &by_driver);
  if (status == MICA_OK) status = mica_op_fill(check->queue, value, by_driver.tensor);
  if (status == MICA_OK) status = mica__check_compare(group, &by_driver, want, want + n + 1);
  mica__check_free(&by_driver);
  mica__check_free(&y);
  free(want);
  return status;
}

static mica_status check_fill(mica__check *check) { return mica__pointwise_check(check, &fill, check_case); }

static const mica__kernel_desc *const kernels[] = {&fill, NULL};
const mica__op mica__op_fill = {.name = "fill", .kernels = kernels, .check = check_fill};
