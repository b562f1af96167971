/* labels: device
 *
 * Optimisers whose state is divided among ranks, against one process on the joined batch. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/members.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 8, WIDTH = 20, HIDDEN = 48, CLASSES = 4, STEPS = 12, MOST_RANKS = 4 };

static float inputs[ROWS * MOST_RANKS][WIDTH];
static int32_t targets[ROWS * MOST_RANKS];

static void setup(void) {
  srand(9);
  for (int r = 0; r < ROWS * MOST_RANKS; r++) {
    targets[r] = rand() % CLASSES;
    for (int i = 0; i < WIDTH; i++)
      inputs[r][i] = (float)(rand() % 2001 - 1000) / 1000 + (i % CLASSES == targets[r] ? 1 : 0);
  }
}

/* What varies between tests. */
static mica_optimizer_config how;
static int64_t bucket_bytes;

typedef struct outcome {
  double losses[STEPS];
  float *weights; /* all, one behind the other */
  size_t count;
  uint64_t state_bytes; /* of the optimiser */
} outcome;

static outcome outcomes[MOST_RANKS];

static void take_weights(const mica_nn *nn, mica_session *session, mica_queue *queue, outcome *o) {
  o->weights = NULL;
  o->count = 0;
  o->state_bytes = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    const size_t bytes = mica_tensor_bytes(tensor);
    if (info->role == MICA_NN_ROLE_OPTIMIZER) o->state_bytes += bytes;
    if (info->role != MICA_NN_ROLE_WEIGHT) continue;
    o->weights = realloc(o->weights, o->count * sizeof(float) + bytes);
    member_check(o->weights != NULL, "memory");
    member_ok(mica_tensor_download(queue, tensor, o->weights + o->count, bytes));
    o->count += bytes / sizeof(float);
  }
}

/* Trains on the rank's rows of all that `ranks` have. */
static void train(mica_communicator *communicator, int32_t rank, int32_t rows, outcome *o) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *target = NULL, *rate = NULL;
  mica_optimizer_config config = how;
  config.communicator = communicator;
  config.shard = communicator != NULL;
  config.bucket_bytes = bucket_bytes;
  member_ok(mica_engine_create(NULL, &engine));
  member_ok(mica_graph_create(&graph));
  member_ok(mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = 4}, &nn));
  mica_value y = mica_input(graph, "x", MICA_F32, MICA_SHAPE(rows, WIDTH));
  y = mica_relu(mica_nn_dense(nn, "a", y, HIDDEN, NULL));
  y = mica_relu(mica_nn_dense(nn, "b", y, HIDDEN, NULL));
  y = mica_nn_dense(nn, "c", y, CLASSES, NULL);
  mica_value t = mica_input(graph, "target", MICA_I32, MICA_SHAPE(rows));
  mica_value loss = mica_mean(mica_cross_entropy(y, t, NULL), MICA_ALL_AXES, false);
  mica_optimize(nn, loss, &config, NULL);
  member_check(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  member_ok(mica_session_create(engine, graph, &loss, 1, NULL, &session));
  member_ok(mica_nn_initialise(nn, session));
  const float r = 1e-2f;
  member_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(rows, WIDTH), inputs[rank * rows], &x));
  member_ok(mica_tensor_create_from(engine, MICA_I32, MICA_SHAPE(rows), targets + rank * rows, &target));
  member_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &r, &rate));
  mica_queue *queue = mica_engine_queue(engine);
  for (int s = 0; s < STEPS; s++) {
    float value = 0;
    const mica_feed feeds[] = {{"x", x}, {"target", target}, {MICA_LEARNING_RATE, rate}};
    member_ok(mica_session_run(session, queue, feeds, 3));
    member_ok(mica_tensor_download(queue, mica_session_output(session, 0), &value, sizeof value));
    o->losses[s] = (double)value;
  }
  take_weights(nn, session, queue, o);
  mica_tensor_destroy(x);
  mica_tensor_destroy(target);
  mica_tensor_destroy(rate);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
}

static void train_member(mica_communicator *communicator) {
  train(communicator, communicator->rank, ROWS, &outcomes[communicator->rank]);
}

