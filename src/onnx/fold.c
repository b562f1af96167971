/* Constant folding: while a model is lowered, computes the results of nodes whose operands are known. */
#include "onnx/lowering.h"

#include "base/element.h"
#include "compile/template.h"

#include <stdlib.h>
#include <string.h>

/* ids[i]: the constant that replaces node l->before + 1 + i; 0 if the node is not replaced. */
typedef struct folding {
  mica__lowering *l;
  int32_t *ids;
  int32_t count;
} folding;

static int32_t folded(const folding *f, int32_t id) {
  int32_t at = id - f->l->before - 1;
  return at >= 0 && at < f->count && f->ids[at] ? f->ids[at] : id;
}

bool mica__lower_is_known(const mica_graph *graph, int32_t id) {
  const mica__op *op = mica__graph_node(graph, id)->op;
  return op == &mica__op_constant || op == &mica__op_full;
}

static mica_value constant(mica_graph *graph, mica__type type, const void *data) {
  return mica_constant(graph, type.dtype, type.shape, data);
}

/* Replaces a view of a constant by a new constant, unless the view has more than 65,536 elements. A view of a `full`
 * becomes a `full` of any size. Copies the elements' bytes, because doubles cannot hold all integers beyond 2^53. */
static mica_status fold_view(mica_graph *graph, const mica__node *node, int32_t *id) {
  const mica__node *operand = mica__graph_node(graph, node->inputs[0]);
  mica_shape space = node->type.shape;
  mica__access access = {0};
  int64_t count = mica__node_count(node), index[MICA_MAX_RANK] = {0};
  size_t size = mica_dtype_size(node->type.dtype);
  if (operand->op == &mica__op_full) {
    *id = mica_full(graph, node->type.dtype, space, mica__full_value(operand)).id;
    return MICA_OK;
  }
  if (count > 65536 || !node->op->view(node, operand->type.shape, &access)) return MICA_OK;
  unsigned char *data = malloc((size_t)count * size + 1);
  if (!data) return mica__fail_nomem("a constant");
  for (int64_t i = 0; i < count; i++) {
    int64_t at = access.offset;
    for (int32_t k = 0; k < space.rank; k++) at += access.stride[k] * index[k];
    memcpy(data + (size_t)i * size, (const unsigned char *)operand->data + (size_t)at * size, size);
    for (int32_t k = space.rank - 1; k >= 0 && ++index[k] == space.dim[k]; k--) index[k] = 0;
  }
  *id = constant(graph, node->type, data).id;
  free(data);
  return MICA_OK;
}

static mica_status fold_values(mica_graph *graph, const mica__node *node, const mica__type *types, int32_t *ids) {
  double *values[MICA__MAX_RESULTS];
  int32_t results = mica__node_results(node);
  MICA_TRY(mica__template_fold(graph, node, types, values));
  mica_status status = MICA_OK;
  for (int32_t r = 0; values[0] && r < results; r++) {
    int64_t count = 0;
    void *data = NULL;
    if (status == MICA_OK) status = mica_shape_count(types[r].shape, &count);
    if (status == MICA_OK) data = malloc((size_t)count * mica_dtype_size(types[r].dtype) + 1);
    if (status == MICA_OK && !data) status = mica__fail_nomem("a constant");
    for (int64_t i = 0; data && i < count; i++) mica__element_wrap(types[r].dtype, data, i, values[r][i]);
    if (data) ids[r] = constant(graph, types[r], data).id;
    free(data);
    free(values[r]);
  }
  return status;
}

/* Replaces the node's results by constants if all operands whose elements it reads are constants. Does nothing if a
 * result has an open dimension, or the node has more than 64 operands. */
static mica_status fold_node(folding *f, int32_t id) {
  mica_graph *graph = f->l->graph;
  mica__node node = *mica__graph_node(graph, id);
  if (node.op->kind == MICA__OP_SOURCE || node.op->kind == MICA__OP_RESULT || node.input_count > 64) return MICA_OK;
  mica__type types[MICA__MAX_RESULTS];
  int32_t inputs[64], known = 0, results = mica__node_results(&node);
  for (int32_t k = 0; k < node.input_count; k++) {
    inputs[k] = folded(f, node.inputs[k]);
    bool unread = k < 32 && node.op->shape_only >> k & 1;
    known += unread || node.op->kind == MICA__OP_SHAPE || mica__lower_is_known(graph, inputs[k]);
  }
  if (known < node.input_count) return MICA_OK;
  for (int32_t r = 0; r < results; r++) {
    types[r] = mica__graph_node(graph, id + r)->type;
    if (mica__shape_is_open(types[r].shape)) return MICA_OK;
  }
  node.inputs = inputs;
  int32_t *ids = &f->ids[id - f->l->before - 1];
  if (node.op->kind == MICA__OP_VIEW) return fold_view(graph, &node, ids);
  return fold_values(graph, &node, types, ids);
}

mica_value mica__lower_fold(mica__lowering *l, mica_value value) {
  folding f = {.l = l, .count = l->graph->count - l->before};
  if (!value.graph || value.id <= l->before || f.count <= 0 || l->status != MICA_OK) return value;
  f.ids = calloc((size_t)f.count, sizeof *f.ids);
  if (!f.ids) {
    l->status = mica__fail_nomem("building a model's graph");
    return value;
  }
  for (int32_t i = 0; l->status == MICA_OK && i < f.count; i++)
    if (!f.ids[i]) l->status = fold_node(&f, l->before + 1 + i);
  value.id = folded(&f, value.id);
  free(f.ids);
  return value;
}
