/* Winograd's convolution on CPUs (cl/conv/winograd/fused.cl): how tiles are cut into blocks, and when it pays. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/winograd/winograd.h"
#include "runtime/core_model.h"
#include "runtime/workspace.h"

#include <string.h>

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("TILE", "results along an edge of a tile", 2, 4),
    MICA__INT("MR", "tiles of a register tile", 6, 8),
};
/* Sums of 8 tiles by 32 filters take 16 of the 32 registers of AVX-512, sums of 6 by 16 take 12 of the 16 registers of
 * AVX2. */
static const mica__variant variants[] = {
    MICA__VECTOR_VARIANT("long.4x4", MICA__LONG_VECTOR, MICA__CONV_VALUES, 4, 8),
    MICA__VECTOR_VARIANT("long.2x2", MICA__LONG_VECTOR, MICA__CONV_VALUES, 2, 8),
    MICA__VARIANT("cpu.4x4", MICA__ON_CPU, MICA__CONV_VALUES, 4, 6),
    MICA__VARIANT("cpu.2x2", MICA__ON_CPU, MICA__CONV_VALUES, 2, 6),
};
const mica__kernel_desc mica__winograd_fused_kernel = {
    MICA__KERNEL("winograd_fused", "conv/winograd/fused.cl", params, variants)};

static const mica__kernel_param pack_params[] = {
    MICA__DTYPE("D_T", "type of w", MICA__CONV_TYPES),
    MICA__CASE("TILE", "results along an edge of a tile", 2, 4),
};
static const mica__variant pack_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 4)};
const mica__kernel_desc mica__winograd_pack_weights_kernel = {
    MICA__KERNEL("winograd_pack_weights", "conv/winograd/pack_weights.cl", pack_params, pack_variants)};

/* Equal to the sizes in the kernel: lanes of a vector, filters of a panel, pixels of a run of tiles. */
enum { VW = 16, NR = 32, RUN_PIXELS = 64 };
/* The number of tiles in a block (32 with a second-level cache of 1 MiB): enough to use a transformed filter four
 * times while it is in a near cache, and few enough that, with 128 channels, the transforms and the sums of NR
 * filters stay in the second-level cache: 128 + 32 floats per tile and point. */
static int64_t block_of(const mica_device_info *device) { return mica__core_model_of(device)->l2_floats / 8192; }

/* With fewer channels, more than half of a vector of channels is empty (measured against conv_cpu_implicit_gemm). */
#define FEWEST_CHANNELS 8

static int64_t round_up(int64_t x, int64_t y) { return mica__ceil_div(x, y) * y; }

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  mica__winograd winograd;
  int32_t values[MICA__MAX_PARAMS];
  int64_t edge, points, mr, cp, panels, tb, kb, walkers, parts;
  int64_t filters, slot; /* floats of U; floats of a work-group's scratch */
} plan;
MICA__TASK_PLAN(plan)
MICA__FIELDS(weights_fields, WINOGRAD_WEIGHTS);
MICA__FIELDS(blocking_fields, WINOGRAD_BLOCKING);

/* The time to read a transformed filter from memory, as the number of tiles or results that could be multiplied with
 * the filter in that time. READING is for vectors of AVX2, READING_LONG for AVX-512. Measured on a Xeon with 256
 * filters over 14 x 14 and 512 over 7 x 7. */
#define READING 15
#define READING_LONG 30

static int64_t points_of(int64_t edge) { return (edge + 2) * (edge + 2); }

/* The time of all tiles if the filters are transformed once for all runs, in multiply-adds for each pair of a filter
 * and a channel. reading: READING or READING_LONG. */
static int64_t packed_time(const mica__winograd *winograd, int64_t edge, int64_t reading) {
  return points_of(edge) * (mica__winograd_tiles(winograd, edge) + reading);
}

/* Returns the edge of the tiles, 2 or 4, that take less time. It is the same on every device. */
static int32_t edge_of(const mica__conv *conv, const mica__winograd *winograd) {
  if (!conv->prologue) return mica__winograd_edge(winograd);
  return packed_time(winograd, 4, READING) < packed_time(winograd, 2, READING) ? 4 : 2;
}

/* True if Winograd's convolution takes less time than the plain sum. */
static bool pays(const mica__conv *conv, const mica__winograd *winograd, const mica_device_info *device) {
  if (!conv->prologue) return mica__winograd_pays(winograd);
  const int64_t reading = device->vector_bytes < MICA__LONG_VECTOR ? READING : READING_LONG;
  const int64_t results = winograd->phase.n * mica__product3(winograd->phase.out);
  return packed_time(winograd, edge_of(conv, winograd), reading) < 9 * (results + reading);
}

