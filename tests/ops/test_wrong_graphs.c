/* labels: null
 *
 * Wrong graphs: whatever is wrong, the graph holds the right MICA_E_..., and a sentence with the types of all operands
 * and the names of those that have one. */
#include "ops/select/registry.h"
#include "support/check_main.h"

#include <mica/mica.h>
#include <string.h>

/* The graph is wrong by what `expression` builds. Values at hand: h 'hidden' f32 (64, 128), b 'bias' f32 (3),
 * ids 'ids' i64 (64), w parameter 'w' f32 (128, 10), o 'open' f32 (?, 3); null; foreign
 * of another graph; ahead, whose id is not made yet. */
#define CASES(X)                                                                                                       \
  X(add_shapes, SHAPE, mica_add(h, b), "add(", "'hidden' f32 (64, 128)", "'bias' f32 (3)")                             \
  X(add_open_shapes, SHAPE, mica_add(o, h), "add(", "'open' f32 (?, 3)", "'hidden' f32 (64, 128)")                     \
  X(add_dtypes, DTYPE, mica_add(b, mica_cast(b, MICA_F16)), "add(", "'bias' f32 (3)",                                  \
    "operand 1 is f16; it takes f32")                                                                                  \
  X(add_indices, DTYPE, mica_mul(h, ids), "mul(", "'hidden' f32 (64, 128)", "'ids' i64 (64)")                          \
  X(exp_of_integers, DTYPE, mica_exp(ids), "exp(", "'ids' i64 (64)", "operand 0 is i64; it takes floating types")      \
  X(not_of_numbers, DTYPE, mica_logical_not(h), "logical_not(", "'hidden' f32 (64, 128)")                              \
  X(where_condition, DTYPE, mica_where(h, h, h), "where(", "'hidden' f32 (64, 128)", "operand 0 is f32; it takes b8")  \
  X(top_k_of_bools, DTYPE, mica_top_k(mica_isnan(b), 1, 0, false).values, "top_k(",                                    \
    "operand 0 is b8; it takes numbers")                                                                               \
  X(shift_of_floats, DTYPE, mica_shift_left(b, b), "shift_left(", "operand 0 is f32; it takes integers")               \
  X(null_operand, INVALID, mica_add(h, null), "add", "operand 1", "null value")                                        \
  X(foreign_operand, INVALID, mica_add(h, foreign), "add", "operand 1", "another graph")                               \
  X(value_ahead, INVALID, mica_add(h, ahead), "add", "operand 1", "no value of its graph")                             \
  X(sum_axis, SHAPE, mica_sum(h, MICA_AXES(2), false), "sum(", "'hidden' f32 (64, 128)", "2")                          \
  X(sum_negative_axis, SHAPE, mica_sum(h, MICA_AXES(-3), false), "sum(", "'hidden' f32 (64, 128)", "-3")               \
  X(sum_axis_twice, SHAPE, mica_sum(h, MICA_AXES(1, -1), false), "sum(", "'hidden' f32 (64, 128)", "1")                \
  X(argmax_axis, SHAPE, mica_argmax(h, -3, false), "argmax(", "'hidden' f32 (64, 128)", "-3")                          \
  X(cumsum_axis, SHAPE, mica_cumsum(h, 2, false, false), "cumsum(", "'hidden' f32 (64, 128)", "2")                     \
  X(softmax_axis, SHAPE, mica_softmax(h, -3), "softmax(", "'hidden' f32 (64, 128)", "-3")                              \
  X(transpose_axes, SHAPE, mica_transpose(h, MICA_AXES(0, 0)), "transpose(", "'hidden' f32 (64, 128)")                 \
  X(reshape_count, SHAPE, mica_reshape(h, MICA_SHAPE(64, 100)), "reshape(", "'hidden' f32 (64, 128)", "(64, 100)")     \
  X(expand_shapes, SHAPE, mica_expand(h, MICA_SHAPE(64, 3)), "expand(", "'hidden' f32 (64, 128)", "(64, 3)")           \
  X(concat_shapes, SHAPE, mica_concat((mica_value[]){h, w}, 2, 0), "concat(", "'hidden' f32 (64, 128)",                \
    "'w' f32 (128, 10)")                                                                                               \
  X(concat_axis, SHAPE, mica_concat((mica_value[]){h, h}, 2, 2), "concat(", "'hidden' f32 (64, 128)", "2")             \
  X(slice_axis, SHAPE, mica_slice(h, -3, 0, 1, 1), "slice(", "'hidden' f32 (64, 128)", "-3")                           \
  X(slice_step, INVALID, mica_slice(h, 0, 0, 1, 0), "slice(", "'hidden' f32 (64, 128)", "step")                        \
  X(matmul_shapes, SHAPE, mica_matmul(h, h), "matmul(", "'hidden' f32 (64, 128)")                                      \
  X(matmul_dtypes, DTYPE, mica_matmul(h, mica_cast(w, MICA_F64)), "matmul(", "'hidden' f32 (64, 128)",                 \
    "f64 (128, 10)")                                                                                                   \
  X(gather_indices, DTYPE, mica_gather(h, h, 0), "gather(", "'hidden' f32 (64, 128)",                                  \
    "operand 1 is f32; it takes ind")                                                                                  \
  X(gather_axis, SHAPE, mica_gather(h, ids, 2), "gather(", "'hidden' f32 (64, 128)", "'ids' i64 (64)", "2")            \
  X(layer_norm_shapes, SHAPE, mica_layer_norm(h, 1, b, b, 1e-5), "layer_norm(", "'hidden' f32 (64, 128)",              \
    "'bias' f32 (3)")                                                                                                  \
  X(batch_norm_channels, SHAPE, mica_batch_norm_train(h, b, null, 1e-5, NULL, NULL), "batch_norm(",                    \
    "'hidden' f32 (64, 128)", "'bias' f32 (3)", "a channel")                                                           \
  X(batch_norm_scalar, SHAPE, mica_batch_norm(b, null, null, b, b, 1e-5), "batch_norm(", "'bias' f32 (3)")             \
  X(instance_norm_rank, SHAPE, mica_instance_norm(h, null, null, 1e-5), "instance_norm(", "'hidden' f32 (64, 128)")    \
  X(group_norm_groups, SHAPE, mica_group_norm(h, null, null, 5, 1e-5), "group_norm(", "'hidden' f32 (64, 128)", "5")   \
  X(lrn_window, SHAPE, mica_local_response_norm(h, 0, 1, 1, 1), "local_response_norm(", "'hidden' f32 (64, 128)")      \
  X(pool_rank, SHAPE, mica_max_pool(h, &(mica_pool_config){.size = {2}}), "max_pool(", "'hidden' f32 (64, 128)")       \
  X(pool_size, INVALID, mica_average_pool(mica_unsqueeze(h, MICA_AXES(0)), &(mica_pool_config){.stride = {1}}),        \
    "average_pool(", "f32 (1, 64, 128)", "size 0")                                                                     \
  X(pool_padding, INVALID,                                                                                             \
    mica_max_pool(mica_unsqueeze(h, MICA_AXES(0)), &(mica_pool_config){.size = {2}, .pad = {-1}}), "max_pool(",        \
    "f32 (1, 64, 128)", "padding -1")                                                                                  \
  X(pool_room, SHAPE,                                                                                                  \
    mica_max_pool(mica_unsqueeze(h, MICA_AXES(0)), &(mica_pool_config){.size = {65}, .dilation = {2}}), "max_pool(",   \
    "f32 (1, 64, 128)", "128 elements", "window of 65")                                                                \
  X(average_room, SHAPE, mica_average_pool(mica_unsqueeze(h, MICA_AXES(0)), &(mica_pool_config){.size = {129}}),       \
    "128 elements", "window of 129")                                                                                   \
  X(pool_power, INVALID, mica_lp_pool(mica_unsqueeze(h, MICA_AXES(0)), &(mica_pool_config){.size = {2}, .p = -1}),     \
    "lp_pool(", "f32 (1, 64, 128)", "-1")                                                                              \
  X(adaptive_outputs, INVALID, mica_adaptive_max_pool(mica_unsqueeze(h, MICA_AXES(0)), (int64_t[]){0}),                \
    "adaptive_max_pool(", "f32 (1, 64, 128)", "0 outputs")                                                             \
  X(resize_scale, INVALID, mica_resize(h, &(mica_resize_config){.scale = {-1}}), "resize(", "'hidden' f32 (64, 128)",  \
    "-1", "axis 0")                                                                                                    \
  X(resize_integers, DTYPE, mica_resize(ids, &(mica_resize_config){.mode = MICA_RESIZE_MODE_LINEAR, .size = {7}}),     \
    "i64")                                                                                                             \
  X(assign_shape, SHAPE, (mica_assign(w, h), null), "mica_assign", "'w' is f32 (128, 10)", "'hidden' f32 (64, 128)")   \
  X(assign_dtype, DTYPE, (mica_assign(w, mica_cast(w, MICA_F16)), null), "'w' is f32 (128, 10)", "f16 (128, 10)")      \
  X(assign_null, INVALID, (mica_assign(w, null), null), "mica_assign", "one graph")                                    \
  X(assign_foreign, INVALID, (mica_assign(w, foreign), null), "mica_assign", "one graph")                              \
  X(assign_input, INVALID, (mica_assign(h, h), null), "mica_assign", "'hidden'", "not a parameter")                    \
  X(assign_twice, INVALID, (mica_assign(w, w), mica_assign(w, w), null), "mica_assign", "'w'", "already")              \
  X(gradient_of_many, SHAPE, gradient(h, w, grad), "mica_gradients", "'hidden' is f32 (64, 128)")                      \
  X(gradient_of_integers, DTYPE, gradient(mica_sum(ids, MICA_ALL_AXES, false), w, grad), "mica_gradients", "i64 ()")   \
  X(gradient_of_foreign, INVALID, gradient(foreign, w, grad), "mica_gradients", "one graph")

