/* Depthwise convolution on CPUs, vectorised over the width, with stride 1 or 2 (cl/conv/depthwise/cpu_w.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/depthwise/rows.h"
#include "ops/conv/phase.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("TAPS", "height and width of the filter", 3, 5),
    MICA__ROWS_PARAMS,
    MICA__CASE("OUT_STRIDE", "stride of the result, backward to the data", 1, 2),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__CONV_VALUES, 3, MICA__ROWS_VALUES, 1)};
const mica__kernel_desc mica__conv_depthwise_cpu_w_kernel = {
    MICA__KERNEL("conv_depthwise_cpu_w", "conv/depthwise/cpu_w.cl", params, variants)};

#define VW 16
/* Shorter rows leave too many lanes idle. */
#define MIN_ROW 5
/* True if x and y are too large for the caches. This kernel, which reads one plane after the other, is then slower than
 * cpu_c.c, which reads sixteen planes side by side (lanes along channels). Forward with stride 1 this kernel reads 24
 * GB/s and cpu_c.c 41 for planes of 112x112; 21 and 34 for 56x56 (2 cores of Zen 4, 2026-11-23). Always false backward
 * with stride 2. */
static bool waits_for_memory(const mica__conv *conv, const mica__conv_planes *v, const mica__core_model *core) {
  return v->out_stride == 1 && mica_tensor_bytes(conv->x) + mica_tensor_bytes(conv->y) > (size_t)core->cached_bytes;
}

/* Work-groups per core, so that cores are evenly busy. */
#define GROUPS 32

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (d->c != 1 || d->k != 1) return "groups have several channels or filters";
  if (conv->dtype == MICA_F64) return "it cannot sum in f64";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have three dimensions";
  if (d->filter[1] != d->filter[2] || (d->filter[1] != 3 && d->filter[1] != 5)) return "the filter is not 3x3 or 5x5";
  mica__conv_planes v = mica__conv_planes_of(conv);
  for (int i = 1; i < 3; i++) {
    if (d->stride[i] > 2 || d->stride[1] != d->stride[2]) return "the strides are not both 1 or both 2";
    if (d->dilation[i] != 1) return "the filter is dilated";
    if (d->pad[i] >= d->filter[i]) return "the padding is wider than the filter";
    if (v.out_stride == 1) continue;
    if (v.pad[i] != v.pad[1] || mica__kernel_choice(&mica__conv_depthwise_cpu_w_kernel, "PAD", v.pad[i]) < 0)
      return "the padding is not the same on both axes, or not 0 to 2";
    if (v.out[i] > 2 * v.in[i] + 1) return "some pixels of the result depend on no element of the source";
  }
  return d->n * d->groups > INT32_MAX ? "there are too many planes" : NULL;
}

static size_t scratch_bytes(const mica__conv_planes *v) {
  return (size_t)(mica__product3(v->out) + VW) * sizeof(float);
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica_device_info *device = task->device;
  if (mica__needs_cpu(device)) return mica__needs_cpu(device);
  mica__conv_planes v = mica__conv_planes_of(conv);
  if (v.out[2] < MIN_ROW) return "rows are too short";
  if (waits_for_memory(conv, &v, mica__core_model_of(device))) return "the planes do not fit in the processor's caches";
  return scratch_bytes(&v) > device->local_bytes ? "a plane does not fit in local memory" : NULL;
}

MICA__FIELDS(size_fields, DEPTHWISE_W_SIZE);
static mica_status launch_planes(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *desc = &mica__conv_depthwise_cpu_w_kernel;
  mica__conv_planes v = mica__conv_planes_of(conv);
  int64_t planes = d->n * d->groups, each = mica__ceil_div(planes, GROUPS * (int64_t)task->device->compute_units);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, task->variant ? task->variant : &variants[0], values);
  mica__kernel_set(desc, values, "TAPS", (int32_t)d->filter[1]);
  mica__kernel_set(desc, values, "OUT_STRIDE", v.out_stride);
  mica__conv_set_rows(desc, values, conv);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  const size_fields s = {.ALL_PLANES = planes,
                         .K = d->groups,
                         .IN1 = v.in[1],
                         .IN2 = v.in[2],
                         .OUT1 = v.out[1],
                         .OUT2 = v.out[2],
                         .PLANES = each,
                         .STREAM = conv->nontemporal};
  mica__launch_sizes(&launch, s.values);
  mica__launch_int(&launch, v.pad[1]);
  mica__launch_int(&launch, v.pad[2]);
  mica__launch_int(&launch, v.flip);
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_tensor(&launch, conv->w);
  mica__launch_local(&launch, scratch_bytes(&v));
  const int64_t groups[] = {mica__ceil_div(planes, each), 1, 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

const mica__impl mica__conv_depthwise_cpu_w = {.name = "conv_depthwise_cpu_w",
                                               .kernel = &mica__conv_depthwise_cpu_w_kernel,
                                               .unable = unable,
                                               .decline = decline,
                                               .launch = launch_planes};
