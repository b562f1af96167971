/* Connectionist temporal classification: the loss of each sequence and its gradient with respect to the logits. */
#include "base/arith.h"
#include "base/error.h"
#include "ops/common/build.h"
#include "ops/select/launch_check.h"
#include "runtime/launch.h"
#include "runtime/workspace.h"

#include <math.h>
#include <mica/loss.h>
#include <stdlib.h>

enum { LOGITS, TARGETS, LOGIT_LENGTHS, TARGET_LENGTHS, OPERANDS };
enum { LOSS, GRADIENT, RESULTS };

#define CTC_ATTRS(X, S) X(S, INT, blank, 0, "the class between labels")
MICA__ATTR_STRUCT(ctc, CTC_ATTRS);
static MICA__ATTR_TABLE(ctc, CTC_ATTRS);

extern const mica__op mica__op_ctc_loss;

static bool agree(int64_t a, int64_t b) { return a == b || a == MICA_DYNAMIC || b == MICA_DYNAMIC; }

static mica_status infer_ctc(const mica__type *in, int32_t count, void *attrs, mica__type *out) {
  static const char *const names[] = {"logits", "targets", "logit lengths", "target lengths"};
  static const char *const shapes[] = {"(frames, sequences, classes)", "(sequences, labels)", "(sequences)",
                                       "(sequences)"};
  static const int32_t ranks[] = {3, 2, 1, 1};
  const mica__ctc_attrs *how = attrs;
  const mica_shape logits = in[LOGITS].shape;
  char text[MICA__TYPE_TEXT], whole[MICA_SHAPE_TEXT];
  for (int32_t i = 0; i < count; i++) {
    if (in[i].shape.rank != ranks[i] || (i > 0 && !agree(in[i].shape.dim[0], logits.dim[1])))
      return mica__fail(MICA_E_SHAPE, "%s are %s, but must be %s, with logits %s", names[i],
                        mica__type_format(in[i], text), shapes[i], mica_shape_format(logits, whole));
    if (i > 0 && in[i].dtype != MICA_I32)
      return mica__fail(MICA_E_DTYPE, "%s are %s, but must be i32", names[i], mica_dtype_name(in[i].dtype));
  }
  if (how->blank < 0 || (logits.dim[2] != MICA_DYNAMIC && how->blank >= logits.dim[2]))
    return mica__fail(MICA_E_INVALID, "blank is %lld, but must be a class of logits %s", (long long)how->blank,
                      mica_shape_format(logits, whole));
  out[LOSS] = (mica__type){in[LOGITS].dtype, MICA_SHAPE(logits.dim[1])};
  out[GRADIENT] = in[LOGITS];
  return MICA_OK;
}

/* --- reference --- */

/* A sequence: log probabilities of its frames and classes, and the class of each state, -1 for a label that is not
 * valid. */
typedef struct lattice {
  int64_t frames, states, classes;
  const double *log_p; /* (frames, classes) */
  const int64_t *of;
} lattice;

static double log_add(double a, double b) {
  double top = fmax(a, b), low = fmin(a, b);
  return top == -INFINITY || top != top ? top : top + log1p(exp(low - top));
}

/* Computes alpha, or beta if `back` (cl/loss/ctc.clh), for all frames and states. */
static void walk(const lattice *l, bool back, double *to) {
  const int64_t ahead = back ? -1 : 1, step = ahead * l->states;
  for (int64_t k = 0; k < l->frames; k++) {
    int64_t t = back ? l->frames - 1 - k : k;
    for (int64_t i = 0; i < l->states; i++) {
      int64_t at = back ? l->states - 1 - i : i;
      double *cell = &to[t * l->states + at], sum = k == 0 && i < 2 ? 0 : -INFINITY;
      if (k > 0) sum = cell[-step];
      if (k > 0 && i > 0) sum = log_add(sum, cell[-step - ahead]);
      if (k > 0 && i > 1 && i % 2 == 1 && l->of[at] != l->of[at - 2 * ahead])
        sum = log_add(sum, cell[-step - 2 * ahead]);
      *cell = l->of[at] < 0 ? -INFINITY : sum + l->log_p[t * l->classes + l->of[at]];
    }
  }
}

/* Writes the gradient, whose frames are `stride` elements apart; leaves it as it is if the loss is infinite. Returns
 * the loss. */
