/* The weight gradient on CPUs, in register tiles (cl/conv/cpu/wgrad_implicit_gemm.cl): problems of any type but f64
 * whose sizes fit ints and whose rows fit local memory. */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/wgrad.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"

#include <string.h>

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES),
    MICA__INT("PANEL", "packed: 1 x, 2 y, 3 y while rows are pairs of channel and tap", 1, 2, 3),
    MICA__INT("MR", "rows of a register tile", 6, 8, 9),
    MICA__INT("NV", "vectors in a row of it", 1, 2, 3),
};
enum { D_T, PANEL, MR, NV };
#define LONG(label, ...) MICA__VECTOR_VARIANT(label, MICA__LONG_VECTOR, MICA_F32, __VA_ARGS__)
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.x16", MICA__ON_CPU, MICA_F32, MICA__PANEL_X, 6, 1),
    MICA__VARIANT("cpu.y16", MICA__ON_CPU, MICA_F32, MICA__PANEL_Y, 6, 1),
    MICA__VARIANT("cpu.taps16", MICA__ON_CPU, MICA_F32, MICA__PANEL_Y_TAPS, 6, 1),
    LONG("long.x16", MICA__PANEL_X, 8, 1),
    LONG("long.x32", MICA__PANEL_X, 8, 2),
    LONG("long.x48", MICA__PANEL_X, 8, 3),
    LONG("long.y16", MICA__PANEL_Y, 8, 1),
    LONG("long.y32", MICA__PANEL_Y, 8, 2),
    LONG("long.y48", MICA__PANEL_Y, 8, 3),
    LONG("long.taps16", MICA__PANEL_Y_TAPS, 9, 1),
    LONG("long.taps32", MICA__PANEL_Y_TAPS, 9, 2),
};
#define VARIANTS (sizeof variants / sizeof *variants)
const mica__kernel_desc mica__conv_cpu_wgrad_implicit_gemm_kernel = {
    MICA__KERNEL("conv_cpu_wgrad_implicit_gemm", "conv/cpu/wgrad_implicit_gemm.cl", params, variants)};

#define VW 16
/* Pixels of a chunk. With two vectors of channels per pixel, a chunk fills the first-level cache: 256 pixels for 32
 * KiB. */
static int64_t chunk_of(const mica__core_model *core) { return core->l1_floats / (2 * VW); }
/* Pixels are divided until there are about this many work-groups. There are more if panels and blocks alone give more.
 * The number is a constant, not derived from the compute units, so all devices cut a problem in about the same way. */
#define GROUPS 32
/* Packing a vector takes about as long as multiplying it with this many rows of a tile. */
#define PACK_ROWS 7.0
/* A block has at least BLOCK_TILES tiles times taps, so that packing for it costs little. It has about BLOCK_ROWS rows,
 * so that a chunk of pixels of these rows fits the second-level cache beside the sums, which take a quarter of it. */
#define BLOCK_TILES 32
#define BLOCK_ROWS 256
/* Local memory takes at most 1 / SCRATCH_PART of the second-level cache, a copy of x 1 / COPY_PART of it. */
#define SCRATCH_PART 2
#define COPY_PART 8

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  const mica__variant *variant;
  int64_t nr, mr, panels, tiles, taps; /* taps: each has its own tiles */
  int64_t slices, rows, columns;
  int64_t blocks, share, parts;      /* blocks of tiles, panels of a work-group, parts of the pixels */
  int64_t copy_at, list_at, scratch; /* in floats */
} plan;

/* The problem without the taps that read only padding (their gradient is zero); at least one tap stays. first: the
 * first tap that is left in each dimension. whole: no tap was removed. */
typedef struct trimmed_problem {
  mica__conv_dims dims;
  int64_t first[3], all; /* all: taps of the filter before any were removed */
  bool whole;
  const mica__core_model *core;
} trimmed_problem;

