#include "nn/nn.h"

#include "base/text.h"
#include "ir/graph.h"

#include <stdlib.h>
#include <string.h>

/* Adds a shape such as "(?, 128)". */
static void add_shape(mica__text *text, mica_shape shape) {
  mica__text_add(text, "(");
  for (int32_t i = 0; i < shape.rank; i++) {
    mica__text_add(text, i ? ", " : "");
    if (shape.dim[i] == MICA_DYNAMIC)
      mica__text_add(text, "?");
    else
      mica__text_addf(text, "%lld", (long long)shape.dim[i]);
  }
  mica__text_add(text, ")");
}

static int64_t elements_of(const mica_nn *nn, const mica__nn_layer *layer) {
  int64_t total = 0;
  for (size_t i = layer->first_parameter; i < layer->last_parameter; i++) {
    int64_t count = 0;
    const mica_nn_parameter_info *info = &nn->parameters[i].info;
    if (info->role == MICA_NN_ROLE_WEIGHT && mica_shape_count(mica_value_shape(info->value), &count) == MICA_OK)
      total += count;
  }
  return total;
}

mica_status mica_nn_summary(const mica_nn *nn, char **out) {
  mica__text text = {0};
  double flops = 0;
  int64_t trained = 0;
  if (!nn || !out) return mica__fail(MICA_E_INVALID, "mica_nn_summary: a pointer is NULL");
  mica__text_addf(&text, "%-28s %-14s %-20s %12s %12s\n", "layer", "kind", "result", "parameters", "MFLOP");
  for (size_t i = 0; i < nn->layer_count; i++) {
    const mica__nn_layer *layer = &nn->layers[i];
    mica__text shape = {0};
    double own = 0;
    for (int32_t id = layer->first_node; id <= layer->last_node; id++) own += mica__graph_flops(nn->graph, id);
    add_shape(&shape, mica_value_shape(layer->result));
    mica__text_addf(&text, "%-28s %-14s %-20s %12lld %12.3f\n", layer->name, layer->kind, shape.data ? shape.data : "",
                    (long long)elements_of(nn, layer), own * 1e-6);
    text.failed |= shape.failed;
    mica__text_free(&shape);
    flops += own;
  }
  trained = mica_nn_element_count(nn, true);
  mica__text_addf(&text, "%lld parameters of which %lld are trained; %.3f MFLOP a sample forward\n",
                  (long long)mica_nn_element_count(nn, false), (long long)trained, flops * 1e-6);
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK)
    *out = text.data;
  else
    mica__text_free(&text);
  return status;
}
