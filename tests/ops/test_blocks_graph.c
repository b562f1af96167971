/* labels: device single
 *
 * Weights in blocks in graphs: their values on the device equal the gguf package's, bit for bit. */
#include "ops/blocks/blocks.h"
#include "ops/blocks_data.h"
#include "support/graph_run.h"

#include <math.h>
#include <string.h>

static mica_tensor *table_of(const struct golden *g, int64_t rows, mica_shape *shape) {
  const size_t size = mica_block_bytes(g->type);
  uint8_t *blocks = malloc(GOLDEN_BLOCKS * size);
  mica_tensor *table = NULL;
  random_blocks(g, blocks);
  *shape = MICA_SHAPE(rows, (int64_t)(GOLDEN_BLOCKS * size) / rows);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_U8, *shape, blocks, &table));
  free(blocks);
  return table;
}

/* Subnormal numbers of MXFP4, which devices may not have, as zeros. */
static void without_subnormals(float *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (x[i] < 0x1p-126f && x[i] > -0x1p-126f) x[i] = 0;
}

START_TEST(a_table_becomes_numbers) {
  const struct golden *g = &goldens[_i];
  const int64_t rows = 16, columns = GOLDEN_BLOCKS * mica_block_elements(g->type) / rows;
  const size_t bytes = (size_t)(rows * columns) * sizeof(float);
  mica_shape shape;
  mica_tensor *table = table_of(g, rows, &shape);
  float *got = malloc(bytes), *want = malloc(bytes);
  uint8_t *blocks = malloc(GOLDEN_BLOCKS * mica_block_bytes(g->type));
  mica_session *session = NULL;
  mica_value in = mica_input(graph, "table", MICA_U8, shape);
  mica_value y = mica_unblock(in, g->type, columns, MICA_F32);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"table", table}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, bytes));
  random_blocks(g, blocks);
  ck_ok(mica_block_dequantize(g->type, blocks, rows * columns, want));
  ck_assert_uint_eq(hashed(want, bytes), g->dequantized);
  if (g->type == MICA_BLOCK_MXFP4) {
    without_subnormals(got, rows * columns);
    without_subnormals(want, rows * columns);
    for (int64_t i = 0; i < rows * columns; i++) ck_assert_float_eq(got[i], want[i]);
  } else {
    ck_assert_uint_eq(hashed(got, bytes), g->dequantized);
  }
  mica_session_destroy(session);
  mica_tensor_destroy(table);
  free(blocks);
  free(want);
  free(got);
}
END_TEST

START_TEST(rows_are_those_that_ids_name) {
  const struct golden *g = &goldens[_i];
  const int64_t rows = 16, columns = GOLDEN_BLOCKS * mica_block_elements(g->type) / rows;
  const int32_t ids[] = {3, 0, -1, 15, 16, -17, 3};
  enum { IDS = sizeof ids / sizeof *ids };
  mica_shape shape;
  mica_tensor *table = table_of(g, rows, &shape), *named = NULL;
  float *got = malloc((size_t)(IDS * columns) * sizeof *got), *want = malloc((size_t)(rows * columns) * sizeof *want);
  uint8_t *blocks = malloc(GOLDEN_BLOCKS * mica_block_bytes(g->type));
  mica_session *session = NULL;
  mica_value in = mica_input(graph, "table", MICA_U8, shape), by = mica_input(graph, "ids", MICA_I32, MICA_SHAPE(IDS));
  mica_value y = mica_block_rows(in, by, g->type, columns, MICA_F32);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(IDS), ids, &named));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
  ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{"table", table}, {"ids", named}}, 2));
  ck_ok(
      mica_tensor_download(test_queue(), mica_session_output(session, 0), got, (size_t)(IDS * columns) * sizeof *got));
  random_blocks(g, blocks);
  ck_ok(mica_block_dequantize(g->type, blocks, rows * columns, want));
  without_subnormals(got, IDS * columns);
  without_subnormals(want, rows * columns);
  for (int i = 0; i < IDS; i++) {
    const int64_t row = ids[i] < 0 ? ids[i] + rows : ids[i];
    for (int64_t c = 0; c < columns; c++)
      ck_assert_float_eq(got[i * columns + c], row >= 0 && row < rows ? want[row * columns + c] : 0);
  }
  mica_session_destroy(session);
  mica_tensor_destroy(table);
  mica_tensor_destroy(named);
  free(blocks);
  free(want);
  free(got);
}
END_TEST

