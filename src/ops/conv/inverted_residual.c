/* The block of MobileNetV2 as one launch on CPUs (cl/conv/cpu/inverted_residual.cl). Filters of one element expand the
 * channels, a depthwise convolution follows, filters of one element project the channels, and a residual may be added.
 * Intermediate results never leave a core's caches. Two of three launches are saved; the cost of a launch is mostly
 * that PoCL wakes its threads.
 *
 *   inverted_residual (x, w1, b1, w2, b2, w3, b3 [, addend])
 *
 * In graphs it replaces three convolutions after the fusion of their epilogues, where that pays
 * (mica__op.match_launches). */
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/fields.clh"
#include "ops/conv/attrs.h"
#include "ops/conv/block.h"
#include "ops/select/launch_check.h"
#include "ops/select/registry.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

#define INVERTED_RESIDUAL_ATTRS(X, S)                                                                                  \
  X(S, SPATIAL, stride, 1, "of the depthwise convolution, from one result to the next")                                \
  X(S, SPATIAL, pad, 0, "zeros before the first element, and as many after the last")                                  \
  X(S, SPATIAL, pad_more, 0, "after the last so many more")                                                            \
  X(S, REAL, low, 0, "what is between the convolutions is not below")                                                  \
  X(S, REAL, high, 6, "and not above")
MICA__ATTR_STRUCT(inverted_residual, INVERTED_RESIDUAL_ATTRS);
static MICA__ATTR_TABLE(inverted_residual, INVERTED_RESIDUAL_ATTRS);

enum { X, W1, B1, W2, B2, W3, B3, ADDEND, OPERANDS };

static const mica__kernel_param params[] = {
    MICA__INT("SEG", "pixels of a segment; a register tile has two", 7, 3),
    MICA__INT("NV", "vectors of channels of a panel", 1, 2),
    MICA__INT("R", "rows and columns of a depthwise filter", 3, 5),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 7, 2, 3)};
static const mica__kernel_desc block_kernel = {
    MICA__KERNEL("inverted_residual", "conv/cpu/inverted_residual.cl", params, variants)};
static const mica__kernel_desc pack_kernel = {
    MICA__KERNEL("inverted_residual_pack", "conv/cpu/inverted_residual.cl", params, variants)};
#define VW 16
/* Channels of the largest panel: two vectors. */
#define PANEL 32

/* --- the problem --- */

static mica_conv_config depthwise_config(const mica__inverted_residual_attrs *attrs, int64_t channels) {
  mica_conv_config config = {.groups = channels};
  for (int i = 0; i < 2; i++) {
    config.stride[i] = attrs->stride[i];
    config.pad[i] = attrs->pad[i];
    config.pad_more[i] = attrs->pad_more[i];
  }
  return config;
}

/* The three convolutions of a block. */
typedef struct block {
  mica__conv_dims expand, filter, project;
} block;

static mica_status block_of(const mica__inverted_residual_attrs *attrs, mica_shape x, mica_shape w1, mica_shape w2,
                            mica_shape w3, block *b) {
  const mica_conv_config filter = depthwise_config(attrs, w1.dim[0]);
  mica_shape e = x;
  MICA_TRY(mica__conv_dims_of(NULL, x, w1, NULL, &b->expand));
  e.dim[1] = w1.dim[0];
  MICA_TRY(mica__conv_dims_of(&filter, e, w2, NULL, &b->filter));
  for (int i = 1; i < 3; i++) e.dim[i + 1] = b->filter.out[i];
  return mica__conv_dims_of(NULL, e, w3, NULL, &b->project);
}

static mica_status infer(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  block b;
  for (int32_t i = 0; i < input_count; i++)
    if (mica__shape_is_open(inputs[i].shape))
      return mica__fail(MICA_E_SHAPE, "operand %d has an open dimension, but must have a known shape", (int)i);
  if (inputs[X].shape.rank != 4)
    return mica__fail(MICA_E_SHAPE, "x has a rank of %d, but must have 4", (int)inputs[X].shape.rank);
  MICA_TRY(block_of(attrs, inputs[X].shape, inputs[W1].shape, inputs[W2].shape, inputs[W3].shape, &b));
  if (b.filter.c != 1)
    return mica__fail(MICA_E_SHAPE, "the second filters have %lld channels, but must be depthwise, with 1 channel",
                      (long long)b.filter.c);
  if (b.filter.out[1] == 0 || b.filter.out[2] == 0)
    return mica__fail(MICA_E_SHAPE, "the second filters are larger than the padded images");
  *out = inputs[X];
  out->shape = MICA_SHAPE(b.project.n, b.project.k, b.project.out[1], b.project.out[2]);
  return MICA_OK;
}

