/* Forward and backward data on matrix units, several phases in one launch (cl/conv/mma/forward.cl). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/gpu/channels_last.h"
#include "ops/conv/gpu/splits.h"
#include "ops/conv/phase.h"
#include "ops/select/mma.h"
#include "runtime/fields.h"
#include "runtime/tensor.h"
#include "runtime/workspace.h"

#include <math.h>

#define VALUES MICA__CONV_VALUES, 2, 1, 0, 0

static const mica__kernel_param params[] = {
    MICA__CONV_PARAMS(MICA__CONV_TYPES),
    MICA__CASE("DIMS", "dimensions that taps move in: 2 height and width, 3 depth too", 2, 3),
    MICA__CASE("PHASES", "phases of a launch: 1, or up to 4", 1, 4),
    MICA__CASE("SPLIT_K", "1: partial sums for gemm_splitk", 0, 1),
    MICA__CASE("RESULT_LAST", "1: the result has its channels last", 0, 1),
    MICA__MMA_PARAMS(MICA__CASE),
};
static const mica__variant variants[] = {
    MICA__MMA_PTX_128X128(VALUES), MICA__MMA_PTX_64X128(VALUES), MICA__MMA_PTX_64X64(VALUES),
    MICA__MMA_OTHERS(VALUES),      MICA__MMA_EMULATIONS(VALUES),
};
static bool has_room(const int32_t *values, const mica_device_info *device);
const mica__kernel_desc mica__conv_gpu_mma_kernel = {
    MICA__KERNEL("conv_gpu_mma", "conv/mma/forward.cl", params, variants), .has_room = has_room};

static bool has_room(const int32_t *values, const mica_device_info *device) {
  return mica__mma_has_room(&mica__conv_gpu_mma_kernel, values, device);
}

static const mica__kernel_param weights_params[] = {MICA__CASE("SIZE", "bytes of an element", 2, 4)};
static const mica__variant weights_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 2)};
const mica__kernel_desc mica__conv_gpu_mma_weights_kernel = {
    MICA__KERNEL("conv_gpu_mma_weights", "conv/mma/weights.cl", weights_params, weights_variants)};

/* The largest number of columns, of pieces of the images that a tile reads, and of bytes of packed weights: a tile
 * that begins below it still ends within an int. */
#define MOST_POSITIONS (INT32_MAX - 65536)
#define WIDEST_TILE 128
#define PIECE_BYTES 16

static bool is_source_last(const mica__conv *conv) {
  return conv->last & (conv->pass == MICA__CONV_FWD ? MICA__CONV_X_LAST : MICA__CONV_Y_LAST);
}

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  if (mica__kernel_choice(&mica__conv_gpu_mma_kernel, "D_T", (int32_t)conv->dtype) < 0)
    return "matrix units do not multiply this type";
  if (is_source_last(conv) && !mica__conv_begins_piece(mica__conv_source(conv))) return "the source is not aligned";
  if (mica__conv_is_result_last(conv) && !mica__conv_begins_piece(conv->epilogue.d.tensor))
    return "the result is not aligned";
  if (mica__conv_is_result_last(conv) &&
      conv->rows / conv->dims.groups % (PIECE_BYTES / (int64_t)mica_dtype_size(conv->dtype)))
    return "the result's channels are no whole pieces";
  double weights = 0;
  for (int64_t i = 0; i < mica__conv_phase_count(conv); i++) {
    const mica__conv_phase w = mica__conv_phase_at(conv, i);
    const double pixels = (double)mica__max(1, mica__product3(w.out));
    const double pieces = (double)mica__conv_pieces(conv->dtype, w.c), taps = (double)mica__product3(w.taps);
    /* The most images that a tile's columns belong to; the bound below is halved, because the offset of a tap may lead
     * outside of these images. */
    const double images = fmin((double)w.n, WIDEST_TILE / pixels + 2);
    if (mica__product3(w.in) == 0) return "the source is empty";
    if (pieces * (double)mica__product3(w.in) * images > MOST_POSITIONS / 2) return "an image is too large";
    weights += (double)(w.groups * (w.k + WIDEST_TILE)) * (taps * pieces + 8) * PIECE_BYTES;
    if ((double)w.n * pixels > MOST_POSITIONS || weights > MOST_POSITIONS)
      return "there are too many elements for positions in 32 bits";
  }
  return NULL;
}

