/* Forward and backward data on GPUs, several phases in one launch (cl/conv/gpu/implicit_gemm.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/phase.h"
#include "ops/select/tile.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("DIMS", "dimensions that taps move in: 2 height and width, 3 depth too", 2, 3),
    MICA__CASE("PHASES", "phases of a launch: 1, or up to 4", 1, 4),
    MICA__TILE_PARAMS,
};
/* Tiles like those of products; tiles of 32 and 16 rows are for convolutions of few filters, or with many groups of
 * channels. */
#define TILES(...) .classes = MICA__ON_GPU, .values = {MICA__CONV_VALUES, 2, 1, __VA_ARGS__}
#define VENDOR(name) .vendors = 1u << MICA_VENDOR_##name
#define NOT_INTEL .vendors = ~(1u << MICA_VENDOR_INTEL)
static const mica__variant variants[] = {
    {.name = "nvidia.128x128", VENDOR(NVIDIA), TILES(16, 8, 8, 16, 8, 4, 4, 1, 0)},
    {.name = "amd.128x128", VENDOR(AMD), TILES(16, 16, 8, 8, 8, 4, 4, 0, 0)},
    {.name = "intel.64x64", VENDOR(INTEL), TILES(16, 16, 4, 4, 16, 4, 4, 0, 16)},
    {.name = "gpu.64x64", NOT_INTEL, TILES(8, 8, 8, 8, 8, 4, 4, 1, 0)},
    {.name = "gpu.32x64", NOT_INTEL, TILES(8, 8, 4, 8, 8, 4, 4, 1, 0)},
    {.name = "intel.32x32", VENDOR(INTEL), TILES(8, 8, 4, 4, 8, 4, 4, 0, 16)},
    {.name = "gpu.16x64", .vendors = 0, TILES(4, 16, 4, 4, 16, 4, 4, 0, 0)},
};
/* The variants' speeds in their order, from a model (2026-11-24). */
static const mica__tile_speed speeds[] = {{2, 94, 81}, {2, 76, 76}, {4, 54, 58}, {6, 89, 70},
                                          {8, 82, 56}, {8, 44, 44}, {12, 64, 37}};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__conv_gpu_implicit_gemm_kernel = {
    MICA__KERNEL("conv_gpu_implicit_gemm", "conv/gpu/implicit_gemm.cl", params, variants), .has_room = has_room};

static const mica__kernel_param pack_params[] = {MICA__DTYPE("D_T", "type of w", MICA__CONV_TYPES)};
static const mica__variant pack_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32)};
const mica__kernel_desc mica__conv_gpu_pack_weights_kernel = {
    MICA__KERNEL("conv_gpu_pack_weights", "conv/gpu/pack_weights.cl", pack_params, pack_variants)};

/* An entry of the offset table is an int4. */
#define ENTRY_BYTES (4 * sizeof(int32_t))

static bool has_room(const int32_t *values, const mica_device_info *device) {
  mica__tile tile = mica__tile_of(&mica__conv_gpu_implicit_gemm_kernel, values);
  return mica__tile_has_room(&tile, 2 * (uint64_t)tile.k * ENTRY_BYTES, device);
}

const mica__tile_kernel mica__conv_gpu_implicit_gemm_tiles = {&mica__conv_gpu_implicit_gemm_kernel, speeds};

/* The largest number of columns, of elements of the images that a tile reads, and of packed weights: a tile that
 * begins below it still ends within an int. */
#define MOST_POSITIONS (INT32_MAX - 65536)
#define WIDEST_TILE 128

/* An int addresses an element of the source, relative to the first image of its tile; a tile of 128 columns may
 * reach into 128 / pixels + 1 more images. */
static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  double weights = 0;
  for (int64_t i = 0; i < mica__conv_phase_count(conv); i++) {
    mica__conv_phase w = mica__conv_phase_at(conv, i);
    int64_t pixels = mica__max(1, mica__product3(w.out));
    double image = (double)(w.groups * w.c) * (double)mica__product3(w.in);
    double images = (double)mica__min(w.n, WIDEST_TILE / pixels + 2);
    double depth = (double)w.c * (double)mica__product3(w.taps);
    if (image * images > MOST_POSITIONS) return "an image is too large";
    weights += (depth + 64) * (double)(w.k + WIDEST_TILE) * (double)w.groups;
    if ((double)w.n * (double)pixels > MOST_POSITIONS || weights > MOST_POSITIONS)
      return "there are too many elements for positions in 32 bits";
  }
  return NULL;
}

