/* Finds the values that stay the same between runs. */
#include "compile/template.h"

void mica__template_find_invariant(const mica_graph *graph, const bool *written, bool *invariant) {
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    bool source = node->op->kind == MICA__OP_SOURCE;
    const bool again = node->op->transient || mica__is_held(node);
    invariant[id - 1] = !written[id - 1] && !again && (source ? node->op != &mica__op_input : node->input_count > 0);
    for (int32_t k = 0; k < node->input_count; k++)
      invariant[id - 1] = invariant[id - 1] && invariant[node->inputs[k] - 1];
    /* A node with several results is invariant only if nothing writes to any of them. */
    for (int32_t r = 1; r < mica__node_results(node); r++)
      invariant[id - 1] = invariant[id - 1] && !written[id - 1 + r];
  }
}
