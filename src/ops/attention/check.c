/* The checks of attention and its gradients: all kinds of masks, heads and sizes, for the kernels of CPUs and of GPUs.
 * The gradients take the y and logsum of the reference, rounded. Also the trial of a variant before its first
 * launch. */
#include "base/element.h"
#include "base/error.h"
#include "ops/attention/attention.h"
#include "ops/common/tolerance.h"
#include "runtime/compiler.h"

#include <stdlib.h>
#include <string.h>

typedef struct attention_case {
  const char *name;
  mica_dtype dtype;
  mica__attention_sizes s;
  mica__attention_attrs attrs; /* without `present` */
  mica_shape mask;             /* rank 0: no mask */
  mica_dtype mask_type;
  bool lengths, offset, sinks;
  int documents; /* queries per document, from which starts follow; 0: no starts */
  /* Says if the case runs when GPU kernels are checked on a CPU, where each kernel compiles for 10 s.
   *
   * - 0: never
   * - 1: always
   * - 2: only in full checks, or if the CPU imitates a GPU */
  int mixed;
  bool units;   /* only for the kernels for matrix units; their emulations take seconds, too */
  double bound; /* largest |element| of q and k; 0 stands for 1 */
} attention_case;

#define SIZES(...) .s = {__VA_ARGS__}
static const attention_case cases[] = {
    {"plain", MICA_F32, SIZES(2, 3, 3, 37, 41, 20, 24)},
    {"causal", MICA_F32, SIZES(1, 2, 2, 70, 70, 64, 64), .attrs = {.causal = true}},
    {"window", MICA_F32, SIZES(1, 2, 1, 66, 35, 8, 3), .attrs = {.window = 5}},
    {"causal window offset", MICA_F32, SIZES(2, 4, 1, 33, 80, 16, 17), .attrs = {.causal = true, .window = 9},
     .offset = true},
    {"many tiles, window, offset", MICA_F32, SIZES(1, 8, 2, 150, 170, 64, 64), .attrs = {.causal = true, .window = 60},
     .offset = true},
    {"many tiles, lengths", MICA_F32, SIZES(4, 4, 4, 101, 139, 60, 50), .lengths = true},
    {"many tiles, documents", MICA_F32, SIZES(1, 8, 4, 150, 150, 20, 24), .attrs = {.causal = true}, .documents = 13},
    {"boolean mask", MICA_F32, SIZES(2, 2, 2, 19, 34, 12, 12), .mask = {4, {2, 1, 19, 34}}, .mask_type = MICA_BOOL},
    {"added mask", MICA_F32, SIZES(2, 2, 1, 19, 34, 12, 12), .mask = {4, {1, 2, 19, 34}}, .mask_type = MICA_F32},
    {"lengths, soft cap", MICA_F32, SIZES(4, 1, 1, 9, 40, 33, 5), .attrs = {.soft_cap = 1.5, .scale = 0.3},
     .lengths = true},
    {"dropout", MICA_F32, SIZES(1, 2, 2, 21, 37, 16, 16), .attrs = {.dropout = 0.4, .key = INT64_C(0x123456789abcd)}},
    {"one query", MICA_F32, SIZES(1, 6, 2, 1, 130, 40, 40)},
    {"two queries, mask, lengths", MICA_F16, SIZES(2, 4, 2, 2, 45, 20, 33), .attrs = {.soft_cap = 2},
     .mask = {4, {1, 4, 2, 45}}, .mask_type = MICA_BOOL, .lengths = true},
    {"one query, added mask, window, dropout", MICA_BF16, SIZES(1, 2, 1, 1, 70, 40, 150),
     .attrs = {.causal = true, .window = 25, .dropout = 0.2, .key = 98}, .mask = {4, {1, 1, 1, 70}},
     .mask_type = MICA_F32, .offset = true},
    {"one query, whole rows", MICA_F32, SIZES(2, 4, 2, 1, 130, 64, 32), .attrs = {.causal = true}, .offset = true},
    {"two queries, whole rows, lengths", MICA_BF16, SIZES(2, 2, 1, 2, 75, 32, 160), .lengths = true},
    {"three queries, whole rows, mask", MICA_F16, SIZES(1, 2, 1, 3, 66, 160, 64), .mask = {4, {1, 1, 1, 66}},
     .mask_type = MICA_F32},
    {"documents", MICA_F32, SIZES(2, 4, 2, 90, 90, 20, 24), .attrs = {.causal = true}, .documents = 13},
    {"documents, window, offset, sinks", MICA_F32, SIZES(2, 2, 1, 66, 100, 40, 40),
     .attrs = {.causal = true, .window = 20}, .offset = true, .documents = 17, .sinks = true},
    {"documents, soft cap, added mask, both ways", MICA_BF16, SIZES(1, 2, 2, 40, 75, 33, 16), .attrs = {.soft_cap = 2},
     .mask = {4, {1, 2, 40, 75}}, .mask_type = MICA_F32, .documents = 9},
    {"sinks, no lengths", MICA_F16, SIZES(4, 3, 3, 37, 41, 24, 24), .lengths = true, .sinks = true},
    {"one query, start, sinks", MICA_F32, SIZES(2, 4, 2, 1, 130, 40, 40), .documents = 1, .sinks = true,
     .lengths = true},
    {"documents, sinks, f64", MICA_F64, SIZES(1, 2, 1, 21, 19, 9, 11), .attrs = {.causal = true}, .documents = 5,
     .sinks = true},
    {"documents, shared heads, sinks", MICA_F32, SIZES(1, 4, 2, 70, 70, 20, 24), .attrs = {.causal = true},
     .documents = 11, .sinks = true, .mixed = 2},
    {"one key", MICA_F32, SIZES(1, 1, 1, 5, 1, 1, 1)},
    {"large heads", MICA_F32, SIZES(1, 1, 1, 5, 18, 150, 200), .attrs = {.causal = true}},
    {"large scores", MICA_F32, SIZES(1, 2, 2, 40, 40, 32, 32), .bound = 20},
    {"no key", MICA_F32, SIZES(1, 2, 2, 4, 0, 8, 8)},
    {"f16", MICA_F16, SIZES(1, 2, 2, 50, 47, 32, 32), .attrs = {.causal = true}, .mask = {4, {1, 1, 50, 47}},
     .mask_type = MICA_F16},
    {"bf16", MICA_BF16, SIZES(1, 4, 2, 34, 70, 24, 40), .attrs = {.soft_cap = 3}, .mask = {4, {1, 4, 1, 70}},
     .mask_type = MICA_F32},
    {"causal, boolean mask, lengths", MICA_F32, SIZES(2, 4, 2, 70, 70, 20, 24), .attrs = {.causal = true},
     .mask = {4, {2, 1, 70, 70}}, .mask_type = MICA_BOOL, .lengths = true, .mixed = 2},
    {"dropout, window, offset, large heads", MICA_BF16, SIZES(1, 4, 2, 9, 70, 40, 150),
     .attrs = {.causal = true, .window = 30, .dropout = 0.2, .key = 99, .soft_cap = 2}, .mask = {4, {1, 1, 9, 70}},
     .mask_type = MICA_F32, .offset = true, .mixed = 1},
    {"units: causal, shared heads", MICA_F16, SIZES(1, 2, 1, 70, 70, 40, 64), .attrs = {.causal = true}, .units = true},
    {"units: boolean mask, lengths, soft cap", MICA_BF16, SIZES(2, 2, 2, 19, 45, 64, 24), .attrs = {.soft_cap = 2},
     .mask = {4, {2, 1, 19, 45}}, .mask_type = MICA_BOOL, .lengths = true, .units = true},
    {"units: window, offset, added mask, dropout", MICA_F16, SIZES(1, 2, 2, 35, 80, 16, 8),
     .attrs = {.causal = true, .window = 25, .dropout = 0.2, .key = 99}, .mask = {4, {1, 1, 35, 80}},
     .mask_type = MICA_F32, .offset = true, .units = true},
    {"units: documents, sinks", MICA_F16, SIZES(1, 2, 1, 70, 70, 40, 64), .attrs = {.causal = true}, .documents = 27,
     .sinks = true, .units = true},
    {"units: documents, added mask", MICA_BF16, SIZES(2, 2, 2, 37, 45, 32, 24), .mask = {4, {2, 1, 37, 45}},
     .mask_type = MICA_F32, .documents = 13, .units = true},
    {"units: large heads, large scores", MICA_BF16, SIZES(1, 1, 1, 33, 65, 96, 128), .units = true, .bound = 4},
    {"f64", MICA_F64, SIZES(1, 2, 1, 21, 19, 9, 11), .attrs = {.causal = true}},
};

