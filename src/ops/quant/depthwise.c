/* Convolutions of 8-bit images whose filters have one channel. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/quant/int8.h"

static const mica__kernel_param params[] = {
    MICA__INT8_PARAMS,
    MICA__INT("VW", "pixels a work-item makes", 1, 16),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA__INT8_VALUES, 16),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA__INT8_VALUES, 1),
};
const mica__kernel_desc mica__int8_depthwise_kernel = {
    MICA__KERNEL("int8_depthwise", "quant/int8_depthwise.cl", params, variants)};

static const mica__kernel_param planes_params[] = {MICA__INT8_PARAMS};
static const mica__variant planes_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__INT8_VALUES)};
const mica__kernel_desc mica__int8_planes_kernel = {
    MICA__KERNEL("int8_planes", "quant/int8_planes.cl", planes_params, planes_variants)};

/* Pixels of a vector, and what int8_planes.cl divides exactly. */
#define LANES 16
#define MOST_PIXELS (1 << 16)

bool mica__int8_is_depthwise(const mica__int8 *p) { return p->conv && p->depth == 1; }

/* True if results are as large as images, and what a tap reads is as far from each. */
static bool is_same(const mica__conv_dims *d) {
  return d->stride[1] == 1 && d->stride[2] == 1 && d->in[1] == d->out[1] && d->in[2] == d->out[2];
}

/* How int8_planes.cl divides planes: those of a work-item, and its vectors. */
typedef struct cut {
  int64_t planes, chunks;
} cut;

static cut cut_of(const mica__conv_dims *d) {
  const int64_t pixels = d->out[1] * d->out[2], whole = mica__max(LANES / pixels, 1);
  const int64_t planes = d->k == 1 ? mica__min(whole, d->groups) : 1;
  return (cut){planes, mica__ceil_div(pixels * planes, LANES)};
}

/* Vectors of one row's pixels waste lanes where rows fill none. One of several rows takes 1.6 times as long as one of
 * a row, and 4 times where strided rows are gathered lane by lane (2026-11-26, Zen 4). */
static bool takes_planes(const mica__int8 *p, bool cpu) {
  const mica__conv_dims *d = &p->dims;
  const cut c = cut_of(d);
  const double rows = (double)(d->out[1] * mica__ceil_div(d->out[2], LANES));
  const double vectors = (double)c.chunks / (double)c.planes * (is_same(d) ? 1.6 : 4);
  return cpu && vectors < rows && d->out[1] * d->out[2] < MOST_PIXELS;
}

mica_status mica__int8_depthwise(const mica__int8 *p) {
  const mica__conv_dims *d = &p->dims;
  const mica_tensor *const first[] = {p->in[MICA__INT8_SECOND], p->in[MICA__INT8_FIRST]};
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, &mica__int8_depthwise_kernel, values));
  const int64_t filters = d->groups * d->k, vector = mica__kernel_value(&mica__int8_depthwise_kernel, values, "VW");
  const bool by_planes = takes_planes(p, vector > 1);
  const mica__kernel_desc *desc = by_planes ? &mica__int8_planes_kernel : &mica__int8_depthwise_kernel;
  if (by_planes) MICA_TRY(mica__exec_values(p->exec, desc, values));
  const mica__int8_form form = {.rows = MICA_U8, .columns = MICA_U8};
  MICA_TRY(mica__int8_begin(p, desc, values, &form, first, 2, &launch));
  const int64_t sizes[] = {d->n,           filters,      d->k,         d->in[1],     d->in[2],
                           d->out[1],      d->out[2],    d->filter[1], d->filter[2], d->dilation[1],
                           d->dilation[2], d->stride[1], d->stride[2], d->pad[1],    d->pad[2]};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_int(&launch, mica__int8_mask(first[0], MICA_U8));
  mica__launch_int(&launch, mica__int8_mask(first[1], MICA_U8));
  if (by_planes) {
    const cut c = cut_of(d);
    mica__launch_size(&launch, c.planes);
    mica__launch_int(&launch, is_same(d));
    mica__launch_size(&launch, c.chunks);
    mica__launch_range1(&launch, mica__ceil_div(d->n * filters, c.planes) * c.chunks, MICA__RANGE_GROUP);
  } else {
    mica__launch_range1(&launch, d->n * filters * d->out[1] * mica__ceil_div(d->out[2], vector), MICA__RANGE_GROUP);
  }
  return mica__int8_end(p, &launch);
}
