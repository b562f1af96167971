/* Products on matrix units (cl/matmul/mma/tile.cl). */
#include "ops/matmul/gemm.h"
#include "ops/select/mma.h"

#include "base/arith.h"
#include "base/error.h"

static const mica__kernel_param params[] = {
    MICA__GEMM_PARAMS(MICA_F32, MICA_F16, MICA_BF16, MICA_I8),
    MICA__MMA_DEPTH_PARAM,
    MICA__MMA_PARAMS(MICA__EMULATED),
};
#define VALUES MICA__GEMM_VALUES, 4
#define FLAT_VALUES MICA__GEMM_VALUES, 2 /* tiles half as deep */
static const mica__variant variants[] = {
    MICA__MMA_PTX_128X128(VALUES),
    MICA__MMA_PTX_256X128(FLAT_VALUES),
    MICA__MMA_PTX_64X64(VALUES),
    MICA__MMA_OTHERS(VALUES),
    MICA__MMA_EMULATION("emulation_flat", FLAT_VALUES, MICA__MMA_PTX, 0, 2, 1, 16, 32, 4),
    MICA__MMA_EMULATIONS(VALUES),
};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__gemm_mma_kernel = {MICA__KERNEL("gemm_mma", "matmul/mma/tile.cl", params, variants),
                                                 .has_room = has_room};

static bool has_room(const int32_t *values, const mica_device_info *device) {
  return mica__mma_has_room(&mica__gemm_mma_kernel, values, device);
}

static const char *unsuited(const mica__gemm *gemm) {
  mica_dtype type = mica_tensor_dtype(gemm->a.tensor);
  if (type != mica_tensor_dtype(gemm->b.tensor)) return "a and b differ in type";
  return mica__kernel_choice(&mica__gemm_mma_kernel, "A_T", (int32_t)type) < 0
             ? "matrix units do not multiply this type"
             : NULL;
}

/* Copies in the background take 16 adjacent, aligned bytes. If rows do not consist of such pieces, each element is read
 * alone, and gemm_gpu's f32 arithmetic is faster. Matrices of bytes are taken in any case. */
static const char *decline_pieces(const mica__gemm *gemm) {
  mica_dtype type = mica_tensor_dtype(gemm->a.tensor);
  if (type == MICA_I8) return NULL;
  return mica__gemm_is_aligned(gemm, 16 / (int64_t)mica_dtype_size(type))
             ? NULL
             : "the rows of a or b are not multiples of 16 bytes";
}

static const mica__variant *suited(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const int64_t piece = 16 / (int64_t)mica_dtype_size(mica_tensor_dtype(gemm->a.tensor));
  const mica__tiled product = {gemm->m, gemm->n, mica__ceil_div(gemm->k, MICA__MMA_STEP * piece), gemm->batches};
  return mica__mma_choose(&mica__gemm_mma_kernel, task, &product, 1).variant;
}

static const char *decline(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const char *reason =
      mica__mma_missing(&mica__gemm_mma_kernel, mica_tensor_dtype(gemm->a.tensor), task->device, task->engine);
  if (reason) return reason;
  if (mica_tensor_dtype(gemm->a.tensor) == MICA_F32 && !gemm->allow_tf32 &&
      mica__mma_rounds(&mica__gemm_mma_kernel, mica__kernel_variant(&mica__gemm_mma_kernel, task->device)))
    return "the products are not allowed to round to tf32";
  if (gemm->m < 16 || gemm->n < 8) return "the matrices are smaller than one instruction";
  reason = unsuited(gemm);
  return reason ? reason : decline_pieces(gemm);
}

static mica_status launch_mma(mica_queue *queue, const mica__task *task) {
  const mica__kernel_desc *desc = &mica__gemm_mma_kernel;
  const mica__gemm *gemm = task->problem;
  const mica__variant *variant = task->variant;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!variant) variant = suited(task);
  if (unsuited(gemm)) return mica__fail(MICA_E_UNSUPPORTED, "gemm_mma: %s", unsuited(gemm));
  MICA_TRY(mica__mma_check(mica__queue_engine(queue), desc, variant, mica_tensor_dtype(gemm->a.tensor)));
  mica__kernel_values(desc, variant, values);
  const mica__mma_tile tile = mica__mma_tile_of(desc, values);
  /* The kernel reads 16 bytes at a time. */
  const int64_t vector = 16 / (int64_t)mica_dtype_size(mica_tensor_dtype(gemm->a.tensor));
  MICA_TRY(mica__gemm_begin(queue, desc, values, gemm, vector, &launch));
  mica__launch_range1(&launch, mica__gemm_tiles(gemm, tile.m, tile.n) * (int64_t)tile.threads, tile.threads);
  return mica__gemm_end(queue, &launch, gemm);
}

const mica__impl mica__gemm_mma = {
    .name = "gemm_mma", .kernel = &mica__gemm_mma_kernel, .decline = decline, .launch = launch_mma};
