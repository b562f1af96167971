/* ir/cut.h: cuts a graph at points where a single value passes from the nodes before to the nodes after. */
#ifndef MICA_IR_CUT_H
#define MICA_IR_CUT_H

#include "ir/graph.h"

/* A cut point: of all flowing values (mica__cut_points.flows) with ids up to `last`, later flowing values use only
 * `value`. */
typedef struct mica__cut_point {
  int32_t value, last;
  double cost; /* operations since the previous point */
} mica__cut_point;

/* Zero-initialise it. */
typedef struct mica__cut_points {
  mica__cut_point *list;
  int32_t count;
  double rest; /* operations after the last point */
  bool *flows; /* by id - 1: the ends need it, and it depends on a weight and on an input; other values can be
                * computed on both sides of a cut */
} mica__cut_points;

/* Finds the cut points among the nodes that the values `ends` and the assignments need. weights[id - 1] is true for
 * each parameter that counts as a weight. A point's value is a float node with one result. Free the points, even
 * after a failure. */
mica_status mica__graph_cut_points(const mica_graph *graph, const mica_value *ends, int32_t count, const bool *weights,
                                   mica__cut_points *points);
void mica__cut_points_free(mica__cut_points *points);

/* Marks, by id - 1, the sources that flowing values from ids `first` to `last` need. Assumes that earlier flowing
 * values are given. */
mica_status mica__graph_sources(const mica_graph *graph, const mica__cut_points *points, int32_t first, int32_t last,
                                bool *sources);

/* Turns a node into an input with this name and the node's type, which no longer needs the nodes that computed it. */
mica_status mica__graph_become_input(mica_graph *graph, int32_t id, const char *name);

/* Divides `count` elements into `parts` ranges so that the largest sum of costs in a range is minimal. Every range
 * has at least one element, so parts is at most count. cuts: the parts + 1 ascending bounds, from 0 to count. */
mica_status mica__cut_evenly(const double *costs, int32_t count, int32_t parts, int32_t *cuts);

#endif
