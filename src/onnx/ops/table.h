/* onnx/ops/table.h: the operators that are lowered, one row of onnx/ops/<family>.def each. */
#ifndef MICA_ONNX_OPS_TABLE_H
#define MICA_ONNX_OPS_TABLE_H

#include "onnx/lower.h"

typedef struct mica__onnx_op {
  const char *domain, *name;
  int64_t since;
  mica__lower_fn *lower;
} mica__onnx_op;

/* The row with the highest version that is no higher than this one; NULL for none. */
const mica__onnx_op *mica__onnx_op_find(const char *domain, const char *name, int64_t version);

#endif
