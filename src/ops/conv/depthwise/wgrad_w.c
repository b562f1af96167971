/* The weight gradient on CPUs of filters with one channel each (cl/conv/depthwise/wgrad_w.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/depthwise/rows.h"
#include "ops/conv/wgrad.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES),
    MICA__CASE("FR", "rows of a filter", 1, 2, 3, 4, 5),
    MICA__CASE("FS", "columns of a filter", 1, 2, 3, 4, 5),
    MICA__ROWS_PARAMS,
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 3, 3, MICA__ROWS_VALUES)};
const mica__kernel_desc mica__conv_depthwise_wgrad_w_kernel = {
    MICA__KERNEL("conv_depthwise_wgrad_w", "conv/depthwise/wgrad_w.cl", params, variants)};

#define VW 16
/* With fewer filters than FEW_FILTERS, the images are also divided into parts, in the same way on all devices.
 * GROUPS_A_UNIT: the fewest work-groups per compute unit if there are enough filters; they keep the units evenly
 * busy. */
#define FEW_FILTERS 64
#define GROUPS_A_UNIT 16
/* Limits for MANY_FILTERS filters per channel or more. Lanes along filters (wgrad_implicit_gemm) are then fuller if
 * rows have fewer than MIN_ROW pixels, and load less if planes have more than MAX_PIXELS_OF_MANY pixels, so this kernel
 * declines both. For filters of more than LARGE_FILTER elements, whose sums fill all registers, rows must have at least
 * MIN_ROW_OF_LARGE pixels, but planes may have any size. */
#define MANY_FILTERS 8
#define MAX_PIXELS_OF_MANY 4096
#define MIN_ROW 6
#define MIN_ROW_OF_LARGE 9
#define LARGE_FILTER 9

/* How the work is cut. filters: filters of a work-group, the kernel's `block`. all, sums: the arguments of
 * cl/conv/wgrad_reduce.cl. */
typedef struct plan {
  int64_t filters;
  mica__conv all; /* the problem as one group with all filters */
  mica__conv_sums sums;
} plan;
MICA__TASK_PLAN(plan)

static plan make_plan(const mica__conv *conv, int64_t units) {
  const mica__conv_dims *d = &conv->dims;
  int64_t all = mica__max(1, d->groups * d->k);
  plan p = {.all = *conv};
  p.sums = mica__conv_depthwise_sums(&p.all, mica__max(1, mica__min(d->n, mica__ceil_div(FEW_FILTERS, all))));
  p.filters = mica__max(1, mica__min(VW, all * p.sums.parts / (GROUPS_A_UNIT * units)));
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->c != 1) return "groups have several channels";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  if (!mica__conv_knows_filter(&mica__conv_depthwise_wgrad_w_kernel, d)) return "the filter is too large";
  bool dilated = d->dilation[1] != 1 || d->dilation[2] != 1;
  if (d->stride[1] != d->stride[2] || d->stride[1] > 2 || (d->stride[1] == 2 && dilated))
    return "the strides are not both 1 or, without dilation, both 2";
  return NULL;
}

static size_t scratch_bytes(const mica__conv_dims *d) {
  return (size_t)(d->filter[1] * d->filter[2] * VW * VW) * sizeof(float);
}

static void plan_task(mica__task *task) {
  keep_plan(task, make_plan(task->problem, (int64_t)task->device->compute_units));
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (scratch_bytes(d) > task->device->local_bytes) return "the sums do not fit in local memory";
  if (d->k < MANY_FILTERS) return NULL;
  bool large = d->filter[1] * d->filter[2] > LARGE_FILTER;
  if (d->out[2] < (large ? MIN_ROW_OF_LARGE : MIN_ROW)) return "rows are too short";
  return !large && d->in[1] * d->in[2] > MAX_PIXELS_OF_MANY ? "planes are too large" : NULL;
}

static mica_status launch_sums(mica_queue *queue, const mica__task *task, mica_buffer *partial) {
  const mica__conv *conv = task->problem;
  const plan *p = plan_of(task);
  const mica__kernel_desc *desc = &mica__conv_depthwise_wgrad_w_kernel;
  const mica__conv_dims *d = &conv->dims;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "FR", (int32_t)d->filter[1]);
  mica__kernel_set(desc, values, "FS", (int32_t)d->filter[2]);
  mica__conv_set_rows(desc, values, conv);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__conv_push_dims(&launch, d);
  mica__launch_int(&launch, (int32_t)p->filters);
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_local(&launch, scratch_bytes(d));
  const int64_t groups[] = {mica__ceil_div(d->groups * d->k, p->filters), p->sums.parts, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const mica__task *task) {
  const plan *p = plan_of(task);
  return mica__conv_wgrad_run(queue, task, mica__conv_sums_count(&p->all, &p->sums), launch_sums, &p->all,
                              p->sums.parts > 1 ? &p->sums : NULL);
}

const mica__impl mica__conv_depthwise_wgrad_w = {.name = "conv_depthwise_wgrad_w",
                                                 .kernel = &mica__conv_depthwise_wgrad_w_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .plan = plan_task,
                                                 .launch = launch_wgrad};