/* --- on the host --- */

static mica_status evaluate(const mica__eval *eval) {
  const mica__inverted_residual_attrs *attrs = eval->attrs;
  const mica__type *types = eval->types;
  block b;
  MICA_TRY(block_of(attrs, types[X].shape, types[W1].shape, types[W2].shape, types[W3].shape, &b));
  const int64_t n = b.expand.n, k = b.expand.k, in = mica__product3(b.expand.out), out = mica__product3(b.filter.out);
  double *e = malloc(((size_t)(n * k * in) + 1) * sizeof *e), *f = malloc(((size_t)(n * k * out) + 1) * sizeof *f);
  if (e && f) {
    mica__conv_reference(&b.expand, MICA__CONV_FWD, eval->inputs[X], eval->inputs[W1], e);
    mica__block_add_bias(e, eval->inputs[B1], n, k, in, attrs->low, attrs->high);
    mica__conv_reference(&b.filter, MICA__CONV_FWD, e, eval->inputs[W2], f);
    mica__block_add_bias(f, eval->inputs[B2], n, k, out, attrs->low, attrs->high);
    mica__conv_reference(&b.project, MICA__CONV_FWD, f, eval->inputs[W3], eval->output);
    mica__block_add_bias(eval->output, eval->inputs[B3], n, b.project.k, out, (double)-INFINITY, (double)INFINITY);
    for (int64_t i = 0; eval->input_count > ADDEND && i < n * b.project.k * out; i++)
      eval->output[i] += eval->inputs[ADDEND][i];
  }
  mica_status status = e && f ? MICA_OK : mica__fail_nomem("a reference");
  free(e);
  free(f);
  return status;
}

/* --- how the work is cut --- */

typedef struct plan {
  int64_t rows, strips, pitch; /* rows of the result per strip, number of strips, columns of a row of the expanded
                                * channels with its padding */
  int64_t seg, nv;             /* the kernel's SEG and NV */
} plan;

/* A register tile has 2 SEG NV vectors of 16 sums. With AVX-512, 28 vectors of sums, two of weights and a pixel take 31
 * of the 32 registers. An AVX2 register holds half a vector: 12 halves of sums, two halves of weights and a pixel take
 * 15 of the 16 registers. */
static plan plan_for(const mica_device_info *device) {
  return device->vector_bytes >= MICA__LONG_VECTOR ? (plan){.seg = 7, .nv = 2} : (plan){.seg = 3, .nv = 1};
}

static size_t scratch_bytes(const block *b, const plan *p) {
  const mica__conv_dims *f = &b->filter;
  const int64_t panel = p->nv * VW, tile = 2 * p->seg;
  const int64_t e = ((p->rows - 1) * f->stride[1] + f->filter[1]) * p->pitch * panel;
  const int64_t pixels = mica__ceil_div(p->rows * f->out[2], tile) * tile;
  return (size_t)(e + pixels * panel + (pixels + VW) * mica__ceil_div(b->project.k, VW) * VW) * sizeof(float);
}

/* FINISHING, WEIGHT: the costs of finishing a vector of results of the first or second convolution, and of reading a
 * vector of weights for the first time in a work-group, in multiply-adds of a vector. GAIN: the share of the time that
 * a plan with more strips must save. */
#define FINISHING 6.0
#define WEIGHT 3.0
#define GAIN 0.02

/* The time of the three convolutions of a strip, in multiply-adds of a vector. */
static double time_of(const block *b, const plan *p) {
  const int64_t rows = p->rows, tile = 2 * p->seg;
  const mica__conv_dims *f = &b->filter;
  const int64_t source = mica__min(f->in[1], (rows - 1) * f->stride[1] + f->filter[1]);
  const double k = (double)b->expand.k / VW, c = (double)b->expand.c, m = (double)b->project.k,
               taps = (double)mica__product3(f->filter);
  const double expanded = (double)(source * mica__ceil_div(f->in[2], p->seg) * p->seg) * k * (c + FINISHING);
  const double filtered = (double)(rows * f->out[2]) * k * (taps + FINISHING);
  const double projected = (double)(mica__ceil_div(rows * f->out[2], tile) * tile) * k * m;
  return expanded + filtered + projected + WEIGHT * k * (c + m);
}