static double differentiate(const lattice *l, const double *alpha, const double *beta, double *gradient,
                            int64_t stride) {
  const double *last = &alpha[(l->frames - 1) * l->states];
  double log_z = l->states == 1 ? 0 : -INFINITY;
  if (l->frames > 0) log_z = l->states > 1 ? log_add(last[l->states - 1], last[l->states - 2]) : last[0];
  for (int64_t t = 0; t < l->frames && log_z != -INFINITY; t++)
    for (int64_t i = 0, c; i < l->classes + l->states; i++) {
      if (i < l->classes) {
        gradient[t * stride + i] = exp(l->log_p[t * l->classes + i]);
      } else if ((c = l->of[i - l->classes]) >= 0) {
        double both = alpha[t * l->states + i - l->classes] + beta[t * l->states + i - l->classes];
        if (both > -INFINITY) gradient[t * stride + c] -= exp(both - l->log_p[t * l->classes + c] - log_z);
      }
    }
  return -log_z;
}

static int64_t cut(double length, int64_t most) {
  return length < 0 ? 0 : length > (double)most ? most : (int64_t)length;
}

static mica_status evaluate_ctc(const mica__eval *eval) {
  const mica__ctc_attrs *how = eval->attrs;
  const mica_shape x = eval->types[LOGITS].shape;
  int64_t sequences = x.dim[1], c = x.dim[2], labels = eval->types[TARGETS].shape.dim[1];
  size_t cells = (size_t)(x.dim[0] * (2 * labels + 1)), rows = (size_t)(x.dim[0] * c);
  double *room = malloc((2 * cells + rows + 1) * sizeof *room), *alpha = room, *beta = room + cells;
  double *log_p = room + 2 * cells;
  int64_t *of = malloc((size_t)(2 * labels + 1) * sizeof *of);
  for (int64_t i = 0; i < x.dim[0] * sequences * c; i++) eval->outputs[GRADIENT][i] = 0;
  for (int64_t n = 0; room && of && n < sequences; n++) {
    lattice l = {.frames = cut(eval->inputs[LOGIT_LENGTHS][n], x.dim[0]),
                 .states = 2 * cut(eval->inputs[TARGET_LENGTHS][n], labels) + 1,
                 .classes = c,
                 .log_p = log_p,
                 .of = of};
    for (int64_t i = 0; i < l.states; i++) {
      double label = i % 2 ? eval->inputs[TARGETS][n * labels + i / 2] : (double)how->blank;
      of[i] = label >= 0 && label < (double)c && (i % 2 == 0 || label != (double)how->blank) ? (int64_t)label : -1;
    }
    for (int64_t t = 0; t < l.frames; t++) {
      const double *logits = &eval->inputs[LOGITS][(t * sequences + n) * c];
      double sum = -INFINITY;
      for (int64_t k = 0; k < c; k++) sum = log_add(sum, logits[k]);
      for (int64_t k = 0; k < c; k++) log_p[t * c + k] = logits[k] - sum;
    }
    walk(&l, false, alpha);
    walk(&l, true, beta);
    eval->outputs[LOSS][n] = differentiate(&l, alpha, beta, &eval->outputs[GRADIENT][n * c], sequences * c);
  }
  bool done = room && of;
  free(room);
  free(of);
  return done ? MICA_OK : mica__fail(MICA_E_NOMEM, "there is not enough memory for the CTC loss");
}

/* --- launches --- */

static const mica__kernel_param params[] = {
    MICA__DTYPE("X_T", "type of the logits", MICA_F32, MICA_F64),
    MICA__INT("GROUP", "work-items of a group", 1, 32, 64),
};
static const mica__variant variants[] = {
    MICA__VARIANT("cpu", MICA__ON_CPU, MICA_F32, 1),
    MICA__VARIANT("gpu", MICA__ON_GPU, MICA_F32, 64),
};
static const mica__kernel_desc rows_kernel = {MICA__KERNEL("ctc_rows", "loss/ctc_rows.cl", params, variants)};
static const mica__kernel_desc lattice_kernel = {MICA__KERNEL("ctc_lattice", "loss/ctc_lattice.cl", params, variants)};
static const mica__kernel_desc grad_kernel = {MICA__KERNEL("ctc_grad", "loss/ctc_grad.cl", params, variants)};

/* A launch in progress: its workspaces, and the sizes that kernels take. */
typedef struct ctc {
  const mica__exec *exec;
  int64_t frames, sequences, classes, labels;
  mica_tensor *rows, *lattice, *links, *loss;
} ctc;

static mica_status begin(const ctc *c, const mica__kernel_desc *desc, int32_t *group, mica__launch *launch) {
  int32_t values[MICA__MAX_PARAMS];
  mica__kernel *kernel = NULL;
  MICA_TRY(mica__exec_values(c->exec, desc, values));
  mica__kernel_set(desc, values, "X_T", (int32_t)mica_tensor_dtype(c->exec->inputs[LOGITS]));
  *group = mica__kernel_value(desc, values, "GROUP");
  MICA_TRY(mica__kernel_get(mica__queue_engine(c->exec->queue), desc, values, NULL, &kernel));
  *launch = mica__launch_of(kernel);
  mica__launch_tensor(launch, c->exec->inputs[LOGITS]);
  return MICA_OK;
}

