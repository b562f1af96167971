/* Inference in 16 bits: products and convolutions read and write values of a narrower type. So do the pointwise ops,
 * views and copies between them, so that memory holds narrow values from layer to layer. Everything else stays f32,
 * with casts between. Weights are cast in the prologue. */
#include "base/text.h"
#include "compile/template.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

typedef struct narrowing {
  const mica_graph *graph;
  mica_graph *out;
  mica_dtype dtype;
  bool *invariant, *narrow; /* by id - 1; narrow: the value is f32, and its copy is of `dtype` */
  int32_t *map, *other; /* by id - 1: the value's id in the copy; the id of its cast to the other type, once needed */
  bool some;            /* at least one product is computed in `dtype` */
  const char *wide[4];  /* names of ops that multiply weights in f32; no name twice */
  size_t wide_count;
} narrowing;

static const mica__node *node_at(const narrowing *n, int32_t id) { return mica__graph_node(n->graph, id); }
static bool is_real(const narrowing *n, int32_t id) { return node_at(n, id)->type.dtype == MICA_F32; }

/* The id of a value's copy; for an f32 value, of the copy in the wanted type, which is cast if necessary. 0: the graph
 * has failed. */
static int32_t value_as(narrowing *n, int32_t id, bool narrow) {
  if (!is_real(n, id) || n->narrow[id - 1] == narrow) return n->map[id - 1];
  int32_t *other = &n->other[id - 1];
  if (!*other) *other = mica_cast((mica_value){n->out, n->map[id - 1]}, narrow ? n->dtype : MICA_F32).id;
  return *other;
}

/* True if every f32 operand is narrow or a weight, and at least one is narrow. */
static bool follows(const narrowing *n, const mica__node *node) {
  bool some = false;
  for (int32_t k = 0; k < node->input_count; k++) {
    int32_t id = node->inputs[k];
    if (!is_real(n, id)) continue;
    some = some || n->narrow[id - 1];
    if (!n->narrow[id - 1] && !n->invariant[id - 1]) return false;
  }
  return some;
}

/* True if the node will be computed in the narrow type. */
static bool becomes_narrow(const narrowing *n, int32_t id) {
  const mica__node *node = node_at(n, id);
  if (!is_real(n, id) || n->invariant[id - 1] || node->pass) return false;
  switch (node->op->narrows) {
  case MICA__NARROWS_FIRST: return is_real(n, node->inputs[0]);
  case MICA__NARROWS_LATER: return follows(n, node);
  default: break;
  }
  return (node->op->kind == MICA__OP_POINTWISE || node->op->kind == MICA__OP_VIEW) && follows(n, node);
}

/* Adds the node to the copy, with its f32 operands in the narrow type. Its f32 results become narrow. */
static mica_status add_narrow(narrowing *n, int32_t id) {
  const mica__node *node = node_at(n, id);
  mica_value *inputs = calloc((size_t)node->input_count + 1, sizeof *inputs);
  if (!inputs) return mica__fail_nomem("a session");
  for (int32_t k = 0; k < node->input_count; k++) inputs[k] = (mica_value){n->out, value_as(n, node->inputs[k], true)};
  mica_value made = mica__graph_add(node->op, inputs, node->input_count, node->attrs);
  free(inputs);
  if (!made.id) return n->out->status;
  for (int32_t r = 0; r < mica__node_results(node); r++) {
    n->map[id - 1 + r] = made.id + r;
    n->narrow[id - 1 + r] = is_real(n, id + r) && mica__graph_node(n->out, made.id + r)->type.dtype == n->dtype;
  }
  return mica__mark_copy(node, n->map, mica__graph_node(n->out, made.id));
}

/* Copies the node unchanged, with its operands in f32. */
static mica_status copy(narrowing *n, int32_t id) {
  const mica__node *node = node_at(n, id);
  for (int32_t k = 0; k < node->input_count; k++)
    if (!value_as(n, node->inputs[k], false)) return n->out->status;
  MICA_TRY(mica__template_copy_node(n->graph, id, n->map, n->out));
  mica__node *made = mica__graph_node(n->out, n->map[id - 1]);
  for (int32_t k = 0; k < node->input_count; k++) made->inputs[k] = value_as(n, node->inputs[k], false);
  return MICA_OK;
}

