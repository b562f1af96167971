/* labels: device
 *
 * Sessions of several threads on one engine, a queue each: they compile, plan and run side by side. The
 * thread sanitizer runs this too. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 3
#define ROUNDS 20
#define ROWS 4
#define LENGTH 40

/* A status and a sentence come back, since a check in another thread than the first would not. */
typedef struct worker {
  pthread_t thread;
  mica_status (*work)(int number);
  int number;
  char failure[300];
} worker;

/* y = x + number, row by row, and its sums over the rows' elements. */
static mica_status build(mica_graph *graph, int number, mica_value outputs[2]) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, LENGTH));
  outputs[0] = mica_affine(x, 1, number);
  outputs[1] = mica_sum(outputs[0], MICA_AXES(1), false);
  return mica_graph_status(graph);
}

static mica_status run_once(mica_session *session, mica_queue *queue, int number, int64_t rows) {
  mica_engine *engine = test_engine();
  mica_tensor *x = NULL;
  float host[ROWS * LENGTH], sums[ROWS];
  for (int i = 0; i < ROWS * LENGTH; i++) host[i] = (float)(i % 7);
  mica_status status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(rows, LENGTH), &x);
  if (status == MICA_OK) status = mica_tensor_upload(queue, x, host, (size_t)rows * LENGTH * sizeof *host);
  if (status == MICA_OK) status = mica_session_run(session, queue, &(mica_feed){"x", x}, 1);
  if (status == MICA_OK)
    status = mica_tensor_download(queue, mica_session_output(session, 1), sums, (size_t)rows * sizeof *sums);
  for (int64_t r = 0; status == MICA_OK && r < rows; r++) {
    float sum = 0;
    for (int64_t i = 0; i < LENGTH; i++) sum += host[r * LENGTH + i] + (float)number;
    if (sums[r] != sum) status = MICA_E_NUMERIC;
  }
  mica_tensor_destroy(x);
  return status;
}

static mica_status work(int number) {
  mica_engine *engine = test_engine();
  mica_queue *queue = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_value outputs[2];
  mica_status status = mica_queue_create(engine, &queue);
  if (status == MICA_OK) status = mica_graph_create(&graph);
  if (status == MICA_OK) status = build(graph, number, outputs);
  if (status == MICA_OK) status = mica_session_create(engine, graph, outputs, 2, NULL, &session);
  /* The second shape is planned while others run. */
  for (int i = 0; status == MICA_OK && i < ROUNDS; i++)
    status = run_once(session, queue, number, i < ROUNDS / 2 ? ROWS : 1);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_queue_destroy(queue);
  return status;
}

#define UNITS 33
#define SAMPLES 16
#define STEPS 12

/* The loss of a network that this thread makes, initialises and trains, all on one engine. */
static mica_status train(int number, float *loss) {
  mica_engine *engine = test_engine();
  mica_queue *queue = NULL;
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *rate = NULL;
  float host[SAMPLES * LENGTH], step = 0.05f;
  for (int i = 0; i < SAMPLES * LENGTH; i++) host[i] = (float)((i * (number + 3)) % 11) / 11;
  mica_status status = mica_queue_create(engine, &queue);
  if (status == MICA_OK) status = mica_graph_create(&graph);
  if (status == MICA_OK)
    status = mica_nn_create(graph, &(mica_nn_config){.training = true, .seed = (uint64_t)number}, &nn);
  if (status == MICA_OK) {
    mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(number % 2 ? MICA_DYNAMIC : SAMPLES, LENGTH));
    mica_value out = mica_nn_dense(nn, "b", mica_tanh(mica_nn_dense(nn, "a", in, UNITS, NULL)), LENGTH, NULL);
    mica_value mean = mica_mse(out, in, MICA_LOSS_REDUCTION_MEAN);
    mica_optimize(nn, mean, NULL, NULL);
    status = mica_session_create(engine, graph, &mean, 1, NULL, &session);
  }
  if (status == MICA_OK) status = mica_nn_initialise(nn, session);
  if (status == MICA_OK) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(SAMPLES, LENGTH), host, &x);
  if (status == MICA_OK) status = mica_tensor_create_from(engine, MICA_F32, MICA_SCALAR, &step, &rate);
  for (int i = 0; status == MICA_OK && i < STEPS; i++)
    status = mica_session_run(session, queue, (const mica_feed[]){{"x", x}, {MICA_LEARNING_RATE, rate}}, 2);
  if (status == MICA_OK) status = mica_tensor_download(queue, mica_session_output(session, 0), loss, sizeof *loss);
  mica_tensor_destroy(rate);
  mica_tensor_destroy(x);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_queue_destroy(queue);
  return status;
}

static float alone[THREADS];

/* Some rounds of it: the bits are those of one thread. */
static mica_status train_again(int number) {
  for (int i = 0; i < ROUNDS / 4; i++) {
    float loss = 0;
    mica_status status = train(number, &loss);
    if (status != MICA_OK) return status;
    if (loss != alone[number]) return MICA_E_NUMERIC;
  }
  return MICA_OK;
}

static void *work_in_thread(void *user) {
  worker *w = user;
  mica_status status = w->work(w->number);
  if (status != MICA_OK)
    snprintf(w->failure, sizeof w->failure, "%s: %s", mica_status_name(status), mica_error_message());
  return NULL;
}

static void run_all(mica_status (*part)(int number)) {
  worker workers[THREADS];
  uint64_t in_use = mica_engine_stats(test_engine()).bytes_in_use;
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.work = part, .number = i};
    ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work_in_thread, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) ck_assert_msg(!workers[i].failure[0], "thread %d: %s", i, workers[i].failure);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).bytes_in_use, in_use);
}

START_TEST(a_session_each) { run_all(work); }
END_TEST

/* Sessions, initial values and tensors come through the engine's own queue, from all threads at once. */
START_TEST(a_network_each) {
  for (int i = 0; i < THREADS; i++) ck_ok(train(i, &alone[i]));
  run_all(train_again);
}
END_TEST

TESTS(DEVICE, NULL, NULL, a_session_each, a_network_each)
