/* labels: device
 *
 * The plans of a session for several input shapes, within limits, and outputs in tensors of the caller's. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 64
#define SHAPES 50

static mica_graph *graph;
static mica_session *session;

static void setup(void) { ck_ok(mica_graph_create(&graph)); }

static void teardown(void) {
  mica_session_destroy(session);
  session = NULL;
  mica_graph_destroy(graph);
}

/* y = x w - 1, where w is 2 on its diagonal, by launches that share an arena. */
static void make_session(const mica_session_config *config) {
  static float w[WIDTH][WIDTH];
  for (int i = 0; i < WIDTH; i++) w[i][i] = 2;
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, WIDTH));
  mica_value twice = mica_tanh(mica_matmul(x, mica_constant(graph, MICA_F32, MICA_SHAPE(WIDTH, WIDTH), w)));
  mica_value y = mica_sub(mica_matmul(x, mica_constant(graph, MICA_F32, MICA_SHAPE(WIDTH, WIDTH), w)),
                          mica_affine(mica_sum(twice, MICA_AXES(1), true), 0, 1));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, config, &session));
}

static mica_tensor *rows_of(int64_t rows) {
  static float data[(SHAPES + 1) * WIDTH];
  mica_tensor *tensor;
  for (int i = 0; i < (SHAPES + 1) * WIDTH; i++) data[i] = (float)(i % 101);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(rows, WIDTH), data, &tensor));
  return tensor;
}

static void expect_rows(const mica_tensor *tensor, int64_t rows) {
  static float got[(SHAPES + 1) * WIDTH];
  ck_assert_uint_eq(mica_tensor_bytes(tensor), (size_t)rows * WIDTH * sizeof(float));
  ck_ok(mica_tensor_download(test_queue(), tensor, got, mica_tensor_bytes(tensor)));
  for (int i = 0; i < rows * WIDTH; i++)
    ck_assert_msg(got[i] == 2 * (float)(i % 101) - 1, "%d rows, element %d: %g", (int)rows, i, (double)got[i]);
}

static void run(const mica_tensor *x) { ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1)); }

static mica_session_report report_of(void) {
  mica_session_report report;
  ck_ok(mica_session_describe(session, &report));
  return report;
}

/* Every shape three times, in rising order: each is planned anew, since it went before it came again. */
START_TEST(fifty_shapes_under_a_limit) {
  mica_tensor *x[SHAPES];
  mica_stats stats[3];
  uint64_t most = 0;
  make_session(&(mica_session_config){.most_plans = 4});
  for (int i = 0; i < SHAPES; i++) x[i] = rows_of(i + 1);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < SHAPES; i++) {
      run(x[i]);
      expect_rows(mica_session_output(session, 0), i + 1);
      ck_assert_uint_le(report_of().plans, 4);
      most = report_of().plan_bytes > most ? report_of().plan_bytes : most;
    }
    stats[round] = mica_engine_stats(test_engine());
  }
  ck_assert_uint_eq(stats[2].allocations, stats[1].allocations);
  ck_assert_uint_eq(stats[2].bytes_in_use, stats[1].bytes_in_use);
  ck_assert_uint_eq(stats[2].bytes_pooled, stats[1].bytes_pooled);
  ck_assert_uint_eq(stats[2].kernel_builds, stats[1].kernel_builds);
  printf("%d shapes, at most 4 plans: %llu bytes\n", SHAPES, (unsigned long long)most);
  for (int i = 0; i < SHAPES; i++) mica_tensor_destroy(x[i]);
}
END_TEST

