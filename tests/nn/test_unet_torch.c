/* labels: device oracle
 *
 * Three training steps of a U-Net beside PyTorch, by unet_torch.py: loss, gradients, weights and running statistics. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <mica/mica.h>
#include <stdio.h>

enum { PICTURES = 2, PLANES = 3, SIDE = 16, CLASSES = 3, STEPS = 3, MOST = 64 };
enum { PIXELS = PICTURES * SIDE * SIDE };

typedef struct training {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_value outputs[MOST]; /* the loss, then gradients */
  const char *names[MOST];
  size_t count;
} training;

static void build(training *t) {
  const mica_model_config config = {.name = "unet", .width = 4, .depth = 2, .classes = CLASSES};
  mica_optimizer_config how = mica_optimizer_config_default(MICA_OPTIMIZER_ADAMW);
  ck_ok(mica_graph_create(&t->graph));
  ck_ok(mica_nn_create(t->graph, &(mica_nn_config){.training = true, .seed = 3}, &t->nn));
  mica_value x = mica_input(t->graph, "x", MICA_F32, MICA_SHAPE(PICTURES, PLANES, SIDE, SIDE));
  mica_value y = mica_input(t->graph, "y", MICA_I32, MICA_SHAPE(PICTURES, SIDE, SIDE));
  mica_value z = mica_model_build(t->nn, x, &config);
  mica_value loss = mica_add(mica_cross_entropy(z, y, NULL), mica_dice(z, y, NULL)), weights[MOST];
  t->outputs[t->count] = loss;
  t->names[t->count++] = "loss";
  for (size_t i = 0; i < mica_nn_parameter_count(t->nn) && t->count < MOST; i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(t->nn, i);
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    weights[t->count - 1] = info->value;
    t->names[t->count++] = info->name;
  }
  ck_ok(mica_gradients(loss, weights, t->count - 1, t->outputs + 1));
  how.weight_decay = 0.1;
  how.epsilon = 0.01; /* else what is 0 but for rounding is a step of its sign */
  mica_optimize(t->nn, loss, &how, NULL);
  ck_assert_msg(mica_graph_status(t->graph) == MICA_OK, "%s", mica_graph_message(t->graph));
  ck_ok(mica_session_create(test_engine(), t->graph, t->outputs, t->count, NULL, &t->session));
  ck_ok(mica_nn_initialise(t->nn, t->session));
}

static void add_parameters(const training *t, const char *prefix, oracle_values *values) {
  for (size_t i = 0; i < mica_nn_parameter_count(t->nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(t->nn, i);
    if (info->role != MICA_NN_ROLE_OPTIMIZER && mica_value_dtype(info->value) == MICA_F32)
      oracle_add_tensor(values, prefix, info->name, mica_session_parameter(t->session, info->name));
  }
}

static void train(training *t, const mica_feed *feeds, oracle_values *values) {
  add_parameters(t, "p0.", values);
  for (int step = 1; step <= STEPS; step++) {
    char prefix[8];
    ck_ok(mica_session_run(t->session, test_queue(), feeds, 3));
    snprintf(prefix, sizeof prefix, "d%d.", step);
    for (size_t i = 0; i < t->count; i++)
      oracle_add_tensor(values, prefix, t->names[i], mica_session_output(t->session, i));
    snprintf(prefix, sizeof prefix, "p%d.", step);
    add_parameters(t, prefix, values);
  }
}

START_TEST(steps_are_pytorchs) {
  static float pixels[PIXELS * PLANES];
  int32_t classes[PIXELS];
  const float rate = 0.01f;
  oracle_values values = {0};
  training t = {0};
  mica_tensor *x = NULL, *y = NULL, *r = NULL;
  uint32_t state = 5;
  for (int i = 0; i < PIXELS * PLANES; i++) {
    state = state * 1664525u + 1013904223u;
    pixels[i] = (float)(int32_t)state * 0x1p-30f;
  }
  for (int i = 0; i < PIXELS; i++) classes[i] = (i / 5 + i / 64) % CLASSES;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(PICTURES, PLANES, SIDE, SIDE), pixels, &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(PICTURES, SIDE, SIDE), classes, &y));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &rate, &r));
  build(&t);
  train(&t, (mica_feed[]){{"x", x}, {"y", y}, {MICA_LEARNING_RATE, r}}, &values);
  oracle_add_tensor(&values, "", "x", x);
  oracle_add_tensor(&values, "", "y", y);
  mica_session_destroy(t.session);
  mica_nn_destroy(t.nn);
  mica_graph_destroy(t.graph);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(r);
  oracle_run("nn/unet_torch.py", oracle_write(&values, "unet.safetensors"));
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("torch, safetensors")), NULL, NULL, steps_are_pytorchs)
