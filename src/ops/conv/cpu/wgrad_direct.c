/* The weight gradient of filters that see few channels, on CPUs (cl/conv/cpu/wgrad_direct.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/wgrad.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES),
    MICA__INT("FILTERS", "of a register tile", 1, 2),
    MICA__INT("PAIRS", "of channel and tap, of a register tile", 6, 9),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.1x6", MICA__ON_CPU, MICA_F32, 1, 6),
    MICA__VECTOR_VARIANT("long.2x9", MICA__LONG_VECTOR, MICA_F32, 2, 9),
};
const mica__kernel_desc mica__conv_cpu_wgrad_direct_kernel = {
    MICA__KERNEL("conv_cpu_wgrad_direct", "conv/cpu/wgrad_direct.cl", params, variants)};

#define VW 16
/* Floats of a work-item's input tiles, and of one at most: a half of a second level cache. */
#define ROOM (32 << 10)
#define BAND (8 << 10)
#define MOST_SLOTS 8
/* Parts that a problem is cut into where it has strips enough: their number depends on sizes alone. */
#define PARTS 32
/* With more channels and taps panels of filters cost less: here each tile reads dY again and adds its lanes. A single
 * filter fills half of a tile. */
#define MOST_CHANNELS 4
#define MOST_TAPS 80
#define FEWEST_FILTERS 2
#define MOST_PAIRS 4096

/* How the work is cut; see the kernel's contract. */
typedef struct plan {
  const mica__variant *variant;
  int64_t pairs; /* of a tile */
  int64_t rows, bands, slots, lines, pitch, parts;
} plan;

static int64_t pairs_of(const mica__conv_dims *d) { return d->c * mica__product3(d->filter); }
static int64_t copy_floats(const mica__conv_dims *d, const plan *p) {
  return d->c * p->lines * d->stride[2] * p->pitch;
}

static void set_rows(const mica__conv_dims *d, int64_t rows, plan *p) {
  p->rows = rows;
  p->lines = (rows - 1) * d->stride[1] + (d->filter[1] - 1) * d->dilation[1] + 1;
}

static plan make_plan(const mica__conv_dims *d, const mica__variant *variant) {
  plan p = {.variant = variant, .slots = 1};
  p.pairs = mica__kernel_value(&mica__conv_cpu_wgrad_direct_kernel, variant->values, "PAIRS");
  p.pitch = mica__ceil_div(d->out[2] + (d->filter[2] - 1) * d->dilation[2] / d->stride[2], VW) * VW;
  int64_t bands = mica__min(d->out[1], mica__ceil_div(PARTS, mica__max(1, d->n)));
  do set_rows(d, mica__ceil_div(d->out[1], bands++), &p);
  while (copy_floats(d, &p) > BAND && p.rows > 1);
  p.bands = mica__ceil_div(d->out[1], p.rows);
  p.parts = mica__max(1, mica__min(PARTS, d->n * p.bands));
  p.slots = mica__min(MOST_SLOTS, mica__ceil_div(d->n * p.bands, p.parts));
  p.slots = mica__max(1, mica__min(p.slots, ROOM / copy_floats(d, &p)));
  return p;
}

static size_t scratch_bytes(const mica__conv_dims *d, const plan *p) {
  return (size_t)(p->slots * copy_floats(d, p)) * sizeof(float) + (size_t)(pairs_of(d) + p->pairs) * sizeof(int32_t);
}

static mica__conv_sums sums_of(const mica__conv_dims *d, const plan *p) {
  return (mica__conv_sums){.panel = MICA__PANEL_Y_TAPS,
                           .mr = (int32_t)p->pairs,
                           .nv = 1,
                           .parts = p->parts,
                           .taps = {d->filter[0], d->filter[1], d->filter[2]}};
}

static const mica__variant *own_variant(const mica_device_info *device) {
  return mica__kernel_suited(&mica__conv_cpu_wgrad_direct_kernel, device->vector_bytes);
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "there are three dimensions";
  if (d->out[2] < VW) return "rows are short";
  if (pairs_of(d) > MOST_PAIRS) return "a filter is too large";
  plan p = make_plan(d, &variants[0]);
  return copy_floats(d, &p) > ROOM ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__conv_dims *d = &((const mica__conv *)problem)->dims;
  plan p = make_plan(d, own_variant(device));
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (d->c > MOST_CHANNELS) return "there are many channels";
  if (pairs_of(d) > MOST_TAPS) return "filters have many taps";
  if (d->k < FEWEST_FILTERS) return "there are few filters";
  return scratch_bytes(d, &p) > device->local_bytes ? "local memory does not take a row" : NULL;
}

static size_t partial_bytes(const mica__conv *conv, const plan *p) {
  mica__conv_sums sums = sums_of(&conv->dims, p);
  return (size_t)mica__conv_sums_count(conv, &sums) * sizeof(float);
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  plan p = make_plan(&((const mica__conv *)problem)->dims, own_variant(device));
  return partial_bytes(problem, &p);
}

static mica_status launch_sums(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *partial) {
  const mica__kernel_desc *desc = &mica__conv_cpu_wgrad_direct_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, p->variant, values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__conv_push_dims(&launch, &conv->dims);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)p->rows, (int32_t)p->bands, (int32_t)p->slots, (int32_t)p->lines,
                                          (int32_t)p->pitch});
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_local(&launch, scratch_bytes(&conv->dims, p));
  mica__launch_range3(&launch, (int64_t[]){p->parts, conv->dims.groups, 1}, (size_t[]){1, 1, 1});
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_filter_direct(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  plan p = make_plan(&conv->dims, variant ? variant : own_variant(device));
  mica__conv_sums sums = sums_of(&conv->dims, &p);
  mica_buffer *partial = NULL;
  MICA_TRY(mica__workspace_create(queue, partial_bytes(conv, &p), &partial));
  mica_status status = launch_sums(queue, conv, &p, partial);
  if (status == MICA_OK) status = mica__conv_wgrad_reduce(queue, conv, &sums, partial);
  mica_buffer_destroy(partial);
  return status;
}

const mica__impl mica__conv_cpu_wgrad_direct = {.name = "conv_cpu_wgrad_direct",
                                                .kernel = &mica__conv_cpu_wgrad_direct_kernel,
                                                .unable = unable,
                                                .decline = decline,
                                                .workspace = workspace,
                                                .launch = launch_filter_direct};