/* A case with its operands and results. For result k, want[k] is the reference. bound[k] is at first the magnitudes,
 * then the tolerances. */
typedef struct run {
  const attention_case *c;
  const mica__op *op;
  mica__attention_pass pass;
  mica__attention_attrs attrs;
  mica__check_tensor in[MICA__CHECK_INPUTS], out[MICA__MAX_RESULTS];
  mica__type types[MICA__CHECK_INPUTS], results[MICA__MAX_RESULTS];
  double *want[MICA__MAX_RESULTS], *bound[MICA__MAX_RESULTS];
  int32_t input_count, result_count;
} run;

static void free_run(run *r) {
  for (int i = 0; i < MICA__CHECK_INPUTS; i++) mica__check_free(&r->in[i]);
  for (int i = 0; i < MICA__MAX_RESULTS; i++) {
    mica__check_free(&r->out[i]);
    free(r->want[i]);
  }
  *r = (run){0};
}

/* Adds an input with the given values, or with random ones if values is NULL. */
static mica_status add_input(mica__check *check, run *r, mica_dtype dtype, mica_shape shape, double bound,
                             const double *values) {
  int32_t k = r->input_count++;
  r->types[k] = (mica__type){dtype, shape};
  return values ? mica__check_input_values(check, dtype, shape, values, &r->in[k])
                : mica__check_input(check, dtype, shape, bound, &r->in[k]);
}

