/* onnx/flow/body.h: lowering the body of an operator, once or a known number of times. */
#ifndef MICA_ONNX_FLOW_BODY_H
#define MICA_ONNX_FLOW_BODY_H

#include "onnx/lowering.h"

/* The body that an attribute holds; NULL with an error recorded for none. */
const mica__onnx_graph *mica__flow_body(mica__lowering *l, const mica__onnx_node *node, const char *name);

/* Lowers a body in a scope of its own, which sees the names around it: its inputs are these values, tensors or
 * sequences, of which there are as many as it has (MICA_E_FORMAT otherwise), and outputs, with room for as many as it
 * has, becomes its results. If something is demanded they are of no use. */
mica_status mica__flow_lower_any(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                 const mica__lower_value *inputs, size_t input_count, mica__lower_value *outputs);
/* Lowers a body of tensors; MICA_E_UNSUPPORTED if a result is a sequence. */
mica_status mica__flow_lower(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                             const mica_value *inputs, size_t input_count, mica_value *outputs);

/* Gives result k: a tensor or a sequence. */
mica_status mica__flow_give(mica__lowering *l, const mica__onnx_node *node, int32_t k, const mica__lower_value *value);

/* True if `trips` times the body's nodes are not too many to stand in the graph one after another. */
bool mica__flow_may_unroll(const mica__lowering *l, const mica__onnx_graph *body, int64_t trips);
/* The error that they are. */
mica_status mica__flow_too_long(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body);

/* The type that the file declares for a value; false if a dimension is open or the dtype is not Mica's. */
bool mica__flow_declared(const Onnx__ValueInfoProto *declared, mica_dtype *dtype, mica_shape *shape);

/* True if output number `index` of a loop's body is known in every trip: made of the trip's number, of names around the
 * body that are known, of shapes, and of carried values that are such themselves. The body's inputs are the trip's
 * number, the condition and what is carried, whose first values are given; its outputs the condition and these. */
bool mica__flow_is_known(mica__lowering *l, const mica__onnx_graph *body, size_t index,
                         const mica__lower_value *carried, size_t carried_count);

/* Values of one shape one after another along a new axis; of none an empty value of what the body declares. */
mica_value mica__flow_stack(mica__lowering *l, const mica__onnx_node *node, const mica_value *values, size_t count,
                            int32_t axis, const Onnx__ValueInfoProto *declared);

#endif