/* Chooses the number of strips with the least estimated time. A larger number is taken only if it saves at least the
 * share GAIN of the time. Returns false if the scratch memory of a strip of one row is larger than local memory or than
 * half of the second-level cache. */
static bool make_plan(const block *b, const mica_device_info *device, plan *best) {
  const mica__conv_dims *f = &b->filter;
  const size_t cached = (size_t)mica__core_model_of(device)->l2_floats / 2 * sizeof(float);
  const size_t room = cached < device->local_bytes ? cached : (size_t)device->local_bytes;
  const int64_t images = mica__max(1, f->n), units = (int64_t)device->compute_units;
  double least = INFINITY;
  for (int64_t strips = 1; strips <= f->out[1]; strips++) {
    plan p = plan_for(device);
    p.rows = mica__ceil_div(f->out[1], strips);
    p.strips = mica__ceil_div(f->out[1], p.rows);
    p.pitch = mica__max(f->in[2] + f->pad[2], (f->out[2] - 1) * f->stride[2] + f->filter[2]);
    if (p.strips != strips || scratch_bytes(b, &p) > room) continue;
    const double time = (double)mica__ceil_div(strips * images, units) * time_of(b, &p);
    if (time > (1 - GAIN) * least) continue;
    least = time;
    *best = p;
  }
  return least < INFINITY;
}

/* True if the kernel, which counts in ints, can compute the block. */
static bool fits(const block *b, const mica_device_info *device) {
  const mica__conv_dims *f = &b->filter;
  const int64_t most = INT32_MAX / PANEL / 4, taps = f->filter[1];
  if (f->filter[0] != 1 || f->in[0] != 1 || (taps != 3 && taps != 5) || f->filter[2] != taps) return false;
  if (f->in[2] < plan_for(device).seg) return false;
  if (f->stride[1] != f->stride[2]) return false;
  if (f->pad[1] >= taps || f->pad[2] >= taps || f->dilation[1] != 1 || f->dilation[2] != 1) return false;
  return b->expand.c * mica__product3(f->in) < most && b->project.k * mica__product3(f->in) < most &&
         b->expand.k * mica__max(b->expand.c, b->project.k) < most;
}

/* --- the launch --- */

/* Packs the matrix w, of rows x columns, in groups of VW rows, each with `padded` columns. Writes the elements to
 * `packed`, from element *first on, and adds their number (with padding) to *first. */
static mica_status pack(const mica__exec *exec, mica_queue *queue, const mica_tensor *w, int64_t rows, int64_t columns,
                        int64_t padded, mica_buffer *packed, int64_t *first) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(exec, &pack_kernel, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(queue), &pack_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const int64_t sizes[] = {rows, columns, padded}, vectors = mica__ceil_div(rows, VW);
  for (int i = 0; i < 3; i++) mica__launch_size(&launch, sizes[i]);
  mica__launch_tensor(&launch, w);
  mica__launch_buffer(&launch, packed, *first);
  mica__launch_range3(&launch, (int64_t[]){vectors, 1, 1}, (size_t[]){1, 1, 1});
  mica__launch_cost(&launch, 0, (double)(rows * columns + vectors * VW * padded) * sizeof(float));
  *first += vectors * VW * padded;
  return mica__queue_submit(queue, &launch);
}

