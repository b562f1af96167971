/* labels: device single
 *
 * Parameters that are updated where they lie: what a step writes, and that old values which are still wanted are
 * there. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/graph_run.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROWS 4096
#define WIDTH 64
#define ROW_BYTES (WIDTH * sizeof(float))

static mica_session_report report_of(void) {
  mica_session_report report;
  ck_ok(mica_session_describe(graph_session, &report));
  return report;
}

static mica_tensor *tensor_of(mica_dtype dtype, mica_shape shape, const void *data) {
  mica_tensor *tensor;
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &tensor));
  return tensor;
}

static void run(void) { ck_ok(mica_session_run(graph_session, test_queue(), NULL, 0)); }

static void expect_parameter(const char *name, const float *wanted, size_t count) {
  graph_expect(mica_session_parameter(graph_session, name), wanted, count);
}

static void upload(const char *name, const float *data) {
  mica_tensor *tensor = mica_session_parameter(graph_session, name);
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, mica_tensor_bytes(tensor)));
}

/* --- a cache whose rows are written one a step --- */

/* Runs the steps and returns the bytes that one moved, as the profiler counts them. */
static double bytes_of_steps(int steps) {
  static float wanted[ROWS][WIDTH], got[ROWS][WIDTH];
  float row[WIDTH];
  mica_profile_total total = {0};
  memset(wanted, 0, sizeof wanted);
  mica_tensor *cache = mica_session_parameter(graph_session, "cache");
  ck_ok(mica_op_fill(test_queue(), 0, cache));
  for (int i = -1; i < steps; i++) {
    int32_t at = i < 0 ? 0 : (i * 1237 + 5) % ROWS;
    for (int j = 0; j < WIDTH; j++) wanted[at][j] = row[j] = (float)(i * WIDTH + j);
    mica_tensor *index = tensor_of(MICA_I32, MICA_SHAPE(1, 1), &at),
                *values = tensor_of(MICA_F32, MICA_SHAPE(1, WIDTH), row);
    if (i == 0) ck_ok(mica_profile_start(test_engine()));
    ck_ok(mica_session_run(graph_session, test_queue(), (mica_feed[]){{"at", index}, {"row", values}}, 2));
    mica_tensor_destroy(index);
    mica_tensor_destroy(values);
  }
  ck_ok(mica_profile_stop(test_engine()));
  ck_ok(mica_profile_sum(test_engine(), &total));
  ck_ok(mica_tensor_download(test_queue(), cache, got, sizeof got));
  ck_assert_mem_eq(got, wanted, sizeof got);
  return total.bytes / steps;
}

START_TEST(a_row_a_step) {
  mica_value cache = mica_parameter(graph, "cache", MICA_F32, MICA_SHAPE(ROWS, WIDTH));
  mica_value at = mica_input(graph, "at", MICA_I32, MICA_SHAPE(1, 1)),
             row = mica_input(graph, "row", MICA_F32, MICA_SHAPE(1, WIDTH));
  mica_assign(cache, mica_scatter_nd(cache, at, row, MICA_SCATTER_SET));
  graph_compile(NULL, 0);
  ck_assert_uint_lt(report_of().planned_bytes + report_of().workspace_bytes, ROWS);
  double bytes = bytes_of_steps(100);
  printf("a cache of %d rows of %zu bytes: %.0f bytes moved a step, in %zu launches\n", ROWS, ROW_BYTES, bytes,
         report_of().launches);
  ck_assert_double_lt(bytes, 4 * ROW_BYTES);
}
END_TEST

/* What is read of the cache afterwards is read where it lies. */
START_TEST(the_new_value_is_read_where_it_lies) {
  mica_value cache = mica_parameter(graph, "cache", MICA_F32, MICA_SHAPE(ROWS, WIDTH));
  mica_value at = mica_input(graph, "at", MICA_I32, MICA_SHAPE(1, 1)),
             row = mica_input(graph, "row", MICA_F32, MICA_SHAPE(1, WIDTH));
  mica_value next = mica_scatter_nd(cache, at, row, MICA_SCATTER_SET);
  mica_value back = mica_gather(next, mica_reshape(at, MICA_SHAPE(1)), 0);
  mica_assign(cache, next);
  graph_compile(&back, 1);
  ck_assert_uint_lt(report_of().planned_bytes, ROWS);
  ck_assert_double_lt(bytes_of_steps(20), 8 * ROW_BYTES);
  float wanted[WIDTH];
  for (int j = 0; j < WIDTH; j++) wanted[j] = (float)(19 * WIDTH + j);
  graph_expect(mica_session_output(graph_session, 0), wanted, WIDTH);
}
END_TEST

