/* labels: device oracle
 *
 * A training step with PuzzleMix beside PyTorch, by puzzle_torch.py: the gradient that the first pass gives for the
 * pictures, the mixed batch, its loss, and the gradients of the weights. */
#include "networks/puzzle.h"
#include "nn/nn.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/oracle.h"

#include <mica/mica.h>

enum { PICTURES = 12, PLANES = 2, HEIGHT = 8, WIDTH = 12, CLASSES = 3, BLOCKS = 4, MOST = 32 };
enum { NUMBERS = PICTURES * PLANES * HEIGHT * WIDTH };

static mica_value network(mica_nn *nn, mica_value x) {
  const mica_nn_conv_config padded = {.how.pad = {1, 1}, .no_bias = true};
  mica_value z = mica_nn_batch_norm(nn, "norm", mica_nn_conv(nn, "conv", x, 5, 3, &padded), NULL);
  return mica_nn_dense(nn, "last", mica_mean(mica_square(z), MICA_AXES(2, 3), false), CLASSES, NULL);
}

/* The last picture has no class. */
static void run(mica_value share, const mica_feed *feeds, oracle_values *values) {
  mica_graph *graph = share.graph;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_value outputs[MOST], weights[MOST];
  const char *names[MOST] = {"gradient", "mixed.x", "mixed.y", "loss"};
  size_t count = 4;
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 3}, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(PICTURES, PLANES, HEIGHT, WIDTH));
  mica__puzzle_batch b = {x, mica_input(graph, "y", MICA_I32, MICA_SHAPE(PICTURES)), CLASSES};
  mica__nn_first_pass_begin(nn);
  mica_value clean = mica_cross_entropy(network(nn, x), b.y, NULL);
  mica__nn_first_pass_end(nn);
  ck_ok(mica_gradients(clean, &x, 1, &outputs[0]));
  mica__puzzle_mix(outputs[0], share, BLOCKS, &b);
  outputs[1] = b.x;
  outputs[2] = b.y;
  outputs[3] = mica_cross_entropy(network(nn, b.x), b.y, NULL);
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    weights[count - 4] = info->value;
    names[count++] = info->name;
  }
  ck_assert_uint_eq(count, 4 + 5);
  ck_ok(mica_gradients(outputs[3], weights, count - 4, outputs + 4));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  for (size_t i = 4; i < count; i++)
    oracle_add_tensor(values, "weight.", names[i], mica_session_parameter(session, names[i]));
  ck_ok(mica_session_run(session, test_queue(), feeds, 3));
  for (size_t i = 0; i < count; i++)
    oracle_add_tensor(values, i < 4 ? "" : "d.", names[i], mica_session_output(session, i));
  oracle_add_tensor(values, "", "running_mean", mica_session_parameter(session, "norm.running_mean"));
  mica_session_destroy(session);
  mica_nn_destroy(nn);
}

START_TEST(a_step_is_pytorchs) {
  static float pixels[NUMBERS];
  static const int32_t classes[PICTURES] = {2, 0, 1, 1, 0, 2, 2, 1, 0, 0, 1, -1};
  const float rest = 0.35f;
  mica_graph *graph = NULL;
  mica_tensor *x = NULL, *y = NULL, *share = NULL;
  oracle_values values = {0};
  uint32_t state = 5;
  for (int i = 0; i < NUMBERS; i++) {
    state = state * UINT32_C(1664525) + UINT32_C(1013904223);
    /* Each picture has a loud quarter, and means are not near 0, where they would be rounding. */
    const int n = i / (PLANES * HEIGHT * WIDTH), quarter = i % WIDTH / 6 + 2 * (i / WIDTH % HEIGHT / 4);
    pixels[i] = (quarter == n % 4 ? 3.0f : 0.3f) * ((float)(int32_t)state * 0x1p-31f + 0.7f);
  }
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(PICTURES, PLANES, HEIGHT, WIDTH), pixels, &x));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(PICTURES), classes, &y));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1), &rest, &share));
  oracle_add_tensor(&values, "", "x", x);
  oracle_add_tensor(&values, "", "y", y);
  oracle_add_tensor(&values, "", "share", share);
  ck_ok(mica_graph_create(&graph));
  run(mica_input(graph, "share", MICA_F32, MICA_SHAPE(1)), (mica_feed[]){{"x", x}, {"y", y}, {"share", share}},
      &values);
  mica_graph_destroy(graph);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(share);
  oracle_run("nn/puzzle_torch.py", oracle_write(&values, "puzzle.safetensors"));
}
END_TEST

TESTS(BOTH(DEVICE, oracle_lacks("torch, safetensors")), NULL, NULL, a_step_is_pytorchs)