static void compare(int32_t ranks, const test_faults *faults, double share) {
  outcome whole = {.count = 0};
  train(NULL, 0, ROWS * ranks, &whole);
  test_members(ranks, faults, train_member);
  for (int32_t k = 0; k < ranks; k++) {
    const outcome *o = &outcomes[k];
    ck_assert_uint_eq(o->count, whole.count);
    ck_assert_mem_eq(o->weights, outcomes[0].weights, o->count * sizeof(float));
    ck_assert_msg((double)o->state_bytes < share * (double)whole.state_bytes, "rank %d: %llu of %llu bytes", (int)k,
                  (unsigned long long)o->state_bytes, (unsigned long long)whole.state_bytes);
  }
  for (size_t i = 0; i < whole.count; i++)
    ck_assert_msg(fabsf(outcomes[0].weights[i] - whole.weights[i]) < 2e-4f, "weight %zu: %.9g, %.9g", i,
                  (double)outcomes[0].weights[i], (double)whole.weights[i]);
  for (int s = 0; s < STEPS; s++) {
    double mean = 0;
    for (int32_t k = 0; k < ranks; k++) mean += outcomes[k].losses[s] / ranks;
    ck_assert_msg(fabs(mean - whole.losses[s]) < 1e-5 * (1 + whole.losses[s]), "step %d: %.9g, %.9g", s, mean,
                  whole.losses[s]);
  }
  free(whole.weights);
  for (int32_t k = 0; k < ranks; k++) free(outcomes[k].weights);
}

/* The largest weight, 48 x 48 of 3,556 elements, is one rank's, whatever their number. */
START_TEST(steps_are_those_of_one_process) {
  how = (mica_optimizer_config){.optimizer = MICA_OPTIMIZER_ADAM};
  bucket_bytes = 0;
  compare(2, NULL, 0.7);
  how = (mica_optimizer_config){
      .optimizer = MICA_OPTIMIZER_ADAMW, .weight_decay = 0.1, .clip_norm = 0.5, .loss_scale = 256};
  bucket_bytes = 1000;
  compare(4, &(test_faults){.delay = 1e-3, .seed = 5}, 0.7);
}
END_TEST

START_TEST(gradients_that_are_accumulated_are_divided_too) {
  how = (mica_optimizer_config){.optimizer = MICA_OPTIMIZER_SGD, .momentum = 0.9, .accumulate = 3};
  bucket_bytes = 0;
  compare(3, NULL, 0.7);
}
END_TEST

/* Eight equal layers on four ranks: a quarter of the state each, and less than half of the whole: weights, gradients
 * and state of Adam. */
static uint64_t state_of[MOST_RANKS], weights_of[MOST_RANKS];

static void measure(mica_communicator *communicator) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  const int32_t rank = communicator ? communicator->rank : 0;
  const mica_optimizer_config config = {
      .optimizer = MICA_OPTIMIZER_ADAM, .accumulate = 2, .communicator = communicator, .shard = communicator != NULL};
  member_ok(mica_graph_create(&graph));
  member_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  mica_value y = mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, HIDDEN));
  for (int i = 0; i < 8; i++) {
    char name[8];
    snprintf(name, sizeof name, "l%d", i);
    y = mica_relu(mica_nn_dense(nn, name, y, HIDDEN, NULL));
  }
  mica_optimize(nn, mica_mean(mica_square(y), MICA_ALL_AXES, false), &config, NULL);
  member_check(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  state_of[rank] = weights_of[rank] = 0;
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    int64_t count = 0;
    member_ok(mica_shape_count(mica_value_shape(info->value), &count));
    *(info->role == MICA_NN_ROLE_WEIGHT ? &weights_of[rank] : &state_of[rank]) += (uint64_t)count * sizeof(float);
  }
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

START_TEST(state_is_a_quarter_on_four_ranks) {
  measure(NULL);
  const uint64_t whole = state_of[0], weights = weights_of[0];
  test_members(4, NULL, measure);
  for (int k = 0; k < 4; k++) {
    ck_assert_uint_le(state_of[k], whole / 4 + 64); /* and a few counters */
    ck_assert_uint_le(2 * (state_of[k] + weights_of[k]), whole + weights);
  }
}
END_TEST

/* --- memory --- */

/* Enough weights that all else is small beside them. */
enum { DEEP = 16, BROAD = 384, PASSES = 4 };

typedef struct footprint {
  uint64_t weights, state, gradients; /* bytes of parameters */
  uint64_t peak;                      /* of the engine, over some steps */
} footprint;

static footprint footprints[MOST_RANKS];

static void take_footprint(const mica_nn *nn, mica_session *session, footprint *f) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    const size_t length = strlen(info->own_name), suffix = strlen(".gradient");
    const bool sum = length > suffix && !strcmp(info->own_name + length - suffix, ".gradient");
    const uint64_t bytes = mica_tensor_bytes(mica_session_parameter(session, info->name));
    *(info->role == MICA_NN_ROLE_WEIGHT ? &f->weights : sum ? &f->gradients : &f->state) += bytes;
  }
}

