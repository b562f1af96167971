/* Small matrices on a GPU, without local memory (cl/matmul/gpu/direct.cl). */
#include "base/error.h"
#include "ops/matmul/gemm.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS(MICA__GEMM_ALL_TYPES),
    MICA__INT("MICRO_M", "rows a work-item computes", 1, 2, 4, 8),
    MICA__INT("VEC", "columns a work-item computes", 1, 2, 4, 8),
};
static const mica__variant variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA__GEMM_VALUES, 4, 4)};
const mica__kernel_desc mica__gemm_direct_kernel = {
    MICA__KERNEL("gemm_direct", "matmul/gpu/direct.cl", params, variants)};

/* The kernel takes products with m or n at most SMALL_SIDE (a quarter of the side of gemm_gpu's smallest tile), or with
 * k at most SMALL_DEPTH: with so short a k, a tile in local memory would hardly be reused. */
#define SMALL_SIDE 8
#define SMALL_DEPTH 8

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  bool small = gemm->m <= SMALL_SIDE || gemm->n <= SMALL_SIDE || gemm->k <= SMALL_DEPTH;
  return small ? NULL : "the matrices are so large that tiles are faster";
}

static mica_status launch_direct(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__gemm_direct_kernel, task->variant ? task->variant : &variants[0], values);
  int32_t rows = mica__kernel_value(&mica__gemm_direct_kernel, values, "MICRO_M"),
          columns = mica__kernel_value(&mica__gemm_direct_kernel, values, "VEC");
  MICA_TRY(mica__gemm_begin(queue, &mica__gemm_direct_kernel, values, gemm, columns, &launch));
  mica__launch_range1(&launch, mica__gemm_tiles(gemm, rows, columns), MICA__RANGE_GROUP);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_direct = {
    .name = "gemm_direct", .kernel = &mica__gemm_direct_kernel, .decline = decline, .launch = launch_direct};