/* Notes a narrow product, or an op that multiplies weights in f32 because it has no narrow kernels. */
static void note(narrowing *n, int32_t id, bool narrow) {
  const mica__node *node = node_at(n, id);
  n->some = n->some || (narrow && node->op->narrows == MICA__NARROWS_FIRST);
  bool weighs = false;
  for (int32_t k = 1; k < node->input_count; k++)
    weighs = weighs || (is_real(n, node->inputs[k]) && n->invariant[node->inputs[k] - 1] &&
                        node_at(n, node->inputs[k])->type.shape.rank > 1);
  if (narrow || !weighs || n->invariant[id - 1] || node->op->kind != MICA__OP_LAUNCH || !is_real(n, id)) return;
  for (size_t i = 0; i < n->wide_count; i++)
    if (!strcmp(n->wide[i], node->op->name)) return;
  if (n->wide_count < sizeof n->wide / sizeof *n->wide) n->wide[n->wide_count++] = node->op->name;
}

/* Logs a warning that names the ops that stay in f32, or one that the graph has no product to compute in the requested
 * type. */
static void say_wide(const narrowing *n) {
  mica__text names = {0};
  const char *type = mica_dtype_name(n->dtype);
  for (size_t i = 0; i < n->wide_count; i++) mica__text_addf(&names, i ? ", %s" : "%s", n->wide[i]);
  if (n->wide_count && !names.failed)
    mica__log(MICA_LOG_LEVEL_WARNING, "%s: %s is computed in f32%s", type, names.data,
              n->some ? "" : ", like the rest of the graph");
  else if (!n->some)
    mica__log(MICA_LOG_LEVEL_WARNING, "%s: the graph has no product of f32 numbers, so this type changes nothing",
              type);
  mica__text_free(&names);
}

static mica_status narrow_into(narrowing *n, mica__template *template) {
  bool *written = calloc((size_t)n->graph->count + 1, sizeof *written);
  if (!written) return mica__fail_nomem("a session");
  mica__template_find_invariant(n->graph, written, n->invariant);
  free(written);
  for (int32_t id = 1; id <= n->graph->count; id++) {
    if (node_at(n, id)->op->kind == MICA__OP_RESULT) continue;
    const bool narrow = becomes_narrow(n, id);
    note(n, id, narrow);
    MICA_TRY(narrow ? add_narrow(n, id) : copy(n, id));
  }
  say_wide(n);
  for (int32_t i = 0; i < template->output_count; i++) {
    template->outputs[i] = value_as(n, template->outputs[i], false);
    if (!template->outputs[i]) return n->out->status;
  }
  return MICA_OK;
}

mica_status mica__template_narrow(mica__template *template, mica_dtype dtype) {
  size_t nodes = (size_t) template->graph->count + 1;
  narrowing n = {.graph = template->graph,
                 .dtype = dtype,
                 .invariant = calloc(nodes, sizeof *n.invariant),
                 .narrow = calloc(nodes, sizeof *n.narrow),
                 .map = calloc(nodes, sizeof *n.map),
                 .other = calloc(nodes, sizeof *n.other)};
  mica_status status = n.invariant && n.narrow && n.map && n.other ? MICA_OK : mica__fail_nomem("a session");
  if (template->assignment_count)
    status = mica__fail(MICA_E_UNSUPPORTED,
                        "mica_session_create: dtype is %s, but a session that assigns parameters must compute in f32",
                        mica_dtype_name(dtype));
  if (status == MICA_OK) status = mica_graph_create(&n.out);
  if (status == MICA_OK) status = narrow_into(&n, template);
  if (status == MICA_OK) {
    mica_graph_destroy(template->graph);
    template->graph = n.out;
  } else {
    mica_graph_destroy(n.out);
  }
  free(n.invariant);
  free(n.narrow);
  free(n.map);
  free(n.other);
  return status;
}
