#include "nn/optim_rows.h"

#include "base/arith.h"
#include "base/text.h"
#include "ir/graph.h"
#include "nn/divided.h"
#include "nn/optim.h"
#include "nn/optim_ranks.h"
#include "nn/optim_shard.h"
#include "ops/collective/channels.h"
#include "ops/collective/collective.h"

#include <fnmatch.h>
#include <math.h>
#include <mica/nodes.h>
#include <mica/optim.h>
#include <stdlib.h>
#include <string.h>

/* After this number of consecutive runs with finite gradients, the loss scale doubles. */
#define GOOD_RUNS 2000

/* A weight to train. */
typedef struct weight {
  mica_nn_parameter_info info;
  mica_value grad;
  mica_value rows; /* null: the gradient covers all rows */
  bool elsewhere;  /* another pipeline stage has this weight too, and that stage counts it in norms */
  bool divided;    /* the weight is divided; this rank has a part */
} weight;

/* State shared by the rules of one graph. */
typedef struct optimiser {
  mica_nn *nn;
  mica_optimizer_config c;
  mica_value rate, step;        /* learning rate (an input), and number of previous steps */
  mica_value first, second;     /* 1 - beta1^t and 1 - beta2^t */
  mica_value good;              /* true if all gradients are finite; null: no loss scale */
  mica_value apply;             /* true if weights change in this run; null: always */
  const mica__gradients *given; /* NULL: the gradients come from a loss */
  weight *weights;
  size_t count;
  /* Used only if `shard` is set. `all` has all weights, and `weights` then has only the weights that this rank updates.
   * owners[i] is the rank that updates all[i]. `sent` is a value that the graph must use so that everything is sent. */
  weight *all;
  size_t all_count;
  int32_t *owners, norms; /* norms: number of norms over ranks so far */
  mica_value sent;
  mica_value behind; /* the last norm of all gradients; null: none was computed */
} optimiser;

/* One weight, or the rows of it that a step reads. p is its value and grad its gradient. The names of its state contain
 * `name`. */
typedef struct rule {
  const optimiser *o;
  const char *name;
  mica_value p, grad;
  /* whole: the weight as the graph's parameter. rows: the indices of p's rows in `whole`; null: p is all of `whole`. */
  mica_value whole, rows;
} rule;

/* State of a weight: the whole parameter of the graph, and the part of it that belongs to the rule's p. */
typedef struct state {
  mica_value whole, value;
} state;

/* --- state --- */

/* Adds a zero parameter of this shape, named "<before>.<weight><after>". */
static mica_value add_state(const rule *r, const char *before, const char *after, mica_shape shape) {
  mica__text text = {0};
  mica_value value = {0};
  mica__text_addf(&text, "%s.%s%s", before, r->name, after);
  if (text.failed)
    mica__graph_fail_with(r->p.graph, mica__fail_nomem("an optimiser"));
  else
    value = mica__nn_add(r->o->nn, text.data, MICA_F32, shape, NULL, MICA_NN_ROLE_OPTIMIZER);
  mica__nn_divide_like(r->o->nn, r->name);
  mica__text_free(&text);
  return value;
}

/* The part of a parameter for the rule's rows. */
static mica_value seen(const rule *r, mica_value whole) {
  return mica_value_is_null(r->rows) ? whole : mica_gather(whole, r->rows, 0);
}

static state state_shaped(const rule *r, const char *after, mica_shape shape) {
  mica_value whole = add_state(r, "optimizer", after, shape);
  return (state){whole, seen(r, whole)};
}

static state state_of(const rule *r, const char *after) { return state_shaped(r, after, mica_value_shape(r->whole)); }

/* Assigns, but only in runs that change weights. */
static void assign_when(mica_value apply, mica_value parameter, mica_value value) {
  mica_assign(parameter, mica_value_is_null(apply) ? value : mica_where(apply, value, parameter));
}

