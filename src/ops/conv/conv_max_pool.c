/* A convolution of few channels and the max pooling of its result as one launch on CPUs (cl/conv/cpu/conv_max_pool.cl):
 * the stems of SqueezeNet, ResNet and DenseNet. The launch does not store the result of the convolution, which would be
 * the largest tensor of these networks.
 *
 *   conv_max_pool (x, w, b)
 *
 * Its results are max_pool's. In graphs it replaces a convolution with its epilogue and max_pool where that pays, if
 * nothing uses the positions of the maxima (mica__op.match_launches). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/cpu/fields.clh"
#include "ops/conv/attrs.h"
#include "ops/conv/block.h"
#include "ops/conv/cpu/pack_weights.h"
#include "ops/pool/max_pool.h"
#include "ops/select/launch_check.h"
#include "ops/select/registry.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

#define CONV_MAX_POOL_ATTRS(X, S)                                                                                      \
  MICA__MAX_POOL_ATTRS(X, S)                                                                                           \
  X(S, SPATIAL, conv_stride, 1, "from one result of the convolution to the next")                                      \
  X(S, SPATIAL, conv_pad, 0, "zeros before the first element, and as many after the last")                             \
  X(S, SPATIAL, conv_pad_more, 0, "after the last so many more")                                                       \
  X(S, REAL, low, 0, "no result of the convolution is below")                                                          \
  X(S, REAL, high, (double)INFINITY, "and none above")
MICA__ATTR_STRUCT(conv_max_pool, CONV_MAX_POOL_ATTRS);
static MICA__ATTR_TABLE(conv_max_pool, CONV_MAX_POOL_ATTRS);

enum { X, W, B, OPERANDS };

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, b and y", MICA__CONV_TYPES),
    MICA__INT("SEG", "pixels of a segment; a register tile has two", 7, 3),
    MICA__INT("NV", "vectors of filters of a register tile", 1, 2),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 7, 2)};
static const mica__kernel_desc kernel_desc = {
    MICA__KERNEL("conv_max_pool", "conv/cpu/conv_max_pool.cl", params, variants)};
#define VW 16
/* The most taps of a filter and channels of x that the kernel takes. */
#define MOST_TAPS 49
#define MOST_CHANNELS 16

/* --- the problem --- */

typedef struct problem {
  mica__conv_dims conv;
  mica__max_pool_attrs window; /* each attribute for rows, then for columns */
  int64_t pooled[2];
} problem;

static mica_conv_config config_of(const mica__conv_max_pool_attrs *attrs) {
  mica_conv_config config = {.groups = 1};
  for (int i = 0; i < 2; i++) {
    config.stride[i] = attrs->conv_stride[i];
    config.pad[i] = attrs->conv_pad[i];
    config.pad_more[i] = attrs->conv_pad_more[i];
  }
  return config;
}

static mica_shape shape_between(const mica__conv_dims *conv) {
  return MICA_SHAPE(conv->n, conv->k, conv->out[1], conv->out[2]);
}

static mica_status problem_of(const mica__conv_max_pool_attrs *attrs, const mica__type *types, problem *p,
                              mica__type *results) {
  const mica_conv_config config = config_of(attrs);
  MICA__MAX_POOL_COPY(&p->window, attrs);
  MICA_TRY(mica__conv_dims_of(&config, types[X].shape, types[W].shape, NULL, &p->conv));
  const mica__type between = {types[X].dtype, shape_between(&p->conv)};
  MICA_TRY(mica__op_infer(&mica__op_max_pool, &between, 1, &p->window, results));
  for (int i = 0; i < 2; i++) p->pooled[i] = results->shape.dim[2 + i];
  return MICA_OK;
}

static mica_status infer(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  problem p;
  int64_t biases = 0;
  for (int32_t i = 0; i < input_count; i++)
    if (mica__shape_is_open(inputs[i].shape))
      return mica__fail(MICA_E_SHAPE, "operand %d has an open dimension, but must have a known shape", (int)i);
  if (inputs[X].shape.rank != 4)
    return mica__fail(MICA_E_SHAPE, "x has a rank of %d, but must have 4", (int)inputs[X].shape.rank);
  MICA_TRY(problem_of(attrs, inputs, &p, out));
  MICA_TRY(mica_shape_count(inputs[B].shape, &biases));
  if (biases != p.conv.k)
    return mica__fail(MICA_E_SHAPE, "there are %lld biases but %lld filters; the numbers must be equal",
                      (long long)biases, (long long)p.conv.k);
  return MICA_OK;
}

