/* Cuts a step into stages and creates their sessions. */
#include "train/stages.h"

#include "base/text.h"
#include "ir/cut.h"
#include "nn/divided.h"
#include "nn/optim.h"
#include "nn/optim_ranks.h"
#include "ops/collective/channels.h"
#include "ops/collective/collective.h"

#include <mica/nodes.h>
#include <stdlib.h>

/* Names of the inputs and parameters that stages add to their graphs. */
#define X "pipe.x"
#define DY "pipe.dy"
#define ROW "pipe.row"
#define WEIGHT "pipe.weight"
#define GRADIENT "pipe.gradient."

/* --- division into stages --- */

/* Creates the groups: the replicas of one stage, and the stages of one replica. Rank 0 reports, so it has the last
 * stage and its losses. */
static mica_status make_groups(mica_trainer *t, mica__stages *s) {
  mica_communicator *c = t->config.communicator;
  const int32_t parts = mica__ranks_parts(t), part = c->rank % parts;
  const int32_t n = s->count, replicas = c->ranks / (n * parts), behind = c->rank / parts % n;
  int32_t *ranks = calloc((size_t)c->ranks, sizeof *ranks);
  if (!ranks) return mica__fail_nomem("stages");
  s->stage = n - 1 - behind;
  s->replica = c->rank / parts / n;
  for (int32_t k = 0; k < n; k++) ranks[k] = mica__ranks_at(t, s->replica, k, part);
  mica_status status = mica_communicator_group(c, ranks, n, &s->pipe);
  for (int32_t k = 0; k < replicas; k++) ranks[k] = mica__ranks_at(t, k, behind, part);
  if (status == MICA_OK && replicas > 1) status = mica_communicator_group(c, ranks, replicas, &s->data);
  free(ranks);
  return status;
}

/* The values of a stage have the ids from `first` to `last`, both included. */
typedef struct range {
  int32_t x, first, y, last; /* x, y: ids of the received and the sent value; 0: none */
} range;

static mica_status choose(const mica_trainer *t, const mica__cut_points *p, int32_t stages, range *list) {
  double *costs = calloc((size_t)p->count + 1, sizeof *costs);
  int32_t *cuts = calloc((size_t)stages + 1, sizeof *cuts);
  mica_status status = costs && cuts ? MICA_OK : mica__fail_nomem("stages");
  if (status == MICA_OK && p->count + 1 < stages)
    status =
        mica__fail(MICA_E_INVALID,
                   "stages.count is %d, but the network can be cut into at most %d stages; it can be cut only where "
                   "one layer passes a single value to the next",
                   (int)stages, (int)p->count + 1);
  for (int32_t i = 0; status == MICA_OK && i <= p->count; i++) costs[i] = i < p->count ? p->list[i].cost : p->rest;
  if (status == MICA_OK) status = mica__cut_evenly(costs, p->count + 1, stages, cuts);
  for (int32_t k = 0; status == MICA_OK && k < stages; k++) {
    const mica__cut_point *from = k ? &p->list[cuts[k] - 1] : NULL;
    const mica__cut_point *to = k + 1 < stages ? &p->list[cuts[k + 1] - 1] : NULL;
    list[k] = (range){.x = from ? from->value : 0,
                      .first = from ? from->last + 1 : 1,
                      .y = to ? to->value : 0,
                      .last = to ? to->last : t->training.graph->count};
  }
  free(costs);
  free(cuts);
  return status;
}

static mica_status note_holders(mica_trainer *t, mica__stages *s, const mica__cut_points *p, const range *list) {
  const mica_nn *nn = t->training.nn;
  const size_t ids = (size_t)t->training.graph->count + 1;
  for (int32_t k = 0; k < s->count; k++) {
    bool *sources = calloc(ids, sizeof *sources);
    if (!sources) return mica__fail_nomem("stages");
    mica_status status = mica__graph_sources(t->training.graph, p, list[k].first, list[k].last, sources);
    for (size_t i = 0; status == MICA_OK && i < s->parameters; i++) {
      const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
      const int32_t id = info->value.id, assigned = mica__graph_node(t->training.graph, id)->assigned;
      const bool changes = assigned >= list[k].first && assigned <= list[k].last;
      if (sources[id - 1] || changes) s->holders[i] |= (uint64_t)1 << k;
    }
    free(sources);
    MICA_TRY(status);
  }
  return MICA_OK;
}

static bool holds(const mica__stages *s, size_t i) { return s->holders[i] >> s->stage & 1; }
static bool is_last(const mica__stages *s) { return s->stage == s->count - 1; }

/* True if this stage trains weight i. */
static bool trains(const mica_trainer *t, const mica__stages *s, size_t i) {
  const mica_nn_parameter_info *info = mica_nn_parameter_at(t->training.nn, i);
  return info->role == MICA_NN_ROLE_WEIGHT && !info->frozen && holds(s, i);
}

