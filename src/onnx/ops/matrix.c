#include "onnx/ops/family.h"

#include <string.h>

/* Integers are multiplied as doubles, whose products and sums are exact up to 2^53. */
static mica_value as_double(mica_value x) { return is_floating(x) ? x : mica_cast(x, MICA_F64); }

MICA__LOWER(matmul) { return give(l, node, mica_matmul(x_of(l, node), mica__lower_operand(l, node, 1))); }

MICA__LOWER(gemm) {
  mica_value a = x_of(l, node), b = mica__lower_operand(l, node, 1), c = {0};
  if (!a.graph || !b.graph) return MICA_OK;
  mica_dtype dtype = mica_value_dtype(a);
  if (mica__lower_has(l, node, 2)) c = as_double(mica__lower_operand(l, node, 2));
  if (mica__onnx_int(node, "transA", 0)) a = mica_transpose(a, MICA_AXES(1, 0));
  if (mica__onnx_int(node, "transB", 0)) b = mica_transpose(b, MICA_AXES(1, 0));
  double alpha = mica__onnx_real(node, "alpha", 1), beta = mica__onnx_real(node, "beta", 1);
  return give(l, node, mica_cast(mica_gemm(as_double(a), as_double(b), c, alpha, beta), dtype));
}

MICA__LOWER(einsum) {
  const Onnx__AttributeProto *attr = mica__onnx_attr(node, "equation");
  size_t length = attr ? attr->s.len : 0;
  char *equation = mica__lower_room(l, length + 1, 1);
  mica_value *values = mica__lower_room(l, (size_t)node->input_count, sizeof *values);
  if (!equation || !values) return MICA_E_NOMEM;
  if (length) memcpy(equation, attr->s.data, length);
  for (int32_t k = 0; k < node->input_count; k++) {
    values[k] = as_double(mica__lower_operand(l, node, k));
    if (!values[k].graph) return MICA_OK;
  }
  mica_dtype dtype = mica_value_dtype(x_of(l, node));
  return give(l, node, mica_cast(mica_einsum(equation, values, (size_t)node->input_count), dtype));
}
