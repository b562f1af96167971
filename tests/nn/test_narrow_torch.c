/* labels: device oracle
 *
 * Gradients and running statistics of networks that compute in bf16 beside those of PyTorch's autocast, by
 * narrow_torch.py. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <mica/mica.h>
#include <stdio.h>

enum { IMAGES = 32, PLANES = 3, SIDE = 16, CLASSES = 10, PIXELS = IMAGES * PLANES * SIDE * SIDE, MOST = 160 };
enum { SEQUENCES = 8, STEPS = 32, TOKENS = 20, WIDTH = 64, BLOCKS = 12 };

static mica_value convolved(mica_nn *nn, const char *name, mica_value x, int64_t filters) {
  const mica_nn_conv_config how = {.how = {.pad = {1, 1}}, .no_bias = true};
  char norm[32];
  snprintf(norm, sizeof norm, "%s.norm", name);
  return mica_nn_batch_norm(nn, norm, mica_nn_conv(nn, name, x, filters, 3, &how), NULL);
}

/* Convolutions with batch norms, the second one beside what it is given. */
static mica_value pictures(mica_nn *nn, mica_value x) {
  const mica_pool_config halves = {.size = {2, 2}, .stride = {2, 2}};
  mica_value h = mica_max_pool(mica_relu(convolved(nn, "a", x, 16)), &halves);
  h = mica_flatten(mica_relu(mica_add(h, convolved(nn, "b", h, 16))), 1);
  return mica_nn_dense(nn, "out", h, CLASSES, NULL);
}

/* A language model. */
static mica_value tokens(mica_nn *nn, mica_value x) {
  const mica_transformer_config how = {.self = {.heads = 4, .causal = true}};
  mica_value h = mica_nn_embedding(nn, "embed", x, TOKENS, WIDTH, NULL);
  for (int i = 0; i < BLOCKS; i++) {
    char name[32];
    snprintf(name, sizeof name, "layers.%d", i);
    h = mica_nn_transformer(nn, name, h, (mica_value){0}, &how);
  }
  h = mica_nn_layer_norm(nn, "norm", h, NULL);
  return mica_transpose(mica_nn_dense(nn, "out", h, TOKENS, NULL), MICA_AXES(0, 2, 1));
}

typedef mica_value network_fn(mica_nn *nn, mica_value x);

/* The gradients and statistics in one type, and with those in f32 the weights. */
static void differentiate(network_fn *network, mica_dtype dtype, const mica_tensor *x, const mica_tensor *y,
                          oracle_values *v) {
  const char *kind = dtype == MICA_F32 ? "wide." : "narrow.";
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value weights[MOST], gradients[MOST];
  const char *names[MOST];
  size_t count = 0;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .dtype = dtype, .seed = 5}, &nn));
  mica_value in = mica_input(graph, "x", mica_tensor_dtype(x), mica_tensor_shape(x)), z = network(nn, in);
  z = mica_value_dtype(z) == MICA_F32 ? z : mica_cast(z, MICA_F32);
  mica_value loss = mica_cross_entropy(z, mica_input(graph, "y", MICA_I32, mica_tensor_shape(y)), NULL);
  for (size_t i = 0; i < mica_nn_parameter_count(nn) && count < MOST; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_WEIGHT) names[count] = info->name, weights[count++] = info->value;
  }
  ck_ok(mica_gradients(loss, weights, count, gradients));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, gradients, count, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}, {"y", y}}, 2));
  for (size_t i = 0; i < count; i++) {
    oracle_add_tensor(v, kind, names[i], mica_session_output(session, i));
    if (dtype == MICA_F32) oracle_add_tensor(v, "p.", names[i], mica_session_parameter(session, names[i]));
  }
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role == MICA_NN_ROLE_STATE && mica_value_dtype(info->value) == MICA_F32)
      oracle_add_tensor(v, kind, info->name, mica_session_parameter(session, info->name));
  }
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

static void compare(network_fn *network, const char *name, mica_tensor *x, mica_tensor *y) {
  oracle_values values = {0};
  char arguments[512];
  differentiate(network, MICA_F32, x, y, &values);
  differentiate(network, MICA_BF16, x, y, &values);
  oracle_add_tensor(&values, "", "x", x);
  oracle_add_tensor(&values, "", "y", y);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  snprintf(arguments, sizeof arguments, "%s %s", name, oracle_write(&values, "narrow.safetensors"));
  oracle_run("nn/narrow_torch.py", arguments);
}

START_TEST(pictures_as_autocast) {
  static float pixels[PIXELS];
  int32_t classes[IMAGES];
  mica_tensor *x = NULL, *y = NULL;
  uint32_t state = 3;
  for (int i = 0; i < PIXELS; i++) {
    state = state * 1664525u + 1013904223u;
    pixels[i] = (float)(int32_t)state * 0x1p-30f;
  }
  for (int i = 0; i < IMAGES; i++) classes[i] = i * 7 % CLASSES;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(IMAGES, PLANES, SIDE, SIDE), pixels, &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(IMAGES), classes, &y));
  compare(pictures, "pictures", x, y);
}
END_TEST

START_TEST(tokens_as_autocast) {
  int32_t ids[2][SEQUENCES * STEPS];
  mica_tensor *x = NULL, *y = NULL;
  for (int i = 0; i < SEQUENCES * STEPS; i++) ids[0][i] = i * i * 7 % TOKENS, ids[1][i] = (i * 11 + i / 3) % TOKENS;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(SEQUENCES, STEPS), ids[0], &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(SEQUENCES, STEPS), ids[1], &y));
  compare(tokens, "tokens", x, y);
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("torch, safetensors")), NULL, NULL, pictures_as_autocast, tokens_as_autocast)
