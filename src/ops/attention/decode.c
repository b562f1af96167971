/* Attention for one new position per sequence, with its cache (cl/attention/decode.clh). */
#include "ops/attention/decode.h"

#include "base/element.h"
#include "base/error.h"
#include "cl/attention/decode/fields.clh"
#include "ops/attention/attention.h"
#include "runtime/fields.h"
#include "runtime/tensor.h"

#include <math.h>
#include <mica/ops.h>
#include <stdlib.h>
#include <string.h>

/* attention_decode (k_cache, v_cache, q, k, v, offset, then optional operands) -> k_cache, v_cache, y.
 * attention_decode_q8 also has the scales of both caches after the caches, as operands and as results. */
enum { K_CACHE, V_CACHE, K_STEP, V_STEP, Q, K, V, OFFSET, SLOTS, FREQUENCIES, Q_SCALE, K_SCALE, SINKS, OPERANDS };
enum { NEW_K, NEW_V, NEW_K_STEP, NEW_V_STEP, Y_SCALED, Y_PLAIN = NEW_K_STEP };

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

/* Sizes, named as in decode.h. */
typedef struct sizes {
  int64_t b, h, g, d, sequences, pairs;
} sizes;

static bool has_steps(const mica__decode_attrs *attrs) { return input_of(attrs, K_STEP) >= 0; }

static int32_t result_y(const mica__decode_attrs *attrs) { return has_steps(attrs) ? Y_SCALED : Y_PLAIN; }

int64_t mica__decode_block(int64_t d) { return d % MICA__DECODE_BLOCK == 0 ? MICA__DECODE_BLOCK : d; }

/* The shape of an operand; rank 0 if it is absent. */
static mica_shape shape_of(const mica__decode_attrs *attrs, const mica__type *inputs, int32_t operand) {
  const int32_t input = input_of(attrs, operand);
  return input < 0 ? MICA_SCALAR : inputs[input].shape;
}

