/* onnx/indices.h: indices of Gather and similar operators that are known on the host: constants when a model is
 * lowered, and inputs whose elements the host has before each run. If one of them is out of range, that is an error
 * of the node. An index that a device computes is not checked here: out of range it reads 0 (mica/nodes.h). */
#ifndef MICA_ONNX_INDICES_H
#define MICA_ONNX_INDICES_H

#include "onnx/lower.h"

/* An input that a node uses as indices. */
typedef struct mica__lower_indices {
  const char *node, *op, *operand; /* names, which the model owns */
  size_t input;                    /* the input's index among the model's inputs */
  int32_t columns;                 /* element i belongs to column i % columns; 1 except for GatherND and ScatterND */
  int64_t extents[MICA_MAX_RANK];  /* of the axis that each column indexes */
} mica__lower_indices;

/* Checks `indices`, operand 1 of the node before any cast. False, with an error recorded, if a constant has an index
 * outside -extent .. extent - 1. An input is added to l->indices for a check before each run. */
bool mica__lower_indices_within(mica__lowering *l, const mica__onnx_node *node, mica_value indices,
                                const int64_t *extents, int32_t columns);
/* Checks the elements of an input that is used as indices. MICA_E_INVALID names the node, the index and the extent. */
mica_status mica__lower_indices_check(const char *model, const mica__lower_indices *indices, mica_dtype dtype,
                                      const void *data, int64_t count);

#endif
