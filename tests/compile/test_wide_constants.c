/* labels: device single
 *
 * Constants of i64 and u64 that no double holds stay what they are, to the last bit: of one element, of equal elements
 * and of different ones, with and without simplification, through ops that fold them and ops that do not. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <string.h>

#define N 3

/* Around 2^53, where doubles begin to skip integers; halfway cases above it; the ends of the ranges. */
static const uint64_t values[] = {
    (1ull << 53) - 1, 1ull << 53, (1ull << 53) + 1, (1ull << 53) + 2,   (1ull << 54) + 2, (1ull << 60) + 1,
    INT64_MAX,        1ull << 63, (1ull << 63) + 1, 0xdeadbeefcafef00d, UINT64_MAX,       ~(1ull << 53),
};
#define VALUES (sizeof values / sizeof *values)

enum { ONE, EQUAL, DIFFERENT, FORMS };

static mica_graph *graph;
static mica_value outputs[16];
static uint64_t want[16];
static size_t output_count;

static void expect(mica_value y, uint64_t value) {
  ck_assert_uint_lt(output_count, 16);
  want[output_count] = value;
  outputs[output_count++] = y;
}

static void check_first_elements(bool no_simplify, mica_dtype dtype, uint64_t x_value) {
  mica_session *session = NULL;
  mica_tensor *x = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, output_count,
                            &(mica_session_config){.no_simplify = no_simplify}, &session));
  ck_ok(mica_tensor_create_from(test_engine(), dtype, MICA_SHAPE(1), &x_value, &x));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  for (size_t k = 0; k < output_count; k++) {
    uint64_t got[2 * N] = {0};
    const mica_tensor *y = mica_session_output(session, k);
    ck_ok(mica_tensor_download(test_queue(), y, got, mica_tensor_bytes(y)));
    ck_assert_msg(got[0] == want[k], "output %zu: %llx instead of %llx", k, (unsigned long long)got[0],
                  (unsigned long long)want[k]);
  }
  mica_tensor_destroy(x);
  mica_session_destroy(session);
}

/* The greater and the lesser of two elements in the order of the dtype. */
static uint64_t greater(mica_dtype dtype, uint64_t a, uint64_t b) {
  bool less = dtype == MICA_U64 ? a < b : (int64_t)a < (int64_t)b;
  return less ? b : a;
}

START_TEST(constants_keep_every_bit) {
  for (int form = 0; form < FORMS; form++)
    for (int mode = 0; mode < 2; mode++) {
      const mica_dtype dtype = mode ? MICA_U64 : MICA_I64;
      const uint64_t v = values[_i], x_value = 5;
      const uint64_t data[N] = {v, form == DIFFERENT ? v + 1 : v, form == DIFFERENT ? 3 : v};
      const int64_t n = form == ONE ? 1 : N;
      output_count = 0;
      ck_ok(mica_graph_create(&graph));
      mica_value c = mica_constant(graph, dtype, MICA_SHAPE(n), data), x = mica_input(graph, "x", dtype, MICA_SHAPE(1));
      mica_value two = mica_full(graph, dtype, MICA_SHAPE(1), 2);
      expect(c, v);
      expect(mica_reshape(c, MICA_SHAPE(n, 1)), v);
      expect(mica_add(x, c), x_value + v);
      expect(mica_add(c, two), v + 2);
      expect(mica_maximum(x, c), greater(dtype, x_value, v));
      expect(mica_concat((mica_value[]){c, c}, 2, 0), v);
      expect(mica_sum(c, MICA_AXES(0), false), n == 1 ? v : data[0] + data[1] + data[2]);
      expect(mica_gather(c, mica_scalar(graph, MICA_I32, 0), 0), v);
      check_first_elements(false, dtype, x_value);
      check_first_elements(true, dtype, x_value);
      mica_graph_destroy(graph);
    }
}
END_TEST

/* Each element is small enough, a partial sum is not: 2^53 - 1 + 2 is odd and no double. */
START_TEST(folded_sums_keep_every_bit) {
  const int64_t most = (1ll << 53) - 1, data[N] = {most, 2, -most};
  output_count = 0;
  ck_ok(mica_graph_create(&graph));
  mica_value c = mica_constant(graph, MICA_I64, MICA_SHAPE(N), data);
  (void)mica_input(graph, "x", MICA_I64, MICA_SHAPE(1));
  expect(mica_sum(c, MICA_AXES(0), false), 2);
  expect(mica_add(mica_add(mica_scalar(graph, MICA_I64, (double)most), mica_scalar(graph, MICA_I64, 2)),
                  mica_scalar(graph, MICA_I64, (double)-most)),
         2);
  check_first_elements(false, MICA_I64, 0);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(constants_keep_every_bit, 0, VALUES), folded_sums_keep_every_bit)
