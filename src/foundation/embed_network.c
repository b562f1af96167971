/* What embedders of texts and of pictures share. */
#include "foundation/embed.h"

#include <math.h>

void mica__embed_network_free(mica__embed_network *network) {
  mica_session_destroy(network->session);
  mica_nn_destroy(network->nn);
  mica_graph_destroy(network->graph);
  *network = (mica__embed_network){0};
}

mica_status mica__embed_network_begin(mica__embed_network *network) {
  mica_status status = mica_graph_create(&network->graph);
  if (status == MICA_OK) status = mica_nn_create(network->graph, NULL, &network->nn);
  if (status != MICA_OK) mica__embed_network_free(network);
  return status;
}

mica_status mica__embed_network_finish(const mica_embedder *e, mica__embed_network *network, mica_value vectors) {
  mica_status status = mica_session_create(e->engine, network->graph, &vectors, 1, NULL, &network->session);
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
