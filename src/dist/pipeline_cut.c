/* Cuts a chain of layers into stages, and orders the passes of a stage. */
#include "base/error.h"
#include "dist/pipeline.h"
#include "ir/cut.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

const char *mica_pipeline_schedule_name(mica_pipeline_schedule schedule) {
  switch (schedule) {
#define NAME(name, text)                                                                                               \
  case MICA_PIPELINE_SCHEDULE_##name: return text;
    MICA_PIPELINE_SCHEDULE_LIST(NAME)
#undef NAME
  }
  return "?";
}

mica_status mica_pipeline_order(mica_pipeline_schedule schedule, int32_t stages, int32_t stage, int32_t micro_batches,
                                int32_t *order) {
  if (stages < 1 || stage < 0 || stage >= stages || micro_batches < 1 || !order)
    return mica__fail(
        MICA_E_INVALID,
        "mica_pipeline_order: the stage (%d) must be at least 0 and less than the number of stages (%d), the "
        "number of micro-batches (%d) at least 1, and order not NULL",
        (int)stage, (int)stages, (int)micro_batches);
  /* Number of forward passes before the first backward pass. */
  int32_t ahead = schedule == MICA_PIPELINE_SCHEDULE_GPIPE ? micro_batches : stages - stage;
  if (ahead > micro_batches) ahead = micro_batches;
  int32_t forward = 0, backward = 0;
  while (backward < micro_batches) {
    const bool goes_on = forward < micro_batches && forward - backward < ahead;
    *order++ = goes_on ? ++forward : -++backward;
  }
  return MICA_OK;
}

static bool has_step(const mica_nn *nn) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++)
    if (!strcmp(mica_nn_parameter_at(nn, i)->own_name, "step")) return true;
  return false;
}

static mica_status measure(const mica_pipeline_config *config, mica_nn *nn, mica__link *links) {
  mica_graph *graph = mica_nn_graph(nn);
  const mica_chain *chain = &config->chain;
  mica_value x = mica_input(graph, "x", config->input_dtype, config->input);
  for (int32_t i = 0; i <= chain->layers; i++) {
    MICA_TRY(mica_graph_status(graph) == MICA_OK
                 ? MICA_OK
                 : mica__fail(mica_graph_status(graph), "%s", mica_graph_message(graph)));
    if (mica_value_is_null(x)) return mica__fail(MICA_E_INVALID, "layer %d of a chain returned no value", (int)i - 1);
    links[i] = (mica__link){mica__graph_node(graph, x.id)->type, mica_nn_draws(nn), graph->count, has_step(nn), 0};
    if (mica__shape_is_open(links[i].type.shape))
      return i == chain->layers
                 ? mica__fail(MICA_E_SHAPE, "the output of a chain has a dimension of unknown size")
                 : mica__fail(MICA_E_SHAPE, "the input of layer %d of a chain has a dimension of unknown size", (int)i);
    if (i == chain->layers) break;
    const int32_t before = graph->count;
    x = chain->layer(chain->user, nn, i, x);
    for (int32_t id = before + 1; id <= graph->count; id++) links[i].cost += mica__graph_flops(graph, id);
  }
  return MICA_OK;
}

mica_status mica__chain_measure(const mica_pipeline_config *config, mica__link *links) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  MICA_TRY(mica_graph_create(&graph));
  mica_status status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = config->seed}, &nn);
  if (status == MICA_OK) status = measure(config, nn, links);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return status;
}

mica_status mica__chain_cut(const mica__link *links, int32_t layers, int32_t stages, int32_t *cuts) {
  double *costs = calloc((size_t)layers + 1, sizeof *costs);
  if (!costs) return mica__fail_nomem("a pipeline's cuts");
  for (int32_t i = 0; i < layers; i++) costs[i] = links[i].cost;
  const mica_status status = mica__cut_evenly(costs, layers, stages, cuts);
  free(costs);
  return status;
}
