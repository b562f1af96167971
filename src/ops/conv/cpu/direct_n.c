/* Direct convolution on CPUs, vectorised over the batch, for planes of a few pixels (cl/conv/cpu/direct_n.cl): forward
 * and backward data. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/cpu/pack_weights.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("NV", "vectors of images", 1, 2),
    MICA__CASE("BACKWARD", "1 backward to the data", 0, 1),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__CONV_VALUES, 2, 0)};
const mica__kernel_desc mica__conv_cpu_direct_n_kernel = {
    MICA__KERNEL("conv_cpu_direct_n", "conv/cpu/direct_n.cl", params, variants)};

#define VW 16
#define MR 8
/* FEW_PIXELS: the most pixels of the smaller plane. This kernel skips taps that read padding, and with more pixels
 * there are too few such taps. MOST_PIXELS: the most pixels of the larger plane. */
#define FEW_PIXELS 4
#define MOST_PIXELS 16
/* With fewer images most lanes are idle. */
#define FEWEST_IMAGES 8
#define MOST_TAPS 1024
/* Work-groups per core; there are few, because each packs the source again. */
#define GROUPS 2

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  mica__conv_phase phase; /* the phase of the forward pass, but with the pass's own c and k */
  int64_t nv, s_pixels, d_pixels, taps, kb;
  size_t scratch;
} plan;
MICA__TASK_PLAN(plan)

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  plan p = {.phase = mica__conv_phase_used(mica__conv_phase_forward(&conv->dims))};
  mica__conv_phase *w = &p.phase;
  p.s_pixels = mica__product3(w->in);
  p.d_pixels = mica__product3(w->out);
  if (conv->pass == MICA__CONV_BWD_DATA) {
    *w = mica__conv_phase_transposed(*w);
    p.s_pixels = mica__product3(w->out);
    p.d_pixels = mica__product3(w->in);
  }
  p.taps = mica__product3(w->taps);
  p.nv = w->n > VW ? 2 : 1;
  int64_t parts = mica__ceil_div(w->n, p.nv * VW) * w->groups, tiles = mica__ceil_div(w->k, MR);
  int64_t splits = mica__ceil_div(GROUPS * (int64_t)device->compute_units, mica__max(parts, 1));
  p.kb = mica__ceil_div(tiles, mica__max(1, mica__min(splits, tiles))) * MR;
  p.scratch = (size_t)((w->c * p.s_pixels + MR * p.d_pixels) * p.nv * VW) * sizeof(float) +
              (size_t)(p.d_pixels * (2 * p.taps + 1) + 1) * sizeof(int32_t);
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (mica__product3(conv->dims.filter) > MOST_TAPS) return "the filter is too large";
  int64_t most = mica__max(mica__product3(conv->dims.in), mica__product3(conv->dims.out));
  return most > MOST_PIXELS ? "planes have too many pixels" : NULL;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->device)); }

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (mica__min(mica__product3(conv->dims.in), mica__product3(conv->dims.out)) > FEW_PIXELS)
    return "planes have too many pixels";
  if (conv->dims.n < FEWEST_IMAGES) return "there are too few images";
  return plan_of(task)->scratch > task->device->local_bytes ? "the source does not fit in local memory" : NULL;
}

static mica_status launch_images(mica_queue *queue, const mica__task *task, mica_buffer *packed) {
  const mica__kernel_desc *desc = &mica__conv_cpu_direct_n_kernel;
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  const mica__conv_phase *w = &p->phase;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(desc, values, "NV", (int32_t)p->nv);
  mica__kernel_set(desc, values, "BACKWARD", conv->pass == MICA__CONV_BWD_DATA);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_phase(&launch, w);
  mica__launch_int(&launch, (int32_t)p->kb);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, p->scratch);
  const int64_t groups[] = {mica__ceil_div(w->n, p->nv * VW), mica__ceil_div(w->k, p->kb), w->groups};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch(mica_queue *queue, const mica__task *task) {
  return mica__conv_cpu_launch_packed(queue, task, &plan_of(task)->phase, MR, launch_images);
}

const mica__impl mica__conv_cpu_direct_n = {.name = "conv_cpu_direct_n",
                                            .kernel = &mica__conv_cpu_direct_n_kernel,
                                            .helper = &mica__conv_cpu_pack_weights_kernel,
                                            .unable = unable,
                                            .decline = decline,
                                            .plan = plan_task,
                                            .launch = launch};
