/* The tiled GPU kernel (cl/matmul/gemm_gpu.cl), alone and with the sum over k divided among work-groups. */
#include "base/error.h"
#include "ops/matmul/gemm.h"
#include "runtime/workspace.h"

static const mica__kernel_param tile_params[] = {
    MICA__GEMM_PARAMS(MICA_F32, MICA_F16, MICA_BF16, MICA_I8, MICA_U8),
    MICA__INT("WG_M", "work-items along the rows of a tile", 4, 8, 16, 32),
    MICA__INT("WG_N", "work-items along the columns of a tile", 4, 8, 16, 32),
    MICA__INT("MICRO_M", "rows a work-item computes", 2, 4, 8),
    MICA__INT("MICRO_N", "columns a work-item computes", 2, 4, 8),
    MICA__INT("TILE_K", "depth of a tile", 4, 8, 16, 32),
    MICA__INT("VEC", "elements read and written together", 1, 2, 4, 8),
    MICA__INT("PAD", "elements added to a row of a local tile", 0, 2, 4, 8),
    MICA__INT("BUFFERS", "local tiles an operand", 1, 2),
    MICA__INT("SWIZZLE", "rows of tiles walked together", 1, 2, 4, 8, 16),
    MICA__INT("REQD_SUBGROUP", "work-items of an Intel thread, 0 for the compiler's choice", 0, 8, 16, 32),
    MICA__CASE("SPLIT_K", "1: partial sums for gemm_splitk", 0, 1),
};

/* Order matters: of the variants that fit a device the first is taken whose tiles are enough to keep its units busy.
 * The values are those that published kernels (CLBlast's database, CUTLASS) center on: 64 sums a work-item where 255
 * registers are to be had, 16 on Intel, where 8 work-items share the 4 KiB of a thread. */
#define TILES(...) .values = {MICA__GEMM_VALUES, __VA_ARGS__}
static const mica__variant tile_variants[] = {
    {.name = "gpu.128x128",
     .classes = MICA__ON_GPU,
     .vendors = 1u << MICA_VENDOR_NVIDIA | 1u << MICA_VENDOR_AMD,
     TILES(16, 16, 8, 8, 8, 4, 4, 2, 8, 0, 0)},
    {.name = "nvidia.128x64",
     .classes = MICA__ON_GPU,
     .vendors = 1u << MICA_VENDOR_NVIDIA,
     TILES(16, 16, 8, 4, 16, 4, 4, 2, 8, 0, 0)},
    {.name = "intel.64x64",
     .classes = MICA__ON_GPU,
     .vendors = 1u << MICA_VENDOR_INTEL,
     TILES(16, 16, 4, 4, 16, 4, 4, 2, 8, 8, 0)},
    {.name = "gpu.64x64",
     .classes = MICA__ON_GPU,
     .vendors = ~(1u << MICA_VENDOR_INTEL),
     TILES(16, 16, 4, 4, 16, 4, 4, 2, 8, 0, 0)},
    {.name = "intel.32x32",
     .classes = MICA__ON_GPU,
     .vendors = 1u << MICA_VENDOR_INTEL,
     TILES(8, 8, 4, 4, 8, 4, 4, 2, 8, 8, 0)},
    {.name = "gpu.32x32",
     .classes = MICA__ON_GPU,
     .vendors = ~(1u << MICA_VENDOR_INTEL),
     TILES(8, 8, 4, 4, 8, 4, 4, 2, 8, 0, 0)},
};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__gemm_gpu_kernel = {
    MICA__KERNEL("gemm_gpu", "matmul/gemm_gpu.cl", tile_params, tile_variants), .has_room = has_room};

static const mica__kernel_param sum_params[] = {MICA__GEMM_EPILOGUE_PARAMS};
static const mica__variant sum_variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__GEMM_EPILOGUE_VALUES)};
const mica__kernel_desc mica__gemm_splitk_kernel = {
    MICA__KERNEL("gemm_splitk", "matmul/gemm_splitk.cl", sum_params, sum_variants)};

static int32_t value(const int32_t *values, const char *macro) {
  return mica__kernel_value(&mica__gemm_gpu_kernel, values, macro);
}
static int64_t tile_m(const int32_t *values) { return (int64_t)value(values, "WG_M") * value(values, "MICRO_M"); }
static int64_t tile_n(const int32_t *values) { return (int64_t)value(values, "WG_N") * value(values, "MICRO_N"); }
static size_t threads(const int32_t *values) { return (size_t)value(values, "WG_M") * (size_t)value(values, "WG_N"); }

/* Sums in f64 are not for this kernel: an element of a local tile takes four bytes. */
static bool has_room(const int32_t *values, const mica_device_info *device) {
  int64_t pitches = tile_m(values) + tile_n(values) + 2 * value(values, "PAD");
  uint64_t local = (uint64_t)(pitches * value(values, "TILE_K") * value(values, "BUFFERS")) * sizeof(float);
  return threads(values) <= device->max_group && local <= device->local_bytes;
}

