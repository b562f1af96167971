/* Checks indices on the host if they are known before a run. An error can then name the index that is out of range; a
 * device does not report such an index. */
#include "onnx/indices.h"

#include "base/element.h"
#include "compile/template.h"
#include "onnx/lowering.h"

#include <stdlib.h>

/* The first element out of range; count if all are in range. Element i belongs to column i % columns. */
static int64_t first_outside(const mica__lower_indices *c, mica_dtype dtype, const void *data, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double at = mica__element_get(dtype, data, i), extent = (double)c->extents[i % c->columns];
    if (!(at >= -extent && at < extent)) return i;
  }
  return count;
}

mica_status mica__lower_indices_check(const char *model, const mica__lower_indices *c, mica_dtype dtype,
                                      const void *data, int64_t count) {
  int64_t i = first_outside(c, dtype, data, count);
  if (i == count) return MICA_OK;
  return mica__fail(MICA_E_INVALID,
                    "%s: node '%.80s' (%.80s): element %lld of the input '%.80s' is the index %.0f, outside of an "
                    "axis of %lld elements",
                    model, c->node, c->op, (long long)i, c->operand, mica__element_get(dtype, data, i),
                    (long long)c->extents[i % c->columns]);
}

static bool keep(mica__lowering *l, const mica__lower_indices *c) {
  mica__lower_indices *list = realloc(l->indices, (l->index_count + 1) * sizeof *list);
  if (!list) {
    l->status = mica__fail_nomem("building a model's graph");
    return false;
  }
  l->indices = list;
  list[l->index_count++] = *c;
  return true;
}

bool mica__lower_indices_within(mica__lowering *l, const mica__onnx_node *node, mica_value indices,
                                const int64_t *extents, int32_t columns) {
  /* Indices in bodies and functions are not checked, because a run may not execute a body. */
  if (!indices.graph || l->depth || columns < 1 || columns > MICA_MAX_RANK) return indices.graph != NULL;
  const mica__node *at = mica__graph_node(l->graph, indices.id);
  mica__lower_indices c = {
      .node = mica__onnx_node_title(node), .op = node->op, .operand = node->inputs[1], .columns = columns};
  for (int32_t i = 0; i < columns; i++) c.extents[i] = extents[i];
  if (at->op == &mica__op_input) {
    for (c.input = 0; c.input < l->input_count && l->input_values[c.input].id != indices.id;) c.input++;
    return c.input == l->input_count || keep(l, &c);
  }
  if (!mica__lower_is_known(l->graph, indices.id) || at->op == &mica__op_full) return true;
  int64_t count = mica__node_count(at), outside = first_outside(&c, at->type.dtype, at->data, count);
  if (outside == count) return true;
  mica__lower_fail(l, node, MICA_E_INVALID,
                   "element %lld of the input '%.80s' is the index %.0f, outside of an axis of %lld elements",
                   (long long)outside, c.operand, mica__element_get(at->type.dtype, at->data, outside),
                   (long long)c.extents[outside % columns]);
  return false;
}
