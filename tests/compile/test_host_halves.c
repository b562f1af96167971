/* labels: device
 *
 * Ops of the host in two halves: launches run between them, every begin has its end, and what fails ends the run. */
#include "base/error.h"
#include "ir/graph.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/number.h"

#include <math.h>
#include <mica/mica.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N 6

static mica_graph *graph;
static mica_session *session;
static int begun, ended, gave_up; /* calls of the op; of `ended` those that came after a failure */
static int most_open;             /* of those that have begun and not ended */
static const mica__host *seen;    /* of the first call of a test */
static int fail_begin, fail_end;  /* the number of the call that is to fail; 0: none */
static mica_status told;          /* what the last end was told */
static int milliseconds;          /* that the thread takes */

static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  begun = ended = gave_up = most_open = fail_begin = fail_end = 0;
  seen = NULL;
  told = MICA_OK;
  milliseconds = 0;
}

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
}

/* --- y = 2 x, and how many elements of x are negative; computed by a thread --- */

typedef struct work {
  const mica__host *host;
  mica_event *ready;
  pthread_t thread;
  mica_status status;
} work;

static void *compute(void *user) {
  work *w = user;
  const float *x = w->host->inputs[0];
  float *y = w->host->outputs[0], negative = 0;
  w->status = mica_event_wait(w->ready);
  for (int i = 0; w->status == MICA_OK && i < N; i++) {
    y[i] = 2 * x[i];
    negative += x[i] < 0 ? 1.0f : 0.0f;
  }
  if (w->status == MICA_OK) *(float *)w->host->outputs[1] = negative;
  nanosleep(&(struct timespec){.tv_nsec = 1000000L * milliseconds}, NULL);
  return NULL;
}

static mica_status begin_twice(const mica__host *host, mica_event *ready, void **pending) {
  if (++begun == fail_begin) return mica__fail(MICA_E_IO, "no thread for it");
  work *w = calloc(1, sizeof *w);
  ck_assert_ptr_nonnull(w);
  *w = (work){.host = host, .ready = ready};
  if (!seen) seen = host;
  ck_assert_int_eq((intptr_t)host->inputs[0] % 64, 0);
  ck_assert_int_eq((intptr_t)host->outputs[0] % 64, 0);
  ck_assert_ptr_eq((const char *)host->inputs[0] + 64, host->outputs[0]);
  ck_assert_int_eq(pthread_create(&w->thread, NULL, compute, w), 0);
  *pending = w;
  if (begun - ended > most_open) most_open = begun - ended;
  return MICA_OK;
}

static mica_status end_twice(const mica__host *host, void *pending, mica_status failed) {
  work *w = pending;
  ck_assert_ptr_eq(w->host, host);
  ck_assert_int_eq(pthread_join(w->thread, NULL), 0);
  mica_status status = w->status;
  free(w);
  told = failed;
  gave_up += failed != MICA_OK;
  if (++ended == fail_end) return mica__fail(MICA_E_IO, "the thread is lost");
  return status;
}

static mica_status infer_twice(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  out[0] = inputs[0];
  out[1] = (mica__type){MICA_F32, MICA_SHAPE(1)};
  return MICA_OK;
}

static mica_value twice(mica_value x);

static mica_status grad_twice(const mica__grad *grad) {
  if (grad->dy.graph) grad->dinputs[0] = twice(grad->dy);
  return MICA_OK;
}

static const mica__op op_twice = {.name = "twice_elsewhere",
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .results = 2,
                                  .infer = infer_twice,
                                  .grad = grad_twice,
                                  .begin = begin_twice,
                                  .end = end_twice,
                                  .order = MICA__ORDER_SOON};

static mica_value twice(mica_value x) { return mica__graph_add(&op_twice, &x, 1, NULL); }
static mica_value negatives(mica_value y) { return mica__graph_result(y, 1); }

