/* labels: device single
 *
 * Launches that a session does not make: products of two vectors are sums in the kernels around them, parts of inputs
 * are read where they lie. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <string.h>

#define DEPTH 37

static size_t launches_of(mica_value y) {
  mica_session_report report;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &graph_session));
  ck_ok(mica_session_describe(graph_session, &report));
  return report.launches;
}

/* Runs the session, whose one input is x. */
static void run(mica_shape shape, const float *x) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, x, &tensor));
  ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", tensor}, 1));
  ck_ok(mica_queue_finish(test_queue()));
  mica_tensor_destroy(tensor);
}

static void expect(const float *want, size_t count) {
  float got[64];
  ck_assert_uint_eq(mica_tensor_bytes(mica_session_output(graph_session, 0)), count * sizeof *got);
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(graph_session, 0), got, count * sizeof *got));
  for (size_t i = 0; i < count; i++)
    ck_assert_msg(got[i] == want[i], "element %zu: %g, not %g", i, (double)got[i], (double)want[i]);
}

/* Whole numbers, of which sums are exact in any order. */
static float numbers[4 * DEPTH], weights[4 * DEPTH];

static void make_numbers(void) {
  for (int i = 0; i < 4 * DEPTH; i++) numbers[i] = (float)(i * 7 % 11 - 5), weights[i] = (float)(i * 5 % 13 - 6);
}

/* relu(x) w + b of one row and one column, halved. */
static mica_value end_of(mica_value product) {
  return mica_affine(mica_add(product, mica_constant(graph, MICA_F32, MICA_SHAPE(1), (float[]){3})), 0.5, 0);
}
static float want_of(const float *x) {
  float sum = 3;
  for (int i = 0; i < DEPTH; i++) sum += (x[i] > 0 ? x[i] : 0) * weights[i];
  return sum / 2;
}

START_TEST(a_row_times_a_column_is_a_sum) {
  make_numbers();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, DEPTH));
  mica_value w = mica_constant(graph, MICA_F32, MICA_SHAPE(DEPTH, 1), weights);
  ck_assert_uint_eq(launches_of(end_of(mica_matmul(mica_relu(x), w))), 1);
  run(MICA_SHAPE(1, DEPTH), numbers);
  expect(&(float){want_of(numbers)}, 1);
}
END_TEST

START_TEST(one_filter_of_one_pixel_is_a_sum) {
  make_numbers();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, DEPTH, 1, 1));
  mica_value w = mica_constant(graph, MICA_F32, MICA_SHAPE(1, DEPTH, 1, 1), weights);
  mica_value y = mica_conv(mica_relu(x), w, (mica_value){0}, NULL);
  ck_assert_uint_eq(launches_of(mica_reshape(end_of(y), MICA_SHAPE(1))), 1);
  run(MICA_SHAPE(1, DEPTH, 1, 1), numbers);
  expect(&(float){want_of(numbers)}, 1);
}
END_TEST

/* Padding makes a filter as large as its image meet less of it; a second row is no product of two vectors. */
START_TEST(what_is_no_product_of_vectors_stays) {
  make_numbers();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 1, 3, 3));
  mica_value w = mica_constant(graph, MICA_F32, MICA_SHAPE(1, 1, 3, 3), weights);
  mica_value y =
      mica_conv(x, w, (mica_value){0}, &(mica_conv_config){.pad = {1, 1}, .pad_more = {-1, -1}, .stride = {4, 4}});
  float want = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) want += numbers[3 * i + j] * weights[3 * (i + 1) + j + 1];
  launches_of(y);
  run(MICA_SHAPE(1, 1, 3, 3), numbers);
  expect(&want, 1);
}
END_TEST

START_TEST(two_rows_stay_a_product) {
  make_numbers();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, DEPTH));
  mica_value w = mica_constant(graph, MICA_F32, MICA_SHAPE(DEPTH, 1), weights);
  launches_of(mica_affine(mica_matmul(x, w), 1, 0));
  run(MICA_SHAPE(2, DEPTH), numbers);
  float want[2] = {0};
  for (int i = 0; i < 2 * DEPTH; i++) want[i / DEPTH] += numbers[i] * weights[i % DEPTH];
  expect(want, 2);
}
END_TEST

/* The state of a recurrent layer is half of an input: it is not copied. */
START_TEST(a_part_of_an_input_is_no_copy) {
  make_numbers();
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(3, 4, 1, 1));
  mica_value part = mica_slice(x, 0, 1, 2, 1), w = mica_constant(graph, MICA_F32, MICA_SHAPE(5, 4, 1, 1), weights);
  ck_assert_uint_eq(launches_of(mica_conv(part, w, (mica_value){0}, NULL)), 1);
  run(MICA_SHAPE(3, 4, 1, 1), numbers);
  float want[5] = {0};
  for (int i = 0; i < 20; i++) want[i / 4] += numbers[4 + i % 4] * weights[i];
  expect(want, 5);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, a_row_times_a_column_is_a_sum, one_filter_of_one_pixel_is_a_sum,
      what_is_no_product_of_vectors_stays, two_rows_stay_a_product, a_part_of_an_input_is_no_copy)
