/* Writes constants, weights and filled values. Writes Identity for an output that equals its operand. If only a second
 * or later result of a node is needed, marks the node as needed. */
#include "onnx/write/writer.h"

static void write_elements(mica__onnx_writer *w, int32_t id, const mica__node *node) {
  const void *data = mica__write_known(w, id);
  if (data)
    mica__write_elements(w, mica__write_own(w, id), node->type.dtype, node->type.shape, data);
  else
    mica__write_fail(w, id, "the elements are known only at run time, and ONNX cannot express that");
}

MICA__WRITE(constant) { write_elements(w, id, node); }
MICA__WRITE(parameter) { write_elements(w, id, node); }

/* The second and later results of a node are written together with the node. It is visited later, because visits go
 * from the last node to the first. */
MICA__WRITE(of_node) {
  (void)node;
  w->needed[id - 1 - mica__graph_node(w->graph, id)->result] = true;
}

/* Writes Identity if an output equals its operand but needs its own name. */
MICA__WRITE(pass) {
  mica__write_node(w, "Identity", mica__write_own(w, id), MICA__OPERANDS(mica__write_operand(w, node->inputs[0])));
}

MICA__WRITE(full_like) {
  const mica_dtype dtype = node->type.dtype;
  const char *value = mica__write_scalar(w, dtype, mica__node_real(node, "value"));
  const char *shape = mica__write_shape_of(w, node->inputs[0]);
  mica__write_node(w, "Expand", mica__write_own(w, id), MICA__OPERANDS(value, shape));
}
