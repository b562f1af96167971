/* Weight gradients of bf16 on the matrix unit of Intel's CPUs (cl/conv/cpu/wgrad_tiles.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/conv.h"
#include "ops/matmul/cpu/amx_operand.h"
#include "runtime/fields.h"

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA_BF16),
    MICA__TILES_PARAM,
};
static const mica__variant variants[] = {MICA__TILES_VARIANTS(MICA_BF16, MICA_F32, MICA_F32, 2)};
const mica__kernel_desc mica__conv_cpu_wgrad_tiles_kernel = {
    MICA__KERNEL("conv_cpu_wgrad_tiles", "conv/cpu/wgrad_tiles.cl", params, variants)};

#define SIDE MICA__TILES_SIDE
#define PITCH (SIDE * SIDE + 16)
#define LINES 4
/* With fewer channels or filters tiles are mostly padding. */
#define FEWEST_CHANNELS 16
/* Larger planes are copied more slowly than they are multiplied in f32. */
#define MOST_PIXELS 1024
/* The bytes of operands of a block of rows: half of a second-level cache of 2 MB. */
#define BLOCK_BYTES (1 << 20)

static mica__tiles_cut cut_of(const mica__conv *conv) { return mica__tiles_cut_of(conv->dims.n, 2); }

static size_t scratch_of(const mica__conv_dims *d) {
  return (size_t)(mica__product3(d->filter) * (PITCH + LINES * SIDE) + LINES * 16) * sizeof(float);
}

static int64_t rows_of(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  int64_t pixels = d->out[2] + d->in[2] * d->stride[1], bytes = 4 * SIDE * cut_of(conv).steps;
  return mica__max(1, BLOCK_BYTES / mica__max(1, pixels * bytes));
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  if (mica__needs_cpu(task->device)) return mica__needs_cpu(task->device);
  if (d->c < FEWEST_CHANNELS || d->k < FEWEST_CHANNELS) return "there are too few channels or filters";
  if (4 * d->n < 3 * SIDE * mica__ceil_div(d->n, SIDE))
    return "the batch would leave over a quarter of the tiles empty";
  if (mica__max(mica__product3(d->in), mica__product3(d->out)) > MOST_PIXELS) return "planes are too large";
  if (mica__ceil_div(d->k, SIDE) * mica__ceil_div(d->c, SIDE) < (int64_t)task->device->compute_units)
    return "there are fewer panels than cores";
  if (scratch_of(d) > task->device->local_bytes) return "the sums do not fit in local memory";
  return mica__tiles_missing(task->device);
}

static mica_status pack(mica_queue *queue, const mica__conv *conv, bool rows, mica_tensor **packed) {
  const mica__conv_dims *d = &conv->dims;
  int64_t pixels = mica__product3(rows ? d->out : d->in), channels = rows ? d->k : d->c;
  const mica__tiles_operand operand = {.tensor = rows ? conv->y : conv->x,
                                       .rows = rows,
                                       .per = 2,
                                       .batches = pixels,
                                       .batch = 1,
                                       .outer = channels,
                                       .outer_step = pixels,
                                       .k = d->n,
                                       .k_step = channels * pixels};
  return mica__tiles_pack(queue, &operand, cut_of(conv), packed);
}

MICA__FIELDS(shape_fields, WGRAD_TILES_SHAPE);
static mica_status multiply(mica_queue *queue, const mica__conv *conv, const mica__variant *variant,
                            const mica_tensor *y, const mica_tensor *x) {
  const mica__kernel_desc *desc = &mica__conv_cpu_wgrad_tiles_kernel;
  int32_t values[MICA__MAX_PARAMS];
  mica__launch launch;
  mica__kernel_values(desc, variant, values);
  MICA_TRY(mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  mica__conv_push_dims(&launch, &conv->dims);
  const mica__tiles_cut cut = cut_of(conv);
  const int64_t rows = mica__min(rows_of(conv), conv->dims.out[1] + 1);
  mica__launch_sizes(&launch, (shape_fields){.rows = rows, .steps = cut.steps, .words = cut.words}.values);
  mica__launch_tensor(&launch, y);
  mica__launch_tensor(&launch, x);
  mica__launch_local(&launch, scratch_of(&conv->dims));
  const int64_t groups[] = {mica__ceil_div(conv->dims.c, SIDE), mica__ceil_div(conv->dims.k, SIDE), 1};
  mica__launch_range3(&launch, groups, (size_t[]){1, 1, 1});
  return mica__conv_end(queue, &launch, conv);
}

static mica_status launch_tiles(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__variant *variant = task->variant ? task->variant : &variants[0];
  mica_tensor *y = NULL, *x = NULL;
  MICA_TRY(mica__tiles_check(task->device, &mica__conv_cpu_wgrad_tiles_kernel, variant));
  mica_status status = pack(queue, conv, true, &y);
  if (status == MICA_OK) status = pack(queue, conv, false, &x);
  if (status == MICA_OK) status = multiply(queue, conv, variant, y, x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  return status;
}

const mica__impl mica__conv_cpu_wgrad_tiles = {.name = "conv_cpu_wgrad_tiles",
                                               .kernel = &mica__conv_cpu_wgrad_tiles_kernel,
                                               .unable = mica__conv_tiles_unable,
                                               .decline = decline,
                                               .launch = launch_tiles};
