/* labels: null
 *
 * Points at which a graph is cut, the sources of a range, and cuts of even cost. */
#include "ir/cut.h"
#include "support/check_main.h"

#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static bool weights[64];
static mica__cut_points points;

static void setup(void) {
  ck_assert_int_eq(mica_graph_create(&graph), MICA_OK);
  memset(weights, 0, sizeof weights);
  points = (mica__cut_points){0};
}

static void teardown(void) {
  mica__cut_points_free(&points);
  mica_graph_destroy(graph);
}

static mica_value weight(const char *name, int64_t in, int64_t out) {
  mica_value w = mica_parameter(graph, name, MICA_F32, MICA_SHAPE(in, out));
  weights[w.id - 1] = true;
  return w;
}

static bool is_point(mica_value value) {
  for (int32_t i = 0; i < points.count; i++)
    if (points.list[i].value == value.id) return true;
  return false;
}

/* x w1 + a residual around it, then w2: inside the residual two values go on. */
START_TEST(a_point_is_where_one_value_goes_on) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(4, 8));
  mica_value w0 = weight("w0", 8, 8), w1 = weight("w1", 8, 8), w2 = weight("w2", 8, 3);
  mica_value a = mica_matmul(x, w0), inner = mica_matmul(mica_relu(a), w1), sum = mica_add(a, inner);
  mica_value y = mica_matmul(sum, w2), loss = mica_mean(y, MICA_ALL_AXES, false);
  ck_assert_int_eq(mica_graph_status(graph), MICA_OK);
  ck_assert_int_eq(mica__graph_cut_points(graph, &loss, 1, weights, &points), MICA_OK);
  ck_assert(is_point(a) && is_point(sum) && is_point(y));
  ck_assert(!is_point(inner) && !is_point(x) && !is_point(w1));
  double cost = points.rest;
  for (int32_t i = 0; i < points.count; i++) {
    ck_assert_int_ge(points.list[i].last, points.list[i].value);
    if (i) ck_assert_int_gt(points.list[i].last, points.list[i - 1].last);
    cost += points.list[i].cost;
  }
  ck_assert_double_ge(cost, 2.0 * 4 * 8 * (8 + 8 + 3));

  bool sources[64] = {false};
  ck_assert_int_eq(mica__graph_sources(graph, &points, sum.id + 1, graph->count, sources), MICA_OK);
  ck_assert(sources[w2.id - 1] && !sources[w1.id - 1] && !sources[w0.id - 1] && !sources[x.id - 1]);

  ck_assert_int_eq(mica__graph_become_input(graph, sum.id, "cut.x"), MICA_OK);
  const mica__node *node = mica__graph_node(graph, sum.id);
  ck_assert(node->op == &mica__op_input && node->input_count == 0);
  ck_assert_str_eq(node->name, "cut.x");
}
END_TEST

/* What is used behind every point, such as a tied weight's product, leaves none. */
START_TEST(a_value_that_all_read_leaves_no_point) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(4, 8)), w = weight("w", 8, 8);
  mica_value a = mica_matmul(x, w), b = mica_relu(a), c = mica_mul(b, a), d = mica_add(c, a);
  mica_value loss = mica_mean(d, MICA_ALL_AXES, false);
  ck_assert_int_eq(mica__graph_cut_points(graph, &loss, 1, weights, &points), MICA_OK);
  ck_assert(is_point(a) && !is_point(b) && !is_point(c) && is_point(d));
}
END_TEST

START_TEST(cuts_are_even) {
  static const double costs[] = {1, 1, 1, 5, 1, 1};
  int32_t cuts[4];
  ck_assert_int_eq(mica__cut_evenly(costs, 6, 2, cuts), MICA_OK);
  ck_assert(cuts[0] == 0 && cuts[2] == 6);
  ck_assert_int_eq(cuts[1], 3); /* 3 and 7; 8 and 2 cost more */
  ck_assert_int_eq(mica__cut_evenly(costs, 6, 3, cuts), MICA_OK);
  ck_assert(cuts[0] == 0 && cuts[1] == 3 && cuts[2] == 4 && cuts[3] == 6);
  static const double zeros[4];
  ck_assert_int_eq(mica__cut_evenly(zeros, 3, 3, cuts), MICA_OK);
  for (int32_t k = 0; k <= 3; k++) ck_assert_int_eq(cuts[k], k); /* every part has one */
}
END_TEST

TESTS(ANYWHERE, setup, teardown, a_point_is_where_one_value_goes_on, a_value_that_all_read_leaves_no_point,
      cuts_are_even)
