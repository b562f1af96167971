/* A matrix times a vector on a GPU (cl/matmul/gpu/gemv.cl). */
#include "base/error.h"
#include "ops/matmul/gemm.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS(MICA__GEMM_ALL_TYPES),
    MICA__CASE("VECTOR_IS_A", "1: a is the vector", 0, 1),
    MICA__INT("WG_SIZE", "work-items in a group", 64, 128, 256),
    MICA__INT("K_LANES", "work-items that share a sum", 1, 4, 8, 16, 32, 64, 128),
    MICA__INT("VEC", "elements read together", 1, 2, 4, 8),
};
/* The second variant adds more of a sum per work-item, which suits a matrix that is adjacent along its outer index. */
static const mica__variant variants[] = {
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA__GEMM_VALUES, 0, 128, 32, 4),
    MICA__VARIANT("gpu.outer", MICA__ON_GPU, MICA__GEMM_VALUES, 0, 128, 8, 4),
};
const mica__kernel_desc mica__gemv_gpu_kernel = {MICA__KERNEL("gemv_gpu", "matmul/gpu/gemv.cl", params, variants)};

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica_device_info *device = task->device;
  const char *reason = mica__needs_gpu(device);
  if (reason) return reason;
  if (device->max_group < 128) return "its work-groups of 128 are too large for the device";
  return gemm->m == 1 || gemm->n == 1 ? NULL : "neither operand is a vector";
}

static mica_status launch_gemv(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica__variant *variant = task->variant;
  if (gemm->m != 1 && gemm->n != 1) return mica__fail(MICA_E_UNSUPPORTED, "gemv: neither operand is a vector");
  bool vector_is_a = gemm->n != 1;
  int64_t length = vector_is_a ? gemm->n : gemm->m;
  int32_t layout =
      vector_is_a ? mica__gemm_layout(gemm->b.col, gemm->b.row) : mica__gemm_layout(gemm->a.row, gemm->a.col);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = &variants[layout == MICA__LAYOUT_K ? 0 : 1];
  mica__kernel_values(&mica__gemv_gpu_kernel, variant, values);
  mica__kernel_set(&mica__gemv_gpu_kernel, values, "VECTOR_IS_A", vector_is_a);
  int32_t width = mica__kernel_value(&mica__gemv_gpu_kernel, values, "VEC"),
          group = mica__kernel_value(&mica__gemv_gpu_kernel, values, "WG_SIZE");
  MICA_TRY(mica__gemm_begin(queue, &mica__gemv_gpu_kernel, values, gemm, width, &launch));
  int64_t outers =
      group / mica__kernel_value(&mica__gemv_gpu_kernel, values, "K_LANES") * (layout == MICA__LAYOUT_K ? 1 : width);
  mica__launch_range1(&launch, (length + outers - 1) / outers * gemm->batches * group, (size_t)group);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemv_gpu = {
    .name = "gemv_gpu", .kernel = &mica__gemv_gpu_kernel, .decline = decline, .launch = launch_gemv};
