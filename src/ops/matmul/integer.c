/* Products of integer matrices, which wrap around. */
#include "base/element.h"
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/matmul/linear.h"
#include "ops/select/launch_check.h"
#include "runtime/kernel.h"
#include "runtime/launch.h"

/* The strides of x along the leading axes of `out`; 0 where x broadcasts. */
static void lead_strides(mica_shape x, mica_shape out, int64_t stride[8]) {
  int64_t own[MICA_MAX_RANK];
  mica__row_major(x, own);
  for (int32_t i = 0; i + 2 < out.rank; i++) {
    int32_t at = i - (out.rank - x.rank);
    stride[i] = at < 0 || x.dim[at] == 1 ? 0 : own[at];
  }
}

/* Sums products modulo 2^64 and cuts the sum to the low bits that the result's type has. */
static mica_status evaluate_integer(const mica__eval *eval) {
  mica_shape a = eval->types[0].shape, b = eval->types[1].shape, out = eval->type->shape, lead = out;
  int64_t m = out.dim[out.rank - 2], n = out.dim[out.rank - 1], k = a.dim[a.rank - 1], count = 0;
  int64_t index[MICA_MAX_RANK] = {0}, sa[8] = {0}, sb[8] = {0};
  bool is_signed = mica_dtype_kind_of(eval->type->dtype) == MICA_DTYPE_KIND_SIGNED;
  int shift = 64 - 8 * (int)mica_dtype_size(eval->type->dtype);
  lead.rank -= 2;
  lead_strides(a, out, sa);
  lead_strides(b, out, sb);
  MICA_TRY(mica_shape_count(lead, &count));
  double *y = eval->output;
  for (int64_t i = 0; i < count; i++, mica__next_index(lead, index)) {
    const double *pa = eval->inputs[0], *pb = eval->inputs[1];
    for (int32_t d = 0; d < lead.rank; d++) pa += index[d] * sa[d], pb += index[d] * sb[d];
    for (int64_t e = 0; e < m * n; e++) {
      uint64_t sum = 0;
      for (int64_t l = 0; l < k; l++) {
        double left = pa[e / n * k + l], right = pb[l * n + e % n];
        sum += (left < 0 ? (uint64_t)(int64_t)left : (uint64_t)left) *
               (right < 0 ? (uint64_t)(int64_t)right : (uint64_t)right);
      }
      sum <<= shift;
      *y++ = is_signed ? (double)((int64_t)sum >> shift) : (double)(sum >> shift);
    }
  }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of all", MICA__INTEGERS),
    MICA__INT("VW", "columns a work-item makes", 1, 2, 4, 8, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_I32, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_I32, 1),
};
static const mica__kernel_desc matmul_integer = {MICA__KERNEL("matmul_integer", "matmul/integer.cl", params, variants)};

static mica_status launch_integer(const mica__exec *exec) {
  const mica_tensor *a = exec->inputs[0], *b = exec->inputs[1], *y = exec->output;
  mica_shape sa = mica_tensor_shape(a), sb = mica_tensor_shape(b), out = mica_tensor_shape(y);
  int64_t m = out.dim[out.rank - 2], n = out.dim[out.rank - 1], k = sa.dim[sa.rank - 1], batch = 1;
  int32_t values[MICA__MAX_PARAMS], extents[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  int64_t a_lead[8] = {0}, b_lead[8] = {0};
  mica__kernel *kernel = NULL;
  if (mica_tensor_count(y) == 0) return MICA_OK;
  for (int32_t i = 0; i + 2 < out.rank; i++) {
    if (out.dim[i] > INT32_MAX)
      return mica__fail(MICA_E_OVERFLOW,
                        "matmul: there are %lld matrices along an axis, but there can be at most 2^31 - 1",
                        (long long)out.dim[i]);
    extents[i] = (int32_t)out.dim[i];
    batch *= out.dim[i];
  }
  lead_strides(sa, out, a_lead);
  lead_strides(sb, out, b_lead);
  MICA_TRY(mica__exec_values(exec, &matmul_integer, values));
  mica__kernel_set(&matmul_integer, values, "X_T", (int32_t)mica_tensor_dtype(y));
  int64_t width = mica__kernel_value(&matmul_integer, values, "VW");
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &matmul_integer, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, a);
  mica__launch_tensor(&launch, b);
  mica__launch_tensor(&launch, y);
  mica__launch_size(&launch, batch);
  mica__launch_size(&launch, m);
  mica__launch_size(&launch, n);
  mica__launch_size(&launch, k);
  mica__launch_int8(&launch, extents);
  mica__launch_long8(&launch, a_lead);
  mica__launch_long8(&launch, b_lead);
  mica__launch_range1(&launch, batch * m * ((n + width - 1) / width), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 2 * (double)mica_tensor_count(y) * (double)k,
                    (double)mica_tensor_bytes(a) + (double)mica_tensor_bytes(b) + (double)mica_tensor_bytes(y));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status check_integer(mica__check *check) {
  const mica__launch_case list[] = {
      {.inputs = {{MICA_I32, {2, {3, 5}}}, {MICA_I32, {2, {5, 17}}}}, .bound = {1e5, 1e5}},
      {.inputs = {{MICA_I8, {2, {1, 33}}}, {MICA_I8, {2, {33, 16}}}}, .bound = {100, 100}},
      {.inputs = {{MICA_U8, {3, {3, 2, 4}}}, {MICA_U8, {2, {4, 1}}}}, .bound = {200, 200}},
      {.inputs = {{MICA_I64, {4, {2, 1, 2, 3}}}, {MICA_I64, {3, {3, 3, 40}}}}, .bound = {1e6, 1e6}},
      {.inputs = {{MICA_U32, {2, {2, 0}}}, {MICA_U32, {2, {0, 3}}}}},
      {.inputs = {{MICA_I16, {3, {0, 2, 3}}}, {MICA_I16, {2, {3, 3}}}}},
      {.inputs = {{MICA_U16, {2, {7, 9}}}, {MICA_U16, {2, {9, 31}}}}, .bound = {6e4, 6e4}},
  };
  mica__launch_case cases[sizeof list / sizeof *list];
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    cases[i] = list[i];
    cases[i].input_count = 2;
  }
  return mica__check_launches(check, &mica__op_matmul_integer, "matmul_integer", cases, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&matmul_integer, NULL};
const mica__op mica__op_matmul_integer = {.name = "matmul_integer",
                                          .kernels = kernels,
                                          .check = check_integer,
                                          .kind = MICA__OP_LAUNCH,
                                          .min_inputs = 2,
                                          .max_inputs = 2,
                                          .dtypes = "i0>0",
                                          .infer = mica__matmul_infer,
                                          .evaluate = evaluate_integer,
                                          .launch = launch_integer};