static const char *decline(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  const mica__tiled one = {1, 1, 1, 1};
  mica__tile_plan plan = mica__tile_choose(&mica__conv_gpu_implicit_gemm_tiles, task, &one, 1);
  return plan.variant ? NULL : "its tiles need more local memory or larger work-groups than the device has";
}

/* Phases as products that one kernel computes. */
typedef struct products {
  mica__conv_phases phases; /* phases.numbers[i]: the depth of phase i, rounded up to steps */
  int32_t values[MICA__MAX_PARAMS];
  mica__tile tile;
  int64_t rows, depth, groups; /* rows of padded weights; depths and work-groups of all phases, added up */
  bool alone;                  /* the only phase also finishes the pixels of all others */
} products;

static int64_t columns_of(const mica__conv_phase *w) { return w->n * mica__product3(w->out); }

/* Chooses the fastest tiles for a product with the columns of all phases and the mean of their depths. */
static const mica__variant *variant_of(const mica__task *task, const mica__conv_phases *phases) {
  const mica__kernel_desc *desc = &mica__conv_gpu_implicit_gemm_kernel;
  const mica__conv_phase *w = &phases->list[0];
  mica__tiled product = {.m = w->k, .batches = w->groups};
  double work = 0;
  for (int i = 0; i < phases->count; i++) {
    const int64_t columns = columns_of(&phases->list[i]);
    product.n += columns;
    work += (double)columns * (double)(w->c * mica__product3(phases->list[i].taps));
  }
  product.k = (int64_t)(work / (double)mica__max(1, product.n));
  const mica__variant *variant = mica__tile_choose(&mica__conv_gpu_implicit_gemm_tiles, task, &product, 1).variant;
  return variant ? variant : &variants[desc->variant_count - 1];
}

static products products_of(const mica__task *task, const mica__conv_phases *phases) {
  const mica__kernel_desc *desc = &mica__conv_gpu_implicit_gemm_kernel;
  products p = {.phases = *phases};
  const mica__conv_phase *w = &phases->list[0];
  mica__kernel_values(desc, variant_of(task, phases), p.values);
  mica__tile_set_subgroup(desc, p.values, task->device);
  bool flat = w->in[0] == 1 && w->out[0] == 1 && w->taps[0] <= 1 && w->first[0] == 0;
  mica__kernel_set(desc, p.values, "DIMS", flat ? 2 : 3);
  mica__kernel_set(desc, p.values, "PHASES", phases->count == 1 ? 1 : MICA__CONV_TOGETHER);
  p.tile = mica__tile_of(desc, p.values);
  p.rows = mica__ceil_div(w->k, p.tile.m) * p.tile.m;
  for (int i = 0; i < phases->count; i++) {
    const int64_t depth = w->c * mica__product3(phases->list[i].taps);
    p.phases.begins[i] = p.groups;
    p.phases.numbers[i] = mica__max(1, mica__ceil_div(depth, p.tile.k)) * p.tile.k;
    p.depth += p.phases.numbers[i];
    p.groups += p.rows / p.tile.m * mica__ceil_div(columns_of(&phases->list[i]), p.tile.n) * w->groups;
  }
  return p;
}

MICA__FIELDS(pack_size_fields, GPU_PACK_SIZE);
/* Packs the weights of all phases into `weights`, with a zero after the last. Writes the offsets at which each phase
 * reads the source into `table`, with two steps more at the end of each phase. */