static mica_value keep(const rule *r, state s, mica_value value) {
  if (mica_value_is_null(r->rows))
    assign_when(r->o->apply, s.whole, value);
  else
    mica__table_assign(s.whole, r->rows,
                       mica_value_is_null(r->o->apply) ? value : mica_where(r->o->apply, value, s.value));
  return value;
}

/* --- rules: each returns the value to subtract from p --- */

/* b := beta b + (1 - beta) x */
static mica_value running_mean(const rule *r, const char *what, double beta, mica_value x) {
  state b = state_of(r, what);
  return keep(r, b, mica_add(mica_affine(b.value, beta, 0), mica_affine(x, 1 - beta, 0)));
}

/* b := momentum b + x */
static mica_value momentum(const rule *r, mica_value x) {
  double share = r->o->c.momentum;
  if (share == 0) return x;
  state b = state_of(r, ".momentum");
  return keep(r, b, mica_add(mica_affine(b.value, share, 0), x));
}

static mica_value over_root(const rule *r, mica_value x, mica_value square) {
  return mica_div(x, mica_affine(mica_sqrt(square), 1, r->o->c.epsilon));
}

static mica_value step_sgd(const rule *r) {
  mica_value b = momentum(r, r->grad);
  if (r->o->c.nesterov) b = mica_add(r->grad, mica_affine(b, r->o->c.momentum, 0));
  return mica_mul(r->o->rate, b);
}

static mica_value step_adam(const rule *r) {
  const optimiser *o = r->o;
  mica_value m = running_mean(r, ".m", o->c.beta1, r->grad);
  mica_value v = running_mean(r, ".v", o->c.beta2, mica_square(r->grad));
  /* SparseAdam adds epsilon before it corrects the bias. */
  if (!mica_value_is_null(r->rows))
    return mica_mul(mica_div(mica_mul(o->rate, mica_sqrt(o->second)), o->first), over_root(r, m, v));
  mica_value scaled = mica_mul(mica_sqrt(v), mica_rsqrt(o->second));
  return mica_mul(mica_div(o->rate, o->first), mica_div(m, mica_affine(scaled, 1, o->c.epsilon)));
}

static mica_value step_rmsprop(const rule *r) {
  mica_value v = running_mean(r, ".v", r->o->c.beta2, mica_square(r->grad));
  return mica_mul(r->o->rate, momentum(r, over_root(r, r->grad, v)));
}

static mica_value step_adagrad(const rule *r) {
  mica_shape shape = mica_value_shape(r->whole);
  mica_value square = mica_square(r->grad);
  if (r->o->c.row_wise && shape.rank > 1) {
    mica_axes inner = {.count = shape.rank - 1};
    for (int32_t i = 0; i < inner.count; i++) inner.axis[i] = i + 1, shape.dim[i + 1] = 1;
    square = mica_mean(square, inner, true);
  }
  state before = state_shaped(r, ".v", shape);
  mica_value v = keep(r, before, mica_add(before.value, square));
  return mica_mul(r->o->rate, over_root(r, r->grad, v));
}

static mica_value step_lion(const rule *r) {
  const mica_optimizer_config *c = &r->o->c;
  state m = state_of(r, ".m");
  mica_value towards = mica_add(mica_affine(m.value, c->beta1, 0), mica_affine(r->grad, 1 - c->beta1, 0));
  keep(r, m, mica_add(mica_affine(m.value, c->beta2, 0), mica_affine(r->grad, 1 - c->beta2, 0)));
  return mica_mul(r->o->rate, mica_sign(towards));
}

typedef struct kind {
  mica_value (*step)(const rule *r);
  bool decoupled; /* weight decay is separate from the gradient */
  double beta1, beta2, epsilon;
} kind;

