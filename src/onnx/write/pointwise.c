/* Writes pointwise ops that need several operators, or have attributes. */
#include "onnx/write/writer.h"

#include <math.h>
#include <string.h>

static const char *x_of(mica__onnx_writer *w, const mica__node *node) {
  return mica__write_operand(w, node->inputs[0]);
}

/* Writes the ONNX operator `op` of x. Its attribute `attr` gets the value of the node's attribute `own`. */
static void with_attr(mica__onnx_writer *w, int32_t id, const mica__node *node, const char *op, const char *attr,
                      const char *own) {
  mica__write_node(w, op, mica__write_own(w, id), MICA__OPERANDS(x_of(w, node)));
  mica__write_real(w, attr, mica__node_real(node, own));
}

MICA__WRITE(leaky_relu) { with_attr(w, id, node, "LeakyRelu", "alpha", "slope"); }
MICA__WRITE(elu) { with_attr(w, id, node, "Elu", "alpha", "alpha"); }
MICA__WRITE(celu) { with_attr(w, id, node, "Celu", "alpha", "alpha"); }
MICA__WRITE(thresholded_relu) { with_attr(w, id, node, "ThresholdedRelu", "alpha", "threshold"); }

MICA__WRITE(shrink) {
  with_attr(w, id, node, "Shrink", "lambd", "threshold");
  mica__write_real(w, "bias", mica__node_real(node, "bias"));
}

MICA__WRITE(hard_sigmoid) {
  with_attr(w, id, node, "HardSigmoid", "alpha", "scale");
  mica__write_real(w, "beta", mica__node_real(node, "offset"));
}

/* A scalar constant of the result's dtype. */
static const char *number(mica__onnx_writer *w, int32_t id, double value) {
  return mica__write_scalar(w, mica__write_type_of(w, id).dtype, value);
}

static const char *unary(mica__onnx_writer *w, const char *op, const char *x, const char *own) {
  return mica__write_node(w, op, own, MICA__OPERANDS(x));
}

static const char *binary(mica__onnx_writer *w, const char *op, const char *a, const char *b, const char *own) {
  return mica__write_node(w, op, own, MICA__OPERANDS(a, b));
}

MICA__WRITE(square) {
  const char *x = x_of(w, node);
  binary(w, "Mul", x, x, mica__write_own(w, id));
}

MICA__WRITE(rsqrt) { unary(w, "Reciprocal", unary(w, "Sqrt", x_of(w, node), NULL), mica__write_own(w, id)); }

MICA__WRITE(affine) {
  const double scale = mica__node_real(node, "scale"), offset = mica__node_real(node, "offset");
  const char *x = x_of(w, node), *own = mica__write_own(w, id);
  if (scale != 1 || offset == 0) x = binary(w, "Mul", x, number(w, id, scale), offset == 0 ? own : NULL);
  if (offset != 0) binary(w, "Add", x, number(w, id, offset), own);
}

MICA__WRITE(clip) {
  const double low = mica__node_real(node, "low"), high = mica__node_real(node, "high");
  const char *from = isinf(low) ? NULL : number(w, id, low), *to = isinf(high) ? NULL : number(w, id, high);
  mica__write_node(w, "Clip", mica__write_own(w, id), MICA__OPERANDS(x_of(w, node), from, to));
}

MICA__WRITE(exp2) {
  unary(w, "Exp", binary(w, "Mul", x_of(w, node), number(w, id, log(2)), NULL), mica__write_own(w, id));
}

MICA__WRITE(expm1) { binary(w, "Sub", unary(w, "Exp", x_of(w, node), NULL), number(w, id, 1), mica__write_own(w, id)); }

MICA__WRITE(log1p) { unary(w, "Log", binary(w, "Add", x_of(w, node), number(w, id, 1), NULL), mica__write_own(w, id)); }

MICA__WRITE(log2) {
  binary(w, "Mul", unary(w, "Log", x_of(w, node), NULL), number(w, id, 1 / log(2)), mica__write_own(w, id));
}

MICA__WRITE(log10) {
  binary(w, "Mul", unary(w, "Log", x_of(w, node), NULL), number(w, id, 1 / log(10)), mica__write_own(w, id));
}

MICA__WRITE(trunc) {
  const char *x = x_of(w, node), *size = unary(w, "Floor", unary(w, "Abs", x, NULL), NULL);
  binary(w, "Mul", unary(w, "Sign", x, NULL), size, mica__write_own(w, id));
}

