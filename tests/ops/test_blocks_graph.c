/* labels: device single
 *
 * Weights in blocks in graphs: their values on the device equal the gguf package's, bit for bit. */
#include "ops/blocks_data.h"
#include "support/graph_run.h"

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

Suite *test_suite(void) {
  Suite *suite = suite_create("blocks in graphs");
  TCase *tcase = tcase_create("values");
  tcase_add_checked_fixture(tcase, graph_setup, graph_teardown);
  tcase_add_loop_test(tcase, a_table_becomes_numbers, 0, sizeof goldens / sizeof *goldens);
  tcase_add_loop_test(tcase, rows_are_those_that_ids_name, 0, sizeof goldens / sizeof *goldens);
  suite_add_tcase(suite, tcase);
  return suite;
}
