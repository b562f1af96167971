/* labels: null single
 *
 * Graphs as data: sticky builders, sentences that name what is wrong, names, assignments and dumps. */
#include "ir/graph.h"
#include "support/check_main.h"

#include <stdlib.h>
#include <string.h>

/* An op of the test's own: broadcasts two operands of one dtype. */
static mica_status infer_join(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  return mica__shape_broadcast(inputs[0].shape, inputs[1].shape, &out->shape);
}
static const mica__op op_join = {.name = "join",
                                 .kind = MICA__OP_POINTWISE,
                                 .min_inputs = 2,
                                 .max_inputs = 2,
                                 .dtypes = "*0>0",
                                 .infer = infer_join};

/* An op whose operands 2 to 4 may be absent; operand 2 is a mask, operand 4 indices. */
#define GATHERED_ATTRS(X, S)                                                                                           \
  X(S, INT, present, 0, "bit k: operand k is there")                                                                   \
  X(S, INT, length, 0, "of operand 4")
MICA__ATTR_STRUCT(gathered, GATHERED_ATTRS);
static MICA__ATTR_TABLE(gathered, GATHERED_ATTRS);
static mica_status infer_gathered(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  mica__gathered_attrs *own = attrs;
  int32_t last = mica__present_index(own->present, 4);
  ck_assert_int_lt(last, input_count);
  out->shape = inputs[0].shape;
  own->length = last < 0 ? -1 : inputs[last].shape.dim[0];
  return MICA_OK;
}
static const mica__op op_gathered = {.name = "gathered",
                                     .kind = MICA__OP_LAUNCH,
                                     .min_inputs = 2,
                                     .max_inputs = 5,
                                     .attrs = &mica__gathered_attr_list,
                                     .dtypes = "f0b1x>1",
                                     .infer = infer_gathered};

static mica_graph *graph;

static mica_value join(mica_value a, mica_value b) { return mica__graph_add(&op_join, (mica_value[]){a, b}, 2, NULL); }

static mica_value input(const char *name, mica_shape shape) { return mica_input(graph, name, MICA_F32, shape); }

static void setup(void) { ck_assert_int_eq(mica_graph_create(&graph), MICA_OK); }

static void teardown(void) {
  mica_graph_destroy(graph);
  graph = NULL;
}

/* The graph failed with that status and a sentence that holds every one of the texts. */
static void expect_failure(mica_status status, const char *a, const char *b, const char *c) {
  ck_assert_int_eq(mica_graph_status(graph), status);
  const char *message = mica_graph_message(graph), *texts[] = {a, b, c};
  for (int i = 0; i < 3; i++) ck_assert_msg(strstr(message, texts[i]) != NULL, "no '%s' in: %s", texts[i], message);
}

START_TEST(shapes_broadcast_and_open_dimensions_pass) {
  mica_value x = input("x", MICA_SHAPE(MICA_DYNAMIC, 3)), row = input("row", MICA_SHAPE(3));
  mica_value y = join(x, row);
  ck_assert(mica_shape_equal(mica_value_shape(y), MICA_SHAPE(MICA_DYNAMIC, 3)));
  ck_assert(mica_shape_equal(mica_value_shape(join(y, x)), MICA_SHAPE(MICA_DYNAMIC, 3)));
  ck_assert(mica_shape_equal(mica_value_shape(join(y, input("z", MICA_SHAPE(5, 1)))), MICA_SHAPE(5, 3)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_OK);
  ck_assert_str_eq(mica_graph_message(graph), "");
}
END_TEST

START_TEST(shape_mismatch_names_shapes_and_nodes) {
  mica_value x = input("x", MICA_SHAPE(64, 784)), bad = join(x, input("bias", MICA_SHAPE(128)));
  ck_assert(mica_value_is_null(bad));
  expect_failure(MICA_E_SHAPE, "join(%1 'x' f32 (64, 784), %2 'bias' f32 (128))", "(64, 784)", "(128)");
}
END_TEST

START_TEST(open_dimensions_do_not_hide_a_mismatch) {
  join(input("x", MICA_SHAPE(MICA_DYNAMIC, 3)), input("y", MICA_SHAPE(2, 4)));
  expect_failure(MICA_E_SHAPE, "(?, 3)", "(2, 4)", "'x'");
}
END_TEST

START_TEST(dtype_mismatch_names_both) {
  join(input("x", MICA_SHAPE(2)), mica_scalar(graph, MICA_I64, 1));
  expect_failure(MICA_E_DTYPE, "f32", "i64", "'x'");
}
END_TEST

START_TEST(errors_of_a_caller) {
  mica_value x = mica_graph_fail(graph, MICA_E_FORMAT, "a sentence");
  ck_assert_ptr_null(x.graph);
  mica_graph_fail(graph, MICA_E_NOMEM, "a later one");
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_FORMAT);
  ck_assert_str_eq(mica_graph_message(graph), "a sentence");
  mica_graph_fail(NULL, MICA_OK, NULL);
  ck_assert_str_eq(mica_error_message(), mica_status_name(MICA_E_INVALID));
}
END_TEST

