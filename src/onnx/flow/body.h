/* onnx/flow/body.h: lowers bodies, which are the graphs in attributes of operators such as If and Loop. */
#ifndef MICA_ONNX_FLOW_BODY_H
#define MICA_ONNX_FLOW_BODY_H

#include "onnx/lowering.h"

/* Returns the body that is the node's attribute `name`; NULL, with an error recorded, if it is missing. */
const mica__onnx_graph *mica__flow_body(mica__lowering *l, const mica__onnx_node *node, const char *name);

/* Lowers a body in a new scope, in which the names of the outer scopes are visible. inputs: one tensor or sequence for
 * each input of the body; MICA_E_FORMAT if the numbers differ. outputs: receives one result for each output of the
 * body. If l->demands is set afterwards, the outputs are not usable. */
mica_status mica__flow_lower_any(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                 const mica__lower_value *inputs, size_t input_count, mica__lower_value *outputs);
/* mica__flow_lower_any for tensors only; MICA_E_UNSUPPORTED if a result is a sequence. */
mica_status mica__flow_lower(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                             const mica_value *inputs, size_t input_count, mica_value *outputs);

/* Stores *value, a tensor or a sequence, as result k of the node. */
mica_status mica__flow_give(mica__lowering *l, const mica__onnx_node *node, int32_t k, const mica__lower_value *value);

/* True if unrolling `trips` trips of the body stays within the limit on nodes. */
bool mica__flow_may_unroll(const mica__lowering *l, const mica__onnx_graph *body, int64_t trips);
/* Records the error that unrolling the body would exceed the limit on nodes. what: "trips", or what else is repeated;
 * trips: their number, or -1 if it is not known. */
mica_status mica__flow_too_long(mica__lowering *l, const mica__onnx_node *node, const mica__onnx_graph *body,
                                const char *what, int64_t trips);

/* Gets the type that the file declares for a value. False if it declares no shape, if a dimension is open, if there are
 * MICA_MAX_RANK dimensions or more, or if Mica lacks the dtype. */
bool mica__flow_declared(const Onnx__ValueInfoProto *declared, mica_dtype *dtype, mica_shape *shape);

/* True if output `index` of a loop's body is known to the host in every trip. This holds if the output depends only on
 * - the trip's number
 * - shapes
 * - names outside the body that are known
 * - carried values that are known before the first trip and after each trip
 *
 * Results of random operators, of functions, and of nodes with bodies of their own count as unknown.
 *
 * The body's inputs are the trip's number, the condition and the carried values. `carried` has the carried values
 * before the first trip. The body's outputs begin with the condition and the carried values. */
bool mica__flow_is_known(mica__lowering *l, const mica__onnx_graph *body, size_t index,
                         const mica__lower_value *carried, size_t carried_count);

/* Stacks values of one shape along a new axis; if there are none, makes an empty value of the declared type. */
mica_value mica__flow_stack(mica__lowering *l, const mica__onnx_node *node, const mica_value *values, size_t count,
                            int32_t axis, const Onnx__ValueInfoProto *declared);

#endif
