/* labels: null single
 *
 * The rule of zeros of mica/mica.h: a config of zeros, NULL and the default one build the same graph, and MICA_ZERO is
 * a real zero. The graph's dump is compared, which names every op with its constants. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

typedef struct built {
  mica_graph *graph;
  mica_nn *nn;
  mica_value x;
} built;

static built begin(void) {
  built b = {0};
  ck_ok(mica_graph_create(&b.graph));
  ck_ok(mica_nn_create(b.graph, &(mica_nn_config){.training = true}, &b.nn));
  b.x = mica_input(b.graph, "x", MICA_F32, MICA_SHAPE(2, 4, 6, 6));
  return b;
}

/* The dump of what was built; the caller's to mica_free. */
static char *end(built b) {
  char *text = NULL;
  ck_assert_msg(mica_graph_status(b.graph) == MICA_OK, "%s", mica_graph_message(b.graph));
  ck_ok(mica_graph_dump(b.graph, MICA_DUMP_FORMAT_TEXT, &text));
  mica_nn_destroy(b.nn);
  mica_graph_destroy(b.graph);
  return text;
}

#define SAME(one, other)                                                                                               \
  do {                                                                                                                 \
    char *first = (one), *second = (other);                                                                            \
    ck_assert_str_eq(first, second);                                                                                   \
    mica_free(first);                                                                                                  \
    mica_free(second);                                                                                                 \
  } while (0)

static char *optimized(const mica_optimizer_config *config) {
  built b = begin();
  mica_value p = mica_nn_parameter(b.nn, "p", MICA_SHAPE(4, 4), NULL);
  mica_optimize(b.nn, mica_sum(mica_square(p), MICA_ALL_AXES, false), config, NULL);
  return end(b);
}

START_TEST(optimisers) {
#define EACH_OPTIMIZER(name, text) MICA_OPTIMIZER_##name,
  static const mica_optimizer all[] = {MICA_OPTIMIZER_LIST(EACH_OPTIMIZER)};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    mica_optimizer_config defaults = mica_optimizer_config_default(all[i]);
    SAME(optimized(&(mica_optimizer_config){.optimizer = all[i]}), optimized(&defaults));
  }
  SAME(optimized(NULL), optimized(&(mica_optimizer_config){0}));
  /* A beta of zero is asked for by name: rmsprop without memory is another graph. */
  char *zero = optimized(&(mica_optimizer_config){.optimizer = MICA_OPTIMIZER_RMSPROP, .beta2 = MICA_ZERO});
  char *defaults = optimized(&(mica_optimizer_config){.optimizer = MICA_OPTIMIZER_RMSPROP});
  ck_assert_str_ne(zero, defaults);
  mica_free(zero);
  mica_free(defaults);
}
END_TEST

/* A layer of x by a config c: NULL, then zeros. */
#define LAYERS(X)                                                                                                      \
  X(dense, mica_dense_config, mica_nn_dense(n, "l", x, 5, c))                                                          \
  X(conv, mica_nn_conv_config, mica_nn_conv(n, "l", x, 5, 3, c))                                                       \
  X(conv_transpose, mica_nn_conv_config, mica_nn_conv_transpose(n, "l", x, 5, 3, c))                                   \
  X(embedding, mica_embedding_config, mica_nn_embedding(n, "l", mica_cast(x, MICA_I32), 9, 5, c))                      \
  X(layer_norm, mica_norm_config, mica_nn_layer_norm(n, "l", x, c))                                                    \
  X(rms_norm, mica_norm_config, mica_nn_rms_norm(n, "l", x, c))                                                        \
  X(batch_norm, mica_norm_config, mica_nn_batch_norm(n, "l", x, c))                                                    \
  X(group_norm, mica_norm_config, mica_nn_group_norm(n, "l", x, 2, c))                                                 \
  X(raw_conv, mica_conv_config, mica_conv(x, mica_nn_parameter(n, "w", MICA_SHAPE(5, 4, 3, 3), NULL), null, c))        \
  X(resize, mica_resize_config, mica_resize(x, c))                                                                     \
  X(cross_entropy, mica_cross_entropy_config, mica_cross_entropy(x, mica_softmax(x, 1), c))

#define LAYER(name, type, expression)                                                                                  \
  static char *with_##name(const type *c) {                                                                            \
    built b = begin();                                                                                                 \
    mica_value x = b.x, null = {0};                                                                                    \
    mica_nn *n = b.nn;                                                                                                 \
    (void)n, (void)null;                                                                                               \
    mica_named(expression, "y");                                                                                       \
    return end(b);                                                                                                     \
  }
LAYERS(LAYER)

START_TEST(layers) {
#define LAYER_CASE(name, type, expression) SAME(with_##name(NULL), with_##name(&(type){0}));
  LAYERS(LAYER_CASE)
}
END_TEST

static char *model(const mica_model_config *config) {
  built b = begin();
  mica_model_build(b.nn, b.x, config);
  return end(b);
}

/* Networks with fewer parameters are made by NULL too, which draws their values. Those of all others are 330 million:
 * minutes without vectors, half an hour where a processor is emulated. */
#define DRAWN 4000000

START_TEST(models) {
  SAME(model(&(mica_model_config){.name = "mlp"}), model(&(mica_model_config){.name = "mlp", .classes = 10}));
  built b = begin();
  ck_assert(mica_value_is_null(mica_model_build(b.nn, b.x, NULL)));
  ck_assert_int_eq(mica_graph_status(b.graph), MICA_E_NOT_FOUND);
  mica_nn_destroy(b.nn);
  mica_graph_destroy(b.graph);
  mica_model *m = NULL;
  mica_engine *engine = NULL;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null"}, &engine));
  size_t drawn = 0;
  for (size_t i = 0; mica_model_name(i); i++) {
    char *blank = NULL, *null = NULL;
    ck_ok(mica_model_create(engine, mica_model_name(i), &(mica_model_config){.blank = true}, &m));
    ck_ok(mica_nn_summary(mica_model_network(m), &blank));
    const int64_t count = mica_nn_element_count(mica_model_network(m), false);
    mica_model_destroy(m);
    if (count < DRAWN) {
      drawn++;
      ck_ok(mica_model_create(engine, mica_model_name(i), NULL, &m));
      ck_ok(mica_nn_summary(mica_model_network(m), &null));
      mica_model_destroy(m);
      ck_assert_str_eq(null, blank);
    }
    mica_free(blank);
    mica_free(null);
  }
  ck_assert_uint_ge(drawn, 7);
  mica_engine_destroy(engine);
}
END_TEST

START_TEST(a_plateau_and_a_schedule) {
  mica_plateau zeros = {0}, given = {.factor = 0.1, .patience = 10, .threshold = 1e-4}, real = {.threshold = MICA_ZERO};
  for (int i = 0; i < 40; i++) ck_assert(mica_plateau_note(&zeros, 1) == mica_plateau_note(&given, 1));
  ck_assert(zeros.share < 1);
  mica_plateau_note(&real, 1);
  mica_plateau_note(&real, 1 - 1e-9); /* the smallest gain counts without a threshold */
  ck_assert(real.worse == 0);
  ck_assert(
      mica_schedule_rate(&(mica_schedule_config){.kind = MICA_SCHEDULE_STEP, .rate = 1}, 2) ==
      mica_schedule_rate(&(mica_schedule_config){.kind = MICA_SCHEDULE_STEP, .rate = 1, .every = 1, .gamma = 0.1}, 2));
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, optimisers, layers, models, a_plateau_and_a_schedule)
