/* Attention of one new position of each sequence, with its cache (cl/attention/decode.clh). */
#include "ops/attention/decode.h"

#include "base/error.h"
#include "ops/attention/attention.h"
#include "runtime/tensor.h"

#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

/* attention_decode (k_cache, v_cache, q, k, v, offset, then what may be absent) -> k_cache, v_cache, y. */
enum { K_CACHE, V_CACHE, Q, K, V, OFFSET, SLOTS, FREQUENCIES, Q_SCALE, K_SCALE, SINKS, OPERANDS };
enum { NEW_K, NEW_V, Y, RESULTS };

#define DECODE_ATTRS(X, S)                                                                                             \
  X(S, INT, present, 0, "bit k: operand k is there")                                                                   \
  X(S, INT, length, 0, "positions of a cached sequence")                                                               \
  X(S, INT, window, 0, "positions seen, the own one included; 0: all")                                                 \
  X(S, REAL, scale, 0, "of scores; 0: 1 / sqrt(D)")                                                                    \
  X(S, REAL, soft_cap, 0, "scores become soft_cap tanh(score / soft_cap); 0: as they are")                             \
  X(S, REAL, epsilon, 0, "of the norms of q and k")                                                                    \
  X(S, REAL, rotary_scale, 1, "of cosines and sines")                                                                  \
  X(S, BOOL, interleave, false, "rotary pairs are adjacent features")
MICA__ATTR_STRUCT(decode, DECODE_ATTRS);
static MICA__ATTR_TABLE(decode, DECODE_ATTRS);

static int32_t input_of(const mica__decode_attrs *attrs, int32_t operand) {
  return mica__present_index(attrs->present, operand);
}

/* Sizes, as the letters of decode.h. */
typedef struct sizes {
  int64_t b, h, g, d, sequences, pairs;
} sizes;

/* The shape of an operand; of rank 0 if it is absent. */
static mica_shape shape_of(const mica__decode_attrs *attrs, const mica__type *inputs, int32_t operand) {
  const int32_t input = input_of(attrs, operand);
  return input < 0 ? MICA_SCALAR : inputs[input].shape;
}

static sizes sizes_of(const mica__decode_attrs *attrs, const mica__type *inputs) {
  const mica_shape q = inputs[Q].shape, k = inputs[K].shape, frequencies = shape_of(attrs, inputs, FREQUENCIES);
  return (sizes){.b = q.dim[0],
                 .h = q.dim[2],
                 .g = k.dim[2],
                 .d = q.dim[3],
                 .sequences = attrs->length ? inputs[K_CACHE].shape.dim[0] / attrs->length : 0,
                 .pairs = frequencies.rank == 1 ? frequencies.dim[0] : 0};
}

/* --- types --- */

