/* How the decoder's last block attends to the source. */
#include "base/error.h"
#include "networks/translation.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdio.h>
#include <string.h>

/* Records the outputs of the block's query and key-value projections, which the network's hook receives while the
 * network is built. */
typedef struct projections {
  /* The translator's configuration. If it has a hook, `note` calls that hook first, because a quantised network needs
   * it to build its layers. */
  const mica_nn_config *nn;
  char q_name[80], kv_name[80];
  mica_value q, kv; /* (1, T, C), (1, S, 2 C) */
} projections;

static mica_value note(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value) {
  projections *p = user;
  if (p->nn->hook) value = p->nn->hook(p->nn->hook_user, nn, point, layer, value);
  if (point == MICA_NN_POINT_RESULT && !strcmp(layer, p->q_name)) p->q = value;
  if (point == MICA_NN_POINT_RESULT && !strcmp(layer, p->kv_name)) p->kv = value;
  return value;
}

/* Runs the network on a pair, and averages softmax(q k / sqrt(D)) over the heads: (T, S). */
static mica_value build(mica_nn *nn, const mica_model_config *c, const projections *p, int64_t sources,
                        int64_t targets) {
  mica_graph *graph = mica_nn_graph(nn);
  const int64_t size = c->width / c->sequence.heads;
  mica_value memory = mica_translator_encode(nn, mica_input(graph, "source", MICA_I32, MICA_SHAPE(1, sources)), c);
  mica_value target = mica_input(graph, "target", MICA_I32, MICA_SHAPE(1, targets));
  mica_value logits = mica_translator_decode(nn, target, memory, (mica_value){0}, c);
  if (mica_value_is_null(logits) || mica_value_is_null(p->q) || mica_value_is_null(p->kv)) return (mica_value){0};
  /* A pruned network has fewer heads. */
  const int64_t heads = mica_value_shape(p->q).dim[2] / size;
  mica_value q = mica_reshape(mica_cast(p->q, MICA_F32), MICA_SHAPE(targets, heads, size));
  mica_value k = mica_slice(mica_cast(p->kv, MICA_F32), 2, 0, heads * size, 1);
  k = mica_reshape(k, MICA_SHAPE(sources, heads, size));
  mica_value scores = mica_matmul(mica_transpose(q, MICA_AXES(1, 0, 2)), mica_transpose(k, MICA_AXES(1, 2, 0)));
  mica_value weights = mica_softmax(mica_affine(scores, 1 / sqrt((double)size), 0), 2);
  return mica_mean(weights, MICA_AXES(0), false);
}

static mica_status run_pair(mica_engine *engine, mica_session *session, const int32_t *source, int64_t sources,
                            const int32_t *target, int64_t targets, float *weights) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_tensor *in = NULL, *out = NULL;
  mica_status status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(1, sources), source, &in);
  if (status == MICA_OK) status = mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(1, targets), target, &out);
  const mica_feed feeds[] = {{"source", in}, {"target", out}};
  if (status == MICA_OK) status = mica_session_run(session, queue, feeds, 2);
  if (status == MICA_OK)
    status = mica_tensor_download(queue, mica_session_output(session, 0), weights,
                                  (size_t)(sources * targets) * sizeof *weights);
  mica_tensor_destroy(in);
  mica_tensor_destroy(out);
  return status;
}

mica_status mica__translator_attend(const mica__translator *t, const int32_t *source, int64_t sources,
                                    const int32_t *target, int64_t targets, float *weights) {
  const mica_session_config config = {.share = t->share};
  const long long last = (long long)t->network.sequence.layers - 1;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  projections p = {.nn = &t->nn};
  snprintf(p.q_name, sizeof p.q_name, "decoder.layers.%lld.multihead_attn.q_proj", last);
  snprintf(p.kv_name, sizeof p.kv_name, "decoder.layers.%lld.multihead_attn.kv_proj", last);
  mica_nn_config how = t->nn;
  how.hook = note, how.hook_user = &p;
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) status = mica_nn_create(graph, &how, &nn);
  mica_value made = {0};
  if (status == MICA_OK) made = build(nn, &t->network, &p, sources, targets);
  if (status == MICA_OK && mica_value_is_null(made))
    status = mica__fail(MICA_E_STATE, "attention cannot be shown: %s", mica_graph_message(graph));
  if (status == MICA_OK) status = mica_session_create(t->engine, graph, &made, 1, &config, &session);
  if (status == MICA_OK) status = run_pair(t->engine, session, source, sources, target, targets, weights);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}
