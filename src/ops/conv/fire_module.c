/* The fire module of SqueezeNet as one launch on CPUs (cl/conv/cpu/fire_module.cl). Filters of one element squeeze the
 * channels, two convolutions expand the squeezed channels, and their results are concatenated (F. N. Iandola and
 * others: SqueezeNet, 2016). The squeezed channels never leave a core's caches. Two of three launches are saved; the
 * cost of a launch is mostly that PoCL wakes its threads.
 *
 *   fire_module (x, w1, b1, w2, b2, w3, b3)
 *
 * In graphs it replaces a concatenation and three convolutions after the fusion of their epilogues, where that pays
 * (mica__op.match_launches). */
#include "ops/conv/fire_module.h"
#include "base/arith.h"
#include "base/error.h"
#include "cl/conv/cpu/fields.clh"
#include "ops/conv/attrs.h"
#include "ops/conv/cpu/pack_weights.h"
#include "ops/select/launch_check.h"
#include "ops/select/registry.h"
#include "runtime/core_model.h"
#include "runtime/fields.h"
#include "runtime/workspace.h"

#include <math.h>
#include <stdlib.h>

#define FIRE_MODULE_ATTRS(X, S)                                                                                        \
  X(S, REAL, low, 0, "no result of the three convolutions is below")                                                   \
  X(S, REAL, high, (double)INFINITY, "and none above")
MICA__ATTR_STRUCT(fire_module, FIRE_MODULE_ATTRS);
static MICA__ATTR_TABLE(fire_module, FIRE_MODULE_ATTRS);

enum {
  X = MICA__FIRE_X,
  W1 = MICA__FIRE_W1,
  B1 = MICA__FIRE_B1,
  W2 = MICA__FIRE_W2,
  B2 = MICA__FIRE_B2,
  W3 = MICA__FIRE_W3,
  B3 = MICA__FIRE_B3,
  OPERANDS = MICA__FIRE_OPERANDS,
};

static const mica__kernel_param params[] = {
    MICA__DTYPE("D_T", "type of x, b1, b2, b3 and y", MICA__CONV_TYPES),
    MICA__INT("SEG", "pixels of a segment; a register tile has two", 7, 3),
    MICA__INT("NV", "vectors of filters of a register tile", 1, 2),
};
static const mica__variant variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 7, 2)};
const mica__kernel_desc mica__fire_module_kernel = {
    MICA__KERNEL("fire_module", "conv/cpu/fire_module.cl", params, variants)};
#define VW 16
/* The largest side of a filter; the kernel keeps MOST_SIDE * MOST_SIDE offsets. */
#define MOST_SIDE 7

/* --- the problem --- */

/* The config of an expanding convolution, whose padding gives its result as many rows and columns as its source has. */
static mica_conv_config same_size(mica_shape w) { return (mica_conv_config){.pad = {w.dim[2] / 2, w.dim[3] / 2}}; }

static mica_status dims_of(mica_shape x, mica_shape w1, mica_shape w2, mica_shape w3, mica__fire *m) {
  const mica_conv_config before = same_size(w2), after = same_size(w3);
  mica_shape e = x;
  MICA_TRY(mica__conv_dims_of(NULL, x, w1, NULL, &m->squeeze));
  e.dim[1] = w1.dim[0];
  MICA_TRY(mica__conv_dims_of(&before, e, w2, NULL, &m->expand[0]));
  return mica__conv_dims_of(&after, e, w3, NULL, &m->expand[1]);
}

