/* Attention and its gradients as ops of graphs: types, gradient rule, builder. */
#include "ops/attention/attention.h"

#include "base/error.h"
#include "runtime/tuning.h"

#include <inttypes.h>
#include <math.h>
#include <mica/attention.h>
#include <stdio.h>

/* --- types --- */

static mica_dtype wide_of(mica_dtype dtype) { return dtype == MICA_F64 ? MICA_F64 : MICA_F32; }

static bool agree(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

static mica_status check_heads(const mica__type *in) {
  static const char *const names[] = {"q", "k", "v"};
  char a[MICA__TYPE_TEXT], b[MICA__TYPE_TEXT], c[MICA__TYPE_TEXT];
  for (int i = 0; i < 3; i++) {
    const mica_shape own = in[i].shape;
    if (own.rank != 4)
      return mica__fail(MICA_E_SHAPE, "%s is %s, but must be (batch, heads, positions, size)", names[i],
                        mica__type_format(in[i], a));
    if (own.dim[1] == MICA_DYNAMIC || own.dim[3] == MICA_DYNAMIC)
      return mica__fail(MICA_E_SHAPE, "%s is %s, but its number of heads and their size must be known", names[i],
                        mica__type_format(in[i], a));
  }
  const int64_t *q = in[0].shape.dim, *k = in[1].shape.dim, *v = in[2].shape.dim;
  bool same = agree(q[0], k[0]) && agree(q[0], v[0]) && agree(k[0], v[0]) && k[1] == v[1] && agree(k[2], v[2]);
  if (!same || q[3] != k[3])
    return mica__fail(MICA_E_SHAPE, "q %s, k %s and v %s must be (B, H, Tq, D), (B, G, Tk, D) and (B, G, Tk, E)",
                      mica__type_format(in[0], a), mica__type_format(in[1], b), mica__type_format(in[2], c));
  if (k[1] == 0 ? q[1] != 0 : q[1] % k[1] != 0)
    return mica__fail(MICA_E_SHAPE, "the heads of q (%lld) must be a multiple of those of k and v (%lld)",
                      (long long)q[1], (long long)k[1]);
  return MICA_OK;
}

static mica_status check_mask(const mica__type *in, mica__type mask) {
  const int64_t want[] = {in[0].shape.dim[0], in[0].shape.dim[1], in[0].shape.dim[2], in[1].shape.dim[2]};
  char text[MICA__TYPE_TEXT], whole[MICA_SHAPE_TEXT];
  bool fits = mask.shape.rank == 4;
  for (int i = 0; fits && i < 4; i++) fits = mask.shape.dim[i] == 1 || agree(mask.shape.dim[i], want[i]);
  if (!fits)
    return mica__fail(MICA_E_SHAPE, "the mask %s cannot be broadcast to %s", mica__type_format(mask, text),
                      mica_shape_format(MICA_SHAPE(want[0], want[1], want[2], want[3]), whole));
  if (mask.dtype != MICA_BOOL && mask.dtype != MICA_F32 && mask.dtype != in[0].dtype)
    return in[0].dtype == MICA_F32
               ? mica__fail(MICA_E_DTYPE, "the mask is %s, but must be b8 or f32", mica_dtype_name(mask.dtype))
               : mica__fail(MICA_E_DTYPE, "the mask is %s, but must be b8, f32 or %s, the type of q",
                            mica_dtype_name(mask.dtype), mica_dtype_name(in[0].dtype));
  return MICA_OK;
}

static bool is_single(mica_shape shape) { return shape.rank == 0 || (shape.rank == 1 && shape.dim[0] == 1); }

/* Accepts i32 positions: one per sequence or, if `one`, a single number for all. */
static mica_status check_positions(const char *what, const mica__type *in, mica__type own, bool one) {
  char text[MICA__TYPE_TEXT];
  bool each = own.shape.rank == 1 && agree(own.shape.dim[0], in[0].shape.dim[0]);
  if (!each && !(one && is_single(own.shape)))
    return mica__fail(MICA_E_SHAPE, "%s are %s, but must be %sone number for each sample of the batch", what,
                      mica__type_format(own, text), one ? "one number, or " : "");
  if (own.dtype != MICA_I32)
    return mica__fail(MICA_E_DTYPE, "%s are %s, but must be i32", what, mica_dtype_name(own.dtype));
  return MICA_OK;
}

/* Checks starts, the first key that each query sees, (B, Tq), and sinks, a score for each head, (H). Either may be
 * NULL. */
static mica_status check_starts_and_sinks(const mica__type *in, const mica__type *starts, const mica__type *sinks) {
  char text[MICA__TYPE_TEXT];
  const int64_t *q = in[0].shape.dim;
  if (starts && (starts->shape.rank != 2 || !agree(starts->shape.dim[0], q[0]) || !agree(starts->shape.dim[1], q[2])))
    return mica__fail(MICA_E_SHAPE, "starts are %s, but must be (B, Tq), one for each query",
                      mica__type_format(*starts, text));
  if (starts && starts->dtype != MICA_I32)
    return mica__fail(MICA_E_DTYPE, "starts are %s, but must be i32", mica_dtype_name(starts->dtype));
  if (sinks && (sinks->shape.rank != 1 || !agree(sinks->shape.dim[0], q[1])))
    return mica__fail(MICA_E_SHAPE, "sinks are %s, but must be (H), one for each head of q",
                      mica__type_format(*sinks, text));
  if (sinks && sinks->dtype != wide_of(in[0].dtype))
    return mica__fail(MICA_E_DTYPE, "sinks are %s, but must be %s", mica_dtype_name(sinks->dtype),
                      mica_dtype_name(wide_of(in[0].dtype)));
  return MICA_OK;
}

static mica_status check_numbers(const mica__attention_attrs *attrs, const mica__type *step) {
  char text[MICA__TYPE_TEXT];
  if (attrs->window < 0)
    return mica__fail(MICA_E_INVALID, "window is %lld, but must not be negative", (long long)attrs->window);
  if (!isfinite(attrs->scale)) return mica__fail(MICA_E_INVALID, "scale is %g, but must be finite", attrs->scale);
  if (!isfinite(attrs->soft_cap) || attrs->soft_cap < 0)
    return mica__fail(MICA_E_INVALID, "soft_cap is %g, but must be finite and not negative", attrs->soft_cap);
  if (!(attrs->dropout >= 0 && attrs->dropout < 1))
    return mica__fail(MICA_E_INVALID, "dropout is %g, but must be at least 0 and below 1", attrs->dropout);
  if (attrs->dropout > 0 && !step)
    return mica__fail(MICA_E_INVALID, "dropout needs the operand step, which selects its random numbers");
  if (step && !is_single(step->shape))
    return mica__fail(MICA_E_SHAPE, "the step is %s, but must be one number", mica__type_format(*step, text));
  if (step && step->dtype != MICA_I32 && step->dtype != MICA_I64)
    return mica__fail(MICA_E_DTYPE, "the step is %s, but must be i32 or i64", mica_dtype_name(step->dtype));
  return MICA_OK;
}

static mica_status check_common(const mica__type *in, const mica__attention_attrs *attrs, bool of_gradient) {
  int32_t mask = mica__attention_input(attrs, of_gradient, MICA__ATTENTION_OF_MASK);
  int32_t lengths = mica__attention_input(attrs, of_gradient, MICA__ATTENTION_OF_LENGTHS);
  int32_t offset = mica__attention_input(attrs, of_gradient, MICA__ATTENTION_OF_OFFSET);
  int32_t starts = mica__attention_input(attrs, of_gradient, MICA__ATTENTION_OF_STARTS);
  int32_t sinks = mica__attention_input(attrs, of_gradient, MICA__ATTENTION_OF_SINKS);
  int32_t step = mica__attention_input(attrs, of_gradient, MICA__ATTENTION_OF_STEP);
  MICA_TRY(check_heads(in));
  MICA_TRY(check_numbers(attrs, step >= 0 ? &in[step] : NULL));
  if (mask >= 0) MICA_TRY(check_mask(in, in[mask]));
  if (lengths >= 0) MICA_TRY(check_positions("key lengths", in, in[lengths], false));
  MICA_TRY(check_starts_and_sinks(in, starts >= 0 ? &in[starts] : NULL, sinks >= 0 ? &in[sinks] : NULL));
  return offset >= 0 ? check_positions("offsets", in, in[offset], true) : MICA_OK;
}

static mica_status infer_attention(const mica__type *in, int32_t count, void *attrs, mica__type *out) {
  (void)count;
  MICA_TRY(check_common(in, attrs, false));
  mica__attention_sizes s = mica__attention_sizes_of(in);
  out[MICA__ATTENTION_Y] = (mica__type){in[0].dtype, MICA_SHAPE(s.b, s.tq, s.h, s.e)};
  out[MICA__ATTENTION_LOGSUM] = (mica__type){wide_of(in[0].dtype), MICA_SHAPE(s.b, s.h, s.tq)};
  return MICA_OK;
}

static mica_status check_gradient(const mica__type *in, const mica__attention_attrs *attrs) {
  static const char *const names[] = {"dy", "y", "logsum"};
  char text[MICA__TYPE_TEXT], must[MICA_SHAPE_TEXT];
  MICA_TRY(check_common(in, attrs, true));
  const mica__attention_sizes s = mica__attention_sizes_of(in);
  const mica_shape want[] = {MICA_SHAPE(s.b, s.h, s.tq, s.e), MICA_SHAPE(s.b, s.tq, s.h, s.e),
                             MICA_SHAPE(s.b, s.h, s.tq)};
  for (int32_t i = 0; i < 3; i++)
    for (int32_t k = 0; k < want[i].rank; k++)
      if (in[3 + i].shape.rank != want[i].rank || !agree(in[3 + i].shape.dim[k], want[i].dim[k]))
        return mica__fail(MICA_E_SHAPE, "%s is %s, but must be %s to fit q, k and v", names[i],
                          mica__type_format(in[3 + i], text), mica_shape_format(want[i], must));
  return MICA_OK;
}

static mica_status infer_grad(const mica__type *in, int32_t count, void *attrs, mica__type *out) {
  (void)count;
  MICA_TRY(check_gradient(in, attrs));
  const mica__attention_sizes s = mica__attention_sizes_of(in);
  out[MICA__ATTENTION_DQ].shape = MICA_SHAPE(s.b, s.tq, s.h, s.d);
  out[MICA__ATTENTION_DK].shape = MICA_SHAPE(s.b, s.tk, s.g, s.d);
  out[MICA__ATTENTION_DV].shape = MICA_SHAPE(s.b, s.tk, s.g, s.e);
  return MICA_OK;
}

static mica_status infer_mask_grad(const mica__type *in, int32_t count, void *attrs, mica__type *out) {
  (void)count;
  MICA_TRY(check_gradient(in, attrs));
  const mica__attention_sizes s = mica__attention_sizes_of(in);
  *out = (mica__type){wide_of(in[0].dtype), MICA_SHAPE(s.b, s.h, s.tq, s.tk)};
  return MICA_OK;
}

/* --- gradients --- */

static mica_value swap_positions_and_heads(mica_value x) { return mica_transpose(x, MICA_AXES(0, 2, 1, 3)); }

/* Sums a gradient (B, H, Tq, Tk) to the mask's shape and casts it to the mask's type. */
static mica_value sum_to_mask(mica_value d, mica_value mask) {
  mica_shape own = mica_value_shape(mask), whole = mica_value_shape(d);
  uint32_t axes = 0;
  for (int32_t i = 0; i < 4; i++)
    if (own.dim[i] == 1 && whole.dim[i] != 1) axes |= 1u << i;
  if (axes) d = mica_sum(d, mica__axes_of(axes), true);
  return mica_value_dtype(d) == mica_value_dtype(mask) ? d : mica_cast(d, mica_value_dtype(mask));
}

/* A sink is a score without a value, so its gradient is minus the sum, over the batch and all queries, of its weight
 * times dy . y. */
static mica_value grad_of_sinks(const mica__grad *grad, mica_value sinks) {
  const mica_dtype wide = mica_value_dtype(sinks);
  mica_value y = mica_cast(swap_positions_and_heads(grad->y), wide); /* (B, H, Tq, E) */
  mica_value dy = mica_cast(swap_positions_and_heads(grad->dy), wide);
  mica_value delta = mica_sum(mica_mul(dy, y), MICA_AXES(3), false);
  mica_value score = mica__insert_axis(mica_affine(sinks, 1.4426950408889634, 0), 1);
  mica_value weight = mica_exp2(mica_sub(score, grad->results[MICA__ATTENTION_LOGSUM]));
  return mica_neg(mica_sum(mica_mul(weight, delta), MICA_AXES(0, 2), false));
}

static mica_status grad_attention(const mica__grad *grad) {
  mica__attention_attrs attrs = *(const mica__attention_attrs *)mica__attrs_of(grad->y);
  mica_value operands[MICA__ATTENTION_OPERANDS] = {{0}};
  if (!grad->dy.graph) return MICA_OK; /* nothing to do: users cannot use logsum, the other result */
  for (int32_t k = 0; k < MICA__ATTENTION_OPERANDS; k++) {
    int32_t input = mica__attention_input(&attrs, false, (mica__attention_operand)k);
    if (input >= 0) operands[k] = grad->inputs[input];
  }
  int32_t mask = mica__attention_input(&attrs, false, MICA__ATTENTION_OF_MASK);
  int32_t sinks = mica__attention_input(&attrs, false, MICA__ATTENTION_OF_SINKS);
  if (sinks >= 0) grad->dinputs[sinks] = grad_of_sinks(grad, operands[MICA__ATTENTION_OF_SINKS]);
  operands[MICA__ATTENTION_OF_SINKS] = (mica_value){0};
  operands[MICA__ATTENTION_OF_DY] = swap_positions_and_heads(grad->dy);
  operands[MICA__ATTENTION_OF_Y] = grad->y;
  operands[MICA__ATTENTION_OF_LOGSUM] = grad->results[MICA__ATTENTION_LOGSUM];
  mica_value d = mica__graph_add_present(&mica__op_attention_grad, operands, MICA__ATTENTION_OPERANDS, &attrs);
  for (int32_t r = 0; r < MICA__ATTENTION_GRAD_RESULTS; r++)
    grad->dinputs[r] = swap_positions_and_heads(mica__graph_result(d, r));
  if (mask < 0 || mica_value_dtype(grad->inputs[mask]) == MICA_BOOL) return MICA_OK;
  d = mica__graph_add_present(&mica__op_attention_mask_grad, operands, MICA__ATTENTION_OPERANDS, &attrs);
  grad->dinputs[mask] = sum_to_mask(d, grad->inputs[mask]);
  return MICA_OK;
}

/* --- launches --- */

const mica__impl *const mica__attention_impls[] = {&mica__attention_cpu, &mica__attention_mma, &mica__attention_gpu,
                                                   &mica__attention_naive, NULL};
const mica__impl *const mica__attention_grad_impls[] = {&mica__attention_cpu_grad, &mica__attention_mma_grad,
                                                        &mica__attention_gpu_grad, &mica__attention_naive_grad, NULL};

static mica_status launch(const mica__attention *a) {
  const mica__attention_sizes s = a->size;
  char key[MICA__TUNING_TEXT];
  snprintf(key, sizeof key,
           "attention%s %s b%" PRId64 " h%" PRId64 " g%" PRId64 " q%" PRId64 " k%" PRId64 " d%" PRId64 " e%" PRId64,
           a->of_gradient ? "_grad" : "", mica_dtype_name(a->dtype), s.b, s.h, s.g, s.tq, s.tk, s.d, s.e);
  return mica__exec_choose(a->exec, a->of_gradient ? mica__attention_grad_impls : mica__attention_impls, a, key);
}

static mica_status try_forward(mica_engine *engine, const mica__variant *variant, mica_dtype type) {
  return mica__attention_try(engine, &mica__op_attention, &mica__op_attention, MICA__ATTENTION_FORWARD,
                             &mica__attention_mma, variant, type);
}
static mica_status try_backward(mica_engine *engine, const mica__variant *variant, mica_dtype type) {
  return mica__attention_try(engine, &mica__op_attention, &mica__op_attention_grad, MICA__ATTENTION_BACKWARD,
                             &mica__attention_mma_grad, variant, type);
}

static mica_status launch_attention(const mica__exec *exec) {
  mica__attention a = mica__attention_of(exec, false);
  a.trial = try_forward;
  return a.size.b * a.size.h * a.size.tq == 0 ? MICA_OK : launch(&a);
}

static mica_status launch_grad(const mica__exec *exec) {
  mica__attention a = mica__attention_of(exec, true);
  a.trial = try_backward;
  return a.size.b * a.size.h == 0 ? MICA_OK : launch(&a);
}

/* --- descriptors --- */

static double flops_attention(const mica__node *node, const mica__type *in) {
  return mica__attention_flops(node->attrs, mica__attention_sizes_of(in), 1, 1);
}
static double flops_grad(const mica__node *node, const mica__type *in) {
  return mica__attention_flops(node->attrs, mica__attention_sizes_of(in), 3, 2);
}

static const mica__kernel_desc *const kernels[] = {&mica__attention_cpu_kernel,   &mica__attention_cpu_row_kernel,
                                                   &mica__attention_mma_kernel,   &mica__attention_gpu_kernel,
                                                   &mica__attention_naive_kernel, NULL};
static const mica__kernel_desc *const grad_kernels[] = {&mica__attention_delta_kernel,
                                                        &mica__attention_cpu_grad_kernel,
                                                        &mica__attention_sum_kernel,
                                                        &mica__attention_mma_grad_kernel,
                                                        &mica__attention_gpu_grad_kernel,
                                                        &mica__attention_naive_grad_kernel,
                                                        NULL};
static const mica__kernel_desc *const mask_grad_kernels[] = {&mica__attention_mask_grad_kernel, NULL};

/* The operands that may have any strides: all but y and logsum, which attention's own launches have written
 * contiguously. */
#define GRAD_TAKES_STRIDES ~(1u << MICA__ATTENTION_OF_Y | 1u << MICA__ATTENTION_OF_LOGSUM)

static mica_status check_attention(mica__check *check) {
  return mica__attention_check(check, &mica__op_attention, &mica__op_attention, MICA__ATTENTION_FORWARD);
}
static mica_status check_grad(mica__check *check) {
  return mica__attention_check(check, &mica__op_attention, &mica__op_attention_grad, MICA__ATTENTION_BACKWARD);
}
static mica_status check_mask_grad(mica__check *check) {
  return mica__attention_check(check, &mica__op_attention, &mica__op_attention_mask_grad, MICA__ATTENTION_OF_SCORES);
}

const mica__op mica__op_attention = {.name = "attention",
                                     .kernels = kernels,
                                     .check = check_attention,
                                     .kind = MICA__OP_LAUNCH,
                                     .min_inputs = 3,
                                     .max_inputs = 9,
                                     .results = MICA__ATTENTION_RESULTS,
                                     .attrs = &mica__attention_attr_list,
                                     .dtypes = "f00*",
                                     .infer = infer_attention,
                                     .grad = grad_attention,
                                     .evaluate = mica__attention_evaluate,
                                     .launch = launch_attention,
                                     .flops = flops_attention,
                                     .takes_strides = UINT32_MAX};
const mica__op mica__op_attention_grad = {.name = "attention_grad",
                                          .kernels = grad_kernels,
                                          .check = check_grad,
                                          .kind = MICA__OP_LAUNCH,
                                          .min_inputs = 6,
                                          .max_inputs = 12,
                                          .results = MICA__ATTENTION_GRAD_RESULTS,
                                          .attrs = &mica__attention_attr_list,
                                          .dtypes = "f0000f*>012",
                                          .infer = infer_grad,
                                          .evaluate = mica__attention_grad_evaluate,
                                          .launch = launch_grad,
                                          .flops = flops_grad,
                                          .takes_strides = GRAD_TAKES_STRIDES};
const mica__op mica__op_attention_mask_grad = {.name = "attention_mask_grad",
                                               .kernels = mask_grad_kernels,
                                               .check = check_mask_grad,
                                               .kind = MICA__OP_LAUNCH,
                                               .min_inputs = 6,
                                               .max_inputs = 12,
                                               .attrs = &mica__attention_attr_list,
                                               .dtypes = "f0000f*",
                                               .infer = infer_mask_grad,
                                               .evaluate = mica__attention_mask_grad_evaluate,
                                               .launch = mica__attention_mask_grad_launch,
                                               .flops = flops_attention,
                                               .takes_strides = GRAD_TAKES_STRIDES};

/* --- builder --- */

/* Adds axes of extent 1 in front of the mask until it has four. */
static mica_value with_four_axes(mica_value mask) {
  while (mask.graph && mica_value_shape(mask).rank < 4) mask = mica__insert_axis(mask, 0);
  return mask;
}

/* Casts sinks to the type in which scores are summed. */
static mica_value of_sums(mica_value sinks, mica_value q) {
  if (!sinks.graph || !q.graph || mica_value_dtype(sinks) == wide_of(mica_value_dtype(q))) return sinks;
  return mica_cast(sinks, wide_of(mica_value_dtype(q)));
}

mica_value mica_attention(mica_value q, mica_value k, mica_value v, const mica_attention_config *config) {
  static const mica_attention_config plain = {0};
  if (!config) config = &plain;
  mica__attention_attrs attrs = {.causal = config->causal,
                                 .window = config->window,
                                 .scale = config->scale,
                                 .soft_cap = config->soft_cap,
                                 .dropout = config->dropout};
  const bool drops = config->dropout != 0;
  if (q.graph && drops)
    attrs.key = (int64_t)(config->seed + UINT64_C(0x9E3779B97F4A7C15) * (uint64_t)(uint32_t)q.graph->count);
  const mica_value operands[] = {q,
                                 k,
                                 v,
                                 with_four_axes(config->mask),
                                 config->key_lengths,
                                 config->offset,
                                 drops ? config->step : (mica_value){0},
                                 config->starts,
                                 of_sums(config->sinks, q)};
  mica_value y = mica__graph_add_present(&mica__op_attention, operands, 9, &attrs);
  return y.graph ? swap_positions_and_heads(y) : y;
}
