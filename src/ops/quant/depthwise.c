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

bool mica__int8_is_depthwise(const mica__int8 *p) { return p->conv && p->depth == 1; }

mica_status mica__int8_depthwise(const mica__int8 *p) {
  const mica__kernel_desc *desc = &mica__int8_depthwise_kernel;
  const mica__conv_dims *d = &p->dims;
  const mica_tensor *const first[] = {p->in[MICA__INT8_SECOND], p->in[MICA__INT8_FIRST]};
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  const mica__int8_form form = {.rows = MICA_U8, .columns = MICA_U8};
  MICA_TRY(mica__int8_begin(p, desc, values, &form, first, 2, &launch));
  int64_t filters = d->groups * d->k, vector = mica__kernel_value(desc, values, "VW");
  const int64_t sizes[] = {d->n,           filters,      d->k,         d->in[1],     d->in[2],
                           d->out[1],      d->out[2],    d->filter[1], d->filter[2], d->dilation[1],
                           d->dilation[2], d->stride[1], d->stride[2], d->pad[1],    d->pad[2]};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_int(&launch, mica__int8_mask(first[0], MICA_U8));
  mica__launch_int(&launch, mica__int8_mask(first[1], MICA_U8));
  mica__launch_range1(&launch, d->n * filters * d->out[1] * mica__ceil_div(d->out[2], vector), MICA__RANGE_GROUP);
  return mica__int8_end(p, &launch);
}
