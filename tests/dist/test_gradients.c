/* labels: device
 *
 * Gradients of several ranks against those of one process on the joined batch, for networks of the zoo; equal bits
 * whatever the timing; what a step of the optimiser does beside them. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/members.h"

#include <math.h>
#include <mica/mica.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_RANKS 4
#define CLASSES 5
#define MOST_PARAMETERS 64

/* --- a problem: a network and the samples of each rank --- */

typedef struct problem {
  const char *network;
  mica_shape sample; /* of the network's input */
  mica_model_config config;
  mica_optimizer_config how; /* sgd with momentum, whose state after one step is the gradient */
  int steps;
  bool dice; /* the loss has a quotient of sums over all samples, too */
} problem;

static problem current;
static int32_t all_ranks;

/* Ranks have different numbers of samples. */
static int64_t samples_of(int32_t rank) { return 2 + rank; }

static int64_t first_sample(int32_t rank) {
  int64_t first = 0;
  for (int32_t r = 0; r < rank; r++) first += samples_of(r);
  return first;
}

/* What a rank, or one process for all of them, has computed. */
typedef struct outcome {
  float *values[MOST_PARAMETERS];
  size_t counts[MOST_PARAMETERS], count;
  char *names[MOST_PARAMETERS];
} outcome;

static outcome outcomes[MOST_RANKS];
static mica_engine *engines[MOST_RANKS]; /* of the ranks; one process has rank 0's */

static mica_engine *engine_of(const mica_communicator *c) { return engines[c ? c->rank : 0]; }

static void make_engines(void) {
  engines[0] = test_engine();
  for (int r = 1; r < MOST_RANKS; r++) ck_ok(mica_engine_create(NULL, &engines[r]));
}

static void destroy_engines(void) {
  for (int r = 1; r < MOST_RANKS; r++) {
    test_count_launches(mica_engine_stats(engines[r]).launches);
    mica_engine_destroy(engines[r]);
  }
}

static void free_outcome(outcome *o) {
  for (size_t i = 0; i < o->count; i++) {
    free(o->values[i]);
    free(o->names[i]);
  }
  *o = (outcome){0};
}

static bool takes_tokens(void) { return current.sample.rank == 1 && current.config.sequence.vocabulary > 0; }

static mica_tensor *batch_of(mica_engine *engine, int64_t first, int64_t count, int step) {
  mica_shape shape = MICA_SHAPE(count);
  int64_t each = 1;
  for (int32_t k = 0; k < current.sample.rank; k++) each *= shape.dim[shape.rank++] = current.sample.dim[k];
  float *x = malloc((size_t)(count * each) * sizeof *x);
  ck_assert_ptr_nonnull(x);
  for (int64_t i = 0; i < count * each; i++) {
    const int64_t at = first * each + i + step * 977;
    if (takes_tokens())
      ((int32_t *)x)[i] = (int32_t)((at * at * 7 + at) % current.config.sequence.vocabulary);
    else
      x[i] = sinf((float)at * 0.37f) + 0.5f * sinf((float)at * 1.7f);
  }
  mica_tensor *tensor;
  ck_ok(mica_tensor_create(engine, takes_tokens() ? MICA_I32 : MICA_F32, shape, &tensor));
  ck_ok(mica_tensor_upload(mica_engine_queue(engine), tensor, x, (size_t)(count * each) * sizeof *x));
  free(x);
  return tensor;
}

static mica_tensor *labels_of(mica_engine *engine, int64_t first, int64_t count) {
  int32_t labels[64];
  for (int64_t i = 0; i < count; i++) labels[i] = (int32_t)((first + i) * 3 % CLASSES);
  mica_tensor *tensor;
  ck_ok(mica_tensor_create(engine, MICA_I32, MICA_SHAPE(count), &tensor));
  ck_ok(mica_tensor_upload(mica_engine_queue(engine), tensor, labels, (size_t)count * sizeof *labels));
  return tensor;
}

