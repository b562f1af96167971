/* onnx/ops/table.h: the operators that can be lowered. Each has a row in onnx/ops/<family>.def, with its attributes
 * below:
 *
 *   ONNX_OP("", "Clip", 1, clip)            domain, operator, first version, function
 *     ONNX_ATTR("max", FLOAT, 1, 10)        attribute, type, first and last version that has it
 *     ONNX_NEEDS("to", INT, 6, LATEST)      an attribute that must be present
 *     ONNX_ONLY("spatial", 1, 8, 1)         an integer; only this value is supported
 *   ONNX_OP("", "Sign", 1, unary)
 *     ONNX_NO_ATTR                          the operator has none
 *
 * Versions are those of the domain's operator set. Attributes without a row are refused (attributes.h), so attributes
 * that do not change results (a seed, a hint) also have rows. */
#ifndef MICA_ONNX_OPS_TABLE_H
#define MICA_ONNX_OPS_TABLE_H

#include "onnx/lower.h"

typedef struct mica__onnx_op {
  const char *domain, *name;
  int64_t since;
  mica__lower_fn *lower;
} mica__onnx_op;

/* AttributeProto.type. */
enum {
  MICA__ONNX_FLOAT = 1,
  MICA__ONNX_INT,
  MICA__ONNX_STRING,
  MICA__ONNX_TENSOR,
  MICA__ONNX_GRAPH,
  MICA__ONNX_FLOATS,
  MICA__ONNX_INTS,
  MICA__ONNX_STRINGS,
  MICA__ONNX_TENSORS,
  MICA__ONNX_GRAPHS,
  MICA__ONNX_SPARSE_TENSOR,
};

typedef struct mica__onnx_attribute {
  const char *name; /* NULL in the row for an operator without attributes */
  int32_t type;
  int32_t first, last;
  bool needed, is_only;
  int64_t only; /* the only supported value, if is_only */
} mica__onnx_attribute;

/* Finds an operator's row with the highest `since` that is at most `version`; NULL if no row fits. */
const mica__onnx_op *mica__onnx_op_find(const char *domain, const char *name, int64_t version);
/* Returns the rows of an operator's attributes and sets *count. An operator without attributes has one row, without a
 * name. */
const mica__onnx_attribute *mica__onnx_op_attributes(const mica__onnx_op *op, int32_t *count);
/* Returns row i; NULL past the last. */
const mica__onnx_op *mica__onnx_op_at(size_t i);
/* Returns the newest version of a domain's operator set in the table; 0 for a domain without rows. */
int64_t mica__onnx_newest(const char *domain);

#endif
