/* labels: null single
 *
 * Gradients symbol to symbol. A graph of constants folds to numbers on the host, so that no device is needed. */
#include "compile/template.h"
#include "support/check_main.h"

#include <math.h>
#include <mica/nodes.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;

static void setup(void) { ck_assert_int_eq(mica_graph_create(&graph), MICA_OK); }

static void teardown(void) {
  mica_graph_destroy(graph);
  graph = NULL;
}

static mica_value vector(int64_t n, const double *values) {
  return mica_constant(graph, MICA_F64, MICA_SHAPE(n), values);
}

static mica_value sum(mica_value x) { return mica_sum(x, MICA_ALL_AXES, false); }

/* The elements of a value that is made of constants only. */
static void evaluate(mica_value value, double *out, int64_t count) {
  mica__template source, template;
  double *values = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_assert_msg(mica__template_clone(graph, &value, 1, false, &source) == MICA_OK, "%s", mica_error_message());
  mica_shape *none = calloc((size_t)source.graph->count, sizeof *none);
  ck_assert_msg(mica__template_specialise(&source, none, true, &template) == MICA_OK, "%s", mica_error_message());
  const mica__node *node = mica__graph_node(template.graph, template.outputs[0]);
  ck_assert_ptr_eq(node->op, &mica__op_stop_gradient);
  node = mica__graph_node(template.graph, node->inputs[0]);
  ck_assert_int_eq(mica__node_count(node), count);
  ck_assert_int_eq(mica__template_values(node, &values), MICA_OK);
  ck_assert_msg(values != NULL, "%s is no constant", node->op->name);
  memcpy(out, values, (size_t)count * sizeof *out);
  free(values);
  free(none);
  mica__template_free(&template);
  mica__template_free(&source);
}

static mica_value gradient(mica_value loss, mica_value wrt) {
  mica_value grad = {0};
  mica_status status = mica_gradients(loss, &wrt, 1, &grad);
  ck_assert_msg(status == MICA_OK, "%s", mica_error_message());
  return grad;
}

static const double three[] = {1.5, -2, 0.25};

START_TEST(a_product_of_uses_accumulates) {
  /* d/dx of sum(x x + x) */
  mica_value x = vector(3, three), loss = sum(mica_add(mica_mul(x, x), x));
  double d[3];
  evaluate(gradient(loss, x), d, 3);
  for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(d[i], 2 * three[i] + 1, 1e-15);
}
END_TEST

START_TEST(broadcast_operands_are_summed) {
  mica_value x = vector(3, three), s = mica_scalar(graph, MICA_F64, 3);
  mica_value loss = sum(mica_mul(x, s));
  double d;
  evaluate(gradient(loss, s), &d, 1);
  ck_assert_double_eq_tol(d, three[0] + three[1] + three[2], 1e-15);
}
END_TEST

START_TEST(independent_values_get_zeros) {
  mica_value x = vector(3, three), y = vector(3, three);
  mica_value wrt[] = {x, y}, grads[2];
  ck_assert_int_eq(mica_gradients(sum(x), wrt, 2, grads), MICA_OK);
  double d[3];
  evaluate(grads[0], d, 3);
  for (int i = 0; i < 3; i++) ck_assert_double_eq(d[i], 1);
  evaluate(grads[1], d, 3);
  for (int i = 0; i < 3; i++) ck_assert_double_eq(d[i], 0);
}
END_TEST

START_TEST(gradients_of_gradients) {
  /* d2/dx2 of sum(exp(2 x)) along ones: 4 exp(2 x) */
  mica_value x = vector(3, three);
  mica_value first = gradient(sum(mica_exp(mica_add(x, x))), x), second = gradient(sum(first), x);
  double d[3];
  evaluate(second, d, 3);
  for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(d[i], 4 * exp(2 * three[i]), 1e-12);
}
END_TEST

START_TEST(stop_gradient_stops) {
  mica_value x = vector(3, three), loss = sum(mica_mul(x, mica_stop_gradient(x)));
  double d[3];
  evaluate(gradient(loss, x), d, 3);
  for (int i = 0; i < 3; i++) ck_assert_double_eq(d[i], three[i]);
}
END_TEST

