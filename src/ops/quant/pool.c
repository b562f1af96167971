/* Max pooling of i8 or u8 values: quantize(max_pool(dequantize(x))), where both use the same scale and zero point.
 * Quantization keeps the order of values, so the bytes themselves are compared. match.c finds this pattern. */
#include "ops/pool/pool.h"
#include "base/error.h"
#include "ops/pool/max_pool.h"
#include "ops/quant/int8.h"

#include <stdlib.h>

static mica_status infer(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  mica__type results[MICA__POOL_RESULTS];
  if (inputs[0].dtype != MICA_I8 && inputs[0].dtype != MICA_U8)
    return mica__fail(MICA_E_DTYPE, "the operand is %s, but must be i8 or u8", mica_dtype_name(inputs[0].dtype));
  MICA_TRY(mica__op_max_pool.infer(inputs, input_count, attrs, results));
  *out = results[MICA__POOL_VALUES];
  return MICA_OK;
}

static mica_status evaluate(const mica__eval *eval) {
  mica__eval pool = *eval;
  int64_t count = 0;
  MICA_TRY(mica_shape_count(eval->type->shape, &count));
  double *positions = malloc((size_t)(count + 1) * sizeof *positions);
  if (!positions) return mica__fail_nomem("positions of maxima");
  pool.outputs = (double *const[]){eval->output, positions};
  mica_status status = mica__op_max_pool.evaluate(&pool);
  free(positions);
  return status;
}

static mica_status launch(const mica__exec *exec) {
  mica__exec pool = *exec;
  pool.outputs = (mica_tensor *const[]){exec->output, NULL};
  return mica__op_max_pool.launch(&pool);
}

static mica_status check_op(mica__check *check) {
  static const mica__max_pool_attrs square = {
      .size = {3, 3}, .stride = {2, 2}, .pad = {1, 1}, .pad_end = {1, 1}, .dilation = {1, 1}};
  static const mica__launch_case cases[] = {
      {.attrs = &square, .inputs = {{MICA_U8, {4, {2, 3, 9, 41}}}}, .input_count = 1, .bound = {255}},
      {.attrs = &square, .inputs = {{MICA_I8, {4, {2, 2, 7, 36}}}}, .input_count = 1, .bound = {128}},
      /* Rows too short for max_pool_rows. */
      {.attrs = &square, .inputs = {{MICA_I8, {4, {1, 2, 5, 6}}}}, .input_count = 1, .bound = {128}},
  };
  return mica__check_launches(check, &mica__op_int8_max_pool, "int8_max_pool", cases, sizeof cases / sizeof *cases);
}

static const mica__kernel_desc *const kernels[] = {&mica__kernel_max_pool_rows, NULL};

const mica__op mica__op_int8_max_pool = {.name = "int8_max_pool",
                                         .kernels = kernels,
                                         .check = check_op,
                                         .kind = MICA__OP_LAUNCH,
                                         .min_inputs = 1,
                                         .max_inputs = 1,
                                         .attrs = &mica__max_pool_attr_list,
                                         .infer = infer,
                                         .evaluate = evaluate,
                                         .launch = launch,
                                         .match = mica__int8_match_max_pool};
