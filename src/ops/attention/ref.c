/* Attention with one row per work-item (cl/attention/ref/forward.cl, cl/attention/ref/grad.cl). It is slow, but takes
 * f64 and heads of any size, on any device. */
#include "cl/attention/fields.clh"
#include "ops/attention/attention.h"
#include "runtime/fields.h"

static const mica__kernel_param params[] = {MICA__ATTENTION_PARAMS};
static const mica__kernel_param grad_params[] = {
    MICA__ATTENTION_PARAMS, MICA__CASE("OF_KEYS", "1: the gradients of keys and values, 0: of queries", 0, 1)};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__ATTENTION_VALUES)};
static const mica__variant grad_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__ATTENTION_VALUES, 1)};
const mica__kernel_desc mica__attention_naive_kernel = {
    MICA__KERNEL("attention_naive", "attention/ref/forward.cl", params, variants)};
const mica__kernel_desc mica__attention_naive_grad_kernel = {
    MICA__KERNEL("attention_naive_grad", "attention/ref/grad.cl", grad_params, grad_variants)};

MICA__PACKED(count_fields, COUNT_FIELDS);
MICA__PACKED(grad_results, GRAD_RESULTS);

static mica_status submit_rows(const mica__attention *a, int64_t rows, mica__launch *launch) {
  count_fields_push(launch, &(count_fields){.count = rows});
  mica__launch_range1(launch, rows, MICA__RANGE_GROUP);
  mica__launch_cost(launch, 2.0 * (double)rows * (double)a->size.tk * (double)(a->size.d + a->size.e), 0);
  return mica__queue_submit(a->exec->queue, launch);
}

static mica_status forward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  const mica__kernel_desc *desc = &mica__attention_naive_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  (void)queue;
  mica__kernel_values(desc, &variants[0], values);
  mica__attention_set(desc, values, a);
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  mica__attention_push_forward(a, &launch);
  return submit_rows(a, a->size.b * a->size.h * a->size.tq, &launch);
}

static mica_status launch_grad(const mica__attention *a, const mica_tensor *delta, bool of_keys) {
  const mica__kernel_desc *desc = &mica__attention_naive_grad_kernel;
  const mica__attention_sizes s = a->size;
  mica_tensor *const *out = a->exec->outputs, *dx = of_keys ? out[MICA__ATTENTION_DK] : out[MICA__ATTENTION_DQ],
                     *dv = of_keys ? out[MICA__ATTENTION_DV] : NULL;
  int64_t rows = of_keys ? s.b * s.g * s.tk : s.b * s.h * s.tq;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if ((!dx && !dv) || rows == 0) return MICA_OK;
  mica__kernel_values(desc, &grad_variants[0], values);
  mica__attention_set(desc, values, a);
  mica__kernel_set(desc, values, "OF_KEYS", of_keys);
  MICA_TRY(mica__attention_begin(a, desc, values, &launch));
  mica__attention_push_grad(a, delta, &launch);
  grad_results_push(&launch, &(grad_results){.DX = dx, .DV = dv});
  return submit_rows(a, rows, &launch);
}

static mica_status backward(mica_queue *queue, const mica__task *task) {
  const mica__attention *a = task->problem;
  mica_tensor *delta = NULL;
  (void)queue;
  MICA_TRY(mica__attention_delta(a, &delta));
  mica_status status = launch_grad(a, delta, true);
  if (status == MICA_OK) status = launch_grad(a, delta, false);
  mica_tensor_destroy(delta);
  return status;
}

const mica__impl mica__attention_naive = {
    .name = "attention_naive", .kernel = &mica__attention_naive_kernel, .launch = forward};
const mica__impl mica__attention_naive_grad = {
    .name = "attention_naive_grad", .kernel = &mica__attention_naive_grad_kernel, .launch = backward};
