/* One stage of a pipeline: a run of consecutive layers. The forward session, which the last stage does not have,
 * computes y, the value for the next stage, and the stage keeps only its input x. The backward session computes the
 * layers from x again.
 *
 * A stage that is not the last uses the loss sum(y dy). Its gradient with respect to y is dy, the gradient that the
 * next stage sends. So the gradients and the optimiser work as in any network. */
#include "dist/pipeline.h"

#include "base/clock.h"
#include "base/error.h"
#include "ops/collective/channels.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

typedef struct half {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} half;

struct mica_pipeline {
  mica_pipeline_config config;
  mica_engine *engine;
  mica_queue *queue;
  int32_t stage, stages, first, behind; /* stage and number of stages; this stage has the layers first to behind - 1 */
  mica__type x, y;
  mica__link before;      /* state of the whole chain's graph before the layer `first` */
  half forward, backward; /* the last stage has no forward session */
  mica_stage *stage_of;
  mica_tensor *first_x, *target, *rate; /* first_x: in the first stage; target: in the last; rate: the learning rate */
  bool learns;                          /* the stage has weights */
  int64_t runs;                         /* number of backward passes; it is the network's step */
  const char *inputs, *targets;         /* of the current step */
  double loss, seconds;
};

static bool is_first(const mica_pipeline *p) { return p->stage == 0; }
static bool is_last(const mica_pipeline *p) { return p->stage == p->stages - 1; }

/* --- graphs --- */

static mica_status status_of(const mica_graph *graph) {
  mica_status status = mica_graph_status(graph);
  return status == MICA_OK ? MICA_OK : mica__fail(status, "%s", mica_graph_message(graph));
}

/* Builds the stage's layers on x. Random numbers depend on the number of values in the graph, so unused values are
 * added in place of earlier layers. Both halves then draw the same numbers as a single process. */
static mica_status begin_half(mica_pipeline *p, half *h, mica_value *x, mica_value *y) {
  const mica_chain *chain = &p->config.chain;
  MICA_TRY(mica_graph_create(&h->graph));
  const mica_nn_config how = {.training = true, .seed = p->config.seed, .draws = p->before.draws};
  MICA_TRY(mica_nn_create(h->graph, &how, &h->nn));
  *x = mica_input(h->graph, "x", p->x.dtype, p->x.shape);
  if (p->before.steps) mica_nn_step(h->nn);
  while (h->graph->count < p->before.values && mica_graph_status(h->graph) == MICA_OK)
    mica_scalar(h->graph, MICA_F32, 0);
  *y = *x;
  for (int32_t i = p->first; i < p->behind; i++) *y = chain->layer(chain->user, h->nn, i, *y);
  return status_of(h->graph);
}

/* Sums in f32, so a stage's loss is f32 for every type of y. */
static mica_value product_sum(mica_value y, mica_value dy) {
  mica_value both = mica_mul(mica_cast(y, MICA_F32), mica_cast(dy, MICA_F32));
  return mica_sum(both, MICA_ALL_AXES, false);
}

static mica_status make_backward(mica_pipeline *p) {
  half *h = &p->backward;
  const mica_chain *chain = &p->config.chain;
  mica_optimizer_config how = p->config.optimizer;
  mica_value x, y, dx = {0}, loss, outputs[2];
  MICA_TRY(begin_half(p, h, &x, &y));
  if (is_last(p))
    loss = chain->loss(chain->user, h->nn, y, mica_input(h->graph, "dy", p->config.target_dtype, p->config.target));
  else
    loss = product_sum(y, mica_input(h->graph, "dy", p->y.dtype, p->y.shape));
  how.accumulate = p->config.micro_batches;
  if (!is_first(p)) {
    how.others = &x;
    how.other_gradients = &dx;
    how.other_count = 1;
  }
  p->learns = mica_nn_element_count(h->nn, true) > 0;
  if (p->learns)
    mica_optimize(h->nn, loss, &how, NULL);
  else if (!is_first(p))
    MICA_TRY(mica_gradients(loss, &x, 1, &dx));
  MICA_TRY(status_of(h->graph));
  outputs[0] = loss;
  outputs[1] = dx;
  MICA_TRY(mica_session_create(p->engine, h->graph, outputs, is_first(p) ? 1 : 2, NULL, &h->session));
  return mica_nn_initialise(h->nn, h->session);
}

/* Makes the forward half, which shares the weights of the backward half. It has its own copies of the parameters that a
 * pass changes: the running statistics and the step number. Forward passes run ahead of backward passes, so the two
 * halves must not share these. */
