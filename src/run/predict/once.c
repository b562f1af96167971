/* Builds a graph that has the weights of a run, runs it once and destroys it. */
#include "run/predict/once.h"
#include "nn/nn.h"
#include "run/network.h"
#include "run/run.h"

#include <mica/nodes.h>

typedef struct graph {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *tensors[MICA__ONCE_INPUTS];
} graph;

static void free_graph(graph *g) {
  for (int i = 0; i < MICA__ONCE_INPUTS; i++) mica_tensor_destroy(g->tensors[i]);
  mica_session_destroy(g->session);
  mica_nn_destroy(g->nn);
  mica_graph_destroy(g->graph);
}

static mica_status make(mica_run *run, const mica__once_input *inputs, size_t count, mica__once_fn *build, void *user,
                        graph *g) {
  const mica_nn_config building = mica__run_building(run);
  const mica_session_config config = {.share = mica_trainer_test_session(run->trainer)};
  mica_value values[MICA__ONCE_INPUTS];
  MICA_TRY(mica_graph_create(&g->graph));
  MICA_TRY(mica_nn_create(g->graph, &building, &g->nn));
  for (size_t i = 0; i < count; i++) values[i] = mica_input(g->graph, inputs[i].name, inputs[i].dtype, inputs[i].shape);
  mica_value out = build(g->nn, run, values, user);
  if (!out.graph) return mica_graph_status(g->graph);
  if (mica_value_dtype(out) != MICA_F32) out = mica_cast(out, MICA_F32);
  return mica_session_create(run->engine, g->graph, &out, 1, &config, &g->session);
}

static mica_status compute(mica_run *run, const mica__once_input *inputs, size_t count, graph *g, float *output,
                           int64_t room) {
  mica_queue *queue = mica_engine_queue(run->engine);
  mica_feed feeds[MICA__ONCE_INPUTS];
  for (size_t i = 0; i < count; i++) {
    MICA_TRY(mica_tensor_create_from(run->engine, inputs[i].dtype, inputs[i].shape, inputs[i].data, &g->tensors[i]));
    feeds[i] = (mica_feed){inputs[i].name, g->tensors[i]};
  }
  MICA_TRY(mica_session_run(g->session, queue, feeds, count));
  const mica_tensor *result = mica_session_output(g->session, 0);
  if (mica_tensor_count(result) != room)
    return mica__fail(MICA_E_STATE, "the network computes %lld numbers, but %lld were expected (an error in Mica)",
                      (long long)mica_tensor_count(result), (long long)room);
  return mica_tensor_download(queue, result, output, mica_tensor_bytes(result));
}

mica_status mica__run_once(mica_run *run, const mica__once_input *inputs, size_t inputs_count, mica__once_fn *build,
                           void *user, float *output, int64_t count) {
  graph g = {0};
  if (inputs_count > MICA__ONCE_INPUTS)
    return mica__fail(MICA_E_STATE, "the network has %zu inputs, but may have at most %d (an error in Mica)",
                      inputs_count, MICA__ONCE_INPUTS);
  mica_status status = make(run, inputs, inputs_count, build, user, &g);
  if (status == MICA_OK) status = compute(run, inputs, inputs_count, &g, output, count);
  free_graph(&g);
  return status;
}
