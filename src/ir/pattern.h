/* ir/pattern.h: examines trees of nodes, for an op that looks for its written-out form (mica__op.match).
 *
 * Every function, except mica__pattern_same_type, looks through nodes that change nothing: views that show all elements
 * in the same shape and order, and ops such as cast whose result has the type of their operand. Only
 * mica__pattern_number also looks through other views, and through some casts between types. */
#ifndef MICA_IR_PATTERN_H
#define MICA_IR_PATTERN_H

#include "ir/graph.h"

/* Follows nodes that change nothing to their operands, beginning with the node `id`. Returns the first node that
 * changes something. */
int32_t mica__pattern_behind(const mica_graph *graph, int32_t id);
/* True if the node is this op and has at most four operands. If inputs is not NULL, inputs[k] receives what
 * mica__pattern_behind returns for operand k; 0 for an absent operand. If the op commutes, the caller must try both
 * orders. */
bool mica__pattern_op(const mica_graph *graph, int32_t id, const mica__op *op, int32_t inputs[4]);
/* True if all elements of the value are the same number, which *number receives. Looks through all views, casts between
 * floating types, and casts of whole numbers from 0 to 127 to any type except bool. Constants with more than 64
 * elements are not examined. */
bool mica__pattern_number(const mica_graph *graph, int32_t id, double *number);
/* True if both values have the same dtype and shape. */
bool mica__pattern_same_type(const mica_graph *graph, int32_t a, int32_t b);

#endif
