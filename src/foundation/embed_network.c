/* Functions that embedders of texts and of pictures share. */
#include "foundation/embed.h"

#include <math.h>

void mica__embed_network_free(mica__embed_network *network) {
  mica_session_destroy(network->session);
  mica_bindings_destroy(network->bindings);
  mica_nn_destroy(network->nn);
  mica_graph_destroy(network->graph);
  *network = (mica__embed_network){0};
}

static bool has_blocks(const mica_foundation *model) {
  const mica_weights *weights = mica_foundation_weights(model);
  for (size_t t = 0; t < mica_weights_count(weights); t++)
    if (mica_weights_at(weights, t)->block != MICA_BLOCK_NONE) return true;
  return false;
}

mica_status mica__embed_network_begin(const mica_embedder *e, mica__embed_network *network) {
  mica_nn_config config = {0};
  mica_status status = mica_graph_create(&network->graph);
  if (has_blocks(e->model)) mica_foundation_hold(e->model, &config);
  if (status == MICA_OK) status = mica_nn_create(network->graph, &config, &network->nn);
  if (status != MICA_OK) mica__embed_network_free(network);
  return status;
}

mica_status mica__embed_network_finish(const mica_embedder *e, mica__embed_network *network, mica_value vectors) {
  mica_session_config config = {0};
  mica_status status = MICA_OK;
  if (!mica_value_is_null(vectors) && has_blocks(e->model))
    status = mica_foundation_bind(e->model, network->nn, e->engine, &network->bindings);
  if (network->bindings) config.parameters = mica_bindings_list(network->bindings, &config.parameter_count);
  if (status == MICA_OK)
    status = mica_session_create(e->engine, network->graph, &vectors, 1, &config, &network->session);
  if (status == MICA_OK) status = mica_foundation_load(e->model, network->nn, network->session);
  if (status != MICA_OK) mica__embed_network_free(network);
  return status;
}

void mica__embed_to_unit(float *vectors, size_t count, int64_t width) {
  for (size_t v = 0; v < count; v++) {
    float *x = vectors + (int64_t)v * width;
    double sum = 0;
    for (int64_t i = 0; i < width; i++) sum += (double)x[i] * (double)x[i];
    for (int64_t i = 0; sum > 0 && i < width; i++) x[i] = (float)((double)x[i] / sqrt(sum));
  }
}
