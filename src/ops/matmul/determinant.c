/* Determinants of square matrices. */
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/select/launch_check.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

extern const mica__op mica__op_determinant;

static mica_status infer_determinant(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  mica_shape x = inputs[0].shape;
  char text[MICA_SHAPE_TEXT];
  if (x.rank < 2 || x.dim[x.rank - 1] != x.dim[x.rank - 2])
    return mica__fail(MICA_E_SHAPE, "x is %s, but must be square matrices (..., n, n)", mica_shape_format(x, text));
  out->shape = x;
  out->shape.rank -= 2;
  return MICA_OK;
}

/* The determinant of m (n x n), by elimination with partial pivoting, which overwrites m. */
static double determinant_of(double *m, int64_t n) {
  double product = 1;
  for (int64_t k = 0; k < n; k++) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; i++)
      if (fabs(m[i * n + k]) > fabs(m[pivot * n + k])) pivot = i;
    double largest = m[pivot * n + k];
    product *= pivot == k ? largest : -largest;
    if (largest == 0) return product;
    for (int64_t j = k; j < n; j++) {
      double other = m[k * n + j];
      m[k * n + j] = m[pivot * n + j];
      m[pivot * n + j] = other;
    }
    for (int64_t i = k + 1; i < n; i++)
      for (int64_t j = n - 1; j >= k; j--) m[i * n + j] -= m[i * n + k] / largest * m[k * n + j];
  }
  return product;
}

static mica_status evaluate_determinant(const mica__eval *eval) {
  mica_shape x = eval->types[0].shape;
  int64_t n = x.dim[x.rank - 1], count = 0;
  MICA_TRY(mica_shape_count(eval->type->shape, &count));
  double *m = malloc(((size_t)(n * n) + 1) * sizeof *m);
  if (!m) return mica__fail_nomem("a matrix");
  for (int64_t i = 0; i < count; i++) {
    for (int64_t k = 0; k < n * n; k++) m[k] = eval->inputs[0][i * n * n + k];
    eval->output[i] = determinant_of(m, n);
  }
  free(m);
  return MICA_OK;
}

static const mica__kernel_param params[] = {MICA__DTYPE("X_T", "type of x", MICA_F32, MICA_F64)};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA_F32)};
static const mica__kernel_desc determinant = {MICA__KERNEL("determinant", "matmul/determinant.cl", params, variants)};

static mica_status launch_determinant(const mica__exec *exec) {
  const mica_tensor *x = exec->inputs[0];
  mica_shape shape = mica_tensor_shape(x);
  int64_t n = shape.dim[shape.rank - 1], count = mica_tensor_count(exec->output);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica_tensor *scratch = NULL;
  if (count == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, &determinant, values));
  mica__kernel_set(&determinant, values, "X_T", (int32_t)mica_tensor_dtype(x));
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &determinant, values, NULL, &kernel));
  MICA_TRY(
      mica__workspace_tensor(exec->queue, mica_tensor_dtype(x), MICA_SHAPE(count, n ? n : 1, n ? n : 1), &scratch));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, scratch);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_size(&launch, count);
  mica__launch_size(&launch, n);
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, (double)count * (double)n * (double)n * (double)n * 2 / 3, (double)mica_tensor_bytes(x));
  mica_status status = mica__queue_submit(exec->queue, &launch);
  mica_tensor_destroy(scratch);
  return status;
}

/* Cases with elements, except the first, allow the error of a sum of 100 terms, relative to the largest determinant of
 * the case: about n n operations make an element, and n is at most 9. */
static mica_status check_determinant(mica__check *check) {
  const mica__launch_case list[] = {
      {.inputs = {{MICA_F32, {2, {1, 1}}}}, .input_count = 1},
      {.inputs = {{MICA_F32, {4, {5, 3, 2, 2}}}}, .input_count = 1, .terms = 100, .normwise = true},
      {.inputs = {{MICA_F32, {3, {70, 4, 4}}}}, .input_count = 1, .terms = 100, .normwise = true},
      {.inputs = {{MICA_F64, {3, {2, 9, 9}}}}, .input_count = 1, .terms = 100, .normwise = true},
      {.inputs = {{MICA_F32, {3, {0, 3, 3}}}}, .input_count = 1},
      {.inputs = {{MICA_F32, {3, {2, 0, 0}}}}, .input_count = 1},
  };
  return mica__check_launches(check, &mica__op_determinant, "determinant", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&determinant, NULL};
const mica__op mica__op_determinant = {.name = "determinant",
                                       .kernels = kernels,
                                       .check = check_determinant,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = 1,
                                       .max_inputs = 1,
                                       .dtypes = "f>0",
                                       .infer = infer_determinant,
                                       .evaluate = evaluate_determinant,
                                       .launch = launch_determinant};

mica_value mica_determinant(mica_value x) {
  mica_value wide = mica__widen(x);
  return mica__narrow(mica__graph_add(&mica__op_determinant, &wide, 1, NULL), x);
}
