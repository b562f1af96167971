/* The gradient of depthwise filters with lanes along channels, on CPUs (cl/conv/depthwise/wgrad_c.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/filter.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {MICA__FILTER_PARAMS(0)}, join_params[] = {MICA__FILTER_PARAMS(1)};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 0, 3, 3)};
static const mica__variant join_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 1, 3, 3)};
const mica__kernel_desc mica__conv_depthwise_wgrad_c_kernel = {
    MICA__KERNEL("conv_depthwise_wgrad_c", "conv/depthwise/wgrad_c.cl", params, variants)};
const mica__kernel_desc mica__conv_depthwise_wgrad_c_join_kernel = {
    MICA__KERNEL("conv_depthwise_wgrad_c_join", "conv/depthwise/wgrad_c.cl", join_params, join_variants)};

#define VW 16
/* Floats of a chunk, 128 KiB of a second level cache, unless one row takes more. */
#define CHUNK (1 << 15)
#define MOST_CHUNK (1 << 17)
/* Work-groups that a problem is cut into where it has images enough: so many end together on any few cores. */
#define GROUPS 64

/* How the work is cut; see the kernel's contract. */
typedef struct plan {
  int64_t rows, x_rows, scratch;
  int64_t blocks, parts;
} plan;

/* Rows of x that so many of y meet. */
static int64_t met(const mica__conv_dims *d, int64_t rows) {
  return mica__min(d->in[1], (rows - 1) * d->stride[1] + (d->filter[1] - 1) * d->dilation[1] + 1);
}

static int64_t floats(const mica__conv_dims *d, int64_t rows) {
  return VW * ((met(d, rows) + 1) * d->in[2] + rows * d->out[2] + d->filter[1] * d->filter[2]);
}

static plan plan_of(const mica__conv_dims *d, const mica_device_info *device) {
  int64_t room = mica__min(CHUNK, (int64_t)(device->local_bytes / sizeof(float)));
  plan p = {.rows = d->out[1] > 0 ? d->out[1] : 1};
  for (int64_t parts = 2; p.rows > 1 && floats(d, p.rows) > room; parts++) p.rows = mica__ceil_div(d->out[1], parts);
  p.x_rows = met(d, p.rows);
  p.scratch = floats(d, p.rows);
  p.blocks = mica__ceil_div(d->groups, VW);
  p.parts = d->n > 0 ? mica__min(d->n, mica__ceil_div(GROUPS, p.blocks)) : 1;
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *kernel = &mica__conv_depthwise_wgrad_c_kernel;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->c != 1 || d->k != 1) return "a group is more than one channel and one filter";
  if (d->groups < VW) return "there are few channels";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have a depth";
  if (mica__kernel_choice(kernel, "FR", (int32_t)mica__min(d->filter[1], INT32_MAX)) < 0 ||
      mica__kernel_choice(kernel, "FS", (int32_t)mica__min(d->filter[2], INT32_MAX)) < 0)
    return "the filter is large";
  return floats(d, 1) > MOST_CHUNK ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__conv *conv = problem;
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  size_t row = (size_t)floats(&conv->dims, 1) * sizeof(float);
  return row > device->local_bytes ? "local memory does not take a row" : NULL;
}

static size_t partial_bytes(const mica__conv_dims *d, const plan *p) {
  return (size_t)(p->parts * p->blocks * d->filter[1] * d->filter[2] * VW) * sizeof(float);
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  const mica__conv_dims *d = &((const mica__conv *)problem)->dims;
  plan p = plan_of(d, device);
  return partial_bytes(d, &p);
}

static mica_status launch_sums(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *partial) {
  mica__launch launch;
  MICA_TRY(mica__conv_filter_begin(queue, &mica__conv_depthwise_wgrad_c_kernel, conv, &launch));
  mica__conv_push_dims(&launch, &conv->dims);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)p->rows, (int32_t)p->x_rows});
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_local(&launch, (size_t)p->scratch * sizeof(float));
  mica__launch_range3(&launch, (int64_t[]){p->blocks, p->parts, 1}, (size_t[]){1, 1, 1});
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_join(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *partial) {
  mica__launch launch;
  MICA_TRY(mica__conv_filter_begin(queue, &mica__conv_depthwise_wgrad_c_join_kernel, conv, &launch));
  mica__launch_size(&launch, conv->dims.groups);
  mica__launch_size(&launch, p->parts);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_range1(&launch, p->blocks, 1);
  mica__launch_cost(&launch, 0, (double)partial_bytes(&conv->dims, p));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_channels(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  plan p = plan_of(&conv->dims, mica_engine_device(mica__queue_engine(queue)));
  mica_buffer *partial = NULL;
  (void)variant;
  MICA_TRY(mica__workspace_create(queue, partial_bytes(&conv->dims, &p), &partial));
  mica_status status = launch_sums(queue, conv, &p, partial);
  if (status == MICA_OK) status = launch_join(queue, conv, &p, partial);
  mica_buffer_destroy(partial);
  return status;
}

const mica__impl mica__conv_depthwise_wgrad_c = {.name = "conv_depthwise_wgrad_c",
                                                 .kernel = &mica__conv_depthwise_wgrad_c_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .workspace = workspace,
                                                 .launch = launch_channels};