/* Queries are grouped into documents of c->documents positions. A query of sequence b sees only keys from index
 * first + 5 b on, where `first` is its document's first position. A few queries see nothing, and a few starts are
 * negative. */
static mica_status add_starts(mica__check *check, run *r) {
  const attention_case *c = r->c;
  const int64_t count = c->s.b * c->s.tq;
  double *starts = malloc(((size_t)count + 1) * sizeof *starts);
  if (!starts) return mica__fail_nomem("starts");
  for (int64_t n = 0; n < count; n++) {
    const int64_t i = n % c->s.tq, document = i / c->documents;
    starts[n] = (double)(document * c->documents + n / c->s.tq * 5);
    if (i % 31 == 30) starts[n] = (double)c->s.tk + 3;
    if (i % 29 == 28) starts[n] = -4;
  }
  const mica_status status = add_input(check, r, MICA_I32, MICA_SHAPE(c->s.b, c->s.tq), 0, starts);
  free(starts);
  return status;
}

/* Adds the optional operands of the forward pass that the case has: mask, lengths, offset, step, starts and sinks. They
 * follow the first `positions` operands, which are always present. Sets attrs.present. */
static mica_status add_rest(mica__check *check, run *r, int positions) {
  const attention_case *c = r->c;
  const bool there[] = {c->mask.rank > 0, c->lengths, c->offset, c->attrs.dropout > 0, c->documents > 0, c->sinks};
  const double tk = (double)c->s.tk, lengths[] = {3, tk, tk / 2, 0}, offset = 30, step = 7;
  r->attrs.present = ((int64_t)1 << positions) - 1;
  for (int k = 0; k < 6; k++) r->attrs.present |= (int64_t)there[k] << (positions + k);
  if (there[0]) MICA_TRY(add_input(check, r, c->mask_type, c->mask, 2, NULL));
  if (there[1]) MICA_TRY(add_input(check, r, MICA_I32, MICA_SHAPE(c->s.b), 0, lengths));
  if (there[2]) MICA_TRY(add_input(check, r, MICA_I32, MICA_SCALAR, 0, &offset));
  if (there[3]) MICA_TRY(add_input(check, r, MICA_I64, MICA_SCALAR, 0, &step));
  if (there[4]) MICA_TRY(add_starts(check, r));
  return there[5] ? add_input(check, r, c->dtype == MICA_F64 ? MICA_F64 : MICA_F32, MICA_SHAPE(c->s.h), 2, NULL)
                  : MICA_OK;
}

