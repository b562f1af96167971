/* onnx/indices.h: indices of Gather and its like that are known on the host: constants when a model is lowered, inputs
 * whose elements the host has before each run. An index outside is an error of the node's; one that a device computes
 * reads 0 (mica/nodes.h). */
#ifndef MICA_ONNX_INDICES_H
#define MICA_ONNX_INDICES_H

#include "onnx/lower.h"

/* An input that a node takes as its indices. */
typedef struct mica__lower_indices {
  const char *node, *op, *operand; /* names, which the model owns */
  size_t input;                    /* its place among the model's inputs */
  int32_t columns;                 /* indices take these by turns: 1 but for GatherND and ScatterND */
  int64_t extents[MICA_MAX_RANK];  /* of the axis that a column counts along */
} mica__lower_indices;

/* True if `indices`, operand 1 of the node before any cast, may go on; false with an error recorded for a constant with
 * an index outside -extent .. extent - 1. An input is remembered in l->indices. */
bool mica__lower_indices_within(mica__lowering *l, const mica__onnx_node *node, mica_value indices,
                                const int64_t *extents, int32_t columns);
/* Looks at the elements of such an input. MICA_E_INVALID names the node, the index and the extent. */
mica_status mica__lower_indices_check(const char *model, const mica__lower_indices *indices, mica_dtype dtype,
                                      const void *data, int64_t count);

#endif
