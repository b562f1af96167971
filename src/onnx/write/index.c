/* Gathers and scatters elements and rows by index, and finds the top k. */
#include "onnx/write/writer.h"

#include "base/element.h"
#include "ops/index/index.h"

#include <string.h>

/* True if the indices come from a `where` whose third operand is the extent, one past the last row. Mica gathers 0 for
 * such an index. */
static bool has_none(mica__onnx_writer *w, int32_t indices, int64_t extent) {
  const mica__node *choice = mica__graph_node(w->graph, mica__write_passed(w->graph, indices));
  if (strcmp(choice->op->name, "where") != 0) return false;
  const int32_t other = mica__write_passed(w->graph, choice->inputs[2]);
  const mica__node *node = mica__graph_node(w->graph, other);
  if (!strcmp(node->op->name, "full_like")) return mica__node_real(node, "value") == (double)extent;
  const void *known = mica__write_known(w, other);
  int64_t count = 0;
  return known && mica_shape_count(node->type.shape, &count) == MICA_OK && count == 1 &&
         mica__element_get(node->type.dtype, known, 0) == (double)extent;
}

/* Appends a row of zeros to x, because indices past the last row are invalid in ONNX. Returns x unchanged if another
 * extent of it is open. */
static const char *with_none(mica__onnx_writer *w, const char *x, mica__type type, int64_t axis) {
  type.shape.dim[axis] = 1;
  int64_t count = 0;
  if (mica__write_is_open(type.shape) || mica_shape_count(type.shape, &count) != MICA_OK) return x;
  const void *zeros = mica__write_room(w, (size_t)count * mica_dtype_size(type.dtype));
  const char *row = mica__write_tensor(w, "none", type.dtype, type.shape, zeros);
  const char *longer = mica__write_node(w, "Concat", NULL, MICA__OPERANDS(x, row));
  mica__write_int(w, "axis", axis);
  return longer;
}

MICA__WRITE(gather) {
  const bool elements = mica__node_int(node, "elements") || !strcmp(node->op->name, "gather_elements");
  const char *x = mica__write_operand(w, node->inputs[0]), *indices = mica__write_operand(w, node->inputs[1]);
  const mica__type type = mica__write_type_of(w, node->inputs[0]);
  const int64_t axis = mica__node_int(node, "axis");
  if (!elements && has_none(w, node->inputs[1], type.shape.dim[axis])) x = with_none(w, x, type, axis);
  mica__write_node(w, elements ? "GatherElements" : "Gather", mica__write_own(w, id), MICA__OPERANDS(x, indices));
  mica__write_int(w, "axis", axis);
}

/* Shapes the indices of rows along axis 0 as ScatterND needs them: one number per row. */
static const char *as_rows(mica__onnx_writer *w, int32_t id, const mica__node *node, const char *indices) {
  const int64_t last = mica__write_type_of(w, node->inputs[1]).shape.rank;
  if (mica__node_int(node, "axis") != 0)
    mica__write_fail(w, id, "a scatter of rows along axis %d cannot be expressed in ONNX; use axis 0",
                     (int)mica__node_int(node, "axis"));
  return mica__write_node(w, "Unsqueeze", NULL, MICA__OPERANDS(indices, mica__write_integers(w, &last, 1)));
}

MICA__WRITE(scatter) {
  static const char *const joins[] = {"none", "add", "mul", "max", "min"};
  const bool elements = mica__node_int(node, "elements");
  const int64_t join = mica__node_int(node, "join");
  if (join > MICA_SCATTER_MUL && w->opset < 18)
    mica__write_fail(w, id, "a scatter with the reduction %s needs operator set 18", joins[join]);
  const char *x = mica__write_operand(w, node->inputs[0]), *indices = mica__write_operand(w, node->inputs[1]);
  const char *updates = mica__write_operand(w, node->inputs[2]);
  if (!elements) indices = as_rows(w, id, node, indices);
  mica__write_node(w, elements ? "ScatterElements" : "ScatterND", mica__write_own(w, id),
                   MICA__OPERANDS(x, indices, updates));
  if (elements) mica__write_int(w, "axis", mica__node_int(node, "axis"));
  mica__write_text(w, "reduction", joins[join]);
}

MICA__WRITE(top_k) {
  const int64_t k = mica__node_int(node, "k");
  const char *x = mica__write_operand(w, node->inputs[0]), *count = mica__write_integers(w, &k, 1);
  mica__write_node(w, "TopK", mica__write_own(w, id), MICA__OPERANDS(x, count));
  mica__write_result(w, mica__write_own(w, id + 1));
  mica__write_int(w, "axis", mica__node_int(node, "axis"));
  mica__write_int(w, "largest", !mica__node_int(node, "smallest"));
  mica__write_int(w, "sorted", 1);
}