/* FEWEST_ROWS: the rows of one instruction. FEWEST_OF_A_PIECE: channels are padded to pieces of 16 bytes; if they fill
 * less than 1 / FEWEST_OF_A_PIECE of a piece, most products are by padding. */
#define FEWEST_ROWS 16
#define FEWEST_OF_A_PIECE 4

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_phase w = mica__conv_phase_at(conv, 0);
  const char *reason = mica__mma_missing(&mica__conv_gpu_mma_kernel, conv->dtype, task->device, task->engine);
  if (reason) return reason;
  if (conv->dtype == MICA_F32 && !conv->allow_tf32) return "the products are not allowed to round to tf32";
  if (!mica__kernel_variant(&mica__conv_gpu_channels_last_kernel, task->device))
    return "the device's work-groups are too small";
  if (w.k < FEWEST_ROWS) return "the result has fewer channels than an instruction has rows";
  const int64_t piece = PIECE_BYTES / (int64_t)mica_dtype_size(conv->dtype);
  return w.c * FEWEST_OF_A_PIECE < piece ? "there are too few channels" : NULL;
}

/* The number of pieces of a phase's packed weights. */
static int64_t pieces_of(const mica__conv *conv, const mica__conv_phase *w) {
  return w->groups * w->k * mica__product3(w->taps) * mica__conv_pieces(conv->dtype, w->c);
}

static mica_status pack(mica_queue *queue, const mica__conv *conv, mica__conv_phases phases, mica_buffer *weights) {
  const mica__kernel_desc *desc = &mica__conv_gpu_mma_weights_kernel;
  const mica__conv_phase *w = &phases.list[0];
  const int64_t size = (int64_t)mica_dtype_size(conv->dtype), piece = PIECE_BYTES / size;
  int64_t count = 0;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__kernel_values(desc, &weights_variants[0], values);
  mica__kernel_set(desc, values, "SIZE", (int32_t)size);
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  for (int i = 0; i < phases.count; i++) {
    phases.begins[i] = count;
    count += pieces_of(conv, &phases.list[i]) * piece;
  }
  mica__conv_push_phases(&launch, &phases);
  mica__launch_size(&launch, mica__conv_pieces(conv->dtype, w->c) * piece);
  mica__launch_size(&launch, count);
  mica__launch_tensor(&launch, conv->w);
  mica__conv_push_weights(&launch, &phases);
  mica__launch_buffer(&launch, weights, 0);
  mica__launch_range1(&launch, count, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, 2 * (double)(count * size));
  return mica__queue_submit(queue, &launch);
}

/* True if the kernel can read the filters in place: they have one element, their channels take a multiple of 16 bytes,
 * and so does the memory before them. */
static bool is_packed(const mica__conv *conv, const mica__conv_phase *w) {
  const int64_t piece = PIECE_BYTES / (int64_t)mica_dtype_size(conv->dtype);
  return mica__product3(w->taps) == 1 && w->w_c == 1 && w->w_k == w->c && w->w_at == 0 && w->c % piece == 0 &&
         mica__tensor_first(conv->w) % piece == 0;
}

static int64_t columns_of(const mica__conv_phase *w) { return w->n * mica__product3(w->out); }

/* True if there is one phase, and its pixels are the pixels of the result in the same order. */
static bool is_flat(const mica__conv_phases *phases) {
  const mica__conv_phase *w = &phases->list[0];
  bool flat = phases->count == 1;
  for (int i = 0; i < 3; i++) flat = flat && w->out_stride[i] == 1 && w->out[i] == w->full[i];
  return flat;
}

