/* onnx/flow/body.h: lowers the body of an operator, once or a known number of times. */
#ifndef MICA_ONNX_FLOW_BODY_H
#define MICA_ONNX_FLOW_BODY_H

#include "onnx/lowering.h"

/* Returns the body in an attribute; NULL, with an error recorded, if there is none. */
const mica__onnx_graph *mica__flow_body(mica__lowering *l, const mica__onnx_node *node, const char *name);

/* Lowers a body in a new scope, which sees the names around it. inputs: tensors or sequences, one per input of the body
 * (MICA_E_FORMAT otherwise). outputs: receives one result per output of the body; unusable if l->demands is set. */
mica_status mica__flow_lower_any(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                 const mica__lower_value *inputs, size_t input_count, mica__lower_value *outputs);
/* mica__flow_lower_any for tensors only; MICA_E_UNSUPPORTED if a result is a sequence. */
mica_status mica__flow_lower(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                             const mica_value *inputs, size_t input_count, mica_value *outputs);

/* Stores result k: a tensor or a sequence. */
mica_status mica__flow_give(mica__lowering *l, const mica__onnx_node *node, int32_t k, const mica__lower_value *value);

/* True if unrolling `trips` trips of the body stays within the limit on nodes. */
bool mica__flow_may_unroll(const mica__lowering *l, const mica__onnx_graph *body, int64_t trips);
/* Records the error that unrolling the body would exceed the limit on nodes. */
mica_status mica__flow_too_long(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body);

/* Gets the type that the file declares for a value; false if a dimension is open or Mica lacks the dtype. */
bool mica__flow_declared(const Onnx__ValueInfoProto *declared, mica_dtype *dtype, mica_shape *shape);

/* True if output `index` of a loop's body is known in every trip: it depends only on the trip's number, on known names
 * around the body, on shapes, and on carried values for which the same holds. The body's inputs are the trip's number,
 * the condition and the carried values, whose first values are `carried`; its outputs begin with the condition and the
 * carried values. */
bool mica__flow_is_known(mica__lowering *l, const mica__onnx_graph *body, size_t index,
                         const mica__lower_value *carried, size_t carried_count);

/* Stacks values of one shape along a new axis; if there are none, makes an empty value of the declared type. */
mica_value mica__flow_stack(mica__lowering *l, const mica__onnx_node *node, const mica_value *values, size_t count,
                            int32_t axis, const Onnx__ValueInfoProto *declared);

#endif
