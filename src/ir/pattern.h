/* ir/pattern.h: examines trees of nodes, for an op that looks for its written-out form (mica__op.match).
 *
 * Every function looks through nodes that change nothing: views that show all elements in the same shape and order, and
 * ops such as cast whose result has the type of their operand. It does not look through casts between types, transposes
 * and broadcasts. */
#ifndef MICA_IR_PATTERN_H
#define MICA_IR_PATTERN_H

#include "ir/graph.h"

/* Returns the first node, from id on, that changes something: follows the nodes that change nothing to their
 * operand. */
int32_t mica__pattern_behind(const mica_graph *graph, int32_t id);
/* True if the node is this op with at most four operands. inputs (may be NULL) receives the operands, looked through
 * like mica__pattern_behind; 0 if absent. The caller tries both orders of an op that commutes. */
bool mica__pattern_op(const mica_graph *graph, int32_t id, const mica__op *op, int32_t inputs[4]);
/* True if the value is one number everywhere, whatever its shape; also for views of such a value, and for casts between
 * floating types or of a whole number from 0 to 127, except to bool. Constants with more than 64 elements are not
 * examined. */
bool mica__pattern_number(const mica_graph *graph, int32_t id, double *number);
/* True if both values have the same dtype and shape. */
bool mica__pattern_same_type(const mica_graph *graph, int32_t a, int32_t b);

#endif
