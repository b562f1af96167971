/* Convolutions of bf16 on the matrix unit of Intel's CPUs, with images as columns (cl/conv/cpu/tiles_n.cl): forward and
 * backward data. */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/conv.h"
#include "ops/matmul/cpu/amx_operand.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA_BF16),
    MICA__TILES_PARAM,
    MICA__CASE("BACK", "1 backward to the data", 0, 1),
};
static const mica__variant variants[] = {MICA__TILES_VARIANTS(MICA_BF16, MICA_F32, MICA_F32, 2)};
const mica__kernel_desc mica__conv_cpu_tiles_n_kernel = {
    MICA__KERNEL("conv_cpu_tiles_n", "conv/cpu/tiles_n.cl", params, variants)};

static const mica__kernel_param filter_params[] = {MICA__CASE("BACK", "1 backward to the data", 0, 1)};
static const mica__variant filter_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 0)};
const mica__kernel_desc mica__conv_cpu_tiles_filters_kernel = {
    MICA__KERNEL("conv_cpu_tiles_filters", "conv/cpu/tiles_filters.cl", filter_params, filter_variants)};

#define SIDE MICA__TILES_SIDE
#define STRIP 16
#define PITCH (SIDE * SIDE + 16)
/* Channels per work-group of the kernel that packs filters. */
#define FILTER_CHANNELS 16
/* Work-groups per core. */
#define GROUPS 4
/* With fewer channels or filters tiles are mostly padding. */
#define FEWEST_CHANNELS 16
/* With more pixels in a plane, tiles of the pixels of a row are faster (ops/conv/cpu/tiles.c). */
#define MOST_PIXELS 1024

/* How the work is cut; the comment that opens the kernel's file explains it. from, to: the channels of the source
 * and of the result. */
typedef struct plan {
  mica__tiles_cut cut;
  bool back;
  int64_t from, to, source_pixels, pixels, images, all_panels, all_strips, panels, strips;
  int64_t first[3], taps[3]; /* only the filter's taps that read more than padding */
} plan;

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  const mica__conv_dims *d = &conv->dims;
  plan p = {.back = conv->pass == MICA__CONV_BWD_DATA};
  p.from = p.back ? d->k : d->c;
  p.to = p.back ? d->c : d->k;
  p.source_pixels = mica__product3(p.back ? d->out : d->in);
  p.pixels = mica__product3(p.back ? d->in : d->out);
  p.cut = mica__tiles_cut_of(p.from, 2);
  p.images = mica__ceil_div(d->n, SIDE);
  p.all_panels = mica__ceil_div(p.to, SIDE);
  p.all_strips = mica__max(1, mica__ceil_div(p.pixels, STRIP));
  for (int i = 1; i < 3; i++) {
    p.taps[i] = d->filter[i];
    p.first[i] = mica__conv_drop_idle(d->in[i], d->out[i], d->stride[i], -d->pad[i], d->dilation[i], &p.taps[i]);
  }
  int64_t wanted = mica__ceil_div(GROUPS * (int64_t)device->compute_units, mica__max(1, p.images));
  p.panels = mica__ceil_div(p.all_panels, mica__min(p.all_panels, wanted));
  wanted = mica__ceil_div(wanted, mica__ceil_div(p.all_panels, p.panels));
  p.strips = mica__ceil_div(p.all_strips, mica__min(p.all_strips, wanted));
  return p;
}

static size_t filter_bytes(const mica__conv_dims *d) {
  return (size_t)(FILTER_CHANNELS * mica__product3(d->filter) * SIDE) * sizeof(uint16_t);
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (d->c < FEWEST_CHANNELS || d->k < FEWEST_CHANNELS) return "there are too few channels or filters";
  if (4 * d->n < 3 * SIDE * mica__ceil_div(d->n, SIDE))
    return "the batch would leave over a quarter of the tiles empty";
  if (mica__max(mica__product3(d->in), mica__product3(d->out)) > MOST_PIXELS) return "planes are too large";
  if (mica__max(STRIP * PITCH * (int64_t)sizeof(float), (int64_t)filter_bytes(d)) > (int64_t)task->device->local_bytes)
    return "a strip of images or its filters do not fit in local memory";
  return mica__tiles_missing(task->device);
}