static mica_status pack_all(const mica__exec *exec, const block *b, mica_buffer **packed) {
  const uint32_t weights = 1u << W1 | 1u << B1 | 1u << W2 | 1u << B2 | 1u << W3 | 1u << B3;
  mica_queue *queue = exec->prologue && (exec->constant & weights) == weights ? exec->prologue : exec->queue;
  const int64_t k = b->expand.k, m = b->project.k, depth = mica__ceil_div(k, VW) * VW;
  const int64_t taps = mica__product3(b->filter.filter), width = mica__ceil_div(m, VW) * VW;
  const struct {
    int operand;
    int64_t rows, columns, padded;
  } list[] = {{W1, k, b->expand.c, b->expand.c},
              {B1, k, 1, 1},
              {W2, k, taps, taps},
              {B2, k, 1, 1},
              {W3, m, k, depth},
              {B3, m, 1, 1}};
  const int64_t count = depth * (b->expand.c + taps + 2) + width * (depth + 1);
  int64_t first = 0;
  MICA_TRY(mica__workspace_create(queue, (size_t)count * sizeof(float), packed));
  mica_status status = MICA_OK;
  for (size_t i = 0; status == MICA_OK && i < sizeof list / sizeof *list; i++)
    status = pack(exec, queue, exec->inputs[list[i].operand], list[i].rows, list[i].columns, list[i].padded, *packed,
                  &first);
  if (status != MICA_OK) mica_buffer_destroy(*packed);
  return status;
}

static double flops_of(const block *b) {
  return mica__conv_flops(&b->expand) + mica__conv_flops(&b->filter) + mica__conv_flops(&b->project);
}

MICA__FIELDS(size_fields, INVERTED_RESIDUAL_SIZE);
MICA__FIELDS(step_fields, INVERTED_RESIDUAL_STEP);
static mica_status launch_strips(const mica__exec *exec, const block *b, const plan *p, mica_buffer *packed) {
  const mica__inverted_residual_attrs *attrs = exec->attrs;
  const mica__conv_dims *e = &b->expand, *f = &b->filter;
  const bool adds = exec->input_count > ADDEND;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  double bytes = (double)mica_tensor_bytes(exec->output);
  MICA_TRY(mica__exec_values(exec, &block_kernel, values));
  mica__kernel_set(&block_kernel, values, "SEG", (int32_t)p->seg);
  mica__kernel_set(&block_kernel, values, "NV", (int32_t)p->nv);
  mica__kernel_set(&block_kernel, values, "R", (int32_t)f->filter[1]);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &block_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const int64_t *in = f->in, *out = f->out;
  const size_fields s = {.C = e->c,
                         .K = e->k,
                         .M = b->project.k,
                         .IN1 = in[1],
                         .IN2 = in[2],
                         .OUT1 = out[1],
                         .OUT2 = out[2],
                         .ROWS = p->rows};
  const step_fields t = {.STEP = f->stride[1], .PAD1 = f->pad[1], .PAD2 = f->pad[2], .HAS_A = adds, .pitch = p->pitch};
  mica__launch_sizes(&launch, s.values);
  mica__launch_sizes(&launch, t.values);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_local(&launch, scratch_bytes(b, p));
  mica__launch_tensor(&launch, exec->inputs[adds ? ADDEND : X]);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_float(&launch, (float)attrs->low);
  mica__launch_float(&launch, (float)attrs->high);
  mica__launch_range3(&launch, (int64_t[]){p->strips, f->n, 1}, (size_t[]){1, 1, 1});
  for (int32_t i = 0; i < exec->input_count; i++) bytes += (double)mica_tensor_bytes(exec->inputs[i]);
  mica__launch_cost(&launch, flops_of(b), bytes);
  return mica__queue_submit(exec->queue, &launch);
}

/* Launches three convolutions, if the kernel cannot compute the block. */
static mica_status launch_apart(const mica__exec *exec, const block *b) {
  const mica__inverted_residual_attrs *attrs = exec->attrs;
  const mica_conv_config filter = depthwise_config(attrs, b->expand.k);
  const mica_shape shape = mica_tensor_shape(exec->inputs[X]);
  mica_tensor *e = NULL, *f = NULL;
  const mica_dtype dtype = mica_tensor_dtype(exec->output);
  const mica_conv_epilogue between = mica__block_epilogue(attrs->low, attrs->high);
  const mica_conv_epilogue last = {.addend = exec->input_count > ADDEND ? exec->inputs[ADDEND] : NULL};
  const mica_shape inside = MICA_SHAPE(shape.dim[0], b->expand.k, shape.dim[2], shape.dim[3]);
  const mica_shape after = MICA_SHAPE(shape.dim[0], b->expand.k, b->filter.out[1], b->filter.out[2]);
  mica_status status = mica__workspace_tensor(exec->queue, dtype, inside, &e);
  if (status == MICA_OK) status = mica__workspace_tensor(exec->queue, dtype, after, &f);
  if (status == MICA_OK) status = mica__block_launch_part(exec, NULL, exec->inputs[X], W1, B1, between, e);
  if (status == MICA_OK) status = mica__block_launch_part(exec, &filter, e, W2, B2, between, f);
  if (status == MICA_OK) status = mica__block_launch_part(exec, NULL, f, W3, B3, last, exec->output);
  mica_tensor_destroy(e);
  mica_tensor_destroy(f);
  return status;
}