static bool is_shared(const mica__stages *s, size_t i) { return (s->holders[i] & (s->holders[i] - 1)) != 0; }

/* Creates a group for each trained weight that other stages have too. */
static mica_status make_shared(mica_trainer *t, mica__stages *s) {
  mica_communicator *c = t->config.communicator;
  const int32_t part = c->rank % mica__ranks_parts(t);
  s->shared = calloc(s->parameters + 1, sizeof *s->shared);
  if (!s->shared) return mica__fail_nomem("stages");
  for (size_t i = 0; i < s->parameters; i++) {
    int32_t ranks[64], count = 0;
    if (!trains(t, s, i) || !is_shared(s, i)) continue;
    for (int32_t k = s->count - 1; k >= 0; k--)
      if (s->holders[i] >> k & 1) ranks[count++] = mica__ranks_at(t, s->replica, s->count - 1 - k, part);
    mica__shared *one = &s->shared[s->shared_count];
    MICA_TRY(mica_communicator_group(c, ranks, count, &one->among));
    one->parameter = (int32_t)i;
    s->shared_count++;
  }
  return MICA_OK;
}

/* --- sessions --- */

static mica_status status_of(const mica_graph *graph) {
  mica_status status = mica_graph_status(graph);
  return status == MICA_OK ? MICA_OK : mica__fail(status, "%s", mica_graph_message(graph));
}

/* Removes all assignments to parameters from the graph. If `back`, restores the assignments to parameters that this
 * stage holds. */
static void keep_assignments(mica_trainer *t, const mica__stages *s, int32_t *assigned, bool back) {
  for (size_t i = 0; i < s->parameters; i++) {
    mica__node *node = mica__graph_node(t->training.graph, mica_nn_parameter_at(t->training.nn, i)->value.id);
    if (!back) assigned[i] = node->assigned;
    node->assigned = back && holds(s, i) ? assigned[i] : 0;
  }
}

static mica_status make_forward(mica_trainer *t, mica__stages *s, const range *own) {
  const mica_value y = {t->training.graph, own->y};
  if (is_last(s)) return MICA_OK;
  s->y = mica_value_dtype(y);
  return mica_session_create(t->engine, t->training.graph, &y, 1, NULL, &s->forward);
}

/* Adds x, in each run, to the new parameter "<before><name>". */
static mica_status add_to(mica_graph *graph, const char *before, const char *name, mica_value x) {
  mica__text text = {0};
  mica__text_addf(&text, "%s%s", before, name);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK) {
    mica_value sum = mica_parameter(graph, text.data, MICA_F32, mica_value_shape(x));
    mica_assign(sum, mica_add(sum, x));
    status = status_of(graph);
  }
  mica__text_free(&text);
  return status;
}

/* Adds the gradients of the stage's weights, times the divisor of the loss, to their sums over the micro-batches.
 * *dx receives the gradient of x, if there is an x. */
static mica_status differentiate(mica_trainer *t, mica__stages *s, mica_value loss, mica_value weight, mica_value x,
                                 mica_value *dx) {
  mica_graph *graph = t->training.graph;
  size_t count = 0;
  mica_value *wrt = calloc(2 * (s->parameters + 1), sizeof *wrt), *grads = wrt + s->parameters + 1;
  if (!wrt) return mica__fail_nomem("stages");
  for (size_t i = 0; i < s->parameters; i++)
    if (trains(t, s, i)) wrt[count++] = mica_nn_parameter_at(t->training.nn, i)->value;
  const size_t weights = count;
  const mica_value counted = mica__ranks_counted(weight, t->training.least);
  if (x.graph) wrt[count++] = x;
  mica_status status = mica_gradients(loss, wrt, count, grads);
  for (size_t i = 0, k = 0; status == MICA_OK && i < s->parameters; i++)
    if (trains(t, s, i))
      status =
          add_to(graph, GRADIENT, mica_nn_parameter_at(t->training.nn, i)->own_name, mica_mul(grads[k++], counted));
  if (status == MICA_OK && x.graph) *dx = grads[weights];
  if (status == MICA_OK) status = add_to(graph, WEIGHT, "", weight);
  free(wrt);
  return status;
}

