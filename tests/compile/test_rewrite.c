/* labels: device single
 *
 * Written-out forms become ops: each in several spellings, where nothing else needs what is inside, and nowhere
 * else. */
#include "compile/template.h"
#include "ops/select/match.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE MICA_SHAPE(2, 3)

static mica_value number(mica_value x, double value) { return mica_scalar(x.graph, mica_value_dtype(x), value); }

/* --- spellings --- */

static mica_value silu_product(mica_value x) { return mica_mul(mica_sigmoid(x), x); }
static mica_value silu_quotient(mica_value x) { return mica_div(x, mica_add(number(x, 1), mica_exp(mica_neg(x)))); }
static mica_value silu_reciprocal(mica_value x) {
  return mica_mul(x, mica_reciprocal(mica_affine(mica_exp(mica_affine(x, -1, 0)), 1, 1)));
}
static mica_value gelu_half_last(mica_value x) {
  mica_value erf = mica_erf(mica_div(x, number(x, 1.41421354)));
  return mica_mul(mica_mul(x, mica_add(erf, number(x, 1))), number(x, 0.5));
}
static mica_value gelu_half_first(mica_value x) {
  mica_value erf = mica_erf(mica_affine(x, 0.70710678, 0));
  return mica_mul(mica_affine(x, 0.5, 0), mica_affine(erf, 1, 1));
}
static mica_value gelu_distribution(mica_value x) {
  return mica_mul(mica_affine(mica_erf(mica_mul(x, number(x, 0.70710678))), 0.5, 0.5), x);
}
static mica_value tanh_cube(mica_value x) {
  mica_value inner = mica_add(x, mica_mul(number(x, 0.044715), mica_pow(x, number(x, 3))));
  mica_value tanh = mica_tanh(mica_mul(number(x, 0.7978846), inner));
  return mica_mul(mica_mul(number(x, 0.5), x), mica_add(number(x, 1), tanh));
}
static mica_value tanh_square(mica_value x) {
  mica_value inner = mica_mul(mica_affine(x, 0.7978846, 0), mica_affine(mica_mul(x, x), 0.044715, 1));
  return mica_mul(x, mica_affine(mica_tanh(inner), 0.5, 0.5));
}
static mica_value mish_tanh(mica_value x) { return mica_mul(x, mica_tanh(mica_softplus(x))); }
static mica_value swish_clip(mica_value x) {
  return mica_div(mica_mul(x, mica_clip(mica_add(x, number(x, 3)), 0, 6)), number(x, 6));
}
static mica_value swish_hard_sigmoid(mica_value x) { return mica_mul(x, mica_hard_sigmoid(x, 1.0 / 6, 0.5)); }

/* --- what is near, but is none --- */

static mica_value other_scale(mica_value x) { return mica_mul(x, mica_sigmoid(mica_affine(x, 1.702, 0))); }
static mica_value other_half(mica_value x) {
  return mica_mul(x, mica_affine(mica_erf(mica_affine(x, 0.7, 0)), 0.5, 0.5));
}
static mica_value other_gate(mica_value x) { return mica_mul(mica_square(x), mica_sigmoid(x)); }
static mica_value other_cube(mica_value x) {
  mica_value inner = mica_mul(mica_affine(x, 0.7978846, 0), mica_affine(mica_mul(x, x), 0.05, 1));
  return mica_mul(x, mica_affine(mica_tanh(inner), 0.5, 0.5));
}

static const struct {
  mica_value (*build)(mica_value x);
  const char *op;
} forms[] = {
    {silu_product, "silu"},
    {silu_quotient, "silu"},
    {silu_reciprocal, "silu"},
    {gelu_half_last, "gelu"},
    {gelu_half_first, "gelu"},
    {gelu_distribution, "gelu"},
    {tanh_cube, "gelu_tanh"},
    {tanh_square, "gelu_tanh"},
    {mish_tanh, "mish"},
    {swish_clip, "hard_swish"},
    {swish_hard_sigmoid, "hard_swish"},
    {other_scale, NULL},
    {other_half, NULL},
    {other_gate, NULL},
    {other_cube, NULL},
};
#define FORMS ((int)(sizeof forms / sizeof *forms))

typedef struct specialised {
  mica_graph *graph;
  mica__template source, made;
} specialised;

static mica_value input_of(specialised *s, mica_shape shape) {
  ck_ok(mica_graph_create(&s->graph));
  return mica_input(s->graph, "x", MICA_F32, shape);
}

