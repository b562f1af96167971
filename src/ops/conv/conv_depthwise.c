/* Groups of one channel, on CPUs (cl/conv/conv_depthwise.cl). */
#include "base/error.h"
#include "ops/conv/window.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("TAPS", "height and width of the filter, if both are this; 0 any", 0, 3, 5),
    MICA__CASE("STEP", "stride of the window", 1, 2),
    MICA__CASE("VW", "elements of a vector, 8 for short rows", 8, 16),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__CONV_VALUES, 3, 1, 16)};
const mica__kernel_desc mica__conv_depthwise_kernel = {
    MICA__KERNEL("conv_depthwise", "conv/conv_depthwise.cl", params, variants)};

#define ROWS 4
/* Floats of the source that a group holds at a time: they stay in a first level cache. */
#define BAND 4096
/* Results that make a group worth its start. */
#define GROUP 16384
/* The longest row that local memory takes. */
#define MOST_COLUMNS 65536

static int64_t least(int64_t x, int64_t y) { return x < y ? x : y; }
static int64_t most(int64_t x, int64_t y) { return x > y ? x : y; }
static int64_t ceil_div(int64_t x, int64_t y) { return (x + y - 1) / y; }

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  bool backward = conv->pass == MICA__CONV_BWD_DATA;
  if (d->c != 1 || (backward && d->k != 1)) return "groups have several channels";
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "there are three dimensions";
  if (d->dilation[1] != 1 || d->dilation[2] != 1) return "the filter is dilated";
  if (d->stride[2] > 2 || (d->stride[1] != d->stride[2] && d->in[1] > 1)) return "the strides are not both 1 or 2";
  if (d->in[2] > MOST_COLUMNS || d->filter[1] > 64 || d->filter[2] > 64) return "rows or filters are too large";
  if (backward && (d->pad[1] >= d->filter[1] || d->pad[2] >= d->filter[2])) return "the padding exceeds the filter";
  return NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  (void)problem;
  return mica__kernel_class(device) == MICA__ON_CPU ? NULL : "it is for CPUs";
}

/* How the work is cut; see the kernel's contract. */
typedef struct plan {
  int64_t in[2], out[2], first[2], rows, planes, pitch, step, up, vw;
} plan;

static plan make_plan(const mica__conv *conv, const mica_device_info *device) {
  const mica__conv_dims *d = &conv->dims;
  bool forward = conv->pass == MICA__CONV_FWD;
  plan p = {.step = forward ? d->stride[2] : 1, .up = forward ? 1 : d->stride[2]};
  for (int i = 0; i < 2; i++) {
    p.in[i] = forward ? d->in[1 + i] : d->out[1 + i];
    p.out[i] = forward ? d->out[1 + i] : d->in[1 + i];
    p.first[i] = forward ? -d->pad[1 + i] : d->pad[1 + i] - d->filter[1 + i] + 1;
  }
  p.vw = p.out[1] <= 8 ? 8 : 16;
  int64_t columns = ceil_div(p.out[1], p.vw) * p.vw + ceil_div(d->filter[2], p.step);
  p.pitch = p.step * ceil_div(columns, p.vw) * p.vw;
  p.rows = ceil_div(least(p.out[0], most(1, (BAND / p.pitch - d->filter[1]) / p.step + 1)), ROWS) * ROWS;
  p.planes = least(most(1, GROUP / (least(p.rows, p.out[0]) * p.out[1] * d->k)), d->groups);
  int64_t wanted = 4 * (int64_t)device->compute_units, bands = d->n * ceil_div(p.out[0], p.rows);
  p.planes = least(p.planes, most(1, bands * d->groups / wanted));
  return p;
}

static mica_status launch_depthwise(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *desc = &mica__conv_depthwise_kernel;
  plan p = make_plan(conv, mica_engine_device(mica__queue_engine(queue)));
  int32_t values[MICA__MAX_PARAMS];
  bool known = d->filter[1] == d->filter[2] && (d->filter[1] == 3 || d->filter[1] == 5);
  mica__launch launch;
  mica__kernel_values(desc, variant ? variant : &variants[0], values);
  mica__kernel_set(desc, values, "TAPS", known ? (int32_t)d->filter[1] : 0);
  mica__kernel_set(desc, values, "STEP", (int32_t)p.step);
  mica__kernel_set(desc, values, "VW", (int32_t)p.vw);
  MICA_TRY(mica__gemm_begin_epilogue(queue, desc, values, &conv->result, &launch));
#define I(value) (int32_t)(value)
  mica__launch_int8(&launch, (int32_t[]){I(d->groups), I(d->k), I(p.in[0]), I(p.in[1]), I(p.out[0]), I(p.out[1]),
                                         I(p.rows), I(p.planes)});
  mica__launch_int8(&launch, (int32_t[]){I(p.first[0]), I(p.first[1]), I(p.up), conv->pass != MICA__CONV_FWD,
                                         I(d->filter[1]), I(d->filter[2]), I(p.pitch), 0});
#undef I
  mica__launch_tensor(&launch, mica__conv_source(conv));
  mica__launch_tensor(&launch, conv->w);
  int64_t source = ((p.rows + ROWS - 1) * p.step + d->filter[1]) * p.pitch + p.vw, results = p.rows * p.out[1] + p.vw;
  mica__launch_local(&launch, (size_t)(source + results) * sizeof(float));
  const int64_t groups[] = {ceil_div(p.out[0], p.rows), ceil_div(d->groups, p.planes), d->n};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__gemm_end(queue, &launch, &conv->result);
}

const mica__impl mica__conv_depthwise = {.name = "conv_depthwise",
                                         .kernel = &mica__conv_depthwise_kernel,
                                         .unable = unable,
                                         .decline = decline,
                                         .launch = launch_depthwise};