/* --- products of few rows --- */

enum { MOST_ROWS = 16, COLUMNS = 21, DEPTH = 768 };

/* The weights of all product tests: the first of the random blocks. */
static uint8_t *weights_of(const struct golden *g) {
  uint8_t *blocks = malloc(GOLDEN_BLOCKS * mica_block_bytes(g->type));
  random_blocks(g, blocks);
  const size_t used = COLUMNS * DEPTH / (size_t)mica_block_elements(g->type) * mica_block_bytes(g->type);
  if (g->type == MICA_BLOCK_MXFP4) /* scales around 1 */
    for (size_t b = 0; b < used; b += 17) blocks[b] = (uint8_t)(120 + blocks[b] % 8);
  return blocks;
}

static mica_shape shape_of(const struct golden *g) {
  return MICA_SHAPE(COLUMNS, DEPTH / mica_block_elements(g->type) * (int64_t)mica_block_bytes(g->type));
}

static void fill_rows(float *x, int rows) {
  uint32_t state = 99;
  for (int i = 0; i < rows * DEPTH; i++) x[i] = (float)(next(&state) >> 8) * 0x1p-23f - 1;
}

/* Products of the first `rows` rows of x; gives the launches of a run. */
static size_t multiply(const struct golden *g, const uint8_t *blocks, const float *x, int64_t rows, float *y) {
  graph_anew();
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(rows, DEPTH));
  mica_value w = mica_constant(graph, MICA_U8, shape_of(g), blocks);
  mica_value product = mica_matmul(in, mica_transpose(mica_unblock(w, g->type, DEPTH, MICA_F32), MICA_AXES(1, 0)));
  return graph_launches(&product, 1, NULL, MICA_SHAPE(rows, DEPTH), x, y);
}

/* The product of a row of x with a row of values in double, and the bound of Higham and Mary for it in f32. */
static double dot(const float *x, const float *values, double *bound) {
  double sum = 0, magnitude = 0;
  for (int k = 0; k < DEPTH; k++) {
    const double term = (double)x[k] * (double)values[k];
    sum += term;
    magnitude += fabs(term);
  }
  *bound = (4 + 2 * sqrt(DEPTH)) * 0x1p-24 * magnitude;
  return sum;
}

/* All elements of y against products in double. */
static void compare(const struct golden *g, const uint8_t *blocks, const float *x, int64_t rows, const float *y) {
  static float values[COLUMNS * DEPTH];
  ck_ok(mica_block_dequantize(g->type, blocks, COLUMNS * DEPTH, values));
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < COLUMNS; j++) {
      double bound = 0;
      const double want = dot(x + i * DEPTH, values + j * DEPTH, &bound), got = (double)y[i * COLUMNS + j];
      ck_assert_msg(fabs(got - want) <= bound, "%s, %d rows, (%d, %d): %.9g, not %.9g", mica_block_name(g->type),
                    (int)rows, (int)i, (int)j, got, want);
    }
}

START_TEST(few_rows_are_multiplied_without_numbers_in_memory) {
  const struct golden *g = &goldens[_i];
  static float x[MOST_ROWS * DEPTH], y[MOST_ROWS * COLUMNS];
  uint8_t *blocks = weights_of(g);
  fill_rows(x, MOST_ROWS);
  for (int64_t rows = 1; rows <= MOST_ROWS; rows++) {
    ck_assert_uint_eq(multiply(g, blocks, x, rows, y), 1);
    compare(g, blocks, x, rows, y);
  }
  free(blocks);
}
END_TEST

