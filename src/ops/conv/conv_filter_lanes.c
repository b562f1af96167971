/* The gradient of filters that see one channel each, on CPUs (cl/conv/conv_filter_lanes.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/conv.h"

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, w and y", MICA__CONV_TYPES), MICA__CASE("FR", "rows of a filter", 1, 2, 3, 4, 5),
    MICA__CASE("FS", "columns of a filter", 1, 2, 3, 4, 5),     MICA__CASE("STEP", "stride of rows", 1, 2),
    MICA__INT("ROWS", "output rows in registers", 1, 2, 4),
};
enum { D_T, FR, FS, STEP, ROWS };
static const mica__variant variants[] = {
    MICA__VARIANT("cpu.2", MICA__ON_CPU, MICA_F32, 5, 5, 1, 2),
    MICA__VARIANT("cpu.4", MICA__ON_CPU, MICA_F32, 3, 3, 1, 4),
};
const mica__kernel_desc mica__conv_filter_lanes_kernel = {
    MICA__KERNEL("conv_filter_lanes", "conv/conv_filter_lanes.cl", params, variants)};

#define VW 16
/* The copies of a chunk take so many floats, 24 KiB of a first level cache, unless one row is longer. */
#define CHUNK 6144
#define MOST_CHUNK (1 << 17)
/* Sums that registers hold beside four rows of dY. */
#define FEW_SUMS 12
/* Filters of one channel from which on lanes along them pay. */
#define MANY_FILTERS 8

/* How the work is cut; see the kernel's contract. */
typedef struct plan {
  int64_t images, pitch, rows, row, before, scratch;
} plan;

static int64_t round_up(int64_t x, int64_t y) { return mica__ceil_div(x, y) * y; }

static int64_t copied(const mica__conv_dims *d, int64_t rows, int64_t row) {
  return (d->stride[2] * ((rows - 1) * d->stride[1] + d->filter[1]) + rows) * row;
}

/* Behind the images stand what taps reach and the zeros that follow a copied row. */
static int64_t row_of(const mica__conv_dims *d, const plan *p) {
  return round_up(p->images * p->pitch + p->before + d->pad[2] + (d->filter[2] - 1) * d->dilation[2], VW) + VW;
}

static plan plan_of(const mica__conv_dims *d, const mica__variant *variant) {
  int64_t in_registers = variant->values[ROWS], reach = (d->filter[2] - 1) * d->dilation[2];
  int64_t beyond = (d->out[2] - 1) * d->stride[2] + reach + 1 - d->pad[2] - d->in[2];
  plan p = {.images = 1};
  /* Neighbours share the zeros between them. What a chunk reads at a stride may leave elements of x over. */
  p.pitch = mica__most(d->out[2] + reach / d->stride[2], mica__ceil_div(d->in[2] + d->pad[2], d->stride[2]));
  if (d->stride[2] == 1)
    p.pitch = mica__most(d->out[2], mica__most(d->in[2] + mica__most(d->pad[2], beyond),
                                               d->out[2] + reach - mica__least(d->pad[2], beyond)));
  /* Rows are stored in whole vectors, of which few should lie in two lines of a cache. */
  if (d->stride[2] == 1) p.pitch = round_up(p.pitch, VW / 2);
  p.before = round_up(d->pad[2], VW * d->stride[2]) - d->pad[2];
  p.before -= p.before % d->stride[2];
  p.rows = round_up(d->out[1], in_registers);
  p.row = row_of(d, &p);
  p.images = copied(d, p.rows, p.row) <= CHUNK ? mica__least(d->n, CHUNK / copied(d, p.rows, p.pitch)) : 1;
  while (p.images > 1 && copied(d, p.rows, row_of(d, &p)) > CHUNK) p.images--;
  p.images = mica__ceil_div(d->n, mica__ceil_div(d->n, p.images));
  p.row = row_of(d, &p);
  while (p.rows > in_registers && copied(d, p.rows, p.row) > CHUNK) p.rows = round_up(p.rows / 2, in_registers);
  p.scratch = copied(d, p.rows, p.row) + d->filter[1] * d->filter[2] * VW;
  return p;
}

static const mica__variant *choose_variant(const mica__conv_dims *d) {
  return &variants[d->filter[1] * d->filter[2] <= FEW_SUMS];
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *kernel = &mica__conv_filter_lanes_kernel;
  if (conv->dtype == MICA_F64) return "its sums are float";
  if (d->c != 1) return "filters see several channels";
  if (d->in[0] != 1 || d->filter[0] != 1 || d->out[0] != 1) return "the images have a depth";
  if (mica__kernel_choice(kernel, "FR", (int32_t)mica__least(d->filter[1], INT32_MAX)) < 0 ||
      mica__kernel_choice(kernel, "FS", (int32_t)mica__least(d->filter[2], INT32_MAX)) < 0)
    return "the filter is large";
  if (d->dilation[1] != 1 || d->stride[1] > 2) return "rows are far apart";
  return plan_of(d, &variants[1]).scratch > MOST_CHUNK ? "a row of an image is too long" : NULL;
}

static const char *decline(const void *problem, const mica_device_info *device) {
  const mica__conv *conv = problem;
  if (mica__kernel_class(device) != MICA__ON_CPU) return "it is for CPUs";
  if (conv->dims.k >= MANY_FILTERS) return "many filters see each channel";
  size_t scratch = (size_t)plan_of(&conv->dims, choose_variant(&conv->dims)).scratch * sizeof(float);
  return scratch > device->local_bytes ? "local memory does not take a row" : NULL;
}

static mica_status launch_filter_lanes(mica_queue *queue, const void *problem, const mica__variant *variant) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__kernel_desc *desc = &mica__conv_filter_lanes_kernel;
  mica__kernel *kernel = NULL;
  int32_t values[MICA__MAX_PARAMS];
  if (!variant) variant = choose_variant(d);
  plan p = plan_of(d, variant);
  mica__kernel_values(desc, variant, values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "FR", (int32_t)d->filter[1]);
  mica__kernel_set(desc, values, "FS", (int32_t)d->filter[2]);
  mica__kernel_set(desc, values, "STEP", (int32_t)d->stride[1]);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__conv_push_dims(&launch, d);
  mica__launch_int8(&launch,
                    (int32_t[]){(int32_t)p.images, (int32_t)p.pitch, (int32_t)p.rows, (int32_t)p.row, 0, 0, 0, 0});
  mica__launch_tensor(&launch, conv->x);
  mica__launch_tensor(&launch, conv->y);
  mica__launch_tensor(&launch, conv->w);
  mica__launch_local(&launch, (size_t)p.scratch * sizeof(float));
  mica__launch_range1(&launch, d->groups * d->k, 1);
  mica__gemm_cost(&launch, &conv->result);
  return mica__queue_submit(queue, &launch);
}

const mica__impl mica__conv_filter_lanes = {.name = "conv_filter_lanes",
                                            .kernel = &mica__conv_filter_lanes_kernel,
                                            .unable = unable,
                                            .decline = decline,
                                            .launch = launch_filter_lanes};