/* Two updates one after the other, by an index and by a slice. */
START_TEST(updates_in_a_row) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 4));
  mica_value ones = mica_constant(graph, MICA_F32, MICA_SHAPE(2, 4), (float[]){1, 1, 1, 1, 2, 2, 2, 2});
  mica_value where = mica_constant(graph, MICA_I64, MICA_SHAPE(2, 1), (int64_t[]){2, 2});
  mica_value column = mica_constant(graph, MICA_F32, MICA_SHAPE(3, 2), (float[]){5, 6, 7, 8, 9, 10});
  mica_assign(p, mica_slice_assign(mica_scatter_nd(p, where, ones, MICA_SCATTER_ADD), column, 1, -1, -2));
  graph_compile(NULL, 0);
  ck_assert_uint_eq(report_of().planned_bytes, 0);
  upload("p", (float[]){1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  run();
  expect_parameter("p", (float[]){1, 6, 3, 5, 5, 8, 7, 7, 12, 10, 14, 9}, 12);
  run();
  expect_parameter("p", (float[]){1, 6, 3, 5, 5, 8, 7, 7, 15, 10, 17, 9}, 12);
}
END_TEST

/* Indices of elements, above what is compared one with another, and equal ones. */
START_TEST(many_indices) {
  static int64_t where[200][2];
  static float values[200][2];
  float wanted[32][2] = {{0}};
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(32, 2)),
             q = mica_parameter(graph, "q", MICA_F32, MICA_SHAPE(32, 2));
  int64_t rows[200];
  for (int i = 0; i < 200; i++) {
    rows[i] = i * 7 % 30;
    for (int j = 0; j < 2; j++) {
      where[i][j] = rows[i];
      wanted[where[i][j]][j] += values[i][j] = (float)(i % 13 + j);
    }
  }
  mica_value u = mica_constant(graph, MICA_F32, MICA_SHAPE(200, 2), values);
  mica_assign(
      p, mica_scatter_elements(p, mica_constant(graph, MICA_I64, MICA_SHAPE(200, 2), where), u, 0, MICA_SCATTER_ADD));
  mica_assign(q, mica_scatter_nd(q, mica_constant(graph, MICA_I64, MICA_SHAPE(200, 1), rows), u, MICA_SCATTER_ADD));
  graph_compile(NULL, 0);
  ck_assert_uint_eq(report_of().planned_bytes, 0);
  run();
  expect_parameter("p", wanted[0], 64);
  expect_parameter("q", wanted[0], 64);
}
END_TEST

/* --- old values that are wanted --- */

static mica_value updated(mica_value p) {
  mica_value row = mica_constant(graph, MICA_F32, MICA_SHAPE(1, 2), (float[]){8, 9});
  return mica_slice_assign(p, row, 0, 1, 1);
}

START_TEST(an_old_value_that_is_an_output) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 2)), next = updated(p);
  mica_value outputs[] = {p, mica_affine(p, 2, 0), next, mica_sum(next, MICA_ALL_AXES, false)};
  mica_assign(p, next);
  graph_compile(outputs, 4);
  upload("p", (float[]){1, 2, 3, 4, 5, 6});
  run();
  graph_expect(mica_session_output(graph_session, 0), (float[]){1, 2, 3, 4, 5, 6}, 6);
  graph_expect(mica_session_output(graph_session, 1), (float[]){2, 4, 6, 8, 10, 12}, 6);
  graph_expect(mica_session_output(graph_session, 2), (float[]){1, 2, 8, 9, 5, 6}, 6);
  graph_expect(mica_session_output(graph_session, 3), (float[]){31}, 1);
  expect_parameter("p", (float[]){1, 2, 8, 9, 5, 6}, 6);
}
END_TEST