mica_status mica__fire_of(const mica__type *types, int32_t count, double low, double high, mica__fire *m) {
  static const int weights[] = {W1, W2, W3};
  char text[MICA_SHAPE_TEXT];
  for (int32_t i = 0; i < count; i++)
    if (mica__shape_is_open(types[i].shape))
      return mica__fail(MICA_E_SHAPE, "operand %d has an open dimension, but must have a known shape", (int)i);
  if (types[X].shape.rank != 4)
    return mica__fail(MICA_E_SHAPE, "x has a rank of %d, but must have 4", (int)types[X].shape.rank);
  for (int i = 0; i < 3; i++) {
    const mica_shape w = types[weights[i]].shape;
    int64_t biases = 0;
    MICA_TRY(mica_shape_count(types[weights[i] + 1].shape, &biases));
    if (w.rank != 4 || w.dim[2] != w.dim[3] || w.dim[2] % 2 == 0 || (i == 0 && w.dim[2] != 1))
      return mica__fail(
          MICA_E_SHAPE,
          "filters %d are %s, but must be (k, c, side, side) with an odd side, or the side 1 for filters 1", i + 1,
          mica_shape_format(w, text));
    if (biases != w.dim[0])
      return mica__fail(MICA_E_SHAPE, "there are %lld biases but %lld filters; the numbers must be equal",
                        (long long)biases, (long long)w.dim[0]);
  }
  *m = (mica__fire){.low = low, .high = high, .window = {.size = {1, 1}, .stride = {1, 1}, .dilation = {1, 1, 1}}};
  MICA_TRY(dims_of(types[X].shape, types[W1].shape, types[W2].shape, types[W3].shape, m));
  for (int i = 0; i < 2; i++) m->pooled[i] = m->squeeze.in[1 + i];
  return MICA_OK;
}

mica__type mica__fire_type(const mica__fire *m, mica_dtype dtype) {
  const mica__conv_dims *s = &m->squeeze;
  return (mica__type){dtype, MICA_SHAPE(s->n, m->expand[0].k + m->expand[1].k, s->in[1], s->in[2])};
}

static mica_status infer(const mica__type *inputs, int32_t input_count, void *given, mica__type *out) {
  const mica__fire_module_attrs *attrs = given;
  mica__fire m;
  MICA_TRY(mica__fire_of(inputs, input_count, attrs->low, attrs->high, &m));
  *out = mica__fire_type(&m, inputs[X].dtype);
  return MICA_OK;
}

/* --- on the host --- */

mica_status mica__fire_evaluate(const mica__eval *eval, const mica__fire *m, double *output) {
  const int64_t n = m->squeeze.n, k = m->squeeze.k, plane = mica__product3(m->squeeze.out);
  const int64_t filters[2] = {m->expand[0].k, m->expand[1].k}, all = filters[0] + filters[1];
  double *e = malloc(((size_t)(n * k * plane) + 1) * sizeof *e),
         *y = malloc(((size_t)(n * all * plane) + 1) * sizeof *y);
  if (e && y) {
    mica__conv_reference(&m->squeeze, MICA__CONV_FWD, eval->inputs[X], eval->inputs[W1], e);
    mica__block_add_bias(e, eval->inputs[B1], n, k, plane, m->low, m->high);
    for (int i = 0; i < 2; i++) {
      mica__conv_reference(&m->expand[i], MICA__CONV_FWD, e, eval->inputs[i ? W3 : W2], y);
      mica__block_add_bias(y, eval->inputs[i ? B3 : B2], n, filters[i], plane, m->low, m->high);
      for (int64_t j = 0; j < n * filters[i] * plane; j++) {
        const int64_t image = j / (filters[i] * plane), at = j % (filters[i] * plane);
        output[(image * all + (i ? filters[0] : 0)) * plane + at] = y[j];
      }
    }
  }
  mica_status status = e && y ? MICA_OK : mica__fail_nomem("a reference");
  free(e);
  free(y);
  return status;
}

static mica_status evaluate(const mica__eval *eval) {
  const mica__fire_module_attrs *attrs = eval->attrs;
  mica__fire m;
  MICA_TRY(mica__fire_of(eval->types, eval->input_count, attrs->low, attrs->high, &m));
  return mica__fire_evaluate(eval, &m, eval->output);
}

/* --- how the work is cut --- */

typedef struct plan {
  int64_t seg, nv;             /* the kernel's SEG and NV */
  int64_t rows, strips, parts; /* rows of the result per strip, number of strips, parts of the filters */
  int64_t filtered, halo;      /* rows per strip before pooling; squeezed rows on each side of them */
  int64_t block;               /* rows of the result that are finished together */
} plan;

/* A register tile has 2 SEG NV vectors of 16 sums. With AVX-512, 28 vectors of sums, two of weights and a pixel take 31
 * of the 32 registers. An AVX2 register holds half a vector: 12 halves of sums, two halves of weights and a pixel take
 * 15 of the 16 registers. */
static plan plan_for(const mica_device_info *device) {
  return device->vector_bytes >= MICA__LONG_VECTOR ? (plan){.seg = 7, .nv = 2} : (plan){.seg = 3, .nv = 1};
}