/* A model then answers with the same text whatever else it answers at the time. */
START_TEST(a_row_has_the_same_bits_beside_any_others) {
  const struct golden *g = &goldens[_i];
  static float x[MOST_ROWS * DEPTH], alone[MOST_ROWS * COLUMNS], y[MOST_ROWS * COLUMNS];
  uint8_t *blocks = weights_of(g);
  fill_rows(x, MOST_ROWS);
  for (int64_t i = 0; i < MOST_ROWS; i++) multiply(g, blocks, x + i * DEPTH, 1, alone + i * COLUMNS);
  for (int64_t rows = 2; rows <= MOST_ROWS; rows++) {
    multiply(g, blocks, x, rows, y);
    ck_assert_mem_eq(y, alone, (size_t)(rows * COLUMNS) * sizeof *y);
  }
  free(blocks);
}
END_TEST

/* Weights as a mapped file has them, after 1 to 3 bytes of something else, with all that may follow a product. */
START_TEST(weights_may_lie_at_any_address) {
  const struct golden *g = &goldens[_i];
  const int64_t rows = 3;
  const mica_shape shape = shape_of(g);
  const int64_t bytes = shape.dim[0] * shape.dim[1];
  static float x[MOST_ROWS * DEPTH], want[MOST_ROWS * COLUMNS], y[MOST_ROWS * COLUMNS], bias[COLUMNS];
  uint8_t *blocks = weights_of(g), *moved = malloc((size_t)bytes + 3);
  fill_rows(x, MOST_ROWS);
  for (int j = 0; j < COLUMNS; j++) bias[j] = (float)(j % 5) - 2;
  multiply(g, blocks, x, rows, want);
  for (int64_t at = 1; at <= 3; at++) {
    mica_tensor *file = NULL, *table = NULL, *rows_of_x = NULL;
    mica_session_report report;
    memset(moved, 0xff, (size_t)bytes + 3);
    memcpy(moved + at, blocks, (size_t)bytes);
    graph_anew();
    mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(rows, DEPTH));
    mica_value w = mica_input(graph, "w", MICA_U8, shape);
    mica_value product = mica_matmul(in, mica_transpose(mica_unblock(w, g->type, DEPTH, MICA_F32), MICA_AXES(1, 0)));
    mica_value sum = mica_add(product, mica_constant(graph, MICA_F32, MICA_SHAPE(COLUMNS), bias));
    sum = mica_relu(mica_add(sum, mica_slice(in, 1, 0, COLUMNS, 1)));
    ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_U8, MICA_SHAPE(bytes + 3), moved, &file));
    ck_ok(mica_tensor_view(file, shape, NULL, at, &table));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(rows, DEPTH), x, &rows_of_x));
    ck_ok(mica_session_create(test_engine(), graph, &sum, 1, NULL, &graph_session));
    ck_ok(mica_session_run(graph_session, test_queue(), (mica_feed[]){{"x", rows_of_x}, {"w", table}}, 2));
    ck_ok(mica_session_describe(graph_session, &report));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(graph_session, 0), y,
                               (size_t)(rows * COLUMNS) * sizeof *y));
    for (int i = 0; i < rows * COLUMNS; i++) {
      const float residual = x[i / COLUMNS * DEPTH + i % COLUMNS], added = want[i] + bias[i % COLUMNS] + residual;
      ck_assert_float_eq_tol(y[i], fmaxf(added, 0), 0x1p-22F * (fabsf(want[i]) + fabsf(bias[i % COLUMNS]) + 1));
    }
    mica_tensor_destroy(rows_of_x);
    mica_tensor_destroy(table);
    mica_tensor_destroy(file);
  }
  free(moved);
  free(blocks);
}
END_TEST

