/* labels: device single
 *
 * Filters that no run changes, on an imitated GPU: Winograd's transform of them is made once, made again when they are
 * uploaded, and what runs compute with it is right. */
#include "ops/common/tolerance.h"
#include "ops/conv/winograd/winograd.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/limited_api.h"

#include <math.h>
#include <mica/mica.h>

enum { N = 2, C = 40, K = 36, SIDE = 14, X = N * C * SIDE * SIDE, W = K * C * 9, Y = N * K * SIDE * SIDE };

static float x[X], w[W], y[Y];
static double wide_x[X], wide_w[W], want[Y], magnitude[Y];

static void fill(float *values, double *wide, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    wide[i] = values[i] = (float)(seed >> 8) * 0x1p-23f - 1;
  }
}

static uint64_t launches_of_a_run(mica_session *session, mica_tensor *fed) {
  const uint64_t before = mica_engine_stats(test_engine()).launches;
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", fed}, 1));
  return mica_engine_stats(test_engine()).launches - before;
}

static void expect_results(mica_session *session, mica_tensor *fed) {
  const mica_conv_config config = {.pad = {1, 1}};
  const mica_tensor *filters = mica_session_parameter(session, "w"), *result = mica_session_output(session, 0);
  mica__conv conv;
  ck_ok(mica__conv_problem(test_queue(), MICA__CONV_FWD, &config, fed, filters, result, NULL, &conv));
  mica__conv_reference(&conv.dims, MICA__CONV_FWD, wide_x, wide_w, want);
  mica__winograd_magnitude(&conv, 4, wide_x, wide_w, NULL, Y, magnitude);
  ck_ok(mica_tensor_download(test_queue(), result, y, sizeof y));
  double worst = 0;
  for (int i = 0; i < Y; i++) {
    const double most = mica__tolerance_sum(MICA_F32, MICA_F32, (double)conv.depth, magnitude[i], want[i]);
    worst = fmax(worst, fabs(y[i] - want[i]) / most);
  }
  ck_assert_double_le(worst, 1);
}

START_TEST(constant_filters_are_transformed_once) {
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *fed = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value result = mica_conv(mica_input(graph, "x", MICA_F32, MICA_SHAPE(N, C, SIDE, SIDE)),
                                mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(K, C, 3, 3)), (mica_value){0},
                                &(mica_conv_config){.pad = {1, 1}});
  ck_ok(mica_session_create(test_engine(), graph, &result, 1, NULL, &session));
  mica_tensor *filters = mica_session_parameter(session, "w");
  fill(x, wide_x, X, 1);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(N, C, SIDE, SIDE), x, &fed));
  for (uint32_t seed = 2; seed < 4; seed++) {
    fill(w, wide_w, W, seed);
    ck_ok(mica_tensor_upload(test_queue(), filters, w, sizeof w));
    const uint64_t first = launches_of_a_run(session, fed);
    expect_results(session, fed);
    const uint64_t later = launches_of_a_run(session, fed);
    expect_results(session, fed);
    ck_assert_uint_ge(later, 3); /* tiles, products, results */
    ck_assert_uint_eq(first, later + 1);
  }
  mica_tensor_destroy(fed);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(BOTH(LIMITED("class=gpu vendor=NVIDIA"), DEVICE), NULL, NULL, constant_filters_are_transformed_once)
