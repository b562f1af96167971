/* ops/select/match.h: finds values that spell out an op, while a graph is built. The compiler's own pass
 * (compile/rewrite.c) comes too late for a graph that is differentiated, because its backward pass uses the values
 * inside. */
#ifndef MICA_OPS_SELECT_MATCH_H
#define MICA_OPS_SELECT_MATCH_H

#include <mica/graph.h>

/* A new value: the op whose spelled-out form y's tree is (mica__op.match); else y itself. The inner values stay in the
 * graph and are computed only if something else needs them. */
mica_value mica__matched(mica_value y);

#endif