/* Long rows are walked by several launches, of which one stores the new value before elements are made of the old. */
START_TEST(an_old_value_that_elements_of_long_rows_read) {
  enum { CHANNELS = 16, LONG = 100000 };
  static float x[CHANNELS][LONG], y[CHANNELS][LONG];
  float scale[CHANNELS], wanted[CHANNELS];
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(CHANNELS, LONG));
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(CHANNELS, 1)), sum = mica_sum(in, MICA_AXES(1), true);
  mica_value out = mica_add(mica_mul(in, p), sum);
  mica_assign(p, mica_add(p, sum));
  graph_compile(&out, 1);
  for (int i = 0; i < CHANNELS * LONG; i++) x[i / LONG][i % LONG] = (float)(i % 2);
  for (int c = 0; c < CHANNELS; c++) {
    scale[c] = (float)(c + 1);
    wanted[c] = scale[c] + LONG / 2;
  }
  upload("p", scale);
  mica_tensor *fed = tensor_of(MICA_F32, MICA_SHAPE(CHANNELS, LONG), x);
  ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", fed}, 1));
  mica_tensor_destroy(fed);
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(graph_session, 0), y, sizeof y));
  for (int i = 0; i < CHANNELS * LONG; i++) {
    const float good = x[i / LONG][i % LONG] * scale[i / LONG] + LONG / 2;
    ck_assert_msg(y[i / LONG][i % LONG] == good, "element %d: %g, not %g", i, (double)y[i / LONG][i % LONG],
                  (double)good);
  }
  expect_parameter("p", wanted, CHANNELS);
}
END_TEST

/* What needs both is computed before the old value goes: the new one has memory of its own until then. */
START_TEST(an_old_value_beside_the_new_one) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 2)), next = updated(p);
  mica_value both = mica_matmul(mica_transpose(next, MICA_ALL_AXES), p);
  mica_assign(p, next);
  graph_compile(&both, 1);
  upload("p", (float[]){1, 2, 3, 4, 5, 6});
  run();
  graph_expect(mica_session_output(graph_session, 0), (float[]){50, 64, 59, 76}, 4);
  expect_parameter("p", (float[]){1, 2, 8, 9, 5, 6}, 6);
}
END_TEST

/* The rows that are written are made of rows of the old value, in another order. */
START_TEST(updates_made_of_the_old_value) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 2));
  mica_value all = mica_constant(graph, MICA_I64, MICA_SHAPE(3, 1), (int64_t[]){2, 0, 1});
  mica_assign(p, mica_scatter_nd(p, all, p, MICA_SCATTER_SET));
  graph_compile(NULL, 0);
  upload("p", (float[]){1, 2, 3, 4, 5, 6});
  run();
  expect_parameter("p", (float[]){3, 4, 5, 6, 1, 2}, 6);
  run();
  expect_parameter("p", (float[]){5, 6, 1, 2, 3, 4}, 6);
}
END_TEST

START_TEST(updates_computed_from_the_old_value) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 2));
  mica_value sum = mica_sum(p, MICA_AXES(0), true),
             at = mica_constant(graph, MICA_I64, MICA_SHAPE(1, 1), (int64_t[]){0});
  mica_assign(p, mica_scatter_nd(p, at, sum, MICA_SCATTER_SET));
  graph_compile(NULL, 0);
  ck_assert_uint_le(report_of().planned_bytes, 256);
  upload("p", (float[]){1, 2, 3, 4, 5, 6});
  run();
  expect_parameter("p", (float[]){9, 12, 3, 4, 5, 6}, 6);
  run();
  expect_parameter("p", (float[]){17, 22, 3, 4, 5, 6}, 6);
}
END_TEST

/* Each takes the other's old value, changed. */
START_TEST(two_parameters_cross) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 2)),
             q = mica_parameter(graph, "q", MICA_F32, MICA_SHAPE(3, 2));
  mica_assign(p, updated(q));
  mica_assign(q, updated(p));
  graph_compile(NULL, 0);
  upload("p", (float[]){1, 2, 3, 4, 5, 6});
  upload("q", (float[]){-1, -2, -3, -4, -5, -6});
  run();
  expect_parameter("p", (float[]){-1, -2, 8, 9, -5, -6}, 6);
  expect_parameter("q", (float[]){1, 2, 8, 9, 5, 6}, 6);
}
END_TEST

static int count_of(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)); text += strlen(part)) count++;
  return count;
}

/* A pair has one value that waits for the end, where copies of a type share launches, sixteen at a time, but
 * for one element. */
