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

static void *work_in_thread(void *user) {
  worker *w = user;
  mica_status status = work(w->number);
  if (status != MICA_OK)
    snprintf(w->failure, sizeof w->failure, "%s: %s", mica_status_name(status), mica_error_message());
  return NULL;
}

START_TEST(a_session_each) {
  worker workers[THREADS];
  uint64_t in_use = mica_engine_stats(test_engine()).bytes_in_use;
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.number = i};
    ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work_in_thread, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) ck_assert_msg(!workers[i].failure[0], "thread %d: %s", i, workers[i].failure);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).bytes_in_use, in_use);
}
END_TEST

Suite *test_suite(void) {
  if (!test_engine()) return test_skip("no device");
  Suite *suite = suite_create("session_threads");
  TCase *cases = tcase_create("threads");
  tcase_set_timeout(cases, 0);
  tcase_add_test(cases, a_session_each);
  suite_add_tcase(suite, cases);
  return suite;
}