/* Chooses chunks of about equal size: whole images if several fit, else rows of one image, or a part of a row. */
static void choose_chunk(const trimmed_problem *u, plan *p) {
  const mica__conv_dims *d = &u->dims;
  int64_t chunk = chunk_of(u->core);
  p->columns = mica__max(1, d->out[2]);
  if (p->variant->values[PANEL] == MICA__PANEL_Y && d->out[2] > 2 * chunk)
    p->columns = mica__ceil_div(d->out[2], mica__ceil_div(d->out[2], chunk));
  int64_t pixels = d->out[1] * d->out[2], slices = d->n * d->out[0];
  p->slices = mica__max(1, mica__min(slices, pixels > 0 ? chunk / pixels : 1));
  p->slices = mica__max(1, mica__ceil_div(slices, mica__max(1, mica__ceil_div(slices, p->slices))));
  int64_t rows = p->slices > 1 ? d->out[1] : mica__min(d->out[1], mica__ceil_div(chunk, mica__max(1, d->out[2])));
  p->rows = mica__max(1, rows > 0 ? mica__ceil_div(d->out[1], mica__ceil_div(d->out[1], rows)) : 1);
}

static void choose_scratch(const mica__conv_dims *d, int32_t panel, plan *p) {
  int64_t high = (p->rows - 1) * d->stride[1] + (d->filter[1] - 1) * d->dilation[1] + 1;
  int64_t wide = (d->out[2] - 1) * d->stride[2] + (d->filter[2] - 1) * d->dilation[2] + 1;
  int64_t pixels = p->slices * p->rows * p->columns;
  bool compact = d->filter[1] * d->filter[2] == 1 && d->stride[1] * d->stride[2] > 1;
  p->copy_at = (panel == MICA__PANEL_X && !compact ? p->slices * mica__min(high, d->in[1]) * d->in[2] : pixels) * p->nr;
  /* Room for 8 more pixels: pixels are packed 8 at a time, even if fewer are left. */
  if (panel == MICA__PANEL_X && compact) p->copy_at += 8 * p->nr;
  p->list_at = p->copy_at + (panel == MICA__PANEL_Y_TAPS ? p->slices * d->c * high * wide : 0);
  p->scratch = p->list_at + 2 * (pixels + VW);
}

/* The number of elements that one panel reads of the operand that is not packed. */
static double row_elements(const mica__conv_dims *d, const plan *p) {
  const int64_t *extent = p->variant->values[PANEL] == MICA__PANEL_X ? d->out : d->in;
  return (double)d->n * (double)mica__product3(extent) * (double)(p->tiles * p->mr);
}

/* Cuts the work into work-groups. The more panels a work-group takes, the less often the operand that is not packed is
 * read from memory. If that leaves too few work-groups, the pixels are divided too, and partial sums are written and
 * added. */
static void choose_groups(const trimmed_problem *u, plan *p) {
  const mica__conv_dims *d = &u->dims;
  int64_t chunks = mica__ceil_div(d->n * d->out[0], p->slices) * mica__ceil_div(d->out[1], p->rows) *
                   mica__ceil_div(d->out[2], p->columns);
  int64_t wanted = mica__ceil_div(GROUPS, mica__max(1, d->groups));
  p->blocks = mica__max(1, mica__min(mica__ceil_div(p->tiles * p->mr, BLOCK_ROWS), p->tiles * p->taps / BLOCK_TILES));
  double least_moved = 0, sums = (double)(p->panels * p->tiles * p->taps * p->mr * p->nr);
  for (int64_t share = 1; share <= mica__max(1, p->panels); share++) {
    int64_t groups = mica__max(1, mica__ceil_div(p->panels, share)) * p->blocks;
    if (share > 1 && share * mica__ceil_div(p->tiles, p->blocks) * p->taps * p->mr * p->nr > u->core->l2_floats / 4)
      break;
    int64_t parts = mica__max(1, mica__min(chunks, (wanted + groups / 2) / groups));
    parts = mica__max(1, mica__ceil_div(chunks, mica__max(1, mica__ceil_div(chunks, parts))));
    double moved = row_elements(d, p) * (double)mica__ceil_div(p->panels, share) + 3 * sums * (double)parts;
    if (share > 1 && moved >= least_moved) continue;
    least_moved = moved;
    p->share = share;
    p->parts = parts;
  }
}