static mica_status add_heads(mica__check *check, run *r) {
  const attention_case *c = r->c;
  const mica__attention_sizes s = c->s;
  double bound = c->bound > 0 ? c->bound : 1;
  MICA_TRY(add_input(check, r, c->dtype, MICA_SHAPE(s.b, s.h, s.tq, s.d), bound, NULL));
  MICA_TRY(add_input(check, r, c->dtype, MICA_SHAPE(s.b, s.g, s.tk, s.d), bound, NULL));
  return add_input(check, r, c->dtype, MICA_SHAPE(s.b, s.g, s.tk, s.e), 1, NULL);
}

/* Allocates the results, and computes their references (want) and the magnitudes from which their tolerances follow
 * (bound). */
static mica_status refer(mica__check *check, run *r) {
  const double *values[MICA__CHECK_INPUTS] = {0};
  MICA_TRY(mica__op_infer(r->op, r->types, r->input_count, &r->attrs, r->results));
  r->result_count = r->op->results ? r->op->results : 1;
  for (int32_t k = 0; k < r->input_count; k++) values[k] = r->in[k].values;
  for (int32_t k = 0; k < r->result_count; k++) {
    MICA_TRY(mica__check_output(check, r->results[k].dtype, r->results[k].shape, &r->out[k]));
    r->want[k] = calloc((size_t)r->out[k].count + 1, 2 * sizeof *r->want[k]);
    if (!r->want[k]) return mica__fail_nomem("a reference");
    r->bound[k] = r->want[k] + r->out[k].count;
  }
  mica__eval eval = {.attrs = &r->attrs,
                     .inputs = values,
                     .types = r->types,
                     .input_count = r->input_count,
                     .type = r->results,
                     .output = r->bound[0],
                     .outputs = r->bound};
  MICA_TRY(mica__attention_magnitudes(r->pass, &eval));
  eval.output = r->want[0];
  eval.outputs = r->want;
  return r->op->evaluate(&eval);
}

/* Returns a bound on the number of consecutive additions that lead to a result. A result is a sum over keys, or over
 * all queries that share a key, and each term of it is a sum over D or E. */
static double terms_of(const mica__attention_sizes s) {
  double keys = (double)(s.tk > s.tq ? s.tk : s.tq) * (double)(s.g > 0 ? s.h / s.g : 1);
  return keys + (double)(s.d > s.e ? s.d : s.e);
}

/* What is added to a bound if weights or gradients of scores are rounded to the operands' type before they are
 * multiplied. It is half a unit in the last place of each term. In f16 it is also half of the smallest subnormal per
 * term, because f16 has a smaller range than f32. */
static double rounding_of(mica_dtype dtype, double terms, double magnitude) {
  return mica__element_roundoff(dtype) * magnitude + (dtype == MICA_F16 ? terms * 0x1p-25 : 0);
}

/* The code that computes a run.
 *
 * - impl is NULL: the op chooses an implementation for these device classes.
 * - impl is set: this implementation computes the run, with `variant` or, if that is NULL, with a variant that it
 *   chooses. If it declines a problem, the naive implementation computes it. But an implementation for matrix units is
 *   launched even if it declines, and may return MICA_E_UNSUPPORTED. */
typedef struct author {
  unsigned classes;
  const mica__impl *impl;
  const mica__variant *variant;
} author;

static bool is_for_units(const author *by) {
  return by->impl == &mica__attention_mma || by->impl == &mica__attention_mma_grad;
}

static mica_status launch_run(const mica__exec *exec, const run *r, const author *by) {
  const bool backward = r->pass == MICA__ATTENTION_BACKWARD;
  if (!by->impl) return r->op->launch(exec);
  const mica__attention a = mica__attention_of(exec, backward);
  mica_engine *engine = mica__queue_engine(exec->queue);
  const mica__task task = {.problem = &a, .device = mica_engine_device(engine), .engine = engine};
  const mica__impl *impl = by->impl;
  if (!is_for_units(by) && impl->decline(&task)) impl = backward ? &mica__attention_naive_grad : &mica__attention_naive;
  return mica__impl_launch(exec->queue, impl, &a, by->variant);
}

