/* The gradient of filters that see one channel each, on CPUs (cl/conv/depthwise/wgrad_w.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/filter.h"
#include "ops/conv/lines.h"
#include "runtime/workspace.h"

static const mica__kernel_param params[] = {MICA__FILTER_PARAMS(0), MICA__LINES_PARAMS},
                                join_params[] = {MICA__FILTER_PARAMS(1)};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 0, 3, 3, MICA__LINES_VALUES)};
static const mica__variant join_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 1, 3, 3)};
const mica__kernel_desc mica__conv_depthwise_wgrad_w_kernel = {
    MICA__KERNEL("conv_depthwise_wgrad_w", "conv/depthwise/wgrad_w.cl", params, variants)};
const mica__kernel_desc mica__conv_depthwise_wgrad_w_join_kernel = {
    MICA__KERNEL("conv_depthwise_wgrad_w_join", "conv/depthwise/wgrad_w.cl", join_params, join_variants)};

#define VW 16
/* A problem of fewer filters is cut along the images too, which sizes alone decide; and groups that keep a unit evenly
 * busy, where filters are enough. */
#define FEW_FILTERS 64
#define GROUPS_A_UNIT 16
/* From this many filters a channel on, lanes along filters are fuller in short rows, and load less for small filters
 * over planes of more pixels. A large filter's sums take all registers. */
#define MANY_FILTERS 8
#define MOST_PLACES_OF_MANY 4096
#define SHORTEST_ROW 6
#define SHORTEST_ROW_OF_LARGE 9
#define LARGE_FILTER 9
/* Elements of a plane and of what surrounds it, if it has to be copied. */
#define MOST_ROOM (1 << 15)

/* How the work is cut; see the kernel's contract. room: elements of E a work-group takes. */
typedef struct plan {
  int64_t filters, blocks, parts, before, behind, room;
} plan;

static plan plan_of(const mica__conv *conv, int64_t units) {
  const mica__conv_dims *d = &conv->dims;
  int64_t together = VW * mica__conv_vectors(conv);
  plan p = {0};
  int64_t all = mica__max(1, d->groups * d->k);
  p.parts = mica__max(1, mica__min(d->n, mica__ceil_div(FEW_FILTERS, all)));
  p.filters = mica__max(1, mica__min(VW, all * p.parts / (GROUPS_A_UNIT * units)));
  p.blocks = mica__ceil_div(d->groups * d->k, p.filters);
  p.before = mica__max(0, d->pad[1]) * d->in[2] + mica__max(0, d->pad[2]);
  p.behind = d->stride[2] * (d->out[2] + together) + VW + (d->filter[2] - 1) * d->dilation[2];
  p.room = 2 * (p.before + p.behind) + d->in[1] * d->in[2] + d->out[1] * d->out[2];
  return p;
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *kernel = &mica__conv_depthwise_wgrad_w_kernel;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->c != 1) return "filters see several channels";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have a depth";
  if (mica__kernel_choice(kernel, "FR", (int32_t)mica__min(d->filter[1], INT32_MAX)) < 0 ||
      mica__kernel_choice(kernel, "FS", (int32_t)mica__min(d->filter[2], INT32_MAX)) < 0)
    return "the filter is large";
  bool dilated = d->dilation[1] != 1 || d->dilation[2] != 1;
  if (d->stride[1] != d->stride[2] || d->stride[1] > 2 || (d->stride[1] == 2 && dilated))
    return "it has another stride";
  return plan_of(conv, 1).room > MOST_ROOM ? "planes are too large to be copied by each work-group" : NULL;
}

static size_t scratch_bytes(const mica__conv_dims *d) {
  return (size_t)(d->filter[1] * d->filter[2] * VW * VW) * sizeof(float);
}

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (scratch_bytes(d) > device->local_bytes) return "local memory does not take its sums";
  if (d->k < MANY_FILTERS) return NULL;
  bool large = d->filter[1] * d->filter[2] > LARGE_FILTER;
  if (d->out[2] < (large ? SHORTEST_ROW_OF_LARGE : SHORTEST_ROW)) return "rows are short";
  return !large && d->in[1] * d->in[2] > MOST_PLACES_OF_MANY ? "planes are large" : NULL;
}

/* T, then E. */
static size_t partial_bytes(const mica__conv_dims *d, const plan *p) {
  return (size_t)(p->parts * p->blocks * d->filter[1] * d->filter[2] * VW) * sizeof(float);
}

static size_t workspace_bytes(const mica__conv *conv, const plan *p) {
  return partial_bytes(&conv->dims, p) + (size_t)(p->parts * p->blocks * p->room) * mica_dtype_size(conv->dtype);
}

static size_t workspace(const void *problem, const mica_device_info *device) {
  plan p = plan_of(problem, (int64_t)device->compute_units);
  return workspace_bytes(problem, &p);
}

static mica_status launch_sums(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *partial) {
  mica__launch launch;
  MICA_TRY(mica__conv_filter_begin(queue, &mica__conv_depthwise_wgrad_w_kernel, conv, &launch));
  mica__conv_push_dims(&launch, &conv->dims);
  mica__launch_int8(&launch, (int32_t[8]){(int32_t)p->filters, (int32_t)p->before, (int32_t)p->behind});
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_buffer(&launch, partial, (int64_t)(partial_bytes(&conv->dims, p) / mica_dtype_size(conv->dtype)));
  mica__launch_tensor(&launch, conv->w);
  mica__launch_local(&launch, scratch_bytes(&conv->dims));
  mica__launch_range3(&launch, (int64_t[]){p->blocks, p->parts, 1}, (size_t[]){1, 1, 1});
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_join(mica_queue *queue, const mica__conv *conv, const plan *p, mica_buffer *partial) {
  mica__launch launch;
  MICA_TRY(mica__conv_filter_begin(queue, &mica__conv_depthwise_wgrad_w_join_kernel, conv, &launch));
  mica__launch_size(&launch, conv->dims.groups * conv->dims.k);
  mica__launch_size(&launch, p->filters);
  mica__launch_size(&launch, p->parts);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_range1(&launch, p->blocks, 1);
  mica__launch_cost(&launch, 0, (double)partial_bytes(&conv->dims, p));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(queue));
  plan p = plan_of(conv, (int64_t)device->compute_units);
  mica_buffer *partial = NULL;
  (void)variant;
  MICA_TRY(mica__workspace_create(queue, workspace_bytes(conv, &p), &partial));
  mica_status status = launch_sums(queue, conv, &p, partial);
  if (status == MICA_OK && p.parts > 1) status = launch_join(queue, conv, &p, partial);
  mica_buffer_destroy(partial);
  return status;
}

const mica__impl mica__conv_depthwise_wgrad_w = {.name = "conv_depthwise_wgrad_w",
                                                 .kernel = &mica__conv_depthwise_wgrad_w_kernel,
                                                 .unable = unable,
                                                 .decline = decline,
                                                 .workspace = workspace,
                                                 .launch = launch_wgrad};