static sizes sizes_of(const mica__decode_attrs *attrs, const mica__type *inputs) {
  const mica_shape q = shape_of(attrs, inputs, Q), k = shape_of(attrs, inputs, K),
                   frequencies = shape_of(attrs, inputs, FREQUENCIES);
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

/* Checks the caches. They must be f32, f16 or bf16, or i8 with one f16 scale per block of features. */
static mica_status check_caches(const mica__decode_attrs *attrs, const mica__type *inputs, const sizes *s) {
  const mica__type cache = inputs[K_CACHE];
  const bool steps = has_steps(attrs);
  char text[2][MICA_SHAPE_TEXT];
  if (steps && (cache.dtype != MICA_I8 || inputs[K_STEP].dtype != MICA_F16 || inputs[V_STEP].dtype != MICA_F16))
    return mica__fail(MICA_E_DTYPE, "the caches are %s and their scales %s and %s, but must be i8 with scales of f16",
                      mica_dtype_name(cache.dtype), mica_dtype_name(inputs[K_STEP].dtype),
                      mica_dtype_name(inputs[V_STEP].dtype));
  if (!steps && cache.dtype != MICA_F32 && cache.dtype != MICA_F16 && cache.dtype != MICA_BF16)
    return mica__fail(MICA_E_DTYPE, "the caches are %s, but must be f32, f16 or bf16", mica_dtype_name(cache.dtype));
  if (attrs->length < 1 || cache.shape.rank != 2 || cache.shape.dim[1] != s->g * s->d ||
      cache.shape.dim[0] % attrs->length != 0 || !mica_shape_equal(cache.shape, inputs[V_CACHE].shape))
    return mica__fail(
        MICA_E_SHAPE,
        "the caches are %s and %s, but both must be (sequences * length, %lld), where length is %lld and must be at "
        "least 1",
        mica_shape_format(cache.shape, text[0]), mica_shape_format(inputs[V_CACHE].shape, text[1]),
        (long long)(s->g * s->d), (long long)attrs->length);
  const mica_shape step = MICA_SHAPE(cache.shape.dim[0], s->g * (s->d / mica__decode_block(s->d)));
  if (steps && (!mica_shape_equal(inputs[K_STEP].shape, step) || !mica_shape_equal(inputs[V_STEP].shape, step)))
    return mica__fail(MICA_E_SHAPE, "the scales of the caches are %s and %s, but both must be (%lld, %lld)",
                      mica_shape_format(inputs[K_STEP].shape, text[0]),
                      mica_shape_format(inputs[V_STEP].shape, text[1]), (long long)step.dim[0], (long long)step.dim[1]);
  return MICA_OK;
}

static const char *const operand_names[OPERANDS] = {
    "k_cache", "v_cache", "k_cache's scale", "v_cache's scale", "q",       "k",    "v",
    "offset",  "slots",   "frequencies",     "q_scale",         "k_scale", "sinks"};

static mica_status check_vectors(const mica__decode_attrs *attrs, const mica__type *inputs, const sizes *s) {
  const struct {
    int32_t operand;
    int64_t count;
  } vectors[] = {{OFFSET, s->b}, {SLOTS, s->b}, {Q_SCALE, s->d}, {K_SCALE, s->d}, {SINKS, s->h}};
  char text[MICA_SHAPE_TEXT];
  for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++)
    if (!is_vector(attrs, inputs, vectors[i].operand, vectors[i].count))
      return mica__fail(
          MICA_E_SHAPE, "%s is %s, but must be (%lld); -1 means not known", operand_names[vectors[i].operand],
          mica_shape_format(shape_of(attrs, inputs, vectors[i].operand), text), (long long)vectors[i].count);
  if (!is_vector(attrs, inputs, FREQUENCIES, s->pairs) || 2 * s->pairs > s->d)
    return mica__fail(MICA_E_SHAPE, "frequencies is %s, but must be a vector of at most %lld elements",
                      mica_shape_format(shape_of(attrs, inputs, FREQUENCIES), text), (long long)(s->d / 2));
  if ((input_of(attrs, Q_SCALE) < 0) != (input_of(attrs, K_SCALE) < 0))
    return mica__fail(MICA_E_SHAPE, "only one of q_scale and k_scale is given; give both or neither");
  return MICA_OK;
}

static mica_status infer_decode(const mica__type *inputs, int32_t count, void *attributes, mica__type *out) {
  const mica__decode_attrs *attrs = attributes;
  const int64_t steps = INT64_C(1) << K_STEP | INT64_C(1) << V_STEP, needed = ((INT64_C(1) << SLOTS) - 1) & ~steps;
  char text[2][MICA_SHAPE_TEXT];
  if ((attrs->present & needed) != needed)
    return mica__fail(MICA_E_INVALID, "a cache, q, k, v or offset is missing; all of them are needed");
  if ((attrs->present & steps) && (attrs->present & steps) != steps)
    return mica__fail(MICA_E_INVALID, "only one cache has scales; give scales for both caches or for neither");
  for (int32_t k = Q; k < OPERANDS; k++) {
    const int32_t i = input_of(attrs, k);
    if (i >= 0 && i < count && inputs[i].dtype != MICA_F32 && inputs[i].dtype != MICA_I32)
      return mica__fail(MICA_E_DTYPE, "%s is %s, but must be f32 or i32", operand_names[k],
                        mica_dtype_name(inputs[i].dtype));
  }
  for (int32_t k = Q; k <= V; k++) {
    const mica_shape shape = shape_of(attrs, inputs, k);
    if (shape.rank != 4 || shape.dim[1] != 1 || shape.dim[2] < 1 || shape.dim[3] < 1)
      return mica__fail(MICA_E_SHAPE, "%s is %s, but must be (batch, 1, heads, size) with known heads and size",
                        operand_names[k], mica_shape_format(shape, text[0]));
  }
  const sizes s = sizes_of(attrs, inputs);
  const mica_shape k = shape_of(attrs, inputs, K);
  const bool same = mica_shape_equal(k, shape_of(attrs, inputs, V)) && k.dim[3] == s.d && agree(k.dim[0], s.b) &&
                    s.h % s.g == 0 && s.d <= MICA__DECODE_MOST_SIZE;
  if (!same)
    return mica__fail(
        MICA_E_SHAPE,
        "q is (%lld, 1, %lld, %lld), k %s and v %s, but k and v must be (batch, 1, G, size) with the batch and size of "
        "q, where G divides the heads of q and the size is at most %d",
        (long long)s.b, (long long)s.h, (long long)s.d, mica_shape_format(k, text[0]),
        mica_shape_format(shape_of(attrs, inputs, V), text[1]), MICA__DECODE_MOST_SIZE);
  MICA_TRY(check_caches(attrs, inputs, &s));
  MICA_TRY(check_vectors(attrs, inputs, &s));
  if (attrs->window < 0)
    return mica__fail(MICA_E_INVALID, "window is %lld, but must not be negative", (long long)attrs->window);
  if (!isfinite(attrs->scale)) return mica__fail(MICA_E_INVALID, "scale is %g, but must be finite", attrs->scale);
  if (!isfinite(attrs->soft_cap) || attrs->soft_cap < 0)
    return mica__fail(MICA_E_INVALID, "soft_cap is %g, but must be finite and not negative", attrs->soft_cap);
  for (int32_t r = 0; r < result_y(attrs); r++) out[r] = inputs[r];
  out[result_y(attrs)] = (mica__type){MICA_F32, shape_of(attrs, inputs, Q)};
  return MICA_OK;
}