/* Two convolutions, each with a batch norm behind it, in place of a bias. */
static mica_value normed(mica_nn *nn, mica_value x) {
  static const mica_nn_conv_config plain = {.no_bias = true};
  x = mica_relu(mica_nn_batch_norm(nn, "bn1", mica_nn_conv(nn, "conv1", x, 6, 3, &plain), NULL));
  x = mica_relu(mica_nn_batch_norm(nn, "bn2", mica_nn_conv(nn, "conv2", x, 8, 3, &plain), NULL));
  return mica_nn_dense(nn, "fc", mica_mean(x, MICA_AXES(2, 3), false), CLASSES, NULL);
}

/* The loss of a batch of any size: the mean over its samples (of a sequence's logits the mean over its positions). */
static mica_value loss_of(mica_nn *nn, mica_value *weight) {
  mica_graph *graph = mica_nn_graph(nn);
  mica_shape shape = MICA_SHAPE(MICA_DYNAMIC);
  for (int32_t k = 0; k < current.sample.rank; k++) shape.dim[shape.rank++] = current.sample.dim[k];
  mica_value x = mica_input(graph, "x", takes_tokens() ? MICA_I32 : MICA_F32, shape);
  mica_value y = mica_input(graph, "y", MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  mica_value z = strcmp(current.network, "normed") ? mica_model_build(nn, x, &current.config) : normed(nn, x);
  if (takes_tokens()) z = mica_mean(z, MICA_AXES(1), false);
  *weight = mica_sum(mica_full_like(mica_cast(y, MICA_F32), 1), MICA_ALL_AXES, false);
  mica_value entropy = mica_cross_entropy(z, y, NULL);
  const mica_dice_config how = {.ranks = mica_nn_loss_ranks(nn), .channel = MICA_CHANNELS / 8 - 1};
  return current.dice ? mica_add(entropy, mica_dice(z, y, &how)) : entropy;
}

static void keep(mica_nn *nn, mica_session *session, mica_queue *queue, outcome *to) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    const bool gradient = info->role == MICA_NN_ROLE_OPTIMIZER && strstr(info->name, ".momentum");
    const bool running = current.how.joined && strstr(info->name, ".running_");
    if (!gradient && !running && info->role != MICA_NN_ROLE_WEIGHT) continue;
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    const size_t bytes = mica_tensor_bytes(tensor), k = to->count++;
    ck_assert_uint_lt(k, MOST_PARAMETERS);
    to->values[k] = malloc(bytes);
    to->counts[k] = bytes / sizeof(float);
    to->names[k] = mica__strdup(info->name);
    ck_ok(mica_tensor_download(queue, tensor, to->values[k], bytes));
  }
}

