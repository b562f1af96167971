/* Writes a graph as a model: visits its nodes from the last to the first. */
#include "onnx/write/writer.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define STANDARD_OPSET 17
#define HIGHEST_OPSET 23

#define SAME(op, operator, since)
#define WRITE(op, function) MICA__WRITE(function);
#define MARK(mark, since, function) MICA__WRITE_MARK(function);
#include "onnx/write/rows.def"
#undef SAME
#undef WRITE
#undef MARK

static const struct {
  const char *op, *name;
  int64_t since;
} same_rows[] = {
#define SAME(op, operator, since) {#op, #operator, since },
#define WRITE(op, function)
#define MARK(mark, since, function)
#include "onnx/write/rows.def"
#undef SAME
#undef WRITE
};

static const struct {
  const char *op;
  mica__write_fn *write;
} rows[] = {
#define SAME(op, operator, since)
#define WRITE(op, function) {#op, mica__write_##function},
#include "onnx/write/rows.def"
#undef WRITE
#undef MARK
};

static const struct {
  const char *mark;
  int64_t since;
  mica__write_mark_fn *write;
} mark_rows[] = {
#define WRITE(op, function)
#define MARK(mark, since, function) {#mark, since, mica__write_##function},
#include "onnx/write/rows.def"
#undef SAME
#undef WRITE
#undef MARK
};

/* Writes the operation that the node's mark names, such as "mean", instead of the node's op. False if the node has no
 * mark, or if ONNX or this operator set of it cannot express that operation. */
static bool write_marked(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  for (size_t i = 0; node->mark && i < sizeof mark_rows / sizeof *mark_rows; i++)
    if (!strcmp(mark_rows[i].mark, node->mark->name))
      return w->opset >= mark_rows[i].since && mark_rows[i].write(w, id, node);
  return false;
}

/* Writes an op as an operator with the same operands. Returns false if rows.def names no such operator. Records an
 * error if the operator is newer than the model's operator set. */
static bool write_same(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  const char *inputs[4];
  size_t i = 0;
  while (i < sizeof same_rows / sizeof *same_rows && strcmp(same_rows[i].op, node->op->name)) i++;
  if (i == sizeof same_rows / sizeof *same_rows || node->input_count > 4) return false;
  if (w->opset < same_rows[i].since)
    mica__write_fail(w, id, "the op needs %s of operator set %d, but the model uses set %d", same_rows[i].name,
                     (int)same_rows[i].since, (int)w->opset);
  for (int32_t k = 0; k < node->input_count; k++) inputs[k] = mica__write_operand(w, node->inputs[k]);
  mica__write_node(w, same_rows[i].name, mica__write_own(w, id), inputs, (size_t)node->input_count);
  return true;
}

static void write_one(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  if (node->op == &mica__op_input || write_marked(w, id, node) || write_same(w, id, node)) return;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (!strcmp(rows[i].op, node->op->name)) {
      rows[i].write(w, id, node);
      return;
    }
  mica__write_fail(w, id, "the op cannot be expressed in ONNX");
}

/* Begins a visit of a Mica node: records the index of the first ONNX node that the visit will write. */
static void begin_visit(mica__onnx_writer *w) {
  if (w->visit_count == w->visit_capacity) {
    const size_t capacity = w->visit_capacity ? 2 * w->visit_capacity : 256;
    size_t *grown = realloc(w->visits, capacity * sizeof *grown);
    if (grown) w->visits = grown, w->visit_capacity = capacity;
  }
  if (w->visit_count < w->visit_capacity)
    w->visits[w->visit_count++] = w->count;
  else
    w->status = mica__fail_nomem("a model that is written");
}

/* Reverses the order of the visits. The nodes within a visit keep their order. */
static mica_status reverse_visits(mica__onnx_writer *w) {
  Onnx__NodeProto **nodes = calloc(w->count + 1, sizeof *nodes);
  size_t at = 0, end = w->count;
  if (!nodes) return mica__fail_nomem("a model that is written");
  for (size_t v = w->visit_count; v-- > 0; end = w->visits[v])
    for (size_t i = w->visits[v]; i < end; i++) nodes[at++] = w->nodes[i];
  free(w->nodes);
  w->nodes = nodes;
  w->capacity = w->count + 1;
  return MICA_OK;
}

