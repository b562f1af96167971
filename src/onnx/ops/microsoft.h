/* onnx/ops/microsoft.h: helpers for the operators of onnxruntime's optimiser and quantiser. */
#ifndef MICA_ONNX_OPS_MICROSOFT_H
#define MICA_ONNX_OPS_MICROSOFT_H

#include "onnx/ops/family.h"

/* Operand k; null if it is absent. */
static inline mica_value given(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

/* Lowers a standard ONNX operator with the node's attributes on these values and returns result 0; null on failure. */
mica_value mica__lower_as(mica__lowering *l, const mica__onnx_node *node, const char *op, int64_t version,
                          const mica_value *operands, int32_t count);

#endif