/* The op of output 0 of the template that a session would run. */
static const mica__node *specialise(specialised *s, const mica_value *outputs, size_t count) {
  ck_assert_str_eq(mica_graph_message(s->graph), "");
  ck_ok(mica__template_clone(s->graph, outputs, count, true, &s->source));
  mica_shape *shapes = calloc((size_t)s->source.graph->count + 1, sizeof *shapes);
  for (int32_t i = 0; i < s->source.graph->count; i++) shapes[i] = SHAPE;
  ck_ok(mica__template_specialise(&s->source, shapes, true, &s->made));
  free(shapes);
  return mica__graph_node(s->made.graph, s->made.outputs[0]);
}

static void release(specialised *s) {
  mica__template_free(&s->made);
  mica__template_free(&s->source);
  mica_graph_destroy(s->graph);
}

START_TEST(spellings_are_found) {
  specialised s = {0};
  mica_value y = forms[_i].build(input_of(&s, _i % 2 ? SHAPE : MICA_SHAPE(MICA_DYNAMIC, 3)));
  const char *own = mica__graph_node(s.graph, y.id)->op->name;
  const mica__node *node = specialise(&s, &y, 1);
  ck_assert_str_eq(node->op->name, forms[_i].op ? forms[_i].op : own);
  if (forms[_i].op) ck_assert_str_eq(mica__graph_node(s.made.graph, node->inputs[0])->op->name, "input");
  release(&s);
}
END_TEST

START_TEST(spellings_are_found_while_building) {
  specialised s = {0};
  mica_value y = forms[_i].build(input_of(&s, SHAPE)), matched = mica__matched(y);
  if (forms[_i].op)
    ck_assert_str_eq(mica__graph_node(s.graph, matched.id)->op->name, forms[_i].op);
  else
    ck_assert_int_eq(matched.id, y.id);
  release(&s);
}
END_TEST

START_TEST(what_another_needs_stays) {
  specialised s = {0};
  mica_value x = input_of(&s, SHAPE), gate = mica_sigmoid(x);
  mica_value outputs[] = {mica_mul(x, gate), mica_affine(gate, 2, 1)};
  ck_assert_str_eq(specialise(&s, outputs, 2)->op->name, "mul");
  release(&s);
}
END_TEST

START_TEST(broadcast_operands_are_no_form) {
  specialised s = {0};
  mica_value x = input_of(&s, SHAPE);
  mica_value row = mica_max(x, MICA_AXES(0), true);
  mica_value y = mica_mul(mica_expand(mica_sigmoid(row), SHAPE), row);
  ck_assert_str_ne(specialise(&s, &y, 1)->op->name, "silu");
  release(&s);
}
END_TEST

START_TEST(marks_go_with_their_nodes) {
  specialised s = {0};
  mica_value x = input_of(&s, SHAPE), half = mica_affine(x, 0.5, 0), y = mica_exp(half);
  mica__graph_mark(y, "half_exp", (mica_value[]){x, {0}, half}, 3, (double[]){0.5}, 1);
  const mica__node *node = specialise(&s, &y, 1);
  ck_assert_ptr_nonnull(node->mark);
  ck_assert_str_eq(node->mark->name, "half_exp");
  ck_assert_int_eq(node->mark->input_count, 3);
  ck_assert_str_eq(mica__graph_node(s.made.graph, node->mark->inputs[0])->op->name, "input");
  ck_assert_int_eq(node->mark->inputs[1], 0);
  ck_assert_str_eq(mica__graph_node(s.made.graph, node->mark->inputs[2])->op->name, "affine");
  ck_assert_double_eq(node->mark->numbers[0], 0.5);
  release(&s);
}
END_TEST

/* The session that rewrites gives what the one that does not gives, within a few units in the last place of 1. */
START_TEST(results_are_those_of_the_form) {
  const float values[6] = {-4.5F, -1, -0.25F, 0, 0.75F, 6}, *got[2];
  float results[2][6];
  mica_tensor *x = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, SHAPE, values, &x));
  for (int plain = 0; plain < 2; plain++) {
    specialised s = {0};
    mica_value y = forms[_i].build(input_of(&s, SHAPE));
    mica_session_config config = {.no_simplify = plain};
    mica_session *session = NULL;
    ck_ok(mica_session_create(test_engine(), s.graph, &y, 1, &config, &session));
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), results[plain], sizeof results[plain]));
    got[plain] = results[plain];
    mica_session_destroy(session);
    release(&s);
  }
  for (int i = 0; i < 6; i++) ck_assert_float_eq_tol(got[0][i], got[1][i], 4e-6F);
  mica_tensor_destroy(x);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(spellings_are_found, 0, FORMS), LOOP(spellings_are_found_while_building, 0, FORMS),
      what_another_needs_stays, broadcast_operands_are_no_form, marks_go_with_their_nodes,
      LOOP(results_are_those_of_the_form, 0, FORMS))
