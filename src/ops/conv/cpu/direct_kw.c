/* Direct convolution on CPUs, vectorised over the filters, for results of many pixels (cl/conv/cpu/direct_kw.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/cpu/pack_weights.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"

#include <math.h>

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("SEG", "pixels of a segment; a register tile has two", 7, 8, 3),
    MICA__INT("NV", "vectors of filters of a register tile", 1, 2),
};
/* A register tile has 2 SEG NV vectors of 16 sums. With AVX-512, 28 vectors of sums, two of weights and a pixel take 31
 * of the 32 registers. An AVX2 register holds half a vector: 12 halves of sums, two halves of weights and a pixel take
 * 15 of the 16 registers. */
static const mica__variant variants[] = {MICA__VECTOR_VARIANT("cpu.14x32", MICA__LONG_VECTOR, MICA__CONV_VALUES, 7, 2),
                                         MICA__VARIANT("cpu.6x16", MICA__ON_CPU, MICA__CONV_VALUES, 3, 1)};
const mica__kernel_desc mica__conv_cpu_direct_kw_kernel = {
    MICA__KERNEL("conv_cpu_direct_kw", "conv/cpu/direct_kw.cl", params, variants)};

#define VW 16
#define MOST_TAPS 64
/* The most pixels for a filter of one tap without stride. With more pixels, matrix products (conv_gemm) are faster:
 * they take 0.75 to 0.95 of this kernel's time for ResNet-50's 28 x 28 and 56 x 56, and 0.6 for SqueezeNet's 55 x 55.
 * With fewer pixels they are slower: they take 1.3 times as long for 14 x 14, and 1 to 1.25 times for 13 x 13. */
#define MOST_OF_PRODUCT 512
/* The packed floats of a tile's pixels in one channel, for a filter of one tap. */
#define TILE_PITCH(seg) ((seg) > 4 ? 16 : 8)
/* The most pixels of a strip, unless a row has more: the sums of so many for a panel of 32 filters take half of a
 * first-level cache of 48 KiB. */
#define STRIP 196
/* MOST_PARTS: the filters are divided into at most so many parts. MOST_STRIPS: the largest number of strips that is
 * tried; strips that do not fit the caches are divided further. GAIN: a larger number of parts or strips must save at
 * least this share of the time. GROUP_WORK: the fewest multiply-adds of vectors per work-group if filters are divided,
 * because waking a sleeping core takes some 20 us. */
#define MOST_PARTS 64
#define MOST_STRIPS 8
#define GAIN 0.02
#define GROUP_WORK (1 << 15)

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  mica__conv_phase phase;
  const mica__variant *variant;
  int64_t seg, nv;
  bool one_tap;
  int64_t rows, segments, panels, pitch, phases, row_step, row_delta, channel;
  int64_t strips, pixels; /* pixels of a strip */
} plan;
MICA__TASK_PLAN(plan)

static int32_t value(const mica__variant *variant, const char *macro) {
  return mica__kernel_value(&mica__conv_cpu_direct_kw_kernel, variant->values, macro);
}

/* The number of source elements from the first to the last that `pixels` adjacent pixels read. */
static int64_t reach(const mica__conv_phase *w, int i, int64_t pixels) {
  return (pixels - 1) * w->step[i] + (w->taps[i] - 1) * w->delta[i] + 1;
}

static bool reads_padding(const mica__conv_phase *w, int i) {
  return w->first[i] < 0 || w->first[i] + reach(w, i, w->out[i]) > w->in[i];
}

static int64_t packed_floats(const plan *p) { return p->phase.c * p->channel + VW; }

static size_t scratch_bytes(const plan *p) {
  return (size_t)(packed_floats(p) + p->nv * VW * (p->pixels + 8 - p->seg + VW)) * sizeof(float);
}

/* Plans how the source of one channel and one strip is packed: by tiles of two segments if one_tap, else by rows. */
static void plan_packing(plan *p) {
  const mica__conv_phase *w = &p->phase;
  const bool sparse = w->taps[2] == 1 && !reads_padding(w, 2); /* one tap: only elements that are read */
  p->phases = sparse ? 1 : w->step[2];
  p->pitch = sparse ? w->out[2] : mica__ceil_div(reach(w, 2, w->out[2]), w->step[2]);
  p->row_step = w->taps[1] > 1 ? w->step[1] : 1;
  p->row_delta = w->taps[1] > 1 ? w->delta[1] : 0;
  if (p->one_tap) {
    p->phases = 0;
    p->channel = mica__ceil_div(p->segments, 2) * TILE_PITCH(p->seg);
  } else {
    p->channel = ((p->rows - 1) * p->row_step + (w->taps[1] - 1) * p->row_delta + 1) * p->phases * p->pitch;
  }
}

