#include "nn/held.h"
#include "nn/nn.h"

#include "base/text.h"
#include "ir/graph.h"

#include <stdlib.h>
#include <string.h>

/* Appends a shape such as "(?, 128)". */
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

/* Counts the elements of the weights among parameters first to last - 1. For a divided weight, counts the parts of all
 * ranks. Leaves out frozen weights if `trained` is true. */
static int64_t whole_elements(const mica_nn *nn, size_t first, size_t last, bool trained) {
  int64_t total = 0;
  for (size_t i = first; i < last; i++) {
    int64_t count = 0;
    const mica__nn_parameter *p = &nn->parameters[i];
    const mica_shape whole =
        mica__nn_held_shape(&p->info.held, mica__division_whole(&p->division, mica_value_shape(p->info.value)));
    if (p->info.role == MICA_NN_ROLE_WEIGHT && !(trained && p->info.frozen) &&
        mica_shape_count(whole, &count) == MICA_OK)
      total += count;
  }
  return total;
}

static void add_layer(mica__text *text, const mica_nn *nn, const mica__nn_layer *layer, double flops) {
  mica__text shape = {0};
  add_shape(&shape, mica_value_shape(layer->result));
  mica__text_addf(text, "%-28s %-14s %-20s %12lld %12.3f\n", layer->name, layer->kind, shape.data ? shape.data : "",
                  (long long)whole_elements(nn, layer->first_parameter, layer->last_parameter, false), flops * 1e-6);
  text->failed |= shape.failed;
  mica__text_free(&shape);
}

/* True if inputs have dynamic dimensions besides the batch: operations are then counted for one step. */
static bool has_steps(const mica_graph *graph) {
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    for (int32_t i = 1; node->op == &mica__op_input && i < node->type.shape.rank; i++)
      if (node->type.shape.dim[i] == MICA_DYNAMIC) return true;
  }
  return false;
}

static mica_status write_summary(mica__text *text, const mica_nn *nn, const mica__type *types) {
  double flops = 0;
  mica__text_addf(text, "%-28s %-14s %-20s %12s %12s\n", "layer", "kind", "result", "parameters", "MFLOP");
  for (size_t i = 0; i < nn->layer_count; i++) {
    const mica__nn_layer *layer = &nn->layers[i];
    double own = 0;
    for (int32_t id = layer->first_node; id <= layer->last_node; id++)
      own += mica__graph_single_flops(nn->graph, id, types);
    add_layer(text, nn, layer, own);
    flops += own;
  }
  const int64_t whole = whole_elements(nn, 0, nn->parameter_count, false), held = mica_nn_element_count(nn, false);
  mica__text_addf(text, "%lld parameters of which %lld are trained", (long long)whole,
                  (long long)whole_elements(nn, 0, nn->parameter_count, true));
  if (held != whole) mica__text_addf(text, " (%lld on this rank)", (long long)held);
  mica__text_addf(text, "; %.3f MFLOP a %s forward%s\n", flops * 1e-6, has_steps(nn->graph) ? "step" : "sample",
                  held != whole ? " on this rank" : "");
  return mica__text_status(text);
}

mica_status mica_nn_summary(const mica_nn *nn, char **out) {
  mica__text text = {0};
  if (!nn || !out) return mica__fail(MICA_E_INVALID, "mica_nn_summary: nn or text is NULL");
  mica__type *types = calloc((size_t)nn->graph->count + 1, sizeof *types);
  mica_status status = types ? mica__graph_single_types(nn->graph, types) : mica__fail_nomem("a summary");
  if (status == MICA_OK) status = write_summary(&text, nn, types);
  free(types);
  if (status == MICA_OK)
    *out = text.data;
  else
    mica__text_free(&text);
  return status;
}
