/* labels: null
 *
 * Layers of a network that is NULL give null values and say so in the graph; of a null value likewise, without a word,
 * as the builders of graphs do. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

static mica_value block(mica_nn *nn, mica_value x, const void *config) {
  (void)config;
  return mica_nn_dense(nn, "fc", x, 4, NULL);
}

static const mica_value none = {0};

#define LAYERS(X)                                                                                                      \
  X(dense, mica_nn_dense(nn, "a", x, 3, NULL))                                                                         \
  X(conv, mica_nn_conv(nn, "a", x, 3, 3, NULL))                                                                        \
  X(conv_transpose, mica_nn_conv_transpose(nn, "a", x, 3, 3, NULL))                                                    \
  X(embedding, mica_nn_embedding(nn, "a", x, 5, 3, NULL))                                                              \
  X(dropout, mica_nn_dropout(nn, x, 0.5))                                                                              \
  X(layer_norm, mica_nn_layer_norm(nn, "a", x, NULL))                                                                  \
  X(rms_norm, mica_nn_rms_norm(nn, "a", x, NULL))                                                                      \
  X(batch_norm, mica_nn_batch_norm(nn, "a", x, NULL))                                                                  \
  X(group_norm, mica_nn_group_norm(nn, "a", x, 2, NULL))                                                               \
  X(apply, mica_nn_apply(nn, "a", x, block, NULL))                                                                     \
  X(residual, mica_nn_residual(nn, "a", x, block, NULL))                                                               \
  X(sequential, mica_nn_sequential(nn, "a", x, &(mica_nn_stage){block, NULL}, 1))                                      \
  X(positions, mica_nn_positions(nn, "a", x, x, 8, MICA_POSITIONS_KIND_LEARNED))                                       \
  X(attention, mica_nn_attention(nn, "a", x, none, NULL))                                                              \
  X(transformer, mica_nn_transformer(nn, "a", x, none, NULL))                                                          \
  X(conformer, mica_nn_conformer(nn, "a", x, NULL))                                                                    \
  X(rnn, mica_nn_rnn(nn, "a", x, 3, NULL).y)                                                                           \
  X(model, mica_model_build(nn, x, &(mica_model_config){.name = "mlp"}))                                               \
  X(translator_encode, mica_translator_encode(nn, x, NULL))                                                            \
  X(translator_decode, mica_translator_decode(nn, x, x, none, NULL))                                                   \
  X(parallel_columns, mica_parallel_columns(NULL, nn, "a", x, 4, NULL))                                                \
  X(parallel_rows, mica_parallel_rows(NULL, nn, "a", x, 4, NULL))                                                      \
  X(parallel_attention, mica_parallel_attention(NULL, nn, "a", x, 2, NULL))

#define LAYER_CALL(name, call)                                                                                         \
  static mica_value call_##name(mica_nn *nn, mica_value x) { return call; }
LAYERS(LAYER_CALL)

static const struct {
  const char *name;
  mica_value (*call)(mica_nn *nn, mica_value x);
} layers[] = {
#define LAYER_ROW(name, call) {#name, call_##name},
    LAYERS(LAYER_ROW)};
#define COUNT (int)(sizeof layers / sizeof *layers)

START_TEST(of_no_network) {
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  const mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 4, 4));
  ck_assert(mica_value_is_null(layers[_i].call(NULL, x)));
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
  /* residual is an apply and a sum. */
  const char *name = strcmp(layers[_i].name, "residual") ? layers[_i].name : "apply";
  ck_assert_msg(!strncmp(mica_graph_message(graph), name, strlen(name)) &&
                    strstr(mica_graph_message(graph), "the network is NULL"),
                "%s: %s", layers[_i].name, mica_graph_message(graph));
  mica_graph_destroy(graph);
  ck_assert(mica_value_is_null(layers[_i].call(NULL, none)));
}
END_TEST

START_TEST(of_no_value) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  ck_assert(mica_value_is_null(layers[_i].call(nn, none)));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", layers[_i].name, mica_graph_message(graph));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}
END_TEST

/* What has no value to begin with. */
START_TEST(parameters_of_no_network) {
  mica_optimizer_values values = {{NULL, 1}, {NULL, 1}};
  mica_nn_push(NULL, "scope");
  mica_nn_pop(NULL);
  ck_assert(mica_value_is_null(mica_nn_parameter(NULL, "w", MICA_SHAPE(2), NULL)));
  ck_assert(mica_value_is_null(mica_nn_state(NULL, "s", MICA_SHAPE(2), 0)));
  ck_assert(mica_value_is_null(mica_nn_weight_of(NULL, "w")));
  ck_assert(mica_value_is_null(mica_nn_step(NULL)));
  mica_optimize(NULL, none, NULL, &values);
  ck_assert(mica_value_is_null(values.gradient_norm) && mica_value_is_null(values.loss_scale));
}
END_TEST

START_TEST(a_second_optimiser) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  const mica_value y = mica_nn_dense(nn, "fc", mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 4)), 3, NULL);
  const mica_value loss = mica_mean(y, MICA_ALL_AXES, false);
  mica_optimize(nn, loss, NULL, NULL);
  ck_assert_int_eq(mica_graph_status(graph), MICA_OK);
  mica_optimize(nn, loss, NULL, NULL);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_STATE);
  ck_assert_msg(strstr(mica_graph_message(graph), "the graph already has an optimiser"), "%s",
                mica_graph_message(graph));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(of_no_network, 0, COUNT), LOOP(of_no_value, 0, COUNT), parameters_of_no_network,
      a_second_optimiser)