/* Chooses the longest strips for which the source of all channels fits half of a second-level cache. A strip has at
 * most 1 / least of the rows, rounded up, and at most STRIP pixels if it has several rows. If the result has one row,
 * it is cut into segments instead. Sets p->rows to 0 if a strip of one row (or segment) does not fit. */
static void choose_strips(const mica_device_info *device, int64_t least, plan *p) {
  const mica__conv_phase *w = &p->phase;
  const int64_t room = mica__core_model_of(device)->l2_floats / 2, a_row = mica__ceil_div(w->out[2], p->seg);
  const bool flat = w->out[1] == 1;
  const int64_t all = flat ? a_row : w->out[1];
  int64_t most = flat ? STRIP / p->seg : mica__max(1, mica__min(w->out[1], STRIP / mica__max(1, w->out[2])));
  most = mica__max(1, mica__min(most, mica__ceil_div(all, least)));
  do {
    p->strips = mica__ceil_div(all, most);
    most = mica__max(1, mica__ceil_div(all, mica__max(1, p->strips)));
    p->rows = flat ? 1 : most;
    p->segments = flat ? most : most * a_row;
    plan_packing(p);
  } while (packed_floats(p) > room && --most > 0);
  if (most == 0) p->rows = 0;
  p->pixels = flat ? p->segments * p->seg : p->rows * w->out[2];
}

/* Costs in multiply-adds of a vector. PACKING: packing an element. WEIGHT: reading a weight for the first time in a
 * work-group. TILE: transposing and finishing the sums of a tile. */
#define PACKING 0.5
#define WEIGHT 0.2
#define TILE 400.0

/* Chooses the panels per work-group. The estimate assumes that the compute units take equal shares of the work-groups;
 * each work-group packs its strip for itself. Returns the estimated time, in multiply-adds of a vector. */
static double choose_panels(const mica_device_info *device, plan *p) {
  const mica__conv_phase *w = &p->phase;
  const int64_t strips = mica__max(1, p->strips * w->n * w->groups), panels = mica__ceil_div(w->k, p->nv * VW);
  const double depth = (double)(w->c * mica__product3(w->taps)), tiles = (double)mica__ceil_div(p->segments, 2);
  const double panel = tiles * (2 * depth * (double)(p->seg * p->nv) + TILE) + WEIGHT * depth * (double)(p->nv * VW);
  double least = INFINITY;
  for (int64_t parts = 1; parts <= mica__min(panels, MOST_PARTS); parts++) {
    const int64_t each = mica__ceil_div(panels, parts), groups = strips * mica__ceil_div(panels, each);
    const double group = (double)each * panel + PACKING * (double)packed_floats(p);
    const double time = (double)mica__ceil_div(groups, (int64_t)device->compute_units) * group;
    if (parts > 1 && (group < GROUP_WORK || time > (1 - GAIN) * least)) continue;
    least = time;
    p->panels = each;
  }
  return least;
}

static plan make_plan(const mica__conv *conv, const mica__variant *variant, const mica_device_info *device) {
  const mica__variant *suited = mica__kernel_suited(&mica__conv_cpu_direct_kw_kernel, device->vector_bytes);
  plan p = {.phase = mica__conv_phase_used(mica__conv_phase_at(conv, 0)), .variant = variant ? variant : suited};
  p.seg = value(p.variant, "SEG");
  p.nv = value(p.variant, "NV");
  p.one_tap = mica__product3(p.phase.taps) == 1 && !reads_padding(&p.phase, 1) && !reads_padding(&p.phase, 2);
  choose_strips(device, 1, &p);
  double least = choose_panels(device, &p);
  for (int64_t strips = 2; strips <= MOST_STRIPS; strips *= 2) {
    plan cut = p;
    choose_strips(device, strips, &cut);
    const double time = choose_panels(device, &cut);
    if (cut.rows == 0 || time > (1 - GAIN) * least) continue;
    least = time;
    p = cut;
  }
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (conv->pass != MICA__CONV_FWD) return "it computes the forward pass only";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  if (mica__product3(d->filter) > MOST_TAPS) return "a filter is too large";
  const mica_device_info any = {.vector_bytes = MICA__LONG_VECTOR, .compute_units = 1};
  const plan p = make_plan(conv, &variants[0], &any);
  if (p.phase.out[2] < p.seg) return "rows of the result have too few pixels";
  const size_t room = (size_t)mica__core_model_of(&any)->l2_floats * sizeof(float);
  return p.rows == 0 || scratch_bytes(&p) > room ? "a row of an image is too long" : NULL;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->variant, task->device)); }