START_TEST(null_and_foreign_values) {
  mica_value x = input("x", MICA_SHAPE(2));
  ck_assert(mica_value_is_null(join(x, (mica_value){0})));
  expect_failure(MICA_E_INVALID, "join", "operand 1", "null value");
  teardown();
  setup();
  mica_graph *other;
  ck_assert_int_eq(mica_graph_create(&other), MICA_OK);
  x = input("x", MICA_SHAPE(2));
  ck_assert(mica_value_is_null(join(x, mica_scalar(other, MICA_F32, 1))));
  expect_failure(MICA_E_INVALID, "join", "operand 1", "another graph");
  ck_assert_int_eq(mica_graph_status(other), MICA_OK);
  mica_graph_destroy(other);
}
END_TEST

/* An id that is not made yet is the only way to ask for a cycle. */
START_TEST(operands_may_be_absent) {
  const mica_value none = {0}, x = input("x", MICA_SHAPE(2)), y = input("y", MICA_SHAPE(2)),
                   mask = mica_input(graph, "mask", MICA_BOOL, MICA_SHAPE(2)),
                   n = mica_input(graph, "n", MICA_I32, MICA_SHAPE(7));
  mica__gathered_attrs attrs = {0};
  mica_value z = mica__graph_add_present(&op_gathered, (mica_value[]){x, y, none, none, n}, 5, &attrs);
  const mica__node *node = mica__graph_node(graph, z.id);
  const mica__gathered_attrs *own = node->attrs;
  ck_assert(node->input_count == 3 && node->inputs[2] == n.id && own->present == 19 && own->length == 7);
  ck_assert(node->type.dtype == MICA_F32);
  ck_assert_int_eq(mica__present_index(19, 1), 1);
  ck_assert_int_eq(mica__present_index(19, 2), -1);
  ck_assert_int_eq(mica__present_index(19, 4), 2);
  z = mica__graph_add_present(&op_gathered, (mica_value[]){x, y, mask}, 3, &attrs);
  node = mica__graph_node(graph, z.id);
  own = node->attrs;
  ck_assert(node->input_count == 3 && node->inputs[2] == mask.id && own->present == 7 && own->length == -1);
  ck_assert(mica_value_is_null(mica__graph_add_present(&op_gathered, (mica_value[]){none, none, none}, 3, &attrs)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_OK);
}
END_TEST

/* Faults are told by the number of the operand, absent ones counted. */
START_TEST(absent_operands_keep_their_numbers) {
  const mica_value none = {0}, x = input("x", MICA_SHAPE(2));
  mica__gathered_attrs attrs = {0};
  switch (_i) {
  case 0:
    mica__graph_add_present(&op_gathered, (mica_value[]){x, x, none, none, x}, 5, &attrs);
    expect_failure(MICA_E_DTYPE, "operand 4 is f32", "indices of i32 or i64", "gathered(%1 'x' f32 (2), ");
    break;
  case 1:
    mica__graph_add_present(&op_gathered, (mica_value[]){x, none, none}, 3, &attrs);
    expect_failure(MICA_E_INVALID, "gathered: operand 1 is the null value", "", "");
    break;
  case 2:
    mica__graph_add_present(&op_gathered, (mica_value[]){x, x, none, none, none, none}, 6, &attrs);
    expect_failure(MICA_E_INVALID, "gathered: the number of operands is 6, but must be at most 5", "", "");
    break;
  case 3: /* the attribute is the callee's to set */
    mica__graph_add(&op_gathered, (mica_value[]){x, x}, 2, &attrs);
    expect_failure(MICA_E_INVALID, "there are 2 operands, but the attribute `present` names 0", "", "");
    break;
  default:
    mica__graph_add_present(&op_gathered, (mica_value[]){x, mica_input(graph, "h", MICA_F16, MICA_SHAPE(2))}, 2,
                            &attrs);
    expect_failure(MICA_E_DTYPE, "operand 1 is f16, but must be f32, as operand 0 is", "", "");
  }
}
END_TEST

START_TEST(no_cycle_through_the_api) {
  mica_value x = input("x", MICA_SHAPE(2)), ahead = {.graph = graph, .id = 2};
  ck_assert(mica_value_is_null(join(x, ahead)));
  expect_failure(MICA_E_INVALID, "join", "operand 1", "not a value of its graph");
}
END_TEST

START_TEST(the_first_error_stays) {
  mica_value x = input("x", MICA_SHAPE(2)), bad = join(x, input("y", MICA_SHAPE(3)));
  mica_value worse = join(join(bad, x), mica_scalar(graph, MICA_I8, 0));
  ck_assert(mica_value_is_null(worse));
  ck_assert(mica_value_is_null(mica_named(worse, "worse")));
  ck_assert(mica_value_is_null(mica_checkpoint(worse)));
  ck_assert(mica_value_is_null(mica_stop_gradient(worse)));
  ck_assert_int_eq(mica_value_shape(worse).rank, 0);
  mica_assign(x, worse);
  expect_failure(MICA_E_SHAPE, "(2)", "(3)", "join");
}
END_TEST

START_TEST(sources_are_checked) {
  mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 2));
  expect_failure(MICA_E_SHAPE, "parameter", "'w'", "(?, 2)");
  teardown();
  setup();
  input("x", MICA_SHAPE(2));
  mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(2));
  expect_failure(MICA_E_INVALID, "'x'", "already used", "input");
  teardown();
  setup();
  mica_input(graph, "x", MICA_DTYPE_COUNT, MICA_SHAPE(2));
  expect_failure(MICA_E_DTYPE, "input", "'x'", "not a dtype");
  teardown();
  setup();
  mica_constant(graph, MICA_F32, MICA_SHAPE(2), NULL);
  expect_failure(MICA_E_INVALID, "constant", "needs", "data");
  ck_assert(mica_value_is_null(mica_input(NULL, "x", MICA_F32, MICA_SCALAR)));
  ck_assert(mica_value_is_null(mica_scalar(NULL, MICA_F32, 0)));
}
END_TEST

