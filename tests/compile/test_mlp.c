/* labels: device single
 *
 * What a training step costs in steady state, and that it computes the same bits every time. */
#include "compile/mlp.h"

#include <math.h>
#include <string.h>
#include <time.h>

#define STEPS 30

static mica_session *make_session(int64_t batch) {
  mica_graph *graph;
  mica_session *session;
  ck_ok(mica_graph_create(&graph));
  mica_value loss = mlp_build(graph, batch, true);
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  mica_graph_destroy(graph);
  mlp_initialise(session, 7);
  return session;
}

static mica_tensor *x, *y;
static float pixels[MLP_BATCH * MLP_PIXELS], classes[MLP_BATCH * MLP_CLASSES];

static void setup(void) {
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(MLP_BATCH, MLP_PIXELS), &x));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(MLP_BATCH, MLP_CLASSES), &y));
}

static void teardown(void) {
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
}

static mica_stats run(mica_session *session) {
  mica_stats before = mica_engine_stats(test_engine());
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}, {"y", y}}, 2));
  mica_stats after = mica_engine_stats(test_engine());
  after.launches -= before.launches;
  after.host_waits -= before.host_waits;
  after.allocations -= before.allocations;
  after.kernel_builds -= before.kernel_builds;
  return after;
}

static void feed(uint32_t *state) {
  mlp_batch(state, MLP_BATCH, pixels, classes);
  ck_ok(mica_tensor_upload(test_queue(), x, pixels, sizeof pixels));
  ck_ok(mica_tensor_upload(test_queue(), y, classes, sizeof classes));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static float loss_of(const mica_session *session) {
  float loss = 0;
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), &loss, sizeof loss));
  return loss;
}

/* Trains and returns the losses and all weights of the first layer. */
static void train(int64_t batch, float losses[STEPS], float *weights, size_t bytes) {
  mica_session *session = make_session(batch);
  uint32_t state = 3;
  for (int i = 0; i < STEPS; i++) {
    feed(&state);
    run(session);
    losses[i] = loss_of(session);
  }
  ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, "w1"), weights, bytes));
  mica_session_destroy(session);
}

START_TEST(steady_state) {
  mica_session *session = make_session(MICA_DYNAMIC);
  mica_session_report report;
  uint32_t state = 3;
  char *dump = NULL;
  ck_assert_int_eq(mica_session_describe(session, &report), MICA_E_STATE);
  feed(&state);
  run(session);
  for (int i = 0; i < 3; i++) {
    mica_stats step = run(session);
    ck_assert_uint_le(step.launches, 14);
    ck_assert_uint_eq(step.host_waits, 0);
    ck_assert_uint_eq(step.allocations, 0);
    ck_assert_uint_eq(step.kernel_builds, 0);
  }
  ck_ok(mica_session_describe(session, &report));
  ck_ok(mica_session_dump(session, &dump));
  printf("training step: %zu launches, %zu values; planned %llu bytes, unplanned %llu; parameters %llu\n%s",
         report.launches, report.values, (unsigned long long)report.planned_bytes,
         (unsigned long long)report.unplanned_bytes, (unsigned long long)report.parameter_bytes, dump);
  ck_assert_uint_le(report.planned_bytes, report.unplanned_bytes);
  mica_free(dump);
  mica_session_destroy(session);
}
END_TEST

START_TEST(the_loss_falls_and_bits_repeat) {
  static float first[MLP_PIXELS * MLP_HIDDEN], second[MLP_PIXELS * MLP_HIDDEN];
  float losses[STEPS], again[STEPS];
  train(MICA_DYNAMIC, losses, first, sizeof first);
  train(MLP_BATCH, again, second, sizeof second);
  ck_assert_msg(losses[0] > 1.5f && losses[STEPS - 1] < 0.5f * losses[0], "from %g to %g", (double)losses[0],
                (double)losses[STEPS - 1]);
  ck_assert_mem_eq(losses, again, sizeof losses);
  ck_assert_mem_eq(first, second, sizeof first);
  /* test_threads.sh compares these of two processes. */
  const char *path = getenv("MICA_TEST_WEIGHTS");
  FILE *file = path ? fopen(path, "wb") : NULL;
  ck_assert(!path || file);
  if (!file) return;
  ck_assert_uint_eq(fwrite(losses, sizeof losses, 1, file) + fwrite(first, sizeof first, 1, file), 2);
  ck_assert_int_eq(fclose(file), 0);
}
END_TEST

