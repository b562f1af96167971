/* labels: device
 *
 * What is made of weights once, in the order of a kernel or with a norm's factors: plans of several shapes, and
 * sessions that share the weights, hold one copy, which follows the weights. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIDTH 512
#define LAYERS 3
#define WEIGHT_BYTES ((uint64_t)LAYERS * WIDTH * WIDTH * sizeof(float))

static mica_graph *graph;
static mica_value y;
static mica_session *sessions[3];

/* Dense layers over rows of any number. */
static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  y = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, WIDTH));
  for (int i = 0; i < LAYERS; i++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", i);
    y = mica_relu(mica_matmul(y, mica_parameter(graph, name, MICA_F32, MICA_SHAPE(WIDTH, WIDTH))));
  }
}

static void teardown(void) {
  for (int i = 0; i < 3; i++) mica_session_destroy(sessions[i]);
  memset(sessions, 0, sizeof sessions);
  mica_graph_destroy(graph);
}

static mica_session *compile(mica_value output, mica_session *share) {
  mica_session *made = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &output, 1, &(mica_session_config){.share = share}, &made));
  return made;
}

/* Numbers of a sort in (-0.5, 0.5), a different sequence for each seed. */
static void fill(mica_tensor *tensor, uint32_t seed) {
  size_t count = mica_tensor_bytes(tensor) / sizeof(float);
  float *data = malloc(count * sizeof *data);
  ck_assert_ptr_nonnull(data);
  for (size_t i = 0; i < count; i++) data[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) * 0x1p-24f - 0.5f;
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, count * sizeof *data));
  free(data);
}

static void fill_weights(mica_session *session, uint32_t seed) {
  for (int i = 0; i < LAYERS; i++) {
    char name[8];
    snprintf(name, sizeof name, "w%d", i);
    fill(mica_session_parameter(session, name), seed + (uint32_t)i);
  }
}

static mica_tensor *rows_of(int64_t rows) {
  mica_tensor *x = NULL;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(rows, WIDTH), &x));
  fill(x, 77);
  return x;
}

static mica_session_report report_of(mica_session *session) {
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  return report;
}

/* How many launches a run takes beyond those of every run. */
static uint64_t prologue_of_a_run(mica_session *session, mica_tensor *x) {
  uint64_t before = mica_engine_stats(test_engine()).launches;
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  return mica_engine_stats(test_engine()).launches - before - report_of(session).launches;
}

static uint64_t in_use(void) {
  ck_ok(mica_queue_finish(test_queue()));
  return mica_engine_stats(test_engine()).bytes_in_use;
}

/* The output is, bit by bit, what a session with weights of its own gives. */
static void expect_right(mica_session *session, mica_value output, mica_tensor *x,
                         void (*weights)(mica_session *, uint32_t), uint32_t seed) {
  mica_session *alone = compile(output, NULL);
  weights(alone, seed);
  ck_ok(mica_session_run(alone, test_queue(), &(mica_feed){"x", x}, 1));
  size_t bytes = mica_tensor_bytes(mica_session_output(alone, 0));
  ck_assert_uint_eq(mica_tensor_bytes(mica_session_output(session, 0)), bytes);
  char *got = malloc(bytes), *wanted = malloc(bytes);
  ck_assert(got && wanted);
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, bytes));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(alone, 0), wanted, bytes));
  ck_assert_int_eq(memcmp(got, wanted, bytes), 0);
  float first;
  memcpy(&first, got, sizeof first);
  ck_assert(first == first);
  free(got);
  free(wanted);
  mica_session_destroy(alone);
}

START_TEST(batch_sizes_hold_one_copy) {
  mica_tensor *x[] = {rows_of(32), rows_of(64), rows_of(48)};
  uint64_t bytes[4];
  mica_session *s = sessions[0] = compile(y, NULL);
  fill_weights(s, 1);
  bytes[0] = in_use();
  ck_assert_uint_gt(prologue_of_a_run(s, x[0]), 0);
  bytes[1] = in_use();
  for (int i = 1; i < 3; i++) {
    ck_assert_uint_eq(prologue_of_a_run(s, x[i]), 0);
    bytes[i + 1] = in_use();
    ck_assert_msg(bytes[i + 1] - bytes[i] < WEIGHT_BYTES / 2, "batch size %d takes %llu bytes more", i,
                  (unsigned long long)(bytes[i + 1] - bytes[i]));
  }
  printf("weights of %llu bytes: %llu more for the first batch size, %llu and %llu for the next\n",
         (unsigned long long)WEIGHT_BYTES, (unsigned long long)(bytes[1] - bytes[0]),
         (unsigned long long)(bytes[2] - bytes[1]), (unsigned long long)(bytes[3] - bytes[2]));
  ck_assert_uint_ge(bytes[1] - bytes[0], WEIGHT_BYTES);
  ck_assert_uint_lt(report_of(s).plan_bytes, 2 * WEIGHT_BYTES);
  /* New weights are packed by the first that runs, for all. */
  for (uint32_t seed = 10; seed < 12; seed++) {
    fill_weights(s, seed);
    ck_assert_uint_gt(prologue_of_a_run(s, x[seed % 3]), 0);
    expect_right(s, y, x[seed % 3], fill_weights, seed);
    for (uint32_t i = 1; i <= 2; i++) {
      ck_assert_uint_eq(prologue_of_a_run(s, x[(seed + i) % 3]), 0);
      expect_right(s, y, x[(seed + i) % 3], fill_weights, seed);
    }
  }
  for (int i = 0; i < 3; i++) mica_tensor_destroy(x[i]);
}
END_TEST