static mica_status submit(const ctc *c, int64_t groups, int32_t group, double flops, mica__launch *launch) {
  mica__launch_range1(launch, groups * group, (size_t)group);
  mica__launch_cost(launch, flops, (double)mica_tensor_bytes(c->exec->inputs[LOGITS]));
  return mica__queue_submit(c->exec->queue, launch);
}

static mica_status launch_rows(const ctc *c) {
  mica__launch launch;
  int32_t group;
  MICA_TRY(begin(c, &rows_kernel, &group, &launch));
  mica__launch_tensor(&launch, c->exec->inputs[LOGIT_LENGTHS]);
  mica__launch_tensor(&launch, c->rows);
  mica__launch_size(&launch, c->frames);
  mica__launch_size(&launch, c->sequences);
  mica__launch_size(&launch, c->classes);
  return submit(c, c->sequences * c->frames, group, 2.0 * (double)(c->frames * c->sequences * c->classes), &launch);
}

static void add_sizes(const ctc *c, mica__launch *launch) {
  const mica__ctc_attrs *how = c->exec->attrs;
  mica__launch_size(launch, c->frames);
  mica__launch_size(launch, c->sequences);
  mica__launch_size(launch, c->classes);
  mica__launch_size(launch, c->labels);
  mica__launch_size(launch, how->blank);
}

static mica_status launch_lattice(const ctc *c, bool both) {
  mica__launch launch;
  int32_t group;
  MICA_TRY(begin(c, &lattice_kernel, &group, &launch));
  for (int i = TARGETS; i < OPERANDS; i++) mica__launch_tensor(&launch, c->exec->inputs[i]);
  mica__launch_tensor(&launch, c->rows);
  mica__launch_tensor(&launch, c->lattice);
  mica__launch_tensor(&launch, c->loss);
  mica__launch_tensor(&launch, c->links);
  add_sizes(c, &launch);
  double cells = (double)(c->sequences * c->frames) * (double)(2 * c->labels + 1) * (both ? 2 : 1);
  return submit(c, c->sequences * (both ? 2 : 1), group, 8 * cells, &launch);
}

static mica_status launch_grad(const ctc *c) {
  mica__launch launch;
  int32_t group;
  MICA_TRY(begin(c, &grad_kernel, &group, &launch));
  for (int i = TARGETS; i < OPERANDS; i++) mica__launch_tensor(&launch, c->exec->inputs[i]);
  mica__launch_tensor(&launch, c->rows);
  mica__launch_tensor(&launch, c->lattice);
  mica__launch_tensor(&launch, c->links);
  mica__launch_tensor(&launch, c->exec->outputs[GRADIENT]);
  add_sizes(c, &launch);
  double each = (double)(4 * c->labels + c->classes);
  return submit(c, c->sequences * c->frames, group, 2 * (double)(c->frames * c->sequences) * each, &launch);
}

static mica_status launch_ctc(const mica__exec *exec) {
  const mica_shape x = mica_tensor_shape(exec->inputs[LOGITS]);
  const mica_dtype dtype = mica_tensor_dtype(exec->inputs[LOGITS]);
  ctc c = {.exec = exec,
           .frames = x.dim[0],
           .sequences = x.dim[1],
           .classes = x.dim[2],
           .labels = mica_tensor_shape(exec->inputs[TARGETS]).dim[1]};
  const bool differentiates = exec->outputs[GRADIENT] != NULL;
  mica_tensor *loss = NULL;
  if (c.sequences == 0) return MICA_OK;
  /* One element more: a workspace must not be empty. */
  const int64_t cells = (differentiates ? 2 : 1) * c.sequences * c.frames * (2 * c.labels + 1);
  mica_status status = mica__workspace_tensor(exec->queue, dtype, MICA_SHAPE(c.sequences * c.frames + 1), &c.rows);
  if (status == MICA_OK) status = mica__workspace_tensor(exec->queue, dtype, MICA_SHAPE(cells + 1), &c.lattice);
  if (status == MICA_OK)
    status = mica__workspace_tensor(exec->queue, MICA_I32, MICA_SHAPE(c.sequences * c.labels + 1), &c.links);
  if (status == MICA_OK && !exec->outputs[LOSS])
    status = mica__workspace_tensor(exec->queue, dtype, MICA_SHAPE(c.sequences), &loss);
  c.loss = loss ? loss : exec->outputs[LOSS];
  if (status == MICA_OK) status = launch_rows(&c);
  if (status == MICA_OK) status = launch_lattice(&c, differentiates);
  if (status == MICA_OK && differentiates) status = launch_grad(&c);
  mica_tensor_destroy(c.rows);
  mica_tensor_destroy(c.lattice);
  mica_tensor_destroy(c.links);
  mica_tensor_destroy(loss);
  return status;
}