static plan blocking_of(const trimmed_problem *u, const mica__variant *variant) {
  const mica__conv_dims *d = &u->dims;
  plan p = {.variant = variant, .mr = variant->values[MR], .nr = variant->values[NV] * VW};
  int32_t panel = variant->values[PANEL];
  bool taps_in_rows = panel == MICA__PANEL_Y_TAPS;
  p.taps = taps_in_rows ? 1 : mica__product3(d->filter);
  p.panels = mica__ceil_div(panel == MICA__PANEL_X ? d->c : d->k, p.nr);
  p.tiles = mica__ceil_div(panel == MICA__PANEL_X ? d->k
                           : taps_in_rows         ? d->c * mica__product3(d->filter)
                                                  : d->c,
                           p.mr);
  choose_chunk(u, &p);
  choose_scratch(d, panel, &p);
  choose_groups(u, &p);
  return p;
}

static trimmed_problem trim(const mica__conv *conv, const mica_device_info *device) {
  trimmed_problem u = {.dims = conv->dims, .core = mica__core_model_of(device)};
  mica__conv_dims *d = &u.dims;
  for (int i = 0; i < 3; i++) {
    u.first[i] = mica__conv_drop_idle(d->in[i], d->out[i], d->stride[i], -d->pad[i], d->dilation[i], &d->filter[i]);
    d->pad[i] -= u.first[i] * d->dilation[i];
    if (d->filter[i] == 0) d->filter[i] = 1;
  }
  u.all = mica__product3(conv->dims.filter);
  u.whole = mica__product3(d->filter) == u.all;
  return u;
}

/* NULL if this variant can compute the problem with `room` floats of local memory; else why not. */
static const char *unable_with(const trimmed_problem *u, const mica__variant *variant, int64_t room) {
  const mica__conv_dims *d = &u->dims;
  bool flat = d->in[0] == 1 && d->filter[0] == 1 && d->out[0] == 1;
  bool taps_in_rows = variant->values[PANEL] == MICA__PANEL_Y_TAPS;
  if (taps_in_rows && !u->whole) return "some elements of the filter see only padding";
  if (taps_in_rows && !flat) return "the images have three dimensions";
  plan p = blocking_of(u, variant);
  double images = (double)(p.slices / mica__max(1, d->out[0]) + 1);
  double x = (double)(d->groups * d->c) * (double)mica__product3(d->in);
  double y = (double)(d->groups * d->k) * (double)mica__product3(d->out);
  if (images * x > INT32_MAX || images * y > INT32_MAX) return "an image is too large";
  if (p.list_at - p.copy_at > u->core->l2_floats / COPY_PART) return "a row of all channels is too long";
  if (mica__conv_reduce_floats(taps_in_rows ? 1 : u->all, p.mr, p.nr) > room) return "the filter is too large";
  return p.scratch > room ? "a row of an image is too long" : NULL;
}

/* The cost in multiply-adds of vectors, including those in padded tiles and the equivalent of packing. */
static double cost_of(const trimmed_problem *u, const mica__variant *variant) {
  const mica__conv_dims *d = &u->dims;
  plan p = blocking_of(u, variant);
  int32_t panel = variant->values[PANEL];
  double inputs = (double)mica__product3(d->in), outputs = (double)mica__product3(d->out);
  bool strided = mica__product3(d->stride) > 1, compact = strided && mica__product3(d->filter) == 1;
  double vectors = (double)(p.panels * p.nr) / VW;
  double packed = panel == MICA__PANEL_X && !compact ? inputs : outputs;
  double rows = (double)(p.tiles * p.mr * p.taps);
  /* In a narrow panel few vectors share a broadcast; with a stride, elements of x between the used ones are read
   * too. */
  double narrow = p.nr == VW ? 1.1 : 1.0, apart = panel == MICA__PANEL_Y && strided ? 1.5 : 1.0;
  double pack = panel == MICA__PANEL_X && compact ? 2 * PACK_ROWS : PACK_ROWS;
  return vectors * (rows * outputs * narrow * apart + pack * (double)p.blocks * packed);
}

/* The cheapest variant for the device's vectors; NULL if none fits. */
static const mica__variant *choose_variant(const trimmed_problem *u, uint32_t vector_bytes, int64_t room) {
  const mica__variant *best = NULL;
  double least_cost = 0;
  for (size_t i = 0; i < VARIANTS; i++) {
    if (!mica__variant_suits_vectors(&variants[i], vector_bytes)) continue;
    if (unable_with(u, &variants[i], room)) continue;
    double cost = cost_of(u, &variants[i]);
    if (!best || cost < least_cost) {
      best = &variants[i];
      least_cost = cost;
    }
  }
  return best;
}