/* A step in one go that refuses a NaN. */
static mica_status check_on_host(const mica__host *host) {
  const float *x = host->inputs[0];
  for (int i = 0; i < N; i++)
    if (isnan(x[i])) return mica__fail(MICA_E_NUMERIC, "element %d is no number", i);
  memcpy(host->output, x, N * sizeof *x);
  return MICA_OK;
}

static mica_status infer_same(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

static const mica__op op_check = {.name = "checked",
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 1,
                                  .max_inputs = 1,
                                  .infer = infer_same,
                                  .host = check_on_host};

static mica_value checked(mica_value x) { return mica__graph_add(&op_check, &x, 1, NULL); }

/* --- support --- */

static mica_value input(void) { return mica_input(graph, "x", MICA_F32, MICA_SHAPE(N)); }

/* A launch of its own that no other is fused with. */
static mica_value gathered(mica_value x) {
  static const int32_t back[N] = {5, 4, 3, 2, 1, 0};
  return mica_gather(x, mica_constant(graph, MICA_I32, MICA_SHAPE(N), back), 0);
}

static void compile(const mica_value *outputs, size_t count) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
}

static mica_status feed(const float *data) {
  mica_tensor *x = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N), data, &x));
  mica_status status = mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1);
  mica_tensor_destroy(x);
  return status;
}

static void expect(const mica_tensor *tensor, const float *wanted) {
  float got[N];
  ck_ok(mica_tensor_download(test_queue(), tensor, got, mica_tensor_bytes(tensor)));
  for (size_t i = 0; i < mica_tensor_bytes(tensor) / sizeof *got; i++)
    ck_assert_msg(got[i] == wanted[i], "element %zu: %g, not %g", i, (double)got[i], (double)wanted[i]);
}

/* --- tests --- */

/* The first event of the name in a trace, and how long it lasts; microseconds. */
static double time_of(const char *trace, const char *name, double *lasts) {
  char begins[64];
  double at = -1;
  snprintf(begins, sizeof begins, "{\"name\":\"%s\",", name);
  const char *event = strstr(trace, begins);
  ck_assert_msg(event != NULL, "%s is not in the trace", name);
  ck_assert(test_number_after(event, "\"ts\":", &at) && test_number_after(event, "\"dur\":", lasts));
  return at;
}

static char *trace_of_a_run(const float *x) {
  static char trace[1 << 16];
  char path[4096];
  snprintf(path, sizeof path, "%s/host_halves.json", getenv("MICA_BUILD_DIR"));
  ck_ok(mica_profile_start(test_engine()));
  ck_ok(feed(x));
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_write_trace(test_engine(), path));
  FILE *file = fopen(path, "r");
  ck_assert_ptr_nonnull(file);
  size_t n = fread(trace, 1, sizeof trace - 1, file);
  fclose(file);
  remove(path);
  trace[n] = '\0';
  return trace;
}

START_TEST(launches_run_between_the_halves) {
  static const float x[N] = {1, -2, 3, 4, 5, 6};
  mica_value in = input(), y = twice(gathered(in)), other = gathered(gathered(gathered(mica_neg(in))));
  mica_value out = mica_sub(mica_add(mica_abs(other), mica_abs(gathered(y))), gathered(in));
  char *text = NULL;
  /* |x backwards| + |2 x| - x backwards */
  static const float sums[N] = {2, 4, 6, 8, 14, 12};
  compile(&out, 1);
  for (int i = 0; i < 5; i++) {
    ck_ok(feed(x));
    expect(mica_session_output(session, 0), sums);
    ck_assert_int_eq(begun, i + 1);
    ck_assert_int_eq(ended, i + 1);
  }
  ck_assert_int_eq(gave_up, 0);
  /* It begins behind the launch that makes its operand and ends before the one that reads its result. */
  ck_ok(mica_session_dump(session, &text));
  const char *first = strstr(text, "  0 gather"), *begins = strstr(text, "on the host begins: twice_elsewhere");
  const char *ends = strstr(text, "on the host ends: twice_elsewhere -> ");
  ck_assert_msg(first && begins && ends && first < begins && begins < strstr(text, "  1 "), "%s", text);
  ck_assert_msg(strstr(text, "  1 ") < ends && strstr(text, "  2 ") < ends && strstr(text, "  3 ") < ends, "%s", text);
  mica_free(text);
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  ck_assert_uint_eq(report.host_steps, 1);
  /* And so they stand in time. */
  double lasts = 0, end_lasts = 0;
  milliseconds = 50;
  const char *trace = trace_of_a_run(x);
  double from = time_of(trace, "begin twice_elsewhere", &lasts), to = time_of(trace, "end twice_elsewhere", &end_lasts);
  ck_assert_msg(from + lasts <= to, "from %g for %g, to %g", from, lasts, to);
  int between = 0;
  for (const char *at = trace; (at = strstr(at, "\"pid\":0,")); at++) {
    double start = 0, dur = 0;
    ck_assert(test_number_after(at, "\"ts\":", &start) && test_number_after(at, "\"dur\":", &dur));
    between += start >= from && start <= to + end_lasts;
  }
  ck_assert_msg(between >= 2, "%s", trace);
}
END_TEST