/* --- gradient, check --- */

static mica_status grad_ctc(const mica__grad *grad) {
  if (grad->dresults[GRADIENT].graph)
    return mica__fail(MICA_E_UNSUPPORTED, "the gradient of ctc_loss has no gradient, and the loss depends on it");
  if (!grad->dy.graph) return MICA_OK;
  mica_value dy = mica__insert_axis(mica__insert_axis(grad->dy, 0), 2);
  grad->dinputs[LOGITS] = mica_mul(grad->results[GRADIENT], dy);
  return MICA_OK;
}

#define CTC_CASE(how, t, n, c, s, label, length, target_length, without)                                               \
  {                                                                                                                    \
    .attrs = &how, .input_count = OPERANDS, .terms = 2 * (t) + (c), .normwise = true,                                  \
    .inputs = {{MICA_F32, {3, {t, n, c}}}, {MICA_I32, {2, {n, s}}}, {MICA_I32, {1, {n}}}, {MICA_I32, {1, {n}}}},       \
    .bound = {2, label, length, target_length}, .unwanted = without                                                    \
  }

/* Random labels and lengths are often invalid, so most cases have many sequences. */
static mica_status check_ctc(mica__check *check) {
  static const mica__ctc_attrs first = {0}, third = {2};
  const mica__launch_case list[] = {
      CTC_CASE(third, 5, 30, 4, 2, 2, 9, 3, 0),
      CTC_CASE(first, 12, 20, 3, 4, 3, 30, 5, 0),
      CTC_CASE(third, 9, 20, 70, 40, 0.5, 20, 5, 0),
      CTC_CASE(first, 40, 8, 90, 3, 60, 60, 3, 0),
      CTC_CASE(third, 3, 4, 5, 0, 2, 3, 3, 0),
      CTC_CASE(first, 1, 1, 1, 1, 2, 3, 3, 0),
      CTC_CASE(third, 6, 9, 4, 2, 2, 9, 3, 1u << GRADIENT),
      CTC_CASE(third, 6, 9, 4, 2, 2, 9, 3, 1u << LOSS),
  };
  return mica__check_launches(check, &mica__op_ctc_loss, "ctc_loss", list, sizeof list / sizeof *list);
}

static double flops_ctc(const mica__node *node, const mica__type *in) {
  (void)node;
  const int64_t *x = in[LOGITS].shape.dim;
  return (double)(x[0] * x[1]) * (4 * (double)x[2] + 20 * (double)(2 * in[TARGETS].shape.dim[1] + 1));
}

static const mica__kernel_desc *const kernels[] = {&rows_kernel, &lattice_kernel, &grad_kernel, NULL};
const mica__op mica__op_ctc_loss = {.name = "ctc_loss",
                                    .kernels = kernels,
                                    .check = check_ctc,
                                    .kind = MICA__OP_LAUNCH,
                                    .min_inputs = OPERANDS,
                                    .max_inputs = OPERANDS,
                                    .results = RESULTS,
                                    .attrs = &mica__ctc_attr_list,
                                    .dtypes = "fxxx>00",
                                    .infer = infer_ctc,
                                    .grad = grad_ctc,
                                    .evaluate = evaluate_ctc,
                                    .launch = launch_ctc,
                                    .flops = flops_ctc};

mica_value mica_ctc_loss(mica_value logits, mica_value targets, mica_value logit_lengths, mica_value target_lengths,
                         const mica_ctc_config *given) {
  static const mica_ctc_config defaults = {0};
  const mica_ctc_config *config = given ? given : &defaults;
  if (!mica__builder_choice("ctc_loss", logits, "reduction", (int64_t)config->reduction, MICA_LOSS_REDUCTION_NONE + 1))
    return (mica_value){0};
  mica_value operands[] = {mica__widen(logits), targets, logit_lengths, target_lengths};
  mica_value loss = mica__graph_add(&mica__op_ctc_loss, operands, OPERANDS, &(mica__ctc_attrs){config->blank});
  if (config->zero_infinity) loss = mica_where(mica_isinf(loss), mica__number(loss, 0), loss);
  if (config->reduction == MICA_LOSS_REDUCTION_MEAN) {
    mica_value length = mica_minimum(target_lengths, mica_cast(mica__count_along(targets, MICA_AXES(1)), MICA_I32));
    mica_value some = mica_cast(mica_maximum(length, mica__number(target_lengths, 1)), mica_value_dtype(loss));
    loss = mica_mean(mica_div(loss, some), MICA_ALL_AXES, false);
  } else if (config->reduction == MICA_LOSS_REDUCTION_SUM) {
    loss = mica_sum(loss, MICA_ALL_AXES, false);
  }
  return mica__narrow(loss, logits);
}