/* Only attention_decode_q8 takes scales. */
static mica_status infer_plain(const mica__type *inputs, int32_t count, void *attributes, mica__type *out) {
  if (has_steps(attributes))
    return mica__fail(MICA_E_INVALID,
                      "the caches have scales, but attention_decode does not support scales; use attention_decode_q8");
  return infer_decode(inputs, count, attributes, out);
}

static mica_status infer_q8(const mica__type *inputs, int32_t count, void *attributes, mica__type *out) {
  if (!has_steps(attributes)) return mica__fail(MICA_E_INVALID, "the scales of the caches are missing");
  return infer_decode(inputs, count, attributes, out);
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

/* Writes a head's row, after its norm and rotary positions, to `row`. scale: the operand that scales the norm; if it
 * is absent there is no norm. */
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

/* Rounds x to dtype. */
static double rounded(mica_dtype dtype, double x) {
  double element = 0;
  mica__element_set(dtype, &element, 0, x);
  return mica__element_get(dtype, &element, 0);
}

/* The value of element c of row r of a cache. */
static double cached_number(const problem *p, int32_t cache, int64_t r, int64_t c) {
  const double x = p->eval->outputs[cache][r * p->s.g * p->s.d + c];
  const int64_t block = mica__decode_block(p->s.d), steps = p->s.g * (p->s.d / block);
  return has_steps(p->attrs) ? x * p->eval->outputs[cache + NEW_K_STEP][r * steps + c / block] : x;
}

/* Stores a head's row in row r of a cache, from column c on. */
static void keep_row(const problem *p, int32_t cache, const double *row, int64_t r, int64_t c) {
  double *to = p->eval->outputs[cache] + r * p->s.g * p->s.d + c;
  const int64_t block = mica__decode_block(p->s.d), steps = p->s.g * (p->s.d / block);
  for (int64_t i = 0; !has_steps(p->attrs) && i < p->s.d; i++) to[i] = rounded(p->eval->types[K_CACHE].dtype, row[i]);
  for (int64_t from = 0; has_steps(p->attrs) && from < p->s.d; from += block) {
    double most = 0;
    for (int64_t i = from; i < from + block; i++) most = fmax(most, fabs(row[i]));
    const double step = fmin(rounded(MICA_F16, most / 127), 65504);
    p->eval->outputs[cache + NEW_K_STEP][r * steps + (c + from) / block] = step;
    for (int64_t i = from; i < from + block; i++)
      to[i] = step > 0 ? fmax(-127, fmin(nearbyint(row[i] / step), 127)) : 0;
  }
}

/* The positions that a query sees: `first` to `last` of the cached sequence `slot`, none if last < first. `position` is
 * where its own key and value are stored; -1 if they are not stored. */
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
  const int64_t d = p->s.d, column = h / (p->s.h / p->s.g) * d;
  const double scale = p->attrs->scale != 0 ? p->attrs->scale : 1 / sqrt((double)d);
  double most = sinks ? sinks[h] : -(double)INFINITY, sum = sinks ? 1 : 0;
  for (int64_t c = 0; c < d; c++) y[c] = 0;
  for (int64_t j = see->first; j <= see->last; j++) {
    const int64_t row = see->slot * p->attrs->length + j;
    double score = 0;
    for (int64_t c = 0; c < d; c++) score += q[c] * cached_number(p, NEW_K, row, column + c);
    score = cap > 0 ? cap * tanh(score * scale / cap) : score * scale;
    const double next = fmax(most, score), shrink = sum > 0 ? exp(most - next) : 0, weight = exp(score - next);
    most = next;
    sum = sum * shrink + weight;
    for (int64_t c = 0; c < d; c++) y[c] = y[c] * shrink + weight * cached_number(p, NEW_V, row, column + c);
  }
  for (int64_t c = 0; c < d; c++) y[c] = sum > 0 ? y[c] / sum : 0;
}