/* --- on the host --- */

static mica_status evaluate(const mica__eval *eval) {
  const mica__conv_max_pool_attrs *attrs = eval->attrs;
  mica__type results[MICA__POOL_RESULTS] = {0};
  problem p;
  MICA_TRY(problem_of(attrs, eval->types, &p, results));
  const mica__type between = {eval->types[X].dtype, shape_between(&p.conv)};
  const int64_t plane = mica__product3(p.conv.out);
  double *y = malloc(((size_t)(p.conv.n * p.conv.k * plane) + 1) * sizeof *y);
  if (!y) return mica__fail_nomem("a reference");
  mica__conv_reference(&p.conv, MICA__CONV_FWD, eval->inputs[X], eval->inputs[W], y);
  mica__block_add_bias(y, eval->inputs[B], p.conv.n, p.conv.k, plane, attrs->low, attrs->high);
  const double *const inputs[] = {y};
  mica__eval pooling = *eval;
  pooling.attrs = &p.window;
  pooling.inputs = inputs;
  pooling.types = &between;
  pooling.input_count = 1;
  const mica_status status = mica__op_max_pool.evaluate(&pooling);
  free(y);
  return status;
}

/* --- how the work is cut --- */

typedef struct plan {
  int64_t seg, nv;                 /* the kernel's SEG and NV */
  int64_t rows, strips, parts;     /* rows of the result per strip, number of strips, parts of the filters */
  int64_t pitch, source, filtered; /* pitch: columns of packed x with the same remainder modulo the stride. Per strip:
                                    * source: rows of packed x; filtered: rows of the convolution's result */
} plan;

/* A register tile has 2 SEG NV vectors of 16 sums. With AVX-512, 28 vectors of sums, two of weights and a pixel take 31
 * of the 32 registers. An AVX2 register holds half a vector: 12 halves of sums, two halves of weights and a pixel take
 * 15 of the 16 registers. */
static plan plan_for(const mica_device_info *device) {
  return device->vector_bytes >= MICA__LONG_VECTOR ? (plan){.seg = 7, .nv = 2} : (plan){.seg = 3, .nv = 1};
}

static int64_t channel_of(const problem *p, const plan *cut) { return cut->source * p->conv.stride[2] * cut->pitch; }

static size_t scratch_bytes(const problem *p, const plan *cut) {
  const int64_t panel = cut->nv * VW, x = p->conv.c * channel_of(p, cut) + VW;
  const int64_t ring = p->window.size[0] * p->conv.out[2] * panel, row = (p->pooled[1] + VW) * panel;
  return (size_t)(x + ring + row) * sizeof(float);
}

/* FINISHING, PACKING: the costs of finishing a vector of sums and of packing an element, in multiply-adds of a vector.
 * GAIN: the share of the time that a plan with more work-groups must save. */
#define FINISHING 6.0
#define PACKING 0.5
#define GAIN 0.02

/* The time of a work-group, in multiply-adds of a vector. */
static double time_of(const problem *p, const plan *cut) {
  const mica__conv_dims *c = &p->conv;
  const int64_t panels = mica__ceil_div(mica__ceil_div(c->k, cut->nv * VW), cut->parts) * cut->nv;
  const double pixels = (double)(cut->filtered * mica__ceil_div(c->out[2], cut->seg) * cut->seg);
  return (double)panels * pixels * ((double)(c->c * mica__product3(c->filter)) + FINISHING) +
         PACKING * (double)(c->c * channel_of(p, cut));
}

/* Chooses the numbers of strips and of parts with the least estimated time. A larger number is taken only if it saves
 * at least the share GAIN of the time. Returns false if the scratch memory of a strip of one row is larger than local
 * memory or than half of the second-level cache. */
