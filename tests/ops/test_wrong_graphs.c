/* labels: null single
 *
 * Wrong graphs: whatever is wrong, the graph holds the right MICA_E_..., and a sentence with the types of all operands
 * and the names of those that have one. */
#include "ops/select/registry.h"
#include "support/check_main.h"

#include <math.h>
#include <mica/mica.h>
#include <string.h>

/* Rows of tests/ops/wrong/<family>.def:
 *
 *   WRONG(name, status, what is built and is wrong, texts that the sentence has...)
 *
 * Values at hand: h 'hidden' f32 (64, 128), b 'bias' f32 (3), ids 'ids' i64 (64), w parameter 'w' f32 (128, 10), o
 * 'open' f32 (?, 3); null; foreign of another graph; ahead, whose id is not made yet. */
/* Values at hand: see above. */
typedef struct values {
  mica_value h, b, ids, w, o, null, foreign, ahead, grad;
} values;

/* The gradient of a loss that has none: the value that was there before. */
static mica_value gradient(mica_value loss, mica_value w, mica_value grad) {
  ck_assert_int_ne(mica_gradients(loss, &w, 1, &grad), MICA_OK);
  return grad;
}

#define UNUSED __attribute__((unused))
#define WRONG(name, status, expression, ...)                                                                           \
  static mica_value build_##name(values v) {                                                                           \
    UNUSED mica_value h = v.h, b = v.b, ids = v.ids, w = v.w, o = v.o, null = v.null, foreign = v.foreign;             \
    UNUSED mica_value ahead = v.ahead, grad = v.grad;                                                                  \
    return expression;                                                                                                 \
  }
#include "generated/wrong_graphs.h"
#undef WRONG

static const struct wrong_case {
  const char *name;
  mica_status status;
  mica_value (*build)(values v);
  const char *texts[4]; /* all of them stand in the sentence */
} cases[] = {
#define WRONG(name, status, expression, ...) {#name, MICA_E_##status, build_##name, {__VA_ARGS__}},
#include "generated/wrong_graphs.h"
#undef WRONG
};

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

static const char *name_of(int i) { return cases[i].name; }

TESTS(ANYWHERE, setup, teardown, declared_dtypes_are_well_formed,
      BY_NAME(says_what_is_wrong, name_of, sizeof cases / sizeof *cases))
