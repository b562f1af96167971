/* onnx/indices.h: checks the indices of Gather and similar operators if the host knows them. Constants are checked when
 * the model is lowered, and inputs before each run if their elements are on the host. An index out of range is an error
 * of the node. Indices that a device computes are not checked here; if they are out of range, the device reads 0
 * (mica/nodes.h). */
#ifndef MICA_ONNX_INDICES_H
#define MICA_ONNX_INDICES_H

#include "onnx/lower.h"

/* An input that a node uses as indices. */
typedef struct mica__lower_indices {
  const char *node, *op, *operand; /* names, which the model owns */
  size_t input;                    /* the input's index among the model's inputs */
  /* The length of an index: 1, but GatherND and ScatterND have indices of several numbers, which select an element of
   * several axes. Element i is in column i % columns. */
  int32_t columns;
  int64_t extents[MICA_MAX_RANK]; /* by column: the extent of the axis that it indexes */
} mica__lower_indices;

/* Checks `indices`, which must be operand 1 of the node itself and not a cast of it. If it is a constant with an index
 * outside -extent .. extent - 1, records an error and returns false. A constant of the op `full` is not checked, and
 * neither are indices in bodies and functions. If it is an input of the model, adds it to l->indices, so that each run
 * checks it. Also returns false if `indices` is null or memory is short; in all other cases returns true. */
bool mica__lower_indices_within(mica__lowering *l, const mica__onnx_node *node, mica_value indices,
                                const int64_t *extents, int32_t columns);
/* Checks the elements of an input that is used as indices. MICA_E_INVALID names the node, the index and the extent. */
mica_status mica__lower_indices_check(const char *model, const mica__lower_indices *indices, mica_dtype dtype,
                                      const void *data, int64_t count);

#endif