static bool agree(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

static bool is_vector(const mica__decode_attrs *attrs, const mica__type *inputs, int32_t operand, int64_t count) {
  const mica_shape shape = shape_of(attrs, inputs, operand);
  return input_of(attrs, operand) < 0 || (shape.rank == 1 && agree(shape.dim[0], count));
}

static mica_status infer_decode(const mica__type *inputs, int32_t count, void *attributes, mica__type *out) {
  const mica__decode_attrs *attrs = attributes;
  const mica_shape cache = inputs[K_CACHE].shape;
  for (int32_t i = 0; i < count; i++)
    if (inputs[i].dtype != MICA_F32 && inputs[i].dtype != MICA_I32)
      return mica__fail(MICA_E_DTYPE, "operand %d is %s; it takes f32", (int)i, mica_dtype_name(inputs[i].dtype));
  for (int32_t i = Q; i <= V; i++)
    if (inputs[i].shape.rank != 4 || inputs[i].shape.dim[1] != 1 || inputs[i].shape.dim[2] < 1 ||
        inputs[i].shape.dim[3] < 1)
      return mica__fail(MICA_E_SHAPE, "q, k and v are (B, 1, heads, D), with heads and D known");
  const sizes s = sizes_of(attrs, inputs);
  const bool same = mica_shape_equal(inputs[K].shape, inputs[V].shape) && inputs[K].shape.dim[3] == s.d &&
                    agree(inputs[K].shape.dim[0], s.b) && s.h % s.g == 0 && s.d <= MICA__DECODE_MOST_SIZE;
  if (!same) return mica__fail(MICA_E_SHAPE, "q, k and v do not fit each other");
  if (attrs->length < 1 || cache.rank != 2 || cache.dim[1] != s.g * s.d || cache.dim[0] % attrs->length != 0 ||
      !mica_shape_equal(cache, inputs[V_CACHE].shape))
    return mica__fail(MICA_E_SHAPE, "the caches are not (sequences length, G D)");
  const bool norms = (input_of(attrs, Q_SCALE) < 0) == (input_of(attrs, K_SCALE) < 0);
  if (!norms || !is_vector(attrs, inputs, OFFSET, s.b) || !is_vector(attrs, inputs, SLOTS, s.b) ||
      !is_vector(attrs, inputs, FREQUENCIES, s.pairs) || 2 * s.pairs > s.d || !is_vector(attrs, inputs, Q_SCALE, s.d) ||
      !is_vector(attrs, inputs, K_SCALE, s.d) || !is_vector(attrs, inputs, SINKS, s.h))
    return mica__fail(MICA_E_SHAPE, "an operand after q, k and v does not fit them");
  if (attrs->window < 0 || !isfinite(attrs->scale) || !isfinite(attrs->soft_cap) || attrs->soft_cap < 0)
    return mica__fail(MICA_E_INVALID, "a window, scale or soft cap is out of range");
  out[NEW_K].shape = out[NEW_V].shape = cache;
  out[Y].shape = inputs[Q].shape;
  return MICA_OK;
}

/* --- the reference --- */

typedef struct problem {
  const mica__eval *eval;
  const mica__decode_attrs *attrs;
  sizes s;
} problem;

static const double *values_of(const problem *p, int32_t operand) {
  const int32_t input = input_of(p->attrs, operand);
  return input < 0 ? NULL : p->eval->inputs[input];
}

/* A head's row, normed and rotated. */
static void prepare_row(const problem *p, const double *x, int32_t scale, double position, double *row) {
  const double *factors = values_of(p, scale), *frequencies = values_of(p, FREQUENCIES);
  double squares = 0;
  memcpy(row, x, (size_t)p->s.d * sizeof *row);
  for (int64_t c = 0; c < p->s.d; c++) squares += x[c] * x[c];
  for (int64_t c = 0; factors && c < p->s.d; c++)
    row[c] *= factors[c] / sqrt(squares / (double)p->s.d + p->attrs->epsilon);
  for (int64_t i = 0; i < p->s.pairs; i++) {
    const double angle = position * frequencies[i], scale_of = p->attrs->rotary_scale;
    double *a = &row[p->attrs->interleave ? 2 * i : i], *z = &row[p->attrs->interleave ? 2 * i + 1 : i + p->s.pairs];
    const double first = *a * cos(angle) - *z * sin(angle), second = *z * cos(angle) + *a * sin(angle);
    *a = first * scale_of;
    *z = second * scale_of;
  }
}

/* The first and the last position that a query sees, of a cached sequence. */
typedef struct seen {
  int64_t slot, position, first, last;
} seen;

static seen seen_of(const problem *p, int64_t b) {
  const double *slots = values_of(p, SLOTS);
  seen see = {.slot = slots ? (int64_t)slots[b] : b, .position = (int64_t)values_of(p, OFFSET)[b]};
  const bool there = see.slot >= 0 && see.slot < p->s.sequences;
  see.last = !there ? -1 : see.position < p->attrs->length ? see.position : p->attrs->length - 1;
  if (p->attrs->window > 0 && see.position >= p->attrs->window) see.first = see.position - p->attrs->window + 1;
  if (!there || see.position < 0 || see.position >= p->attrs->length) see.position = -1;
  return see;
}

static void attend(const problem *p, const seen *see, int64_t h, const double *q, double *y) {
  const double *sinks = values_of(p, SINKS), cap = p->attrs->soft_cap;
  const int64_t d = p->s.d, width = p->s.g * d, column = h / (p->s.h / p->s.g) * d;
  const double scale = p->attrs->scale != 0 ? p->attrs->scale : 1 / sqrt((double)d);
  double most = sinks ? sinks[h] : -(double)INFINITY, sum = sinks ? 1 : 0;
  for (int64_t c = 0; c < d; c++) y[c] = 0;
  for (int64_t j = see->first; j <= see->last; j++) {
    const int64_t at = (see->slot * p->attrs->length + j) * width + column;
    double score = 0;
    for (int64_t c = 0; c < d; c++) score += q[c] * p->eval->outputs[NEW_K][at + c];
    score = cap > 0 ? cap * tanh(score * scale / cap) : score * scale;
    const double next = fmax(most, score), shrink = sum > 0 ? exp(most - next) : 0, weight = exp(score - next);
    most = next;
    sum = sum * shrink + weight;
    for (int64_t c = 0; c < d; c++) y[c] = y[c] * shrink + weight * p->eval->outputs[NEW_V][at + c];
  }
  for (int64_t c = 0; c < d; c++) y[c] = sum > 0 ? y[c] / sum : 0;
}

static mica_status evaluate_decode(const mica__eval *eval) {
  const problem p = {eval, eval->attrs, sizes_of(eval->attrs, eval->types)};
  const size_t cache = (size_t)(p.s.sequences * p.attrs->length * p.s.g * p.s.d);
  double row[MICA__DECODE_MOST_SIZE];
  memcpy(eval->outputs[NEW_K], eval->inputs[K_CACHE], cache * sizeof(double));
  memcpy(eval->outputs[NEW_V], eval->inputs[V_CACHE], cache * sizeof(double));
  for (int64_t b = 0; b < p.s.b; b++) {
    const seen see = seen_of(&p, b);
    for (int64_t g = 0; see.position >= 0 && g < p.s.g; g++) {
      const int64_t from = (b * p.s.g + g) * p.s.d,
                    to = ((see.slot * p.attrs->length + see.position) * p.s.g + g) * p.s.d;
      prepare_row(&p, eval->inputs[K] + from, K_SCALE, (double)see.position, eval->outputs[NEW_K] + to);
      memcpy(eval->outputs[NEW_V] + to, eval->inputs[V] + from, (size_t)p.s.d * sizeof(double));
    }
    for (int64_t h = 0; h < p.s.h; h++) {
      const int64_t at = (b * p.s.h + h) * p.s.d;
      prepare_row(&p, eval->inputs[Q] + at, Q_SCALE, values_of(&p, OFFSET)[b], row);
      attend(&p, &see, h, row, eval->outputs[Y] + at);
    }
  }
  return MICA_OK;
}

/* --- the launch --- */

#define PADDED_SIZES 64, 32, 96, 128, 160, 192, 224, 256, 320, 384, 512
#define SHARED_PARAMS                                                                                                  \
  MICA__CASE("NORM", "1: q and k have norms", 0, 1),                                                                   \
      MICA__CASE("ROTARY", "1: rotary positions, 2: of adjacent features", 1, 0, 2),                                   \
      MICA__CASE("SOFT_CAP", "1: scores are capped", 0, 1), MICA__CASE("D_PAD", "D, padded", PADDED_SIZES)
static const int32_t padded_sizes[] = {32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512};

static const mica__kernel_param cpu_params[] = {SHARED_PARAMS, MICA__CASE("WHOLE", "1: D is D_PAD", 1, 0),
                                                MICA__INT("VW", "lanes of a vector", 16, 8)};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 0, 1, 0, 64, 1, 16)};
