/* onnx/ops/microsoft.h: helpers for the operators of onnxruntime's optimiser and quantiser. */
#ifndef MICA_ONNX_OPS_MICROSOFT_H
#define MICA_ONNX_OPS_MICROSOFT_H

#include "onnx/ops/family.h"

/* Operand k; null if it is absent. */
static inline mica_value given(mica__lowering *l, const mica__onnx_node *node, int32_t k) {
  return mica__lower_has(l, node, k) ? mica__lower_operand(l, node, k) : (mica_value){0};
}

/* Lowers the node as if it were the standard ONNX operator `op` of this version, with the same attributes, but with the
 * given operands (null: absent) and with one result. Returns this result; null on failure, or if the lowering must
 * restart (l->demands). */
mica_value mica__lower_as(mica__lowering *l, const mica__onnx_node *node, const char *op, int64_t version,
                          const mica_value *operands, int32_t count);

#endif