START_TEST(sessions_that_share_weights_hold_one_copy) {
  mica_tensor *x = rows_of(32);
  mica_session *first = sessions[0] = compile(y, NULL);
  fill_weights(first, 1);
  ck_assert_uint_gt(prologue_of_a_run(first, x), 0);
  uint64_t before = in_use();
  mica_session *second = sessions[1] = compile(y, first);
  ck_assert_uint_eq(prologue_of_a_run(second, x), 0);
  uint64_t more = in_use() - before;
  printf("a second session takes %llu bytes\n", (unsigned long long)more);
  ck_assert_uint_lt(more, WEIGHT_BYTES / 2);
  expect_right(second, y, x, fill_weights, 1);
  fill_weights(first, 2);
  ck_assert_uint_gt(prologue_of_a_run(second, x), 0);
  ck_assert_uint_eq(prologue_of_a_run(first, x), 0);
  expect_right(first, y, x, fill_weights, 2);
  expect_right(second, y, x, fill_weights, 2);
  /* It outlives the session that made it, and goes with the last. */
  mica_session_destroy(first);
  sessions[0] = NULL;
  ck_assert_uint_eq(prologue_of_a_run(second, x), 0);
  expect_right(second, y, x, fill_weights, 2);
  /* Other weights under the same names are others. */
  mica_session *third = sessions[2] = compile(y, NULL);
  fill_weights(third, 3);
  ck_assert_uint_gt(prologue_of_a_run(third, x), 0);
  expect_right(third, y, x, fill_weights, 3);
  expect_right(second, y, x, fill_weights, 2);
  mica_tensor_destroy(x);
}
END_TEST

/* A session takes another tensor for one of its weights. */
START_TEST(a_weight_is_replaced) {
  mica_tensor *x = rows_of(32), *w = NULL;
  mica_session *first = sessions[0] = compile(y, NULL);
  mica_session *second = sessions[1] = compile(y, first);
  fill_weights(first, 1);
  ck_ok(mica_session_run(first, test_queue(), &(mica_feed){"x", x}, 1));
  ck_ok(mica_session_run(second, test_queue(), &(mica_feed){"x", x}, 1));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(WIDTH, WIDTH), &w));
  for (uint32_t seed = 5; seed < 8; seed++) {
    ck_ok(mica_session_share(second, "w1", w));
    fill(w, seed + 1);
    fill(mica_session_parameter(second, "w0"), seed);
    fill(mica_session_parameter(second, "w2"), seed + 2);
    ck_ok(mica_session_run(second, test_queue(), &(mica_feed){"x", x}, 1));
    expect_right(second, y, x, fill_weights, seed);
    fill(mica_session_parameter(first, "w1"), seed + 1);
    ck_ok(mica_session_run(first, test_queue(), &(mica_feed){"x", x}, 1));
    expect_right(first, y, x, fill_weights, seed);
  }
  mica_tensor_destroy(w);
  mica_tensor_destroy(x);
}
END_TEST

/* --- norms in filters --- */

static void fill_norm(mica_session *session, uint32_t seed) {
  static const char *const names[] = {"w", "scale", "shift", "mean"};
  float variance[16];
  for (uint32_t i = 0; i < 4; i++) fill(mica_session_parameter(session, names[i]), seed + i);
  for (int i = 0; i < 16; i++) variance[i] = 1 + (float)i;
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "variance"), variance, sizeof variance));
}