/* As a network has it: sequences of steps, a weight that is a parameter, and a bias. */
START_TEST(steps_of_sequences_are_rows) {
  const struct golden *g = &goldens[_i];
  static float x[MOST_ROWS * DEPTH], want[MOST_ROWS * COLUMNS], y[MOST_ROWS * COLUMNS], bias[COLUMNS];
  uint8_t *blocks = weights_of(g);
  mica_tensor *table = NULL;
  const mica_shape shape = shape_of(g);
  fill_rows(x, MOST_ROWS);
  multiply(g, blocks, x, 6, want);
  graph_anew();
  ck_ok(mica_tensor_create_from(test_engine(), MICA_U8, shape, blocks, &table));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(3, 2, DEPTH));
  mica_value w = mica_unblock(mica_parameter(graph, "w", MICA_U8, shape), g->type, DEPTH, MICA_F32);
  mica_value sum = mica_add(mica_matmul(in, mica_transpose(w, MICA_AXES(1, 0))),
                            mica_constant(graph, MICA_F32, MICA_SHAPE(COLUMNS), bias));
  const mica_session_config config = {.parameters = &(mica_binding){"w", table}, .parameter_count = 1};
  ck_assert_uint_eq(graph_launches(&sum, 1, &config, MICA_SHAPE(3, 2, DEPTH), x, y), 1);
  ck_assert_mem_eq(y, want, 6 * COLUMNS * sizeof *y);
  mica_tensor_destroy(table);
  free(blocks);
}
END_TEST

/* act(x W) * (x V) as a gated layer has it; with the gate as a second output, nothing can be one launch. */
static size_t feed(const struct golden *g, const uint8_t *blocks, const float *x, mica_shape shape, bool apart,
                   float *y) {
  graph_anew();
  mica_value in = mica_input(graph, "x", MICA_F32, shape), sums[2];
  for (int k = 0; k < 2; k++) {
    mica_value w = mica_constant(graph, MICA_U8, shape_of(g), blocks);
    if (k == 1) w = mica_flip(w, MICA_AXES(0));
    sums[k] = mica_matmul(in, mica_transpose(mica_unblock(w, g->type, DEPTH, MICA_F32), MICA_AXES(1, 0)));
  }
  mica_value gate = g->type % 2 ? mica_silu(sums[0]) : mica_gelu_tanh(sums[0]);
  mica_value outputs[] = {g->type % 3 ? mica_mul(gate, sums[1]) : mica_mul(sums[1], gate), gate};
  return graph_launches(outputs, apart ? 2 : 1, NULL, shape, x, y);
}

START_TEST(a_gated_layer_is_one_launch_with_the_same_bits) {
  const struct golden *g = &goldens[_i];
  static float x[(MOST_ROWS + 1) * DEPTH], y[MOST_ROWS * COLUMNS], want[2 * (MOST_ROWS + 1) * COLUMNS];
  uint8_t *blocks = weights_of(g);
  fill_rows(x, MOST_ROWS + 1);
  for (int64_t rows = 1; rows <= 6; rows += 5) {
    const mica_shape shape = rows == 6 ? MICA_SHAPE(3, 2, DEPTH) : MICA_SHAPE(rows, DEPTH);
    const size_t apart = feed(g, blocks, x, shape, true, want), together = feed(g, blocks, x, shape, false, y);
    ck_assert_uint_lt(together + 1, apart);
    ck_assert_mem_eq(y, want, (size_t)(rows * COLUMNS) * sizeof *y);
  }
  free(blocks);
}
END_TEST

/* Queries, keys and values of one x, joined: the bits of three products, in one launch for each block type; and the
 * gradient of x, which is the sum of theirs. */
