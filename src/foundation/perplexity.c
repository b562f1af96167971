/* Perplexity of a text: the loss of every token of consecutive windows. The device computes losses in f32; sums are
 * f64. */
#include "foundation/model.h"

#include <inttypes.h>
#include <math.h>
#include <mica/device.h>
#include <mica/nodes.h>
#include <stdlib.h>

#define STANDARD_WINDOW 512

/* A session that gives a loss per position of a window, and its inputs on the device and on the host. */
typedef struct scorer {
  mica_engine *engine;
  mica_graph *graph;
  mica_nn *nn;
  mica_bindings *bindings;
  mica_session *session;
  mica_tensor *ids, *targets;
  int32_t *host; /* ids of a window */
  float *losses;
  int64_t window;
} scorer;

static void free_scorer(scorer *s) {
  mica_session_destroy(s->session);
  mica_bindings_destroy(s->bindings);
  mica_nn_destroy(s->nn);
  mica_graph_destroy(s->graph);
  mica_tensor_destroy(s->ids);
  mica_tensor_destroy(s->targets);
  free(s->host);
  free(s->losses);
}

static mica_status make_scorer(const mica_foundation *model, scorer *s) {
  const int64_t length = s->window;
  s->host = calloc((size_t)length, sizeof *s->host);
  s->losses = calloc((size_t)length, sizeof *s->losses);
  if (!s->host || !s->losses) return mica__fail_nomem("a window");
  MICA_TRY(mica_graph_create(&s->graph));
  mica_nn_config hold = {0};
  mica_foundation_hold(model, &hold);
  MICA_TRY(mica_nn_create(s->graph, &hold, &s->nn));
  const mica_foundation_build how = {.ids = mica_input(s->graph, "ids", MICA_I32, MICA_SHAPE(1, length))};
  const mica_value logits = mica_foundation_network(s->nn, model, &how),
                   rows = mica_reshape(logits, MICA_SHAPE(length, model->info.vocabulary)),
                   targets = mica_input(s->graph, "targets", MICA_I32, MICA_SHAPE(length));
  const mica_value losses =
      mica_cross_entropy(rows, targets, &(mica_cross_entropy_config){.reduction = MICA_LOSS_REDUCTION_NONE});
  mica_session_config config = {0};
  if (!mica_value_is_null(losses)) MICA_TRY(mica_foundation_bind(model, s->nn, s->engine, &s->bindings));
  config.parameters = mica_bindings_list(s->bindings, &config.parameter_count);
  MICA_TRY(mica_session_create(s->engine, s->graph, &losses, 1, &config, &s->session));
  MICA_TRY(mica_foundation_load(model, s->nn, s->session));
  MICA_TRY(mica_tensor_create(s->engine, MICA_I32, MICA_SHAPE(1, length), &s->ids));
  return mica_tensor_create(s->engine, MICA_I32, MICA_SHAPE(length), &s->targets);
}

static mica_status upload(scorer *s, mica_tensor *tensor) {
  return mica_tensor_upload(mica_engine_queue(s->engine), tensor, s->host, mica_tensor_bytes(tensor));
}

/* Adds the losses of ids[1] to ids[count - 1]. Positions after a short window do not change those before: attention is
 * causal. */
static mica_status score(scorer *s, const int32_t *ids, int64_t count, mica_perplexity *result) {
  mica_queue *queue = mica_engine_queue(s->engine);
  for (int64_t t = 0; t < s->window; t++) s->host[t] = t < count ? ids[t] : 0;
  MICA_TRY(upload(s, s->ids));
  for (int64_t t = 0; t < s->window; t++) s->host[t] = t + 1 < count ? ids[t + 1] : -1;
  MICA_TRY(upload(s, s->targets));
  MICA_TRY(mica_session_run(s->session, queue, (mica_feed[]){{"ids", s->ids}, {"targets", s->targets}}, 2));
  const mica_tensor *losses = mica_session_output(s->session, 0);
  MICA_TRY(mica_tensor_download(queue, losses, s->losses, mica_tensor_bytes(losses)));
  for (int64_t t = 0; t + 1 < count; t++) result->nll += (double)s->losses[t];
  result->tokens += count - 1;
  return MICA_OK;
}

static mica_status check(const mica_foundation *model, const int32_t *ids, size_t count,
                         const mica_perplexity_config *config, int64_t *window) {
  const int64_t context = mica_foundation_context(model), vocabulary = model->info.vocabulary;
  *window = config && config->window ? config->window : STANDARD_WINDOW < context ? STANDARD_WINDOW : context;
  if (*window < 2 || *window > context)
    return mica__fail(MICA_E_INVALID,
                      "mica_foundation_perplexity: a window of %" PRId64 " tokens; the model has 2 to %" PRId64,
                      *window, context);
  if (count < 2 || count > INT64_MAX)
    return mica__fail(MICA_E_INVALID,
                      "mica_foundation_perplexity: %zu tokens; the second is the first that has a score", count);
  for (size_t t = 0; t < count; t++)
    if (ids[t] < 0 || ids[t] >= vocabulary)
      return mica__fail(MICA_E_INVALID, "mica_foundation_perplexity: token %zu is %d; the vocabulary has %" PRId64, t,
                        (int)ids[t], vocabulary);
  if ((uint64_t)*window > count) *window = (int64_t)count;
  return MICA_OK;
}

mica_status mica_foundation_perplexity(mica_engine *engine, const mica_foundation *model, const int32_t *ids,
                                       size_t count, const mica_perplexity_config *config, mica_perplexity *result) {
  if (!engine || !model || !ids || !result)
    return mica__fail(MICA_E_INVALID, "mica_foundation_perplexity: a pointer is NULL");
  scorer s = {.engine = engine};
  mica_perplexity sum = {0};
  MICA_TRY(check(model, ids, count, config, &s.window));
  mica_status status = make_scorer(model, &s);
  for (size_t at = 0, size; status == MICA_OK && at + 1 < count; at += size) {
    size = count - at < (size_t)s.window ? count - at : (size_t)s.window;
    status = score(&s, ids + at, (int64_t)size, &sum);
  }
  free_scorer(&s);
  if (status != MICA_OK) return status;
  sum.window = s.window;
  sum.perplexity = exp(sum.nll / (double)sum.tokens);
  *result = sum;
  return MICA_OK;
}
