/* Perplexity of a text: the loss of every token in consecutive windows, except the first token of each window. The
 * losses are computed in f64 on the host from f32 logits, because f32 cross entropy on a device was too low: by 7.4e-6
 * per token on average, for a vocabulary of 49,152. */
#include "foundation/model.h"

#include <inttypes.h>
#include <math.h>
#include <mica/adapter.h>
#include <mica/device.h>
#include <stdlib.h>

#define STANDARD_WINDOW 512

/* A session that computes the logits of each position of a window, and its inputs on the device and the host. */
typedef struct scorer {
  mica_engine *engine;
  mica_graph *graph;
  mica_nn *nn;
  mica_adapter *adapter; /* NULL: none */
  mica_bindings *bindings;
  mica_session *session;
  mica_tensor *ids;
  int32_t *host; /* ids of a window */
  float *logits; /* (window, vocabulary) */
  int64_t window, vocabulary;
} scorer;

static void free_scorer(scorer *s) {
  mica_session_destroy(s->session);
  mica_bindings_destroy(s->bindings);
  mica_nn_destroy(s->nn);
  mica_graph_destroy(s->graph);
  mica_tensor_destroy(s->ids);
  free(s->host);
  free(s->logits);
}

static mica_status make_scorer(const mica_foundation *model, scorer *s) {
  const int64_t length = s->window;
  s->host = calloc((size_t)length, sizeof *s->host);
  s->logits = calloc((size_t)length, (size_t)model->info.vocabulary * sizeof *s->logits);
  if (!s->host || !s->logits) return mica__fail_nomem("a window");
  MICA_TRY(mica_graph_create(&s->graph));
  mica_nn_config hold = {0};
  mica_foundation_hold(model, &hold);
  if (s->adapter) hold.hook = mica_adapter_hook, hold.hook_user = s->adapter;
  MICA_TRY(mica_nn_create(s->graph, &hold, &s->nn));
  const mica_foundation_build how = {.ids = mica_input(s->graph, "ids", MICA_I32, MICA_SHAPE(1, length))};
  const mica_value logits = mica_foundation_network(s->nn, model, &how);
  mica_session_config config = {0};
  if (!mica_value_is_null(logits)) MICA_TRY(mica_foundation_bind(model, s->nn, s->engine, &s->bindings));
  config.parameters = mica_bindings_list(s->bindings, &config.parameter_count);
  MICA_TRY(mica_session_create(s->engine, s->graph, &logits, 1, &config, &s->session));
  MICA_TRY(mica_foundation_load(model, s->nn, s->session));
  if (s->adapter) MICA_TRY(mica_adapter_write_to(s->adapter, s->nn, s->session));
  return mica_tensor_create(s->engine, MICA_I32, MICA_SHAPE(1, length), &s->ids);
}

/* -log softmax(row)[target]. */
static double loss_of(const float *row, int64_t count, int32_t target) {
  float most = row[0];
  double sum = 0;
  for (int64_t v = 1; v < count; v++) most = row[v] > most ? row[v] : most;
  for (int64_t v = 0; v < count; v++) sum += exp((double)row[v] - (double)most);
  return log(sum) + (double)most - (double)row[target];
}

/* Adds the losses of ids[1] to ids[count - 1]. Padding after a short window does not change earlier positions:
 * attention is causal. */
static mica_status score(scorer *s, const int32_t *ids, int64_t count, mica_perplexity *result) {
  mica_queue *queue = mica_engine_queue(s->engine);
  for (int64_t t = 0; t < s->window; t++) s->host[t] = t < count ? ids[t] : 0;
  MICA_TRY(mica_tensor_upload(queue, s->ids, s->host, mica_tensor_bytes(s->ids)));
  MICA_TRY(mica_session_run(s->session, queue, (mica_feed[]){{"ids", s->ids}}, 1));
  const mica_tensor *logits = mica_session_output(s->session, 0);
  MICA_TRY(mica_tensor_download(queue, logits, s->logits, mica_tensor_bytes(logits)));
  for (int64_t t = 0; t + 1 < count; t++)
    result->nll += loss_of(s->logits + t * s->vocabulary, s->vocabulary, ids[t + 1]);
  result->tokens += count - 1;
  return MICA_OK;
}

static mica_status check(const mica_foundation *model, const int32_t *ids, size_t count,
                         const mica_perplexity_config *config, int64_t *window) {
  const int64_t context = mica_foundation_context(model), vocabulary = model->info.vocabulary;
  *window = config && config->window ? config->window : STANDARD_WINDOW < context ? STANDARD_WINDOW : context;
  if (*window < 2 || *window > context)
    return mica__fail(MICA_E_INVALID,
                      "mica_foundation_perplexity: the window is %" PRId64 " tokens, but must be from 2 to %" PRId64,
                      *window, context);
  if (count < 2 || count > INT64_MAX)
    return mica__fail(MICA_E_INVALID, "mica_foundation_perplexity: count is %zu, but must be at least 2", count);
  for (size_t t = 0; t < count; t++)
    if (ids[t] < 0 || ids[t] >= vocabulary)
      return mica__fail(MICA_E_INVALID, "mica_foundation_perplexity: token %zu is %d, but must be from 0 to %" PRId64,
                        t, (int)ids[t], vocabulary - 1);
  if ((uint64_t)*window > count) *window = (int64_t)count;
  return MICA_OK;
}

mica_status mica_foundation_perplexity(mica_engine *engine, const mica_foundation *model, const int32_t *ids,
                                       size_t count, const mica_perplexity_config *config, mica_perplexity *result) {
  if (!engine || !model || !ids || !result)
    return mica__fail(MICA_E_INVALID, "mica_foundation_perplexity: a pointer is NULL");
  if (model->info.task != MICA_FOUNDATION_TASK_GENERATE)
    return mica__fail(MICA_E_UNSUPPORTED, "%s is not a language model that continues texts, so it has no perplexity",
                      model->path);
  scorer s = {.engine = engine, .vocabulary = model->info.vocabulary, .adapter = config ? config->adapter : NULL};
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