START_TEST(projections_of_the_same_rows_share_a_launch) {
  const struct golden *g = &goldens[_i];
  static const int64_t sizes[] = {1, 6, MOST_ROWS + 4};
  static float x[(MOST_ROWS + 4) * DEPTH], y[2][3 * (MOST_ROWS + 4) * COLUMNS], dx[2][(MOST_ROWS + 4) * DEPTH];
  uint8_t *blocks = weights_of(g);
  fill_rows(x, MOST_ROWS + 4);
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const mica_shape shape = s == 1 ? MICA_SHAPE(2, 3, DEPTH) : MICA_SHAPE(sizes[s], DEPTH);
    size_t launches[2];
    for (int joined = 0; joined < 2; joined++) {
      graph_anew();
      mica_value in = mica_input(graph, "x", MICA_F32, shape), values[3], loss = {0}, gradient;
      for (int k = 0; k < 3; k++) {
        mica_value w = mica_constant(graph, MICA_U8, shape_of(g), blocks);
        if (k) w = mica_slice(w, 0, k, k == 1 ? COLUMNS : COLUMNS - 5, 1);
        values[k] = mica_matmul(in, mica_transpose(mica_unblock(w, g->type, DEPTH, MICA_F32), MICA_AXES(1, 0)));
        if (k == 1) values[k] = mica_add(values[k], mica_full(graph, MICA_F32, MICA_SHAPE(COLUMNS - 1), 0.5));
      }
      if (joined) mica__block_join((mica_value *[]){&values[0], &values[1], &values[2]});
      launches[joined] = graph_launches(values, 3, NULL, shape, x, y[joined]);
      for (int k = 0; k < 3; k++) {
        mica_value part = mica_sum(mica_square(values[k]), MICA_ALL_AXES, false);
        loss = k ? mica_add(loss, part) : part;
      }
      ck_ok(mica_gradients(loss, &in, 1, &gradient));
      mica_session_destroy(graph_session);
      graph_session = NULL;
      graph_launches(&gradient, 1, NULL, shape, x, dx[joined]);
    }
    const size_t count = (size_t)(sizes[s] * (COLUMNS + COLUMNS - 1 + COLUMNS - 5 - 2));
    ck_assert_mem_eq(y[0], y[1], count * sizeof(float));
    if (sizes[s] == 1) ck_assert_uint_eq(launches[1], 2);
    for (int64_t i = 0; i < sizes[s] * DEPTH; i++)
      ck_assert_float_eq_tol(dx[1][i], dx[0][i], 1e-4F * (1 + fabsf(dx[0][i])));
  }
  free(blocks);
}
END_TEST

/* A product of x's norm, RMS or layer; kept: the norm is an output too. */
static size_t norm_and_multiply(const struct golden *g, const uint8_t *blocks, const float *x, int64_t rows, bool layer,
                                bool kept, float *y) {
  float scale[DEPTH], shift[DEPTH];
  for (int k = 0; k < DEPTH; k++) {
    scale[k] = 1 + (float)(k % 7) * 0.25F;
    shift[k] = (float)(k % 5) - 2;
  }
  graph_anew();
  const mica_shape shape = MICA_SHAPE(1, rows, DEPTH), row = MICA_SHAPE(DEPTH);
  mica_value in = mica_input(graph, "x", MICA_F32, shape), by = mica_constant(graph, MICA_F32, row, scale);
  mica_value added = mica_constant(graph, MICA_F32, row, shift);
  mica_value norm = layer ? mica_layer_norm(in, -1, by, added, 1e-5) : mica_rms_norm(in, -1, by, 1e-5);
  mica_value w = mica_constant(graph, MICA_U8, shape_of(g), blocks);
  mica_value outputs[] = {mica_matmul(mica_reshape(norm, MICA_SHAPE(rows, DEPTH)),
                                      mica_transpose(mica_unblock(w, g->type, DEPTH, MICA_F32), MICA_AXES(1, 0))),
                          norm};
  return graph_launches(outputs, kept ? 2 : 1, NULL, shape, x, y);
}

/* A product takes the norm of its rows if nothing else reads it. */
START_TEST(a_norm_before_a_product_is_part_of_its_launch) {
  const struct golden *g = &goldens[_i];
  static float x[(MOST_ROWS + 1) * DEPTH], y[(MOST_ROWS + 1) * COLUMNS], both[(MOST_ROWS + 1) * (COLUMNS + DEPTH)];
  uint8_t *blocks = weights_of(g);
  fill_rows(x, MOST_ROWS + 1);
  for (int64_t rows = 1; rows <= MOST_ROWS + 1; rows += MOST_ROWS) {
    const bool layer = g->type % 2;
    const size_t apart = norm_and_multiply(g, blocks, x, rows, layer, true, both);
    const size_t together = norm_and_multiply(g, blocks, x, rows, layer, false, y);
    ck_assert_uint_eq(together, rows > MOST_ROWS ? apart : 1);
    ck_assert_uint_gt(apart, 1);
    compare(g, blocks, both + rows * COLUMNS, rows, y);
  }
  free(blocks);
}
END_TEST