/* MOST_SPLITS: the most parts that the depth is divided into. LAUNCH: the cost of the launch that adds their sums,
 * about 2 us, in the unit of mica__mma_cost. */
#define MOST_SPLITS 16
#define LAUNCH 80e3

/* Chooses the fastest tiles for a product with the columns of all phases and the mean of their depths. A phase that is
 * the whole result may also have its depth divided into parts. */
static mica__mma_plan plan_products(const mica__task *task, const mica__conv_phases *phases) {
  const mica__conv *conv = task->problem;
  const mica__conv_phase *w = &phases->list[0];
  mica__tiled product = {.m = w->k, .batches = w->groups};
  double work = 0;
  for (int i = 0; i < phases->count; i++) {
    const int64_t depth = mica__product3(phases->list[i].taps) * mica__conv_pieces(conv->dtype, w->c);
    const int64_t columns = columns_of(&phases->list[i]);
    product.n += columns;
    work += (double)columns * (double)mica__ceil_div(depth, MICA__MMA_STEP);
  }
  product.k = (int64_t)(work / (double)mica__max(1, product.n) + 0.5);
  const mica__mma_plan whole = mica__mma_choose(&mica__conv_gpu_mma_kernel, task, &product, 1);
  if (!is_flat(phases)) return whole;
  const mica__mma_plan divided = mica__mma_choose(&mica__conv_gpu_mma_kernel, task, &product, MOST_SPLITS);
  return divided.splits > 1 && divided.cost + LAUNCH < whole.cost ? divided : whole;
}

MICA__FIELDS(size_fields, GPU_MMA_SIZE);
/* Launches the products of the phases. source: a copy with channels last; NULL if the operand has its channels last.
 * weights: packed; NULL to read the filters in place. partial: receives the sums if the depth is divided, else NULL. */
static mica_status multiply(mica_queue *queue, const mica__task *task, mica__conv_phases phases, mica__mma_plan plan,
                            mica_buffer *source, mica_buffer *weights, mica_buffer *partial) {
  const mica__kernel_desc *desc = &mica__conv_gpu_mma_kernel;
  const mica__conv *conv = task->problem;
  const mica__conv_phase *w = &phases.list[0];
  int64_t groups = 0, pieces = 0;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica__launch launch;
  MICA_TRY(mica__mma_check(mica__queue_engine(queue), desc, plan.variant, conv->dtype));
  mica__kernel_values(desc, plan.variant, values);
  const mica__mma_tile tile = mica__mma_tile_of(desc, values);
  const bool plane = w->in[0] == 1 && w->out[0] == 1 && w->taps[0] <= 1 && w->first[0] == 0;
  mica__kernel_set(desc, values, "DIMS", plane ? 2 : 3);
  mica__kernel_set(desc, values, "PHASES", phases.count == 1 ? 1 : MICA__CONV_TOGETHER);
  mica__kernel_set(desc, values, "SPLIT_K", partial != NULL);
  mica__kernel_set(desc, values, "RESULT_LAST", mica__conv_is_result_last(conv));
  mica__kernel_set(desc, values, "D_T", (int32_t)conv->dtype);
  MICA_TRY(partial ? mica__kernel_get(mica__queue_engine(queue), desc, values, NULL, &kernel)
                   : mica__epilogue_begin(queue, desc, values, &conv->epilogue, &launch));
  if (partial) launch = mica__launch_of(kernel);
  for (int i = 0; i < phases.count; i++) {
    phases.begins[i] = groups;
    phases.numbers[i] = pieces;
    groups += mica__ceil_div(w->k, tile.m) * mica__ceil_div(columns_of(&phases.list[i]), tile.n) * w->groups;
    pieces += pieces_of(conv, &phases.list[i]);
  }
  mica__conv_push_phases(&launch, &phases);
  mica__launch_sizes(&launch, (size_fields){.FLAT = is_flat(&phases), .SPLITS = plan.splits}.values);
  if (source)
    mica__launch_buffer(&launch, source, 0);
  else
    mica__launch_buffer(&launch, mica__tensor_buffer(mica__conv_source(conv)),
                        mica__conv_first_piece(mica__conv_source(conv)));
  if (weights)
    mica__launch_buffer(&launch, weights, 0);
  else
    mica__launch_tensor(&launch, conv->w);
  mica__launch_range1(&launch, groups * plan.splits * (int64_t)tile.threads, tile.threads);
  if (partial)
    mica__launch_buffer(&launch, partial, 0);
  else
    mica__epilogue_push(&launch, &conv->epilogue);
  mica__conv_cost(&launch, conv, mica__conv_phases_share(conv, &phases));
  return mica__queue_submit(queue, &launch);
}