static mica_status make_backward(mica_trainer *t, mica__stages *s, const range *own) {
  const mica_value weight = t->training.weight, row = t->training.row;
  mica_value loss = t->training.loss;
  mica_graph *graph = t->training.graph;
  mica_value x = {own->x ? graph : NULL, own->x}, outputs[2] = {weight};
  if (!is_last(s)) {
    const mica_value y = {graph, own->y};
    mica_value dy = mica_input(graph, DY, s->y, mica_value_shape(y));
    loss = mica_sum(mica_mul(mica_cast(y, MICA_F32), mica_cast(dy, MICA_F32)), MICA_ALL_AXES, false);
  }
  MICA_TRY(differentiate(t, s, loss, weight, x, &outputs[1]));
  if (is_last(s)) MICA_TRY(add_to(graph, ROW, "", row));
  const mica_session_config config = {.share = s->forward};
  MICA_TRY(mica_session_create(t->engine, graph, outputs, own->x ? 2 : 1, &config, &t->training.session));
  s->steps = mica_session_parameter(t->training.session, "step") != NULL;
  return mica_nn_initialise(t->training.nn, t->training.session);
}

/* --- the update --- */

/* Returns the sum over the passes that a parameter holds, and sets the parameter to zero for the next step. */
static mica_value take_sum(mica_graph *graph, const char *before, const char *name, mica_shape shape) {
  mica__text text = {0};
  mica_value sum = {0};
  mica__text_addf(&text, "%s%s", before, name);
  if (mica__text_status(&text) == MICA_OK) {
    sum = mica_parameter(graph, text.data, MICA_F32, shape);
    mica_assign(sum, mica_full_like(sum, 0));
  } else
    mica__graph_fail_with(graph, MICA_E_NOMEM);
  mica__text_free(&text);
  return sum;
}

static mica_communicator *sharers(const mica__stages *s, size_t i) {
  for (size_t k = 0; k < s->shared_count; k++)
    if ((size_t)s->shared[k].parameter == i) return s->shared[k].among;
  return NULL;
}

/* Makes a network of the stage's weights alone, and the optimiser for their gradients. */
static mica_status add_optimiser(mica_trainer *t, mica__stages *s, mica_value *grads, bool *elsewhere) {
  mica_optimizer_config how = t->config.optimizer;
  size_t count = 0;
  const mica_value weight = take_sum(s->graph, WEIGHT, "", MICA_SCALAR);
  for (size_t i = 0; i < s->parameters; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(t->training.nn, i);
    const mica_shape shape = mica_value_shape(info->value);
    if (!trains(t, s, i)) continue;
    mica__nn_add(s->nn, info->own_name, MICA_F32, shape, &info->init, MICA_NN_ROLE_WEIGHT);
    mica__nn_divide_as(s->nn, mica__nn_division(t->training.nn, i));
    MICA_TRY(status_of(s->graph));
    MICA_TRY(mica_nn_set_decay(s->nn, info->own_name, info->decay, NULL));
    mica_value sum = take_sum(s->graph, GRADIENT, info->own_name, shape);
    mica_communicator *among = sharers(s, i);
    if (among)
      mica__all_reduce(&sum, 1, among, MICA__CHANNEL_SHARD_NORMS - 1 - (int32_t)i, MICA_COMPRESSION_NONE, &sum);
    elsewhere[count] = s->holders[i] & (((uint64_t)1 << s->stage) - 1);
    grads[count++] = mica_div(sum, mica__ranks_divisor(weight, t->training.least));
  }
  if (!count)
    return mica__fail(MICA_E_INVALID, "stage %d of %d has no weight to train", (int)s->stage + 1, (int)s->count);
  how.communicator = s->data;
  how.weight = s->data ? weight : (mica_value){0};
  how.least = t->training.least;
  how.shard = how.shard && s->data;
  const mica__gradients given = {.values = grads, .parts = s->pipe, .elsewhere = elsewhere};
  mica__optimize_given(s->nn, &given, &how);
  return status_of(s->graph);
}

static mica_status make_update(mica_trainer *t, mica__stages *s) {
  const mica_nn_config how = {.seed = t->config.seed, .tensor_ranks = t->tensor};
  const mica_shape sums = MICA_SHAPE((int64_t)t->training.sum_count);
  mica_value *grads = calloc(s->parameters + 1, sizeof *grads);
  bool *elsewhere = calloc(s->parameters + 1, sizeof *elsewhere);
  mica_status status = grads && elsewhere ? mica_graph_create(&s->graph) : mica__fail_nomem("stages");
  if (status == MICA_OK) status = mica_nn_create(s->graph, &how, &s->nn);
  if (status == MICA_OK) status = add_optimiser(t, s, grads, elsewhere);
  if (status == MICA_OK) {
    const mica_value row = is_last(s) ? take_sum(s->graph, ROW, "", sums) : mica_full(s->graph, MICA_F32, sums, 0);
    const mica_binding own = {"step", NULL}; /* the update counts steps, not passes */
    const mica_session_config config = {
        .share = t->training.session, .parameters = &own, .parameter_count = s->steps ? 1 : 0};
    status = status_of(s->graph);
    if (status == MICA_OK) status = mica_session_create(t->engine, s->graph, &row, 1, &config, &s->update);
  }
  if (status == MICA_OK) status = mica_nn_initialise(s->nn, s->update);
  free(grads);
  free(elsewhere);
  return status;
}