static bool make_plan(const problem *p, const mica_device_info *device, plan *best) {
  const mica__conv_dims *c = &p->conv;
  const size_t cached = (size_t)mica__core_model_of(device)->l2_floats / 2 * sizeof(float);
  const size_t room = cached < device->local_bytes ? cached : (size_t)device->local_bytes;
  const int64_t images = mica__max(1, c->n), units = (int64_t)device->compute_units;
  double least = INFINITY;
  for (int64_t strips = 1; strips <= p->pooled[0]; strips++) {
    plan cut = plan_for(device);
    const int64_t panels = mica__ceil_div(c->k, cut.nv * VW);
    cut.rows = mica__ceil_div(p->pooled[0], strips);
    cut.strips = mica__ceil_div(p->pooled[0], cut.rows);
    cut.filtered = mica__min(c->out[1], (cut.rows - 1) * p->window.stride[0] + p->window.size[0]);
    cut.source = (cut.filtered - 1) * c->stride[1] + c->filter[1];
    cut.pitch = mica__ceil_div((c->out[2] - 1) * c->stride[2] + c->filter[2], c->stride[2]);
    if (cut.strips != strips || scratch_bytes(p, &cut) > room) continue;
    for (cut.parts = 1; cut.parts <= mica__min(panels, units); cut.parts++) {
      const double time = (double)mica__ceil_div(strips * cut.parts * images, units) * time_of(p, &cut);
      if (time > (1 - GAIN) * least) continue;
      least = time;
      *best = cut;
    }
  }
  return least < INFINITY;
}

/* True if the kernel, which counts in ints, can compute the problem. */
static bool fits(const problem *p, const mica_device_info *device) {
  const mica__conv_dims *c = &p->conv;
  for (int i = 0; i < 2; i++) {
    if (!mica__block_pools(&p->window, i, c->out[1 + i], p->pooled[i])) return false;
    if (c->pad[1 + i] < 0 || c->pad[1 + i] >= c->filter[1 + i] || c->dilation[1 + i] != 1) return false;
    if (c->in[1 + i] > MICA__BLOCK_MOST_SIDE || c->stride[1 + i] > MICA__BLOCK_MOST_SIDE) return false;
  }
  return c->groups == 1 && c->c > 0 && c->c <= MOST_CHANNELS && mica__product3(c->filter) <= MOST_TAPS &&
         c->k < INT32_MAX / VW / MOST_CHANNELS / MOST_TAPS && c->out[2] >= plan_for(device).seg;
}

/* --- the launch --- */

static mica_status pack(const mica__exec *exec, const problem *p, mica_buffer **packed) {
  const mica__conv conv = {.w = exec->inputs[W], .dtype = mica_tensor_dtype(exec->output)};
  const mica__conv_phase phase = mica__conv_phase_forward(&p->conv);
  mica_queue *queue = exec->prologue && (exec->constant & 1u << W) ? exec->prologue : exec->queue;
  const int64_t count = mica__conv_packed_count(&phase, VW);
  MICA_TRY(mica__workspace_create(queue, (size_t)(count + 1) * sizeof(float), packed));
  const mica_status status = mica__conv_cpu_pack_weights(queue, &conv, &phase, VW, p->conv.c, *packed, 0);
  if (status != MICA_OK) mica_buffer_destroy(*packed);
  return status;
}

