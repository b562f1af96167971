/* labels: device single
 *
 * Ops that exist on the host alone: a run goes on where they are done, gradients flow around them, and without them
 * nothing waits. */
#include "base/error.h"
#include "ir/graph.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

#define N 6

static mica_graph *graph;
static mica_session *session;
static int calls; /* of the host */

static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  calls = 0;
}

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
}

/* --- two ops of the host --- */

static int falling(const void *a, const void *b) {
  const float x = **(const float *const *)a, y = **(const float *const *)b;
  return x != y ? (x > y ? -1 : 1) : *(const float *const *)a < *(const float *const *)b ? -1 : 1;
}

/* y[i]: the index of the i-th largest of x; a NaN is an error. */
static mica_status sort_on_host(const mica__host *host) {
  const float *x = host->inputs[0], *sorted[64];
  int64_t *y = host->output, n = host->types[0].shape.dim[0];
  calls++;
  for (int64_t i = 0; i < n; i++) {
    if (isnan(x[i])) return mica__fail(MICA_E_NUMERIC, "element %d is no number", (int)i);
    sorted[i] = &x[i];
  }
  qsort(sorted, (size_t)n, sizeof *sorted, falling);
  for (int64_t i = 0; i < n; i++) y[i] = sorted[i] - x;
  return MICA_OK;
}

static mica_status infer_sort(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = (mica__type){MICA_I64, inputs[0].shape};
  return MICA_OK;
}

static const mica__op op_sort = {.name = "sort_on_host",
                                 .kind = MICA__OP_LAUNCH,
                                 .min_inputs = 1,
                                 .max_inputs = 1,
                                 .infer = infer_sort,
                                 .host = sort_on_host};

/* A branch on data: the first operand if its sum is the larger one, else the second. */
static mica_status choose_on_host(const mica__host *host) {
  const float *x = host->inputs[0], *y = host->inputs[1];
  double difference = 0;
  int64_t n = 0;
  calls++;
  MICA_TRY(mica_shape_count(host->type->shape, &n));
  for (int64_t i = 0; i < n; i++) difference += (double)x[i] - (double)y[i];
  memcpy(host->output, difference > 0 ? x : y, (size_t)n * sizeof *x);
  return MICA_OK;
}

static mica_status infer_choice(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[0];
  return MICA_OK;
}

static const mica__op op_choose = {.name = "choose_on_host",
                                   .kind = MICA__OP_LAUNCH,
                                   .min_inputs = 2,
                                   .max_inputs = 2,
                                   .infer = infer_choice,
                                   .host = choose_on_host};

/* The number of elements of the first operand, which is not computed for it, everywhere in the shape of the second. */
static mica_status count_on_host(const mica__host *host) {
  int64_t n = 0, size = 0;
  MICA_TRY(mica_shape_count(host->types[0].shape, &size));
  MICA_TRY(mica_shape_count(host->type->shape, &n));
  for (int64_t i = 0; i < n; i++) ((float *)host->output)[i] = host->inputs[0] ? -1 : (float)size;
  return MICA_OK;
}

static mica_status infer_count(const mica__type *inputs, int32_t input_count, void *attrs, mica__type *out) {
  (void)input_count, (void)attrs;
  *out = inputs[1];
  return MICA_OK;
}

static const mica__op op_count = {.name = "count_on_host",
                                  .kind = MICA__OP_LAUNCH,
                                  .min_inputs = 2,
                                  .max_inputs = 2,
                                  .infer = infer_count,
                                  .host = count_on_host,
                                  .shape_only = 1};

static mica_value order_of(mica_value x) { return mica__graph_add(&op_sort, &x, 1, NULL); }

static mica_value larger_of(mica_value x, mica_value y) {
  return mica__graph_add(&op_choose, (mica_value[]){x, y}, 2, NULL);
}

/* --- support --- */

static mica_session *compile(const mica_value *outputs, size_t count, mica_session *share) {
  mica_session *made = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, &(mica_session_config){.share = share}, &made));
  return made;
}

static mica_tensor *tensor_of(const float *data) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N), data, &tensor));
  return tensor;
}

static mica_status feed(mica_session *s, const float *data) {
  mica_tensor *x = tensor_of(data);
  mica_status status = mica_session_run(s, test_queue(), &(mica_feed){"x", x}, 1);
  mica_tensor_destroy(x);
  return status;
}

static void expect(const mica_tensor *tensor, const float *wanted) {
  float got[N];
  ck_ok(mica_tensor_download(test_queue(), tensor, got, mica_tensor_bytes(tensor)));
  for (size_t i = 0; i < mica_tensor_bytes(tensor) / sizeof *got; i++)
    ck_assert_msg(got[i] == wanted[i], "element %zu: %g, not %g", i, (double)got[i], (double)wanted[i]);
}

/* sorted(2 x) + 1, with launches before and after the host's step. */
static mica_value sorted_value(mica_value x) {
  mica_value twice = mica_mul(x, mica_full(graph, MICA_F32, MICA_SHAPE(N), 2));
  return mica_affine(mica_gather(twice, order_of(twice), 0), 1, 1);
}

