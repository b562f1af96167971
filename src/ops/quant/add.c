/* Sums of a convolution's bytes and others, which are bytes again: what residual connections of integers are. */
#include "base/arith.h"
#include "ops/quant/int8.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {MICA__INT("VW", "elements of a vector", 1, 16)};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, 1),
};
const mica__kernel_desc mica__int8_add_kernel = {MICA__KERNEL("int8_add", "quant/int8_add.cl", params, variants)};

void mica__int8_push_sum(const mica__int8 *p, mica__launch *launch) {
  const mica__int8_attrs *attrs = p->attrs;
  int32_t has = 0;
  for (int32_t i = MICA__INT8_OTHER; i < MICA__INT8_OPERANDS; i++) {
    mica__launch_optional(launch, p->in[i]);
    has |= (p->in[i] != NULL) << (i - MICA__INT8_OTHER);
  }
  mica__launch_int(launch, has);
  mica__launch_int(launch, mica_tensor_dtype(p->in[MICA__INT8_OTHER]) == MICA_I8);
  mica__launch_int(launch, attrs->sum_to == MICA_I8);
  mica__launch_float(launch, (float)attrs->sum_low);
  mica__launch_float(launch, (float)attrs->sum_high);
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
  mica__launch_tensor(&launch, bytes);
  mica__launch_optional(&launch, p->in[MICA__INT8_Y_SCALE]);
  mica__launch_optional(&launch, p->in[MICA__INT8_Y_ZERO]);
  mica__launch_tensor(&launch, p->exec->output);
  mica__launch_int(&launch, p->in[MICA__INT8_Y_SCALE] != NULL);
  mica__launch_int(&launch, p->in[MICA__INT8_Y_ZERO] != NULL);
  mica__launch_int(&launch, p->attrs->to == MICA_I8);
  mica__launch_long(&launch, count);
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