/* Values at hand: see CASES. */
typedef struct values {
  mica_value h, b, ids, w, o, null, foreign, ahead, grad;
} values;

/* The gradient of a loss that has none: the value that was there before. */
static mica_value gradient(mica_value loss, mica_value w, mica_value grad) {
  ck_assert_int_ne(mica_gradients(loss, &w, 1, &grad), MICA_OK);
  return grad;
}

#define UNUSED __attribute__((unused))
#define BUILD(name, status, expression, ...)                                                                           \
  static mica_value build_##name(values v) {                                                                           \
    UNUSED mica_value h = v.h, b = v.b, ids = v.ids, w = v.w, o = v.o, null = v.null, foreign = v.foreign;             \
    UNUSED mica_value ahead = v.ahead, grad = v.grad;                                                                  \
    return expression;                                                                                                 \
  }
CASES(BUILD)

static const struct wrong_case {
  const char *name;
  mica_status status;
  mica_value (*build)(values v);
  const char *texts[4]; /* all of them stand in the sentence */
} cases[] = {
#define ROW(name, status, expression, ...) {#name, MICA_E_##status, build_##name, {__VA_ARGS__}},
    CASES(ROW)};

static mica_graph *graph, *other;

static void setup(void) {
  ck_assert_int_eq(mica_graph_create(&graph), MICA_OK);
  ck_assert_int_eq(mica_graph_create(&other), MICA_OK);
}

