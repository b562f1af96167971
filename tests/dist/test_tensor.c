/* labels: device
 *
 * Layers whose weights are divided among ranks, against one rank that has them whole. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/members.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, LENGTH = 6, WIDTH = 16, HEADS = 4, CLASSES = 3, STEPS = 100, SEED = 11, MOST_RANKS = 4 };

static float inputs[BATCH][LENGTH][WIDTH];
static int32_t targets[BATCH];

static void setup(void) {
  srand(5);
  for (int b = 0; b < BATCH; b++) {
    targets[b] = b % CLASSES;
    for (int t = 0; t < LENGTH; t++)
      for (int c = 0; c < WIDTH; c++) inputs[b][t][c] = (float)(rand() % 2001 - 1000) / 1000;
  }
}

/* Two blocks of a Transformer, causal, and classes from the mean over the steps. */
static mica_value network(mica_parallel *p, mica_nn *nn, mica_value x) {
  const mica_attention_config causal = {.causal = true};
  for (int i = 0; i < 2; i++) {
    char name[16];
    snprintf(name, sizeof name, "block%d", i);
    mica_nn_push(nn, name);
    mica_value h =
        mica_parallel_attention(p, nn, "attention", mica_nn_layer_norm(nn, "norm1", x, NULL), HEADS, &causal);
    x = mica_add(x, h);
    h = mica_parallel_columns(p, nn, "fc1", mica_nn_layer_norm(nn, "norm2", x, NULL), 2 * WIDTH, NULL);
    x = mica_add(x, mica_parallel_rows(p, nn, "fc2", mica_gelu(h), WIDTH, NULL));
    mica_nn_pop(nn);
  }
  return mica_nn_dense(nn, "head", mica_mean(x, MICA_AXES(1), false), CLASSES, NULL);
}

typedef struct member {
  mica_engine *engine;
  mica_parallel *parallel;
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} member;

static void make(member *m, mica_communicator *communicator) {
  member_ok(mica_engine_create(NULL, &m->engine));
  member_ok(mica_parallel_create(communicator, &m->parallel));
  member_ok(mica_graph_create(&m->graph));
  /* The seed is mica_parallel_initialise's. */
  member_ok(mica_nn_create(m->graph, &(mica_nn_config){.training = true, .seed = 40 + (uint64_t)communicator->ranks},
                           &m->nn));
  mica_value x = mica_input(m->graph, "x", MICA_F32, MICA_SHAPE(BATCH, LENGTH, WIDTH));
  mica_value target = mica_input(m->graph, "target", MICA_I32, MICA_SHAPE(BATCH));
  mica_value loss = mica_mean(mica_cross_entropy(network(m->parallel, m->nn, x), target, NULL), MICA_ALL_AXES, false);
  mica_optimize(m->nn, loss, &(mica_optimizer_config){.optimizer = MICA_OPTIMIZER_ADAM}, NULL);
  member_check(mica_graph_status(m->graph) == MICA_OK, "%s", mica_graph_message(m->graph));
  member_ok(mica_session_create(m->engine, m->graph, &loss, 1, NULL, &m->session));
}

static void drop(member *m) {
  mica_session_destroy(m->session);
  mica_nn_destroy(m->nn);
  mica_graph_destroy(m->graph);
  mica_parallel_destroy(m->parallel);
  mica_engine_destroy(m->engine);
}

static void train(member *m, double *losses, int steps) {
  mica_queue *queue = mica_engine_queue(m->engine);
  mica_tensor *x = NULL, *target = NULL, *rate = NULL;
  const float r = 3e-3f;
  member_ok(mica_tensor_create_from(m->engine, MICA_F32, MICA_SHAPE(BATCH, LENGTH, WIDTH), inputs, &x));
  member_ok(mica_tensor_create_from(m->engine, MICA_I32, MICA_SHAPE(BATCH), targets, &target));
  member_ok(mica_tensor_create_from(m->engine, MICA_F32, MICA_SCALAR, &r, &rate));
  const mica_feed feeds[] = {{"x", x}, {"target", target}, {MICA_LEARNING_RATE, rate}};
  for (int s = 0; s < steps; s++) {
    float value = 0;
    member_ok(mica_session_run(m->session, queue, feeds, 3));
    member_ok(mica_tensor_download(queue, mica_session_output(m->session, 0), &value, sizeof value));
    losses[s] = (double)value;
  }
  mica_tensor_destroy(x);
  mica_tensor_destroy(target);
  mica_tensor_destroy(rate);
}

