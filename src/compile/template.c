#include "compile/template.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

void mica__template_free(mica__template *template) {
  mica_graph_destroy(template->graph);
  free(template->outputs);
  free(template->assignments);
  *template = (mica__template){0};
}

mica__access mica__template_look(const mica_graph *graph, int32_t id, int32_t *base) {
  const mica__node *node = mica__graph_node(graph, id);
  mica_shape space = node->type.shape;
  mica__access access = mica__access_row_major(space), inner, both;
  while (node->op->kind == MICA__OP_VIEW) {
    mica_shape of = mica__graph_node(graph, node->inputs[0])->type.shape;
    if (!node->op->view(node, of, &inner)) break;
    if (!mica__access_compose(space, &access, node->type.shape, &inner, &both)) break;
    access = both;
    id = node->inputs[0];
    node = mica__graph_node(graph, id);
  }
  *base = id;
  return access;
}

/* Marks what outputs and assignments need. Inputs come before their users, so one backward sweep is enough. Inputs of
 * the graph are always kept, so that feeding an unneeded one is not an error. */
static void mark_needed(const mica_graph *graph, const mica_value *outputs, size_t output_count, bool *needed) {
  for (size_t i = 0; i < output_count; i++) needed[outputs[i].id - 1] = true;
  for (int32_t id = 1; id <= graph->count; id++) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->assigned) needed[id - 1] = needed[node->assigned - 1] = true;
  }
  for (int32_t id = graph->count; id >= 1; id--) {
    const mica__node *node = mica__graph_node(graph, id);
    if (node->op == &mica__op_input) needed[id - 1] = true;
    for (int32_t k = 0; needed[id - 1] && k < node->input_count; k++) needed[node->inputs[k] - 1] = true;
  }
}

/* A node's further results are copied with the node. */
mica_status mica__template_copy_node(const mica_graph *graph, int32_t id, int32_t *map, mica_graph *out) {
  const mica__node *node = mica__graph_node(graph, id);
  mica__type types[MICA__MAX_RESULTS];
  bool whole = node->op != &mica__op_result;
  for (int32_t r = 0; whole && r < mica__node_results(node); r++) types[r] = node[r].type;
  if (whole) map[id - 1] = mica__graph_put(out, node->op, node->inputs, node->input_count, node->attrs, types);
  if (!map[id - 1]) return out->status;
  mica__node *made = mica__graph_node(out, map[id - 1]);
  for (int32_t k = 0; k < node->input_count; k++) made->inputs[k] = map[node->inputs[k] - 1];
  for (int32_t r = 1; whole && r < mica__node_results(node); r++) map[id - 1 + r] = map[id - 1] + r;
  made->checkpoint = node->checkpoint;
  made->pass = node->pass;
  made->name = mica__strdup(node->name);
  if (node->name && !made->name) return mica__fail_nomem("a name");
  MICA_TRY(mica__mark_copy(node, map, made));
  if (!node->data) return MICA_OK;
  size_t bytes = mica__node_bytes(node);
  made->data = malloc(bytes + 1);
  if (!made->data) return mica__fail_nomem("a constant");
  memcpy(made->data, node->data, bytes);
  return MICA_OK;
}

/* State of a clone, by id - 1. needed: the nodes to copy; scaled: the products that a launch computes
 * (mica__template_find_scaled); map: the ids in the copy. */
typedef struct cloning {
  const mica_graph *graph;
  bool *needed;
  int32_t *scaled, *map;
} cloning;

static mica_status clone_node(const cloning *c, int32_t id, mica_graph *out) {
  int32_t launch = c->scaled[id - 1];
  return launch ? mica__template_put_scaled(c->graph, id, launch - 1, c->map, out, &c->map[id - 1])
                : mica__template_copy_node(c->graph, id, c->map, out);
}

static mica_status clone_into(const cloning *c, const mica_value *outputs, size_t output_count, bool scale_folding,
                              mica__template *template) {
  const mica_graph *graph = c->graph;
  MICA_TRY(mica_graph_create(&template->graph));
  template->outputs = calloc(output_count + 1, sizeof *template->outputs);
  template->assignments = calloc((size_t)graph->count + 1, sizeof *template->assignments);
  if (!template->outputs || !template->assignments) return mica__fail_nomem("a session");
  mark_needed(graph, outputs, output_count, c->needed);
  if (scale_folding) MICA_TRY(mica__template_find_scaled(graph, outputs, output_count, c->needed, c->scaled));
  for (int32_t id = 1; id <= graph->count; id++)
    if (c->needed[id - 1]) MICA_TRY(clone_node(c, id, template->graph));
  for (size_t i = 0; i < output_count; i++) template->outputs[template->output_count++] = c->map[outputs[i].id - 1];
  for (int32_t id = 1; id <= graph->count; id++) {
    int32_t assigned = mica__graph_node(graph, id)->assigned;
    if (assigned)
      template->assignments[template->assignment_count++] = (mica__assignment){c->map[id - 1], c->map[assigned - 1]};
  }
  return MICA_OK;
}

mica_status mica__template_clone(const mica_graph *graph, const mica_value *outputs, size_t output_count,
                                 bool scale_folding, mica__template *template) {
  *template = (mica__template){0};
  size_t nodes = (size_t)graph->count + 1;
  cloning c = {.graph = graph,
               .needed = calloc(nodes, sizeof *c.needed),
               .scaled = calloc(nodes, sizeof *c.scaled),
               .map = calloc(nodes, sizeof *c.map)};
  mica_status status = c.needed && c.scaled && c.map ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK) status = clone_into(&c, outputs, output_count, scale_folding, template);
  if (status != MICA_OK) mica__template_free(template);
  free(c.needed);
  free(c.scaled);
  free(c.map);
  return status;
}