static mica_status evaluate_decode(const mica__eval *eval) {
  const problem p = {eval, eval->attrs, sizes_of(eval->attrs, eval->types)};
  double row[MICA__DECODE_MOST_SIZE];
  for (int32_t r = 0; r < result_y(p.attrs); r++) {
    int64_t count = 0;
    MICA_TRY(mica_shape_count(eval->types[r].shape, &count));
    memcpy(eval->outputs[r], eval->inputs[r], (size_t)count * sizeof(double));
  }
  for (int64_t b = 0; b < p.s.b; b++) {
    const seen see = seen_of(&p, b);
    for (int64_t g = 0; see.position >= 0 && g < p.s.g; g++) {
      const int64_t from = (b * p.s.g + g) * p.s.d, to = see.slot * p.attrs->length + see.position;
      prepare_row(&p, values_of(&p, K) + from, K_SCALE, (double)see.position, row);
      keep_row(&p, NEW_K, row, to, g * p.s.d);
      keep_row(&p, NEW_V, values_of(&p, V) + from, to, g * p.s.d);
    }
    for (int64_t h = 0; h < p.s.h; h++) {
      const int64_t at = (b * p.s.h + h) * p.s.d;
      prepare_row(&p, values_of(&p, Q) + at, Q_SCALE, values_of(&p, OFFSET)[b], row);
      attend(&p, &see, h, row, eval->outputs[result_y(p.attrs)] + at);
    }
  }
  return MICA_OK;
}

/* --- the launch --- */

#define PADDED_SIZES 64, 32, 96, 128, 160, 192, 224, 256, 320, 384, 512
#define SHARED_PARAMS                                                                                                  \
  MICA__CASE("NORM", "1: q and k have norms", 0, 1),                                                                   \
      MICA__CASE("ROTARY", "1: rotary positions, 2: of adjacent features", 1, 0, 2),                                   \
      MICA__CASE("SOFT_CAP", "1: scores are capped", 0, 1), MICA__CASE("D_PAD", "D, padded", PADDED_SIZES),            \
      MICA__DTYPE("C_T", "type of the caches; i8: with scales", MICA_F32, MICA_F16, MICA_BF16, MICA_I8)
static const int32_t padded_sizes[] = {32, 64, 96, 128, 160, 192, 224, 256, 320, 384, 512};

static const mica__kernel_param cpu_params[] = {SHARED_PARAMS, MICA__CASE("WHOLE", "1: D is D_PAD", 1, 0),
                                                MICA__INT("VW", "lanes of a vector", 16, 8)};
static const mica__variant cpu_variants[] = {MICA__VARIANT("cpu", MICA__ON_CPU, 0, 1, 0, 64, MICA_F32, 1, 16)};
static const mica__kernel_desc cpu_kernel = {
    MICA__KERNEL("attention_decode_cpu", "attention/decode_cpu.cl", cpu_params, cpu_variants)};

