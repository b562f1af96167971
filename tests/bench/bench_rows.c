/* A step of training over a table of which it reads a few rows: 5 million rows beside 50,000, alternately. */
#include "bench/bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 32, BATCH = 4096, HIDDEN = 128, READY = 16 };

typedef struct problem {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate, *ids[READY];
  int at;
} problem;

/* What is measured: an optimiser by rows, and whether a small network stands over the rows. */
typedef struct row {
  const char *name;
  mica_optimizer optimizer;
  bool network;
} row;

static const row rows_of[] = {{"sgd, the table alone", MICA_OPTIMIZER_SGD, false},
                              {"adagrad, the table alone", MICA_OPTIMIZER_ADAGRAD, false},
                              {"adam, the table alone", MICA_OPTIMIZER_ADAM, false},
                              {"adagrad, two dense layers", MICA_OPTIMIZER_ADAGRAD, true},
                              {"adam, two dense layers", MICA_OPTIMIZER_ADAM, true}};

/* Ids at random all over the table, other ones in each of the batches that lie ready. */
static void make_ids(const bench *b, problem *q, int64_t rows) {
  static int32_t ids[BATCH];
  uint64_t state = 1;
  for (int k = 0; k < READY; k++) {
    for (int i = 0; i < BATCH; i++) {
      state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      ids[i] = (int32_t)((state >> 33) % (uint64_t)rows);
    }
    bench_ok(mica_tensor_create_from(b->engine, MICA_I32, MICA_SHAPE(BATCH), ids, &q->ids[k]));
  }
}

static void make(const bench *b, const row *r, int64_t rows, problem *q) {
  const float rate = 0.01f;
  mica_optimizer_config c = mica_optimizer_config_default(r->optimizer);
  c.rows = "*";
  *q = (problem){0};
  bench_ok(mica_graph_create(&q->graph));
  bench_ok(mica_nn_create(q->graph, &(mica_nn_config){.training = true}, &q->nn));
  mica_value ids = mica_input(q->graph, "ids", MICA_I32, MICA_SHAPE(BATCH));
  const mica_embedding_config even = {.weight = {.kind = MICA_INIT_CONSTANT, .value = 0.1}};
  mica_value x = mica_nn_embedding(q->nn, "table", ids, rows, WIDTH, &even);
  if (r->network) x = mica_nn_dense(q->nn, "fc2", mica_relu(mica_nn_dense(q->nn, "fc1", x, HIDDEN, NULL)), 1, NULL);
  mica_value loss = mica_mean(mica_square(x), MICA_ALL_AXES, false);
  mica_optimize(q->nn, loss, &c, NULL);
  bench_ok(mica_session_create(b->engine, q->graph, &loss, 1, NULL, &q->session));
  bench_ok(mica_nn_initialise(q->nn, q->session));
  bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SCALAR, &rate, &q->rate));
  make_ids(b, q, rows);
  bench_ok(mica_queue_finish(b->queue));
}

static void unmake(problem *q) {
  for (int k = 0; k < READY; k++) mica_tensor_destroy(q->ids[k]);
  mica_tensor_destroy(q->rate);
  mica_session_destroy(q->session);
  mica_nn_destroy(q->nn);
  mica_graph_destroy(q->graph);
}

static double steps(const bench *b, problem *q, int count) {
  double begin = bench_now();
  for (int i = 0; i < count; i++)
    bench_ok(mica_session_run(q->session, b->queue,
                              (mica_feed[]){{MICA_LEARNING_RATE, q->rate}, {"ids", q->ids[q->at++ % READY]}}, 2));
  bench_ok(mica_queue_finish(b->queue));
  return (bench_now() - begin) / count;
}

static void print_profile(const bench *b, const char *name, problem *q) {
  mica_profile_row rows[32];
  size_t count = 0;
  bench_ok(mica_profile_start(b->engine));
  steps(b, q, 10);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, 32, &count));
  for (size_t i = 0; i < count && i < 16; i++)
    fprintf(stderr, "%s %8.1f us %6.1f GB/s  %s\n", name, rows[i].seconds * 1e5, rows[i].bytes / rows[i].seconds * 1e-9,
            rows[i].kernel);
}

int bench_rows(const bench *b) {
  enum { FEW = 50000, MANY = 5000000, STEPS = 20, MOST = 101 };
  const size_t rounds = (size_t)(b->rounds > 0 && b->rounds < MOST ? b->rounds : 15);
  if (!b->json) printf("%-26s %12s %12s %7s\n", "rows by", "50,000 ms", "5,000,000 ms", "times");
  for (size_t i = 0; i < sizeof rows_of / sizeof *rows_of; i++) {
    const row *r = &rows_of[i];
    problem few, many;
    double a[MOST], z[MOST];
    if (b->cases && !strstr(r->name, b->cases)) continue;
    make(b, r, FEW, &few);
    make(b, r, MANY, &many);
    steps(b, &few, READY), steps(b, &many, READY);
    for (size_t k = 0; k < rounds; k++) a[k] = steps(b, &few, STEPS), z[k] = steps(b, &many, STEPS);
    if (b->profile) print_profile(b, "few ", &few), print_profile(b, "many", &many);
    const double x = bench_median(a, rounds), y = bench_median(z, rounds);
    printf(b->json ? "{\"bench\":\"rows\",\"case\":\"%s\",\"few_ms\":%.4f,\"many_ms\":%.4f,\"times\":%.3f}\n"
                   : "%-26s %12.3f %12.3f %7.2f\n",
           r->name, 1e3 * x, 1e3 * y, y / x);
    fflush(stdout);
    unmake(&few), unmake(&many);
  }
  return 0;
}