static mica_value input(void) { return mica_input(graph, "x", MICA_F32, MICA_SHAPE(N)); }
static mica_value input_again(void) { return mica_input(graph, "again", MICA_F32, MICA_SHAPE(N)); }

/* --- tests --- */

START_TEST(a_step_of_the_host_between_launches) {
  static const float x[][N] = {{3, 1, 2, 6, 5, 4}, {-1, -2, -3, -4, -5, -6}, {0, 9, 0, 9, 1, 1}};
  static const float y[][N] = {{13, 11, 9, 7, 5, 3}, {-1, -3, -5, -7, -9, -11}, {19, 19, 3, 3, 1, 1}};
  mica_value out = sorted_value(input());
  mica_session_report report;
  char *text = NULL;
  session = compile(&out, 1, NULL);
  for (int i = 0; i < 9; i++) {
    ck_ok(feed(session, x[i % 3]));
    expect(mica_session_output(session, 0), y[i % 3]);
    ck_assert_int_eq(calls, i + 1);
  }
  ck_ok(mica_session_describe(session, &report));
  ck_assert_uint_eq(report.host_steps, 1);
  ck_assert_uint_ge(report.launches, 2);
  ck_ok(mica_session_dump(session, &text));
  const char *host = strstr(text, "on the host: sort_on_host -> ");
  ck_assert_msg(host && strstr(host, "gather") && strstr(text, "mul") < host, "%s", text);
  mica_free(text);
}
END_TEST

/* The operand is a feed as it is, and the result an output, in the caller's memory too. */
START_TEST(feeds_and_outputs_of_the_host) {
  mica_value x = input(), outputs[] = {larger_of(x, mica_full(graph, MICA_F32, MICA_SHAPE(N), 1))};
  mica_tensor *bound;
  static const float large[N] = {9, 0, 0, 0, 0, 0}, small[N] = {3}, ones[N] = {1, 1, 1, 1, 1, 1}, none[N] = {0};
  session = compile(outputs, 1, NULL);
  ck_ok(feed(session, large));
  expect(mica_session_output(session, 0), large);
  ck_ok(feed(session, small));
  expect(mica_session_output(session, 0), ones);
  bound = tensor_of(none);
  ck_ok(mica_session_bind_output(session, 0, bound));
  ck_ok(feed(session, large));
  expect(bound, large);
  mica_tensor_destroy(bound);
}
END_TEST

/* The loss goes through the values that the host has put in order, not through the order. */
START_TEST(gradients_flow_around_the_host) {
  static const float weights[N] = {6, 5, 4, 3, 2, 1}, start[N] = {3, 1, 2, 6, 5, 4};
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N)), grad;
  mica_value c = mica_constant(graph, MICA_F32, MICA_SHAPE(N), weights);
  mica_value loss = mica_sum(mica_mul(mica_gather(p, order_of(p), 0), c), MICA_ALL_AXES, false);
  ck_ok(mica_gradients(loss, &p, 1, &grad));
  mica_assign(p, mica_sub(p, grad));
  session = compile(&loss, 1, NULL);
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "p"), start, sizeof start));
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  expect(mica_session_output(session, 0), (float[]){36 + 25 + 16 + 9 + 4 + 1});
  /* d loss / d p[i] is the weight of the rank of p[i], which is p[i] itself. */
  expect(mica_session_parameter(session, "p"), (float[N]){0});
  ck_ok(mica_session_run(session, test_queue(), NULL, 0));
  expect(mica_session_parameter(session, "p"), (float[]){-6, -5, -4, -3, -2, -1});
}
END_TEST

/* What the device makes of one step's result goes to the next. */
START_TEST(steps_one_after_the_other) {
  mica_value x = input(), y = sorted_value(x), outputs[] = {sorted_value(larger_of(y, mica_neg(y)))};
  session = compile(outputs, 1, NULL);
  ck_ok(feed(session, (float[]){0, 1, 2, 3, 4, 5}));
  expect(mica_session_output(session, 0), (float[]){23, 19, 15, 11, 7, 3});
  ck_ok(feed(session, (float[]){-1, -2, -3, -4, -5, -6}));
  expect(mica_session_output(session, 0), (float[]){23, 19, 15, 11, 7, 3});
  ck_assert_int_eq(calls, 6);
}
END_TEST

START_TEST(two_sessions_in_turn) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N)), outputs[] = {sorted_value(mica_add(input(), p))};
  static const float ones[N] = {1, 1, 1, 1, 1, 1};
  session = compile(outputs, 1, NULL);
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "p"), ones, sizeof ones));
  mica_session *other = compile(outputs, 1, session);
  for (int i = 0; i < 3; i++) {
    ck_ok(feed(session, (float[]){0, 1, 2, 3, 4, 5}));
    ck_ok(feed(other, (float[]){9, 1, 2, 3, 4, 5}));
    expect(mica_session_output(session, 0), (float[]){13, 11, 9, 7, 5, 3});
    expect(mica_session_output(other, 0), (float[]){21, 13, 11, 9, 7, 5});
  }
  mica_session_destroy(other);
}
END_TEST

