/* labels: device
 *
 * Several threads: each with an engine of its own, each with a queue of its own on one engine, and all of them on the
 * engine's own queue. The thread sanitizer runs this too. */
#include "runtime/launch.h"
#include "runtime/recording.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/profile.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define ROUNDS 40
#define N 1000

static const char source[] = "__kernel void add(__global const float *x, const long x_at, __global float *y,\n"
                             "                  const long y_at, const int n, const float a) {\n"
                             "  const int i = get_global_id(0);\n"
                             "  if (i < n) y[y_at + i] += a * x[x_at + i];\n"
                             "}\n";

/* One thread's part: a status and a sentence come back, since a check in another thread than the first would not. */
typedef struct worker {
  pthread_t thread;
  int number;
  mica_engine *engine;     /* shared, or NULL for one of its own */
  const mica_tensor *ones; /* shared, and only read; NULL likewise */
  bool same_queue;         /* the engine's own, which all use */
  char failure[300];
} worker;

static mica_status submit_add(mica__kernel *kernel, mica_queue *queue, const mica_tensor *x, mica_tensor *y, float a,
                              size_t group) {
  mica__launch launch = mica__launch_of(kernel);
  mica__launch_tensor(&launch, x);
  mica__launch_tensor(&launch, y);
  mica__launch_size(&launch, N);
  mica__launch_float(&launch, a);
  mica__launch_range1(&launch, N, group);
  return mica__queue_submit(queue, &launch);
}

/* y = number; y += 1 + 3 + number, the 3 from a recording; all on one queue, with fresh memory each time. */
static mica_status one_round(mica_engine *engine, mica_queue *queue, int number, const mica_tensor *ones) {
  float host[N];
  mica_tensor *y = NULL;
  mica__kernel *kernel = NULL;
  mica_queue *recorder = NULL;
  mica__recording *recording = NULL;
  char options[40];
  snprintf(options, sizeof options, "-DVARIANT=%d", number % 2);
  for (int i = 0; i < N; i++) host[i] = (float)number;
  mica_status status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(N), &y);
  if (status == MICA_OK) status = mica__kernel_get_source(engine, "add", source, options, &kernel);
  if (status == MICA_OK) status = mica_tensor_upload(queue, y, host, sizeof host);
  if (status == MICA_OK) status = submit_add(kernel, queue, ones, y, 1, 8);
  if (status == MICA_OK) status = mica__recorder_create(engine, &recorder);
  if (status == MICA_OK) status = submit_add(kernel, recorder, ones, y, 3, 16);
  if (recorder) recording = mica__recorder_end(recorder);
  if (status == MICA_OK) status = mica__recording_replay(recording, queue);
  if (status == MICA_OK) status = submit_add(kernel, queue, ones, y, (float)number, 8);
  if (status == MICA_OK) status = mica_tensor_download(queue, y, host, sizeof host);
  for (int i = 0; status == MICA_OK && i < N; i++)
    if (host[i] != (float)(2 * number + 4)) status = MICA_E_NUMERIC;
  mica__recording_destroy(recording);
  mica_tensor_destroy(y);
  return status;
}

static mica_status work(worker *w) {
  mica_engine *engine = w->engine;
  mica_queue *queue = NULL, *own_queue = NULL;
  mica_tensor *own_ones = NULL;
  float ones[N];
  for (int i = 0; i < N; i++) ones[i] = 1;
  mica_status status = engine ? MICA_OK : mica_engine_create(NULL, &engine);
  if (status == MICA_OK && !w->same_queue) status = mica_queue_create(engine, &own_queue);
  queue = own_queue ? own_queue : mica_engine_queue(engine);
  if (status == MICA_OK && !w->ones) status = mica_tensor_create_from(engine, MICA_F32, MICA_SHAPE(N), ones, &own_ones);
  for (int i = 0; status == MICA_OK && i < ROUNDS; i++)
    status = one_round(engine, queue, w->number + i % 3, w->ones ? w->ones : own_ones);
  mica_tensor_destroy(own_ones);
  mica_queue_destroy(own_queue);
  if (!w->engine) mica_engine_destroy(engine);
  return status;
}

static void *work_in_thread(void *user) {
  worker *w = user;
  mica_status status = work(w);
  if (status != MICA_OK)
    snprintf(w->failure, sizeof w->failure, "%s: %s", mica_status_name(status), mica_error_message());
  return NULL;
}

static worker workers[THREADS];

static void start_all(mica_engine *engine, const mica_tensor *ones, bool same_queue) {
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.number = i, .engine = engine, .ones = ones, .same_queue = same_queue};
    ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work_in_thread, &workers[i]), 0);
  }
}

static void end_all(void) {
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) ck_assert_msg(!workers[i].failure[0], "thread %d: %s", i, workers[i].failure);
}

START_TEST(an_engine_each) {
  start_all(NULL, NULL, false);
  end_all();
}
END_TEST

static mica_tensor *make_ones(void) {
  static float ones[N];
  mica_tensor *tensor;
  for (int i = 0; i < N; i++) ones[i] = 1;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N), ones, &tensor));
  return tensor;
}

static void run_all_on_one_engine(bool same_queue) {
  mica_tensor *ones = make_ones();
  uint64_t in_use = mica_engine_stats(test_engine()).bytes_in_use;
  start_all(test_engine(), ones, same_queue);
  end_all();
  ck_assert_uint_eq(mica_engine_stats(test_engine()).bytes_in_use, in_use);
  mica_tensor_destroy(ones);
}

START_TEST(a_queue_each) { run_all_on_one_engine(false); }
END_TEST

/* Uploads pass through the queue's staging memory, whose events one thread released while another asked for them. */
START_TEST(one_queue) { run_all_on_one_engine(true); }
END_TEST

/* Meanwhile this thread starts and stops profiles, trims the pool and reads statistics. */
START_TEST(a_queue_each_while_watched) {
  mica_tensor *ones = make_ones();
  start_all(test_engine(), ones, false);
  for (int i = 0; i < 20; i++) {
    mica_profile_row rows[3];
    size_t count;
    ck_ok(mica_profile_start(test_engine()));
    mica_engine_trim(test_engine());
    ck_ok(mica_queue_finish(test_queue()));
    ck_ok(mica_profile_stop(test_engine()));
    ck_ok(mica_profile_rows(test_engine(), rows, 3, &count));
    ck_assert_uint_le(count, 1);
    ck_assert_uint_ge(mica_engine_stats(test_engine()).bytes_peak, N * sizeof(float));
  }
  end_all();
  mica_tensor_destroy(ones);
}
END_TEST

TESTS(DEVICE, NULL, NULL, an_engine_each, a_queue_each, one_queue, a_queue_each_while_watched)
