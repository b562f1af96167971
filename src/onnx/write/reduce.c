/* Writes reductions, argmax and argmin, cumulative sums, and softmax. */
#include "onnx/write/writer.h"

#include <stdio.h>
#include <string.h>

/* Before operator set 18 the axes were an attribute, except for ReduceSum. */
static void write_reduce(mica__onnx_writer *w, const char *op, const char *own, const char *x, const int64_t *axes,
                         size_t count, bool keep) {
  if (w->opset >= 18 || !strcmp(op, "ReduceSum")) {
    mica__write_node(w, op, own, MICA__OPERANDS(x, mica__write_integers(w, axes, count)));
    if (!count) mica__write_int(w, "noop_with_empty_axes", 1);
  } else if (count) {
    mica__write_node(w, op, own, MICA__OPERANDS(x));
    mica__write_ints(w, "axes", axes, count);
  } else {
    mica__write_node(w, "Identity", own, MICA__OPERANDS(x));
    return;
  }
  mica__write_int(w, "keepdims", keep);
}

MICA__WRITE(reduce) {
  static const char *const operators[][2] = {
      {"sum", "ReduceSum"}, {"max", "ReduceMax"}, {"min", "ReduceMin"}, {"prod", "ReduceProd"}};
  int64_t axes[MICA_MAX_RANK];
  size_t k = 0;
  const size_t count = mica__node_axes(node, "axes", axes);
  while (strcmp(operators[k][0], node->op->name)) k++;
  const char *x = mica__write_operand(w, node->inputs[0]);
  write_reduce(w, operators[k][1], mica__write_own(w, id), x, axes, count, mica__node_int(node, "keep"));
}

/* The mark's operand is x. Its numbers are the axes as a bit set, and 1 if the reduced axes are kept, else 0. */
MICA__WRITE_MARK(mean) {
  int64_t axes[MICA_MAX_RANK];
  size_t count = 0;
  const int32_t x = node->mark->inputs[0], rank = mica__write_type_of(w, x).shape.rank;
  const uint32_t set = (uint32_t)node->mark->numbers[0];
  const bool keep = node->mark->numbers[1] != 0;
  for (int32_t k = 0; k < rank; k++)
    if (set >> k & 1) axes[count++] = k;
  const char *name = mica__write_operand(w, x), *own = mica__write_own(w, id);
  if (keep && rank > 2 && rank < 6 && set == (1u << rank) - 4)
    mica__write_node(w, "GlobalAveragePool", own, MICA__OPERANDS(name));
  else
    write_reduce(w, "ReduceMean", own, name, axes, count, keep);
  return true;
}

MICA__WRITE(index_of) {
  int64_t axes[MICA_MAX_RANK];
  const size_t count = mica__node_axes(node, "axes", axes);
  const bool other = node->type.dtype != MICA_I64;
  const char *own = mica__write_own(w, id);
  if (count != 1)
    mica__write_fail(w, id, "an argmax or argmin over %zu axes cannot be expressed in ONNX; use one axis", count);
  const char *index = mica__write_node(w, !strcmp(node->op->name, "argmax") ? "ArgMax" : "ArgMin", other ? NULL : own,
                                       MICA__OPERANDS(mica__write_operand(w, node->inputs[0])));
  mica__write_int(w, "axis", count ? axes[0] : 0);
  mica__write_int(w, "keepdims", mica__node_int(node, "keep"));
  if (!other) return;
  mica__write_node(w, "Cast", own, MICA__OPERANDS(index));
  mica__write_int(w, "to", mica__onnx_type_of(node->type.dtype));
}

MICA__WRITE(cumsum) {
  const char *x = mica__write_operand(w, node->inputs[0]);
  const char *axis = mica__write_scalar(w, MICA_I64, (double)mica__node_int(node, "axis"));
  if (mica__node_int(node, "product")) mica__write_fail(w, id, "cumulative products cannot be expressed in ONNX");
  mica__write_node(w, "CumSum", mica__write_own(w, id), MICA__OPERANDS(x, axis));
  mica__write_int(w, "exclusive", mica__node_int(node, "exclusive"));
  mica__write_int(w, "reverse", mica__node_int(node, "reverse"));
}

/* The op's second operand is the softmax's input. */
MICA__WRITE(softmax) {
  int64_t axes[MICA_MAX_RANK];
  const size_t count = mica__node_axes(node, "axes", axes);
  if (count != 1) mica__write_fail(w, id, "a softmax over %zu axes cannot be expressed in ONNX; use one axis", count);
  mica__write_node(w, !strcmp(node->op->name, "softmax") ? "Softmax" : "LogSoftmax", mica__write_own(w, id),
                   MICA__OPERANDS(mica__write_operand(w, node->inputs[1])));
  mica__write_int(w, "axis", count ? axes[0] : 0);
}
