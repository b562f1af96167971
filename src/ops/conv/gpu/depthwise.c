/* All three passes of convolutions whose groups have one source channel, on GPUs (cl/conv/gpu/depthwise.cl,
 * cl/conv/gpu/depthwise_wgrad.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/gpu/splits.h"
#include "ops/conv/phase.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

#define TAPS_PARAMS                                                                                                    \
  MICA__CASE("TAPS_H", "height of the filter", 1, 2, 3, 4, 5, 6, 7),                                                   \
      MICA__CASE("TAPS_W", "width of the filter", 1, 2, 3, 4, 5, 6, 7)
#define MOST_TAPS 7

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    TAPS_PARAMS,
    MICA__CASE("STRIDE", "of the source, in height; 0 read from the problem", 0, 1, 2),
    MICA__INT("ROWS", "pixels of a column that a work-item computes", 2, 4, 8),
};
static const mica__variant variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA__CONV_VALUES, 3, 3, 1, 4)};
const mica__kernel_desc mica__conv_gpu_depthwise_kernel = {
    MICA__KERNEL("conv_gpu_depthwise", "conv/gpu/depthwise.cl", params, variants)};

static const mica__kernel_param wgrad_params[] = {
    MICA__DTYPE("D_T", "type of x and y", MICA__CONV_TYPES),
    TAPS_PARAMS,
    MICA__INT("THREADS", "work-items of a group", 64, 128),
};
static const mica__variant wgrad_variants[] = {
    MICA__VARIANT("gpu.128", MICA__ON_GPU, MICA_F32, 3, 3, 128),
    MICA__VARIANT("gpu.64", MICA__ON_GPU, MICA_F32, 3, 3, 64),
};
static bool wgrad_has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__conv_gpu_depthwise_wgrad_kernel = {
    MICA__KERNEL("conv_gpu_depthwise_wgrad", "conv/gpu/depthwise_wgrad.cl", wgrad_params, wgrad_variants),
    .has_room = wgrad_has_room};

static bool wgrad_has_room(const int32_t *values, const mica_device_info *device) {
  int64_t threads = mica__kernel_value(&mica__conv_gpu_depthwise_wgrad_kernel, values, "THREADS");
  uint64_t local = (uint64_t)(MOST_TAPS * MOST_TAPS * (threads + 8)) * sizeof(float);
  return (uint64_t)threads <= device->max_group && local <= device->local_bytes;
}

/* The most pixels and work-items: ints count them, also after rounding up. */
#define MOST_POSITIONS (INT32_MAX - 65536)

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->c != 1 || (conv->pass == MICA__CONV_BWD_DATA && d->k != 1)) return "groups have several source channels";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->pad[0] != 0) return "the images have three dimensions";
  if (d->filter[1] > MOST_TAPS || d->filter[2] > MOST_TAPS) return "the filter is too large";
  double out = (double)(d->n * d->groups * d->k) * (double)mica__product3(d->out);
  double in = (double)(d->n * d->groups) * (double)mica__product3(d->in);
  return out > MOST_POSITIONS || in > MOST_POSITIONS ? "there are too many elements for positions in 32 bits" : NULL;
}

/* The most filters per channel. In this kernel each filter reads the channel again, while the tiles of a matrix product
 * read it once. */
#define MOST_FILTERS 4

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  return conv->dims.k > MOST_FILTERS ? "too many filters share a channel" : NULL;
}

/* Brings a phase into the kernel's form: its taps ascend, and there is at least one in each dimension. A phase
 * without taps gets one that reads only outside the source. */
static mica__conv_phase forwards(mica__conv_phase w) {
  for (int i = 1; i < 3; i++) {
    if (w.taps[i] == 0) {
      w.taps[i] = w.delta[i] = 1;
      w.first[i] = MOST_POSITIONS / 2;
    } else if (w.delta[i] < 0) {
      w.first[i] += (w.taps[i] - 1) * w.delta[i];
      w.w_at += (w.taps[i] - 1) * w.w_tap[i];
      w.w_tap[i] = -w.w_tap[i];
      w.delta[i] = -w.delta[i];
    }
  }
  return w;
}