static const mica__kernel_param gpu_params[] = {SHARED_PARAMS, MICA__INT("LANES", "work-items of a head", 64, 32, 128)};
static const mica__variant gpu_variants[] = {MICA__VARIANT("gpu", MICA__ON_GPU, 0, 1, 0, 64, MICA_F32, 64)};
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
  mica__kernel_set(desc, values, "C_T", (int32_t)mica_tensor_dtype(exec->inputs[K_CACHE]));
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

/* The stride of an axis; 0 if its extent is 1. */
static int64_t step_of(const mica_tensor *tensor, int32_t axis) {
  return mica_tensor_shape(tensor).dim[axis] > 1 ? mica_tensor_strides(tensor)[axis] : 0;
}

/* Sets the fields of a struct that DECODE_TENSOR declares for x: the tensor and its strides. */
#define TENSOR(x, tensor)                                                                                              \
  .x = tensor, .x##_b = step_of(tensor, 0), .x##_t = step_of(tensor, 1), .x##_h = step_of(tensor, 2),                  \
  .x##_c = step_of(tensor, 3)

MICA__PACKED(decode_fields, DECODE_FIELDS);

static void push(mica__launch *launch, const mica__exec *exec, const sizes *s) {
  const mica__decode_attrs *attrs = exec->attrs;
  const double log2_e = 1.4426950408889634, cap = attrs->soft_cap;
  const double scale = attrs->scale != 0 ? attrs->scale : 1 / sqrt((double)s->d);
  const bool steps = has_steps(attrs), windowed = attrs->window > 0 && attrs->window <= MICA__ATTENTION_FAR;
  const decode_fields f = {.KC = exec->outputs[NEW_K],
                           .VC = exec->outputs[NEW_V],
                           .KS = steps ? exec->outputs[NEW_K_STEP] : NULL,
                           .VS = steps ? exec->outputs[NEW_V_STEP] : NULL,
                           TENSOR(Q, operand(exec, Q)),
                           TENSOR(K, operand(exec, K)),
                           TENSOR(V, operand(exec, V)),
                           .Y = exec->outputs[result_y(attrs)],
                           .offsets = operand(exec, OFFSET),
                           .slots = operand(exec, SLOTS),
                           .frequencies = operand(exec, FREQUENCIES),
                           .q_scale = operand(exec, Q_SCALE),
                           .k_scale = operand(exec, K_SCALE),
                           .sinks = operand(exec, SINKS),
                           .H = s->h,
                           .G = s->g,
                           .D = s->d,
                           .length = attrs->length,
                           .sequences = s->sequences,
                           .pairs = s->pairs,
                           .before = windowed ? attrs->window - 1 : MICA__ATTENTION_FAR,
                           .shift = mica__decode_block(s->d) == MICA__DECODE_BLOCK ? 5 : 30,
                           .product_scale = (float)(cap > 0 ? scale / cap : scale * log2_e),
                           .cap = (float)(cap * log2_e),
                           .epsilon = (float)attrs->epsilon,
                           .rotary_scale = (float)attrs->rotary_scale};
  mica__launch_pack(launch);
  decode_fields_push(launch, &f);
}

