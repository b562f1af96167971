/* labels: device long
 *
 * A step of a small network over rows of a table (adagrad by rows) takes no longer for 5 million rows than for 50,000:
 * at most 1.3 times as long, by medians of alternating runs. */
#include "support/check_main.h"
#include "support/engine.h"

#include "base/clock.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 32, BATCH = 1024, HIDDEN = 128, RUNS = 60 };

typedef struct problem {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate, *ids;
  int64_t rows;
  double seconds[RUNS];
} problem;

static void make(problem *q, int64_t rows) {
  const float rate = 0.01f;
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAGRAD);
  c.rows = "*";
  *q = (problem){.rows = rows};
  ck_ok(mica_graph_create(&q->graph));
  ck_ok(mica_nn_create(q->graph, &(mica_nn_config){.training = true}, &q->nn));
  mica_value ids = mica_input(q->graph, "ids", MICA_I32, MICA_SHAPE(BATCH));
  const mica_embedding_config even = {.weight = {.kind = MICA_INIT_CONSTANT, .value = 0.1}};
  mica_value x = mica_nn_embedding(q->nn, "table", ids, rows, WIDTH, &even);
  mica_value h = mica_relu(mica_nn_dense(q->nn, "fc1", x, HIDDEN, NULL));
  mica_value loss = mica_mean(mica_square(mica_nn_dense(q->nn, "fc2", h, 1, NULL)), MICA_ALL_AXES, false);
  mica_optimize(q->nn, loss, &c, NULL);
  ck_ok(mica_session_create(test_engine(), q->graph, &loss, 1, NULL, &q->session));
  ck_ok(mica_nn_initialise(q->nn, q->session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &rate, &q->rate));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(BATCH), &q->ids));
  ck_ok(mica_queue_finish(test_queue()));
}

/* Other rows each time, as many different ones in both tables: no more than 20,000, which lie apart from each other. */
static void step(problem *q, int run) {
  static int32_t ids[BATCH];
  const int64_t apart = q->rows / 20000;
  for (int64_t i = 0; i < BATCH; i++) ids[i] = (int32_t)((i * 7919 + run * 104729) % 20000 * apart);
  ck_ok(mica_tensor_upload(test_queue(), q->ids, ids, sizeof ids));
  ck_ok(mica_queue_finish(test_queue()));
  const double begun = mica__clock();
  ck_ok(mica_session_run(q->session, test_queue(), (mica_feed[]){{MICA_LEARNING_RATE, q->rate}, {"ids", q->ids}}, 2));
  ck_ok(mica_queue_finish(test_queue()));
  q->seconds[run] = mica__clock() - begun;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(problem *q) {
  qsort(q->seconds, RUNS, sizeof *q->seconds, compare);
  return q->seconds[RUNS / 2];
}

static void unmake(problem *q) {
  mica_tensor_destroy(q->rate);
  mica_tensor_destroy(q->ids);
  mica_session_destroy(q->session);
  mica_nn_destroy(q->nn);
  mica_graph_destroy(q->graph);
}

START_TEST(five_million_rows) {
  problem small, large;
  make(&small, 50000);
  make(&large, 5000000);
  for (int run = 0; run < RUNS; run++) step(&small, run), step(&large, run);
  const double a = median(&small), b = median(&large);
  printf("50,000 rows %.3f ms, 5,000,000 rows %.3f ms a step: %.2f times\n", 1e3 * a, 1e3 * b, b / a);
  ck_assert_msg(b <= 1.3 * a, "%.2f times as long", b / a);
  unmake(&large);
  unmake(&small);
}
END_TEST

TESTS(DEVICE, NULL, NULL, five_million_rows)