START_TEST(plans_are_bounded_by_bytes) {
  mica_tensor *x[SHAPES];
  make_session(NULL);
  for (int i = 0; i < SHAPES; i++) run(x[i] = rows_of(i + 1));
  ck_assert_uint_eq(report_of().plans, SHAPES);
  uint64_t all = report_of().plan_bytes, largest = 0;
  teardown();
  setup();
  make_session(&(mica_session_config){.most_plan_bytes = all / 4});
  for (int i = 0; i < SHAPES; i++) {
    run(x[i]);
    largest = report_of().plan_bytes > largest ? report_of().plan_bytes : largest;
    expect_rows(mica_session_output(session, 0), i + 1);
  }
  ck_assert_uint_le(largest, all / 4);
  ck_assert_uint_lt(report_of().plans, SHAPES);
  ck_assert_uint_gt(report_of().plans, 1);
  /* What fits into nothing is planned and run all the same, alone. */
  teardown();
  setup();
  make_session(&(mica_session_config){.most_plan_bytes = 1});
  for (int i = 0; i < 3; i++) {
    run(x[i]);
    expect_rows(mica_session_output(session, 0), i + 1);
    ck_assert_uint_eq(report_of().plans, 1);
  }
  for (int i = 0; i < SHAPES; i++) mica_tensor_destroy(x[i]);
}
END_TEST

/* The one used longest ago goes, not the one made first. */
START_TEST(the_plan_used_longest_ago_goes) {
  mica_tensor *x[3] = {rows_of(1), rows_of(2), rows_of(3)};
  make_session(&(mica_session_config){.most_plans = 2});
  run(x[0]);
  run(x[1]);
  run(x[0]);
  run(x[2]);
  ck_ok(mica_queue_finish(test_queue()));
  uint64_t allocations = mica_engine_stats(test_engine()).allocations;
  uint64_t before = mica_engine_stats(test_engine()).bytes_uploaded;
  run(x[0]);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).bytes_uploaded, before);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).allocations, allocations);
  /* The constants of a plan are uploaded when it is made. */
  run(x[1]);
  ck_assert_uint_gt(mica_engine_stats(test_engine()).bytes_uploaded, before);
  for (int i = 0; i < 3; i++) mica_tensor_destroy(x[i]);
}
END_TEST

/* Runs are queued without waiting, each with a plan that the next throws out; what they leave is read at the end. */
START_TEST(a_plan_in_flight_is_not_freed) {
  mica_tensor *x[SHAPES], *y[SHAPES];
  make_session(&(mica_session_config){.most_plans = 1});
  for (int i = 0; i < SHAPES; i++) {
    x[i] = rows_of(i + 1);
    ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(i + 1, WIDTH), &y[i]));
  }
  for (int i = 0; i < SHAPES; i++) {
    ck_ok(mica_session_bind_output(session, 0, y[i]));
    run(x[i]);
  }
  for (int i = 0; i < SHAPES; i++) {
    expect_rows(y[i], i + 1);
    mica_tensor_destroy(x[i]);
    mica_tensor_destroy(y[i]);
  }
}
END_TEST

/* An output is fed to another session as it is, and to the same session in another shape. */
START_TEST(an_output_is_a_feed) {
  mica_tensor *x = rows_of(2);
  mica_session *next;
  mica_graph *other;
  float got[2];
  make_session(&(mica_session_config){.most_plans = 1});
  ck_ok(mica_graph_create(&other));
  mica_value h = mica_input(other, "h", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, WIDTH));
  mica_value sums = mica_sum(mica_affine(h, 1, 1), MICA_AXES(1), false);
  ck_ok(mica_session_create(test_engine(), other, &sums, 1, NULL, &next));
  run(x);
  ck_ok(mica_session_run(next, test_queue(), &(mica_feed){"h", mica_session_output(session, 0)}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(next, 0), got, sizeof got));
  ck_assert_float_eq(got[0], 63 * 64);
  mica_session_destroy(next);
  mica_graph_destroy(other);
  mica_tensor_destroy(x);
}
END_TEST

/* --- outputs in the caller's memory --- */