static mica_status launch_and_compare(mica__check_group *group, const author *by, run *r) {
  const mica_tensor *inputs[MICA__CHECK_INPUTS] = {0};
  mica_tensor *outputs[MICA__MAX_RESULTS] = {0};
  for (int32_t k = 0; k < r->input_count; k++) inputs[k] = r->in[k].tensor;
  for (int32_t k = 0; k < r->result_count; k++) outputs[k] = r->out[k].tensor;
  mica__exec exec = {.queue = group->check->queue,
                     .attrs = &r->attrs,
                     .inputs = inputs,
                     .input_count = r->input_count,
                     .output = outputs[0],
                     .outputs = outputs,
                     .classes = by->classes};
  const bool rounds = is_for_units(by);
  MICA_TRY(launch_run(&exec, r, by));
  for (int32_t k = 0; k < r->result_count; k++) {
    mica_dtype dtype = r->results[k].dtype, compute = dtype == MICA_F64 ? MICA_F64 : MICA_F32;
    for (int64_t i = 0; i < r->out[k].count; i++) {
      const double magnitude = r->bound[k][i];
      r->bound[k][i] = mica__tolerance_sum(compute, dtype, terms_of(r->c->s), magnitude, r->want[k][i]);
      if (rounds && dtype == r->c->dtype) r->bound[k][i] += rounding_of(dtype, terms_of(r->c->s), magnitude);
    }
    MICA_TRY(mica__check_compare(group, &r->out[k], r->want[k], r->bound[k]));
  }
  return MICA_OK;
}

/* Makes the inputs and the reference of the forward pass. */
static mica_status make_forward(mica__check *check, const attention_case *c, const mica__op *op, run *r) {
  *r = (run){.c = c, .op = op, .pass = MICA__ATTENTION_FORWARD, .attrs = c->attrs};
  MICA_TRY(add_heads(check, r));
  MICA_TRY(add_rest(check, r, 3));
  return refer(check, r);
}

/* Makes the inputs and the reference of a gradient, from the operands and results of the forward pass. */
static mica_status make_gradient(mica__check *check, const run *forward, const mica__op *op, mica__attention_pass pass,
                                 run *r) {
  const attention_case *c = forward->c;
  *r = (run){.c = c, .op = op, .pass = pass, .attrs = c->attrs};
  for (int k = 0; k < 3; k++)
    MICA_TRY(add_input(check, r, c->dtype, forward->types[k].shape, 0, forward->in[k].values));
  MICA_TRY(add_input(check, r, c->dtype, MICA_SHAPE(c->s.b, c->s.h, c->s.tq, c->s.e), 1, NULL));
  for (int k = 0; k < MICA__ATTENTION_RESULTS; k++)
    MICA_TRY(add_input(check, r, forward->results[k].dtype, forward->results[k].shape, 0, forward->want[k]));
  for (int32_t k = 3; k < forward->input_count; k++)
    MICA_TRY(add_input(check, r, forward->types[k].dtype, forward->types[k].shape, 0, forward->in[k].values));
  r->attrs.present = 63 | (forward->attrs.present >> 3) << 6;
  return refer(check, r);
}

/* The op that is checked. */
typedef struct subject {
  const mica__op *forward, *op;
  mica__attention_pass pass;
} subject;

static mica_status run_case(mica__check_group *group, const attention_case *c, const subject *s, const author *by) {
  run forward = {0}, gradient = {0};
  bool is_forward = s->pass == MICA__ATTENTION_FORWARD;
  mica_status status = make_forward(group->check, c, s->forward, &forward);
  if (status == MICA_OK && !is_forward) status = make_gradient(group->check, &forward, s->op, s->pass, &gradient);
  if (status == MICA_OK) status = launch_and_compare(group, by, is_forward ? &forward : &gradient);
  free_run(&gradient);
  free_run(&forward);
  return status;
}

/* True if a simulator would take minutes for the case's products. */
static bool is_long(const attention_case *c) {
  const mica__attention_sizes s = c->s;
  return s.b * s.h * s.tq * s.tk * (s.d + s.e) > 65000;
}

#define CASES "masks, heads, sizes"

