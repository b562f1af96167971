/* ir/cut.h: a graph cut in two where one value alone goes from the nodes before a point to those behind it. */
#ifndef MICA_IR_CUT_H
#define MICA_IR_CUT_H

#include "ir/graph.h"

/* A point: of the values up to id `last`, `value` alone is used behind it. */
typedef struct mica__cut_point {
  int32_t value, last;
  double cost; /* operations between the point before and this one */
} mica__cut_point;

/* Zeros at first. */
typedef struct mica__cut_points {
  mica__cut_point *list;
  int32_t count;
  double rest; /* operations behind the last point */
  bool *flows; /* by id - 1: the value depends on a weight and on an input; others can be made on both sides */
} mica__cut_points;

/* Finds the points of what the ends and the assignments need; weights: by id - 1, of parameters. A point's value is a
 * floating node of one result. To be freed, after a failure too. */
mica_status mica__graph_cut_points(const mica_graph *graph, const mica_value *ends, int32_t count, const bool *weights,
                                   mica__cut_points *points);
void mica__cut_points_free(mica__cut_points *points);

/* Marks, by id - 1, the sources that values which flow need, of ids from `first` to `last`; what flows before `first`
 * is taken as given. */
mica_status mica__graph_sources(const mica_graph *graph, const mica__cut_points *points, int32_t first, int32_t last,
                                bool *sources);

/* The node becomes an input of the name, of its type: what leads to it is not needed for what follows. */
mica_status mica__graph_become_input(mica_graph *graph, int32_t id, const char *name);

/* Fills cuts, parts + 1 of them, rising from 0 to count, so that the dearest of the parts, by the sum of its costs, is
 * as cheap as it can be. Every part has one at least. */
mica_status mica__cut_evenly(const double *costs, int32_t count, int32_t parts, int32_t *cuts);

#endif
