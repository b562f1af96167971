/* Convolutions of 8-bit images with filters of one channel. */
#include "base/arith.h"
#include "base/error.h"
#include "cl/quant/fields.clh"
#include "ops/quant/int8.h"
#include "runtime/fields.h"

static const mica__kernel_param params[] = {MICA__INT8_PARAMS};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, MICA__INT8_VALUES)};
const mica__kernel_desc mica__int8_depthwise_kernel = {
    MICA__KERNEL("int8_depthwise", "quant/gpu/depthwise.cl", params, variants)};

static const mica__kernel_param cpu_params[] = {
    MICA__INT8_PARAMS,
    MICA__CASE("TAPS", "height and width of filters; 0: any", 3, 5, 0),
    MICA__CASE("STRIDE", "of both dimensions, where TAPS is not 0", 1, 2),
    MICA__CASE("ROWS", "rows of a result at once", 4, 1),
};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA__INT8_VALUES, 3, 1, 4)};
const mica__kernel_desc mica__int8_depthwise_cpu_kernel = {
    MICA__KERNEL("int8_depthwise_cpu", "quant/cpu/depthwise.cl", cpu_params, cpu_variants)};

#define LANES 16
#define ROWS 4
#define FLAT 256
/* A float holds the sum of this many products exactly: 256 * 255^2 < 2^24. Zero points are bytes of the same sign
 * (match.c), so a byte less its zero point is at most 255. */
#define MOST_TAPS 256
/* A strip of rows that is read three times should stay in the first level cache, beside the output. */
#define STRIP_BYTES (24 << 10)
/* The work-groups per core: enough to keep cores evenly busy. */
#define GROUPS 16

/* If many filters with many taps read one channel (the first layer for waveforms), a matrix product is faster: this
 * kernel took 35 times as long for 128 filters of 512 taps. */
#define PRODUCT_FILTERS 8
#define PRODUCT_TAPS 32

bool mica__int8_is_depthwise(const mica__int8 *p) {
  const mica__conv_dims *d = &p->dims;
  return p->conv && p->depth == 1 && (d->k < PRODUCT_FILTERS || mica__product3(d->filter) < PRODUCT_TAPS);
}

/* The division of work in quant/cpu/depthwise.cl. rows: rows of the strip with the most rows. */
typedef struct cut {
  int64_t planes, strips, rows, wide, bytes;
  bool flat;
} cut;

static int64_t bytes_of(const mica__conv_dims *d, int64_t rows, int64_t wide) {
  const int64_t lines = (rows - 1) * d->stride[1] + (d->filter[1] - 1) * d->dilation[1] + 1;
  return (lines * d->stride[2] * wide + LANES) * (int64_t)sizeof(float);
}

/* Returns the number of rows of the strip with the most rows, if `rows` rows are cut into strips. This is the last
 * strip, because all strips begin at multiples of ROWS. */
static int64_t highest(int64_t rows, int64_t strips) {
  return mica__ceil_div(rows / ROWS, strips) * ROWS + rows % ROWS;
}

static cut cut_of(const mica__conv_dims *d, int64_t units) {
  const int64_t span = (d->filter[2] - 1) * d->dilation[2] / d->stride[2], planes = d->n * d->groups;
  cut c = {.strips = 1, .rows = d->out[1], .wide = d->out[2] + span};
  /* A vector that crosses rows cannot reuse what four rows share, and costs 1.6 times as much. */
  const double across = 1.6 * (double)mica__ceil_div((c.rows - 1) * c.wide + d->out[2], LANES);
  c.flat = d->stride[1] == 1 && d->stride[2] == 1 && c.rows * c.wide <= FLAT && across < (double)c.rows;
  if (!c.flat) c.wide = mica__ceil_div(c.wide, LANES) * LANES;
  while (!c.flat && c.strips < d->out[1] / ROWS && bytes_of(d, c.rows, c.wide) > STRIP_BYTES)
    c.rows = highest(d->out[1], ++c.strips);
  c.bytes = bytes_of(d, c.rows, c.wide);
  const int64_t groups = planes * c.strips;
  c.planes = mica__min(planes, mica__max(1, groups / (GROUPS * units)));
  return c;
}