/* Adam on the sums of two runs' gradients, by an engine that does nothing else. */
static void occupy(mica_communicator *communicator) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *rate = NULL;
  footprint *f = &footprints[communicator ? communicator->rank : 0];
  const mica_optimizer_config config = {
      .optimizer = MICA_OPTIMIZER_ADAM, .accumulate = 2, .communicator = communicator, .shard = communicator != NULL};
  *f = (footprint){0};
  member_ok(mica_engine_create(NULL, &engine));
  member_ok(mica_graph_create(&graph));
  member_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  mica_value y = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, BROAD));
  for (int i = 0; i < DEEP; i++) {
    char name[8];
    snprintf(name, sizeof name, "l%d", i);
    y = mica_relu(mica_nn_dense(nn, name, y, BROAD, NULL));
  }
  mica_value loss = mica_mean(mica_square(y), MICA_ALL_AXES, false);
  mica_optimize(nn, loss, &config, NULL);
  member_check(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  member_ok(mica_session_create(engine, graph, &loss, 1, NULL, &session));
  member_ok(mica_nn_initialise(nn, session));
  const float r = 1e-3f;
  member_ok(mica_tensor_create(engine, MICA_F32, MICA_SHAPE(2, BROAD), &x));
  member_ok(mica_op_fill(mica_engine_queue(engine), 0.5, x));
  member_ok(mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &r, &rate));
  for (int s = 0; s < PASSES; s++)
    member_ok(
        mica_session_run(session, mica_engine_queue(engine), (mica_feed[]){{"x", x}, {MICA_LEARNING_RATE, rate}}, 2));
  member_ok(mica_queue_finish(mica_engine_queue(engine)));
  take_footprint(nn, session, f);
  f->peak = mica_engine_stats(engine).bytes_peak;
  mica_tensor_destroy(x);
  mica_tensor_destroy(rate);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
}

START_TEST(memory_of_four_ranks_is_less_than_half) {
  occupy(NULL);
  const footprint whole = footprints[0];
  ck_assert_uint_ge(whole.peak, whole.weights + whole.state + whole.gradients);
  ck_assert_uint_eq(whole.gradients, whole.weights);
  test_members(4, NULL, occupy);
  for (int k = 0; k < 4; k++) {
    const footprint *f = &footprints[k];
    ck_assert_uint_eq(f->weights, whole.weights);
    ck_assert_uint_le(f->gradients, whole.gradients / 4);
    ck_assert_uint_le(f->state, whole.state / 4 + 64); /* and a few counters */
    ck_assert_uint_ge(f->peak, f->weights + f->state + f->gradients);
    ck_assert_msg(2 * f->peak <= whole.peak, "rank %d takes %llu bytes, one process %llu", k,
                  (unsigned long long)f->peak, (unsigned long long)whole.peak);
  }
}
END_TEST

static void refuse(mica_communicator *communicator) {
  static const struct {
    mica_optimizer_config config;
    const char *sentence;
  } cases[] = {{{.shard = true}, "shard is set, but communicator is NULL"},
               {{.shard = true, .ema = 0.9}, "cannot be combined with ema or compress"},
               {{.shard = true, .compress = MICA_COMPRESSION_F16}, "cannot be combined with ema or compress"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_graph *graph = NULL;
    mica_nn *nn = NULL;
    mica_optimizer_config config = cases[i].config;
    if (i) config.communicator = communicator;
    member_ok(mica_graph_create(&graph));
    member_ok(mica_nn_create(graph, NULL, &nn));
    mica_value y = mica_nn_dense(nn, "a", mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3)), 4, NULL);
    mica_optimize(nn, mica_mean(y, MICA_ALL_AXES, false), &config, NULL);
    member_check(mica_graph_status(graph) == MICA_E_UNSUPPORTED, "case %zu", i);
    member_check(strstr(mica_graph_message(graph), cases[i].sentence), "%s", mica_graph_message(graph));
    mica_nn_destroy(nn);
    mica_graph_destroy(graph);
  }
}

START_TEST(what_is_wrong_is_said) { test_members(2, NULL, refuse); }
END_TEST

TESTS(DEVICE, setup, NULL, steps_are_those_of_one_process, gradients_that_are_accumulated_are_divided_too,
      state_is_a_quarter_on_four_ranks, memory_of_four_ranks_is_less_than_half, what_is_wrong_is_said)
