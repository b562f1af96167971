/* The tiled GPU kernel (cl/matmul/gpu/tile.cl), alone and with the sum over k split among work-groups. */
#include "ops/select/tile.h"
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/compiler.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

static const mica__kernel_param tile_params[] = {
    MICA__GEMM_PARAMS(MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8),
    MICA__TILE_PARAMS,
    MICA__INT("SWIZZLE", "rows of tiles walked together", 1, 2, 4, 8, 16),
    MICA__CASE("SPLIT_K", "1: partial sums for gemm_splitk", 0, 1),
};

/* A model of the GPUs' schedulers, which reads the machine code, chose the values that keep the multiply-add units
 * busiest. A work-item with fewer sums reads more local memory. On AMD (gfx90a) 4 waves run per SIMD. On Intel 8
 * work-items share the 4 KiB of a thread's registers, so each has 16 sums. */
#define TILES(...) .classes = MICA__ON_GPU, .values = {MICA__GEMM_VALUES, __VA_ARGS__, 8, 0}
#define VENDOR(name) .vendors = 1u << MICA_VENDOR_##name
#define NOT_INTEL .vendors = ~(1u << MICA_VENDOR_INTEL)
static const mica__variant tile_variants[] = {
    {.name = "nvidia.128x128", VENDOR(NVIDIA), TILES(16, 8, 8, 16, 8, 4, 4, 1, 0)},
    {.name = "amd.128x128", VENDOR(AMD), TILES(16, 16, 8, 8, 8, 4, 4, 0, 0)},
    {.name = "nvidia.128x64", VENDOR(NVIDIA), TILES(16, 8, 8, 8, 8, 4, 4, 1, 0)},
    {.name = "intel.64x64", VENDOR(INTEL), TILES(16, 16, 4, 4, 16, 4, 4, 0, 8)},
    {.name = "gpu.64x64", NOT_INTEL, TILES(8, 8, 8, 8, 8, 4, 4, 1, 0)},
    {.name = "intel.32x32", VENDOR(INTEL), TILES(8, 8, 4, 4, 8, 4, 4, 0, 8)},
    {.name = "gpu.32x32", NOT_INTEL, TILES(8, 8, 4, 4, 16, 4, 4, 1, 0)},
};
/* The speeds of the variants, in their order, by the model of 2026-11-24. */
static const mica__tile_speed speeds[] = {{2, 99, 80}, {2, 90, 80}, {3, 92, 84}, {4, 67, 67},
                                          {6, 94, 84}, {8, 46, 46}, {14, 92, 66}};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__gemm_gpu_kernel = {
    MICA__KERNEL("gemm_gpu", "matmul/gpu/tile.cl", tile_params, tile_variants), .has_room = has_room};

static const mica__kernel_param sum_params[] = {MICA__GEMM_EPILOGUE_PARAMS};
static const mica__variant sum_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__GEMM_EPILOGUE_VALUES)};
const mica__kernel_desc mica__gemm_splitk_kernel = {
    MICA__KERNEL("gemm_splitk", "matmul/gpu/splitk.cl", sum_params, sum_variants)};

/* This kernel does not take sums in f64: an element of a local tile has four bytes. */
static bool has_room(const int32_t *values, const mica_device_info *device) {
  mica__tile tile = mica__tile_of(&mica__gemm_gpu_kernel, values);
  return mica__tile_has_room(&tile, 0, device);
}

const mica__tile_kernel mica__gemm_gpu_tiles = {&mica__gemm_gpu_kernel, speeds};

typedef mica__tile_plan plan;
MICA__TASK_PLAN(plan)

#define SPLIT_MAX 64

static void plan_up_to(mica__task *task, int64_t splits) {
  const mica__gemm *gemm = task->problem;
  const mica__tiled product = {gemm->m, gemm->n, gemm->k, gemm->batches};
  keep_plan(task, mica__tile_choose(&mica__gemm_gpu_tiles, task, &product, splits));
}

static const char *decline_tiles(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  if (gemm->epilogue.acc == MICA_F64) return "f64 needs too many registers";
  if (!task->device->local_is_fast && !mica__compiler_joins_items(task->device))
    return "the device's local memory is not faster than its global memory";
  return plan_of(task)->variant ? NULL : "its tiles need more local memory or larger work-groups than the device has";
}

static size_t partial_bytes(const mica__gemm *gemm, int64_t splits) {
  return (size_t)(splits * gemm->batches * gemm->m * gemm->n) * mica_dtype_size(gemm->epilogue.acc);
}

