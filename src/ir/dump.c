#include "base/text.h"
#include "ir/graph.h"

/* Adds an op with its attributes: "conv(stride=[2, 2], pad=[1, 1])". */
static void add_op(mica__text *text, const mica_graph *graph, const mica__node *node) {
  int32_t rank = node->input_count ? mica__graph_node(graph, node->inputs[0])->type.shape.rank : 0;
  mica__text_add(text, node->op->name);
  mica__attrs_format(text, node->op->attrs, node->attrs, rank);
}

/* Adds a line such as "%5 = sum(axes=[1]) %4 -> f32 (64) 'hidden'". For a node with two results the line is like "%5,
 * %6 = top_k(...) %4 -> f32 (64) 'hidden', i64 (64)". Adds nothing for an entry of the op `result`, because its node's
 * line contains it. */
static void add_line(mica__text *text, const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  char type[MICA__TYPE_TEXT];
  if (node->op == &mica__op_result) return;
  int32_t results = mica__node_results(node);
  for (int32_t r = 0; r < results; r++) mica__text_addf(text, "%s%%%d", r ? ", " : "", (int)(id + r));
  mica__text_add(text, " = ");
  add_op(text, graph, node);
  for (int32_t i = 0; i < node->input_count; i++) mica__text_addf(text, " %%%d", (int)node->inputs[i]);
  for (int32_t r = 0; r < results; r++) {
    mica__text_addf(text, "%s %s", r ? "," : " ->", mica__type_format(node[r].type, type));
    if (node[r].name) mica__text_addf(text, " '%s'", node[r].name);
  }
  if (node->checkpoint) mica__text_add(text, " checkpoint");
  if (node->assigned) mica__text_addf(text, " := %%%d", (int)node->assigned);
  mica__text_add(text, "\n");
}

/* Adds a name inside a quoted string of Graphviz. */
static void add_escaped(mica__text *text, const char *s) {
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') mica__text_add(text, "\\");
    mica__text_add_bytes(text, s, 1);
  }
}

static void add_vertex(mica__text *text, const mica_graph *graph, int32_t id) {
  const mica__node *node = mica__graph_node(graph, id);
  char type[MICA__TYPE_TEXT];
  bool source = node->op->kind == MICA__OP_SOURCE;
  mica__text_addf(text, "  v%d [shape=%s, label=\"", (int)id, source ? "ellipse" : "box");
  if (node->result)
    mica__text_addf(text, "result %d", (int)node->result);
  else
    add_op(text, graph, node);
  if (node->name) {
    mica__text_add(text, "\\n");
    add_escaped(text, node->name);
  }
  mica__text_addf(text, "\\n%s\"];\n", mica__type_format(node->type, type));
  for (int32_t i = 0; i < node->input_count; i++)
    mica__text_addf(text, "  v%d -> v%d;\n", (int)node->inputs[i], (int)id);
  if (node->assigned) mica__text_addf(text, "  v%d -> v%d [style=dashed];\n", (int)node->assigned, (int)id);
}

mica_status mica_graph_dump(const mica_graph *graph, mica_dump_format format, char **out) {
  if (!graph || !out) return mica__fail(MICA_E_INVALID, "mica_graph_dump: a pointer is NULL");
  if (format != MICA_DUMP_FORMAT_TEXT && format != MICA_DUMP_FORMAT_GRAPHVIZ)
    return mica__fail(MICA_E_INVALID, "mica_graph_dump: format is %d, but must be a mica_dump_format", (int)format);
  bool dot = format == MICA_DUMP_FORMAT_GRAPHVIZ;
  mica__text text = {0};
  mica__text_add(&text, dot ? "digraph mica {\n" : "");
  for (int32_t id = 1; id <= graph->count; id++) (dot ? add_vertex : add_line)(&text, graph, id);
  mica__text_add(&text, dot ? "}\n" : "");
  mica_status status = mica__text_status(&text);
  if (status == MICA_OK)
    *out = text.data;
  else
    mica__text_free(&text);
  return status;
}
