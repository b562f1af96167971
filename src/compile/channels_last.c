/* Makes copies with channels last values of the graph: one copy serves all convolutions that read the same value. */
#include "compile/template.h"
#include "ops/select/registry.h"
#include "runtime/kernel_desc.h"

#include <mica/device.h>
#include <stdlib.h>

/* Maximum number of operands whose copies are shared: those that an op can name. */
#define MOST_OPERANDS 2

typedef struct sharing {
  const mica_graph *graph;
  mica_graph *out;
  bool *needed;
  uint32_t *takes; /* by id - 1: what take_channels_last returned */
  int32_t *map;    /* by id - 1: the node in out */
  /* by 2 (id - 1): the last copy in out for launches that keep their own, and for those that share (mica__op.lends); 0:
   * none. A forward pass keeps its own copy of x: kept until the filter's gradient, it would be more memory. */
  int32_t *copies;
} sharing;

static void find_needed(const sharing *s, const mica__template *template) {
  for (int32_t i = 0; i < template->output_count; i++) s->needed[template->outputs[i] - 1] = true;
  for (int32_t i = 0; i < template->assignment_count; i++) s->needed[template->assignments[i].value - 1] = true;
  for (int32_t id = s->graph->count; id >= 1; id--) {
    const mica__node *node = mica__graph_node(s->graph, id);
    for (int32_t k = 0; s->needed[id - 1] && k < node->input_count; k++) s->needed[node->inputs[k] - 1] = true;
  }
}

static bool find_takers(const sharing *s, mica_engine *engine) {
  bool found = false;
  for (int32_t id = 1; id <= s->graph->count; id++) {
    mica__node *node = mica__graph_node(s->graph, id);
    mica__type types[MICA__MATCH_INPUTS];
    if (!s->needed[id - 1] || !node->op->take_channels_last || node->input_count > MICA__MATCH_INPUTS) continue;
    for (int32_t k = 0; k < node->input_count; k++) types[k] = mica__graph_node(s->graph, node->inputs[k])->type;
    s->takes[id - 1] = node->op->take_channels_last(node, types, engine);
    found = found || s->takes[id - 1];
  }
  return found;
}

/* The copy of the node's operand k in out, made now unless an earlier launch of the same pass has it. */
static mica_status copy_operand(const sharing *s, const mica__node *node, int32_t k, int32_t *copy) {
  int32_t *last = &s->copies[2 * (node->inputs[k] - 1) + (int32_t)(node->op->lends >> k & 1)];
  const mica__type *from = &mica__graph_node(s->graph, node->inputs[k])->type;
  mica__type type = {0};
  if (!*last || mica__graph_node(s->out, *last)->pass != node->pass) {
    MICA_TRY(mica__op_infer(&mica__op_channels_last, from, 1, NULL, &type));
    *last = mica__graph_put(s->out, &mica__op_channels_last, &s->map[node->inputs[k] - 1], 1, NULL, &type);
    if (!*last) return s->out->status;
    mica__graph_node(s->out, *last)->pass = node->pass;
  }
  *copy = *last;
  return MICA_OK;
}

static mica_status visit(const sharing *s, int32_t id) {
  const mica__node *node = mica__graph_node(s->graph, id);
  int32_t copies[MOST_OPERANDS] = {0};
  for (int32_t k = 0; k < MOST_OPERANDS; k++)
    if (s->takes[id - 1] >> k & 1) MICA_TRY(copy_operand(s, node, k, &copies[k]));
  MICA_TRY(mica__template_copy_node(s->graph, id, s->map, s->out));
  for (int32_t k = 0; k < MOST_OPERANDS; k++)
    if (copies[k]) mica__graph_node(s->out, s->map[id - 1])->inputs[k] = copies[k];
  return MICA_OK;
}

/* Makes the template's graph anew. */
static mica_status rebuild(sharing *s, mica__template *template) {
  MICA_TRY(mica_graph_create(&s->out));
  mica_status status = MICA_OK;
  for (int32_t id = 1; status == MICA_OK && id <= s->graph->count; id++) status = visit(s, id);
  if (status != MICA_OK) {
    mica_graph_destroy(s->out);
    return status;
  }
  for (int32_t i = 0; i < template->output_count; i++) template->outputs[i] = s->map[template->outputs[i] - 1];
  for (int32_t i = 0; i < template->assignment_count; i++) {
    mica__assignment *a = &template->assignments[i];
    *a = (mica__assignment){s->map[a->parameter - 1], s->map[a->value - 1]};
  }
  mica_graph_destroy(template->graph);
  template->graph = s->out;
  return MICA_OK;
}

mica_status mica__template_share_channels_last(mica__template *template, mica_engine *engine) {
  const size_t nodes = (size_t) template->graph->count + 1;
  if (mica__kernel_class(mica_engine_device(engine)) != MICA__ON_GPU) return MICA_OK;
  sharing s = {.graph = template->graph,
               .needed = calloc(nodes, sizeof *s.needed),
               .takes = calloc(nodes, sizeof *s.takes),
               .map = calloc(nodes, sizeof *s.map),
               .copies = calloc(nodes, 2 * sizeof *s.copies)};
  mica_status status = s.needed && s.takes && s.map && s.copies ? MICA_OK : mica__fail_nomem("a session");
  if (status == MICA_OK) find_needed(&s, template);
  if (status == MICA_OK && find_takers(&s, engine)) status = rebuild(&s, template);
  free(s.needed);
  free(s.takes);
  free(s.map);
  free(s.copies);
  return status;
}