/* The most pixels that are finished together, unless a row has more: their sums for 32 filters take half of a
 * first-level cache of 48 KiB. */
#define MOST_FINISHED 196

static size_t scratch_bytes(const mica__fire *m, const plan *p) {
  const mica__conv_dims *s = &m->squeeze;
  const int64_t vectors = mica__ceil_div(s->k, VW), panel = p->nv * VW;
  const int64_t e = (p->filtered + 2 * p->halo) * (s->in[2] + 2 * p->halo) * vectors * VW;
  const int64_t pooled = (m->pooled[1] + VW) * panel,
                y = (mica__max(p->block, m->window.size[0]) * s->in[2] + VW) * panel;
  return (size_t)(e + s->c * VW + vectors * VW + pooled + y) * sizeof(float);
}

/* FINISHING, PACKING, WEIGHT: the costs of finishing a vector of results, of packing a channel of a tile, and of
 * reading a vector of weights for the first time in a work-group, all in multiply-adds of a vector. GAIN: the share of
 * the time that a plan with more work-groups must save. */
#define FINISHING 6.0
#define PACKING 8.0
#define WEIGHT 3.0
#define GAIN 0.02

/* The time of a work-group, in multiply-adds of a vector. */
static double time_of(const mica__fire *m, const plan *p) {
  const mica__conv_dims *s = &m->squeeze;
  const int64_t a_row = mica__ceil_div(s->in[2], p->seg), vectors = mica__ceil_div(s->k, VW);
  const double pixels = (double)(p->filtered * a_row * p->seg), c = (double)s->c;
  const int64_t squeezed = mica__min(s->in[1], p->filtered + 2 * p->halo) * a_row;
  double time = (double)squeezed * ((double)(p->seg * vectors) * (c + FINISHING) + PACKING / 2 * c);
  for (int i = 0; i < 2; i++) {
    const mica__conv_dims *e = &m->expand[i];
    const int64_t panels = mica__ceil_div(mica__ceil_div(e->k, p->nv * VW), p->parts) * p->nv;
    const double steps = (double)(s->k * mica__product3(e->filter));
    time += (double)panels * (pixels * (steps + FINISHING) + WEIGHT * steps);
  }
  return time;
}

/* Chooses the numbers of strips and of parts with the least estimated time. A larger number is taken only if it saves
 * at least the share GAIN of the time. Returns false if the scratch memory of a strip of one row is larger than local
 * memory or than half of the second-level cache. */
static bool make_plan(const mica__fire *m, const mica_device_info *device, plan *best) {
  const mica__conv_dims *s = &m->squeeze;
  const size_t cached = (size_t)mica__core_model_of(device)->l2_floats / 2 * sizeof(float);
  const size_t room = cached < device->local_bytes ? cached : (size_t)device->local_bytes;
  const int64_t images = mica__max(1, s->n), units = (int64_t)device->compute_units;
  const int64_t filters = mica__max(m->expand[0].k, m->expand[1].k);
  double least = INFINITY;
  for (int64_t strips = 1; strips <= m->pooled[0]; strips++) {
    plan p = plan_for(device);
    const int64_t panels = mica__ceil_div(filters, p.nv * VW);
    p.rows = mica__ceil_div(m->pooled[0], strips);
    p.strips = mica__ceil_div(m->pooled[0], p.rows);
    p.filtered = mica__min(s->in[1], (p.rows - 1) * m->window.stride[0] + m->window.size[0]);
    p.halo = mica__max(m->expand[0].filter[1], m->expand[1].filter[1]) / 2;
    p.block = m->pools ? 1 : mica__max(1, mica__min(p.rows, MOST_FINISHED / s->in[2]));
    if (p.strips != strips || scratch_bytes(m, &p) > room) continue;
    for (p.parts = 1; p.parts <= mica__min(panels, units); p.parts++) {
      const double time = (double)mica__ceil_div(strips * p.parts * images, units) * time_of(m, &p);
      if (time > (1 - GAIN) * least) continue;
      least = time;
      *best = p;
    }
  }
  return least < INFINITY;
}