static mica_status block_of_exec(const mica__exec *exec, block *b) {
  return block_of(exec->attrs, mica_tensor_shape(exec->inputs[X]), mica_tensor_shape(exec->inputs[W1]),
                  mica_tensor_shape(exec->inputs[W2]), mica_tensor_shape(exec->inputs[W3]), b);
}

static mica_status launch(const mica__exec *exec) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  mica_buffer *packed = NULL;
  block b;
  plan p;
  MICA_TRY(block_of_exec(exec, &b));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  const bool takes = mica__exec_takes(exec, &block_kernel) && mica__exec_takes(exec, &pack_kernel) &&
                     mica_tensor_dtype(exec->output) == MICA_F32;
  if (!takes || !fits(&b, device) || !make_plan(&b, device, &p)) return launch_apart(exec, &b);
  MICA_TRY(pack_all(exec, &b, &packed));
  const mica_status status = launch_strips(exec, &b, &p, packed);
  mica_buffer_destroy(packed);
  return status;
}

/* --- finding a block of three convolutions in graphs --- */

/* Bytes of a vector register of AVX2. */
#define LEAST_VECTOR 32
/* The fewest expanded channels for which the block saves enough time. */
#define LEAST_CHANNELS 32

/* Accepts one image only: with several, as measured with AVX-512 and AVX2, three launches already keep all cores
 * busy. */
static bool pays(const block *b, mica_engine *engine) {
  const mica_device_info *device = mica_engine_device(engine);
  plan p;
  return !mica__needs_cpu(device) && device->vector_bytes >= LEAST_VECTOR && b->expand.n == 1 &&
         b->expand.k >= LEAST_CHANNELS && fits(b, device) && make_plan(b, device, &p) &&
         !mica__variant_is_bad(engine, &block_kernel, &variants[0]) &&
         !mica__variant_is_bad(engine, &pack_kernel, &variants[0]);
}

static bool match(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                  void *given) {
  const mica_graph *graph = match->graph;
  mica__inverted_residual_attrs *attrs = given;
  double low[3], high[3];
  if (!mica__block_is_product(graph, root, &low[2], &high[2]) || low[2] > -INFINITY) return false;
  const mica__node *project = mica__graph_node(graph, root);
  if (project->type.dtype != MICA_F32) return false;
  if (!mica__block_is_part(graph, project->inputs[0], &low[1], &high[1])) return false;
  const mica__node *filter = mica__graph_node(graph, project->inputs[0]);
  if (!mica__block_is_product(graph, filter->inputs[0], &low[0], &high[0])) return false;
  const mica__node *expand = mica__graph_node(graph, filter->inputs[0]);
  const mica__conv_attrs *a3 = project->attrs, *a2 = filter->attrs, *a1 = expand->attrs;
  if (a1->addend || a2->addend || low[0] != low[1] || high[0] != high[1]) return false;
  const int32_t ids[OPERANDS] = {expand->inputs[0],         expand->inputs[1],
                                 expand->inputs[a1->bias],  filter->inputs[1],
                                 filter->inputs[a2->bias],  project->inputs[1],
                                 project->inputs[a3->bias], a3->addend ? project->inputs[a3->addend] : 0};
  *count = ADDEND + (a3->addend != 0);
  for (int32_t i = 0; i < *count; i++) inputs[i] = ids[i];
  for (int i = 0; i < 3; i++) {
    attrs->stride[i] = a2->stride[i];
    attrs->pad[i] = a2->pad[i];
    attrs->pad_more[i] = a2->pad_more[i];
  }
  attrs->low = low[0];
  attrs->high = high[0];
  block b;
  const mica__type *types[OPERANDS];
  for (int32_t i = 0; i < *count; i++) types[i] = &mica__graph_node(graph, ids[i])->type;
  if (a2->groups != expand->type.shape.dim[1] || types[W2]->shape.dim[1] != 1 || types[W2]->shape.dim[0] != a2->groups)
    return false;
  return block_of(attrs, types[X]->shape, types[W1]->shape, types[W2]->shape, types[W3]->shape, &b) == MICA_OK &&
         pays(&b, engine);
}