START_TEST(a_parameter_is_assigned_once) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2)), next = join(w, w);
  mica_assign(w, next);
  ck_assert_int_eq(mica_graph_status(graph), MICA_OK);
  mica_assign(w, next);
  expect_failure(MICA_E_INVALID, "mica_assign", "'w'", "already");
}
END_TEST

START_TEST(what_is_assigned_must_fit) {
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2));
  mica_assign(w, mica_named(mica_full(graph, MICA_F32, MICA_SHAPE(3), 0), "three"));
  expect_failure(MICA_E_SHAPE, "'w' is f32 (2)", "'three'", "f32 (3)");
  teardown();
  setup();
  w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2));
  mica_assign(w, mica_full(graph, MICA_I32, MICA_SHAPE(2), 0));
  expect_failure(MICA_E_DTYPE, "'w' is f32 (2)", "i32 (2)", "mica_assign");
  teardown();
  setup();
  mica_value x = input("x", MICA_SHAPE(2));
  mica_assign(x, x);
  expect_failure(MICA_E_INVALID, "'x'", "input", "not a parameter");
}
END_TEST

START_TEST(scalars_are_rounded_to_their_dtype) {
  ck_assert_double_eq(mica__full_value(mica__graph_node(graph, mica_scalar(graph, MICA_U8, 300).id)), 255);
  ck_assert_double_eq(mica__full_value(mica__graph_node(graph, mica_scalar(graph, MICA_F16, 0.1).id)), 0.0999755859375);
  ck_assert_double_eq(mica__full_value(mica__graph_node(graph, mica_scalar(graph, MICA_BOOL, 7).id)), 1);
}
END_TEST

