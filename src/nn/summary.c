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

static mica__type closed(mica__type type) {
  for (int32_t i = 0; i < type.shape.rank; i++)
    if (type.shape.dim[i] == MICA_DYNAMIC) type.shape.dim[i] = 1;
  return type;
}

/* The flops that the op states, or one an element if it states none. */
static double flops_of(const mica_graph *graph, int32_t id) {
  mica__node node = *mica__graph_node(graph, id);
  mica__type types[8];
  int64_t count = 0;
  bool works = node.op->kind == MICA__OP_POINTWISE || node.op->kind == MICA__OP_REDUCE;
  node.type = closed(node.type);
  for (int32_t k = 0; k < node.input_count && k < 8; k++)
    types[k] = closed(mica__graph_node(graph, node.inputs[k])->type);
  if (node.op->flops && node.input_count <= 8) return node.op->flops(&node, types);
  if (!works || mica_shape_count(node.type.shape, &count) != MICA_OK) return 0;
  return (double)count;
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
    for (int32_t id = layer->first_node; id <= layer->last_node; id++) own += flops_of(nn->graph, id);
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
