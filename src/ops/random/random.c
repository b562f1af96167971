/* The op random and its builders. The numbers have the shape of operand 1. They depend on the node's key and on the
 * step number (operand 0). */
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/random/philox.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"

#include <math.h>

/* The reference computes in long double: near a zero of the cosine or sine, f64 would keep few correct bits. */
#define PI 3.14159265358979323846264338327950288L

enum { UNIFORM, NORMAL, BELOW };
static const char *const kinds[] = {"uniform", "normal", "below"};

#define RANDOM_ATTRS(X, S)                                                                                             \
  X(S, DTYPE, dtype, MICA_F32, "of the result")                                                                        \
  X(S, ENUM, kind, UNIFORM, "the distribution; below: whether a uniform number is below a", kinds)                     \
  X(S, INT, key, 0, "of the stream")                                                                                   \
  X(S, REAL, a, 0, "uniform: the least; normal: the mean; below: the probability")                                     \
  X(S, REAL, b, 1, "uniform: the upper bound; normal: the standard deviation")
MICA__ATTR_STRUCT(random, RANDOM_ATTRS);
static MICA__ATTR_TABLE(random, RANDOM_ATTRS);

static mica_status infer_random(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count;
  const mica__random_attrs *how = attrs;
  char text[MICA_SHAPE_TEXT];
  int64_t count = 0;
  if (!mica__shape_is_known(inputs[0].shape) || mica_shape_count(inputs[0].shape, &count) != MICA_OK || count != 1)
    return mica__fail(MICA_E_SHAPE, "the step is %s, but must be one number", mica_shape_format(inputs[0].shape, text));
  *out = (mica__type){how->dtype, inputs[1].shape};
  const char *takes = NULL;
  if (mica__dtype_in(how->dtype, how->kind == BELOW ? 'b' : 'f', &takes)) return MICA_OK;
  return mica__fail(MICA_E_DTYPE, "the result is %s, but must be %s", mica_dtype_name(how->dtype), takes);
}

static int bits_of(mica_dtype dtype) { return dtype == MICA_F16 ? 11 : dtype == MICA_BF16 ? 8 : 24; }

static double unit(uint32_t word, int bits) { return ldexp((double)(word >> (32 - bits)), -bits); }

/* Returns the random number k (0 to 3) that a Philox block of four words gives. */
static double number(const mica__random_attrs *attrs, const uint32_t words[4], int k) {
  double u = unit(words[k], bits_of(attrs->dtype)), a = attrs->a, b = attrs->b;
  if (attrs->kind == UNIFORM) return a + (b - a) * u;
  if (attrs->kind == BELOW) return u < (double)(float)a;
  long double radius = sqrtl(-2 * logl(unit(words[k & 2], 24) + 0x1p-24L));
  long double angle = 2 * PI * unit(words[(k & 2) + 1], 24);
  return (double)(a + b * radius * (k & 1 ? sinl(angle) : cosl(angle)));
}

static mica_status evaluate_random(const mica__eval *eval) {
  const mica__random_attrs *attrs = eval->attrs;
  uint64_t key = (uint64_t)attrs->key, step = (uint64_t)(int64_t)eval->inputs[0][0];
  int64_t count = 0;
  uint32_t words[4] = {0};
  MICA_TRY(mica_shape_count(eval->type->shape, &count));
  for (int64_t i = 0; i < count; i++) {
    if (i % 4 == 0) {
      words[0] = (uint32_t)(i / 4);
      words[1] = (uint32_t)((uint64_t)(i / 4) >> 32);
      words[2] = (uint32_t)step;
      words[3] = (uint32_t)(step >> 32);
      mica__philox(words, (uint32_t)key, (uint32_t)(key >> 32));
    }
    eval->output[i] = number(attrs, words, (int)(i % 4));
  }
  return MICA_OK;
}

static const mica__kernel_param params[] = {
    MICA__INT("KIND", "0 uniform, 1 normal, 2 below a probability", UNIFORM, NORMAL, BELOW),
    MICA__DTYPE("Y_T", "type of y", MICA__FLOATS, MICA_BOOL),
    MICA__DTYPE("S_T", "type of the step", MICA_I64, MICA_I32),
};
static const mica__variant variants[] = {MICA__VARIANT("any", MICA__ON_ANY, UNIFORM, MICA_F32, MICA_I64)};
static const mica__kernel_desc random_kernel = {MICA__KERNEL("random", "random/random.cl", params, variants)};