/* Some steps on samples [first, first + count). */
static void train(mica_communicator *communicator, int64_t first, int64_t count, outcome *to) {
  mica_engine *engine = engine_of(communicator);
  mica_queue *queue = mica_engine_queue(engine);
  mica_optimizer_config how = current.how;
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate, *y;
  const float r = 0.01f;
  ck_ok(mica_graph_create(&graph));
  const mica_nn_config network = {.training = true,
                                  .seed = 3,
                                  .norm_ranks = how.joined && !current.dice ? communicator : NULL,
                                  .loss_ranks = communicator};
  ck_ok(mica_nn_create(graph, &network, &nn));
  how.communicator = communicator;
  mica_value loss = loss_of(nn, &how.weight);
  mica_optimize(nn, loss, &how, NULL);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(engine, graph, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  ck_ok(mica_tensor_create(engine, MICA_F32, MICA_SCALAR, &rate));
  ck_ok(mica_tensor_upload(queue, rate, &r, sizeof r));
  y = labels_of(engine, first, count);
  for (int step = 0; step < current.steps; step++) {
    mica_tensor *x = batch_of(engine, first, count, step);
    ck_ok(mica_session_run(session, queue, (mica_feed[]){{"x", x}, {"y", y}, {MICA_LEARNING_RATE, rate}}, 3));
    ck_ok(mica_queue_finish(queue));
    mica_tensor_destroy(x);
  }
  free_outcome(to);
  keep(nn, session, queue, to);
  mica_tensor_destroy(rate);
  mica_tensor_destroy(y);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

static void train_rank(mica_communicator *c) {
  train(c, first_sample(c->rank), samples_of(c->rank), &outcomes[c->rank]);
}

static void train_ranks(int32_t ranks, const test_faults *faults) {
  all_ranks = ranks;
  test_members(ranks, faults, train_rank);
}

/* --- comparisons --- */

/* Gradients are sums of some hundred products; kernels and their order differ with the size of a batch. */
#define SUMMATION (256 * 0x1p-24)

/* What a sum's rounding is a part of: the largest value. A running mean, a tenth of the mean of values about zero, is
 * itself far below what was summed: its measure is a tenth of their deviation, which the running variance tells. */
static double measure_of(const outcome *o, size_t p) {
  const char *mean = strstr(o->names[p], ".running_mean");
  double most = 0;
  for (size_t i = 0; i < o->counts[p]; i++) most = fmax(most, fabs((double)o->values[p][i]));
  for (size_t v = 0; mean && v < o->count; v++)
    if (!strncmp(o->names[v], o->names[p], (size_t)(mean - o->names[p])) && strstr(o->names[v], ".running_var"))
      for (size_t i = 0; i < o->counts[v]; i++)
        most = fmax(most, 0.1 * sqrt(fmax(0, ((double)o->values[v][i] - 0.9) / 0.1)));
  return most;
}

static void expect_close(const outcome *got, const outcome *wanted, double tolerance) {
  ck_assert_uint_eq(got->count, wanted->count);
  for (size_t p = 0; p < wanted->count; p++) {
    const double most = measure_of(wanted, p);
    for (size_t i = 0; i < wanted->counts[p]; i++) {
      const double off = fabs((double)got->values[p][i] - (double)wanted->values[p][i]);
      ck_assert_msg(off <= tolerance * most, "%s: %s[%zu] of %d ranks is %.9g, not %.9g (largest %g)", current.network,
                    wanted->names[p], i, all_ranks, (double)got->values[p][i], (double)wanted->values[p][i], most);
    }
  }
}

static void expect_equal(const outcome *a, const outcome *b) {
  ck_assert_uint_eq(a->count, b->count);
  for (size_t p = 0; p < a->count; p++)
    ck_assert_msg(!memcmp(a->values[p], b->values[p], a->counts[p] * sizeof(float)), "%s: bits of %s differ",
                  current.network, a->names[p]);
}

static problem problem_of(const char *network, mica_shape sample) {
  problem p = {.network = network, .sample = sample, .steps = 1};
  p.config = (mica_model_config){.name = network, .classes = CLASSES, .width = 12};
  p.how = (mica_optimizer_config){.momentum = 0.9, .bucket_bytes = 4096};
  return p;
}

static problem tokens_of(const char *network) {
  problem p = problem_of(network, MICA_SHAPE(6));
  p.config.width = 16;
  p.config.sequence.vocabulary = 11;
  p.config.sequence.layers = 1;
  p.config.sequence.heads = 2;
  return p;
}

static void against_one_process(int32_t most_ranks) {
  outcome one = {0};
  for (int32_t ranks = 2; ranks <= most_ranks; ranks++) {
    train(NULL, 0, first_sample(ranks), &one);
    train_ranks(ranks, NULL);
    expect_close(&outcomes[0], &one, SUMMATION);
    for (int32_t r = 1; r < ranks; r++) expect_equal(&outcomes[r], &outcomes[0]);
  }
  free_outcome(&one);
}

static void free_all(void) {
  for (int r = 0; r < MOST_RANKS; r++) free_outcome(&outcomes[r]);
}

START_TEST(networks_of_the_zoo) {
  const problem problems[] = {problem_of("mlp", MICA_SHAPE(20)), problem_of("lenet", MICA_SHAPE(1, 28, 28)),
                              tokens_of("gpt"), tokens_of("tcn"), tokens_of("cnn_gru")};
  for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
    current = problems[i];
    against_one_process(TEST_RACES_ALONE ? 2 : MOST_RANKS);
  }
  free_all();
}
END_TEST

/* Batch norms by the samples of all ranks, of which each has another number: what they note for inference too. */
START_TEST(batch_norms_of_all_ranks) {
  current = problem_of("normed", MICA_SHAPE(2, 9, 9));
  current.how.joined = true;
  against_one_process(TEST_RACES_ALONE ? 2 : 3);
  free_all();
}
END_TEST

/* A loss that is no mean of samples, on ranks of which each has another number of them. */
START_TEST(quotients_of_sums_over_all_ranks) {
  current = problem_of("mlp", MICA_SHAPE(20));
  current.dice = current.how.joined = true;
  against_one_process(TEST_RACES_ALONE ? 2 : MOST_RANKS);
  free_all();
}
END_TEST

START_TEST(timing_changes_no_bit) {
  outcome first = {0};
  current = problem_of("mlp", MICA_SHAPE(20));
  current.steps = 3;
  current.how.bucket_bytes = 256;
  for (unsigned run = 0; run < (TEST_RACES_ALONE ? 3 : 10); run++) {
    train_ranks(3, &(test_faults){.delay = 3e-4, .seed = run});
    for (int32_t r = 1; r < 3; r++) expect_equal(&outcomes[r], &outcomes[0]);
    if (run == 0) {
      first = outcomes[0];
      outcomes[0] = (outcome){0};
    } else
      expect_equal(&outcomes[0], &first);
  }
  free_outcome(&first);
  free_all();
}
END_TEST

/* What is made of gradients is made of those of all ranks. */
START_TEST(what_the_optimiser_does_with_them) {
  const mica_optimizer_config ways[] = {
      {.momentum = 0.9, .clip_norm = 0.01},
      {.momentum = 0.9, .accumulate = 2},
      {.momentum = 0.9, .loss_scale = 1024},
      {.momentum = 0.9, .weight_decay = 0.1, .ema = 0.5},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    current = problem_of("mlp", MICA_SHAPE(20));
    current.how = ways[i];
    current.steps = 2;
    against_one_process(2);
  }
  free_all();
}
END_TEST

START_TEST(compressed_gradients) {
  outcome one = {0};
  current = problem_of("mlp", MICA_SHAPE(20));
  train(NULL, 0, first_sample(3), &one);
  for (int how = MICA_COMPRESSION_F16; how <= MICA_COMPRESSION_U8; how++) {
    current.how.compress = (mica_compression)how;
    train_ranks(3, NULL);
    /* Three roundings and that of the sum: each half a level of the largest, weights are 2, 3 and 4. */
    expect_close(&outcomes[0], &one, how == MICA_COMPRESSION_F16 ? 8 * 0x1p-12 : 8.0 / 254);
    for (int32_t r = 1; r < 3; r++) expect_equal(&outcomes[r], &outcomes[0]);
  }
  free_outcome(&one);
  free_all();
}
END_TEST

/* --- overlap --- */

/* In the order of a run the buckets begin between the launches of the backward pass, and end behind the last of it: so
 * many launches follow the begin of the first bucket before the last one begins. */
static void expect_overlap(mica_communicator *c) {
  mica_optimizer_config how = {.communicator = c, .bucket_bytes = 16384};
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  char *text = NULL;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  mica_value weight;
  current = problem_of("lenet", MICA_SHAPE(1, 28, 28));
  mica_value loss = loss_of(nn, &weight);
  mica_optimize(nn, loss, &how, NULL);
  ck_ok(mica_session_create(engine_of(c), graph, &loss, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  mica_tensor *feeds[3] = {batch_of(engine_of(c), 0, 4, 0), labels_of(engine_of(c), 0, 4)};
  const float rate = 0.01f;
  ck_ok(mica_tensor_create_from(engine_of(c), MICA_F32, MICA_SCALAR, &rate, &feeds[2]));
  ck_ok(mica_session_run(session, mica_engine_queue(engine_of(c)),
                         (mica_feed[]){{"x", feeds[0]}, {"y", feeds[1]}, {MICA_LEARNING_RATE, feeds[2]}}, 3));
  ck_ok(mica_session_dump(session, &text));
  int begins = 0, between = 0, behind = 0;
  bool ended = false;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    const bool begin = strstr(line, "on the host begins: all_reduce"),
               end = strstr(line, "on the host ends: all_reduce");
    ck_assert_msg(!begin || !ended, "a bucket begins behind the end of another");
    if (begin) between += behind, behind = 0;
    begins += begin;
    ended = ended || end;
    behind += begins > 0 && !begin && !end;
  }
  ck_assert_msg(begins >= 3, "%d buckets begin", begins);
  ck_assert_msg(between >= 5, "%d launches between the begins of buckets", between);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(feeds[k]);
  mica_free(text);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

START_TEST(buckets_leave_during_the_backward_pass) { test_members(1, NULL, expect_overlap); }
END_TEST

/* --- sums in a graph --- */

/* loss_r = sum(w_r (sum over ranks of x)^2), of which the gradient is 2 (sum of x) (sum of w). */
static void sum_in_a_graph(mica_communicator *c) {
  const float x[3] = {1.0f + (float)c->rank, -2, 0.5f}, w = 1.0f + (float)c->rank;
  const double sums[3] = {1 + 2 + 3, -6, 1.5};
  float got[3];
  mica_engine *engine = engine_of(c);
  mica_queue *queue = mica_engine_queue(engine);
  mica_graph *graph;
  mica_session *session;
  ck_ok(mica_graph_create(&graph));
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3)), gradient;
  mica_value sum = mica_all_reduce(p, c, 5);
  mica_value loss = mica_affine(mica_sum_square(sum, MICA_ALL_AXES, false), (double)w, 0);
  ck_ok(mica_gradients(loss, &p, 1, &gradient));
  mica_value outputs[2] = {sum, gradient};
  ck_ok(mica_session_create(engine, graph, outputs, 2, NULL, &session));
  ck_ok(mica_tensor_upload(queue, mica_session_parameter(session, "p"), x, sizeof x));
  ck_ok(mica_session_run(session, queue, NULL, 0));
  ck_ok(mica_tensor_download(queue, mica_session_output(session, 0), got, sizeof got));
  for (int i = 0; i < 3; i++) ck_assert_double_eq((double)got[i], sums[i]);
  ck_ok(mica_tensor_download(queue, mica_session_output(session, 1), got, sizeof got));
  for (int i = 0; i < 3; i++) ck_assert_double_eq((double)got[i], 2 * sums[i] * (1 + 2 + 3));
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}

START_TEST(sums_in_graphs) { test_members(3, NULL, sum_in_a_graph); }
END_TEST

static void refused(mica_communicator *c) {
  mica_graph *graph;
  ck_ok(mica_graph_create(&graph));
  mica_all_reduce(mica_parameter(graph, "p", MICA_I32, MICA_SHAPE(3)), c, 0);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_DTYPE);
  mica_graph_destroy(graph);
  ck_ok(mica_graph_create(&graph));
  mica_all_reduce(mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC)), c, 0);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  mica_graph_destroy(graph);
}