START_TEST(many_parameters_cross) {
  enum { PAIRS = 20 };
  char names[2 * PAIRS][8], *dump = NULL;
  float ones[PAIRS], data[PAIRS];
  for (int i = 0; i < PAIRS; i++) ones[i] = 1;
  for (int pair = 0; pair < PAIRS; pair++) {
    mica_value p[2];
    for (int k = 0; k < 2; k++) {
      snprintf(names[2 * pair + k], sizeof *names, "%c%d", "pq"[k], pair);
      p[k] = mica_parameter(graph, names[2 * pair + k], MICA_F32, MICA_SHAPE(pair + 1));
    }
    const mica_value all = mica_constant(graph, MICA_F32, MICA_SHAPE(pair + 1), ones);
    mica_assign(p[0], mica_mul(mica_cumsum(p[1], 0, false, false), all));
    mica_assign(p[1], mica_cumsum(p[0], 0, false, false));
  }
  graph_compile(NULL, 0);
  for (int pair = 0; pair < PAIRS; pair++)
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i <= pair; i++) data[i] = (float)(k ? -1 - pair : 1 + pair);
      upload(names[2 * pair + k], data);
    }
  run();
  for (int pair = 0; pair < PAIRS; pair++)
    for (int k = 0; k < 2; k++) {
      for (int i = 0; i <= pair; i++) data[i] = (float)((i + 1) * (k ? 1 + pair : -1 - pair));
      expect_parameter(names[2 * pair + k], data, (size_t)pair + 1);
    }
  ck_ok(mica_session_dump(graph_session, &dump));
  ck_assert_int_eq(count_of(dump, "copy -> '"), 3);
  ck_assert_int_eq(count_of(dump, "', '"), PAIRS - 3);
  mica_free(dump);
}
END_TEST

/* An intermediate update that others read too. */
START_TEST(an_update_between_that_is_read) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(3, 2)), first = updated(p);
  mica_value at = mica_constant(graph, MICA_I64, MICA_SHAPE(1, 1), (int64_t[]){1});
  mica_value y = mica_sum(first, MICA_ALL_AXES, false);
  mica_assign(p, mica_scatter_nd(first, at, mica_full(graph, MICA_F32, MICA_SHAPE(1, 2), 1), MICA_SCATTER_MUL));
  graph_compile(&y, 1);
  upload("p", (float[]){1, 2, 3, 4, 5, 6});
  run();
  graph_expect(mica_session_output(graph_session, 0), (float[]){31}, 1);
  expect_parameter("p", (float[]){1, 2, 8, 9, 5, 6}, 6);
}
END_TEST

/* The operand of a scatter that nothing reads later lends it its memory; one that is read through another operand does
 * not. */
START_TEST(temporaries_are_updated_in_place) {
  mica_value x = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(64, 64)), y = mica_exp(mica_matmul(x, x));
  mica_value at = mica_constant(graph, MICA_I64, MICA_SHAPE(64, 1), (int64_t[64]){1});
  mica_value alone =
      mica_sum(mica_scatter_nd(y, mica_slice(at, 0, 0, 1, 1), mica_slice(x, 0, 0, 1, 1), MICA_SCATTER_SET),
               MICA_ALL_AXES, false);
  graph_compile(&alone, 1);
  ck_assert_uint_lt(report_of().planned_bytes, 2 * 64 * 64 * sizeof(float));
  run();
  graph_expect(mica_session_output(graph_session, 0), (float[]){63 * 64}, 1);
  graph_teardown();
  graph_setup();
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(2, 2)), z = mica_matmul(p, p);
  mica_value swap = mica_constant(graph, MICA_I64, MICA_SHAPE(2, 1), (int64_t[]){1, 0});
  mica_value crossed = mica_matmul(mica_scatter_nd(z, swap, mica_reshape(z, MICA_SHAPE(2, 2)), MICA_SCATTER_SET), p);
  graph_compile(&crossed, 1);
  upload("p", (float[]){1, 0, 0, 2});
  run();
  graph_expect(mica_session_output(graph_session, 0), (float[]){0, 8, 1, 0}, 4);
}
END_TEST

/* The middle of a product's row is written to a cache from where it lies: two launches. */
START_TEST(a_part_in_order_is_no_copy) {
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 2)),
             w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(2, 6)),
             cache = mica_parameter(graph, "cache", MICA_F32, MICA_SHAPE(3, 2));
  mica_value part = mica_reshape(mica_slice(mica_matmul(x, w), 1, 2, 4, 1), MICA_SHAPE(1, 1, 2));
  const int32_t row = 1;
  mica_value at = mica_constant(graph, MICA_I32, MICA_SHAPE(1, 1), &row);
  mica_assign(cache, mica_scatter_rows_unique(cache, at, part, 0, MICA_SCATTER_SET));
  graph_compile(NULL, 0);
  upload("w", (float[]){1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60});
  upload("cache", (float[]){7, 7, 7, 7, 7, 7});
  ck_assert_uint_eq(report_of().launches, 2);
  mica_tensor *given = tensor_of(MICA_F32, MICA_SHAPE(1, 2), (float[]){1, 2});
  ck_ok(mica_session_run(graph_session, test_queue(), &(mica_feed){"x", given}, 1));
  expect_parameter("cache", (float[]){7, 7, 63, 84, 7, 7}, 6);
  mica_tensor_destroy(given);
}
END_TEST