/* True if the kernel, which counts in ints, can compute the module. */
static bool fits(const mica__fire *m, const mica_device_info *device) {
  const mica__conv_dims *s = &m->squeeze;
  const int64_t most = INT32_MAX / VW / 8, area = (s->in[1] + MOST_SIDE) * (s->in[2] + MOST_SIDE);
  for (int i = 0; i < 2; i++)
    if (m->expand[i].filter[1] > MOST_SIDE || m->expand[i].k * s->k * mica__product3(m->expand[i].filter) >= most)
      return false;
  for (int i = 0; i < 2; i++)
    if (!mica__block_pools(&m->window, i, s->in[1 + i], m->pooled[i])) return false;
  return s->in[2] >= plan_for(device).seg && s->k * s->c < most && (s->k + VW) * area < most && s->c < most;
}

/* --- the launch --- */

/* Packs the filters of the three convolutions, one after another, into a new buffer. */
static mica_status pack_all(const mica__exec *exec, const mica__fire *m, mica_buffer **packed) {
  const uint32_t weights = 1u << W1 | 1u << W2 | 1u << W3;
  mica_queue *queue = exec->prologue && (exec->constant & weights) == weights ? exec->prologue : exec->queue;
  const mica__conv_dims *const dims[] = {&m->squeeze, &m->expand[0], &m->expand[1]};
  static const int operands[] = {W1, W2, W3};
  mica__conv_phase phases[3];
  int64_t count = 0, first = 0;
  for (int i = 0; i < 3; i++) {
    phases[i] = mica__conv_phase_forward(dims[i]);
    count += mica__conv_packed_count(&phases[i], VW);
  }
  MICA_TRY(mica__workspace_create(queue, (size_t)(count + 1) * sizeof(float), packed));
  mica_status status = MICA_OK;
  for (int i = 0; status == MICA_OK && i < 3; i++) {
    const mica__conv conv = {.w = exec->inputs[operands[i]], .dtype = mica_tensor_dtype(exec->output)};
    const int64_t floats = mica__conv_packed_count(&phases[i], VW);
    if (floats > 0) status = mica__conv_cpu_pack_weights(queue, &conv, &phases[i], VW, dims[i]->c, *packed, first);
    first += floats;
  }
  if (status != MICA_OK) mica_buffer_destroy(*packed);
  return status;
}

double mica__fire_flops(const mica__fire *m) {
  return mica__conv_flops(&m->squeeze) + mica__conv_flops(&m->expand[0]) + mica__conv_flops(&m->expand[1]);
}

MICA__FIELDS(size_fields, FIRE_MODULE_SIZE);
MICA__FIELDS(cut_fields, FIRE_MODULE_CUT);
MICA__FIELDS(window_fields, FIRE_MODULE_WINDOW);
static mica_status launch_strips(const mica__exec *exec, const mica__fire *m, const plan *p, mica_buffer *packed) {
  const mica__conv_dims *s = &m->squeeze, *e = m->expand;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  double bytes = (double)mica_tensor_bytes(exec->output);
  MICA_TRY(mica__exec_values(exec, &mica__fire_module_kernel, values));
  mica__kernel_set(&mica__fire_module_kernel, values, "D_T", (int32_t)mica_tensor_dtype(exec->output));
  mica__kernel_set(&mica__fire_module_kernel, values, "SEG", (int32_t)p->seg);
  mica__kernel_set(&mica__fire_module_kernel, values, "NV", (int32_t)p->nv);
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &mica__fire_module_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  const size_fields size = {.C = s->c,
                            .K = s->k,
                            .M2 = e[0].k,
                            .M3 = e[1].k,
                            .IN1 = s->in[1],
                            .IN2 = s->in[2],
                            .R2 = e[0].filter[1],
                            .R3 = e[1].filter[1]};
  const cut_fields cut = {.ROWS = p->rows, .BLOCK = p->block, .PARTS = p->parts, .halo = p->halo, .POOLS = m->pools};
  const mica__max_pool_attrs *w = &m->window;
  const window_fields window = {.SIDE1 = w->size[0],
                                .SIDE2 = w->size[1],
                                .EVERY1 = w->stride[0],
                                .EVERY2 = w->stride[1],
                                .BEFORE1 = w->pad[0],
                                .BEFORE2 = w->pad[1],
                                .POOL1 = m->pooled[0],
                                .POOL2 = m->pooled[1]};
  mica__launch_sizes(&launch, size.values);
  mica__launch_sizes(&launch, cut.values);
  mica__launch_sizes(&launch, window.values);
  mica__launch_tensor(&launch, exec->inputs[X]);
  mica__launch_buffer(&launch, packed, 0);
  mica__launch_tensor(&launch, exec->inputs[B1]);
  mica__launch_tensor(&launch, exec->inputs[B2]);
  mica__launch_tensor(&launch, exec->inputs[B3]);
  mica__launch_local(&launch, scratch_bytes(m, p));
  mica__launch_tensor(&launch, exec->output);
  mica__launch_float(&launch, (float)m->low);
  mica__launch_float(&launch, (float)m->high);
  mica__launch_range3(&launch, (int64_t[]){p->strips, p->parts, s->n}, (size_t[]){1, 1, 1});
  for (int32_t i = 0; i < exec->input_count; i++) bytes += (double)mica_tensor_bytes(exec->inputs[i]);
  mica__launch_cost(&launch, mica__fire_flops(m), bytes);
  return mica__queue_submit(exec->queue, &launch);
}