static mica_status make_forward(mica_pipeline *p) {
  half *h = &p->forward;
  mica_value x, y;
  if (is_last(p)) return MICA_OK;
  MICA_TRY(begin_half(p, h, &x, &y));
  const size_t count = mica_nn_parameter_count(h->nn);
  mica_binding *own = calloc(count + 1, sizeof *own);
  if (!own) return mica__fail_nomem("a pipeline");
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(h->nn, i);
    if (info->role != MICA_NN_ROLE_WEIGHT) own[n++].name = info->name;
  }
  const mica_session_config config = {.share = p->backward.session, .parameters = own, .parameter_count = n};
  mica_status status = mica_session_create(p->engine, h->graph, &y, 1, &config, &h->session);
  free(own);
  return status;
}

/* --- passes --- */

static mica_status take_input(mica_pipeline *p, int32_t m, const mica_tensor **x) {
  if (!is_first(p)) return MICA_OK;
  const size_t bytes = mica_tensor_bytes(p->first_x);
  *x = p->first_x;
  return mica_tensor_upload(p->queue, p->first_x, p->inputs + (size_t)m * bytes, bytes);
}

static mica_status pass_forward(void *user, int32_t m, const mica_tensor *x, const mica_tensor **y) {
  mica_pipeline *p = user;
  MICA_TRY(take_input(p, m, &x));
  const int64_t step = p->runs - p->runs % p->config.micro_batches + m;
  mica_tensor *count = mica_session_parameter(p->forward.session, "step");
  if (count) MICA_TRY(mica_tensor_upload(p->queue, count, &step, sizeof step));
  MICA_TRY(mica_session_run(p->forward.session, p->queue, &(mica_feed){"x", x}, 1));
  *y = mica_session_output(p->forward.session, 0);
  return MICA_OK;
}

static mica_status pass_backward(void *user, int32_t m, const mica_tensor *x, const mica_tensor *dy,
                                 const mica_tensor **dx) {
  mica_pipeline *p = user;
  float value = 0;
  MICA_TRY(take_input(p, m, &x));
  if (is_last(p)) {
    const size_t bytes = mica_tensor_bytes(p->target);
    MICA_TRY(mica_tensor_upload(p->queue, p->target, p->targets + (size_t)m * bytes, bytes));
  }
  const mica_feed feeds[] = {{"x", x}, {"dy", is_last(p) ? p->target : dy}, {MICA_LEARNING_RATE, p->rate}};
  MICA_TRY(mica_session_run(p->backward.session, p->queue, feeds, p->learns ? 3 : 2));
  p->runs++;
  *dx = is_first(p) ? NULL : mica_session_output(p->backward.session, 1);
  if (!is_last(p)) return MICA_OK;
  MICA_TRY(mica_tensor_download(p->queue, mica_session_output(p->backward.session, 0), &value, sizeof value));
  p->loss += (double)value / p->config.micro_batches;
  return MICA_OK;
}

/* --- creation --- */

static mica_status check(const mica_pipeline_config *c) {
  const mica_optimizer_config *o = &c->optimizer;
  const mica_communicator *m = c->communicator;
  if (!m || !c->chain.layer || !c->chain.loss)
    return mica__fail(MICA_E_INVALID, "mica_pipeline_create: communicator, layer or loss is NULL");
  if (c->chain.layers < m->ranks)
    return mica__fail(MICA_E_INVALID, "a pipeline of %d stages needs a layer for each stage, but the chain has %d",
                      (int)m->ranks, (int)c->chain.layers);
  if (c->micro_batches < 1)
    return mica__fail(MICA_E_INVALID, "a pipeline's step cannot have %d micro-batches; give it at least 1",
                      (int)c->micro_batches);
  if (o->clip_norm != 0 || o->loss_scale != 0 || o->communicator)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "the optimizer's clip_norm, loss_scale and communicator need the gradients of all stages; leave them out in a "
        "pipeline");
  for (int32_t k = 0; c->cuts && k < m->ranks; k++)
    if (c->cuts[0] != 0 || c->cuts[k + 1] <= c->cuts[k] || c->cuts[m->ranks] != c->chain.layers)
      return mica__fail(MICA_E_INVALID, "a pipeline's cuts must rise from 0 to its %d layers", (int)c->chain.layers);
  return MICA_OK;
}

/* Chooses the stage's layers, and reads the types of its input and output. */
static mica_status take_layers(mica_pipeline *p) {
  const int32_t layers = p->config.chain.layers;
  mica__link *links = calloc((size_t)layers + 1, sizeof *links);
  int32_t *cuts = calloc((size_t)p->stages + 1, sizeof *cuts);
  mica_status status = links && cuts ? MICA_OK : mica__fail_nomem("a pipeline");
  if (status == MICA_OK) status = mica__chain_measure(&p->config, links);
  if (status == MICA_OK && p->config.cuts)
    memcpy(cuts, p->config.cuts, ((size_t)p->stages + 1) * sizeof *cuts);
  else if (status == MICA_OK)
    status = mica__chain_cut(links, layers, p->stages, cuts);
  if (status == MICA_OK) {
    p->first = cuts[p->stage];
    p->behind = cuts[p->stage + 1];
    p->x = links[p->first].type;
    p->y = links[p->behind].type;
    p->before = links[p->first];
  }
  free(links);
  free(cuts);
  p->config.cuts = NULL;
  return status;
}

