/* A step of NeuMF, by Adam over whole tables and over the rows that it reads, each beside PyTorch's. */
#include "bench/bench.h"
#include "bench/peer_train.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Users and items of MovieLens-20M. */
#define USERS 138493
#define ITEMS 26744
enum { WIDTH = 32, BATCH = 1024, READY = 16, MOST = 101 };
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)

typedef struct problem {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate, *users[READY], *items[READY], *labels[READY];
  int at;
} problem;

static uint64_t next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}

static void make_batches(const bench *b, problem *q) {
  static int32_t users[BATCH], items[BATCH];
  static float labels[BATCH];
  uint64_t state = 1;
  for (int k = 0; k < READY; k++) {
    for (int i = 0; i < BATCH; i++) {
      users[i] = (int32_t)(next(&state) % USERS);
      items[i] = (int32_t)(next(&state) % ITEMS);
      labels[i] = (float)(next(&state) % 2);
    }
    bench_ok(mica_tensor_create_from(b->engine, MICA_I32, MICA_SHAPE(BATCH), users, &q->users[k]));
    bench_ok(mica_tensor_create_from(b->engine, MICA_I32, MICA_SHAPE(BATCH), items, &q->items[k]));
    bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SHAPE(BATCH), labels, &q->labels[k]));
  }
}

/* The logits of pairs, (BATCH, 1): the network of the task recommend. */
static mica_value build(mica_nn *nn, mica_value users, mica_value items) {
  static const mica_embedding_config even = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.1}};
  static const mica_dense_config plain = {.no_bias = true};
  mica_value p = mica_nn_embedding(nn, "users", users, USERS, WIDTH, &even);
  mica_value q = mica_nn_embedding(nn, "items", items, ITEMS, WIDTH, &even);
  mica_value x = mica_nn_embedding(nn, "deep_users", users, USERS, WIDTH, &even);
  mica_value y = mica_nn_embedding(nn, "deep_items", items, ITEMS, WIDTH, &even);
  mica_value h =
      mica_add(mica_nn_dense(nn, "users_fc1", x, WIDTH, &plain), mica_nn_dense(nn, "items_fc1", y, WIDTH, NULL));
  h = mica_relu(mica_nn_dense(nn, "fc2", mica_relu(h), WIDTH / 2, NULL));
  mica_value products = mica_nn_dense(nn, "products", mica_mul(p, q), 1, &plain);
  return mica_add(products, mica_nn_dense(nn, "fc3", h, 1, NULL));
}

static void make(const bench *b, const char *rows, problem *q) {
  const float rate = 0.001f;
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  c.rows = rows;
  *q = (problem){0};
  bench_ok(mica_graph_create(&q->graph));
  bench_ok(mica_nn_create(q->graph, &(mica_nn_config){.training = true}, &q->nn));
  mica_value users = mica_input(q->graph, "users", MICA_I32, MICA_SHAPE(BATCH));
  mica_value items = mica_input(q->graph, "items", MICA_I32, MICA_SHAPE(BATCH));
  mica_value label = mica_input(q->graph, "labels", MICA_F32, MICA_SHAPE(BATCH));
  mica_value z = mica_squeeze(build(q->nn, users, items), MICA_AXES(1));
  mica_value loss = mica_mean(mica_sub(mica_softplus(z), mica_mul(label, z)), MICA_ALL_AXES, false);
  mica_optimize(q->nn, loss, &c, NULL);
  bench_ok(mica_session_create(b->engine, q->graph, &loss, 1, NULL, &q->session));
  bench_ok(mica_nn_initialise(q->nn, q->session));
  bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SCALAR, &rate, &q->rate));
  make_batches(b, q);
  bench_ok(mica_queue_finish(b->queue));
}

static void unmake(problem *q) {
  for (int k = 0; k < READY; k++) {
    mica_tensor_destroy(q->users[k]);
    mica_tensor_destroy(q->items[k]);
    mica_tensor_destroy(q->labels[k]);
  }
  mica_tensor_destroy(q->rate);
  mica_session_destroy(q->session);
  mica_nn_destroy(q->nn);
  mica_graph_destroy(q->graph);
}

static double steps(const bench *b, problem *q, int count) {
  double begin = bench_now();
  for (int i = 0; i < count; i++, q->at++) {
    const int k = q->at % READY;
    const mica_feed feeds[] = {
        {MICA_LEARNING_RATE, q->rate}, {"users", q->users[k]}, {"items", q->items[k]}, {"labels", q->labels[k]}};
    bench_ok(mica_session_run(q->session, b->queue, feeds, 4));
  }
  bench_ok(mica_queue_finish(b->queue));
  return (bench_now() - begin) / count;
}

static void measure(const bench *b, const char *name, const char *rows, const char *peer_name) {
  problem q;
  peer_train peer;
  double mine[MOST], theirs[MOST];
  const char *const arguments[] = {peer_name, TEXT(USERS), TEXT(ITEMS), "32", "1024", NULL};
  const size_t rounds = (size_t)(b->rounds > 0 && b->rounds < MOST ? b->rounds : 9);
  if (b->cases && !strstr(name, b->cases)) return;
  const bool there = peer_train_start_script(&peer, "torch_neumf.py", arguments);
  make(b, rows, &q);
  steps(b, &q, READY);
  const int count = b->steps ? b->steps : rows ? 40 : 5;
  for (size_t i = 0; i < rounds; i++) {
    if (there) theirs[i] = peer_train_steps(&peer, count) / count;
    bench_rest(0.2); /* until PyTorch's threads sleep */
    mine[i] = steps(b, &q, count);
  }
  const double x = bench_median(mine, rounds), y = there ? bench_median(theirs, rounds) : 0;
  if (there) peer_train_end(&peer);
  unmake(&q);
  if (b->json)
    printf("{\"bench\":\"neumf\",\"case\":\"%s\",\"ms\":%.4f,\"pytorch_ms\":%.4f}\n", name, 1e3 * x, 1e3 * y);
  else if (there)
    printf("%-16s %9.3f ms; PyTorch %s %9.3f ms, ratio %.2f\n", name, 1e3 * x, peer.version, 1e3 * y, y / x);
  else
    printf("%-16s %9.3f ms\n", name, 1e3 * x);
  fflush(stdout);
}

int bench_neumf(const bench *b) {
  /* A peer that dies is noticed by what it does not answer. */
  signal(SIGPIPE, SIG_IGN);
  measure(b, "whole tables", NULL, "dense");
  measure(b, "rows", "*.weight", "sparse");
  return 0;
}