static const mica__kernel_desc cpu_kernel = {
    MICA__KERNEL("attention_decode_cpu", "attention/decode_cpu.cl", cpu_params, cpu_variants)};

static const mica__kernel_param gpu_params[] = {SHARED_PARAMS, MICA__INT("LANES", "work-items of a head", 64, 32, 128)};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 0, 1, 0, 64, 64)};
static const mica__kernel_desc gpu_kernel = {
    MICA__KERNEL("attention_decode_gpu", "attention/decode_gpu.cl", gpu_params, gpu_variants)};

static int32_t padded(int64_t size) {
  size_t k = 0;
  while (padded_sizes[k] < size) k++;
  return padded_sizes[k];
}

static mica_status choose(const mica__exec *exec, const sizes *s, const mica__kernel_desc *desc, int32_t *values) {
  const mica__decode_attrs *attrs = exec->attrs;
  const int32_t d = padded(s->d);
  MICA_TRY(mica__exec_values(exec, desc, values));
  mica__kernel_set(desc, values, "NORM", input_of(attrs, Q_SCALE) >= 0);
  mica__kernel_set(desc, values, "ROTARY", s->pairs == 0 ? 0 : attrs->interleave ? 2 : 1);
  mica__kernel_set(desc, values, "SOFT_CAP", attrs->soft_cap > 0);
  mica__kernel_set(desc, values, "D_PAD", d);
  if (desc != &cpu_kernel) return MICA_OK;
  mica__kernel_set(desc, values, "WHOLE", d == s->d);
  if (mica_engine_device(mica__queue_engine(exec->queue))->vector_bytes < MICA__LONG_VECTOR)
    mica__kernel_set(desc, values, "VW", 8);
  return MICA_OK;
}

static const mica_tensor *operand(const mica__exec *exec, int32_t operand) {
  const int32_t input = input_of(exec->attrs, operand);
  return input < 0 ? NULL : exec->inputs[input];
}