/* Launches one expanding convolution for one image of the squeezed channels e, into its part of the result y. */
static mica_status expand_apart(const mica__exec *exec, const mica_tensor *e, const mica__fire *m, int which,
                                int64_t image, mica_tensor *y) {
  const mica__conv_dims *d = &m->expand[which];
  const int64_t rows = d->in[1], columns = d->in[2], plane = rows * columns, all = m->expand[0].k + m->expand[1].k;
  const mica_conv_config config = same_size(mica_tensor_shape(exec->inputs[which ? W3 : W2]));
  const int64_t at = (image * all + (which ? m->expand[0].k : 0)) * plane;
  mica_tensor *from = NULL, *to = NULL;
  mica_status status =
      mica_tensor_view(e, MICA_SHAPE(1, m->squeeze.k, rows, columns), NULL, image * m->squeeze.k * plane, &from);
  if (status == MICA_OK) status = mica_tensor_view(y, MICA_SHAPE(1, d->k, rows, columns), NULL, at, &to);
  if (status == MICA_OK)
    status = mica__block_launch_part(exec, &config, from, which ? W3 : W2, which ? B3 : B2,
                                     mica__block_epilogue(m->low, m->high), to);
  mica_tensor_destroy(from);
  mica_tensor_destroy(to);
  return status;
}

mica_status mica__fire_launch_apart(const mica__exec *exec, const mica__fire *m, mica_tensor *y) {
  mica_shape inside = mica_tensor_shape(exec->inputs[X]);
  mica_tensor *e = NULL;
  inside.dim[1] = m->squeeze.k;
  mica_status status = mica__workspace_tensor(exec->queue, mica_tensor_dtype(y), inside, &e);
  if (status == MICA_OK)
    status = mica__block_launch_part(exec, NULL, exec->inputs[X], W1, B1, mica__block_epilogue(m->low, m->high), e);
  for (int64_t i = 0; status == MICA_OK && i < 2 * m->squeeze.n; i++)
    status = expand_apart(exec, e, m, (int)(i % 2), i / 2, y);
  mica_tensor_destroy(e);
  return status;
}

mica_status mica__fire_launch(const mica__exec *exec, const mica__fire *m, bool *done) {
  const mica_device_info *device = mica_engine_device(mica__queue_engine(exec->queue));
  mica_buffer *packed = NULL;
  plan p;
  *done = mica__exec_takes(exec, &mica__fire_module_kernel) &&
          mica__exec_takes(exec, &mica__conv_cpu_pack_weights_kernel) && mica_tensor_dtype(exec->output) != MICA_F64 &&
          m->squeeze.k > 0 && m->squeeze.c > 0 && fits(m, device) && make_plan(m, device, &p);
  if (!*done) return MICA_OK;
  MICA_TRY(pack_all(exec, m, &packed));
  const mica_status status = launch_strips(exec, m, &p, packed);
  mica_buffer_destroy(packed);
  return status;
}

static mica_status launch(const mica__exec *exec) {
  const mica__fire_module_attrs *attrs = exec->attrs;
  mica__type types[OPERANDS];
  mica__fire m;
  bool done = false;
  for (int i = 0; i < OPERANDS; i++)
    types[i] = (mica__type){mica_tensor_dtype(exec->inputs[i]), mica_tensor_shape(exec->inputs[i])};
  MICA_TRY(mica__fire_of(types, OPERANDS, attrs->low, attrs->high, &m));
  if (mica_tensor_count(exec->output) == 0) return MICA_OK;
  MICA_TRY(mica__fire_launch(exec, &m, &done));
  return done ? MICA_OK : mica__fire_launch_apart(exec, &m, exec->output);
}

