/* Adds other bytes to the bytes that a convolution gives, and quantizes the sums again: the residual connections of
 * integer networks. */
#include "base/arith.h"
#include "cl/quant/fields.clh"
#include "ops/quant/int8.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {MICA__INT("VW", "elements of a vector", 1, 16)};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, 1),
};
const mica__kernel_desc mica__int8_add_kernel = {MICA__KERNEL("int8_add", "quant/add.cl", params, variants)};

MICA__PACKED(sum_fields, SUM_FIELDS);
MICA__PACKED(add_fields, ADD_FIELDS);

void mica__int8_push_sum(const mica__int8 *p, mica__launch *launch) {
  const mica_tensor *const *in = p->in;
  sum_fields f = {
      .other = in[MICA__INT8_OTHER],
      .other_scale = in[MICA__INT8_OTHER_SCALE],
      .other_zero = in[MICA__INT8_OTHER_ZERO],
      .sum_scale = in[MICA__INT8_SUM_SCALE],
      .sum_zero = in[MICA__INT8_SUM_ZERO],
      .other_is_signed = mica_tensor_dtype(in[MICA__INT8_OTHER]) == MICA_I8,
      .sum_is_signed = p->attrs->sum_to == MICA_I8,
      .least_sum = (float)p->attrs->sum_low,
      .most_sum = (float)p->attrs->sum_high,
  };
  for (int32_t i = MICA__INT8_OTHER; i < MICA__INT8_OPERANDS; i++)
    f.has_of_sum |= (in[i] != NULL) << (i - MICA__INT8_OTHER);
  sum_fields_push(launch, &f);
}

static mica_status add(const mica__int8 *p, const mica_tensor *bytes) {
  const mica__kernel_desc *desc = &mica__int8_add_kernel;
  mica_queue *queue = p->exec->queue;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  const int64_t count = mica_tensor_count(p->exec->output);
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_pack(&launch);
  const add_fields f = {
      .x = bytes,
      .x_scale = p->in[MICA__INT8_Y_SCALE],
      .x_zero = p->in[MICA__INT8_Y_ZERO],
      .y = p->exec->output,
      .has_scale = p->in[MICA__INT8_Y_SCALE] != NULL,
      .has_zero = p->in[MICA__INT8_Y_ZERO] != NULL,
      .is_signed = p->attrs->to == MICA_I8,
      .count = count,
  };
  add_fields_push(&launch, &f);
  mica__int8_push_sum(p, &launch);
  mica__launch_range1(&launch, mica__ceil_div(count, mica__kernel_value(desc, values, "VW")), MICA__RANGE_GROUP);
  mica__launch_cost(&launch, (double)count, 3 * (double)count);
  return mica__queue_submit(queue, &launch);
}

mica_status mica__int8_conv_then_add(const mica__int8 *p, mica_status (*conv)(const mica__exec *exec)) {
  mica__int8_attrs attrs = *p->attrs;
  mica__exec exec = *p->exec;
  mica_tensor *bytes = NULL;
  attrs.present &= (INT64_C(1) << MICA__INT8_OTHER) - 1;
  exec.attrs = &attrs;
  MICA_TRY(mica__workspace_tensor(exec.queue, attrs.to, mica_tensor_shape(exec.output), &bytes));
  exec.output = bytes;
  mica_status status = conv(&exec);
  if (status == MICA_OK) status = add(p, bytes);
  mica_tensor_destroy(bytes);
  return status;
}