static double losses[MOST_RANKS][STEPS];
static int64_t elements[MOST_RANKS];
static char path[512];
static int steps;

static void train_member(mica_communicator *communicator) {
  member m = {0};
  make(&m, communicator);
  member_ok(mica_parallel_initialise(m.parallel, m.nn, m.session, SEED));
  train(&m, losses[communicator->rank], steps);
  elements[communicator->rank] = mica_nn_element_count(m.nn, false);
  member_ok(mica_parallel_save(m.parallel, m.nn, m.session, path));
  drop(&m);
}

START_TEST(parts_train_as_the_whole) {
  double whole[STEPS];
  steps = STEPS;
  snprintf(path, sizeof path, "%s", files_path("whole.safetensors"));
  test_members(1, NULL, train_member);
  memcpy(whole, losses[0], sizeof whole);
  const int64_t all = elements[0];
  ck_assert_double_lt(whole[STEPS - 1], 0.2 * whole[0]);
  snprintf(path, sizeof path, "%s", files_path("parts.safetensors"));
  test_members(2, NULL, train_member);
  for (int s = 0; s < STEPS; s++) {
    ck_assert_msg(fabs(losses[0][s] - whole[s]) < 1e-4 * (1 + whole[s]), "step %d: %.9g, whole %.9g", s, losses[0][s],
                  whole[s]);
    ck_assert_double_eq(losses[1][s], losses[0][s]);
  }
  /* Norms, biases of rows and the head are on both. */
  const int64_t shared = 2 * (4 * WIDTH + 2 * WIDTH) + CLASSES * WIDTH + CLASSES;
  ck_assert_int_eq(elements[0], (all - shared) / 2 + shared);
}
END_TEST

/* --- files --- */

static double after[MOST_RANKS];

static void go_on(mica_communicator *communicator) {
  member m = {0};
  make(&m, communicator);
  member_ok(mica_parallel_load(m.parallel, m.nn, m.session, path));
  train(&m, &after[communicator->rank], 1);
  drop(&m);
}

START_TEST(files_are_of_any_number_of_ranks) {
  double first;
  steps = 3;
  snprintf(path, sizeof path, "%s", files_path("of4.safetensors"));
  test_members(4, NULL, train_member);
  ck_assert_int_lt(elements[3], elements[0] + 1);
  test_members(1, NULL, go_on);
  first = after[0];
  test_members(2, NULL, go_on);
  ck_assert_msg(fabs(after[1] - first) < 1e-5 * first, "%.9g, %.9g", after[1], first);
  ck_assert_double_lt(first, losses[0][0]);
}
END_TEST

/* --- what is wrong --- */

static void refuse_one(mica_communicator *communicator, int which, const char *sentence) {
  mica_parallel *p = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  member_ok(mica_parallel_create(communicator, &p));
  member_ok(mica_graph_create(&graph));
  member_ok(mica_nn_create(graph, NULL, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, WIDTH));
  mica_value y = which == 0 ? mica_parallel_columns(p, nn, "fc", x, 16, NULL)
                            : mica_parallel_attention(p, nn, "a", x, which == 1 ? 4 : 3, NULL);
  member_check(!y.graph && strstr(mica_graph_message(graph), sentence), "%s", mica_graph_message(graph));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_parallel_destroy(p);
}

static void refuse(mica_communicator *communicator) {
  refuse_one(communicator, 0,
             "fc: the number of units is 16, but must be a positive multiple of the number of ranks, 3");
  refuse_one(communicator, 1, "a: the number of heads is 4, but must be a positive multiple of the number of ranks, 3");
  refuse_one(communicator, 2, "with C known and a multiple of heads");
}

START_TEST(what_is_wrong_is_said) {
  mica_parallel *p = NULL;
  ck_assert_int_eq(mica_parallel_create(NULL, &p), MICA_E_INVALID);
  test_members(3, NULL, refuse);
}
END_TEST

TESTS(DEVICE, setup, NULL, parts_train_as_the_whole, files_are_of_any_number_of_ranks, what_is_wrong_is_said)
