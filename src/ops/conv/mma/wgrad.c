/* The weight gradient on matrix units, with its pixels divided among work-groups (cl/conv/mma/wgrad.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/gpu/channels_last.h"
#include "ops/conv/gpu/splits.h"
#include "ops/select/mma.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#define VALUES MICA_F32, 2, 0

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x and y", MICA__CONV_TYPES),
    MICA__CASE("DIMS", "dimensions that taps move in: 2 height and width, 3 depth too", 2, 3),
    MICA__CASE("PLAIN", "1: a filter of one element, channels first", 0, 1),
    MICA__MMA_PARAMS(MICA__CASE),
};
static const mica__variant variants[] = {
    MICA__MMA_PTX_128X128(VALUES), MICA__MMA_PTX_64X128(VALUES), MICA__MMA_PTX_64X64(VALUES),
    MICA__MMA_OTHERS(VALUES),      MICA__MMA_EMULATIONS(VALUES),
};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__conv_gpu_wgrad_mma_kernel = {
    MICA__KERNEL("conv_gpu_wgrad_mma", "conv/mma/wgrad.cl", params, variants), .has_room = has_room};

static bool has_room(const int32_t *values, const mica_device_info *device) {
  return mica__mma_has_room(&mica__conv_gpu_wgrad_mma_kernel, values, device);
}

static const mica__kernel_param add_params[] = {MICA__DTYPE("D_T", "type of w", MICA__CONV_TYPES)};
static const mica__variant add_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32)};
const mica__kernel_desc mica__conv_gpu_wgrad_mma_add_kernel = {
    MICA__KERNEL("conv_gpu_wgrad_mma_add", "conv/mma/wgrad_add.cl", add_params, add_variants)};

/* The most pixels of y, pieces of x and of y, and elements of the padded gradient: ints count them, and a tile that
 * begins below this still ends within an int. */
#define MOST_POSITIONS (INT32_MAX - 65536)
#define PIECE_BYTES 16
#define SPLIT_MAX 512

static int64_t piece_of(const mica__conv *conv) { return PIECE_BYTES / (int64_t)mica_dtype_size(conv->dtype); }

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (mica__kernel_choice(&mica__conv_gpu_wgrad_mma_kernel, "D_T", (int32_t)conv->dtype) < 0)
    return "matrix units do not multiply this type";
  const double in = (double)d->n * (double)mica__product3(d->in) * (double)d->groups;
  const double out = (double)d->n * (double)mica__product3(d->out) * (double)d->groups;
  if (out == 0 || in == 0) return "there are no pixels";
  if ((conv->last & MICA__CONV_X_LAST && !mica__conv_begins_piece(conv->x)) ||
      (conv->last & MICA__CONV_Y_LAST && !mica__conv_begins_piece(conv->y)))
    return "x or y is not aligned";
  const double x = in * (double)mica__conv_pieces(conv->dtype, d->c);
  const double y = (out + 64) * (double)mica__conv_pieces(conv->dtype, d->k);
  if (x > MOST_POSITIONS || y > MOST_POSITIONS) return "x or y is too large";
  const double columns = (double)mica__product3(d->filter) * (double)(d->c + PIECE_BYTES);
  if ((double)(d->groups * (d->k + 128)) * (columns + 128) > MOST_POSITIONS) return "the filters are too large";
  return out > MOST_POSITIONS ? "there are too many elements for positions in 32 bits" : NULL;
}

bool mica__conv_wgrad_is_plain(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  const int64_t piece = piece_of(conv);
  if (conv->last) return false;
  for (int i = 0; i < 3; i++)
    if (d->filter[i] != 1 || d->stride[i] != 1 || d->pad[i] != 0 || d->in[i] != d->out[i]) return false;
  return mica__product3(d->out) % piece == 0 && mica__tensor_first(conv->x) % piece == 0 &&
         mica__tensor_first(conv->y) % piece == 0;
}

MICA__TASK_PLAN(mica__mma_plan)

static void plan_task(mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const int64_t columns = mica__product3(d->filter) * mica__conv_pieces(conv->dtype, d->c) * piece_of(conv);
  const int64_t steps = mica__ceil_div(d->n * mica__product3(d->out), MICA__MMA_STEP * piece_of(conv));
  const mica__tiled product = {d->k, columns, steps, d->groups};
  mica__mma_plan plan = mica__mma_choose(&mica__conv_gpu_wgrad_mma_kernel, task, &product, SPLIT_MAX);
  /* All parts but the last have the same number of steps, and the last is not empty. */
  plan.splits = mica__ceil_div(steps, mica__ceil_div(steps, plan.splits));
  keep_plan(task, plan);
}

/* As in ops/conv/mma/forward.c. */
#define FEWEST_ROWS 16
#define FEWEST_OF_A_PIECE 4

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const char *reason = mica__mma_missing(&mica__conv_gpu_wgrad_mma_kernel, conv->dtype, task->device, task->engine);
  if (reason) return reason;
  if (conv->dtype == MICA_F32 && !conv->allow_tf32) return "the products are not allowed to round to tf32";
  if (!mica__kernel_variant(&mica__conv_gpu_channels_last_kernel, task->device))
    return "the device's work-groups are too small";
  if (conv->dims.k < FEWEST_ROWS) return "there are fewer filters than an instruction has rows";
  return conv->dims.c * FEWEST_OF_A_PIECE < piece_of(conv) ? "there are too few channels" : NULL;
}