static mica_status launch_decode(const mica__exec *exec) {
  const bool cpu = mica__exec_takes(exec, &cpu_kernel);
  const mica__kernel_desc *desc = cpu ? &cpu_kernel : &gpu_kernel;
  mica__type types[OPERANDS] = {{0}};
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  for (int32_t i = 0; i < exec->input_count; i++) types[i] = (mica__type){MICA_F32, mica_tensor_shape(exec->inputs[i])};
  const sizes s = sizes_of(exec->attrs, types);
  for (int32_t i = 0; i < result_y(exec->attrs); i++)
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
  mica__decode_attrs attrs; /* without `present` */
  bool slots, norms, sinks;
  mica_dtype cache; /* 0: f32 */
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
    {SIZES(2, 6, 2, 64, 2, 0), .attrs = {.length = 150}, .cache = MICA_F16},
    {SIZES(3, 2, 1, 33, 4, 0), .attrs = {.length = 40}, .slots = true, .cache = MICA_F16},
    {SIZES(4, 4, 2, 96, 4, 0), .attrs = {.length = 70, .window = 50}, .cache = MICA_BF16},
    {SIZES(2, 2, 2, 7, 2, 0), .attrs = {.length = 20}, .sinks = true, .cache = MICA_BF16},
};
static const decode_case q8_cases[] = {
    {SIZES(2, 6, 2, 64, 2, 0), .attrs = {.length = 150}, .cache = MICA_I8},
    {SIZES(4, 4, 2, 96, 5, 0), .attrs = {.length = 70, .window = 50}, .slots = true, .cache = MICA_I8},
    {SIZES(3, 2, 1, 40, 3, 0), .attrs = {.length = 40, .soft_cap = 3}, .sinks = true, .cache = MICA_I8},
    {SIZES(1, 1, 1, 288, 1, 0), .attrs = {.length = 33}, .cache = MICA_I8},
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

/* Fills offsets, slots and, unless the caches are f32, the new keys and values.
 *
 * - Offsets are random positions inside the cache. Sequence 1 instead has the cache's last position, sequence 2 the
 *   position after its end, and sequence 3 the position before its start.
 * - Slots count down from the last.
 * - Keys and values are exact in the cache's type, so that the reference need not round as the device does: the first
 *   of each block is the largest, 127 / 128, so that the scale is 1 / 128, and all are multiples of it. */
static void fill_numbers(mica__check *check, const mica__launch_case *c, int32_t input, double *values, int64_t count) {
  const mica__decode_attrs *attrs = c->attrs;
  const int64_t sequences = c->inputs[K_CACHE].shape.dim[0] / attrs->length, d = shape_of(attrs, c->inputs, K).dim[3];
  for (int64_t b = 0; b < count; b++) {
    const double random = mica__check_random(check);
    if (input == input_of(attrs, OFFSET))
      values[b] = b == 2   ? (double)attrs->length
                  : b == 3 ? -1
                  : b == 1 ? (double)attrs->length - 1
                           : floor((random + 1) / 2 * (double)(attrs->length - 1));
    else if (input == input_of(attrs, SLOTS))
      values[b] = (double)(sequences - 1 - b);
    else
      values[b] = (b % d % mica__decode_block(d) == 0 ? 127 : rint(126 * random)) / 128;
  }
}

static void fill_case(const decode_case *from, mica__decode_attrs *attrs, mica__launch_case *to) {
  const sizes *s = &from->size;
  const mica_dtype cached = from->cache ? from->cache : MICA_F32;
  const mica_shape cache = MICA_SHAPE(s->sequences * from->attrs.length, s->g * s->d);
  const mica_shape step = MICA_SHAPE(cache.dim[0], s->g * (s->d / mica__decode_block(s->d)));
  const mica_shape row = MICA_SHAPE(s->b, 1, s->g, s->d);
  const mica__type operands[OPERANDS] = {{cached, cache},
                                         {cached, cache},
                                         {MICA_F16, step},
                                         {MICA_F16, step},
                                         {MICA_F32, MICA_SHAPE(s->b, 1, s->h, s->d)},
                                         {MICA_F32, row},
                                         {MICA_F32, row},
                                         {MICA_I32, MICA_SHAPE(s->b)},
                                         {MICA_I32, MICA_SHAPE(s->b)},
                                         {MICA_F32, MICA_SHAPE(s->pairs)},
                                         {MICA_F32, MICA_SHAPE(s->d)},
                                         {MICA_F32, MICA_SHAPE(s->d)},
                                         {MICA_F32, MICA_SHAPE(s->h)}};
  const bool there[OPERANDS] = {true, true,        cached == MICA_I8, cached == MICA_I8, true,        true,       true,
                                true, from->slots, s->pairs > 0,      from->norms,       from->norms, from->sinks};
  *attrs = from->attrs;
  if (attrs->rotary_scale == 0) attrs->rotary_scale = 1;
  *to = (mica__launch_case){
      .attrs = attrs, .terms = (double)from->attrs.length * (double)s->d, .normwise = true, .fill = fill_numbers};
  for (int32_t k = 0; k < OPERANDS; k++) {
    if (!there[k]) continue;
    const bool exact = (k == K || k == V) && cached != MICA_F32;
    if (k == OFFSET || k == SLOTS || exact) to->filled |= 1u << to->input_count;
    attrs->present |= INT64_C(1) << k;
    to->inputs[to->input_count] = operands[k];
    to->bound[to->input_count++] = operands[k].dtype == MICA_I8 ? 127 : k == K_STEP || k == V_STEP ? 1.0 / 127 : 1;
  }
}

static mica_status check_list(mica__check *check, const mica__op *op, const decode_case *from, size_t count) {
  mica__decode_attrs attrs[COUNT(cases)];
  mica__launch_case list[COUNT(cases)];
  for (size_t c = 0; c < count; c++) fill_case(&from[c], &attrs[c], &list[c]);
  return mica__check_launches(check, op, op->name, list, count);
}

static mica_status check_decode(mica__check *check) {
  return check_list(check, &mica__op_attention_decode, cases, COUNT(cases));
}

static mica_status check_q8(mica__check *check) {
  return check_list(check, &mica__op_attention_decode_q8, q8_cases, COUNT(q8_cases));
}

static const mica__kernel_desc *const kernels[] = {&cpu_kernel, &gpu_kernel, NULL};
/* first: the index of the first input after the caches; this input and the next two may have any strides. */
#define DECODE_OP(label, first, ...)                                                                                   \
  const mica__op mica__op_##label = {.name = #label,                                                                   \
                                     .kernels = kernels,                                                               \
                                     .kind = MICA__OP_LAUNCH,                                                          \
                                     .max_inputs = OPERANDS,                                                           \
                                     .results = (first) + 1,                                                           \
                                     .attrs = &mica__decode_attr_list,                                                 \
                                     .dtypes = "*0**f44xxffff",                                                        \
                                     .evaluate = evaluate_decode,                                                      \
                                     .launch = launch_decode,                                                          \
                                     .flops = flops,                                                                   \
                                     .may_alias = (1u << (first)) - 1,                                                 \
                                     .updates = (1u << (first)) - 1,                                                   \
                                     .takes_strides = 7u << (first),                                                   \
                                     .fills = (2u << (first)) - 1,                                                     \
                                     __VA_ARGS__};
