#include "ir/pattern.h"

#include "base/element.h"

#include <math.h>

/* A constant tensor with more elements than this is never recognised as one number, so that its elements need not be
 * compared. */
#define MOST_ELEMENTS 64

bool mica__pattern_same_type(const mica_graph *graph, int32_t a, int32_t b) {
  const mica__type *x = &mica__graph_node(graph, a)->type, *y = &mica__graph_node(graph, b)->type;
  return x->dtype == y->dtype && mica_shape_equal(x->shape, y->shape);
}

static bool shows_all_in_order(const mica__node *node) {
  mica__access access;
  int64_t stride = 1;
  mica_shape shape = node->type.shape;
  if (mica__shape_is_open(shape) || !node->op->view(node, shape, &access) || access.offset != 0) return false;
  for (int32_t i = shape.rank - 1; i >= 0; stride *= shape.dim[i], i--)
    if (shape.dim[i] != 1 && access.stride[i] != stride) return false;
  return true;
}

int32_t mica__pattern_behind(const mica_graph *graph, int32_t id) {
  for (;;) {
    const mica__node *node = mica__graph_node(graph, id);
    bool may_pass = node->op->kind == MICA__OP_VIEW || node->op->identity;
    if (!may_pass || !mica__pattern_same_type(graph, id, node->inputs[0])) return id;
    if (node->op->kind == MICA__OP_VIEW && !shows_all_in_order(node)) return id;
    id = node->inputs[0];
  }
}

bool mica__pattern_op(const mica_graph *graph, int32_t id, const mica__op *op, int32_t inputs[4]) {
  const mica__node *node = mica__graph_node(graph, mica__pattern_behind(graph, id));
  if (node->op != op || node->input_count > 4) return false;
  for (int32_t k = 0; inputs && k < 4; k++)
    inputs[k] = k < node->input_count ? mica__pattern_behind(graph, node->inputs[k]) : 0;
  return true;
}

static bool constant_number(const mica__node *node, double *number) {
  int64_t count = 0;
  if (mica_shape_count(node->type.shape, &count) != MICA_OK || count < 1 || count > MOST_ELEMENTS) return false;
  *number = mica__element_get(node->type.dtype, node->data, 0);
  for (int64_t i = 1; i < count; i++)
    if (mica__element_get(node->type.dtype, node->data, i) != *number) return false;
  return true;
}

bool mica__pattern_number(const mica_graph *graph, int32_t id, double *number) {
  const mica__node *node = mica__graph_node(graph, id);
  if (node->op == &mica__op_constant) return constant_number(node, number);
  if (node->op == &mica__op_full || node->op == &mica__op_full_like) {
    *number = mica__full_value(node);
    return true;
  }
  if (node->op->kind != MICA__OP_VIEW && !node->op->identity) return false;
  if (!mica__pattern_number(graph, node->inputs[0], number)) return false;
  /* A cast may truncate or wrap the number, unless it is a small whole number. */
  mica_dtype from = mica__graph_node(graph, node->inputs[0])->type.dtype, to = node->type.dtype;
  bool floating = mica_dtype_kind_of(from) == MICA_DTYPE_KIND_FLOAT && mica_dtype_kind_of(to) == MICA_DTYPE_KIND_FLOAT;
  return from == to || floating || (*number >= 0 && *number <= 127 && rint(*number) == *number && to != MICA_BOOL);
}