static mica_status pack(mica_queue *queue, const mica__conv *conv, const products *p, mica_buffer *weights,
                        mica_buffer *table) {
  const mica__kernel_desc *desc = &mica__conv_gpu_pack_weights_kernel;
  const mica__conv_phase *w = &p->phases.list[0];
  const int64_t past = 2 * p->tile.k, count = w->groups * p->rows * p->depth;
  mica__conv_phases phases = p->phases;
  int64_t begin = 0;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &pack_variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  for (int i = 0; i < phases.count; i++) {
    phases.begins[i] = begin;
    begin += w->groups * p->rows * phases.numbers[i];
  }
  mica__conv_push_phases(&launch, &phases);
  mica__launch_tensor(&launch, conv->w);
  mica__conv_push_weights(&launch, &phases);
  mica__launch_sizes(
      &launch, (pack_size_fields){.ROWS = p->rows, .PAST = past, .elements = count, .phases = phases.count}.values);
  mica__launch_buffer(&launch, weights, 0);
  mica__launch_buffer(&launch, table, 0);
  mica__launch_range1(&launch, count + 1 + past * phases.count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, 2 * (double)count * (double)mica_dtype_size(conv->dtype));
  return mica__queue_submit(queue, &launch);
}

MICA__FIELDS(gemm_size_fields, GPU_GEMM_SIZE);
static mica_status multiply(mica_queue *queue, const mica__conv *conv, products *p, mica_buffer *weights,
                            mica_buffer *table) {
  const mica__conv_phase *w = &p->phases.list[0];
  mica__launch launch;
  bool flat = true;
  for (int i = 0; i < 3; i++) flat = flat && w->out_stride[i] == 1 && w->out[i] == w->full[i];
  MICA_TRY(mica__epilogue_begin(queue, &mica__conv_gpu_implicit_gemm_kernel, p->values, &conv->epilogue, &launch));
  mica__conv_push_phases(&launch, &p->phases);
  mica__launch_sizes(&launch, (gemm_size_fields){.ROWS = p->rows, .FLAT = flat, .ALONE = p->alone}.values);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, weights, 0);
  mica__launch_buffer(&launch, table, 0);
  mica__launch_range1(&launch, p->groups * (int64_t)p->tile.threads, p->tile.threads);
  mica__epilogue_push(&launch, &conv->epilogue);
  mica__conv_cost(&launch, conv, mica__conv_phases_share(conv, &p->phases));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_products(mica_queue *queue, const mica__conv *conv, products *p) {
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_buffer *weights = NULL, *table = NULL;
  const size_t count = (size_t)(p->phases.list[0].groups * p->rows * p->depth) + 1;
  const size_t entries = (size_t)(p->depth + 2 * p->tile.k * p->phases.count);
  mica_status status = mica__workspace_create(packer, count * mica_dtype_size(conv->dtype), &weights);
  if (status == MICA_OK) status = mica__workspace_create(packer, entries * ENTRY_BYTES, &table);
  if (status == MICA_OK) status = pack(packer, conv, p, weights, table);
  if (status == MICA_OK) status = multiply(queue, conv, p, weights, table);
  mica_buffer_destroy(weights);
  mica_buffer_destroy(table);
  return status;
}

/* The most pixels that a work-group finishes for each of its columns if a phase is alone (is_alone), so that an int can
 * count them. */
#define MOST_PHASES 4096

/* True if only the first of several phases has taps, as with a filter of one element, and if the strides multiply to at
 * most MOST_PHASES. The pixels of that phase and those between them are then the whole result. */
static bool is_alone(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const int64_t count = mica__conv_phase_count(conv);
  bool alone = count > 1 && mica__product3(conv->dims.stride) <= MOST_PHASES;
  for (int64_t i = 0; alone && i < count; i++) {
    const mica__conv_phase w = mica__conv_phase_used(mica__conv_phase_at(conv, i));
    alone = (mica__product3(w.taps) > 0) == (i == 0);
  }
  return alone;
}

static mica_status launch_phases(mica_queue *queue, const mica__task *task) {
  mica_status status = MICA_OK;
  const bool alone = is_alone(task);
  const int64_t count = mica__conv_phase_count(task->problem);
  for (int64_t i = 0; status == MICA_OK && i < count && !(alone && i > 0);) {
    mica__conv_phases phases = mica__conv_phases_at(task->problem, &i);
    if (phases.count == 0) continue;
    if (alone) phases.count = 1;
    products p = products_of(task, &phases);
    p.alone = alone;
    status = launch_products(queue, task->problem, &p);
  }
  return status;
}

const mica__impl mica__conv_gpu_implicit_gemm = {.name = "conv_gpu_implicit_gemm",
                                                 .kernel = &mica__conv_gpu_implicit_gemm_kernel,
                                                 .helper = &mica__conv_gpu_pack_weights_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .launch = launch_phases};