START_TEST(an_output_is_written_where_the_caller_wants_it) {
  mica_tensor *x = rows_of(3), *all, *even, *odd, *wrong, *integers, *narrow;
  make_session(NULL);
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(8, WIDTH), &all));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(3, WIDTH), NULL, 2 * WIDTH, &even));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(3, WIDTH), NULL, 5, &odd));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, WIDTH), &wrong));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(3, WIDTH), &integers));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, WIDTH - 1), &narrow));
  ck_ok(mica_session_bind_output(session, 0, even));
  run(x);
  uint64_t launches = mica_engine_stats(test_engine()).launches;
  run(x);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).launches - launches, report_of().launches);
  expect_rows(even, 3);
  expect_rows(mica_session_output(session, 0), 3);
  /* Where kernels cannot write, one copy more. */
  ck_ok(mica_session_bind_output(session, 0, odd));
  run(x);
  launches = mica_engine_stats(test_engine()).launches;
  run(x);
  ck_assert_uint_eq(mica_engine_stats(test_engine()).launches - launches, report_of().launches + 1);
  expect_rows(odd, 3);
  ck_ok(mica_session_bind_output(session, 0, NULL));
  ck_ok(mica_op_fill(test_queue(), 0, all));
  run(x);
  expect_rows(mica_session_output(session, 0), 3);
  /* The memory stays as long as it is bound. */
  ck_ok(mica_session_bind_output(session, 0, even));
  mica_tensor *list[] = {all, even, odd};
  for (int i = 0; i < 3; i++) mica_tensor_destroy(list[i]);
  run(x);
  expect_rows(mica_session_output(session, 0), 3);
  ck_ok(mica_session_bind_output(session, 0, wrong));
  ck_assert_int_eq(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(
      strstr(mica_error_message(), "output 0 is f32 (3, 64), but is bound to a tensor of f32 (2, 64)"));
  /* What can be seen to be wrong is refused at once, and the tensor before it stays. */
  ck_assert_int_eq(mica_session_bind_output(session, 0, integers), MICA_E_DTYPE);
  ck_assert_msg(strstr(mica_error_message(), "is f32 (?, 64), but the tensor to bind is i32 (3, 64)") != NULL, "%s",
                mica_error_message());
  ck_assert_int_eq(mica_session_bind_output(session, 0, narrow), MICA_E_SHAPE);
  ck_assert_int_eq(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1), MICA_E_SHAPE);
  ck_assert_int_eq(mica_session_bind_output(session, 1, NULL), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_session_bind_output(NULL, 0, NULL), MICA_E_INVALID);
  ck_ok(mica_session_bind_output(session, 0, NULL));
  run(x);
  expect_rows(mica_session_output(session, 0), 3);
  mica_tensor_destroy(wrong);
  mica_tensor_destroy(integers);
  mica_tensor_destroy(narrow);
  mica_tensor_destroy(x);
}
END_TEST

START_TEST(outputs_do_not_overlap) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(4, WIDTH));
  mica_value outputs[] = {mica_affine(x, 3, 0), mica_affine(x, 5, 0)};
  mica_tensor *all, *head, *next, *middle, *fed = rows_of(4);
  ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(12, WIDTH), &all));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(4, WIDTH), NULL, 0, &head));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(4, WIDTH), NULL, 4 * WIDTH, &next));
  ck_ok(mica_tensor_view(all, MICA_SHAPE(4, WIDTH), NULL, 2 * WIDTH, &middle));
  ck_ok(mica_session_bind_output(session, 0, head));
  ck_assert_int_eq(mica_session_bind_output(session, 1, head), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "mica_session_bind_output: the tensor for output 1 overlaps that of output 0");
  ck_assert_int_eq(mica_session_bind_output(session, 1, middle), MICA_E_INVALID);
  ck_ok(mica_session_bind_output(session, 0, head));
  ck_ok(mica_session_bind_output(session, 1, next));
  run(fed);
  /* A run is not fed with what it writes. */
  ck_assert_int_eq(mica_session_run(session, test_queue(), &(mica_feed){"x", middle}, 1), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(), "mica_session_run: the tensor for 'x' overlaps that of output 0");
  ck_ok(mica_session_bind_output(session, 0, NULL));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", head}, 1));
  mica_tensor *list[] = {all, head, next, middle, fed};
  for (int i = 0; i < 5; i++) mica_tensor_destroy(list[i]);
}
END_TEST