START_TEST(a_failure_of_the_host) {
  mica_value y = sorted_value(input());
  session = compile(&y, 1, NULL);
  for (int i = 0; i < 3; i++) {
    ck_assert_int_eq(feed(session, (float[]){3, 1, NAN, 6, 5, 4}), MICA_E_NUMERIC);
    ck_assert_str_eq(mica_error_message(), "sort_on_host: element 2 is no number");
    ck_ok(feed(session, (float[]){3, 1, 2, 6, 5, 4}));
    expect(mica_session_output(session, 0), (float[]){13, 11, 9, 7, 5, 3});
  }
}
END_TEST

/* What is made of parameters alone is made when they have changed. */
START_TEST(what_stays_is_computed_once) {
  static const float start[N] = {3, 1, 2, 6, 5, 4}, other[N] = {1, 1, 1, 1, 1, 7};
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(N));
  mica_value y = mica_add(mica_gather(p, order_of(p), 0), input());
  session = compile(&y, 1, NULL);
  mica_tensor *tensor = mica_session_parameter(session, "p");
  ck_ok(mica_tensor_upload(test_queue(), tensor, start, sizeof start));
  for (int i = 0; i < 3; i++) {
    ck_ok(feed(session, (float[]){1, 1, 1, 1, 1, 1}));
    expect(mica_session_output(session, 0), (float[]){7, 6, 5, 4, 3, 2});
  }
  ck_assert_int_eq(calls, 1);
  ck_ok(mica_tensor_upload(test_queue(), tensor, other, sizeof other));
  ck_ok(feed(session, (float[]){0, 0, 0, 0, 0, 1}));
  expect(mica_session_output(session, 0), (float[]){7, 1, 1, 1, 1, 2});
  ck_assert_int_eq(calls, 2);
}
END_TEST

/* An operand of which only the shape matters, and empty ones. */
START_TEST(what_is_not_read) {
  mica_value shape = mica_input(graph, "shape", MICA_F32, MICA_SHAPE(5, 3)), none = mica_slice(input(), 0, 0, 0, 1);
  mica_value outputs[] = {mica_add(mica__graph_add(&op_count, (mica_value[]){mica_exp(shape), input_again()}, 2, NULL),
                                   mica_full(graph, MICA_F32, MICA_SHAPE(N), 1)),
                          larger_of(none, none)};
  mica_tensor *fed;
  session = compile(outputs, 2, NULL);
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(5, 3), &fed));
  mica_tensor *x = tensor_of((float[N]){0});
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", x}, {"shape", fed}, {"again", x}}, 3));
  expect(mica_session_output(session, 0), (float[]){16, 16, 16, 16, 16, 16});
  ck_assert_uint_eq(mica_tensor_bytes(mica_session_output(session, 1)), 0);
  mica_tensor_destroy(x);
  mica_tensor_destroy(fed);
}
END_TEST

static mica_stats stats_of_runs(const mica_tensor *x) {
  mica_stats before = {0};
  for (int i = 0; i < 12; i++) {
    if (i == 2) {
      ck_ok(mica_queue_finish(test_queue()));
      before = mica_engine_stats(test_engine());
    }
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  }
  mica_stats after = mica_engine_stats(test_engine());
  after.host_waits -= before.host_waits;
  after.allocations -= before.allocations;
  after.kernel_builds -= before.kernel_builds;
  after.bytes_downloaded -= before.bytes_downloaded;
  return after;
}

/* A step reads what it asked for and nothing else; without one a run waits for nothing. */
START_TEST(only_the_host_waits) {
  mica_tensor *x = tensor_of((float[]){3, 1, 2, 6, 5, 4});
  mica_value in = input(), with = sorted_value(in), without = mica_gather(in, mica_cast(mica_abs(in), MICA_I64), 0);
  mica_session_report report;
  session = compile(&without, 1, NULL);
  mica_stats stats = stats_of_runs(x);
  ck_assert_uint_eq(stats.host_waits, 0);
  ck_assert_uint_eq(stats.allocations + stats.kernel_builds, 0);
  ck_ok(mica_session_describe(session, &report));
  ck_assert_uint_eq(report.host_steps, 0);
  mica_session_destroy(session);
  session = compile(&with, 1, NULL);
  stats = stats_of_runs(x);
  /* For the values that come, and where the device shares the host's memory for those that go. */
  ck_assert_uint_ge(stats.host_waits, 10);
  ck_assert_uint_le(stats.host_waits, 20);
  ck_assert_uint_eq(stats.bytes_downloaded, 10 * N * sizeof(float));
  ck_assert_uint_eq(stats.allocations + stats.kernel_builds, 0);
  mica_tensor_destroy(x);
}
END_TEST

TESTS(DEVICE, setup, teardown, a_step_of_the_host_between_launches, feeds_and_outputs_of_the_host,
      gradients_flow_around_the_host, steps_one_after_the_other, two_sessions_in_turn, a_failure_of_the_host,
      what_stays_is_computed_once, what_is_not_read, only_the_host_waits)