/* --- finding a concatenation of three convolutions in graphs --- */

/* The most squeezed channels: with more, Winograd's minimal filtering may pay in a launch of its own. */
#define MOST_SQUEEZED 64

/* Accepts one image only: with several, as measured, separate launches already keep all cores busy. Refuses AVX2, where
 * SqueezeNet takes 1.1 times as long by this kernel as by Winograd's minimal filtering and products, each in its own
 * launch. */
bool mica__fire_pays(const mica__fire *m, mica_engine *engine) {
  const mica_device_info *device = mica_engine_device(engine);
  plan p;
  return !mica__needs_cpu(device) && device->vector_bytes >= MICA__LONG_VECTOR && m->squeeze.n == 1 &&
         m->squeeze.k > 0 && m->squeeze.k <= MOST_SQUEEZED && m->squeeze.c > 0 && fits(m, device) &&
         make_plan(m, device, &p) && !mica__variant_is_bad(engine, &mica__fire_module_kernel, &variants[0]) &&
         !mica__conv_packing_is_bad(engine);
}

/* True if node `id` is a convolution that mica__block_is_part accepts and that has one group, stride 1, no addend,
 * square filters with odd sides, and a result with as many rows and columns as its source. */
static bool is_expansion(const mica_graph *graph, int32_t id, double *low, double *high) {
  if (!mica__block_is_part(graph, id, low, high)) return false;
  const mica__node *node = mica__graph_node(graph, id);
  const mica__conv_attrs *attrs = node->attrs;
  const mica_shape w = mica__graph_node(graph, node->inputs[1])->type.shape;
  bool plain = attrs->groups == 1 && !attrs->addend && w.dim[2] == w.dim[3] && w.dim[2] % 2 == 1;
  for (int i = 0; i < 2; i++)
    plain = plain && attrs->stride[i] == 1 && attrs->pad[i] == w.dim[2] / 2 && attrs->pad_more[i] == 0;
  return plain;
}

/* Sets inputs[0] and inputs[1] to the filters and the bias of a convolution. */
static void add_weights(const mica__node *conv, int32_t *inputs) {
  inputs[0] = conv->inputs[1];
  inputs[1] = conv->inputs[((const mica__conv_attrs *)conv->attrs)->bias];
}

bool mica__fire_find(const mica_graph *graph, int32_t root, int32_t *inputs, double *low, double *high) {
  const mica__node *concat = mica__graph_node(graph, root), *expand[2];
  double lows[3], highs[3];
  if (concat->op != &mica__op_concat || concat->input_count != 2 || concat->type.dtype == MICA_F64) return false;
  for (int i = 0; i < 2; i++) {
    if (!is_expansion(graph, concat->inputs[i], &lows[i], &highs[i])) return false;
    expand[i] = mica__graph_node(graph, concat->inputs[i]);
  }
  const int32_t inside = expand[0]->inputs[0];
  if (expand[1]->inputs[0] != inside || !mica__block_is_product(graph, inside, &lows[2], &highs[2])) return false;
  const mica__node *squeeze = mica__graph_node(graph, inside);
  for (int i = 0; i < 2; i++)
    if (lows[i] != lows[2] || highs[i] != highs[2]) return false;
  if (((const mica__conv_attrs *)squeeze->attrs)->addend) return false;
  inputs[X] = squeeze->inputs[0];
  add_weights(squeeze, inputs + W1);
  add_weights(expand[0], inputs + W2);
  add_weights(expand[1], inputs + W3);
  *low = lows[2];
  *high = highs[2];
  for (int32_t i = 0; i < OPERANDS; i++)
    if (mica__graph_node(graph, inputs[i])->type.dtype != concat->type.dtype) return false;
  return true;
}