static void push(mica__launch *launch, const mica__exec *exec, const sizes *s) {
  const mica__decode_attrs *attrs = exec->attrs;
  const double log2_e = 1.4426950408889634, cap = attrs->soft_cap;
  const double scale = attrs->scale != 0 ? attrs->scale : 1 / sqrt((double)s->d);
  const int64_t window =
      attrs->window > 0 && attrs->window <= MICA__ATTENTION_FAR ? attrs->window - 1 : MICA__ATTENTION_FAR;
  mica__launch_pack(launch);
  mica__launch_tensor(launch, exec->outputs[NEW_K]);
  mica__launch_tensor(launch, exec->outputs[NEW_V]);
  for (int32_t i = Q; i <= V; i++) mica__attention_tensor(launch, exec->inputs[i]);
  mica__launch_tensor(launch, exec->outputs[Y]);
  for (int32_t i = OFFSET; i < OPERANDS; i++) mica__launch_optional(launch, operand(exec, i));
  const int64_t numbers[] = {s->h, s->g, s->d, attrs->length, s->sequences, s->pairs, window};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) mica__launch_size(launch, numbers[i]);
  mica__launch_float(launch, (float)(cap > 0 ? scale / cap : scale * log2_e));
  mica__launch_float(launch, (float)(cap * log2_e));
  mica__launch_float(launch, (float)attrs->epsilon);
  mica__launch_float(launch, (float)attrs->rotary_scale);
}

static mica_status launch_decode(const mica__exec *exec) {
  const bool cpu = mica__exec_takes(exec, &cpu_kernel);
  const mica__kernel_desc *desc = cpu ? &cpu_kernel : &gpu_kernel;
  mica__type types[OPERANDS] = {{0}};
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  for (int32_t i = 0; i < exec->input_count; i++) types[i] = (mica__type){MICA_F32, mica_tensor_shape(exec->inputs[i])};
  const sizes s = sizes_of(exec->attrs, types);
  for (int32_t i = NEW_K; i <= NEW_V; i++)
    if (!mica__tensor_same_memory(exec->inputs[i], exec->outputs[i]))
      MICA_TRY(mica_op_copy(exec->queue, exec->inputs[i], exec->outputs[i]));
  if (s.b == 0) return MICA_OK;
  MICA_TRY(choose(exec, &s, desc, values));
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), desc, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  push(&launch, exec, &s);
  const int64_t lanes = cpu ? 1 : mica__kernel_value(desc, values, "LANES");
  mica__launch_range3(&launch, (const int64_t[]){s.h * lanes, s.b, 1}, (const size_t[]){(size_t)lanes, 1, 1});
  mica__launch_cost(&launch, 4 * (double)(s.b * s.h * s.d) * (double)((const mica__decode_attrs *)exec->attrs)->length,
                    0);
  return mica__queue_submit(exec->queue, &launch);
}

static double flops(const mica__node *node, const mica__type *inputs) {
  const mica__decode_attrs *attrs = node->attrs;
  const sizes s = sizes_of(attrs, inputs);
  const int64_t keys = attrs->window > 0 && attrs->window < attrs->length ? attrs->window : attrs->length;
  return 4 * (double)(s.b * s.h * s.d) * (double)keys;
}

/* --- the check --- */

typedef struct decode_case {
  sizes size;
  mica__decode_attrs attrs; /* but for `present` */
  bool slots, norms, sinks;
} decode_case;

#define SIZES(...) .size = {__VA_ARGS__}
static const decode_case cases[] = {
    {SIZES(2, 6, 2, 64, 2, 32), .attrs = {.length = 150}},
    {SIZES(3, 4, 4, 24, 5, 8), .attrs = {.length = 70, .interleave = true, .rotary_scale = 1.2}, .slots = true,
     .norms = true},
    {SIZES(1, 2, 1, 100, 1, 50), .attrs = {.length = 200, .window = 80, .scale = 0.3, .epsilon = 1e-6}, .norms = true,
     .sinks = true},
    {SIZES(4, 3, 1, 33, 4, 0), .attrs = {.length = 40, .soft_cap = 2}, .sinks = true},
    {SIZES(2, 2, 2, 256, 3, 64), .attrs = {.length = 90, .soft_cap = 5, .window = 3}, .slots = true},
    {SIZES(5, 1, 1, 1, 5, 0), .attrs = {.length = 1}},
};
enum { CASES = sizeof cases / sizeof *cases };