START_TEST(wrong_slices) {
  mica_value x = mica_parameter(graph, "x", MICA_F32, MICA_SHAPE(4, 2)),
             v = mica_full(graph, MICA_F32, MICA_SHAPE(2, 2), 1);
  mica_slice_assign(x, v, 0, 1, 3);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_SHAPE);
  ck_assert_ptr_nonnull(
      strstr(mica_graph_message(graph), "(2, 2), placed from 1 in steps of 3 along axis 0, do not lie inside (4, 2)"));
}
END_TEST

/* A kernel of two results, the first of which is stored before the operand of the second is read: it must not take that
 * operand's memory. */
START_TEST(a_store_before_a_read_takes_no_memory_over) {
  static const int32_t back[4] = {3, 2, 1, 0};
  mica_value indices = mica_constant(graph, MICA_I32, MICA_SHAPE(4), back);
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(4)), y = mica_input(graph, "y", MICA_F32, MICA_SHAPE(4));
  mica_value reversed = mica_gather(x, indices, 0), product = mica_mul(x, y);
  mica_value outputs[] = {mica_mul(reversed, y), mica_gather(product, indices, 0)};
  mica_tensor *fed[2];
  graph_compile(outputs, 2);
  fed[0] = tensor_of(MICA_F32, MICA_SHAPE(4), (float[]){1, 2, 3, 4});
  fed[1] = tensor_of(MICA_F32, MICA_SHAPE(4), (float[]){5, 6, 7, 8});
  ck_ok(mica_session_run(graph_session, test_queue(), (mica_feed[]){{"x", fed[0]}, {"y", fed[1]}}, 2));
  graph_expect(mica_session_output(graph_session, 0), (float[]){20, 18, 14, 8}, 4);
  graph_expect(mica_session_output(graph_session, 1), (float[]){32, 21, 12, 5}, 4);
  mica_tensor_destroy(fed[0]);
  mica_tensor_destroy(fed[1]);
}
END_TEST

/* A parameter whose new value is stored before the old one is read gets it later. */
START_TEST(a_parameter_is_read_before_it_is_stored) {
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(4));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(4)), y = mica_input(graph, "y", MICA_F32, MICA_SHAPE(4));
  mica_value next = mica_mul(x, y), out = mica_mul(p, y);
  mica_tensor *fed[2];
  mica_assign(p, next);
  graph_compile(&out, 1);
  upload("p", (float[]){1, 2, 3, 4});
  fed[0] = tensor_of(MICA_F32, MICA_SHAPE(4), (float[]){1, 1, 1, 2});
  fed[1] = tensor_of(MICA_F32, MICA_SHAPE(4), (float[]){5, 6, 7, 8});
  ck_ok(mica_session_run(graph_session, test_queue(), (mica_feed[]){{"x", fed[0]}, {"y", fed[1]}}, 2));
  graph_expect(mica_session_output(graph_session, 0), (float[]){5, 12, 21, 32}, 4);
  expect_parameter("p", (float[]){5, 6, 7, 16}, 4);
  mica_tensor_destroy(fed[0]);
  mica_tensor_destroy(fed[1]);
}
END_TEST

TESTS(DEVICE, graph_setup, graph_teardown, a_row_a_step, the_new_value_is_read_where_it_lies, updates_in_a_row,
      many_indices, an_old_value_that_is_an_output, an_old_value_beside_the_new_one,
      an_old_value_that_elements_of_long_rows_read, updates_made_of_the_old_value, updates_computed_from_the_old_value,
      two_parameters_cross, many_parameters_cross, an_update_between_that_is_read, temporaries_are_updated_in_place,
      a_part_in_order_is_no_copy, wrong_slices, a_store_before_a_read_takes_no_memory_over,
      a_parameter_is_read_before_it_is_stored)
