/* Forward convolutions of bf16 on the matrix unit of Intel's CPUs (cl/conv/cpu/tiles.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/conv.h"
#include "ops/matmul/cpu/amx_operand.h"
#include "runtime/fields.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA_BF16),
    MICA__TILES_PARAM,
};
static const mica__variant variants[] = {MICA__TILES_VARIANTS(MICA_BF16, MICA_F32, MICA_F32, 2)};
const mica__kernel_desc mica__conv_cpu_tiles_kernel = {
    MICA__KERNEL("conv_cpu_tiles", "conv/cpu/tiles.cl", params, variants)};

#define SIDE MICA__TILES_SIDE
#define SLACK 64
/* Work-groups per core. If filters are divided among them, each packs its input again. */
#define GROUPS 2
/* With fewer columns per work-group, tiles are half empty. */
#define FEWEST_COLUMNS 56
/* The most bytes of a work-group's pixels, unless a single row takes more: half of a second-level cache of 2 MB;
 * filters pass through the other half. */
#define MOST_BYTES (1 << 20)
/* With fewer channels or filters tiles are mostly padding. */
#define FEWEST_CHANNELS 16

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  int64_t rows, panels, all_panels, height, pitch, plane, phases[2];
  mica__tiles_cut cut;
  size_t scratch;
} plan;

/* The number of phases of the stride that are packed: one for a single tap, else all. */
static int64_t phases_of(const mica__conv_dims *d, int i) { return d->filter[i] == 1 ? 1 : d->stride[i]; }

static int64_t height_of(const mica__conv_dims *d, int64_t rows) {
  return rows + (d->filter[1] - 1) * d->dilation[1] / d->stride[1];
}

/* Words from one plane to the next. A plane has one word (two channels) of each pixel. The distance is an odd number of
 * cache lines, so that planes do not use the same cache set. */
static int64_t plane_of(const mica__conv_dims *d, int64_t rows, int64_t pitch) {
  int64_t words = mica__ceil_div(phases_of(d, 1) * phases_of(d, 2) * height_of(d, rows) * pitch, 16) * 16;
  return words % 32 ? words : words + 16;
}

static size_t scratch_of(const plan *p, const mica__conv_dims *d, int64_t rows) {
  return (size_t)(p->cut.steps * plane_of(d, rows, p->pitch) + SLACK) * sizeof(uint32_t);
}

/* True if work-groups should divide the filters. Each then packs a whole image, which must fit in `most` bytes.
 * Otherwise work-groups divide the image's rows, and each reads all filters. Packing an element costs three times as
 * much as reading one. So dividing the filters pays if they have more than three times the elements of an image and
 * there are fewer images than compute units. */
static bool parts_filters(const plan *p, const mica__conv_dims *d, const mica_device_info *device, size_t most) {
  double filters = (double)d->filter[1] * (double)d->filter[2] * (double)(p->all_panels * SIDE);
  double image = (double)(d->in[1] * d->in[2]);
  return d->n < (int64_t)device->compute_units && filters > 3 * image && scratch_of(p, d, d->out[1]) <= most;
}

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  const mica__conv_dims *d = &conv->dims;
  int64_t units = (int64_t)device->compute_units, wanted = GROUPS * units;
  plan p = {.cut = mica__tiles_cut_of(d->c, 2), .all_panels = mica__ceil_div(d->k, SIDE)};
  p.pitch = mica__max(1, d->out[2]) + (d->filter[2] - 1) * d->dilation[2] / d->stride[2];
  p.phases[0] = phases_of(d, 1);
  p.phases[1] = phases_of(d, 2);
  size_t most = device->local_bytes < MOST_BYTES ? (size_t)device->local_bytes : MOST_BYTES;
  p.rows = mica__max(mica__ceil_div(d->out[1], mica__ceil_div(wanted, mica__max(1, d->n))),
                     mica__ceil_div(FEWEST_COLUMNS, p.pitch));
  if (parts_filters(&p, d, device, most)) {
    p.rows = d->out[1];
    wanted = units;
  }
  p.rows = mica__max(1, mica__min(p.rows, d->out[1]));
  while (p.rows > 1 && scratch_of(&p, d, p.rows) > most) p.rows--;
  int64_t strips = mica__ceil_div(mica__max(1, d->out[1]), p.rows) * mica__max(1, d->n);
  p.panels = mica__ceil_div(p.all_panels, mica__min(p.all_panels, mica__ceil_div(wanted, strips)));
  p.height = height_of(d, p.rows);
  p.plane = plane_of(d, p.rows, p.pitch);
  p.scratch = scratch_of(&p, d, p.rows);
  return p;
}

const char *mica__conv_tiles_unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype != MICA_BF16) return "the type is not bf16, as AMX tiles need";
  if (d->groups > 1) return "the channels are in groups";
  return d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1 ? "the images have three dimensions" : NULL;
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (conv->dims.c < FEWEST_CHANNELS || conv->dims.k < FEWEST_CHANNELS) return "there are too few channels or filters";
  if (make_plan(conv, task->device).scratch > task->device->local_bytes) return "a row does not fit in local memory";
  return mica__tiles_missing(task->device);
}

static mica_status pack(mica_queue *queue, const mica__conv *conv, const plan *p, mica_tensor **packed) {
  const mica__conv_dims *d = &conv->dims;
  int64_t taps = d->filter[1] * d->filter[2];
  const mica__tiles_operand filters = {.tensor = conv->w,
                                       .rows = true,
                                       .per = 2,
                                       .batches = taps,
                                       .batch = 1,
                                       .outer = d->k,
                                       .outer_step = d->c * taps,
                                       .k = d->c,
                                       .k_step = taps};
  return mica__tiles_pack(queue, &filters, p->cut, packed);
}

MICA__FIELDS(shape_fields, TILES_SHAPE);
static mica_status multiply(mica_queue *queue, const mica__conv *conv, const mica__variant *variant, const plan *p,
                            const mica_tensor *packed) {
  const mica__kernel_desc *desc = &mica__conv_cpu_tiles_kernel;
  const mica__conv_dims *d = &conv->dims;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, variant, values);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, d);
  const shape_fields s = {.rows = p->rows,
                          .panels = p->panels,
                          .steps = p->cut.steps,
                          .words = p->cut.words,
                          .height = p->height,
                          .pitch = p->pitch,
                          .plane = p->plane,
                          .phases1 = p->phases[0]};
  mica__launch_sizes(&launch, s.values);
  mica__launch_size(&launch, p->phases[1]);
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, packed);
  mica__launch_local(&launch, p->scratch);
  const int64_t groups[] = {mica__ceil_div(d->out[1], p->rows), mica__ceil_div(p->all_panels, p->panels), d->n};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch_tiles(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__variant *variant = task->variant ? task->variant : &variants[0];
  plan p = make_plan(conv, task->device);
  mica_tensor *packed = NULL;
  MICA_TRY(mica__tiles_check(task->device, &mica__conv_cpu_tiles_kernel, variant));
  mica_status status = pack(mica__conv_packer(conv, queue), conv, &p, &packed);
  if (status == MICA_OK) status = multiply(queue, conv, variant, &p, packed);
  mica_tensor_destroy(packed);
  return status;
}

const mica__impl mica__conv_cpu_tiles = {.name = "conv_cpu_tiles",
                                         .kernel = &mica__conv_cpu_tiles_kernel,
                                         .unable = mica__conv_tiles_unable,
                                         .decline = decline,
                                         .launch = launch_tiles};