START_TEST(constant_bools_are_0_or_1) {
  const unsigned char bytes[] = {0, 1, 2, 255}, truths[] = {0, 1, 1, 1};
  const mica_value constant = mica_constant(graph, MICA_BOOL, MICA_SHAPE(4), bytes);
  ck_assert_mem_eq(mica__graph_node(graph, constant.id)->data, truths, sizeof truths);
}
END_TEST

START_TEST(names) {
  mica_value x = input("x", MICA_SHAPE(2)), y = mica_named(join(x, x), "first");
  ck_assert_str_eq(mica_value_name(mica_named(y, "second")), "second");
  ck_assert_str_eq(mica_value_name(mica_named(x, "other")), "x");
  ck_assert_str_eq(mica_value_name(join(x, x)), "");
}
END_TEST

START_TEST(dumps) {
  mica_value x = input("x", MICA_SHAPE(MICA_DYNAMIC, 2)), w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2));
  mica_checkpoint(mica_named(join(x, w), "say \"hi\""));
  mica_assign(w, join(w, mica_scalar(graph, MICA_F32, 0.5)));
  char *text = NULL;
  ck_assert_int_eq(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text), MICA_OK);
  ck_assert_str_eq(text, "%1 = input -> f32 (?, 2) 'x'\n"
                         "%2 = parameter -> f32 (2) 'w' := %5\n"
                         "%3 = join %1 %2 -> f32 (?, 2) 'say \"hi\"' checkpoint\n"
                         "%4 = full(value=0.5) -> f32 ()\n"
                         "%5 = join %2 %4 -> f32 (2)\n");
  mica_free(text);
  ck_assert_int_eq(mica_graph_dump(graph, MICA_DUMP_FORMAT_GRAPHVIZ, &text), MICA_OK);
  ck_assert_ptr_nonnull(strstr(text, "v3 [shape=box, label=\"join\\nsay \\\"hi\\\"\\nf32 (?, 2)\"];"));
  ck_assert_ptr_nonnull(strstr(text, "v5 -> v2 [style=dashed];"));
  ck_assert(!strncmp(text, "digraph mica {", 14));
  mica_free(text);
  ck_assert_int_eq(mica_graph_dump(NULL, MICA_DUMP_FORMAT_TEXT, &text), MICA_E_INVALID);
  ck_assert_int_eq(mica_graph_dump(graph, (mica_dump_format)7, &text), MICA_E_INVALID);
}
END_TEST

TESTS(ANYWHERE, setup, teardown, shapes_broadcast_and_open_dimensions_pass, shape_mismatch_names_shapes_and_nodes,
      open_dimensions_do_not_hide_a_mismatch, dtype_mismatch_names_both, errors_of_a_caller, null_and_foreign_values,
      operands_may_be_absent, LOOP(absent_operands_keep_their_numbers, 0, 5), no_cycle_through_the_api,
      the_first_error_stays, sources_are_checked, a_parameter_is_assigned_once, what_is_assigned_must_fit,
      scalars_are_rounded_to_their_dtype, constant_bools_are_0_or_1, names, dumps)
