#include "ops/select/match.h"

#include "ir/graph.h"
#include "ops/select/registry.h"

/* Adds a node of the op with these operands to y's graph. Returns the null value, and adds nothing, if the op does not
 * take them, has several results, or would not have y's type. */
static mica_value as_op(const mica__op *op, mica_value y, const int32_t *ids, int32_t count, void *attrs) {
  mica_value inputs[MICA__MATCH_INPUTS];
  mica__type types[MICA__MATCH_INPUTS], results[MICA__MAX_RESULTS] = {0};
  if (count < op->min_inputs || count > op->max_inputs || op->results > 1) return (mica_value){0};
  for (int32_t k = 0; k < count; k++) {
    inputs[k] = (mica_value){y.graph, ids[k]};
    types[k] = mica__graph_node(y.graph, ids[k])->type;
  }
  mica__attempt_begin();
  bool inferred = mica__op_infer(op, types, count, attrs, results) == MICA_OK;
  mica__attempt_end();
  bool same =
      inferred && results[0].dtype == mica_value_dtype(y) && mica_shape_equal(results[0].shape, mica_value_shape(y));
  return same ? mica__graph_add(op, inputs, count, attrs) : (mica_value){0};
}

mica_value mica__matched(mica_value y) {
  if (!y.graph || y.graph->status != MICA_OK) return y;
  const mica__match match = {y.graph, NULL};
  const mica__op *own = mica__graph_node(y.graph, y.id)->op;
  for (size_t i = 0; i < mica__op_count && own->kind != MICA__OP_SOURCE; i++) {
    const mica__op *op = mica__ops[i];
    int32_t inputs[MICA__MATCH_INPUTS] = {0}, count = 0;
    _Alignas(8) unsigned char attrs[MICA__ATTRS_MOST] = {0};
    if (!op->match || op == own) continue;
    if (op->attrs) mica__attrs_set_defaults(op->attrs, attrs);
    if (!op->match(&match, y.id, inputs, &count, attrs)) continue;
    mica_value found = as_op(op, y, inputs, count, attrs);
    if (found.graph) return found;
  }
  return y;
}