static mica_status check_op(mica__check *check, const subject *s, const author *by, const char *name) {
  const mica_device_info *device = mica_engine_device(check->engine);
  /* The largest `mixed` that runs. It is 2 in full checks, or if the device itself uses the kernels of these classes;
   * else 1. */
  int most = check->level == MICA__CHECK_FULL || mica__kernel_class(device) == by->classes ? 2 : 1;
  /* A test device that only pretends to be a GPU compiles as slowly as the CPU that it is. */
  bool imitated = check->level == MICA__CHECK_OWN || check->level == MICA__CHECK_SMALL;
  bool mixed = by->classes == MICA__ON_GPU && (imitated || device->device_class == MICA_DEVICE_CLASS_CPU);
  const mica__kernel_desc *kernel = by->classes == MICA__ON_CPU ? &mica__attention_cpu_kernel : NULL;
  if (kernel && mica__compiler_fault(device, kernel, NULL)) {
    mica__check_skip(check, s->op->name, kernel, NULL, CASES, false);
    return MICA_OK;
  }
  mica__check_group group = mica__check_begin(check, s->op->name, name, CASES);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    if (!mica__check_has_dtype(check, cases[i].dtype)) continue;
    if (is_for_units(by) ? !cases[i].units
        : mixed          ? !cases[i].mixed || cases[i].mixed > most
                         : cases[i].units || (imitated && is_long(&cases[i])))
      continue;
    const mica_status status = run_case(&group, &cases[i], s, by);
    if (is_for_units(by) && status == MICA_E_UNSUPPORTED) continue; /* the heads are too large for the variant */
    if (!mica__check_note(&group, status, "%s", cases[i].name)) break;
  }
  return mica__check_end(&group);
}

mica_status mica__attention_check(mica__check *check, const mica__op *forward, const mica__op *op,
                                  mica__attention_pass pass) {
  const subject s = {forward, op, pass};
  const bool has_units = mica__kernel_variant(&mica__attention_mma_kernel, mica_engine_device(check->engine));
  const bool back = pass == MICA__ATTENTION_BACKWARD;
  const author gpu = {.classes = MICA__ON_GPU, .impl = back ? &mica__attention_gpu_grad : &mica__attention_gpu};
  const author mma = {.classes = MICA__ON_GPU, .impl = back ? &mica__attention_mma_grad : &mica__attention_mma};
  if (pass == MICA__ATTENTION_OF_SCORES) return check_op(check, &s, &(author){.classes = MICA__ON_ANY}, "any");
  MICA_TRY(check_op(check, &s, &(author){.classes = MICA__ON_CPU}, "cpu"));
  MICA_TRY(check_op(check, &s, &gpu, "gpu"));
  if (!has_units) return MICA_OK;
  return check_op(check, &s, &mma, "mma");
}

mica_status mica__attention_check_variant(mica__check *check, const mica__op *forward, const mica__op *op,
                                          mica__attention_pass pass, const mica__impl *impl,
                                          const mica__variant *variant) {
  const subject s = {forward, op, pass};
  return check_op(check, &s, &(author){.classes = MICA__ON_GPU, .impl = impl, .variant = variant}, variant->name);
}

static void ignore(void *user, const mica_doctor_line *line) {
  (void)user;
  (void)line;
}

mica_status mica__attention_try(mica_engine *engine, const mica__op *forward, const mica__op *op,
                                mica__attention_pass pass, const mica__impl *impl, const mica__variant *variant,
                                mica_dtype type) {
  const attention_case wide = {"trial", type, SIZES(1, 2, 1, 70, 90, 40, 64), .attrs = {.causal = true}};
  const attention_case narrow = {"trial", type, SIZES(1, 2, 1, 70, 90, 24, 32), .attrs = {.causal = true}};
  const subject s = {forward, op, pass};
  const author by = {.classes = MICA__ON_GPU, .impl = impl, .variant = variant};
  mica__check check = {.engine = engine, .level = MICA__CHECK_QUICK, .op = op->name, .fn = ignore, .random = 1};
  MICA_TRY(mica_queue_create(engine, &check.queue));
  mica__check_group group = mica__check_begin(&check, op->name, variant->name, wide.name);
  mica_status status = run_case(&group, &wide, &s, &by);
  /* DPAS of 8 lanes has no registers for heads of 64. */
  if (status == MICA_E_UNSUPPORTED) status = run_case(&group, &narrow, &s, &by);
  mica_queue_destroy(check.queue);
  return status;
}
