/* onnx/flow/host.h: operators that the host computes, during lowering if all operands are known, else between two
 * stages of a run. */
#ifndef MICA_ONNX_FLOW_HOST_H
#define MICA_ONNX_FLOW_HOST_H

#include "onnx/lower.h"

/* An operand or a result. A mica__host_fn allocates the data of its results, and its caller frees them. */
typedef struct mica__host_array {
  mica_dtype dtype;
  mica_shape shape;
  int64_t count;
  void *data;
} mica__host_array;

/* Computes the results from the operands. The structs of the results are zero before the call. config is a copy of the
 * config that mica__lower_host received. */
typedef mica_status mica__host_fn(const void *config, const mica__host_array *operands, mica__host_array *results);

/* Lowers a node to a call of `compute` on the host. The `bytes` bytes of config are copied. `why` is the reason that
 * mica_onnx_cut_at reports if the model must be cut. */
mica_status mica__lower_host(mica__lowering *l, const mica__onnx_node *node, const char *why, mica__host_fn *compute,
                             const void *config, size_t bytes, const mica_value *operands, size_t operand_count,
                             mica_value *results, size_t result_count);

/* Allocates an i64 result; NULL if memory is short. */
int64_t *mica__host_integers(mica__host_array *result, mica_shape shape);
/* Converts an operand's elements to doubles, which the caller frees; NULL if memory is short. */
double *mica__host_reals(const mica__host_array *operand);

#endif
