/* labels: device single
 *
 * A gradient that two passes of a convolution read, on an imitated GPU: Winograd's transform of it is made once where
 * both are recorded near one another, and both results have the bits that each has alone. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

enum {
  N = 3,
  C = 72,
  K = 68,
  SIDE = 30,
  TILES = N * 8 * 8,
  X = N * C * SIDE * SIDE,
  W = K * C * 9,
  Y = N * K * SIDE * SIDE
};

static float x[X], w[W], dy[Y];

static void fill(float *values, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = (float)(seed >> 8) * 0x1p-23f - 1;
  }
}

typedef struct results {
  float dx[X], dw[W];
  double bytes; /* that transforms of operands move */
} results;
static results both, data, filters;

static double bytes_of_transforms(mica_session *session) {
  char *dump = NULL, *save = NULL;
  double all = 0;
  ck_ok(mica_session_dump(session, &dump));
  for (char *line = strtok_r(dump, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
    const char *cost = strrchr(line, ';');
    double flops = 0, bytes = 0;
    if (strstr(line, "operands: ") && cost && sscanf(cost, "; %lf flops, %lf bytes", &flops, &bytes) == 2) all += bytes;
  }
  mica_free(dump);
  return all;
}

/* At least one gradient is wanted, of the sum of y relu(dy), so that a launch of the run makes that of y. */
static void run(bool wants_data, bool wants_filters, results *out) {
  const mica_conv_config config = {.pad = {1, 1}};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *fed[2] = {NULL}, *parameter = NULL;
  mica_value wrt[2], grads[2];
  size_t count = 0;
  ck_ok(mica_graph_create(&graph));
  const mica_value input = mica_input(graph, "x", MICA_F32, MICA_SHAPE(N, C, SIDE, SIDE));
  const mica_value gradient = mica_input(graph, "dy", MICA_F32, MICA_SHAPE(N, K, SIDE, SIDE));
  const mica_value taps = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(K, C, 3, 3));
  const mica_value y = mica_conv(input, taps, (mica_value){0}, &config);
  const mica_value loss = mica_sum(mica_mul(y, mica_relu(gradient)), MICA_ALL_AXES, false);
  if (wants_data) wrt[count++] = input;
  if (wants_filters) wrt[count++] = taps;
  ck_ok(mica_gradients(loss, wrt, count, grads));
  ck_ok(mica_session_create(test_engine(), graph, grads, count, NULL, &session));
  parameter = mica_session_parameter(session, "w");
  if (parameter) ck_ok(mica_tensor_upload(test_queue(), parameter, w, sizeof w));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N, C, SIDE, SIDE), x, &fed[0]));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N, K, SIDE, SIDE), dy, &fed[1]));
  const mica_feed feeds[] = {{"dy", fed[1]}, {"x", fed[0]}};
  for (int i = 0; i < 2; i++) /* the second time it is replayed */
    ck_ok(mica_session_run(session, test_queue(), feeds, 2));
  if (wants_data) ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), out->dx, sizeof out->dx));
  if (wants_filters)
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, count - 1), out->dw, sizeof out->dw));
  out->bytes = bytes_of_transforms(session);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(fed[0]);
  mica_tensor_destroy(fed[1]);
}

START_TEST(two_passes_share_a_transform) {
  fill(x, X, 1);
  fill(w, W, 2);
  fill(dy, Y, 3);
  run(true, false, &data);
  run(false, true, &filters);
  run(true, true, &both);
  ck_assert_mem_eq(both.dx, data.dx, sizeof data.dx);
  ck_assert_mem_eq(both.dw, filters.dw, sizeof filters.dw);
  /* dy is read, and 36 points of each tile are written. */
  ck_assert_double_eq(data.bytes + filters.bytes - both.bytes, sizeof dy + 36.0 * K * TILES * sizeof(float));
}
END_TEST

TESTS(BOTH(LIMITED("class=gpu vendor=NVIDIA"), DEVICE), NULL, NULL, two_passes_share_a_transform)