/* True if quant/cpu/depthwise.cl can run on a device with this much local memory. */
static bool suits_cpu(const mica__conv_dims *d, const cut *c, uint64_t local_bytes) {
  return d->filter[1] * d->filter[2] <= MOST_TAPS && (uint64_t)c->bytes <= local_bytes &&
         d->out[1] * d->out[2] <= INT32_MAX && d->n * d->groups <= INT32_MAX;
}

static void set_values(const mica__conv_dims *d, const cut *c, int32_t *values) {
  const mica__kernel_desc *desc = &mica__int8_depthwise_cpu_kernel;
  const int64_t taps = d->filter[1], stride = d->stride[1];
  const bool known = taps == d->filter[2] && (taps == 3 || taps == 5) && stride == d->stride[2] && stride <= 2 &&
                     d->dilation[1] == 1 && d->dilation[2] == 1;
  mica__kernel_set(desc, values, "TAPS", known ? (int32_t)taps : 0);
  mica__kernel_set(desc, values, "STRIDE", known ? (int32_t)stride : 1);
  mica__kernel_set(desc, values, "ROWS", known && !c->flat && d->out[1] >= ROWS ? ROWS : 1);
}

MICA__PACKED(operand_fields, DEPTHWISE_OPERANDS);
MICA__PACKED(size_fields, DEPTHWISE_SIZES);
MICA__PACKED(cut_fields, DEPTHWISE_CUT);

static void push_problem(const mica__int8 *p, mica__launch *launch) {
  const mica__conv_dims *d = &p->dims;
  const mica__int8_form form = {.rows = MICA_U8, .columns = MICA_U8};
  const operand_fields operands = {.w = p->in[MICA__INT8_SECOND], .x = p->in[MICA__INT8_FIRST]};
  const size_fields sizes = {
      .images = d->n,
      .filters = d->groups * d->k,
      .each = d->k,
      .H = d->in[1],
      .W = d->in[2],
      .P = d->out[1],
      .Q = d->out[2],
      MICA__INT8_WINDOW(d),
      .pad_h = d->pad[1],
      .pad_w = d->pad[2],
      .w_mask = mica__int8_mask(operands.w, MICA_U8),
      .x_mask = mica__int8_mask(operands.x, MICA_U8),
  };
  operand_fields_push(launch, &operands);
  mica__int8_push_finish(p, &form, launch);
  size_fields_push(launch, &sizes);
}

mica_status mica__int8_depthwise(const mica__int8 *p) {
  const mica__conv_dims *d = &p->dims;
  const mica_device_info *device = mica_engine_device(mica__queue_engine(p->exec->queue));
  const mica__kernel_desc *desc = &mica__int8_depthwise_cpu_kernel;
  const cut c = cut_of(d, device->compute_units);
  const bool cpu = mica__exec_takes(p->exec, desc) && suits_cpu(d, &c, device->local_bytes);
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  if (!cpu) desc = &mica__int8_depthwise_kernel;
  MICA_TRY(mica__exec_values(p->exec, desc, values));
  if (cpu) set_values(d, &c, values);
  MICA_TRY(mica__int8_begin(p, desc, values, &launch));
  push_problem(p, &launch);
  if (cpu) {
    const cut_fields fields = {.planes = c.planes, .strips = c.strips, .wide = c.wide, .flat = c.flat};
    cut_fields_push(&launch, &fields);
    mica__launch_local(&launch, (size_t)c.bytes);
    const int64_t groups[] = {mica__ceil_div(d->n * d->groups, c.planes), c.strips, 1};
    mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  } else {
    mica__launch_range1(&launch, d->n * d->groups * d->k * d->out[1] * d->out[2], MICA__RANGE_GROUP);
  }
  return mica__int8_end(p, &launch);
}