START_TEST(filters_with_norms_are_shared_too) {
  static const char *const names[] = {"scale", "shift", "mean", "variance"};
  mica_graph_destroy(graph);
  ck_ok(mica_graph_create(&graph));
  mica_value p[4], x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 16, 12, 12));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(16, 16, 3, 3));
  for (int i = 0; i < 4; i++) p[i] = mica_parameter(graph, names[i], MICA_F32, MICA_SHAPE(16));
  mica_value out = mica_relu(mica_batch_norm(mica_conv(x, w, (mica_value){0}, &(mica_conv_config){.pad = {1, 1}}), p[0],
                                             p[1], p[2], p[3], 1e-3));
  mica_session *s = sessions[0] = compile(out, NULL);
  mica_tensor *fed[2];
  for (int i = 0; i < 2; i++) {
    ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(4 + 2 * i, 16, 12, 12), &fed[i]));
    fill(fed[i], 5);
  }
  fill_norm(s, 1);
  ck_assert_uint_gt(prologue_of_a_run(s, fed[0]), 0);
  mica_session *second = sessions[1] = compile(out, s);
  ck_assert_uint_eq(prologue_of_a_run(second, fed[1]), 0);
  expect_right(second, out, fed[1], fill_norm, 1);
  fill_norm(second, 8);
  ck_assert_uint_gt(prologue_of_a_run(second, fed[1]), 0);
  ck_assert_uint_eq(prologue_of_a_run(s, fed[0]), 0);
  expect_right(s, out, fed[0], fill_norm, 8);
  for (int i = 0; i < 2; i++) mica_tensor_destroy(fed[i]);
}
END_TEST

/* --- several queues and threads --- */

/* What one queue makes the other waits for, on the device. */
START_TEST(another_queue_waits_for_what_is_made) {
  mica_tensor *x = rows_of(32);
  mica_queue *queue = NULL;
  ck_ok(mica_queue_create(test_engine(), &queue));
  mica_session *first = sessions[0] = compile(y, NULL), *second = sessions[1] = compile(y, first);
  for (uint32_t seed = 1; seed < 6; seed++) {
    fill_weights(first, seed);
    ck_ok(mica_queue_finish(test_queue()));
    uint64_t waits = mica_engine_stats(test_engine()).host_waits;
    ck_ok(mica_session_run(seed % 2 ? first : second, test_queue(), &(mica_feed){"x", x}, 1));
    ck_ok(mica_session_run(seed % 2 ? second : first, queue, &(mica_feed){"x", x}, 1));
    if (seed > 1) ck_assert_uint_eq(mica_engine_stats(test_engine()).host_waits, waits);
    ck_ok(mica_queue_finish(queue));
    expect_right(first, y, x, fill_weights, seed);
    expect_right(second, y, x, fill_weights, seed);
  }
  mica_queue_destroy(queue);
  mica_tensor_destroy(x);
}
END_TEST

typedef struct runner {
  pthread_t thread;
  mica_session *session;
  mica_queue *queue;
  mica_tensor *x;
  mica_status status;
} runner;

static void *run_often(void *user) {
  runner *r = user;
  for (int i = 0; r->status == MICA_OK && i < 20; i++)
    r->status = mica_session_run(r->session, r->queue, &(mica_feed){"x", r->x}, 1);
  if (r->status == MICA_OK) r->status = mica_queue_finish(r->queue);
  return NULL;
}

START_TEST(threads_make_it_once) {
  runner runners[3];
  mica_tensor *x = rows_of(32);
  for (uint32_t round = 0; round < 4; round++) {
    for (int i = 0; i < 3; i++) {
      if (!sessions[i]) sessions[i] = compile(y, i ? sessions[0] : NULL);
      runners[i] = (runner){.session = sessions[i], .x = x};
      ck_ok(mica_queue_create(test_engine(), &runners[i].queue));
    }
    fill_weights(sessions[0], round);
    ck_ok(mica_queue_finish(test_queue()));
    for (int i = 0; i < 3; i++) ck_assert_int_eq(pthread_create(&runners[i].thread, NULL, run_often, &runners[i]), 0);
    for (int i = 0; i < 3; i++) {
      ck_assert_int_eq(pthread_join(runners[i].thread, NULL), 0);
      ck_assert_int_eq(runners[i].status, MICA_OK);
    }
    for (int i = 0; i < 3; i++) {
      expect_right(sessions[i], y, x, fill_weights, round);
      mica_queue_destroy(runners[i].queue);
    }
    /* Each second time they are made anew. */
    for (int i = 0; i < 3 && round % 2; i++) {
      mica_session_destroy(sessions[i]);
      sessions[i] = NULL;
    }
  }
  mica_tensor_destroy(x);
}
END_TEST

TESTS(DEVICE, setup, teardown, batch_sizes_hold_one_copy, sessions_that_share_weights_hold_one_copy,
      a_weight_is_replaced, filters_with_norms_are_shared_too, another_queue_waits_for_what_is_made,
      threads_make_it_once)