static int64_t room_of(const trimmed_problem *u, const mica_device_info *device) {
  return mica__min(u->core->l2_floats / SCRATCH_PART, (int64_t)(device->local_bytes / sizeof(float)));
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  /* Without pixels there is nothing to sum; another implementation writes the zeros. */
  if (conv->dims.n * mica__product3(conv->dims.out) == 0) return "there are no pixels";
  const mica_device_info any = {.vector_bytes = MICA__LONG_VECTOR};
  trimmed_problem u = trim(conv, &any);
  return choose_variant(&u, any.vector_bytes, u.core->l2_floats / SCRATCH_PART)
             ? NULL
             : "an image, or a row of one, is too large";
}

/* plan.variant is NULL if local memory is too small for every variant. */
typedef struct task_plan {
  trimmed_problem trimmed;
  plan plan;
} task_plan;
MICA__TASK_PLAN(task_plan)

static void plan_task(mica__task *task) {
  task_plan w = {.trimmed = trim(task->problem, task->device)};
  int64_t room = room_of(&w.trimmed, task->device);
  const mica__variant *variant = task->variant;
  if (!variant || unable_with(&w.trimmed, variant, room))
    variant = choose_variant(&w.trimmed, task->device->vector_bytes, room);
  if (variant) w.plan = blocking_of(&w.trimmed, variant);
  keep_plan(task, w);
}

static const char *decline(const mica__task *task) {
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  return plan_of(task)->plan.variant ? NULL : "a row does not fit in local memory";
}

MICA__FIELDS(blocking_fields, WGRAD_BLOCKING);
static mica_status launch_sums(mica_queue *queue, const mica__task *task, mica_buffer *partial) {
  const mica__conv *conv = task->problem;
  const trimmed_problem *u = &plan_of(task)->trimmed;
  const plan *p = &plan_of(task)->plan;
  const mica__conv_dims *d = &u->dims;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(&mica__conv_cpu_wgrad_implicit_gemm_kernel, p->variant, values);
  mica__kernel_set(&mica__conv_cpu_wgrad_implicit_gemm_kernel, values, "D_T", (int32_t)conv->dtype);
  MICA_TRY(
      mica__kernel_get(mica__queue_engine(queue), &mica__conv_cpu_wgrad_implicit_gemm_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  int64_t block = mica__ceil_div(p->tiles, p->blocks);
  mica__conv_push_dims(&launch, d);
  const blocking_fields b = {.BLOCK = block,
                             .PARTS = p->parts,
                             .slices = p->slices,
                             .rows = p->rows,
                             .copy_at = p->copy_at,
                             .lists_at = p->list_at,
                             .PANELS = p->share,
                             .columns = p->columns};
  mica__launch_sizes(&launch, b.values);
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_local(&launch, (size_t)p->scratch * sizeof(float));
  const int64_t groups[] = {d->groups * mica__ceil_div(p->panels, p->share), mica__ceil_div(p->tiles, block), p->parts};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const mica__task *task) {
  const trimmed_problem *u = &plan_of(task)->trimmed;
  const plan *p = &plan_of(task)->plan;
  if (!p->variant)
    return mica__fail(MICA_E_UNSUPPORTED, "conv_cpu_wgrad_implicit_gemm: a row does not fit in local memory");
  const int32_t *values = p->variant->values;
  mica__conv_sums sums = {.panel = values[PANEL], .mr = values[MR], .nv = values[NV], .parts = p->parts};
  memcpy(sums.first, u->first, sizeof sums.first);
  memcpy(sums.taps, u->dims.filter, sizeof sums.taps);
  return mica__conv_wgrad_run(queue, task, mica__conv_sums_count(task->problem, &sums), launch_sums, task->problem,
                              &sums);
}

const mica__impl mica__conv_cpu_wgrad_implicit_gemm = {.name = "conv_cpu_wgrad_implicit_gemm",
                                                       .kernel = &mica__conv_cpu_wgrad_implicit_gemm_kernel,
                                                       .unable = unable,
                                                       .decline = decline,
                                                       .plan = plan_task,
                                                       .launch = launch_wgrad};