/* Multiplies, then adds the parts if there are several. */
static mica_status finish(mica_queue *queue, const mica__task *task, const mica__conv_phases *phases,
                          mica_buffer *source, mica_buffer *weights) {
  const mica__conv *conv = task->problem;
  const mica__mma_plan plan = plan_products(task, phases);
  if (plan.splits == 1) return multiply(queue, task, *phases, plan, source, weights, NULL);
  mica_buffer *partial = NULL;
  const int64_t count = plan.splits * conv->images * conv->rows * conv->columns;
  MICA_TRY(mica__workspace_create(queue, (size_t)count * sizeof(float), &partial));
  mica_status status = multiply(queue, task, *phases, plan, source, weights, partial);
  if (status == MICA_OK) status = mica__conv_add_splits(queue, conv, plan.splits, partial);
  mica_buffer_destroy(partial);
  return status;
}

static mica_status launch_together(mica_queue *queue, const mica__task *task, const mica__conv_phases *phases,
                                   mica_buffer *source) {
  const mica__conv *conv = task->problem;
  mica_queue *packer = mica__conv_packer(conv, queue);
  mica_buffer *weights = NULL;
  int64_t pieces = 0;
  if (phases->count == 1 && is_packed(conv, &phases->list[0])) return finish(queue, task, phases, source, NULL);
  for (int i = 0; i < phases->count; i++) pieces += pieces_of(conv, &phases->list[i]);
  /* A buffer is needed even if no phase has taps. */
  MICA_TRY(mica__workspace_create(packer, (size_t)mica__max(1, pieces) * PIECE_BYTES, &weights));
  mica_status status = pieces > 0 ? pack(packer, conv, *phases, weights) : MICA_OK;
  if (status == MICA_OK) status = finish(queue, task, phases, source, weights);
  mica_buffer_destroy(weights);
  return status;
}

static mica_status launch_phases(mica_queue *queue, const mica__task *task) {
  const mica__conv *conv = task->problem;
  const mica__conv_dims *d = &conv->dims;
  const bool forward = conv->pass == MICA__CONV_FWD;
  mica_buffer *source = NULL;
  mica_status status = MICA_OK;
  if (!is_source_last(conv))
    status = mica__conv_channels_last(queue, mica__conv_source(conv), d->n, d->groups, forward ? d->c : d->k,
                                      mica__product3(forward ? d->in : d->out), &source);
  for (int64_t i = 0; status == MICA_OK && i < mica__conv_phase_count(conv);) {
    const mica__conv_phases phases = mica__conv_phases_at(conv, &i);
    if (phases.count > 0) status = launch_together(queue, task, &phases, source);
  }
  mica_buffer_destroy(source);
  return status;
}

const mica__impl mica__conv_gpu_mma = {.name = "conv_gpu_mma",
                                       .kernel = &mica__conv_gpu_mma_kernel,
                                       .helper = &mica__conv_gpu_mma_weights_kernel,
                                       .unable = unable,
                                       .decline = decline,
                                       .launch = launch_phases};
