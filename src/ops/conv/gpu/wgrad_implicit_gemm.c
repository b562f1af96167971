/* The weight gradient on GPUs, with its pixels divided among work-groups (cl/conv/gpu/wgrad_implicit_gemm.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/gpu/splits.h"
#include "ops/select/tile.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("DIMS", "dimensions that taps move in: 2 height and width, 3 depth too", 2, 3),
    MICA__TILE_PARAMS,
    MICA__CASE("SPLIT_K", "1: partial sums for gemm_splitk", 0, 1),
};
/* The offsets of the rows and columns that a work-item reads take registers, so the largest tile is smaller than a
 * product's. */
#define TILES(...) .classes = MICA__ON_GPU, .values = {MICA__CONV_VALUES, 2, __VA_ARGS__, 0}
#define VENDOR(name) .vendors = 1u << MICA_VENDOR_##name
#define NOT_INTEL .vendors = ~(1u << MICA_VENDOR_INTEL)
static const mica__variant variants[] = {
    {.name = "gpu.128x64", NOT_INTEL, TILES(16, 8, 8, 8, 8, 4, 4, 1, 0)},
    {.name = "gpu.64x64", NOT_INTEL, TILES(8, 8, 8, 8, 8, 4, 4, 1, 0)},
    {.name = "intel.64x64", VENDOR(INTEL), TILES(16, 16, 4, 4, 16, 4, 4, 0, 16)},
    {.name = "gpu.32x64", NOT_INTEL, TILES(8, 8, 4, 8, 8, 4, 4, 1, 0)},
    {.name = "intel.32x32", VENDOR(INTEL), TILES(8, 8, 4, 4, 8, 4, 4, 0, 16)},
    {.name = "gpu.16x32", .vendors = 0, TILES(4, 8, 4, 4, 8, 4, 4, 0, 0)},
};
/* One row per variant, in their order, from a model (2026-11-25). One number is measured instead: busy_90 of the last
 * variant is 9, not the model's 29, because with 29 the gradients of MobileNetV2 on an H200 (2026-11-26) took 3.4 ms
 * instead of 1.5 ms, 0.85 ms of it in work-groups of one warp. In both ResNets the other tiles are as fast as the model
 * says. */
static const mica__tile_speed speeds[] = {{2, 93, 66}, {4, 84, 53}, {4, 49, 49}, {6, 70, 37}, {8, 29, 29}, {16, 57, 9}};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__conv_gpu_wgrad_implicit_gemm_kernel = {
    MICA__KERNEL("conv_gpu_wgrad_implicit_gemm", "conv/gpu/wgrad_implicit_gemm.cl", params, variants),
    .has_room = has_room};

static bool has_room(const int32_t *values, const mica_device_info *device) {
  mica__tile tile = mica__tile_of(&mica__conv_gpu_wgrad_implicit_gemm_kernel, values);
  return mica__tile_has_room(&tile, 0, device);
}

/* The most pixels of y in all images, and elements of an image: ints count them, and a tile that begins below this
 * still ends within an int. */
#define MOST_POSITIONS (INT32_MAX - 65536)
#define SPLIT_MAX 512

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  double in = (double)mica__product3(d->in), out = (double)mica__product3(d->out);
  if ((double)d->n * out == 0) return "there are no pixels"; /* the first step would read outside */
  if ((double)d->c * in > MOST_POSITIONS || (double)d->k * out > MOST_POSITIONS) return "an image is too large";
  return (double)d->n * out > MOST_POSITIONS ? "there are too many elements for positions in 32 bits" : NULL;
}

const mica__tile_kernel mica__conv_gpu_wgrad_implicit_gemm_tiles = {&mica__conv_gpu_wgrad_implicit_gemm_kernel, speeds};

typedef mica__tile_plan plan;
MICA__TASK_PLAN(plan)

static void plan_task(mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__tiled product = {d->k, d->c * mica__product3(d->filter), d->n * mica__product3(d->out), d->groups};
  keep_plan(task, mica__tile_choose(&mica__conv_gpu_wgrad_implicit_gemm_tiles, task, &product, SPLIT_MAX));
}

static const char *decline(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  return plan_of(task)->variant ? NULL : "its tiles need more local memory or larger work-groups than the device has";
}

/* Launches the tiles. If splits > 1, `partial` receives the sums of each part; otherwise the epilogue writes the
 * result, and `partial` is not used. */
static mica_status launch_tiles(mica_queue *queue, const mica__task *task, int64_t splits, mica_buffer *partial) {
  const mica__kernel_desc *desc = &mica__conv_gpu_wgrad_implicit_gemm_kernel;
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__variant *variant = plan_of(task)->variant;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, variant ? variant : &variants[desc->variant_count - 1], values);
  mica__tile tile = mica__tile_of(desc, values);
  mica__tile_set_subgroup(desc, values, task->device);
  mica__kernel_set(desc, values, "DIMS",
                   d->in[0] == 1 && d->out[0] == 1 && d->filter[0] == 1 && d->pad[0] == 0 ? 2 : 3);
  mica__kernel_set(desc, values, "SPLIT_K", splits > 1);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, d);
  mica__conv_push_split(&launch, d, tile.k, splits);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_tensor(&launch, conv->x);
  int64_t columns = d->c * mica__product3(d->filter);
  int64_t groups = mica__ceil_div(d->k, tile.m) * mica__ceil_div(columns, tile.n) * d->groups * splits;
  mica__launch_range1(&launch, groups * (int64_t)tile.threads, tile.threads);
  if (splits == 1) return mica__conv_end(queue, &launch, conv);
  mica__launch_buffer(&launch, partial, 0);
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  int64_t splits = plan_of(task)->splits;
  if (splits == 1) return launch_tiles(queue, task, 1, NULL);
  mica_buffer *partial = NULL;
  size_t bytes = (size_t)(splits * conv->rows * conv->columns) * sizeof(float);
  MICA_TRY(mica__workspace_create(queue, bytes, &partial));
  mica_status status = launch_tiles(queue, task, splits, partial);
  if (status == MICA_OK) status = mica__conv_add_splits(queue, conv, splits, partial);
  mica_buffer_destroy(partial);
  return status;
}

const mica__impl mica__conv_gpu_wgrad_implicit_gemm = {.name = "conv_gpu_wgrad_implicit_gemm",
                                                       .kernel = &mica__conv_gpu_wgrad_implicit_gemm_kernel,
                                                       .unable = unable,
                                                       .plan = plan_task,
                                                       .decline = decline,
                                                       .launch = launch_wgrad};