static void teardown(void) {
  mica_graph_destroy(graph);
  mica_graph_destroy(other);
}

START_TEST(says_what_is_wrong) {
  const struct wrong_case *c = &cases[_i];
  values v = {.h = mica_input(graph, "hidden", MICA_F32, MICA_SHAPE(64, 128)),
              .b = mica_input(graph, "bias", MICA_F32, MICA_SHAPE(3)),
              .ids = mica_input(graph, "ids", MICA_I64, MICA_SHAPE(64)),
              .w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(128, 10)),
              .o = mica_input(graph, "open", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 3)),
              .foreign = mica_parameter(other, "foreign", MICA_F32, MICA_SCALAR),
              .ahead = {.graph = graph, .id = 1000}};
  ck_assert_int_eq(mica_graph_status(graph), MICA_OK);
  ck_assert_msg(mica_value_is_null(c->build(v)), "%s: a value", c->name);
  mica_status status = mica_graph_status(graph) ? mica_graph_status(graph) : mica_graph_status(other);
  const char *message = mica_graph_status(graph) ? mica_graph_message(graph) : mica_graph_message(other);
  ck_assert_msg(status == c->status, "%s: %s, not %s: %s", c->name, mica_status_name(status),
                mica_status_name(c->status), message);
  for (size_t i = 0; i < sizeof c->texts / sizeof *c->texts && c->texts[i]; i++)
    ck_assert_msg(strstr(message, c->texts[i]) != NULL, "%s: no \"%s\" in: %s", c->name, c->texts[i], message);
  /* Sticky: what is built on it is null too, and the first sentence stays. */
  ck_assert(mica_value_is_null(mica_relu((mica_value){0})));
  if (mica_graph_status(graph)) ck_assert_ptr_eq(message, mica_graph_message(graph));
}
END_TEST

/* What ops declare: letters that are known, digits of operands that are there, results as many as there are. */
START_TEST(declared_dtypes_are_well_formed) {
  for (size_t i = 0; i < mica__op_count; i++) {
    const mica__op *op = mica__ops[i];
    if (!op->dtypes) continue;
    size_t letters = strcspn(op->dtypes, ">");
    const char *gives = op->dtypes[letters] ? op->dtypes + letters + 1 : "";
    ck_assert_msg(letters > 0 && letters <= (size_t)op->max_inputs + (op->max_inputs == 1), "%s: %s", op->name,
                  op->dtypes);
    for (size_t k = 0; k < letters; k++)
      ck_assert_msg(strchr("finbx*", op->dtypes[k]) || (op->dtypes[k] >= '0' && op->dtypes[k] < '0' + (char)k),
                    "%s: %s", op->name, op->dtypes);
    for (size_t r = 0; gives[r]; r++)
      ck_assert_msg(strchr("bsl", gives[r]) || (gives[r] >= '0' && gives[r] < '0' + op->min_inputs), "%s: %s", op->name,
                    op->dtypes);
    ck_assert_msg(!*gives || strlen(gives) == (size_t)(op->results ? op->results : 1), "%s: %s", op->name, op->dtypes);
  }
}
END_TEST

Suite *test_suite(void) {
  Suite *suite = suite_create("wrong_graphs");
  TCase *declared = tcase_create("declared");
  tcase_add_test(declared, declared_dtypes_are_well_formed);
  suite_add_tcase(suite, declared);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    TCase *each = tcase_create(cases[i].name);
    tcase_add_checked_fixture(each, setup, teardown);
    tcase_add_loop_test(each, says_what_is_wrong, (int)i, (int)i + 1);
    suite_add_tcase(suite, each);
  }
  return suite;
}
