/* Operators of com.microsoft that onnxruntime's quantiser writes, computed on dequantised values. */
#include "onnx/ops/microsoft.h"

#include <mica/quant.h>

/* Dequantises operand k with the scale of operand k + 1 and the zero point of operand k + 2 (0 if absent). */
static mica_value real_of(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  mica_value x = mica__lower_operand(l, node, k), scale = mica__lower_operand(l, node, k + 1);
  if (!x.graph || !scale.graph) return (mica_value){0};
  const mica_quantize_config config = {.axis = mica_value_shape(x).rank - 1};
  return mica_dequantize(x, scale, given(l, node, k + 2), &config);
}

/* Stores result 0: y quantised with the scale and zero point of operands k and k + 1; as u8 if the zero point is
 * absent. */
static mica_status give_quantized(mica__lowering *l, const mica__onnx_node *node, mica_value y, int32_t k) {
  mica_value scale = mica__lower_operand(l, node, k), zero = given(l, node, k + 1);
  if (!y.graph || !scale.graph) return MICA_OK;
  const mica_quantize_config config = {.dtype = zero.graph ? mica_value_dtype(zero) : MICA_U8};
  return give(l, node, mica_quantize(y, scale, zero, &config));
}

MICA__LOWER(qlinear_add) {
  mica_value a = real_of(l, node, 0), b = real_of(l, node, 3);
  return a.graph && b.graph ? give_quantized(l, node, mica_add(a, b), 6) : MICA_OK;
}

MICA__LOWER(qlinear_mul) {
  mica_value a = real_of(l, node, 0), b = real_of(l, node, 3);
  return a.graph && b.graph ? give_quantized(l, node, mica_mul(a, b), 6) : MICA_OK;
}

MICA__LOWER(qlinear_sigmoid) {
  mica_value x = real_of(l, node, 0);
  return x.graph ? give_quantized(l, node, mica_sigmoid(x), 3) : MICA_OK;
}

MICA__LOWER(qlinear_leaky_relu) {
  mica_value x = real_of(l, node, 0);
  return x.graph ? give_quantized(l, node, mica_leaky_relu(x, mica__onnx_real(node, "alpha", 0.01)), 3) : MICA_OK;
}

static mica_status through(mica__lowering *l, const mica__onnx_node *node, const char *op, int64_t version) {
  mica_value x = real_of(l, node, 0);
  if (!x.graph) return MICA_OK;
  if (mica__onnx_int(node, "channels_last", 0))
    return mica__lower_fail(l, node, MICA_E_UNSUPPORTED, "channels_last is not supported");
  return give_quantized(l, node, mica__lower_as(l, node, op, version, &x, 1), 3);
}

MICA__LOWER(qlinear_softmax) { return through(l, node, "Softmax", mica__onnx_int(node, "opset", 13)); }
MICA__LOWER(qlinear_average_pool) { return through(l, node, "AveragePool", 11); }
MICA__LOWER(qlinear_global_average_pool) { return through(l, node, "GlobalAveragePool", 1); }

/* The operands are the scale and zero point of the result, then for each tensor to concatenate its elements, scale and
 * zero point. */
MICA__LOWER(qlinear_concat) {
  int32_t count = (node->input_count - 2) / 3;
  int64_t axis = mica__onnx_int(node, "axis", 0);
  mica_value *parts = mica__lower_room(l, (size_t)(count > 0 ? count : 1), sizeof *parts);
  if (!parts) return MICA_E_NOMEM;
  if (count < 1)
    return mica__lower_fail(
        l, node, MICA_E_FORMAT,
        "the node has %d inputs, but must have at least 5: a scale, a zero point, and 3 inputs per tensor",
        (int)node->input_count);
  for (int32_t i = 0; i < count; i++) {
    parts[i] = real_of(l, node, 2 + 3 * i);
    if (!parts[i].graph) return MICA_OK;
  }
  if (!mica__lower_axis(l, node, mica_value_shape(parts[0]).rank, &axis)) return MICA_OK;
  return give_quantized(l, node, count > 1 ? mica_concat(parts, (size_t)count, (int32_t)axis) : parts[0], 0);
}

/* Dequantises a matrix from operands k to k + 2, and transposes it if the attribute named by `flips` is not 0. */
static mica_value matrix_of(mica__lowering *l, const mica__onnx_node *node, int32_t k, const char *flips) {
  mica_value m = mica__lower_operand(l, node, k), scale = mica__lower_operand(l, node, k + 1);
  if (!m.graph || !scale.graph) return (mica_value){0};
  bool flip = mica__onnx_int(node, flips, 0) != 0;
  const mica_quantize_config config = {.axis = flip ? 0 : mica_value_shape(m).rank - 1};
  mica_value real = mica_dequantize(m, scale, given(l, node, k + 2), &config);
  return flip ? mica_transpose(real, MICA_AXES(1, 0)) : real;
}

/* Computes alpha a b + c, where c is i32 with the scale alpha scale_a scale_b. If the node gives no scale for the
 * result, the result is floating. */
MICA__LOWER(qgemm) {
  double alpha = mica__onnx_real(node, "alpha", 1);
  mica_value a = matrix_of(l, node, 0, "transA"), b = matrix_of(l, node, 3, "transB"), c = given(l, node, 6);
  if (!a.graph || !b.graph) return MICA_OK;
  mica_value y = mica_matmul(a, b);
  if (alpha != 1) y = mica_affine(y, alpha, 0);
  if (c.graph) {
    mica_value scale = mica_mul(mica__lower_operand(l, node, 1), mica__lower_operand(l, node, 4));
    if (alpha != 1) scale = mica_affine(scale, alpha, 0);
    y = mica_add(y, mica_mul(mica_cast(c, mica_value_dtype(y)), scale));
  }
  return mica__lower_has(l, node, 7) ? give_quantized(l, node, y, 7) : give(l, node, y);
}

MICA__LOWER(matmul_integer_to_float) {
  mica_value m[2], bias = given(l, node, 6);
  for (int32_t k = 0; k < 2; k++) {
    mica_value x = mica__lower_operand(l, node, k), scale = mica__lower_operand(l, node, 2 + k);
    if (!x.graph || !scale.graph) return MICA_OK;
    const mica_quantize_config config = {.axis = mica_value_shape(x).rank - 1};
    m[k] = mica_dequantize(x, scale, given(l, node, 4 + k), &config);
  }
  mica_value y = mica_matmul(m[0], m[1]);
  return give(l, node, bias.graph ? mica_add(y, bias) : y);
}

/* a is quantised to u8 by its own range, extended to include 0. */
MICA__LOWER(dynamic_quantize_matmul) {
  mica_value a = x_of(l, node), b = mica__lower_operand(l, node, 1), b_scale = mica__lower_operand(l, node, 2);
  mica_value b_zero = given(l, node, 3), bias = given(l, node, 4);
  if (!a.graph || !b.graph || !b_scale.graph) return MICA_OK;
  mica_value zero, scale = mica__lower_byte_range(a, &zero);
  const mica_quantize_config whole = {.dtype = MICA_U8}, columns = {.axis = mica_value_shape(b).rank - 1};
  mica_value x = mica_dequantize(mica_quantize(a, scale, zero, &whole), scale, zero, &whole);
  mica_value y = mica_matmul(x, mica_dequantize(b, b_scale, b_zero, &columns));
  return give(l, node, bias.graph ? mica_add(y, bias) : y);
}