START_TEST(a_new_shape_needs_no_new_kernels) {
  mica_session *session = make_session(MICA_DYNAMIC);
  mica_tensor *some_x, *some_y;
  uint32_t state = 3;
  feed(&state);
  run(session);
  ck_ok(mica_tensor_view(x, MICA_SHAPE(60, MLP_PIXELS), NULL, 0, &some_x));
  ck_ok(mica_tensor_view(y, MICA_SHAPE(60, MLP_CLASSES), NULL, 0, &some_y));
  mica_stats before = mica_engine_stats(test_engine());
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"y", some_y}, {"x", some_x}}, 2));
  ck_assert_uint_eq(mica_engine_stats(test_engine()).kernel_builds, before.kernel_builds);
  ck_assert(isfinite(loss_of(session)));
  /* Both shapes are known now. */
  before = mica_engine_stats(test_engine());
  run(session);
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"y", some_y}, {"x", some_x}}, 2));
  ck_assert_uint_eq(mica_engine_stats(test_engine()).allocations, before.allocations);
  mica_tensor_destroy(some_x);
  mica_tensor_destroy(some_y);
  mica_session_destroy(session);
}
END_TEST

/* The profile of some steps, and the time they took by the host's clock, the last wait included. */
static mica_profile_total profile_steps(mica_session *session, int steps, double *seconds) {
  mica_profile_total total;
  ck_ok(mica_queue_finish(test_queue()));
  ck_ok(mica_profile_start(test_engine()));
  double start = now();
  for (int i = 0; i < steps; i++) run(session);
  ck_ok(mica_queue_finish(test_queue()));
  *seconds = now() - start;
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_sum(test_engine(), &total));
  return total;
}

START_TEST(the_profile_names_every_launch) {
  mica_session *session = make_session(MLP_BATCH);
  mica_profile_row rows[32];
  mica_session_report report;
  size_t count = 0;
  uint64_t launches = 0;
  uint32_t state = 3;
  double seconds = 0, host_seconds;
  feed(&state);
  run(session);
  ck_ok(mica_session_describe(session, &report));
  mica_profile_total total = profile_steps(session, 4, &host_seconds);
  ck_ok(mica_profile_rows(test_engine(), rows, 32, &count));
  for (size_t i = 0; i < count; i++) {
    launches += rows[i].count;
    seconds += rows[i].seconds;
    ck_assert_msg(rows[i].bytes > 0, "%s", rows[i].kernel);
  }
  ck_assert_uint_eq(launches, 4 * report.launches);
  ck_assert_uint_eq(total.launches, launches);
  ck_assert_double_eq_tol(total.seconds, seconds, 1e-9);
  ck_assert(seconds > 0);
  mica_session_destroy(session);
}
END_TEST

/* What the launches take and the driver's time between them add up to the steps' time, of which the host sees more: the
 * way to the first launch and back from the last. */
START_TEST(the_profile_adds_up_to_the_step) {
  mica_session *session = make_session(MLP_BATCH);
  uint32_t state = 3;
  double seconds;
  char *text = NULL;
  feed(&state);
  run(session);
  mica_profile_total total = profile_steps(session, 20, &seconds);
  ck_assert_double_eq_tol(total.seconds + total.idle_seconds, total.span_seconds, 1e-9);
  ck_assert_msg(total.span_seconds <= seconds * 1.001, "from first to last %g s, by the host's clock %g s",
                total.span_seconds, seconds);
  ck_ok(mica_profile_text(test_engine(), &text));
  printf("%s", text);
  ck_assert_ptr_nonnull(strstr(text, "all launches"));
  ck_assert_ptr_nonnull(strstr(text, "between launches"));
  mica_free(text);
  mica_session_destroy(session);
}
END_TEST

/* Inference and training on the same weights. */
START_TEST(sessions_share_weights) {
  mica_session *training = make_session(MLP_BATCH), *inference;
  mica_graph *graph;
  uint32_t state = 3;
  ck_ok(mica_graph_create(&graph));
  mica_value loss = mlp_build(graph, MICA_DYNAMIC, false);
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &inference));
  mica_graph_destroy(graph);
  static const char *const names[] = {"w1", "b1", "w2", "b2"};
  for (int i = 0; i < 4; i++)
    ck_ok(mica_session_share(inference, names[i], mica_session_parameter(training, names[i])));
  feed(&state);
  for (int i = 0; i < 3; i++) {
    run(inference);
    float before = loss_of(inference);
    run(training);
    ck_assert_float_eq_tol(loss_of(training), before, 1e-5f * before);
  }
  mica_session_destroy(inference);
  mica_session_destroy(training);
}
END_TEST

TESTS(DEVICE, setup, teardown, steady_state, a_new_shape_needs_no_new_kernels, the_profile_names_every_launch,
      the_profile_adds_up_to_the_step, sessions_share_weights, the_loss_falls_and_bits_repeat)
