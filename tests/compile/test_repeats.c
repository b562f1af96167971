/* labels: device single
 *
 * One seed gives the same bits, run after run, of ops whose sums could depend on who comes first. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 50, WIDTH = 24, COUNT = 3000, STEPS = 3, OUTPUTS = 6 };

/* What a run leaves behind. */
typedef struct traces {
  float table[ROWS * WIDTH], embedded[COUNT * WIDTH], scattered[ROWS * WIDTH], rows[WIDTH], columns[COUNT], loss[STEPS];
  int64_t indices[COUNT * 4];
} traces;

/* Rows of a table under dropout, whose gradient adds many rows to few; the same sum by scatter; sums over long rows and
 * over many; the largest of each row. */
static void build(mica_graph *graph, mica_value outputs[OUTPUTS]) {
  mica_value ids = mica_input(graph, "ids", MICA_I64, MICA_SHAPE(COUNT));
  mica_value table = mica_parameter(graph, "table", MICA_F32, MICA_SHAPE(ROWS, WIDTH));
  mica_value step = mica_parameter(graph, "step", MICA_I64, MICA_SCALAR), grad;
  mica_assign(step, mica_add(step, mica_scalar(graph, MICA_I64, 1)));
  mica_value h = mica_dropout(mica_embedding(table, ids), step, 42, 0.3);
  mica_value wide = mica_expand(mica_reshape(ids, MICA_SHAPE(COUNT, 1)), MICA_SHAPE(COUNT, WIDTH));
  mica_value loss = mica_mean(mica_square(mica_softmax(h, -1)), MICA_ALL_AXES, false);
  ck_ok(mica_gradients(loss, &table, 1, &grad));
  mica_assign(table, mica_sub(table, mica_affine(grad, 100, 0)));
  outputs[0] = h;
  outputs[1] = mica_scatter_elements(mica_full_like(table, 0), wide, h, 0, MICA_SCATTER_ADD);
  outputs[2] = mica_sum(h, MICA_AXES(0), false);
  outputs[3] = mica_sum(h, MICA_AXES(1), false);
  outputs[4] = loss;
  outputs[5] = mica_top_k(h, 4, -1, false).indices;
}

static void download(const mica_session *session, size_t output, void *data, size_t bytes) {
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, output), data, bytes));
}

static traces *run(void) {
  mica_graph *graph;
  mica_session *session;
  mica_value outputs[OUTPUTS];
  mica_tensor *ids;
  static int64_t values[COUNT];
  traces *t = calloc(1, sizeof *t);
  ck_assert_ptr_nonnull(t);
  for (int i = 0; i < COUNT; i++) values[i] = (int64_t)i * i % 83 % ROWS;
  for (int i = 0; i < ROWS * WIDTH; i++) t->table[i] = (float)(i * 7919 % 1009) / 500.0f - 1.0f;
  ck_ok(mica_graph_create(&graph));
  build(graph, outputs);
  ck_ok(mica_session_create(test_engine(), graph, outputs, OUTPUTS, NULL, &session));
  mica_graph_destroy(graph);
  mica_tensor *table = mica_session_parameter(session, "table");
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I64, MICA_SHAPE(COUNT), values, &ids));
  ck_ok(mica_tensor_upload(test_queue(), table, t->table, sizeof t->table));
  for (int i = 0; i < STEPS; i++) {
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"ids", ids}, 1));
    download(session, 4, &t->loss[i], sizeof t->loss[i]);
  }
  ck_ok(mica_tensor_download(test_queue(), table, t->table, sizeof t->table));
  download(session, 0, t->embedded, sizeof t->embedded);
  download(session, 1, t->scattered, sizeof t->scattered);
  download(session, 2, t->rows, sizeof t->rows);
  download(session, 3, t->columns, sizeof t->columns);
  download(session, 5, t->indices, sizeof t->indices);
  mica_tensor_destroy(ids);
  mica_session_destroy(session);
  return t;
}

START_TEST(bits_repeat) {
  traces *first = run(), *second = run();
  ck_assert(first->loss[STEPS - 1] < first->loss[0] || first->loss[STEPS - 1] > first->loss[0]);
  ck_assert_mem_eq(first, second, sizeof *first);
  /* test_threads.sh compares these of two processes. */
  const char *path = getenv("MICA_TEST_WEIGHTS");
  FILE *file = path ? fopen(path, "wb") : NULL;
  ck_assert(!path || file);
  if (file) {
    ck_assert_uint_eq(fwrite(first, sizeof *first, 1, file), 1);
    ck_assert_int_eq(fclose(file), 0);
  }
  free(first);
  free(second);
}
END_TEST

TESTS(DEVICE, NULL, NULL, bits_repeat)
