/* Depthwise convolution on CPUs, vectorised over the channels, with any stride and filter
 * (cl/conv/depthwise/cpu_c.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/phase.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("TAPS", "height and width of the filter, if both are this; 0 any", 0, 3, 5),
    MICA__CASE("STEP", "horizontal stride of the window; 0 any", 0, 1, 2),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__CONV_VALUES, 3, 1)};
const mica__kernel_desc mica__conv_depthwise_cpu_c_kernel = {
    MICA__KERNEL("conv_depthwise_cpu_c", "conv/depthwise/cpu_c.cl", params, variants)};

#define VW 16
/* Results of a row are computed four at a time, so up to this many lie beyond the end of the last row. Each of these
 * makes the kernel read `step` more vectors. */
#define BEYOND 3
/* The most bytes of a work-group's strip: 192 KiB with a second-level cache of 1 MiB. */
static int64_t strip_bytes(const mica_device_info *device) {
  return 3 * mica__core_model_of(device)->l2_floats * (int64_t)sizeof(float) / 16;
}
/* Work-groups per core, so that cores are evenly busy. */
#define GROUPS 64
/* The most taps of a filter, which is copied next to a strip. */
#define MOST_TAPS 1024

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (d->c != 1 || (conv->pass == MICA__CONV_BWD_DATA && d->k != 1)) return "groups have several channels";
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  return d->filter[1] * d->filter[2] > MOST_TAPS ? "the filter is too large" : NULL;
}

/* How the work is cut; the comment that opens the kernel's file explains it. */
typedef struct plan {
  int64_t in[2], out[2], first[2], step[2], up[2], rows, height, pitch, images;
} plan;
MICA__TASK_PLAN(plan)

static size_t scratch_bytes(const mica__conv_dims *d, const plan *p) {
  int64_t source = p->height * p->pitch + BEYOND * p->step[1] + 1, results = p->rows * p->out[1] + VW;
  int64_t pixels = mica__min(p->height, p->in[0]) * p->in[1] + VW;
  return (size_t)(d->filter[1] * d->filter[2] + source + results) * VW * sizeof(float) +
         (size_t)pixels * sizeof(int32_t);
}

static void set_rows(const mica__conv_dims *d, int64_t rows, plan *p) {
  p->rows = rows;
  p->height = (rows - 1) * p->step[0] + (d->filter[1] - 1) * d->dilation[1] + 1;
}

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  const mica__conv_dims *d = &conv->dims;
  bool forward = conv->pass == MICA__CONV_FWD;
  size_t room = (size_t)mica__min(strip_bytes(device), (int64_t)device->local_bytes);
  plan p;
  for (int i = 0; i < 2; i++) {
    p.in[i] = forward ? d->in[1 + i] : d->out[1 + i];
    p.out[i] = forward ? d->out[1 + i] : d->in[1 + i];
    p.step[i] = forward ? d->stride[1 + i] : 1;
    p.up[i] = forward ? 1 : d->stride[1 + i];
    p.first[i] = forward ? -d->pad[1 + i] : d->pad[1 + i] - (d->filter[1 + i] - 1) * d->dilation[1 + i];
  }
  p.pitch = (p.out[1] - 1) * p.step[1] + (d->filter[2] - 1) * d->dilation[2] + 1;
  set_rows(d, p.out[0], &p);
  for (int64_t strips = 2; scratch_bytes(d, &p) > room && p.rows > 1; strips++)
    set_rows(d, mica__ceil_div(p.out[0], strips), &p);
  int64_t parts = mica__ceil_div(p.out[0], p.rows) * mica__ceil_div(d->groups * d->k, VW);
  p.images = mica__max(1, d->n * parts / (GROUPS * (int64_t)device->compute_units));
  return p;
}

static void plan_task(mica__task *task) { keep_plan(task, make_plan(task->problem, task->device)); }

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  const mica__conv_dims *d = &conv->dims;
  if (d->groups == 1 && d->k >= VW && d->filter[1] * d->filter[2] > d->out[1] * d->out[2])
    return "the filters are larger than the result";
  return scratch_bytes(&conv->dims, plan_of(task)) > task->device->local_bytes ? "a row does not fit in local memory"
                                                                               : NULL;
}

MICA__FIELDS(size_fields, DEPTHWISE_C_SIZE);
MICA__FIELDS(step_fields, DEPTHWISE_C_STEP);
MICA__FIELDS(filter_fields, DEPTHWISE_C_FILTER);
static mica_status launch_depthwise(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *desc = &mica__conv_depthwise_cpu_c_kernel;
  plan p = *plan_of(task);
  int32_t values[MICA__MAX_PARAMS];
  bool square = d->filter[1] == d->filter[2] && d->dilation[2] == 1;
  bool known = square && (d->filter[1] == 3 || d->filter[1] == 5);
  mica__launch launch;
  mica__kernel_values(desc, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(desc, values, "TAPS", known ? (int32_t)d->filter[1] : 0);
  mica__kernel_set(desc, values, "STEP", p.step[1] <= 2 ? (int32_t)p.step[1] : 0);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  const size_fields s = {.N = d->n,
                         .K = d->groups * d->k,
                         .KG = d->k,
                         .IN1 = p.in[0],
                         .IN2 = p.in[1],
                         .OUT1 = p.out[0],
                         .OUT2 = p.out[1],
                         .rows = p.rows};
  const step_fields t = {.FIRST1 = p.first[0],
                         .FIRST2 = p.first[1],
                         .ROW_STEP = p.step[0],
                         .COLUMN_STEP = p.step[1],
                         .DI1 = d->dilation[1],
                         .DI2 = d->dilation[2],
                         .UP1 = p.up[0],
                         .UP2 = p.up[1]};
  const filter_fields f = {.R1 = d->filter[1],
                           .R2 = d->filter[2],
                           .FLIP = conv->pass != MICA__CONV_FWD,
                           .images = p.images,
                           .U_ROWS = p.height,
                           .U_PITCH = p.pitch};
  mica__launch_sizes(&launch, s.values);
  mica__launch_sizes(&launch, t.values);
  mica__launch_sizes(&launch, f.values);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_tensor(&launch, conv->w);
  mica__launch_local(&launch, scratch_bytes(d, &p));
  const int64_t groups[] = {mica__ceil_div(p.out[0], p.rows), mica__ceil_div(d->groups * d->k, VW),
                            mica__ceil_div(d->n, p.images)};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

const mica__impl mica__conv_depthwise_cpu_c = {.name = "conv_depthwise_cpu_c",
                                               .kernel = &mica__conv_depthwise_cpu_c_kernel,
                                               .unable = unable,
                                               .plan = plan_task,
                                               .decline = decline,
                                               .launch = launch_depthwise};