MICA__WRITE(isfinite) {
  const char *x = x_of(w, node);
  const char *either = binary(w, "Or", unary(w, "IsNaN", x, NULL), unary(w, "IsInf", x, NULL), NULL);
  unary(w, "Not", either, mica__write_own(w, id));
}

MICA__WRITE(not_equal) {
  const char *a = x_of(w, node), *b = mica__write_operand(w, node->inputs[1]);
  unary(w, "Not", binary(w, "Equal", a, b, NULL), mica__write_own(w, id));
}

static bool is_floating(const mica__node *node) {
  return mica_dtype_kind_of(node->type.dtype) == MICA_DTYPE_KIND_FLOAT;
}

/* Writes a - b floor(a / b) for floats. ONNX's Mod takes floats only if its result has the sign of the dividend
 * (fmod). */
MICA__WRITE(mod) {
  const char *a = x_of(w, node), *b = mica__write_operand(w, node->inputs[1]);
  if (!is_floating(node)) {
    binary(w, "Mod", a, b, mica__write_own(w, id));
    return;
  }
  const char *whole = unary(w, "Floor", binary(w, "Div", a, b, NULL), NULL);
  binary(w, "Sub", a, binary(w, "Mul", whole, b, NULL), mica__write_own(w, id));
}

MICA__WRITE(fmod) {
  binary(w, "Mod", x_of(w, node), mica__write_operand(w, node->inputs[1]), mica__write_own(w, id));
  mica__write_int(w, "fmod", 1);
}

MICA__WRITE(silu) {
  const char *x = x_of(w, node);
  binary(w, "Mul", x, unary(w, "Sigmoid", x, NULL), mica__write_own(w, id));
}

/* x (1 + f) / 2 */
static void write_gelu(mica__onnx_writer *w, int32_t id, const char *x, const char *f) {
  const char *sum = binary(w, "Mul", x, binary(w, "Add", f, number(w, id, 1), NULL), NULL);
  binary(w, "Mul", sum, number(w, id, 0.5), mica__write_own(w, id));
}

MICA__WRITE(gelu) {
  const char *x = x_of(w, node);
  if (w->opset >= 20)
    unary(w, "Gelu", x, mica__write_own(w, id));
  else
    write_gelu(w, id, x, unary(w, "Erf", binary(w, "Div", x, number(w, id, sqrt(2)), NULL), NULL));
}

MICA__WRITE(gelu_tanh) {
  const char *x = x_of(w, node);
  if (w->opset >= 20) {
    unary(w, "Gelu", x, mica__write_own(w, id));
    mica__write_text(w, "approximate", "tanh");
    return;
  }
  const char *cube = binary(w, "Mul", x, binary(w, "Mul", x, x, NULL), NULL);
  const char *inner = binary(w, "Add", x, binary(w, "Mul", cube, number(w, id, 0.044715), NULL), NULL);
  const char *scaled = binary(w, "Mul", inner, number(w, id, sqrt(2 / acos(-1))), NULL);
  write_gelu(w, id, x, unary(w, "Tanh", scaled, NULL));
}

MICA__WRITE(quick_gelu) {
  const char *x = x_of(w, node);
  const char *gate = unary(w, "Sigmoid", binary(w, "Mul", x, number(w, id, 1.702), NULL), NULL);
  binary(w, "Mul", x, gate, mica__write_own(w, id));
}

MICA__WRITE(relu2) {
  const char *positive = unary(w, "Relu", x_of(w, node), NULL);
  binary(w, "Mul", positive, positive, mica__write_own(w, id));
}

MICA__WRITE(mish) {
  const char *x = x_of(w, node);
  if (w->opset >= 18)
    unary(w, "Mish", x, mica__write_own(w, id));
  else
    binary(w, "Mul", x, unary(w, "Tanh", unary(w, "Softplus", x, NULL), NULL), mica__write_own(w, id));
}

MICA__WRITE(cast) {
  const void *known = mica__write_known(w, id);
  if (known) {
    mica__write_elements(w, mica__write_own(w, id), node->type.dtype, node->type.shape, known);
    return;
  }
  unary(w, "Cast", x_of(w, node), mica__write_own(w, id));
  mica__write_int(w, "to", mica__onnx_type_of(node->type.dtype));
}