/* A run that read what it writes would give whatever its launches had left there. */
START_TEST(a_run_is_not_fed_with_what_it_overwrites) {
  const mica_shape rows = MICA_SHAPE(4, WIDTH);
  mica_value x = mica_input(graph, "x", MICA_F32, rows), state = mica_parameter(graph, "state", MICA_F32, rows);
  mica_value outputs[] = {mica_affine(x, 3, 0), mica_cumsum(x, 0, false, false)};
  mica_assign(state, mica_add(state, mica_cumsum(x, 0, false, false)));
  mica_tensor *fed = rows_of(4);
  ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
  run(fed);
  mica_feed own = {"x", mica_session_output(session, 1)};
  ck_assert_int_eq(mica_session_run(session, test_queue(), &own, 1), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(),
                   "mica_session_run: the tensor for 'x' is output 1, which the run overwrites; copy it, or bind the "
                   "output to another tensor");
  own.tensor = mica_session_parameter(session, "state");
  ck_assert_int_eq(mica_session_run(session, test_queue(), &own, 1), MICA_E_INVALID);
  ck_assert_str_eq(mica_error_message(),
                   "mica_session_run: the tensor for 'x' overlaps the parameter 'state', which the run assigns");
  run(fed);
  mica_tensor_destroy(fed);
}
END_TEST

/* In steady state a run with a bound output allocates nothing and waits for nothing, also where tensors alternate. */
START_TEST(binding_costs_no_wait) {
  mica_tensor *x = rows_of(4), *y[2];
  make_session(NULL);
  for (int i = 0; i < 2; i++) ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(4, WIDTH), &y[i]));
  mica_stats before = {0};
  for (int i = 0; i < 6; i++) {
    ck_ok(mica_session_bind_output(session, 0, y[i % 2]));
    run(x);
    if (i == 1) before = mica_engine_stats(test_engine());
  }
  mica_stats after = mica_engine_stats(test_engine());
  ck_assert_uint_eq(after.host_waits, before.host_waits);
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  for (int i = 0; i < 2; i++) {
    expect_rows(y[i], 4);
    mica_tensor_destroy(y[i]);
  }
  mica_tensor_destroy(x);
}
END_TEST

static void expect_output(size_t index, const float *wanted, size_t count) {
  float got[6];
  const mica_tensor *tensor = mica_session_output(session, index);
  ck_assert_uint_eq(mica_tensor_bytes(tensor), count * sizeof *got);
  ck_ok(mica_tensor_download(test_queue(), tensor, got, count * sizeof *got));
  ck_assert_mem_eq(got, wanted, count * sizeof *got);
}

/* Which operand is broadcast is known when extents are: its gradient is a sum, and that one's goes to all. */
START_TEST(gradients_of_what_is_broadcast_along_open_axes) {
  const mica_shape open = MICA_SHAPE(MICA_DYNAMIC, 3);
  mica_value x = mica_input(graph, "x", MICA_F32, open), y = mica_input(graph, "y", MICA_F32, open), d[2];
  mica_tensor *fed[3];
  ck_ok(mica_gradients(mica_sum(mica_mul(x, y), MICA_ALL_AXES, false), &y, 1, &d[0]));
  ck_ok(mica_gradients(mica_sum(mica_mul(d[0], d[0]), MICA_ALL_AXES, false), &x, 1, &d[1]));
  static const float data[] = {1, 2, 3, 4, 5, 6};
  for (int64_t k = 0; k < 3; k++)
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(k ? k : 2, 3), data, &fed[k]));
  for (int plain = 0; plain < 2; plain++) {
    ck_ok(mica_session_create(test_engine(), graph, d, 2, &(mica_session_config){.no_simplify = plain}, &session));
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", fed[0]}, {"y", fed[1]}}, 2));
    expect_output(0, (float[]){5, 7, 9}, 3);
    expect_output(1, (float[]){10, 14, 18, 10, 14, 18}, 6);
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"x", fed[0]}, {"y", fed[2]}}, 2));
    expect_output(0, data, 6);
    expect_output(1, (float[]){2, 4, 6, 8, 10, 12}, 6);
    mica_session_destroy(session);
    session = NULL;
  }
  for (int k = 0; k < 3; k++) mica_tensor_destroy(fed[k]);
}
END_TEST

TESTS(DEVICE, setup, teardown, fifty_shapes_under_a_limit, plans_are_bounded_by_bytes, the_plan_used_longest_ago_goes,
      a_plan_in_flight_is_not_freed, an_output_is_a_feed, an_output_is_written_where_the_caller_wants_it,
      outputs_do_not_overlap, a_run_is_not_fed_with_what_it_overwrites, gradients_of_what_is_broadcast_along_open_axes,
      binding_costs_no_wait)
