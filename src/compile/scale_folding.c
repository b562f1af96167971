/* Moves factors of a launch's result into an operand of the launch, if factor and operand stay the same between runs.
 * For example, a convolution's filters are multiplied by the factors of the batch norm after it, and only a bias
 * remains of the norm. The prologue computes the product, so inference computes no such norms. */
#include "compile/template.h"

#include <mica/nodes.h>
#include <stdlib.h>

/* Maximum number of operands of a launch. */
#define MOST_OPERANDS 4

typedef struct search {
  const mica_graph *graph;
  bool *invariant, *output; /* output: written by each run */
  int32_t *uses;            /* by id - 1: number of uses by needed nodes */
} search;

static void look_around(search *s, const mica_value *outputs, size_t output_count, const bool *needed) {
  for (size_t i = 0; i < output_count; i++) s->output[outputs[i].id - 1] = true;
  for (int32_t id = 1; id <= s->graph->count; id++) {
    int32_t assigned = mica__graph_node(s->graph, id)->assigned;
    if (assigned) s->output[id - 1] = s->output[assigned - 1] = true;
  }
  mica__template_find_invariant(s->graph, s->output, s->invariant);
  for (int32_t id = 1; id <= s->graph->count; id++) {
    const mica__node *node = mica__graph_node(s->graph, id);
    for (int32_t k = 0; needed[id - 1] && k < node->input_count; k++) s->uses[node->inputs[k] - 1]++;
  }
}

/* Asks the launch that computes the user's operand k whether it can apply the factor (mica__op.scale). */
static bool asks(const mica_graph *graph, const mica__node *user, int32_t k, int32_t *operand, mica_shape *shape) {
  const mica__node *launch = mica__graph_node(graph, user->inputs[k]);
  const mica__type *other = &mica__graph_node(graph, user->inputs[1 - k])->type;
  mica__epilogue_fusion fusion = {.node = launch, .user = user, .other = other};
  fusion.access = mica__access_broadcast(other->shape, user->type.shape);
  return launch->op->scale(&fusion, operand, shape);
}

/* True if operand k of the user is a launch that can compute the user's result itself, by scaling one of its own
 * operands. The factor and that operand must stay the same between runs, nothing else may use the launch's result, and
 * neither node may belong to a later pass. */
static bool is_scaled(const search *s, const mica__node *user, int32_t k) {
  int32_t id = user->inputs[k], operand = 0;
  const mica__node *launch = mica__graph_node(s->graph, id);
  mica_shape shape;
  if (!launch->op->scale || s->uses[id - 1] != 1 || s->output[id - 1] || launch->pass || user->pass) return false;
  if (launch->input_count > MOST_OPERANDS) return false;
  return s->invariant[user->inputs[1 - k] - 1] && asks(s->graph, user, k, &operand, &shape) &&
         s->invariant[launch->inputs[operand] - 1];
}

mica_status mica__template_find_scaled(const mica_graph *graph, const mica_value *outputs, size_t output_count,
                                       bool *needed, int32_t *scaled) {
  size_t nodes = (size_t)graph->count + 1;
  search s = {.graph = graph,
              .invariant = calloc(nodes, sizeof *s.invariant),
              .output = calloc(nodes, sizeof *s.output),
              .uses = calloc(nodes, sizeof *s.uses)};
  mica_status status = s.invariant && s.output && s.uses ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK) look_around(&s, outputs, output_count, needed);
  for (int32_t id = 1; status == MICA_OK && id <= graph->count; id++) {
    const mica__node *user = mica__graph_node(graph, id);
    if (!needed[id - 1] || user->op->kind != MICA__OP_POINTWISE || user->input_count != 2) continue;
    for (int32_t k = 0; k < 2 && !scaled[id - 1]; k++)
      if (is_scaled(&s, user, k)) scaled[id - 1] = 1 + k;
    if (scaled[id - 1]) needed[user->inputs[scaled[id - 1] - 1] - 1] = false;
  }
  free(s.invariant);
  free(s.output);
  free(s.uses);
  return status;
}

mica_status mica__template_put_scaled(const mica_graph *graph, int32_t id, int32_t launch_operand, const int32_t *map,
                                      mica_graph *out, int32_t *copy) {
  const mica__node *user = mica__graph_node(graph, id);
  const mica__node *launch = mica__graph_node(graph, user->inputs[launch_operand]);
  mica_value inputs[MOST_OPERANDS];
  int32_t operand = 0;
  mica_shape shape = {0};
  asks(graph, user, launch_operand, &operand, &shape);
  for (int32_t k = 0; k < launch->input_count; k++) inputs[k] = (mica_value){out, map[launch->inputs[k] - 1]};
  mica_value factor = mica_reshape((mica_value){out, map[user->inputs[1 - launch_operand] - 1]}, shape);
  inputs[operand] = mica__graph_add(user->op, (mica_value[]){inputs[operand], factor}, 2, user->attrs);
  mica_value made = mica__graph_add(launch->op, inputs, launch->input_count, launch->attrs);
  *copy = made.id;
  return made.graph ? MICA_OK : out->status;
}
