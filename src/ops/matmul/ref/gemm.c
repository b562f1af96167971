/* The reference implementation: any device and any strides, one work-item per element (cl/matmul/ref/gemm.cl). */
#include "ops/matmul/gemm.h"
#include "base/error.h"

static const mica__kernel_param params[] = {MICA__GEMM_PARAMS(MICA__GEMM_ALL_TYPES)};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__GEMM_VALUES)};
const mica__kernel_desc mica__gemm_naive_kernel = {MICA__KERNEL("gemm_naive", "matmul/ref/gemm.cl", params, variants)};

static const char *decline(const mica__task *task) {
  (void)task;
  return NULL;
}

static mica_status launch_naive(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__gemm_naive_kernel, task->variant ? task->variant : &variants[0], values);
  MICA_TRY(mica__gemm_begin(queue, &mica__gemm_naive_kernel, values, gemm, 1, &launch));
  mica__launch_range1(&launch, gemm->m * gemm->n * gemm->batches, MICA__RANGE_GROUP);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_naive = {
    .name = "gemm_naive", .kernel = &mica__gemm_naive_kernel, .decline = decline, .launch = launch_naive};
