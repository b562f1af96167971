/* ir/pattern.h: looking at trees of nodes, for an op that finds its written-out form (mica__op.match).
 *
 * Every function looks through what changes nothing: views that show all elements in the same shape and order, and ops
 * such as cast whose result has the type of their operand. Casts between types, transposes and broadcasts stay. */
#ifndef MICA_IR_PATTERN_H
#define MICA_IR_PATTERN_H

#include "ir/graph.h"

/* The node after what changes nothing; id itself if there is no such thing. */
int32_t mica__pattern_behind(const mica_graph *graph, int32_t id);
/* True if the node is this op with at most four operands; inputs (may be NULL) are what comes after them, 0 if
 * there is none. The caller tries both orders of an op that commutes. */
bool mica__pattern_op(const mica_graph *graph, int32_t id, const mica__op *op, int32_t inputs[4]);
/* True if the value is one number everywhere, whatever its shape; views and casts of such a value are one too.
 * Constants are looked at up to 64 elements. */
bool mica__pattern_number(const mica_graph *graph, int32_t id, double *number);
/* True if both values have one dtype and one shape. */
bool mica__pattern_same_type(const mica_graph *graph, int32_t a, int32_t b);

#endif
