/* Direct convolution on CPUs, vectorised over the filters, for results of a few pixels (cl/conv/cpu/direct_k.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/cpu/pack_weights.h"
#include "runtime/core_model.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__INT("NP", "pixels of a register tile", 1, 2, 4, 8),
    MICA__INT("NV", "vectors of filters of it", 1, 2, 4),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__CONV_VALUES, 4, 2),
                                         MICA__VECTOR_VARIANT("long", MICA__LONG_VECTOR, MICA__CONV_VALUES, 4, 4)};
const mica__kernel_desc mica__conv_cpu_direct_k_kernel = {
    MICA__KERNEL("conv_cpu_direct_k", "conv/cpu/direct_k.cl", params, variants)};

#define VW 16
/* With more pixels, kernels whose lanes are pixels are faster, because this kernel reads all weights for each of its
 * tiles of pixels. */
#define MOST_PIXELS 8
/* The most pixels if a product (conv_gemm) could run instead: for 2,048 channels and 4 pixels the product takes 0.8
 * of the time of this kernel, for 1,280 channels and 1 pixel 1.7 times as long. */
#define MOST_OF_PRODUCT 2
/* The multiply-adds that a work-group should have: waking a sleeping core takes some 20 us. */
#define GROUP_WORK (1 << 19)

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  mica__conv_phase phase;
  /* pixels: pixels of the result in all images. depth: products per sum. np, nv: pixels and vectors of filters of a
   * tile. vectors: vectors of filters of a work-group. */
  int64_t pixels, depth, np, nv, vectors;
} plan;
MICA__TASK_PLAN(plan)

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  plan p = {.phase = mica__conv_phase_used(mica__conv_phase_at(conv, 0))};
  const mica__conv_phase *w = &p.phase;
  p.pixels = w->n * mica__product3(w->out);
  p.depth = w->c * mica__product3(w->taps);
  p.np = p.pixels > 4 ? 8 : p.pixels > 2 ? 4 : mica__max(1, p.pixels);
  p.nv = p.np == 8 ? 2 : 4;
  if (device->vector_bytes < MICA__LONG_VECTOR) p.nv /= 2;
  int64_t vectors = mica__ceil_div(w->k, VW), tiles = mica__ceil_div(vectors, p.nv);
  int64_t work = tiles * p.nv * VW * mica__max(1, p.depth) * p.np;
  int64_t most = mica__max(1, mica__min(tiles, mica__ceil_div(work, GROUP_WORK)));
  p.vectors = mica__ceil_div(tiles, most) * p.nv;
  return p;
}

static size_t scratch_bytes(const plan *p) { return (size_t)((p->depth + 1) * p->np) * sizeof(float); }

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  return conv->pass != MICA__CONV_FWD ? "it computes the forward pass only" : NULL;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->device)); }

static const char *decline(const mica__task *task) {
  const plan *p = plan_of(task);
  const mica__conv_dims *d = &((const mica__conv *)task->problem)->dims;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (p->pixels > MOST_PIXELS) return "there are too many pixels";
  if (p->phase.k < VW) return "there are too few filters";
  if (mica__product3(d->filter) == 1 && d->n == 1 && p->pixels > MOST_OF_PRODUCT)
    return "the filter is 1 x 1 and an image has many pixels, so a matrix product is faster";
  if (scratch_bytes(p) > (size_t)mica__core_model_of(task->device)->l2_floats * sizeof(float) / 4)
    return "the channels that pixels read do not fit in a quarter of the second-level cache";
  return scratch_bytes(p) > task->device->local_bytes ? "the channels that pixels read do not fit in local memory"
                                                      : NULL;
}

static mica_status launch_pixels(mica_queue *queue, const mica__task *task, mica_buffer *packed) {
  const mica__kernel_desc *desc = &mica__conv_cpu_direct_k_kernel;
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(desc, values, "NP", (int32_t)p->np);
  mica__kernel_set(desc, values, "NV", (int32_t)p->nv);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_phase(&launch, &p->phase);
  mica__launch_int(&launch, (int32_t)p->vectors);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch_bytes(p));
  const int64_t groups[] = {mica__ceil_div(p->pixels, p->np),
                            mica__ceil_div(mica__ceil_div(p->phase.k, VW), p->vectors), p->phase.groups};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch(mica_queue *queue, const mica__task *task) {
  return mica__conv_cpu_launch_packed(queue, task, &plan_of(task)->phase, VW, launch_pixels);
}

const mica__impl mica__conv_cpu_direct_k = {.name = "conv_cpu_direct_k",
                                            .kernel = &mica__conv_cpu_direct_k_kernel,
                                            .helper = &mica__conv_cpu_pack_weights_kernel,
                                            .unable = unable,
                                            .plan = plan_task,
                                            .decline = decline,
                                            .launch = launch};