static mica_status launch_random(const mica__exec *exec) {
  const mica__random_attrs *attrs = exec->attrs;
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  mica_dtype dtype = mica_tensor_dtype(exec->output);
  int64_t count = mica_tensor_count(exec->output);
  uint64_t key = (uint64_t)attrs->key;
  if (count == 0) return MICA_OK;
  MICA_TRY(mica__exec_values(exec, &random_kernel, values));
  mica__kernel_set(&random_kernel, values, "KIND", attrs->kind);
  mica__kernel_set(&random_kernel, values, "Y_T", (int32_t)dtype);
  mica__kernel_set(&random_kernel, values, "S_T", (int32_t)mica_tensor_dtype(exec->inputs[0]));
  MICA_TRY(mica__kernel_get(mica__queue_engine(exec->queue), &random_kernel, values, NULL, &kernel));
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, exec->output);
  mica__launch_tensor(&launch, exec->inputs[0]);
  mica__launch_long(&launch, count);
  mica__launch_int(&launch, (int32_t)(uint32_t)key);
  mica__launch_int(&launch, (int32_t)(uint32_t)(key >> 32));
  mica__launch_scalar(&launch, dtype == MICA_BOOL ? MICA_F32 : dtype, attrs->a);
  mica__launch_scalar(&launch, dtype == MICA_BOOL ? MICA_F32 : dtype, attrs->b);
  mica__launch_range1(&launch, (count + 3) / 4, MICA__RANGE_GROUP);
  mica__launch_cost(&launch, 0, (double)mica_tensor_bytes(exec->output));
  return mica__queue_submit(exec->queue, &launch);
}

static mica_status grad_random(const mica__grad *grad) {
  grad->dinputs[0] = (mica_value){0};
  return MICA_OK;
}

static mica_status check_random(mica__check *check) {
  static const mica_dtype types[] = {MICA_F32, MICA_F16, MICA_BF16, MICA_F64};
  mica__launch_case list[12] = {0};
  mica__random_attrs attrs[12];
  size_t count = 0;
  for (size_t t = 0; t < sizeof types / sizeof *types; t++)
    for (int32_t kind = UNIFORM; kind <= BELOW; kind++) {
      mica__launch_case c = {.attrs = &attrs[count], .input_count = 2, .bound = {1e9}, .terms = 64};
      attrs[count] = (mica__random_attrs){.dtype = kind == BELOW ? MICA_BOOL : types[t],
                                          .kind = kind,
                                          .key = INT64_C(0x123456789abcdef) * (int64_t)(t + 1),
                                          .a = kind == BELOW ? 0.3 : 0,
                                          .b = 1};
      c.inputs[0] = (mica__type){t % 2 ? MICA_I32 : MICA_I64, MICA_SCALAR};
      c.inputs[1] = (mica__type){types[t], MICA_SHAPE(3, 1001)};
      list[count++] = c;
    }
  return mica__check_launches(check, &mica__op_random, "random", list, count);
}

static const mica__kernel_desc *const kernels[] = {&random_kernel, NULL};
const mica__op mica__op_random = {.name = "random",
                                  .kernels = kernels,
                                  .check = check_random,
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .attrs = &mica__random_attr_list,
                                  .dtypes = "x*",
                                  .infer = infer_random,
                                  .grad = grad_random,
                                  .evaluate = evaluate_random,
                                  .launch = launch_random,
                                  .shape_only = 2};

/* Each call for one graph draws from its own stream: the key combines the seed and the graph's number of values. */
static mica_value draw(mica_value step, mica_value like, mica_dtype dtype, int32_t kind, uint64_t seed, double a,
                       double b) {
  mica__random_attrs attrs = {.dtype = dtype, .kind = kind, .a = a, .b = b};
  if (!step.graph || !like.graph) return mica__graph_add(&mica__op_random, (mica_value[]){step, like}, 2, NULL);
  attrs.key = (int64_t)(seed + UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(uint32_t)step.graph->count);
  return mica__graph_add(&mica__op_random, (mica_value[]){step, like}, 2, &attrs);
}

mica_value mica_random_uniform(mica_value step, mica_value like, uint64_t seed, double low, double high) {
  if (like.graph && !(low <= high))
    return mica__builder_fail("random_uniform", like, MICA_E_INVALID,
                              "low is %g and high is %g, but low must be at most high", low, high);
  return draw(step, like, mica_value_dtype(like), UNIFORM, seed, low, high);
}

mica_value mica_random_normal(mica_value step, mica_value like, uint64_t seed, double mean, double deviation) {
  if (like.graph && !mica__builder_number("random_normal", like, "the deviation", deviation, 0, INFINITY))
    return (mica_value){0};
  return draw(step, like, mica_value_dtype(like), NORMAL, seed, mean, deviation);
}

mica_value mica_random_bernoulli(mica_value step, mica_value like, uint64_t seed, double probability) {
  if (like.graph && !mica__builder_number("random_bernoulli", like, "the probability", probability, 0, 1))
    return (mica_value){0};
  return draw(step, like, MICA_BOOL, BELOW, seed, probability, 0);
}

mica_value mica_dropout(mica_value x, mica_value step, uint64_t seed, double rate) {
  if (rate == 0 || !x.graph) return x;
  if (!(rate > 0 && rate < 1))
    return mica__builder_fail("dropout", x, MICA_E_INVALID, "rate is %g, but must be from 0 to below 1", rate);
  mica_value kept = mica_random_bernoulli(step, x, seed, 1 - rate);
  return mica_where(kept, mica_affine(x, 1 / (1 - rate), 0), mica__number(x, 0));
}
