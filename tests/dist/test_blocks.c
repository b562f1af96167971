/* labels: device
 *
 * Blocks of published families whose layers are divided among ranks train as one rank does that has them whole. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/members.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, LENGTH = 6, WIDTH = 16, CLASSES = 3, STEPS = 40, MOST_RANKS = 2 };

static float inputs[BATCH][LENGTH][WIDTH];
static int32_t targets[BATCH];
static double losses[MOST_RANKS][STEPS];
static int64_t elements[MOST_RANKS];

static const mica_transformer_config gemma = {
    .self = {.heads = 4,
             .groups = 2,
             .head_size = 6,
             .causal = true,
             .no_bias = true,
             .apart = true,
             .qk_norm = true,
             .sinks = true,
             .positions = MICA_POSITIONS_KIND_ROTARY},
    .hidden = 20,
    .feed_forward = MICA_FEED_FORWARD_GEGLU_TANH,
    .apart = true,
    .norms = MICA_BLOCK_NORMS_AROUND,
    .rms_norm = true,
};
static const mica_transformer_config neox = {
    .self = {.heads = 2, .causal = true, .positions = MICA_POSITIONS_KIND_ROTARY},
    .hidden = 24,
    .order = MICA_BLOCK_ORDER_TWO_NORMS,
};
static const mica_transformer_config qwen = {
    .self = {.heads = 4, .groups = 2, .apart = true, .without_bias = MICA_ATTENTION_OUT},
    .hidden = 24,
    .feed_forward = MICA_FEED_FORWARD_SWIGLU,
    .no_feed_bias = true,
};

static void setup(void) {
  srand(5);
  for (int b = 0; b < BATCH; b++) {
    targets[b] = b % CLASSES;
    for (int t = 0; t < LENGTH; t++)
      for (int c = 0; c < WIDTH; c++) inputs[b][t][c] = (float)(rand() % 2001 - 1000) / 1000;
  }
}

static mica_value network(mica_nn *nn, mica_value x) {
  x = mica_nn_transformer(nn, "0", x, (mica_value){0}, &gemma);
  x = mica_nn_transformer(nn, "1", x, (mica_value){0}, &neox);
  x = mica_nn_transformer(nn, "2", x, (mica_value){0}, &qwen);
  return mica_nn_dense(nn, "head", mica_mean(x, MICA_AXES(1), false), CLASSES, NULL);
}

static void train(mica_communicator *communicator) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *target = NULL, *rate = NULL;
  const float r = 3e-3F;
  member_ok(mica_engine_create(NULL, &engine));
  member_ok(mica_graph_create(&graph));
  const mica_nn_config config = {
      .training = true, .seed = 11, .tensor_ranks = communicator->ranks > 1 ? communicator : NULL};
  member_ok(mica_nn_create(graph, &config, &nn));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(BATCH, LENGTH, WIDTH));
  mica_value class = mica_input(graph, "target", MICA_I32, MICA_SHAPE(BATCH));
  mica_value loss = mica_mean(mica_cross_entropy(network(nn, in), class, NULL), MICA_ALL_AXES, false);
  mica_optimize(nn, loss, &(mica_optimizer_config){.optimizer = MICA_OPTIMIZER_ADAM}, NULL);
  member_check(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  member_ok(mica_session_create(engine, graph, &loss, 1, NULL, &session));
  member_ok(mica_nn_initialise(nn, session));
  elements[communicator->rank] = mica_nn_element_count(nn, false);
  mica_queue *queue = mica_engine_queue(engine);
  member_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(BATCH, LENGTH, WIDTH), inputs, &x));
  member_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(BATCH), targets, &target));
  member_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &r, &rate));
  const mica_feed feeds[] = {{"x", x}, {"target", target}, {MICA_LEARNING_RATE, rate}};
  for (int s = 0; s < STEPS; s++) {
    float value = 0;
    member_ok(mica_session_run(session, queue, feeds, 3));
    member_ok(mica_tensor_download(queue, mica_session_output(session, 0), &value, sizeof value));
    losses[communicator->rank][s] = (double)value;
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(target);
  mica_tensor_destroy(rate);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
}

START_TEST(parts_train_as_the_whole) {
  double whole[STEPS];
  test_members(1, NULL, train);
  memcpy(whole, losses[0], sizeof whole);
  const int64_t all = elements[0];
  ck_assert_double_lt(whole[STEPS - 1], 0.5 * whole[0]);
  test_members(2, NULL, train);
  for (int s = 0; s < STEPS; s++) {
    ck_assert_msg(fabs(losses[0][s] - whole[s]) < 1e-4 * (1 + whole[s]), "step %d: %.9g, whole %.9g", s, losses[0][s],
                  whole[s]);
    ck_assert_double_eq(losses[1][s], losses[0][s]);
  }
  /* Norms (of heads too), biases of rows and the head are on both. */
  const int64_t norms = 4 * WIDTH + 2 * 6 + 4 * WIDTH + 4 * WIDTH, biases = 2 * WIDTH;
  const int64_t shared = norms + biases + CLASSES * WIDTH + CLASSES;
  ck_assert_int_eq(elements[0], (all - shared) / 2 + shared);
}
END_TEST

TESTS(DEVICE, setup, NULL, parts_train_as_the_whole)
