/* Tensor cores of NVIDIA GPUs by inline PTX (cl/matmul/gemm_mma.cl). A build without NVIDIA's OpenCL needs nothing of
 * it: the instruction is text that no other device gets to see. */
#include "base/error.h"
#include "ops/matmul/gemm.h"

#include <stdatomic.h>

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS(MICA_F32, MICA_F16, MICA_BF16, MICA_I8),
    MICA__CASE("MMA_PTX", "0 an emulation, 1 inline PTX", 0, 1),
    MICA__INT("WARPS_M", "warps along the rows of a tile", 1, 2, 4),
    MICA__INT("WARPS_N", "warps along its columns", 1, 2, 4),
    MICA__INT("WARP_M", "rows a warp computes", 16, 32, 64),
    MICA__INT("WARP_N", "columns a warp computes", 16, 32, 64),
    MICA__INT("STAGES", "tiles of an operand in local memory", 2, 3, 4),
};
/* The emulation is no device's choice; it is there to be checked. */
enum { LARGE, SMALL, EMULATION };
static const mica__variant variants[] = {
    [LARGE] = {.name = "ptx",
               .classes = MICA__ON_GPU,
               .features = MICA_FEATURE_INLINE_PTX,
               .values = {MICA__GEMM_VALUES, 1, 2, 2, 64, 64, 3}},
    [SMALL] = {.name = "ptx64",
               .classes = MICA__ON_GPU,
               .features = MICA_FEATURE_INLINE_PTX,
               .values = {MICA__GEMM_VALUES, 1, 2, 2, 32, 32, 4}},
    [EMULATION] = {.name = "emulation", .values = {MICA__GEMM_VALUES, 0, 2, 1, 16, 32, 2}},
};
const mica__kernel_desc mica__gemm_mma_kernel = {MICA__KERNEL("gemm_mma", "matmul/gemm_mma.cl", params, variants)};

/* mma.sync for tf32 and bf16 came with compute capability 8.0. */
#define MIN_COMPUTE_CAPABILITY 80

/* Set when a driver that should take the PTX does not, so that it is not asked again for every product. One for the
 * process: drivers do not differ within one. */
static atomic_bool ptx_rejected;

static const char *unsuited(const mica__gemm *gemm) {
  mica_dtype type = mica_tensor_dtype(gemm->a.tensor);
  if (type != mica_tensor_dtype(gemm->b.tensor)) return "a and b are of two types";
  return mica__kernel_choice(&mica__gemm_mma_kernel, "A_T", (int32_t)type) < 0 ? "tensor cores do not take the type"
                                                                               : NULL;
}

/* Copies in the background take 16 bytes that lie together. Where they do not, each element is read alone, and
 * gemm_gpu's f32 arithmetic is faster then. Bytes have no such rival: gemm_naive is what is left. */
static const char *decline_pieces(const mica__gemm *gemm) {
  mica_dtype type = mica_tensor_dtype(gemm->a.tensor);
  if (type == MICA_I8) return NULL;
  return mica__gemm_is_aligned(gemm, 16 / (int64_t)mica_dtype_size(type)) ? NULL
                                                                          : "a or b is not made of pieces of 16 bytes";
}

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica_device_info *device = task->device;
  const char *reason = mica__needs_gpu(device);
  if (reason) return reason;
  if (!mica__kernel_variant(&mica__gemm_mma_kernel, device)) return "it is for NVIDIA";
  if (device->compute_capability < MIN_COMPUTE_CAPABILITY) return "the compute capability is below 8.0";
  if (atomic_load(&ptx_rejected)) return "the driver has rejected its PTX";
  if (mica_tensor_dtype(gemm->a.tensor) == MICA_F32 && !gemm->allow_tf32) return "tf32 is not allowed";
  if (gemm->m < 16 || gemm->n < 8) return "the matrices are smaller than one instruction";
  reason = unsuited(gemm);
  return reason ? reason : decline_pieces(gemm);
}

/* Tiles of 128 x 128 where there are enough for all units, or else those of 64 x 64. */
static const mica__variant *suited(const mica__gemm *gemm, const mica_device_info *device) {
  const mica__variant *first = mica__kernel_variant(&mica__gemm_mma_kernel, device);
  const bool few = mica__gemm_tiles(gemm, 128, 128) < (int64_t)device->compute_units;
  return first == &variants[LARGE] && few ? &variants[SMALL] : first;
}

static mica_status launch_mma(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const mica__variant *variant = task->variant;
  const mica_device_info *device = task->device;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = suited(gemm, device);
  if (!variant) variant = &variants[EMULATION];
  if (unsuited(gemm)) return mica__fail(MICA_E_UNSUPPORTED, "gemm_mma: %s", unsuited(gemm));
  if (variant->features & ~device->features ||
      (variant->features && device->compute_capability < MIN_COMPUTE_CAPABILITY))
    return mica__fail(MICA_E_UNSUPPORTED, "gemm_mma: the device has no tensor cores that take this PTX");
  mica__kernel_values(&mica__gemm_mma_kernel, variant, values);
  int64_t warps_m = mica__kernel_value(&mica__gemm_mma_kernel, values, "WARPS_M"),
          warps_n = mica__kernel_value(&mica__gemm_mma_kernel, values, "WARPS_N");
  int64_t rows = warps_m * mica__kernel_value(&mica__gemm_mma_kernel, values, "WARP_M");
  int64_t columns = warps_n * mica__kernel_value(&mica__gemm_mma_kernel, values, "WARP_N"),
          group = warps_m * warps_n * 32;
  /* It reads 16 bytes at a time. */
  int64_t vector = 16 / (int64_t)mica_dtype_size(mica_tensor_dtype(gemm->a.tensor));
  mica_status status = mica__gemm_begin(queue, &mica__gemm_mma_kernel, values, gemm, vector, &launch);
  if (status == MICA_E_BUILD && variant->features) atomic_store(&ptx_rejected, true);
  MICA_TRY(status);
  mica__launch_range1(&launch, mica__gemm_tiles(gemm, rows, columns) * group, (size_t)group);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_mma = {
    .name = "gemm_mma", .kernel = &mica__gemm_mma_kernel, .decline = decline, .launch = launch_mma};