/* Passes an operand with its channels last: the copy, or the tensor itself if copy is NULL. */
static void push_last(mica__launch *launch, mica_buffer *copy, const mica_tensor *tensor) {
  if (copy)
    mica__launch_buffer(launch, copy, 0);
  else
    mica__launch_buffer(launch, mica__tensor_buffer(tensor), mica__conv_first_piece(tensor));
}

/* Writes the sums of all parts to `partial`. x, y: copies with channels last; NULL where the kernel reads the tensor
 * itself. */
static mica_status multiply(mica_queue *queue, const mica__task *task, bool plain, mica_buffer *y, mica_buffer *x,
                            mica_buffer *partial) {
  const mica__kernel_desc *desc = &mica__conv_gpu_wgrad_mma_kernel;
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const mica__mma_plan *plan = plan_of(task);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__mma_check(mica__queue_engine(queue), desc, plan->variant, conv->dtype));
  mica__kernel_values(desc, plan->variant, values);
  const mica__mma_tile tile = mica__mma_tile_of(desc, values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  mica__kernel_set(desc, values, "PLAIN", plain);
  mica__kernel_set(desc, values, "DIMS",
                   plain || (d->in[0] == 1 && d->out[0] == 1 && d->filter[0] == 1 && d->pad[0] == 0) ? 2 : 3);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__conv_push_dims(&launch, d);
  mica__conv_push_split(&launch, d, MICA__MMA_STEP * piece_of(conv), plan->splits);
  if (plain) {
    mica__launch_tensor(&launch, conv->y);
    mica__launch_tensor(&launch, conv->x);
  } else {
    push_last(&launch, y, conv->y);
    push_last(&launch, x, conv->x);
  }
  mica__launch_buffer(&launch, partial, 0);
  const int64_t columns = mica__product3(d->filter) * mica__conv_pieces(conv->dtype, d->c) * piece_of(conv);
  const int64_t groups = mica__ceil_div(d->k, tile.m) * mica__ceil_div(columns, tile.n) * d->groups * plan->splits;
  mica__launch_range1(&launch, groups * (int64_t)tile.threads, tile.threads);
  mica__conv_cost(&launch, conv, 1);
  return mica__queue_submit(queue, &launch);
}

static mica_status add(mica_queue *queue, const mica__conv *conv, int64_t splits, mica_buffer *partial) {
  const mica__kernel_desc *desc = &mica__conv_gpu_wgrad_mma_add_kernel;
  const mica__conv_dims *d = &conv->dims;
  const int64_t channels = mica__conv_pieces(conv->dtype, d->c) * piece_of(conv);
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &add_variants[0], values);
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_size(&launch, conv->rows);
  mica__launch_size(&launch, d->c);
  mica__launch_size(&launch, mica__product3(d->filter));
  mica__launch_size(&launch, channels);
  mica__launch_size(&launch, splits);
  mica__launch_buffer(&launch, partial, 0);
  mica__launch_tensor(&launch, conv->w);
  const int64_t count = conv->rows * mica__product3(d->filter) * channels;
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, (double)(count * splits), (double)(count * splits) * sizeof(float));
  return mica__queue_submit(queue, &launch);
}

static mica_status launch_wgrad(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const int64_t splits = plan_of(task)->splits;
  const int64_t channels = mica__conv_pieces(conv->dtype, d->c) * piece_of(conv);
  const size_t sums = (size_t)(splits * conv->rows * mica__product3(d->filter) * channels);
  mica_buffer *x = NULL, *y = NULL, *partial = NULL;
  const bool plain = mica__conv_wgrad_is_plain(conv);
  mica_status status = mica__workspace_create(queue, sums * sizeof(float), &partial);
  if (status == MICA_OK && !plain && !(conv->last & MICA__CONV_Y_LAST))
    status = mica__conv_channels_last(queue, conv->y, d->n, d->groups, d->k, mica__product3(d->out), &y);
  if (status == MICA_OK && !plain && !(conv->last & MICA__CONV_X_LAST))
    status = mica__conv_channels_last(queue, conv->x, d->n, d->groups, d->c, mica__product3(d->in), &x);
  if (status == MICA_OK) status = multiply(queue, task, plain, y, x, partial);
  if (status == MICA_OK) status = add(queue, conv, splits, partial);
  mica_buffer_destroy(x);
  mica_buffer_destroy(y);
  mica_buffer_destroy(partial);
  return status;
}

const mica__impl mica__conv_gpu_wgrad_mma = {.name = "conv_gpu_wgrad_mma",
                                             .kernel = &mica__conv_gpu_wgrad_mma_kernel,
                                             .unable = unable,
                                             .plan = plan_task,
                                             .decline = decline,
                                             .launch = launch_wgrad};