static bool match(const mica__match *match, mica_engine *engine, int32_t root, int32_t *inputs, int32_t *count,
                  void *given) {
  mica__fire_module_attrs *attrs = given;
  mica__type types[OPERANDS], type;
  mica__fire m;
  if (!mica__fire_find(match->graph, root, inputs, &attrs->low, &attrs->high)) return false;
  *count = OPERANDS;
  for (int32_t i = 0; i < OPERANDS; i++) types[i] = mica__graph_node(match->graph, inputs[i])->type;
  if (mica__fire_of(types, OPERANDS, attrs->low, attrs->high, &m) != MICA_OK) return false;
  type = mica__fire_type(&m, types[X].dtype);
  return mica_shape_equal(type.shape, mica__graph_node(match->graph, root)->type.shape) && mica__fire_pays(&m, engine);
}

/* --- the descriptor --- */

static double flops(const mica__node *node, const mica__type *inputs) {
  const mica__fire_module_attrs *attrs = node->attrs;
  mica__fire m;
  const mica_status status = mica__fire_of(inputs, OPERANDS, attrs->low, attrs->high, &m);
  return status == MICA_OK ? mica__fire_flops(&m) : 0;
}

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
/* Images; channels, rows and columns of x; squeezed channels; filters of the two expansions and their sides;
 * operands that are whole numbers. */
#define CASE(how, type, n, c, h, w, k, m2, r2, m3, r3, exact)                                                          \
  {                                                                                                                    \
    .attrs = &(how), .inputs = {{type, {4, {n, c, h, w}}}, {type, {4, {k, c, 1, 1}}},                                  \
                                {type, {1, {k}}},          {type, {4, {m2, k, r2, r2}}},                               \
                                {type, {1, {m2}}},         {type, {4, {m3, k, r3, r3}}},                               \
                                {type, {1, {m3}}}},                                                                    \
    .input_count = OPERANDS, .terms = (c) + (k)*LARGER(r2, r3) * LARGER(r2, r3), .whole = exact                        \
  }
/* The operands that are whole numbers in cases of 16 bits. If the kernel does not take such a case, the squeezed
 * channels are stored in 16 bits, which is exact for whole numbers below 256. */
#define NARROW (1u << X | 1u << W1 | 1u << B1)
/* If results are clamped from above, all operands are whole numbers, so that sums are exact. No tolerance for rounding
 * could be derived: it follows from the magnitude of the result, which the clamp cuts off. */
#define WHOLE ((1u << OPERANDS) - 1)

/* The cases cover panels that are not full, segments that overlap, rows of one segment, both orders of the filters, no
 * clamping, blocks of rows, and all dtypes of the kernel. The kernel does not take the last case, whose rows are
 * shorter than a segment. */
static mica_status check(mica__check *check) {
  static const mica__fire_module_attrs relu = {0, (double)INFINITY}, six = {0, 6},
                                       bare = {(double)-INFINITY, (double)INFINITY};
  const mica__launch_case list[] = {
      CASE(relu, MICA_F32, 1, 6, 14, 14, 16, 16, 1, 16, 3, 0),
      CASE(relu, MICA_F32, 1, 150, 3, 13, 33, 34, 1, 33, 3, 0),
      CASE(six, MICA_F32, 2, 5, 9, 11, 7, 3, 3, 47, 1, WHOLE),
      CASE(bare, MICA_F32, 1, 3, 20, 29, 17, 18, 3, 2, 5, 0),
      CASE(relu, MICA_F32, 1, 4, 1, 7, 20, 40, 1, 18, 3, 0),
      CASE(relu, MICA_F16, 1, 6, 14, 13, 24, 40, 1, 32, 3, NARROW),
      CASE(relu, MICA_BF16, 1, 6, 7, 8, 24, 33, 1, 32, 3, NARROW),
      CASE(six, MICA_F32, 1, 3, 2, 2, 4, 5, 1, 6, 3, WHOLE),
  };
  return mica__check_launches(check, &mica__op_fire_module, "fire modules", list, sizeof list / sizeof *list);
}

static const mica__kernel_desc *const kernels[] = {&mica__fire_module_kernel, NULL};
const mica__op mica__op_fire_module = {.name = "fire_module",
                                       .kernels = kernels,
                                       .check = check,
                                       .kind = MICA__OP_LAUNCH,
                                       .min_inputs = OPERANDS,
                                       .max_inputs = OPERANDS,
                                       .attrs = &mica__fire_module_attr_list,
                                       .dtypes = "f0>0",
                                       .infer = infer,
                                       .evaluate = evaluate,
                                       .launch = launch,
                                       .match_launches = match,
                                       .flops = flops};