/* Names parameters, inputs and outputs, before anything else takes these names. The names of inputs lose the prefix
 * config->input_prefix. */
static mica_status name_ports(mica__onnx_writer *w, const mica_value *outputs, size_t count) {
  const char *prefix = w->config->input_prefix ? w->config->input_prefix : "";
  for (int32_t id = 1; id <= w->graph->count; id++) {
    const mica__node *node = mica__graph_node(w->graph, id);
    if (node->op == &mica__op_parameter) w->names[id - 1] = mica__write_name(w, node->name);
    if (node->op != &mica__op_input) continue;
    const bool cut = !strncmp(node->name, prefix, strlen(prefix));
    w->names[id - 1] = mica__write_name(w, node->name + (cut ? strlen(prefix) : 0));
  }
  for (size_t i = 0; i < count; i++) {
    const mica__node *node = mica__graph_node(w->graph, outputs[i].id);
    const char *given = w->config->output_names ? w->config->output_names[i] : NULL;
    if (node->op == &mica__op_input || node->op == &mica__op_parameter || w->names[outputs[i].id - 1])
      return mica__fail(MICA_E_INVALID, "mica_onnx_write: output %zu is an input or a weight, or is listed twice", i);
    if (given && mica__name_table_find(&w->taken, given) >= 0)
      return mica__fail(MICA_E_INVALID, "mica_onnx_write: '%.80s' is the name of an output and of another value",
                        given);
    w->names[outputs[i].id - 1] = given ? mica__write_name(w, given) : mica__write_own(w, outputs[i].id);
    w->needed[outputs[i].id - 1] = true;
  }
  return w->status;
}

static mica_status write_nodes(mica__onnx_writer *w, const mica_value *outputs, size_t count) {
  MICA_TRY(name_ports(w, outputs, count));
  for (int32_t id = w->graph->count; id > 0 && w->status == MICA_OK; id--) {
    const mica__node *node = mica__graph_node(w->graph, id);
    if (!w->needed[id - 1]) continue;
    begin_visit(w);
    write_one(w, id, node);
  }
  MICA_TRY(w->status);
  return reverse_visits(w);
}

static mica_status check(const char *path, const mica_value *outputs, size_t count, const mica_onnx_write_config *c) {
  if (!path || !outputs || (c->metadata_count && !c->metadata))
    return mica__fail(MICA_E_INVALID, "mica_onnx_write: a pointer is NULL");
  if (!count) return mica__fail(MICA_E_INVALID, "mica_onnx_write: the number of outputs is 0");
  if (c->opset && (c->opset < STANDARD_OPSET || c->opset > HIGHEST_OPSET))
    return mica__fail(MICA_E_INVALID, "mica_onnx_write: operator set %lld cannot be written; choose %d to %d",
                      (long long)c->opset, STANDARD_OPSET, HIGHEST_OPSET);
  for (size_t i = 0; i < count; i++) {
    if (!outputs[i].graph || outputs[i].graph != outputs[0].graph)
      return mica__fail(MICA_E_INVALID, "mica_onnx_write: output %zu is null, or of another graph", i);
    if (mica_graph_status(outputs[i].graph) != MICA_OK)
      return mica__fail(mica_graph_status(outputs[i].graph), "%s", mica_graph_message(outputs[i].graph));
  }
  return MICA_OK;
}

mica_status mica_onnx_write(const char *path, const mica_value *outputs, size_t count,
                            const mica_onnx_write_config *config) {
  static const mica_onnx_write_config standard;
  if (!config) config = &standard;
  MICA_TRY(check(path, outputs, count, config));
  mica__onnx_writer w = {.graph = outputs[0].graph,
                         .config = config,
                         .opset = config->opset ? config->opset : STANDARD_OPSET,
                         .needed = calloc((size_t)outputs[0].graph->count + 1, sizeof *w.needed),
                         .names = calloc((size_t)outputs[0].graph->count + 1, sizeof *w.names)};
  mica_status status = w.needed && w.names ? MICA_OK : mica__fail_nomem("a model that is written");
  if (status == MICA_OK) status = write_nodes(&w, outputs, count);
  if (status == MICA_OK) status = mica__write_file(&w, path, outputs, count);
  mica__onnx_writer_free(&w);
  return status;
}
