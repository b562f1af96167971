/* onnx/ops/family.h: helpers that most operator files use. */
#ifndef MICA_ONNX_OPS_FAMILY_H
#define MICA_ONNX_OPS_FAMILY_H

#include "onnx/lower.h"

/* Operand 0. */
static inline mica_value x_of(mica__lowering *l, const mica__onnx_node *node) {
  return mica__lower_operand(l, node, 0);
}

/* Stores result 0 and returns MICA_OK. */
static inline mica_status give(mica__lowering *l, const mica__onnx_node *node, mica_value value) {
  mica__lower_result(l, node, 0, value);
  return MICA_OK;
}

static inline bool is_floating(mica_value x) {
  return mica_dtype_kind_of(mica_value_dtype(x)) == MICA_DTYPE_KIND_FLOAT;
}

#endif