/* Channels from MICA_CHANNELS / 8 on are the library's: a network's first batch norm is there. */
static void channels_refused(mica_communicator *c) {
  static const int32_t channels[] = {
      0, MICA_CHANNELS / 8 - 2, MICA_CHANNELS / 8 - 1, MICA_CHANNELS / 8, MICA_CHANNELS / 4 - 1, -1, 1 << 20};
  for (size_t k = 0; k < sizeof channels / sizeof *channels; k++)
    for (int op = 0; op < 5; op++) {
      const int32_t channel = channels[k], taken = op == 4 ? 2 : 1;
      const bool own = channel >= 0 && channel + taken <= MICA_CHANNELS / 8;
      for (int alone = 0; alone < (op == 3 ? 1 : 2); alone++) {
        mica_communicator *among = alone ? NULL : c;
        const mica_dice_config dice = {.ranks = among, .channel = channel};
        mica_graph *graph;
        ck_ok(mica_graph_create(&graph));
        mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(2, 3)), none = {0};
        mica_value y = mica_parameter(graph, "y", MICA_I32, MICA_SHAPE(2));
        if (op == 0) mica_all_reduce(p, among, channel);
        if (op == 1) mica_parallel_enter(p, among, channel);
        if (op == 2) mica_parallel_leave(p, among, channel);
        if (op == 3) mica_dice(p, y, &dice);
        if (op == 4) mica_batch_norm_ranks(p, none, none, 1e-5, among, channel, NULL);
        ck_assert_msg(mica_graph_status(graph) == (own && !alone ? MICA_OK : MICA_E_INVALID), "op %d, channel %d: %s",
                      op, (int)channel, mica_graph_message(graph));
        mica_graph_destroy(graph);
      }
    }
}