static const kind kinds[] = {
    [MICA_OPTIMIZER_SGD] = {.step = step_sgd},
    [MICA_OPTIMIZER_ADAM] = {.step = step_adam, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
    [MICA_OPTIMIZER_ADAMW] = {.step = step_adam, .decoupled = true, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8},
    [MICA_OPTIMIZER_RMSPROP] = {.step = step_rmsprop, .beta2 = 0.99, .epsilon = 1e-8},
    [MICA_OPTIMIZER_ADAGRAD] = {.step = step_adagrad, .epsilon = 1e-10},
    [MICA_OPTIMIZER_LION] = {.step = step_lion, .decoupled = true, .beta1 = 0.9, .beta2 = 0.99},
};
#define KINDS (sizeof kinds / sizeof *kinds)

static const char *const names[] = {
#define OPTIMIZER_NAME(name, text) text,
    MICA_OPTIMIZER_LIST(OPTIMIZER_NAME)};

const char *mica_optimizer_name(mica_optimizer optimizer) { return (size_t)optimizer < KINDS ? names[optimizer] : "?"; }

mica_status mica_optimizer_find(const char *name, mica_optimizer *optimizer) {
  int32_t found = 0;
  MICA_TRY(mica__name_find("optimiser", name, names, KINDS, &found));
  *optimizer = (mica_optimizer)found;
  return MICA_OK;
}

mica_optimizer_config mica_optimizer_config_default(mica_optimizer optimizer) {
  mica_optimizer_config c = {.optimizer = optimizer};
  if ((size_t)optimizer >= KINDS) return c;
  c.beta1 = kinds[optimizer].beta1;
  c.beta2 = kinds[optimizer].beta2;
  c.epsilon = kinds[optimizer].epsilon;
  return c;
}

/* --- gradients --- */

static mica_status find_weights(optimiser *o) {
  size_t all = mica_nn_parameter_count(o->nn);
  o->weights = calloc(all + 1, sizeof *o->weights);
  if (!o->weights) return mica__fail_nomem("an optimiser");
  for (size_t i = 0; i < all; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(o->nn, i);
    if (info->role != MICA_NN_ROLE_WEIGHT || info->frozen) continue;
    if (o->given && o->given->elsewhere) o->weights[o->count].elsewhere = o->given->elsewhere[o->count];
    o->weights[o->count].divided = mica__is_divided(mica__nn_division(o->nn, i));
    o->weights[o->count++].info = *info;
  }
  return o->count
             ? MICA_OK
             : mica__fail(MICA_E_STATE,
                          "mica_optimize: there is nothing to train: the network has no weights, or all are frozen");
}

/* Keeps only the rank's own weights, and the means of their gradients over all ranks. */
static mica_status share_out(optimiser *o, const mica_value *values, mica_value *grads) {
  const int32_t rank = o->c.communicator->rank;
  o->all = o->weights;
  o->all_count = o->count;
  o->weights = calloc(o->count + 1, sizeof *o->weights);
  o->owners = calloc(o->count + 1, sizeof *o->owners);
  if (!o->weights || !o->owners) return mica__fail_nomem("an optimiser");
  MICA_TRY(mica__shard_owners(values, o->count, o->c.communicator->ranks, o->owners));
  MICA_TRY(mica__shard_reduce(o->nn->graph, &o->c, o->owners, grads, o->count, &o->sent));
  o->count = 0;
  for (size_t i = 0; i < o->all_count; i++) {
    if (o->owners[i] != rank) continue;
    grads[o->count] = grads[i];
    o->weights[o->count++] = o->all[i];
  }
  return MICA_OK;
}

/* Sends the new values of all weights from their owners to all ranks, and assigns the values received. */
static mica_status broadcast(optimiser *o) {
  mica_graph *graph = o->nn->graph;
  mica_value *values = calloc(o->all_count + 1, sizeof *values);
  if (!values) return mica__fail_nomem("an optimiser");
  for (size_t i = 0; i < o->all_count; i++) {
    const mica_value p = o->all[i].info.value;
    const int32_t assigned = mica__graph_node(graph, p.id)->assigned;
    values[i] = assigned ? (mica_value){graph, assigned} : p;
  }
  /* Broadcasts begin after the last norm over ranks, because by then this rank has sent what the other ranks need for
   * their norms. */
  const mica_value when = mica_value_is_null(o->behind) ? o->rate : o->behind;
  mica_status status = mica__shard_broadcast(&o->c, o->owners, when, values, o->all_count, &o->sent);
  for (size_t i = 0; status == MICA_OK && i < o->all_count; i++)
    if (o->owners[i] != o->c.communicator->rank) mica_assign(o->all[i].info.value, values[i]);
  free(values);
  return status;
}

/* Returns loss * ranks * (this rank's weight) / (sum of all ranks' weights), or the loss itself if no weight is given.
 * The sum of the ranks' gradients is later divided by the number of ranks, so the result is the gradient of the
 * weighted mean of the losses. */
static mica_value join_loss(optimiser *o, mica_value loss) {
  mica_value share, all;
  if (mica_value_is_null(o->c.weight)) return loss;
  mica__ranks_weight(o->nn->graph, &o->c, &share, &all);
  o->c.weight = (mica_value){0};
  return mica_mul(loss, mica_div(mica_affine(share, o->c.communicator->ranks, 0), all));
}

static mica_status differentiate(optimiser *o, mica_value loss) {
  const size_t count = o->count + o->c.other_count;
  mica_value *wrt = calloc(2 * count, sizeof *wrt);
  if (!wrt) return mica__fail_nomem("an optimiser");
  mica_value *grads = wrt + count;
  for (size_t i = 0; i < count; i++) wrt[i] = i < o->count ? o->weights[i].info.value : o->c.others[i - o->count];
  mica_status status = MICA_OK;
  if (o->given)
    memcpy(grads, o->given->values, o->count * sizeof *grads);
  else
    status = mica_gradients(loss, wrt, count, grads);
  for (size_t i = o->count; status == MICA_OK && i < count; i++) o->c.other_gradients[i - o->count] = grads[i];
  if (status == MICA_OK && o->c.shard)
    status = share_out(o, wrt, grads);
  else if (status == MICA_OK && o->c.communicator)
    status = mica__ranks_reduce(o->nn->graph, &o->c, grads, o->count);
  for (size_t i = 0; status == MICA_OK && i < o->count; i++) o->weights[i].grad = grads[i];
  free(wrt);
  return status;
}

static void scale_gradients(optimiser *o, mica_value factor) {
  for (size_t i = 0; i < o->count; i++) o->weights[i].grad = mica_mul(o->weights[i].grad, factor);
}

static mica_value number(const optimiser *o, double value) { return mica_scalar(o->nn->graph, MICA_F32, value); }

/* The squared norm of all gradients as one vector. */
static mica_value square_of_all(optimiser *o) {
  mica_communicator *const parts = o->nn->config.tensor_ranks;
  mica_communicator *const among[] = {o->c.shard ? o->c.communicator : NULL, o->given ? o->given->parts : NULL, parts};
  mica_value total = {0};
  for (size_t i = 0; i < o->count; i++) {
    /* Only the first rank counts weights that every rank has whole. */
    if (o->weights[i].elsewhere || (parts && parts->rank && !o->weights[i].divided)) continue;
    mica_value own = mica_sum_square(o->weights[i].grad, MICA_ALL_AXES, false);
    total = total.graph ? mica_add(total, own) : own;
  }
  /* The sum over ranks must run in every run, so its operand must not be constant. */
  if (!total.graph) total = mica_minimum(mica_square(o->rate), number(o, 0));
  for (size_t k = 0; k < sizeof among / sizeof *among; k++)
    if (among[k])
      mica__all_reduce(&total, 1, among[k], MICA__CHANNEL_SHARD_NORMS + o->norms, MICA_COMPRESSION_NONE, &total);
  o->norms++;
  o->behind = total;
  return total;
}

static mica_value state_scalar(optimiser *o, const char *name, double value) {
  mica_init_config init = {.kind = MICA_INIT_CONSTANT, .value = value};
  return mica__nn_add(o->nn, name, MICA_F32, MICA_SCALAR, &init, MICA_NN_ROLE_OPTIMIZER);
}

/* Divides gradients by the loss scale, and computes the next scale. */
static void unscale(optimiser *o, mica_value scale) {
  mica_value runs = state_scalar(o, "optimizer.good_runs", 0), more = mica_affine(runs, 1, 1);
  o->good = mica_isfinite(square_of_all(o));
  scale_gradients(o, mica_reciprocal(scale));
  mica_value full = mica_greater_equal(more, number(o, GOOD_RUNS));
  mica_assign(runs, mica_where(mica_logical_or(full, mica_logical_not(o->good)), number(o, 0), more));
  mica_value grown = mica_where(full, mica_affine(scale, 2, 0), scale);
  mica_assign(scale, mica_where(o->good, grown, mica_affine(scale, 0.5, 0)));
}

/* Adds this run's gradients to a sum over the runs of a step, and replaces them by the sum so far, divided by the
 * number of runs. `run` is the number of this run, from 0. In the last run this is the mean over all runs. */
static void accumulate(optimiser *o, mica_value run) {
  double share = 1.0 / o->c.accumulate;
  mica_value last = mica_equal(run, number(o, o->c.accumulate - 1));
  for (size_t i = 0; i < o->count; i++) {
    mica_value p = o->weights[i].info.value;
    rule r = {.o = o, .name = o->weights[i].info.own_name, .p = p, .whole = p};
    mica_value sum = state_of(&r, ".gradient").whole;
    mica_value next = mica_add(sum, mica_affine(o->weights[i].grad, share, 0));
    /* A run whose gradients are not finite counts as zeros. */
    if (!mica_value_is_null(o->good)) next = mica_where(o->good, next, sum);
    mica_assign(sum, mica_where(last, mica_full_like(sum, 0), next));
    o->weights[i].grad = next;
  }
  mica_assign(run, mica_where(last, number(o, 0), mica_affine(run, 1, 1)));
  o->apply = last;
}

static void clip(optimiser *o, mica_value norm) {
  if (o->c.clip_norm > 0) {
    mica_value share = mica_div(number(o, o->c.clip_norm), mica_affine(norm, 1, 1e-6));
    scale_gradients(o, mica_minimum(share, number(o, 1)));
  }
  for (size_t i = 0; o->c.clip_value > 0 && i < o->count; i++)
    o->weights[i].grad = mica_clip(o->weights[i].grad, -o->c.clip_value, o->c.clip_value);
}

/* --- the step --- */

/* 1 - beta^t, exact near beta = 1. */
static mica_value remainder_of(double beta, mica_value t) {
  return beta > 0 ? mica_neg(mica_expm1(mica_affine(t, log(beta), 0))) : mica_full_like(t, 1);
}

/* a := ema a + (1 - ema) p, starting from the first p. */
static void average(const rule *r, mica_value next) {
  const optimiser *o = r->o;
  mica_value ema = add_state(r, "ema", "", mica_value_shape(r->whole));
  mica_value before = mica_where(mica_equal(o->step, mica_scalar(ema.graph, MICA_I64, 0)), r->p, ema);
  mica_value mean = mica_add(mica_affine(before, o->c.ema, 0), mica_affine(next, 1 - o->c.ema, 0));
  assign_when(o->apply, ema, mean);
}

static void update(optimiser *o, const weight *w) {
  const kind *how = &kinds[o->c.optimizer];
  mica_value decay = {0};
  rule r = {.o = o, .name = w->info.own_name, .grad = w->grad, .whole = w->info.value, .rows = w->rows};
  r.p = seen(&r, r.whole);
  if (o->c.weight_decay != 0 && (w->info.decay || o->c.decay_all)) decay = mica_affine(r.p, o->c.weight_decay, 0);
  bool decays = !mica_value_is_null(decay);
  if (decays && !how->decoupled) r.grad = mica_add(r.grad, decay);
  mica_value next = mica_sub(r.p, how->step(&r));
  if (decays && how->decoupled) next = mica_sub(next, mica_mul(o->rate, decay));
  keep(&r, (state){r.whole, r.p}, next);
  if (o->c.ema != 0) average(&r, next);
}

/* Finds weights that match the pattern and have gradients by rows. */
static void find_rows(optimiser *o) {
  for (size_t i = 0; o->c.rows && i < o->count; i++) {
    weight *w = &o->weights[i];
    mica__table_rows found;
    if (fnmatch(o->c.rows, w->info.own_name, 0) != 0) continue;
    if (mica__table_gradient(w->info.value, w->grad, &found)) w->grad = found.gradient, w->rows = found.rows;
  }
}

static mica_status check_ranges(const mica_optimizer_config *c) {
  const struct {
    const char *name;
    double value;
    bool share;
  } rows[] = {{"momentum", c->momentum, true},
              {"beta1", c->beta1, true},
              {"beta2", c->beta2, true},
              {"ema", c->ema, true},
              {"epsilon", c->epsilon, false},
              {"weight_decay", c->weight_decay, false},
              {"clip_norm", c->clip_norm, false},
              {"clip_value", c->clip_value, false},
              {"loss_scale", c->loss_scale, false},
              {"least", c->least, false},
              {"accumulate", c->accumulate, false}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!(rows[i].value >= 0) || (rows[i].share && rows[i].value >= 1))
      return mica__fail(MICA_E_INVALID, "mica_optimize: %s is %g, but must %s", rows[i].name, rows[i].value,
                        rows[i].share ? "be at least 0 and below 1" : "be 0 or above");
  return MICA_OK;
}

static mica_status check(const mica_nn *nn, const mica_optimizer_config *c) {
  if ((size_t)c->optimizer >= KINDS)
    return mica__fail(MICA_E_INVALID, "mica_optimize: %d is not an optimiser", (int)c->optimizer);
  MICA_TRY(check_ranges(c));
  if (c->rows && (c->accumulate > 1 || c->ema != 0))
    return mica__fail(MICA_E_INVALID, "mica_optimize: tables cannot be updated by rows, since %s reads whole tables",
                      c->ema != 0 ? "a moving average" : "a gradient that is accumulated");
  if (c->rows && c->communicator)
    return mica__fail(MICA_E_UNSUPPORTED, "mica_optimize: tables cannot be updated by rows on several ranks");
  if (c->shard && !c->communicator)
    return mica__fail(MICA_E_UNSUPPORTED, "mica_optimize: shard is set, but communicator is NULL");
  if (c->shard && (c->ema != 0 || c->compress != MICA_COMPRESSION_NONE))
    return mica__fail(MICA_E_UNSUPPORTED, "mica_optimize: shard cannot be combined with ema or compress");
  if (c->bucket_bytes < 0 || (size_t)c->compress > MICA_COMPRESSION_U8)
    return mica__fail(MICA_E_INVALID,
                      "mica_optimize: bucket_bytes (%lld) must be 0 or above, and compress (%d) a mica_compression",
                      (long long)c->bucket_bytes, (int)c->compress);
  if (c->other_count && (!c->others || !c->other_gradients))
    return mica__fail(MICA_E_INVALID, "mica_optimize: others or other_gradients is NULL, but other_count is %zu",
                      c->other_count);
  if (c->other_count && c->loss_scale > 0)
    return mica__fail(MICA_E_UNSUPPORTED, "mica_optimize: others cannot be combined with loss_scale");
  if (mica__name_table_find(&nn->graph->names, MICA_LEARNING_RATE) > 0)
    return mica__fail(MICA_E_STATE, "mica_optimize: the graph already has an optimiser, or another value named %s",
                      MICA_LEARNING_RATE);
  return mica_graph_status(nn->graph);
}

/* Counts steps; *t is the number of this step, from 1. If every run is a step, the network's counter is used. */
static void count_step(optimiser *o, mica_value *t) {
  mica_value runs = mica_nn_step(o->nn), one = mica_scalar(o->nn->graph, MICA_I64, 1), next = mica_add(runs, one);
  o->step = runs;
  mica_assign(runs, next);
  if (!mica_value_is_null(o->apply)) {
    o->step = mica__nn_add(o->nn, "optimizer.step", MICA_I64, MICA_SCALAR, NULL, MICA_NN_ROLE_OPTIMIZER);
    next = mica_add(o->step, one);
    assign_when(o->apply, o->step, next);
  }
  *t = mica_cast(next, MICA_F32);
}

static mica_status build(optimiser *o, mica_value loss, mica_optimizer_values *values) {
  mica_value scale = {0}, norm = {0}, t;
  MICA_TRY(find_weights(o));
  if (o->c.loss_scale > 0) {
    scale = state_scalar(o, "optimizer.loss_scale", o->c.loss_scale);
    loss = mica_mul(mica_value_dtype(loss) == MICA_F32 ? loss : mica_cast(loss, MICA_F32), scale);
  }
  if (o->c.joined && o->c.communicator && !o->given) loss = join_loss(o, loss);
  MICA_TRY(differentiate(o, loss));
  find_rows(o);
  o->rate = mica_input(o->nn->graph, MICA_LEARNING_RATE, MICA_F32, MICA_SCALAR);
  if (!mica_value_is_null(scale)) unscale(o, scale);
  o->apply = o->good;
  if (o->c.accumulate > 1) accumulate(o, state_scalar(o, "optimizer.run", 0));
  if (o->c.clip_norm > 0) norm = mica_sqrt(square_of_all(o));
  clip(o, norm);
  count_step(o, &t);
  o->first = remainder_of(o->c.beta1, t);
  o->second = remainder_of(o->c.beta2, t);
  for (size_t i = 0; i < o->count; i++) update(o, &o->weights[i]);
  if (o->c.shard) {
    MICA_TRY(broadcast(o));
    /* Not part of the network's state, so files omit it. */
    mica_value held = mica_parameter(o->nn->graph, "optimizer.sent", MICA_F32, MICA_SCALAR);
    if (!mica_value_is_null(o->sent)) mica_assign(held, o->sent);
  }
  if (values) *values = (mica_optimizer_values){norm, scale};
  return MICA_OK;
}

static void optimize(mica_nn *nn, mica_value loss, const mica__gradients *given, const mica_optimizer_config *config,
                     mica_optimizer_values *values) {
  if (values) *values = (mica_optimizer_values){0};
  if (mica__nn_missing(nn, "optimize", loss)) return;
  optimiser o = {.nn = nn, .c = config ? *config : (mica_optimizer_config){0}, .given = given};
  mica_optimizer_config defaults = mica_optimizer_config_default(o.c.optimizer);
  o.c.beta1 = mica__or_default(o.c.beta1, defaults.beta1);
  o.c.beta2 = mica__or_default(o.c.beta2, defaults.beta2);
  o.c.epsilon = mica__or_default(o.c.epsilon, defaults.epsilon);
  mica_status status = check(nn, &o.c);
  if (status == MICA_OK) status = build(&o, loss, values);
  if (status != MICA_OK) mica__graph_fail_with(nn->graph, status);
  free(o.weights);
  free(o.all);
  free(o.owners);
}

void mica_optimize(mica_nn *nn, mica_value loss, const mica_optimizer_config *config, mica_optimizer_values *values) {
  optimize(nn, loss, NULL, config, values);
}

void mica__optimize_given(mica_nn *nn, const mica__gradients *gradients, const mica_optimizer_config *config) {
  optimize(nn, (mica_value){0}, gradients, config, NULL);
}