/* Positions: in the cache, before it, at its end and after it; slots: from the last one down. */
static void fill_numbers(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  const mica__decode_attrs *attrs = c->attrs;
  const int64_t sequences = c->inputs[K_CACHE].shape.dim[0] / attrs->length;
  for (int64_t b = 0; b < count; b++) {
    const double inside = floor((mica__check_random(check) + 1) / 2 * (double)(attrs->length - 1));
    if (input == OFFSET)
      values[b] = b == 2 ? (double)attrs->length : b == 3 ? -1 : b == 1 ? (double)attrs->length - 1 : inside;
    else
      values[b] = (double)(sequences - 1 - b);
  }
}

static void fill_case(const decode_case *from, mica__decode_attrs *attrs, mica__launch_case *to) {
  const mica_shape cache = MICA_SHAPE(from->size.sequences * from->attrs.length, from->size.g * from->size.d);
  const mica_shape row = MICA_SHAPE(from->size.b, 1, from->size.g, from->size.d);
  const mica__type operands[OPERANDS] = {{MICA_F32, cache},
                                         {MICA_F32, cache},
                                         {MICA_F32, MICA_SHAPE(from->size.b, 1, from->size.h, from->size.d)},
                                         {MICA_F32, row},
                                         {MICA_F32, row},
                                         {MICA_I32, MICA_SHAPE(from->size.b)},
                                         {MICA_I32, MICA_SHAPE(from->size.b)},
                                         {MICA_F32, MICA_SHAPE(from->size.pairs)},
                                         {MICA_F32, MICA_SHAPE(from->size.d)},
                                         {MICA_F32, MICA_SHAPE(from->size.d)},
                                         {MICA_F32, MICA_SHAPE(from->size.h)}};
  *attrs = from->attrs;
  if (attrs->rotary_scale == 0) attrs->rotary_scale = 1;
  *to = (mica__launch_case){.attrs = attrs,
                            .terms = (double)from->attrs.length * (double)from->size.d,
                            .normwise = true,
                            .filled = 1u << OFFSET | (from->slots ? 1u << SLOTS : 0),
                            .fill = fill_numbers};
  for (int32_t k = 0; k < OPERANDS; k++) {
    const bool there = k < SLOTS || (k == SLOTS && from->slots) || (k == FREQUENCIES && from->size.pairs > 0) ||
                       ((k == Q_SCALE || k == K_SCALE) && from->norms) || (k == SINKS && from->sinks);
    if (!there) continue;
    attrs->present |= INT64_C(1) << k;
    to->inputs[to->input_count] = operands[k];
    to->bound[to->input_count++] = 1;
  }
}

static mica_status check_decode(mica__check *check) {
  mica__decode_attrs attrs[CASES];
  mica__launch_case list[CASES];
  for (size_t c = 0; c < CASES; c++) fill_case(&cases[c], &attrs[c], &list[c]);
  return mica__check_launches(check, &mica__op_attention_decode, "attention_decode", list, CASES);
}

static const mica__kernel_desc *const kernels[] = {&cpu_kernel, &gpu_kernel, NULL};
#define CACHES (1u << K_CACHE | 1u << V_CACHE)
const mica__op mica__op_attention_decode = {.name = "attention_decode",
                                            .kernels = kernels,
                                            .check = check_decode,
                                            .kind = MICA__OP_LAUNCH,
                                            .min_inputs = SLOTS,
                                            .max_inputs = OPERANDS,
                                            .results = RESULTS,
                                            .attrs = &mica__decode_attr_list,
                                            .dtypes = "f0000xxffff>000",
                                            .infer = infer_decode,
                                            .evaluate = evaluate_decode,
                                            .launch = launch_decode,
                                            .flops = flops,
                                            .may_alias = CACHES,
                                            .updates = CACHES,
                                            .takes_strides = 1u << Q | 1u << K | 1u << V,
                                            .fills = (1u << RESULTS) - 1};

/* --- builder --- */

mica_value mica__attention_decode(mica__decode *decode) {
  const mica_value operands[OPERANDS] = {decode->k_cache, decode->v_cache, decode->q,     decode->k,
                                         decode->v,       decode->offset,  decode->slots, decode->frequencies,
                                         decode->q_scale, decode->k_scale, decode->sinks};
  mica__decode_attrs attrs = {.length = decode->length,
                              .window = decode->window,
                              .scale = decode->scale,
                              .soft_cap = decode->soft_cap,
                              .epsilon = decode->epsilon,
                              .rotary_scale = decode->rotary_scale,
                              .interleave = decode->interleave};
  mica_value caches = mica__graph_add_present(&mica__op_attention_decode, operands, OPERANDS, &attrs);
  decode->k_cache = mica__graph_result(caches, NEW_K);
  decode->v_cache = mica__graph_result(caches, NEW_V);
  return mica__graph_result(caches, Y);
}
