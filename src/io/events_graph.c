/* Writes a graph to an event file: GraphDef with a NodeDef per node. */
#include "io/events.h"
#include "ir/graph.h"

#include <string.h>

/* Appends a parameter's name with '/' in place of '.', because TensorBoard draws scopes that are separated by '/' as
 * boxes. "layer1.0.weight" becomes "layer1/0/weight". */
static void add_scoped(mica__text *out, const char *name, size_t n) {
  for (size_t i = 0; i < n; i++) mica__text_add_bytes(out, name[i] == '.' ? "/" : name + i, 1);
}

static void add_name(mica__text *out, const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  if (node->op->kind == MICA__OP_SOURCE && node->name) {
    add_scoped(out, node->name, strlen(node->name));
    return;
  }
  for (int32_t i = 0; i < node->input_count; i++) {
    const mica__node *input = mica__graph_node(graph, node->inputs[i]);
    const char *dot = input->op == &mica__op_parameter && input->name ? strrchr(input->name, '.') : NULL;
    if (!dot) continue;
    add_scoped(out, input->name, (size_t)(dot + 1 - input->name));
    break;
  }
  mica__text_addf(out, "%s_%d", node->op->name, (int)id);
}

/* Adds an AttrValue with a list of one shape, which TensorBoard shows at edges. -1: an open dimension. */
static void add_shape(mica__text *out, const mica__node *node) {
  mica__text attr = {0}, list = {0}, shape = {0}, value = {0};
  for (int32_t d = 0; d < node->type.shape.rank; d++) {
    mica__text dim = {0};
    const int64_t size = node->type.shape.dim[d];
    mica__proto_number(&dim, 1, (uint64_t)(size == MICA_DYNAMIC ? -1 : size));
    mica__proto_message(&shape, 2, &dim);
  }
  mica__proto_message(&list, 7, &shape); /* ListValue.shape */
  mica__proto_message(&value, 1, &list); /* AttrValue.list */
  mica__proto_bytes(&attr, 1, "_output_shapes", 14);
  mica__proto_message(&attr, 2, &value);
  mica__proto_message(out, 5, &attr); /* NodeDef.attr */
}

static void add_node(mica__text *out, const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  mica__text def = {0}, name = {0};
  add_name(&name, graph, id);
  mica__proto_message(&def, 1, &name);
  mica__proto_bytes(&def, 2, node->op->name, strlen(node->op->name));
  for (int32_t i = 0; i < node->input_count; i++) {
    const mica__node *input = mica__graph_node(graph, node->inputs[i]);
    mica__text from = {0};
    add_name(&from, graph, input->result ? node->inputs[i] - input->result : node->inputs[i]);
    if (input->result) mica__text_addf(&from, ":%d", (int)input->result);
    mica__proto_message(&def, 3, &from);
  }
  add_shape(&def, node);
  mica__proto_message(out, 1, &def); /* GraphDef.node */
}

mica_status mica_events_graph(mica_events *events, const mica_graph *graph) {
  mica__text def = {0}, versions = {0};
  if (!events || !graph) return mica__fail(MICA_E_INVALID, "mica_events_graph: events or graph is NULL");
  if (graph->status != MICA_OK) return mica__fail(graph->status, "%s", graph->message);
  for (int32_t id = 1; id <= graph->count && !def.failed; id++)
    if (!mica__graph_node(graph, id)->result) add_node(&def, graph, id);
  mica__proto_number(&versions, 1, 22); /* VersionDef.producer, which readers require */
  mica__proto_message(&def, 4, &versions);
  mica_status status = mica__events_add(events, 0, 4, &def); /* Event.graph_def */
  mica__text_free(&def);
  return status;
}