static mica_status pack_images(mica_queue *queue, const mica__conv *conv, const plan *p, mica_tensor **packed) {
  const mica__tiles_operand images = {.tensor = p->back ? conv->y : conv->x,
                                      .rows = !p->back,
                                      .per = 2,
                                      .batches = p->source_pixels,
                                      .batch = 1,
                                      .outer = conv->dims.n,
                                      .outer_step = p->from * p->source_pixels,
                                      .k = p->from,
                                      .k_step = p->source_pixels};
  return mica__tiles_pack(queue, &images, p->cut, packed);
}

MICA__FIELDS(size_fields, TILES_FILTERS_SIZE);
MICA__FIELDS(used_fields, TILES_FILTERS_USED);
static mica_status pack_filters(mica_queue *queue, const mica__conv *conv, const plan *p, mica_tensor **packed) {
  const mica__kernel_desc *desc = &mica__conv_cpu_tiles_filters_kernel;
  const mica__conv_dims *d = &conv->dims;
  int64_t taps = mica__product3(d->filter), used = mica__max(1, p->taps[1] * p->taps[2]);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &filter_variants[0], values);
  mica__kernel_set(desc, values, "BACK", p->back);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  MICA_TRY(mica__workspace_tensor(queue, MICA_U32, MICA_SHAPE(used, p->all_panels, p->cut.steps, SIDE), packed));
  mica__launch launch = mica__launch_of(kernel);
  const size_fields s = {.KG = d->k, .CG = d->c, .taps = taps, .steps = p->cut.steps, .words = p->cut.words};
  const used_fields u = {
      .R2 = d->filter[2], .first1 = p->first[1], .taps1 = p->taps[1], .first2 = p->first[2], .taps2 = p->taps[2]};
  mica__launch_sizes(&launch, s.values);
  mica__launch_sizes(&launch, u.values);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_tensor(&launch, *packed);
  mica__launch_local(&launch, filter_bytes(d));
  const int64_t groups[] = {mica__ceil_div(d->c, FILTER_CHANNELS), mica__ceil_div(d->k, SIDE), 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(conv->w) + (double)mica_tensor_bytes(*packed));
  return mica__queue_submit(queue, &launch);
}

MICA__FIELDS(shape_fields, TILES_N_SHAPE);
static mica_status multiply(mica_queue *queue, const mica__conv *conv, const mica__variant *variant, const plan *p,
                            const mica_tensor *images, const mica_tensor *filters) {
  const mica__kernel_desc *desc = &mica__conv_cpu_tiles_n_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "BACK", p->back);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, &conv->dims);
  const shape_fields s = {.panels = p->panels,
                          .strips = p->strips,
                          .steps = p->cut.steps,
                          .words = p->cut.words,
                          .first1 = p->first[1],
                          .taps1 = p->taps[1],
                          .first2 = p->first[2],
                          .taps2 = p->taps[2]};
  mica__launch_sizes(&launch, s.values);
  mica__launch_tensor(&launch, images);
  mica__launch_tensor(&launch, filters);
  mica__launch_local(&launch, STRIP * PITCH * sizeof(float));
  const int64_t groups[] = {mica__ceil_div(p->all_strips, p->strips), mica__ceil_div(p->all_panels, p->panels),
                            p->images};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch_tiles(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__variant *variant = task->variant ? task->variant : &variants[0];
  plan p = make_plan(conv, task->device);
  mica_tensor *images = NULL, *filters = NULL;
  MICA_TRY(mica__tiles_check(task->device, &mica__conv_cpu_tiles_n_kernel, variant));
  mica_status status = pack_images(queue, conv, &p, &images);
  if (status == MICA_OK) status = pack_filters(mica__conv_packer(conv, queue), conv, &p, &filters);
  if (status == MICA_OK) status = multiply(queue, conv, variant, &p, images, filters);
  mica_tensor_destroy(images);
  mica_tensor_destroy(filters);
  return status;
}

const mica__impl mica__conv_cpu_tiles_n = {.name = "conv_cpu_tiles_n",
                                           .kernel = &mica__conv_cpu_tiles_n_kernel,
                                           .helper = &mica__conv_cpu_tiles_filters_kernel,
                                           .unable = mica__conv_tiles_unable,
                                           .decline = decline,
                                           .launch = launch_tiles};
