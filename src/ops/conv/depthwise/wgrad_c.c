/* The weight gradient of depthwise convolutions over small planes, on CPUs (cl/conv/depthwise/wgrad_c.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/wgrad.h"
#include "runtime/core_model.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x and y", MICA__CONV_TYPES),
    MICA__CASE("FR", "rows of a filter", 1, 2, 3, 4, 5),
    MICA__CASE("FS", "columns of a filter", 1, 2, 3, 4, 5),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 3, 3)};
const mica__kernel_desc mica__conv_depthwise_wgrad_c_kernel = {
    MICA__KERNEL("conv_depthwise_wgrad_c", "conv/depthwise/wgrad_c.cl", params, variants)};

#define VW 16
/* In rows of at least this many pixels, lanes along a row (wgrad_w.c) are full enough. In rows of 4 pixels, lanes
 * along channels are 1.0 to 1.5 times as fast, in shorter rows 1.4 to 3.2 times (2026-11-24). */
#define LONG_ROW 6
/* The fewest work-groups if there are enough images: this number keeps a few cores evenly busy. It is the same on all
 * devices, so all devices add the sums in the same order. */
#define GROUPS 64

/* What cl/conv/wgrad_reduce.cl takes: the problem, and the partial sums of its gradient, one for each part of the
 * images. */
typedef struct plan {
  mica__conv all; /* the problem as one group with all filters */
  mica__conv_sums sums;
} plan;
MICA__TASK_PLAN(plan)

static void plan_task(mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  plan p = {.all = *conv};
  const int64_t parts = mica__ceil_div(GROUPS, mica__max(1, mica__ceil_div(d->groups, VW)));
  p.sums = mica__conv_depthwise_sums(&p.all, mica__max(1, mica__min(d->n, parts)));
  keep_plan(task, p);
}

static size_t scratch_bytes(const mica__conv_dims *d) {
  return (size_t)((d->in[1] + 1) * d->in[2] + d->out[1] * d->out[2]) * VW * sizeof(float);
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->c != 1 || d->k != 1) return "groups have several channels or filters";
  if (d->groups < VW) return "there are too few channels";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  if (!mica__conv_knows_filter(&mica__conv_depthwise_wgrad_c_kernel, d)) return "the filter is too large";
  return d->in[1] * d->in[2] > INT32_MAX / VW / 2 || d->out[1] * d->out[2] > INT32_MAX / VW / 2 ? "planes are too large"
                                                                                                : NULL;
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (scratch_bytes(&conv->dims) > task->device->local_bytes) return "the planes do not fit in local memory";
  if (conv->dims.out[2] >= LONG_ROW) return "rows are too long";
  int64_t cached = mica__core_model_of(task->device)->l2_floats * (int64_t)sizeof(float);
  return (int64_t)scratch_bytes(&conv->dims) > cached / 2 ? "the planes do not fit in half of the second-level cache"
                                                          : NULL;
}

static mica_status launch_sums(mica_queue *queue, const mica__task *task, mica_buffer *partial) {
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  const mica__kernel_desc *desc = &mica__conv_depthwise_wgrad_c_kernel;
  const mica__conv_dims *d = &conv->dims;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "FR", (int32_t)d->filter[1]);
  mica__kernel_set(desc, values, "FS", (int32_t)d->filter[2]);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__conv_push_dims(&launch, d);
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_local(&launch, scratch_bytes(d));
  mica__launch_range3(&launch, (int64_t[]){mica__ceil_div(d->groups, VW), p->sums.parts, 1}, (size_t[]){1, 1, 1});
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const mica__task *task) {
  const plan *p = plan_of(task);
  return mica__conv_wgrad_run(queue, task, mica__conv_sums_count(&p->all, &p->sums), launch_sums, &p->all, &p->sums);
}

const mica__impl mica__conv_depthwise_wgrad_c = {.name = "conv_depthwise_wgrad_c",
                                                 .kernel = &mica__conv_depthwise_wgrad_c_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .plan = plan_task,
                                                 .launch = launch_wgrad};
