/* ops/select/match.h: values that are the written-out form of an op, while a graph is built. The compiler's own pass
 * (compile/rewrite.c) comes too late for a graph that is differentiated, whose backward pass uses the values inside. */
#ifndef MICA_OPS_SELECT_MATCH_H
#define MICA_OPS_SELECT_MATCH_H

#include <mica/graph.h>

/* y as the op that its tree is (mica__op.match), a new value; y itself where it is none. What stands inside of the tree
 * stays in the graph, and is computed only where something else needs it. */
mica_value mica__matched(mica_value y);

#endif