START_TEST(a_value_on_the_way_can_be_differentiated_for) {
  mica_value x = vector(3, three), y = mica_mul(x, x), loss = sum(mica_mul(y, y));
  mica_value wrt[] = {x, y}, grads[2];
  double dx[3], dy[3];
  ck_assert_int_eq(mica_gradients(loss, wrt, 2, grads), MICA_OK);
  evaluate(grads[0], dx, 3);
  evaluate(grads[1], dy, 3);
  for (int i = 0; i < 3; i++) {
    ck_assert_double_eq_tol(dy[i], 2 * three[i] * three[i], 1e-14);
    ck_assert_double_eq_tol(dx[i], 4 * three[i] * three[i] * three[i], 1e-14);
  }
}
END_TEST

START_TEST(checkpoints_compute_again_and_agree) {
  mica_value x = vector(3, three), h = x, plain = x;
  for (int i = 0; i < 6; i++) {
    h = mica_tanh(mica_add(h, x));
    plain = mica_tanh(mica_add(plain, x));
    if (i == 2 || i == 4) mica_checkpoint(h);
  }
  int32_t before = graph->count;
  double d[3], expected[3];
  evaluate(gradient(sum(plain), x), expected, 3);
  int32_t without = graph->count - before;
  before = graph->count;
  mica_value grad = gradient(sum(h), x);
  ck_assert_int_gt(graph->count - before, without);
  evaluate(grad, d, 3);
  for (int i = 0; i < 3; i++) ck_assert_double_eq_tol(d[i], expected[i], 1e-15);
  int again = 0;
  for (int32_t id = before + 1; id <= graph->count; id++) again += mica__graph_node(graph, id)->pass > 0;
  /* All that leads to a checkpoint and is none: 5 of 5 additions and 3 of 5 tanh; the rest is kept. */
  ck_assert_int_eq(again, 8);
}
END_TEST

START_TEST(wrong_losses) {
  mica_value x = mica_named(vector(3, three), "x"), grad;
  ck_assert_int_eq(mica_gradients((mica_value){0}, &x, 1, &grad), MICA_E_INVALID);
  ck_assert_int_eq(mica_gradients(x, &x, 1, &grad), MICA_E_SHAPE);
  ck_assert(mica_value_is_null(grad));
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "'x' is f64 (3)"));
  teardown();
  setup();
  mica_value n = mica_scalar(graph, MICA_I32, 1);
  ck_assert_int_eq(mica_gradients(n, &n, 1, &grad), MICA_E_DTYPE);
  teardown();
  setup();
  x = vector(3, three);
  mica_value loss = sum(x), foreign = {0};
  mica_graph *other;
  ck_assert_int_eq(mica_graph_create(&other), MICA_OK);
  foreign = mica_scalar(other, MICA_F64, 1);
  ck_assert_int_eq(mica_gradients(loss, &foreign, 1, &grad), MICA_E_INVALID);
  mica_graph_destroy(other);
}
END_TEST

static mica_status infer_same(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

START_TEST(an_op_without_gradient_is_named) {
  static const mica__op op = {
      .name = "one_way", .kind = MICA__OP_POINTWISE, .min_inputs = 1, .max_inputs = 1, .infer = infer_same};
  mica_value x = vector(3, three), y = mica_named(mica__graph_add(&op, &x, 1, NULL), "there"), grad;
  ck_assert_int_eq(mica_gradients(sum(y), &x, 1, &grad), MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "one_way"));
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "'there'"));
}
END_TEST

TESTS(ANYWHERE, setup, teardown, a_product_of_uses_accumulates, broadcast_operands_are_summed,
      independent_values_get_zeros, gradients_of_gradients, stop_gradient_stops,
      a_value_on_the_way_can_be_differentiated_for, checkpoints_compute_again_and_agree, wrong_losses,
      an_op_without_gradient_is_named)
