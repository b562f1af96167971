/* ops/select/match.h: finds values that are written out in several nodes but equal one op, while a graph is built. The
 * compiler does this too (compile/rewrite.c), but too late for a graph that is differentiated: its backward pass
 * already uses the intermediate values. */
#ifndef MICA_OPS_SELECT_MATCH_H
#define MICA_OPS_SELECT_MATCH_H

#include <mica/graph.h>

/* Returns a new value of the op that recognises the tree of y as its own written-out form (mica__op.match), or y
 * itself if none does. The inner values stay in the graph and are computed only if something else needs them. */
mica_value mica__matched(mica_value y);

#endif
