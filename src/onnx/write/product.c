/* Writes matrix products, determinants and convolutions. */
#include "onnx/write/writer.h"

#include <string.h>

MICA__WRITE(matmul) {
  const char *a = mica__write_operand(w, node->inputs[0]), *b = mica__write_operand(w, node->inputs[1]);
  mica__write_node(w, "MatMul", mica__write_own(w, id), MICA__OPERANDS(a, b));
}

MICA__WRITE(determinant) {
  mica__write_node(w, "Det", mica__write_own(w, id), MICA__OPERANDS(mica__write_operand(w, node->inputs[0])));
}

/* The mark's operands are x, w (units, C) and perhaps a bias b. If x is a matrix, writes a Gemm; if it has more axes, a
 * MatMul with the transposed w. */
MICA__WRITE_MARK(dense) {
  const int32_t *in = node->mark->inputs;
  const bool bias = node->mark->input_count > 2 && in[2];
  const char *x = mica__write_operand(w, in[0]), *weight = mica__write_operand(w, in[1]);
  const char *b = bias ? mica__write_operand(w, in[2]) : NULL, *own = mica__write_own(w, id);
  if (mica__write_type_of(w, in[0]).shape.rank == 2) {
    mica__write_node(w, "Gemm", own, MICA__OPERANDS(x, weight, b));
    mica__write_int(w, "transB", 1);
    return true;
  }
  const char *swapped = mica__write_node(w, "Transpose", NULL, MICA__OPERANDS(weight));
  mica__write_ints(w, "perm", (const int64_t[]){1, 0}, 2);
  const char *product = mica__write_node(w, "MatMul", bias ? NULL : own, MICA__OPERANDS(x, swapped));
  if (bias) mica__write_node(w, "Add", own, MICA__OPERANDS(product, b));
  return true;
}

/* If the value is the transpose of a matrix, returns the id of that matrix; else 0. */
static int32_t transpose_of(const mica__onnx_writer *w, int32_t id) {
  const mica__node *node = mica__graph_node(w->graph, mica__write_passed(w->graph, id));
  return !strcmp(node->op->name, "transpose") && node->type.shape.rank == 2 && mica__node_list(node, "axes")[0] == 1
             ? node->inputs[0]
             : 0;
}

/* Operands: a, b and c; numbers: alpha and beta. Gemm takes matrices only, so returns false if a or b is none. */
MICA__WRITE_MARK(gemm) {
  const int32_t *in = node->mark->inputs, a = transpose_of(w, in[0]), b = transpose_of(w, in[1]);
  for (int k = 0; k < 2; k++)
    if (mica__write_type_of(w, in[k]).shape.rank != 2) return false;
  mica__write_node(w, "Gemm", mica__write_own(w, id),
                   MICA__OPERANDS(mica__write_operand(w, a ? a : in[0]), mica__write_operand(w, b ? b : in[1]),
                                  mica__write_operand(w, in[2])));
  mica__write_real(w, "alpha", node->mark->numbers[0]);
  mica__write_real(w, "beta", node->mark->numbers[1]);
  if (a) mica__write_int(w, "transA", 1);
  if (b) mica__write_int(w, "transB", 1);
  return true;
}

/* Writes a convolution with the result `own`; b NULL: no bias. */
static void write_conv(mica__onnx_writer *w, int32_t conv, const char *own, const char *b) {
  const mica__node *node = mica__graph_node(w->graph, conv);
  const bool transposed = !strcmp(node->op->name, "conv_transpose");
  const mica_shape filters = mica__write_type_of(w, node->inputs[1]).shape;
  const size_t n = (size_t)filters.rank - 2;
  const int64_t *pad = mica__node_list(node, "pad"), *more = mica__node_list(node, "pad_more");
  int64_t pads[2 * MICA__MAX_SPATIAL];
  for (size_t i = 0; i < n; i++) {
    pads[i] = pad[i];
    pads[n + i] = pad[i] + more[i];
    if (pads[i] < 0 || pads[n + i] < 0) mica__write_fail(w, conv, "negative padding cannot be expressed in ONNX");
  }
  const char *x = mica__write_operand(w, node->inputs[0]), *weight = mica__write_operand(w, node->inputs[1]);
  mica__write_node(w, transposed ? "ConvTranspose" : "Conv", own, MICA__OPERANDS(x, weight, b));
  mica__write_ints(w, "kernel_shape", filters.dim + 2, n);
  mica__write_ints(w, "strides", mica__node_list(node, "stride"), n);
  mica__write_ints(w, "pads", pads, 2 * n);
  mica__write_ints(w, "dilations", mica__node_list(node, "dilation"), n);
  mica__write_int(w, "group", mica__node_int(node, "groups"));
  if (transposed) mica__write_ints(w, "output_padding", mica__node_list(node, "output_pad"), n);
}

MICA__WRITE(conv) {
  (void)node;
  write_conv(w, id, mica__write_own(w, id), NULL);
}
MICA__WRITE(conv_transpose) {
  (void)node;
  write_conv(w, id, mica__write_own(w, id), NULL);
}

/* Operands: the convolution, b (K). */
MICA__WRITE_MARK(conv_with_bias) {
  write_conv(w, node->mark->inputs[0], mica__write_own(w, id), mica__write_operand(w, node->mark->inputs[1]));
  return true;
}