/* NULL when no variant has room on the device. Without an engine, what is in quarantine is not known. */
static const mica__variant *choose_variant(const mica__gemm *gemm, const mica_device_info *device,
                                           mica_engine *engine) {
  const mica__variant *best = NULL;
  for (int i = 0; i < mica__gemm_gpu_kernel.variant_count; i++) {
    const mica__variant *variant = &mica__gemm_gpu_kernel.variants[i];
    if (!mica__variant_fits(&mica__gemm_gpu_kernel, variant, device)) continue;
    if (engine && mica__variant_is_bad(engine, &mica__gemm_gpu_kernel, variant)) continue;
    best = variant;
    if (mica__gemm_tiles(gemm, tile_m(best->values), tile_n(best->values)) >= device->compute_units) break;
  }
  return best;
}

/* variant is NULL where the device has none. */
typedef struct plan {
  const mica__variant *variant;
  int64_t splits;
} plan;
MICA__TASK_PLAN(plan)

static const char *decline_tiles(const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  if (gemm->epilogue.acc == MICA_F64) return "f64 takes too many registers";
  if (!task->device->local_is_fast) return "local memory is no faster than global memory here";
  return plan_of(task)->variant ? NULL : "its tiles need more local memory or larger work-groups";
}

/* splits > 1: partial sums go to the buffer. */
static mica_status launch_tiles(mica_queue *queue, const mica__gemm *gemm, const mica__variant *variant, int64_t splits,
                                mica_buffer *partial) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(&mica__gemm_gpu_kernel, variant, values);
  if (value(values, "REQD_SUBGROUP")) {
    bool known = mica__kernel_choice(&mica__gemm_gpu_kernel, "REQD_SUBGROUP", (int32_t)device->subgroup_min) >= 0;
    mica__kernel_set(&mica__gemm_gpu_kernel, values, "REQD_SUBGROUP", known ? (int32_t)device->subgroup_min : 0);
  }
  mica__kernel_set(&mica__gemm_gpu_kernel, values, "SPLIT_K", splits > 1);
  MICA_TRY(mica__gemm_begin(queue, &mica__gemm_gpu_kernel, values, gemm, value(values, "VEC"), &launch));
  int64_t groups = mica__gemm_tiles(gemm, tile_m(values), tile_n(values)) * splits;
  mica__launch_range1(&launch, groups * (int64_t)threads(values), threads(values));
  if (splits == 1) return mica__gemm_end(queue, &launch, gemm);
  mica__launch_size(&launch, splits);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_cost(&launch, 2.0 * (double)gemm->m * (double)gemm->n * (double)gemm->k * (double)gemm->batches, 0);
  return mica__queue_submit(queue, &launch);
}

static void plan_tiles(mica__task *task) {
  const mica__variant *variant = task->variant;
  if (!variant) variant = choose_variant(task->problem, task->device, task->engine);
  keep_plan(task, (plan){.variant = variant, .splits = 1});
}

static mica_status fail_unfit(void) {
  return mica__fail(MICA_E_UNSUPPORTED, "gemm_gpu: no variant is fit for this device");
}

static mica_status launch_gemm_gpu(mica_queue *queue, const mica__task *task) {
  const plan *p = plan_of(task);
  return p->variant ? launch_tiles(queue, task->problem, p->variant, 1, NULL) : fail_unfit();
}

/* Enough splits to give each unit two groups, each at least 8 tiles deep, so that adding up is small beside
 * multiplying. */
#define SPLIT_MIN_STEPS 8
#define SPLIT_MAX 64

static int64_t split_count(const mica__gemm *gemm, const mica__variant *variant, const mica_device_info *device) {
  int64_t tiles = mica__gemm_tiles(gemm, tile_m(variant->values), tile_n(variant->values));
  int64_t wanted = (2 * (int64_t)device->compute_units + tiles - 1) / (tiles ? tiles : 1);
  int64_t possible = gemm->k / ((int64_t)value(variant->values, "TILE_K") * SPLIT_MIN_STEPS);
  int64_t splits = wanted < possible ? wanted : possible;
  return splits < 1 ? 1 : splits > SPLIT_MAX ? SPLIT_MAX : splits;
}

static size_t partial_bytes(const mica__gemm *gemm, int64_t splits) {
  return (size_t)(splits * gemm->batches * gemm->m * gemm->n) * mica_dtype_size(gemm->epilogue.acc);
}

static void plan_splitk(mica__task *task) {
  plan_tiles(task);
  plan p = *plan_of(task);
  if (p.variant) p.splits = split_count(task->problem, p.variant, task->device);
  keep_plan(task, p);
}

static const char *decline_splitk(const mica__task *task) {
  const char *reason = decline_tiles(task);
  if (reason) return reason;
  return plan_of(task)->splits < 2 ? "there are enough tiles, or k is short" : NULL;
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
  mica__launch_range1(&launch, gemm->m * gemm->n * gemm->batches, 64);
  return mica__gemm_end(queue, &launch, gemm);
}

static mica_status launch_splitk(mica_queue *queue, const mica__task *task) {
  const mica__gemm *gemm = task->problem;
  const plan *p = plan_of(task);
  mica_buffer *partial = NULL;
  if (!p->variant) return fail_unfit();
  /* Where it has been told to run though there is nothing to split: in two, of which one may be empty. */
  int64_t splits = p->splits < 2 ? 2 : p->splits;
  MICA_TRY(mica__workspace_create(queue, partial_bytes(gemm, splits), &partial));
  mica_status status = launch_tiles(queue, gemm, p->variant, splits, partial);
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