/* --- the descriptor --- */

static double flops(const mica__node *node, const mica__type *inputs) {
  block b;
  const mica_status status =
      block_of(node->attrs, inputs[X].shape, inputs[W1].shape, inputs[W2].shape, inputs[W3].shape, &b);
  return status == MICA_OK ? flops_of(&b) : 0;
}

/* Images; channels, rows and columns of x; expanded channels; rows (and columns) of a depthwise filter; channels of
 * the result; number of operands; rows and columns of the result. */
#define CASE(how, n, c, h, w, k, taps, m, count, p, q)                                                                 \
  {                                                                                                                    \
    .attrs = &(how), .inputs = {{MICA_F32, {4, {n, c, h, w}}}, {MICA_F32, {4, {k, c, 1, 1}}},                          \
                                {MICA_F32, {1, {k}}},          {MICA_F32, {4, {k, 1, taps, taps}}},                    \
                                {MICA_F32, {1, {k}}},          {MICA_F32, {4, {m, k, 1, 1}}},                          \
                                {MICA_F32, {1, {m}}},          {MICA_F32, {4, {n, m, p, q}}}},                         \
    .input_count = (count), .terms = (c) + (taps) * (taps) + (k)                                                       \
  }

/* The cases cover strides, both sizes of filters, padding on no side, on one and on both, panels that are not full, and
 * segments that overlap. The kernel does not take the last case, whose strides differ. With AVX-512 it does not take
 * the one before either, whose rows are shorter than a segment. */
static mica_status check(mica__check *check) {
  static const mica__inverted_residual_attrs same = {{1, 1, 1}, {1, 1, 0}, {0, 0, 0}, 0, 6},
                                             half = {{2, 2, 1}, {1, 1, 0}, {0, 0, 0}, 0, 6},
                                             apart = {{2, 1, 1}, {0, 0, 0}, {0, 0, 0}, 0, 6},
                                             wide = {{1, 1, 1}, {2, 2, 0}, {0, 0, 0}, 0, (double)INFINITY},
                                             bare = {
                                                 {3, 3, 1}, {0, 0, 0}, {1, 0, 0}, (double)-INFINITY, (double)INFINITY};
  const mica__launch_case list[] = {
      CASE(same, 1, 6, 14, 14, 48, 3, 6, 8, 14, 14),  CASE(half, 1, 5, 9, 28, 40, 3, 33, 7, 5, 14),
      CASE(wide, 2, 3, 9, 11, 47, 5, 5, 8, 9, 11),    CASE(bare, 1, 7, 8, 9, 16, 3, 70, 7, 3, 3),
      CASE(same, 1, 40, 7, 7, 64, 3, 40, 8, 7, 7),    CASE(half, 1, 4, 1, 7, 33, 3, 2, 7, 1, 4),
      CASE(same, 1, 3, 20, 23, 15, 3, 18, 7, 20, 23), CASE(same, 1, 6, 5, 4, 34, 3, 8, 8, 5, 4),
      CASE(apart, 1, 6, 9, 9, 34, 3, 8, 7, 4, 7),
  };
  return mica__check_launches(check, &mica__op_inverted_residual, "inverted residuals", list,
                              sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&block_kernel, &pack_kernel, NULL};
const mica__op mica__op_inverted_residual = {.name = "inverted_residual",
                                             .kernels = kernels,
                                             .check = check,
                                             .kind = MICA__OP_LAUNCH,
                                             .min_inputs = ADDEND,
                                             .max_inputs = OPERANDS,
                                             .attrs = &mica__inverted_residual_attr_list,
                                             .dtypes = "f0>0",
                                             .infer = infer,
                                             .evaluate = evaluate,
                                             .launch = launch,
                                             .match_launches = match,
                                             .flops = flops};