MICA__FIELDS(size_fields, CONV_MAX_POOL_SIZE);
MICA__FIELDS(filter_fields, CONV_MAX_POOL_FILTER);
MICA__FIELDS(window_fields, CONV_MAX_POOL_WINDOW);
static mica_status launch_strips(const mica__exec *exec, const problem *p, const plan *cut, mica_buffer *packed) {
  const mica__conv_max_pool_attrs *attrs = exec->attrs;
  const mica__conv_dims *c = &p->conv;
  const mica__max_pool_attrs *w = &p->window;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  double bytes = (double)mica_tensor_bytes(exec->output);
  MICA_TRY(mica__exec_values(exec, &kernel_desc, values));
  mica__kernel_set(&kernel_desc, values, "D_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(&kernel_desc, values, "SEG", (int32_t)cut->seg);
  mica__kernel_set(&kernel_desc, values, "NV", (int32_t)cut->nv);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &kernel_desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const size_fields size = {.C = c->c,
                            .M = c->k,
                            .IN1 = c->in[1],
                            .IN2 = c->in[2],
                            .OUT1 = c->out[1],
                            .OUT2 = c->out[2],
                            .POOL1 = p->pooled[0],
                            .POOL2 = p->pooled[1]};
  const filter_fields filter = {.R1 = c->filter[1],
                                .R2 = c->filter[2],
                                .STEP1 = c->stride[1],
                                .STEP2 = c->stride[2],
                                .PAD1 = c->pad[1],
                                .PAD2 = c->pad[2],
                                .channel = channel_of(p, cut),
                                .pitch = cut->pitch};
  const window_fields window = {.SIDE1 = w->size[0],
                                .SIDE2 = w->size[1],
                                .EVERY1 = w->stride[0],
                                .EVERY2 = w->stride[1],
                                .BEFORE1 = w->pad[0],
                                .BEFORE2 = w->pad[1],
                                .ROWS = cut->rows,
                                .PARTS = cut->parts};
  mica__launch_sizes(&launch, size.values);
  mica__launch_sizes(&launch, filter.values);
  mica__launch_sizes(&launch, window.values);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_tensor(&launch, exec->inputs[B]);
  mica__launch_local(&launch, scratch_bytes(p, cut));
  mica__launch_tensor(&launch, exec->output);
  mica__launch_float(&launch, (float)attrs->low);
  mica__launch_float(&launch, (float)attrs->high);
  mica__launch_range3(&launch, (int64_t[]){cut->strips, cut->parts, c->n}, (size_t[]){1, 1, 1});
  for (int32_t i = 0; i < exec->input_count; i++) bytes += (double)mica_tensor_bytes(exec->inputs[i]);
  mica__launch_cost(&launch, mica__conv_flops(c), bytes);
  return mica__queue_submit(exec->queue, &launch);
}

/* Launches the convolution and the pooling one by one, if the kernel cannot compute them or if the positions of the
 * maxima are wanted. */
static mica_status launch_apart(const mica__exec *exec, const problem *p) {
  const mica__conv_max_pool_attrs *attrs = exec->attrs;
  const mica_conv_config config = config_of(attrs);
  mica_tensor *y = NULL;
  MICA_TRY(mica__workspace_tensor(exec->queue, mica_tensor_dtype(exec->output), shape_between(&p->conv), &y));
  mica_status status =
      mica__block_launch_part(exec, &config, exec->inputs[X], W, B, mica__block_epilogue(attrs->low, attrs->high), y);
  const mica_tensor *const inputs[] = {y};
  mica__exec pooling = *exec;
  pooling.attrs = &p->window;
  pooling.inputs = inputs;
  pooling.input_count = 1;
  pooling.constant = pooling.held = pooling.lends = 0;
  pooling.prologue = NULL;
  if (status == MICA_OK) status = mica__op_max_pool.launch(&pooling);
  mica_tensor_destroy(y);
  return status;
}

static mica_status launch(const mica__exec *exec) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  mica__type types[OPERANDS], results[MICA__POOL_RESULTS] = {0};
  mica_buffer *packed = NULL;
  problem p;
  plan cut;
  for (int i = 0; i < OPERANDS; i++)
    types[i] = (mica__type){mica_tensor_dtype(exec->inputs[i]), mica_tensor_shape(exec->inputs[i])};
  MICA_TRY(problem_of(exec->attrs, types, &p, results));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  const bool takes = mica__exec_takes(exec, &kernel_desc) &&
                     mica__exec_takes(exec, &mica__conv_cpu_pack_weights_kernel) && types[X].dtype != MICA_F64 &&
                     !(exec->outputs && exec->outputs[MICA__POOL_INDICES]);
  if (!takes || !fits(&p, device) || !make_plan(&p, device, &cut)) return launch_apart(exec, &p);
  MICA_TRY(pack(exec, &p, &packed));
  const mica_status status = launch_strips(exec, &p, &cut, packed);
  mica_buffer_destroy(packed);
  return status;
}

/* --- finding a convolution and its pooling in graphs --- */

/* The most channels of the image. With more, other convolutions are faster. This was measured for one image, so batches
 * of more images are refused. */
#define MOST_OF_STEM 4
/* Bytes of a vector register of AVX2. */
#define LEAST_VECTOR 32

static bool pays(const problem *p, mica_engine *engine) {
  const mica_device_info *device = mica_engine_device(engine);
  plan cut;
  return !mica__needs_cpu(device) && device->vector_bytes >= LEAST_VECTOR && p->conv.n == 1 &&
         p->conv.c <= MOST_OF_STEM && p->conv.k >= VW && fits(p, device) && make_plan(p, device, &cut) &&
         !mica__variant_is_bad(engine, &kernel_desc, &variants[0]) && !mica__conv_packing_is_bad(engine);
}