/* --- creation --- */

static mica_status find_points(mica_trainer *t, mica__cut_points *points) {
  const mica_value ends[2] = {t->training.loss, t->training.row};
  bool *weights = calloc((size_t)t->training.graph->count + 1, sizeof *weights);
  if (!weights) return mica__fail_nomem("stages");
  for (size_t i = 0; i < mica_nn_parameter_count(t->training.nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(t->training.nn, i);
    if (info->role == MICA_NN_ROLE_WEIGHT) weights[info->value.id - 1] = true;
  }
  mica_status status = mica__graph_cut_points(t->training.graph, ends, 2, weights, points);
  if (status == MICA_OK && points->flows[t->training.weight.id - 1])
    status = mica__fail(MICA_E_UNSUPPORTED,
                        "the network cannot be cut into stages, because the weight of its loss depends on parameters");
  free(weights);
  return status;
}

static mica_status cut(mica_trainer *t, mica__stages *s, const mica__cut_points *points) {
  range list[64];
  int32_t *assigned = calloc(s->parameters + 1, sizeof *assigned);
  if (!assigned) return mica__fail_nomem("stages");
  mica_status status = choose(t, points, s->count, list);
  const range *own = &list[s->stage];
  if (status == MICA_OK) status = note_holders(t, s, points, list);
  if (status == MICA_OK) status = make_shared(t, s);
  if (status == MICA_OK && own->x) {
    s->x = mica__graph_node(t->training.graph, own->x)->type.dtype;
    status = mica__graph_become_input(t->training.graph, own->x, X);
  }
  if (status == MICA_OK) {
    keep_assignments(t, s, assigned, false);
    status = make_forward(t, s, own);
    keep_assignments(t, s, assigned, true);
  }
  if (status == MICA_OK) status = make_backward(t, s, own);
  free(assigned);
  return status;
}

static mica_status check(const mica_trainer_config *c) {
  const int32_t n = c->stages.count;
  if (n > 64) return mica__fail(MICA_E_INVALID, "stages.count is %d, but may be at most 64", (int)n);
  if (!c->communicator || c->communicator->ranks % n)
    return mica__fail(MICA_E_INVALID, "the number of ranks is %d, but must be a multiple of %d, the number of stages",
                      c->communicator ? (int)c->communicator->ranks : 1, (int)n);
  if (c->optimizer.accumulate > 1)
    return mica__fail(MICA_E_INVALID, "stages already add gradients over their micro-batches; leave out accumulate");
  if (c->optimizer.loss_scale > 0)
    return mica__fail(MICA_E_UNSUPPORTED, "stages do not support a loss scale; use bf16 instead of f16");
  if (c->stages.micro_batches < 1)
    return mica__fail(MICA_E_INVALID, "stages.micro_batches is %d, but must be at least 1",
                      (int)c->stages.micro_batches);
  return MICA_OK;
}

static mica_status make_room(mica_trainer *t, mica__stages *s) {
  const size_t columns = t->training.batch.count;
  s->feeds = calloc(columns + 2, sizeof *s->feeds);
  s->views = calloc(columns + 1, sizeof(mica_tensor *));
  return s->feeds && s->views ? MICA_OK : mica__fail_nomem("stages");
}

mica_status mica__stages_create(mica_trainer *t) {
  mica__cut_points points = {0};
  MICA_TRY(check(&t->config));
  mica__stages *s = t->stages = calloc(1, sizeof *s);
  if (!s) return mica__fail_nomem("stages");
  s->count = t->config.stages.count;
  s->micro = t->config.stages.micro_batches;
  s->parameters = mica_nn_parameter_count(t->training.nn);
  s->holders = calloc(s->parameters + 1, sizeof *s->holders);
  if (!s->holders) return mica__fail_nomem("stages");
  MICA_TRY(make_groups(t, s));
  MICA_TRY(make_room(t, s));
  mica_status status = find_points(t, &points);
  if (status == MICA_OK) status = cut(t, s, &points);
  mica__cut_points_free(&points);
  if (status == MICA_OK) status = make_update(t, s);
  return status == MICA_OK ? mica__stages_link(t) : status;
}

void mica__stages_destroy(mica__stages *s) {
  if (!s) return;
  mica_stage_destroy(s->link);
  mica_session_destroy(s->forward);
  mica_session_destroy(s->update);
  mica_nn_destroy(s->nn);
  mica_graph_destroy(s->graph);
  for (size_t k = 0; k < s->shared_count; k++) mica_communicator_destroy(s->shared[k].among);
  mica_communicator_destroy(s->data);
  mica_communicator_destroy(s->pipe);
  free(s->shared);
  free(s->holders);
  free(s->feeds);
  free(s->views);
  free(s);
}