/* A network's batch norms end below the channels of what runs beside them. */
static void norms_refused(mica_communicator *c) {
  const mica_nn_config config = {.training = true, .norm_ranks = c};
  const int32_t most = (MICA_CHANNELS / 4 - 4 - MICA_CHANNELS / 8) / 2;
  mica_graph *graph;
  mica_nn *nn;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &config, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 1));
  for (int32_t k = 0; k < most; k++) {
    char name[16];
    snprintf(name, sizeof name, "bn%d", (int)k);
    mica_nn_batch_norm(nn, name, x, NULL);
  }
  ck_ok(mica_graph_status(graph));
  mica_nn_batch_norm(nn, "last", x, NULL);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_UNSUPPORTED);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

START_TEST(wrong_sums) { test_members(1, NULL, refused); }
END_TEST

START_TEST(too_many_norms) { test_members(1, NULL, norms_refused); }
END_TEST

START_TEST(channels_of_the_library) { test_members(1, NULL, channels_refused); }
END_TEST

/* --- faults --- */

static void one_never_comes(mica_communicator *c) {
  mica_graph *graph;
  mica_session *session;
  mica_engine *engine = engine_of(c);
  if (c->rank == 1) return;
  ck_ok(mica_graph_create(&graph));
  mica_value sum = mica_affine(mica_all_reduce(mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3)), c, 0), 2, 0);
  ck_ok(mica_session_create(engine, graph, &sum, 1, NULL, &session));
  ck_assert_int_eq(mica_session_run(session, mica_engine_queue(engine), NULL, 0), MICA_E_STATE);
  ck_assert_str_eq(mica_error_message(), "all_reduce: rank 1 has sent nothing for 0.3 seconds (all_reduce)");
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}

START_TEST(a_rank_that_hangs) { test_members(2, &(test_faults){.timeout = 0.3}, one_never_comes); }
END_TEST

TEST_GROUPS(DEVICE, ONCE(make_engines, destroy_engines, networks_of_the_zoo, batch_norms_of_all_ranks,
                         quotients_of_sums_over_all_ranks, timing_changes_no_bit, what_the_optimiser_does_with_them,
                         compressed_gradients, buckets_leave_during_the_backward_pass, sums_in_graphs, wrong_sums,
                         channels_of_the_library, too_many_norms, a_rank_that_hangs))