static bool match(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                  void *given) {
  const mica_graph *graph = match->graph;
  const mica__node *pool = mica__graph_node(graph, root);
  mica__conv_max_pool_attrs *attrs = given;
  if (pool->op != &mica__op_max_pool || pool->type.shape.rank != 4 || pool->type.dtype == MICA_F64) return false;
  const int32_t id = pool->inputs[0];
  if (!mica__block_is_part(graph, id, &attrs->low, &attrs->high)) return false;
  const mica__node *conv = mica__graph_node(graph, id);
  const mica__conv_attrs *c = conv->attrs;
  if (c->groups != 1 || c->addend) return false;
  inputs[X] = conv->inputs[0];
  inputs[W] = conv->inputs[1];
  inputs[B] = conv->inputs[c->bias];
  *count = OPERANDS;
  for (int i = 0; i < 3; i++) {
    attrs->conv_stride[i] = c->stride[i];
    attrs->conv_pad[i] = c->pad[i];
    attrs->conv_pad_more[i] = c->pad_more[i];
  }
  MICA__MAX_POOL_COPY(attrs, (const mica__max_pool_attrs *)pool->attrs);
  mica__type types[OPERANDS], results[MICA__POOL_RESULTS] = {0};
  for (int32_t i = 0; i < OPERANDS; i++) {
    types[i] = mica__graph_node(graph, inputs[i])->type;
    if (types[i].dtype != pool->type.dtype) return false;
  }
  problem p;
  return problem_of(attrs, types, &p, results) == MICA_OK && pays(&p, engine);
}

/* --- the descriptor --- */

static double flops(const mica__node *node, const mica__type *inputs) {
  mica__type results[MICA__POOL_RESULTS] = {0};
  problem p;
  return problem_of(node->attrs, inputs, &p, results) == MICA_OK ? mica__conv_flops(&p.conv) : 0;
}

/* Images; channels, rows and columns of x; filters and their rows and columns. */
#define CASE(how, type, n, c, h, w, k, r, s)                                                                           \
  {                                                                                                                    \
    .attrs = &(how), .inputs = {{type, {4, {n, c, h, w}}}, {type, {4, {k, c, r, s}}}, {type, {1, {k}}}},               \
    .input_count = OPERANDS, .terms = (c) * (r) * (s), .unwanted = 1u << MICA__POOL_INDICES                            \
  }

/* The cases cover strides and padding of the convolution and of the windows; windows that overlap, that touch, and that
 * leave rows out; panels that are not full; segments that overlap; and all dtypes of the kernel. The kernel does not
 * take the last case, whose rows are shorter than a segment. */
static mica_status check(mica__check *check) {
#define HOW(conv_s, conv_p, side, every, before, ceil)                                                                 \
  {                                                                                                                    \
    .size = {side, side}, .stride = {every, every}, .pad = {before, before}, .pad_end = {before, before},              \
    .dilation = {1, 1, 1}, .ceil_mode = {ceil, ceil}, .conv_stride = {conv_s, conv_s, 1},                              \
    .conv_pad = {conv_p, conv_p}, .low = 0, .high = (double)INFINITY                                                   \
  }
  static const mica__conv_max_pool_attrs squeeze = HOW(2, 0, 3, 2, 0, 1), residual = HOW(2, 3, 3, 2, 1, 0),
                                         touch = HOW(1, 1, 2, 2, 0, 0), apart = HOW(3, 1, 2, 3, 1, 0),
                                         dense = HOW(1, 0, 3, 1, 1, 0);
  const mica__launch_case list[] = {
      CASE(squeeze, MICA_F32, 1, 3, 33, 47, 64, 3, 3),  CASE(residual, MICA_F32, 1, 3, 40, 36, 33, 7, 7),
      CASE(touch, MICA_F32, 2, 1, 9, 14, 7, 3, 3),      CASE(apart, MICA_F32, 1, 16, 30, 26, 48, 2, 3),
      CASE(dense, MICA_F32, 1, 2, 8, 9, 20, 1, 3),      CASE(residual, MICA_F16, 1, 3, 21, 30, 40, 5, 5),
      CASE(squeeze, MICA_BF16, 1, 3, 21, 50, 16, 3, 3), CASE(touch, MICA_F32, 1, 3, 4, 2, 5, 3, 3),
  };
  return mica__check_launches(check, &mica__op_conv_max_pool, "convolutions and max pooling", list,
                              sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&kernel_desc, NULL};
const mica__op mica__op_conv_max_pool = {.name = "conv_max_pool",
                                         .kernels = kernels,
                                         .check = check,
                                         .kind = MICA__OP_LAUNCH,
                                         .min_inputs = OPERANDS,
                                         .max_inputs = OPERANDS,
                                         .results = MICA__POOL_RESULTS,
                                         .attrs = &mica__conv_max_pool_attr_list,
                                         .dtypes = "f00>0s",
                                         .infer = infer,
                                         .evaluate = evaluate,
                                         .launch = launch,
                                         .match_launches = match,
                                         .flops = flops};