START_TEST(a_failing_half_ends_the_run) {
  static const float x[N] = {1, 2, 3, 4, 5, 6}, sums[N] = {4, 8, 12, 16, 20, 24}, bad[N] = {1, NAN};
  mica_value in = input(), first = twice(in), second = twice(gathered(in)), third = checked(mica_neg(in));
  mica_value out = mica_sub(mica_sub(mica_add(first, gathered(second)), third), in);
  compile(&out, 1);
  /* The first to begin has nothing to end; the second leaves the first. */
  for (int which = 1; which <= 2; which++) {
    begun = ended = gave_up = 0;
    fail_begin = which;
    ck_assert_int_eq(feed(x), MICA_E_IO);
    ck_assert_str_eq(mica_error_message(), "twice_elsewhere: no thread for it");
    ck_assert_int_eq(begun, which);
    ck_assert_int_eq(ended, which - 1);
    ck_assert_int_eq(gave_up, which - 1);
    if (which == 2) ck_assert_int_eq(told, MICA_E_IO);
  }
  fail_begin = 0;
  for (int which = 1; which <= 2; which++) {
    begun = ended = gave_up = 0;
    fail_end = which;
    ck_assert_int_eq(feed(x), MICA_E_IO);
    ck_assert_str_eq(mica_error_message(), "twice_elsewhere: the thread is lost");
    ck_assert_int_eq(begun, 2);
    ck_assert_int_eq(ended, 2);
    ck_assert_int_eq(gave_up, 2 - which);
  }
  fail_end = 0;
  /* Another step fails between the halves: both are told. */
  begun = ended = gave_up = 0;
  ck_assert_int_eq(feed(bad), MICA_E_NUMERIC);
  ck_assert_str_eq(mica_error_message(), "checked: element 1 is no number");
  ck_assert_int_eq(begun, 2);
  ck_assert_int_eq(ended, 2);
  ck_assert_int_eq(gave_up, 2);
  ck_assert_int_eq(told, MICA_E_NUMERIC);
  ck_ok(feed(x));
  expect(mica_session_output(session, 0), sums);
}
END_TEST

/* Both have begun before the first ends; the second needs nothing of it. A third needs the first's result. */
START_TEST(several_at_once) {
  static const float x[N] = {1, 2, 3, 4, 5, 6}, sums[N] = {4 + 4, 8 + 8, 12 + 12, 16 + 16, 20 + 20, 24 + 24};
  mica_value in = input(), first = twice(in), second = twice(gathered(in)), third = twice(mica_abs(first));
  mica_value out = mica_add(third, mica_mul(gathered(second), mica_full(graph, MICA_F32, MICA_SHAPE(N), 2)));
  compile(&out, 1);
  for (int i = 0; i < 3; i++) {
    ck_ok(feed(x));
    expect(mica_session_output(session, 0), sums);
  }
  ck_assert_int_eq(begun, 9);
  ck_assert_int_eq(ended, 9);
  ck_assert_int_ge(most_open, 2);
}
END_TEST