DECODE_OP(attention_decode, Y_PLAIN, .min_inputs = K_STEP, .infer = infer_plain, .check = check_decode)
DECODE_OP(attention_decode_q8, Y_SCALED, .min_inputs = SLOTS, .infer = infer_q8, .check = check_q8)

/* --- builder --- */

mica_value mica__attention_decode(mica__decode *decode) {
  const mica_value operands[OPERANDS] = {
      decode->k_cache, decode->v_cache, decode->k_step,      decode->v_step,  decode->q,       decode->k,    decode->v,
      decode->offset,  decode->slots,   decode->frequencies, decode->q_scale, decode->k_scale, decode->sinks};
  mica__decode_attrs attrs = {.length = decode->length,
                              .window = decode->window,
                              .scale = decode->scale,
                              .soft_cap = decode->soft_cap,
                              .epsilon = decode->epsilon,
                              .rotary_scale = decode->rotary_scale,
                              .interleave = decode->interleave};
  const bool steps = !mica_value_is_null(decode->k_step);
  const mica__op *op = steps ? &mica__op_attention_decode_q8 : &mica__op_attention_decode;
  mica_value caches = mica__graph_add_present(op, operands, OPERANDS, &attrs);
  decode->k_cache = mica__graph_result(caches, NEW_K);
  decode->v_cache = mica__graph_result(caches, NEW_V);
  if (steps) decode->k_step = mica__graph_result(caches, NEW_K_STEP);
  if (steps) decode->v_step = mica__graph_result(caches, NEW_V_STEP);
  return mica__graph_result(caches, steps ? Y_SCALED : Y_PLAIN);
}
