/* Winograd's gradient of filters on CPUs (cl/conv/winograd/wgrad.cl): how the work is cut, and when it pays. */
#include "ops/conv/wgrad.h"
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/winograd/winograd.h"
#include "runtime/core_model.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES),
    MICA__INT("MR", "filters of a register tile", 6, 8),
};
/* Sums of 8 filters by 32 channels take 16 of the 32 registers of AVX-512, sums of 6 by 16 take 12 of the 16 registers
 * of AVX2. */
static const mica__variant variants[] = {
    MICA__VECTOR_VARIANT("long", MICA__LONG_VECTOR, MICA_F32, 8),
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 6),
};
const mica__kernel_desc mica__winograd_wgrad_kernel = {
    MICA__KERNEL("winograd_wgrad", "conv/winograd/wgrad.cl", params, variants)};

/* Equal to the sizes in the kernel: results along an edge of a tile, points of a tile, lanes of a vector, channels
 * of a block, pixels of a run of tiles. */
enum { EDGE = 4, POINTS = 36, VW = 16, CB = 64, RUN_PIXELS = 64 };
/* The number of tiles in a block (16 with a second-level cache of 1 MiB): so few that their transforms and the sums
 * stay in that cache. */
static int64_t block_of(const mica_device_info *device) { return mica__core_model_of(device)->l2_floats / 16384; }
/* UNITS: a large enough problem is cut into about so many units of work, each with its own sums. FEWEST_BLOCKS: the
 * fewest blocks of tiles per unit, since transforming a unit's sums back takes as long as several tiles. */
#define UNITS 16
#define FEWEST_BLOCKS 2
/* With fewer channels or filters, register tiles are partly empty. TRANSFORMS: the time of a tile, with its
 * transforms, relative to that of its products alone. */
#define FEWEST_CHANNELS 32
#define FEWEST_FILTERS 16
#define TRANSFORMS 1.5

typedef struct plan {
  mica__winograd winograd;
  int32_t values[MICA__MAX_PARAMS];
  mica__conv_sums sums;
  int64_t kb, tb, walkers;
  int64_t sum_count, slot; /* floats of T; floats of a work-group's scratch */
} plan;
MICA__TASK_PLAN(plan)
MICA__FIELDS(blocking_fields, WINOGRAD_BLOCKING);

static plan make_plan(const mica__conv *conv, const mica__variant *variant, const mica_device_info *device) {
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *desc = &mica__winograd_wgrad_kernel;
  plan p = {.winograd = mica__winograd_of(conv), .sums = {.panel = MICA__PANEL_X}};
  mica__kernel_values(desc, variant ? variant : mica__kernel_suited(desc, device->vector_bytes), p.values);
  mica__kernel_set(desc, p.values, "D_T", (int32_t)conv->dtype);
  p.sums.mr = mica__kernel_value(desc, p.values, "MR");
  p.sums.nv = p.sums.mr == 8 ? 2 : 1;
  p.kb = p.sums.mr == 8 ? 64 : 96;
  for (int i = 0; i < 3; i++) p.sums.taps[i] = d->filter[i];
  int64_t tiles = mica__winograd_tiles(&p.winograd, EDGE), blocks = mica__ceil_div(tiles, block_of(device));
  int64_t pairs = mica__ceil_div(d->c, CB) * mica__ceil_div(d->k, p.kb);
  p.tb = mica__max(1, mica__ceil_div(tiles, mica__max(1, blocks)));
  p.sums.parts = mica__max(1, mica__min(mica__ceil_div(UNITS, pairs), blocks / FEWEST_BLOCKS));
  p.walkers = mica__min(pairs * p.sums.parts, 2 * (int64_t)device->compute_units);
  p.sum_count = mica__conv_sums_count(conv, &p.sums);
  p.slot = POINTS * (p.tb * (CB + p.kb) + 2 * VW + CB * p.kb) + (EDGE + 2) * (RUN_PIXELS + 18) * VW;
  return p;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->variant, task->device)); }

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (d->c < FEWEST_CHANNELS) return "there are too few channels";
  if (d->k < FEWEST_FILTERS) return "there are too few filters";
  double products = POINTS * (double)mica__winograd_tiles(&plan_of(task)->winograd, EDGE);
  double plain = 9 * (double)d->n * (double)mica__product3(d->out);
  return TRANSFORMS * products < plain ? NULL : "too many tiles are partly empty";
}

static mica_status launch_sums(mica_queue *queue, const mica__task *task, mica_buffer *workspace) {
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  const mica__winograd *w = &p->winograd;
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &mica__winograd_wgrad_kernel, p->values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__winograd_push_size(&launch, w);
  mica__launch_sizes(&launch,
                     (blocking_fields){.TOP = w->top, .LEFT = w->left, .TB = p->tb, .PARTS = p->sums.parts}.values);
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, workspace, 0);
  mica__launch_buffer(&launch, workspace, p->sum_count);
  mica__launch_range1(&launch, p->walkers, 1);
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_filter(mica_queue *queue, const mica__task *task) {
  const plan *p = plan_of(task);
  return mica__conv_wgrad_run(queue, task, p->sum_count + p->walkers * p->slot, launch_sums, task->problem, &p->sums);
}

static void magnitude(const void *problem, const mica__variant *variant, const double *a, const double *b,
                      const int64_t *at, int64_t count, double *out) {
  (void)variant;
  mica__winograd_filter_magnitude(problem, a, b, at, count, out);
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dims.n * mica__product3(conv->dims.out) == 0) return "there are no pixels"; /* so no work-groups */
  return mica__winograd_unable(problem);
}

const mica__impl mica__winograd_wgrad = {.name = "winograd_wgrad",
                                         .kernel = &mica__winograd_wgrad_kernel,
                                         .unable = unable,
                                         .decline = decline,
                                         .plan = plan_task,
                                         .launch = launch_filter,
                                         .magnitude = magnitude};