static plan make_plan(const mica__conv *conv, const mica__variant *variant, const mica_device_info *device) {
  plan p = {.winograd = mica__winograd_of(conv)};
  const mica__conv_phase *w = &p.winograd.phase;
  const mica__kernel_desc *desc = &mica__winograd_fused_kernel;
  mica__kernel_values(desc, variant ? variant : mica__kernel_suited(desc, device->vector_bytes), p.values);
  if (!variant) mica__kernel_set(desc, p.values, "TILE", edge_of(conv, &p.winograd));
  p.edge = mica__kernel_value(desc, p.values, "TILE");
  p.mr = mica__kernel_value(desc, p.values, "MR");
  p.points = points_of(p.edge);
  p.cp = round_up(w->c, VW);
  p.panels = mica__ceil_div(w->k, NR);
  int64_t tiles = mica__winograd_tiles(&p.winograd, p.edge), blocks = mica__ceil_div(tiles, block_of(device));
  int64_t wanted = 2 * (int64_t)device->compute_units;
  p.tb = round_up(mica__ceil_div(tiles, blocks), p.mr);
  p.walkers = mica__min(blocks, wanted);
  p.kb = mica__ceil_div(p.panels, mica__min(p.panels, mica__ceil_div(wanted, p.walkers)));
  p.parts = mica__ceil_div(p.panels, p.kb);
  p.filters = p.panels * p.points * p.cp * NR;
  p.slot = p.tb / p.mr * p.points * (p.mr * p.cp + VW) + p.tb * p.points * NR + (p.edge + 2) * (RUN_PIXELS + 18) * VW;
  return p;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->variant, task->device)); }

static const char *decline(const mica__task *task) {
  const mica__winograd *winograd = &plan_of(task)->winograd;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (winograd->phase.c < FEWEST_CHANNELS) return "there are too few channels";
  return pays(task->problem, winograd, task->device) ? NULL : "there are too few tiles for each filter";
}

static size_t filter_bytes(const plan *p) { return (size_t)p->filters * sizeof(float); }
static size_t scratch_bytes(const plan *p) { return (size_t)(p->walkers * p->parts * p->slot) * sizeof(float); }

static mica_status launch_pack(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *filters) {
  const mica__conv_phase *w = &p->winograd.phase;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(&mica__winograd_pack_weights_kernel, &pack_variants[0], values);
  mica__kernel_set(&mica__winograd_pack_weights_kernel, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(&mica__winograd_pack_weights_kernel, values, "TILE", (int32_t)p->edge);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &mica__winograd_pack_weights_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_sizes(&launch,
                     (weights_fields){.CG = w->c, .KG = w->k, .CP = p->cp, .FLIP = p->winograd.flipped}.values);
  mica__conv_push_strides(&launch, w, mica_tensor_count(conv->w));
  mica__launch_buffer(&launch, filters, 0);
  const int64_t groups[] = {p->panels, p->cp / VW, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, (double)p->filters * sizeof(float));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_tiles(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *filters,
                                mica_buffer *scratch) {
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  memcpy(values, p->values, sizeof values);
  MICA_TRY(mica__epilogue_begin(queue, &mica__winograd_fused_kernel, values, &conv->epilogue, &launch));
  const mica__winograd *w = &p->winograd;
  mica__winograd_push_size(&launch, w);
  mica__launch_sizes(
      &launch, (blocking_fields){.TOP = w->top, .LEFT = w->left, .TB = p->tb, .PANELS = p->kb, .CP = p->cp}.values);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, filters, 0);
  mica__launch_buffer(&launch, scratch, 0);
  const int64_t groups[] = {p->walkers, p->parts, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch_winograd(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_buffer *filters = NULL, *scratch = NULL;
  MICA_TRY(mica__workspace_create(packer, filter_bytes(p), &filters));
  mica_status status = mica__workspace_create(queue, scratch_bytes(p), &scratch);
  if (status == MICA_OK) status = launch_pack(packer, conv, p, filters);
  if (status == MICA_OK) status = launch_tiles(queue, conv, p, filters, scratch);
  mica_buffer_destroy(filters);
  mica_buffer_destroy(scratch);
  return status;
}

static void magnitude(const void *problem, const mica__variant *variant, const double *a, const double *b,
                      const int64_t *at, int64_t count, double *out) {
  mica__winograd winograd = mica__winograd_of(problem);
  int32_t edge =
      variant ? mica__kernel_value(&mica__winograd_fused_kernel, variant->values, "TILE") : edge_of(problem, &winograd);
  mica__winograd_magnitude(problem, edge, a, b, at, count, out);
}

const mica__impl mica__winograd_fused = {.name = "winograd_fused",
                                         .kernel = &mica__winograd_fused_kernel,
                                         .helper = &mica__winograd_pack_weights_kernel,
                                         .unable = mica__winograd_unable,
                                         .decline = decline,
                                         .plan = plan_task,
                                         .launch = launch_winograd,
                                         .magnitude = magnitude};