/* Results that are outputs, that are assigned, and that nobody reads, beside launches that want their memory. */
START_TEST(results_that_no_launch_reads) {
  static const float x[N] = {1, -2, 3, -4, 5, 6}, doubled[N] = {2, -4, 6, -8, 10, 12}, start[N] = {7, 7, 7, 7, 7, 7};
  mica_value in = input(), y = twice(in), p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N));
  mica_value q = mica_parameter(graph, "q", MICA_F32, MICA_SHAPE(N));
  mica_assign(p, twice(gathered(p)));
  mica_assign(q, y);
  mica_value unread = twice(mica_neg(in));
  mica_value outputs[] = {y, negatives(unread), gathered(gathered(gathered(gathered(mica_add(p, q)))))};
  compile(outputs, 3);
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "p"), start, sizeof start));
  for (int i = 0; i < 3; i++) {
    float sum[N], p_now[N];
    for (int k = 0; k < N; k++) {
      p_now[k] = 7.0f * (float)(1 << i);
      sum[k] = p_now[k] + (i ? doubled[k] : 0);
    }
    ck_ok(feed(x));
    expect(mica_session_output(session, 0), doubled);
    expect(mica_session_output(session, 1), (float[]){4});
    expect(mica_session_output(session, 2), sum);
    for (int k = 0; k < N; k++) p_now[k] *= 2;
    expect(mica_session_parameter(session, "p"), p_now);
    expect(mica_session_parameter(session, "q"), doubled);
  }
  ck_assert_int_eq(begun, 9);
  ck_assert_int_eq(ended, 9);
}
END_TEST

/* What is made of parameters alone is made once, and ends with the prologue. */
START_TEST(in_the_prologue) {
  static const float start[N] = {3, 1, 2, 6, 5, 4}, x[N] = {0}, doubled[N] = {6, 2, 4, 12, 10, 8};
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N)), out = mica_add(twice(p), input());
  compile(&out, 1);
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "p"), start, sizeof start));
  for (int i = 0; i < 3; i++) {
    ck_ok(feed(x));
    expect(mica_session_output(session, 0), doubled);
  }
  ck_assert_int_eq(begun, 1);
  ck_assert_int_eq(ended, 1);
}
END_TEST

/* Gradients go through it where it has a rule, and it allocates nothing from run to run. */
START_TEST(in_a_training_step) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N)), grad;
  mica_value loss = mica_sum(twice(mica_mul(p, input())), MICA_ALL_AXES, false);
  mica_tensor *x = NULL;
  ck_ok(mica_gradients(loss, &p, 1, &grad));
  mica_assign(p, mica_add(p, grad));
  compile(&loss, 1);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N), (float[N]){1, 2, 3, 4, 5, 6}, &x));
  mica_stats before = {0};
  for (int i = 0; i < 6; i++) {
    if (i == 2) before = mica_engine_stats(test_engine());
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  }
  mica_stats after = mica_engine_stats(test_engine());
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  /* The gradient is 2 x, so that p was 10 x before the last run. */
  expect(mica_session_output(session, 0), (float[]){2 * 10 * (1 + 4 + 9 + 16 + 25 + 36)});
  expect(mica_session_parameter(session, "p"), (float[]){12, 24, 36, 48, 60, 72});
  mica_tensor_destroy(x);
}
END_TEST

START_TEST(a_step_without_a_gradient_is_named) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N)), grad;
  mica_value loss = mica_sum(checked(p), MICA_ALL_AXES, false);
  ck_assert_int_eq(mica_gradients(loss, &p, 1, &grad), MICA_E_UNSUPPORTED);
  ck_assert_msg(strstr(mica_error_message(), "checked has no gradient") != NULL, "%s", mica_error_message());
}
END_TEST

TESTS(DEVICE, setup, teardown, launches_run_between_the_halves, a_failing_half_ends_the_run, several_at_once,
      results_that_no_launch_reads, in_the_prologue, in_a_training_step, a_step_without_a_gradient_is_named)