/* Queues the product. If splits > 1, it stores no D, but partial sums in the buffer `partial`, from element `first`
 * on. */
static mica_status launch_tiles(mica_queue *queue, const mica__gemm *gemm, const mica__variant *variant, int64_t splits,
                                mica_buffer *partial, int64_t first) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__gemm_gpu_kernel, variant, values);
  mica__tile tile = mica__tile_of(&mica__gemm_gpu_kernel, values);
  mica__tile_set_subgroup(&mica__gemm_gpu_kernel, values, device);
  mica__kernel_set(&mica__gemm_gpu_kernel, values, "SPLIT_K", splits > 1);
  MICA_TRY(mica__gemm_begin(queue, &mica__gemm_gpu_kernel, values, gemm, tile.vec, &launch));
  int64_t groups = mica__gemm_tiles(gemm, tile.m, tile.n) * splits;
  mica__launch_range1(&launch, groups * (int64_t)tile.threads, tile.threads);
  if (splits == 1) return mica__gemm_end(queue, &launch, gemm);
  mica__launch_size(&launch, splits);
  mica__launch_buffer(&launch, partial, first);
  mica__gemm_cost(&launch, gemm);
  launch.bytes += (double)partial_bytes(gemm, splits - 1);
  return mica__queue_submit(queue, &launch);
}

static void plan_tiles(mica__task *task) { plan_up_to(task, 1); }

static mica_status fail_unfit(void) {
  return mica__fail(MICA_E_UNSUPPORTED,
                    "gemm_gpu: none of the kernel's tile sizes fits the local memory and work-groups of this device");
}

static mica_status launch_gemm_gpu(mica_queue *queue, const mica__task *task) {
  const plan *p = plan_of(task);
  return p->variant ? launch_tiles(queue, task->problem, p->variant, 1, NULL, 0) : fail_unfit();
}

static void plan_splitk(mica__task *task) { plan_up_to(task, SPLIT_MAX); }

static const char *decline_splitk(const mica__task *task) {
  const char *reason = decline_tiles(task);
  if (reason) return reason;
  return plan_of(task)->splits < 2 ? "there are enough tiles for the device without splitting the sums" : NULL;
}

mica_status mica__gemm_add_splits(mica_queue *queue, const mica__gemm *gemm, int64_t splits, mica_buffer *partial) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__gemm_splitk_kernel, &sum_variants[0], values);
  MICA_TRY(mica__epilogue_begin(queue, &mica__gemm_splitk_kernel, values, &gemm->epilogue, &launch));
  mica__launch_size(&launch, gemm->batches);
  mica__launch_size(&launch, gemm->m);
  mica__launch_size(&launch, gemm->n);
  mica__launch_size(&launch, splits);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_range1(&launch, gemm->m * gemm->n * gemm->batches, MICA__RANGE_GROUP);
  return mica__gemm_end(queue, &launch, gemm);
}

mica_status mica__gemm_gpu_parts(mica_queue *queue, const mica__gemm *gemm, const mica__tile_plan *p,
                                 const mica_tensor *sums) {
  if (!p->variant) return fail_unfit();
  return launch_tiles(queue, gemm, p->variant, p->splits, mica__tensor_buffer(sums), mica__tensor_first(sums));
}

static mica_status launch_splitk(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const plan *p = plan_of(task);
  mica_buffer *partial = NULL;
  if (!p->variant) return fail_unfit();
  /* gemm_splitk may have to run although splitting does not pay. It makes two parts then, and one may be empty. */
  int64_t splits = p->splits < 2 ? 2 : p->splits;
  MICA_TRY(mica__workspace_create(queue, partial_bytes(gemm, splits), &partial));
  mica_status status = launch_tiles(queue, gemm, p->variant, splits, partial, 0);
  if (status == MICA_OK) status = mica__gemm_add_splits(queue, gemm, splits, partial);
  mica_buffer_destroy(partial);
  return status;
}

const mica__impl mica__gemm_gpu = {.name = "gemm_gpu",
                                   .kernel = &mica__gemm_gpu_kernel,
                                   .plan = plan_tiles,
                                   .decline = decline_tiles,
                                   .launch = launch_gemm_gpu};
const mica__impl mica__gemm_splitk = {.name = "gemm_splitk",
                                      .kernel = &mica__gemm_gpu_kernel,
                                      .plan = plan_splitk,
                                      .decline = decline_splitk,
                                      .launch = launch_splitk};
