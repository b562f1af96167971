/* ir/cut.h: cuts a graph at points where a single value passes from the nodes before to the nodes after. */
#ifndef MICA_IR_CUT_H
#define MICA_IR_CUT_H

#include "ir/graph.h"

/* A place where the graph can be cut: between the nodes up to the id `last` and the nodes after it. `value` is the only
 * flowing value (mica__cut_points.flows) from before the cut that flowing values after it use. */
typedef struct mica__cut_point {
  int32_t value, last;
  double cost; /* operations of the flowing values after the previous point, up to `last` */
} mica__cut_point;

/* Zero-initialise it. */
typedef struct mica__cut_points {
  mica__cut_point *list;
  int32_t count;
  double rest; /* operations of the flowing values after the last point */
  /* flows[id - 1] is true if the value `id` flows. A value flows if an assignment or one of the values `ends` of
   * mica__graph_cut_points needs it, and it depends both on a weight and on an input. Every other value can be computed
   * again on each side of a cut. */
  bool *flows;
} mica__cut_points;

/* Finds the cut points among the nodes that the values `ends` and the assignments need. weights[id - 1] is true for
 * each parameter that counts as a weight. A point's value is a float node with one result. Free the points, even
 * after a failure. */
mica_status mica__graph_cut_points(const mica_graph *graph, const mica_value *ends, int32_t count, const bool *weights,
                                   mica__cut_points *points);
void mica__cut_points_free(mica__cut_points *points);

/* Sets sources[id - 1] to true for the sources that the flowing values from id `first` to id `last` need; leaves the
 * other elements unchanged. Flowing values before `first` are assumed to be known, so their sources are not
 * included. */
mica_status mica__graph_sources(const mica_graph *graph, const mica__cut_points *points, int32_t first, int32_t last,
                                bool *sources);

/* Turns a node into an input with this name, of the node's type. The node then has no operands of its own. */
mica_status mica__graph_become_input(mica_graph *graph, int32_t id, const char *name);

/* Divides `count` elements into `parts` ranges so that the largest sum of costs in a range is minimal. Every range has
 * at least one element, so parts must be at most count. cuts: the parts + 1 ascending bounds, from 0 to count. */
mica_status mica__cut_evenly(const double *costs, int32_t count, int32_t parts, int32_t *cuts);

#endif