static mica_status launch_phase(mica_queue *queue, const mica__task *task, const mica__conv_phase *w) {
  const mica__kernel_desc *desc = &mica__conv_gpu_depthwise_kernel;
  const mica__conv *conv = task->problem;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  bool near = (w->delta[1] == 1 || w->taps[1] == 1) && (w->delta[2] == 1 || w->taps[2] == 1) && w->step[1] <= 2;
  mica__kernel_values(desc, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(desc, values, "TAPS_H", (int32_t)w->taps[1]);
  mica__kernel_set(desc, values, "TAPS_W", (int32_t)w->taps[2]);
  mica__kernel_set(desc, values, "STRIDE", near ? (int32_t)w->step[1] : 0);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_phase(&launch, w);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_tensor(&launch, conv->w);
  mica__launch_long(&launch, w->w_at);
  mica__conv_push_strides(&launch, w, 0);
  int64_t strips = mica__ceil_div(w->out[1], mica__kernel_value(desc, values, "ROWS"));
  mica__launch_range1(&launch, w->out[2] * strips * w->groups * w->k * w->n, MICA__RANGE_GROUP);
  mica__epilogue_push(&launch, &conv->epilogue);
  double all = (double)(mica__product3(conv->dims.filter) * mica__product3(conv->dims.out));
  mica__conv_cost(&launch, conv, all > 0 ? (double)(w->taps[1] * w->taps[2] * w->out[1] * w->out[2]) / all : 0);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_phases(mica_queue *queue, const mica__task *task) {
  mica_status status = MICA_OK;
  for (int64_t i = 0; status == MICA_OK && i < mica__conv_phase_count(task->problem); i++) {
    mica__conv_phase w = forwards(mica__conv_phase_at(task->problem, i));
    if (w.n * mica__product3(w.out) > 0) status = launch_phase(queue, task, &w);
  }
  return status;
}

const mica__impl mica__conv_gpu_depthwise = {.name = "conv_gpu_depthwise",
                                             .kernel = &mica__conv_gpu_depthwise_kernel,
                                             .unable = unable,
                                             .decline = decline,
                                             .launch = launch_phases};

/* The pixels of a part: at least 16 per work-item, so that adding the parts costs little. If there are enough pixels,
 * the parts make about four work-groups for each compute unit, or one for each filter if these are more. */
static int64_t part_pixels(const mica__conv_dims *d, int64_t threads, const mica_device_info *device) {
  int64_t pixels = d->n * mica__product3(d->out), filters = d->groups * d->k;
  int64_t wanted = mica__ceil_div(4 * (int64_t)device->compute_units, filters);
  return mica__max(16 * threads, mica__ceil_div(pixels, mica__max(1, wanted)));
}

MICA__FIELDS(cut_fields, GPU_DEPTHWISE_PARTS);
static mica_status launch_parts(mica_queue *queue, const mica__conv *conv, const int32_t *values, int64_t parts,
                                int64_t pixels, mica_buffer *partial) {
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &mica__conv_gpu_depthwise_wgrad_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__conv_push_dims(&launch, &conv->dims);
  mica__launch_sizes(&launch, (cut_fields){.PARTS = parts, .PIXELS = pixels}.values);
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  size_t threads = (size_t)mica__kernel_value(&mica__conv_gpu_depthwise_wgrad_kernel, values, "THREADS");
  mica__launch_range1(&launch, (int64_t)threads * conv->rows * parts, threads);
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const mica__task *task) {
  const mica__kernel_desc *desc = &mica__conv_gpu_depthwise_wgrad_kernel;
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__variant *variant = task->variant ? task->variant : mica__kernel_variant(desc, task->device);
  int32_t values[MICA__MAX_PARAMS];
  mica_buffer *partial = NULL;
  mica__kernel_values(desc, variant ? variant : &wgrad_variants[1], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "TAPS_H", (int32_t)d->filter[1]);
  mica__kernel_set(desc, values, "TAPS_W", (int32_t)d->filter[2]);
  int64_t pixels = part_pixels(d, mica__kernel_value(desc, values, "THREADS"), task->device);
  int64_t parts = mica__max(1, mica__ceil_div(d->n * mica__product3(d->out), pixels));
  MICA_TRY(mica__workspace_create(queue, (size_t)(parts * conv->rows * conv->columns) * sizeof(float), &partial));
  mica_status status = launch_parts(queue, conv, values, parts, pixels, partial);
  if (status == MICA_OK) status = mica__conv_add_splits(queue, conv, parts, partial);
  mica_buffer_destroy(partial);
  return status;
}

static const char *decline_wgrad(const mica__task *task) {
  const char *reason = mica__needs_gpu(task->device);
  if (reason) return reason;
  bool fits = mica__kernel_variant(&mica__conv_gpu_depthwise_wgrad_kernel, task->device) != NULL;
  return fits ? NULL : "its sums need more local memory or larger work-groups than the device has";
}

const mica__impl mica__conv_gpu_depthwise_wgrad = {.name = "conv_gpu_depthwise_wgrad",
                                                   .kernel = &mica__conv_gpu_depthwise_wgrad_kernel,
                                                   .unable = unable,
                                                   .decline = decline_wgrad,
                                                   .launch = launch_wgrad};