static mica_status make_memory(mica_pipeline *p) {
  const mica_pipeline_config *c = &p->config;
  if (is_first(p)) MICA_TRY(mica_tensor_create(p->engine, p->x.dtype, p->x.shape, &p->first_x));
  if (is_last(p)) MICA_TRY(mica_tensor_create(p->engine, c->target_dtype, c->target, &p->target));
  MICA_TRY(mica_tensor_create(p->engine, MICA_F32, MICA_SCALAR, &p->rate));
  const mica_stage_config config = {.communicator = c->communicator,
                                    .schedule = c->schedule,
                                    .micro_batches = c->micro_batches,
                                    .x = p->x.dtype,
                                    .y = p->y.dtype,
                                    .forward = pass_forward,
                                    .backward = pass_backward,
                                    .user = p};
  return mica_stage_create(p->engine, &config, &p->stage_of);
}

mica_status mica_pipeline_create(mica_engine *engine, const mica_pipeline_config *config, mica_pipeline **pipeline) {
  if (!engine || !config || !pipeline) return mica__fail(MICA_E_INVALID, "mica_pipeline_create: a pointer is NULL");
  MICA_TRY(check(config));
  mica_pipeline *p = calloc(1, sizeof *p);
  if (!p) return mica__fail_nomem("a pipeline");
  p->config = *config;
  p->engine = engine;
  p->queue = mica_engine_queue(engine);
  p->stage = config->communicator->rank;
  p->stages = config->communicator->ranks;
  mica_status status = take_layers(p);
  if (status == MICA_OK) status = make_backward(p);
  if (status == MICA_OK) status = make_forward(p);
  if (status == MICA_OK) status = make_memory(p);
  if (status == MICA_OK)
    *pipeline = p;
  else
    mica_pipeline_destroy(p);
  return status;
}

static void drop_half(half *h) {
  mica_session_destroy(h->session);
  mica_nn_destroy(h->nn);
  mica_graph_destroy(h->graph);
}

void mica_pipeline_destroy(mica_pipeline *p) {
  if (!p) return;
  drop_half(&p->forward);
  drop_half(&p->backward);
  mica_stage_destroy(p->stage_of);
  mica_tensor_destroy(p->first_x);
  mica_tensor_destroy(p->target);
  mica_tensor_destroy(p->rate);
  free(p);
}

/* --- a step --- */

static mica_status run_step(mica_pipeline *p, double rate, double *loss) {
  const float r = (float)rate;
  p->loss = 0;
  MICA_TRY(mica_tensor_upload(p->queue, p->rate, &r, sizeof r));
  MICA_TRY(mica_stage_run(p->stage_of));
  const mica_transfer all = {.kind = MICA_COLLECTIVE_BROADCAST,
                             .channel = MICA__CHANNEL_SAVING,
                             .peer = p->stages - 1,
                             .dtype = MICA_F64,
                             .data = &p->loss,
                             .count = 1};
  MICA_TRY(mica_communicator_run(p->config.communicator, &all));
  *loss = p->loss;
  return mica_queue_finish(p->queue);
}

mica_status mica_pipeline_step(mica_pipeline *p, const void *inputs, const void *targets, double rate, double *loss) {
  if (!p || !loss || (is_first(p) && !inputs) || (is_last(p) && !targets))
    return mica__fail(MICA_E_INVALID, "mica_pipeline_step: a pointer is NULL");
  const double from = mica__clock();
  p->inputs = inputs;
  p->targets = targets;
  mica_status status = run_step(p, rate, loss);
  p->seconds += mica__clock() - from;
  if (status != MICA_OK) mica_communicator_abort(p->config.communicator, mica_error_message());
  return status;
}

/* --- queries --- */

mica_pipeline_stats mica_pipeline_stats_of(const mica_pipeline *p) {
  mica_pipeline_stats stats = mica_stage_stats_of(p->stage_of);
  stats.seconds = p->seconds;
  return stats;
}

void mica_pipeline_layers(const mica_pipeline *p, int32_t *first, int32_t *behind) {
  *first = p->first;
  *behind = p->behind;
}

const mica_nn *mica_pipeline_network(const mica_pipeline *p) { return p->backward.nn; }

mica_session *mica_pipeline_session(const mica_pipeline *p) { return p->backward.session; }

mica_communicator *mica__pipeline_communicator(const mica_pipeline *p) { return p->config.communicator; }

mica_queue *mica__pipeline_queue(const mica_pipeline *p) { return p->queue; }