/* True if winograd_fused takes the problem: on large images its fewer products pay. */
static bool is_filtered_minimally(const mica__task *task) {
  mica__task filtering = {.problem = task->problem, .device = task->device};
  if (mica__winograd_fused.unable(task->problem)) return false;
  mica__winograd_fused.plan(&filtering);
  return !mica__winograd_fused.decline(&filtering);
}

/* With vectors shorter than AVX-512's, a tile has 6 pixels here, but 16 in products and implicit GEMM. This kernel is
 * then faster only in these cases:
 *
 * - several taps and few filters over small planes: 1.0 to 1.7 times as fast;
 * - several taps and filters larger than a second-level cache: 1.06 to 1.5;
 * - one tap, long sums, and planes that are at least a fifth empty when rounded up to a multiple of 16 pixels, such as
 *   7 x 7: 1.1 to 1.3. */
#define SHORT_VECTOR 32
#define FEW_FILTERS 128
#define MOST_OF_FEW 784
#define MANY_WEIGHTS (1 << 21)
#define LONG_SUM 512
#define MOST_OF_LONG 64

static bool pays_in_short_vectors(const mica__conv_phase *w) {
  const int64_t pixels = w->out[1] * w->out[2], taps = mica__product3(w->taps);
  if (taps > 1) return (w->k <= FEW_FILTERS && pixels <= MOST_OF_FEW) || w->c * w->k * taps >= MANY_WEIGHTS;
  return w->c >= LONG_SUM && pixels <= MOST_OF_LONG && 4 * mica__ceil_div(pixels, VW) * VW >= 5 * pixels;
}

static const char *decline(const mica__task *task) {
  const plan *p = plan_of(task);
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (p->phase.out[2] < p->seg) return "rows of the result have too few pixels";
  if (p->phase.n > 1) return "there are too many images";
  if (p->phase.k < VW) return "there are too few filters";
  if (task->device->vector_bytes < SHORT_VECTOR) return "the processor's vectors are shorter than AVX2's 32 bytes";
  if (task->device->vector_bytes < MICA__LONG_VECTOR && !pays_in_short_vectors(&p->phase))
    return "with vectors shorter than AVX-512's, a matrix product is as fast";
  if (p->one_tap && p->phase.out[1] == 1 && p->phase.out[2] > MOST_OF_PRODUCT)
    return "it amounts to a matrix product with enough columns";
  if (is_filtered_minimally(task)) return "Winograd's minimal filtering needs fewer multiplications";
  return scratch_bytes(p) > task->device->local_bytes ? "a strip of rows does not fit in local memory" : NULL;
}

MICA__FIELDS(blocking_fields, DIRECT_KW_BLOCKING);
static mica_status launch_strips(mica_queue *queue, const mica__task *task, mica_buffer *packed) {
  const mica__kernel_desc *desc = &mica__conv_cpu_direct_kw_kernel;
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  const mica__conv_phase *w = &p->phase;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, p->variant, values);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_phase(&launch, w);
  const blocking_fields b = {.ROWS = p->rows,
                             .SEGMENTS = p->segments,
                             .PANELS = p->panels,
                             .PITCH = p->pitch,
                             .PHASES2 = p->phases,
                             .ROW_STEP = p->row_step,
                             .ROW_DELTA = p->row_delta,
                             .CHANNEL = p->channel};
  mica__launch_sizes(&launch, b.values);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch_bytes(p));
  const int64_t groups[] = {p->strips, mica__ceil_div(mica__ceil_div(w->k, VW), p->nv * p->panels), w->n * w->groups};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch(mica_queue *queue, const mica__task *task) {
  return mica__conv_cpu_launch_packed(queue, task, &plan_of(task)->phase, VW, launch_strips);
}

const mica__impl mica__conv_cpu_direct_kw = {.name = "conv_cpu_direct_kw",
                                             .kernel = &mica__conv_cpu_direct_kw_kernel,
                                             .helper = &mica__conv_cpu_pack_weights_kernel,
                                             .unable = unable,
                                             .plan = plan_task,
                                             .decline = decline,
                                             .launch = launch};
