#include "base/element.h"
#include "ir/graph.h"
#include "ops/common/build.h"
#include "ops/common/operand.h"
#include "ops/elementwise/pointwise.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/ops.h>
#include <stdlib.h>

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of x", MICA__DTYPES),
    MICA__DTYPE("Y_T", "type of y", MICA__DTYPES),
    MICA__POINTWISE_VW,
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, MICA_F32, MICA__POINTWISE_CPU),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, MICA_F32, MICA__POINTWISE_GPU),
};
const mica__kernel_desc mica__cast_kernel = {MICA__KERNEL("cast", "elementwise/cast.cl", params, variants)};

static mica_status launch_cast(mica_queue *queue, const mica__variant *variant, const mica_tensor *x, mica_tensor *y) {
  mica__launch launch;
  int64_t n = mica_tensor_count(y);
  MICA_TRY(mica__pointwise_launch(queue, &mica__cast_kernel, variant, mica_tensor_dtype(x), mica_tensor_dtype(y), n,
                                  &launch));
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_long(&launch, n);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(x) + (double)mica_tensor_bytes(y));
  return mica__queue_submit(queue, &launch);
}

mica_status mica_op_cast(mica_queue *queue, const mica_tensor *x, mica_tensor *y) {
  MICA_TRY(mica__operand_check(queue, "cast", "x", x));
  MICA_TRY(mica__operand_check(queue, "cast", "y", y));
  MICA_TRY(mica__operand_same_shape("cast", x, y));
  MICA_TRY(mica__operand_apart("cast", "y", y, "x", x));
  return launch_cast(queue, NULL, x, y);
}

mica_status mica_op_copy(mica_queue *queue, const mica_tensor *x, mica_tensor *y) {
  MICA_TRY(mica__operand_check(queue, "copy", "x", x));
  MICA_TRY(mica__operand_check(queue, "copy", "y", y));
  MICA_TRY(mica__operand_same_shape("copy", x, y));
  MICA_TRY(mica__operand_same_dtype("copy", x, y));
  MICA_TRY(mica__operand_apart("copy", "y", y, "x", x));
  return launch_cast(queue, NULL, x, y);
}

/* The reference: the rule of cl/common/cast.clh, in double. */
static double reference(mica_dtype from, mica_dtype to, double value) {
  uint64_t element = 0;
  if (mica_dtype_kind_of(from) == MICA_DTYPE_KIND_FLOAT)
    mica__element_set(to, &element, 0, value);
  else
    mica__element_wrap(to, &element, 0, value);
  return mica__element_get(to, &element, 0);
}

static mica_status check_case(mica__check_group *group, const mica__variant *variant, mica_dtype x_type,
                              mica_dtype y_type, int64_t n) {
  static const double extremes[] = {0,     -0.5, 0.5,   1.5,   2.5, -1,   127.9, -129,
                                    255.5, 256,  32768, 65520, 1e9, -3e9, 1e19,  -1e30};
  mica__check *check = group->check;
  mica__check_tensor x = {0}, y = {0};
  double *values = calloc((size_t)n + 1, 2 * sizeof *values), *bound = values ? values + n + 1 : NULL;
  if (!values) return mica__fail_nomem("a reference");
  for (int64_t i = 0; i < n; i++)
    values[i] =
        i % 3 == 0 ? extremes[(size_t)(i / 3) % (sizeof extremes / sizeof *extremes)] : 300 * mica__check_random(check);
  /* Beyond 2^53 the reference's doubles cannot tell integers apart. */
  for (int64_t i = 0; x_type == MICA_I64 && i < n; i++) values[i] = fmax(-0x1p53, fmin(values[i], 0x1p53));
  if (n > 1) values[1] = NAN;
  if (n > 2) values[2] = -INFINITY;
  mica_status status = mica__check_input_values(check, x_type, MICA_SHAPE(n), values, &x);
  if (status == MICA_OK) status = mica__check_output(check, y_type, MICA_SHAPE(n), &y);
  if (status == MICA_OK) status = launch_cast(check->queue, variant, x.tensor, y.tensor);
  for (int64_t i = 0; status == MICA_OK && i < n; i++) values[i] = reference(x_type, y_type, x.values[i]);
  if (status == MICA_OK) status = mica__check_compare(group, &y, values, bound);
  mica__check_free(&x);
  mica__check_free(&y);
  free(values);
  return status;
}

static mica_status check_cast(mica__check *check) {
  return mica__pointwise_check(check, &mica__cast_kernel, check_case);
}

static const mica__kernel_desc *const kernels[] = {&mica__cast_kernel, NULL};

/* --- in graphs --- */

static MICA__ATTR_TABLE(cast, MICA__CAST_ATTRS);

static mica_status infer_cast(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  mica__cast_attrs *cast_attrs = attrs;
  if (!mica_dtype_is_valid(cast_attrs->to))
    return mica__fail(MICA_E_DTYPE, "%d is not a dtype to cast to", (int)cast_attrs->to);
  cast_attrs->from = inputs[0].dtype;
  *out = (mica__type){cast_attrs->to, inputs[0].shape};
  return MICA_OK;
}

static mica_status grad_cast(const mica__grad *grad) {
  mica_dtype from = mica_value_dtype(grad->inputs[0]);
  if (mica_dtype_kind_of(from) == MICA_DTYPE_KIND_FLOAT) grad->dinputs[0] = mica_cast(grad->dy, from);
  return MICA_OK;
}

/* The reference does not round casts to floating types, because all references compute in double. */
static double scalar_cast(const double *inputs, const void *attrs) {
  const mica__cast_attrs *types = attrs;
  bool floating = mica_dtype_kind_of(types->to) == MICA_DTYPE_KIND_FLOAT;
  return floating ? inputs[0] : reference(types->from, types->to, inputs[0]);
}

static bool is_stream(const void *attrs) {
  const mica__cast_attrs *cast_attrs = attrs;
  return cast_attrs->stream;
}

const mica__op mica__op_cast = {.name = "cast",
                                .kernels = kernels,
                                .check = check_cast,
                                .kind = MICA__OP_POINTWISE,
                                .min_inputs = 1,
                                .max_inputs = 1,
                                .attrs = &mica__cast_attr_list,
                                .infer = infer_cast,
                                .grad = grad_cast,
                                .expression = "CONVERT(a)",
                                .scalar = scalar_cast,
                                .is_stream = is_stream,
                                .identity = true,
                                .cost = 1,
                                .may_alias = 1};

mica_value mica_cast(mica_value x, mica_dtype dtype) {
  return mica__graph_add(&mica__op_cast, &x, 1, &(mica__cast_attrs){.to = dtype});
}