/* Matrices of many sizes, in one launch on CPUs: elsewhere weights become numbers for it. */
START_TEST(matrices_are_multiplied_without_numbers_in_memory) {
  enum { ROWS = 300 };
  static const int64_t sizes[] = {MOST_ROWS + 1, ROWS};
  const struct golden *g = &goldens[_i];
  static float x[ROWS * DEPTH], y[ROWS * COLUMNS];
  const bool cpu = mica_engine_device(test_engine())->device_class == MICA_DEVICE_CLASS_CPU;
  uint8_t *blocks = weights_of(g);
  fill_rows(x, ROWS);
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const size_t launches = multiply(g, blocks, x, sizes[i], y);
    if (cpu) ck_assert_uint_eq(launches, 1);
    compare(g, blocks, x, sizes[i], y);
  }
  free(blocks);
}
END_TEST

/* The gradient of rows, dx = dy W, beside sums in double. */
START_TEST(gradients_flow_through_blocks_to_rows) {
  static const int64_t sizes[] = {7, 40};
  const struct golden *g = &goldens[_i];
  static float x[40 * DEPTH], values[COLUMNS * DEPTH], dx[40 * DEPTH], dy[40 * COLUMNS];
  uint8_t *blocks = weights_of(g);
  ck_ok(mica_block_dequantize(g->type, blocks, COLUMNS * DEPTH, values));
  fill_rows(x, 40);
  for (int i = 0; i < 40 * COLUMNS; i++) dy[i] = x[i];
  for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    const int64_t rows = sizes[s];
    graph_anew();
    mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(rows, DEPTH));
    mica_value w = mica_unblock(mica_constant(graph, MICA_U8, shape_of(g), blocks), g->type, DEPTH, MICA_F32);
    mica_value y = mica_matmul(in, mica_transpose(w, MICA_AXES(1, 0)));
    mica_value weight = mica_constant(graph, MICA_F32, MICA_SHAPE(rows, COLUMNS), dy);
    mica_value loss = mica_sum(mica_mul(y, weight), MICA_ALL_AXES, false), gradient;
    ck_ok(mica_gradients(loss, &in, 1, &gradient));
    graph_launches(&gradient, 1, NULL, MICA_SHAPE(rows, DEPTH), x, dx);
    for (int64_t i = 0; i < rows; i++)
      for (int64_t k = 0; k < DEPTH; k++) {
        double sum = 0, magnitude = 0;
        for (int64_t j = 0; j < COLUMNS; j++) {
          const double term = (double)dy[i * COLUMNS + j] * (double)values[j * DEPTH + k];
          sum += term;
          magnitude += fabs(term);
        }
        ck_assert_double_le(fabs(sum - (double)dx[i * DEPTH + k]), (4 + 2 * sqrt(COLUMNS)) * 0x1p-24 * magnitude);
      }
  }
  free(blocks);
}
END_TEST

TESTS(ANYWHERE, graph_setup, graph_teardown, LOOP(a_table_becomes_numbers, 0, sizeof goldens / sizeof *goldens),
      LOOP(rows_are_those_that_ids_name, 0, sizeof goldens / sizeof *goldens),
      LOOP(few_rows_are_multiplied_without_numbers_in_memory, 0, sizeof goldens / sizeof *goldens),
      LOOP(a_row_has_the_same_bits_beside_any_others, 0, sizeof goldens / sizeof *goldens),
      LOOP(weights_may_lie_at_any_address, 0, sizeof goldens / sizeof *goldens),
      LOOP(steps_of_sequences_are_rows, 0, sizeof goldens / sizeof *goldens),
      LOOP(matrices_are_multiplied_without_numbers_in_memory, 0, sizeof goldens / sizeof *goldens),
      LOOP(a_gated_layer_is_one_launch_with_the_same_bits, 0, sizeof goldens / sizeof *goldens),
      LOOP(projections_of_the_same_rows_share_a_launch, 0, sizeof goldens / sizeof *goldens),
      LOOP(gradients_flow_through_blocks_to_rows, 0, sizeof goldens / sizeof *goldens),
      LOOP(a_norm_before_a_product_is_part_of_its_launch, 0, sizeof goldens / sizeof *goldens))
