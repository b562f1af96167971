/* labels: device single
 *
 * Quantising beside its formula in C, exactly: ties, saturation, quotients that a device may not round correctly, and
 * scales that are none; 4 bits as they are stored; and the gradients of fake_quantize, which no finite difference
 * has. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdint.h>
#include <stdlib.h>

/* Runs a graph of the one input `x`. */
static void run(mica_graph *graph, const mica_value *outputs, size_t count, mica_shape shape, const float *x,
                void *const *results, const size_t *bytes) {
  mica_session *session = NULL;
  mica_tensor *in = NULL;
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, count, NULL, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, x, &in));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", in}, 1));
  for (size_t i = 0; i < count; i++)
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, i), results[i], bytes[i]));
  mica_session_destroy(session);
  mica_tensor_destroy(in);
}

enum { N = 4096 };

/* x / scale near ties, and anything else. */
static void fill(float *x, float scale) {
  uint32_t state = 12345;
  for (int i = 0; i < N; i++) {
    state = state * 1664525 + 1013904223;
    float tie = ((float)(int)(state >> 20) - 2048) / 8 + 0.5F;
    x[i] = i % 3 == 0 ? tie * scale : i % 3 == 1 ? nextafterf(tie * scale, 0) : (float)(int32_t)state * 1e-8F;
  }
  const float special[] = {0, -0.0F, INFINITY, -INFINITY, NAN, 1e38F, -1e38F, 1e-42F};
  for (int i = 0; i < 8; i++) x[i] = special[i];
}

static int expected(float x, float scale, int zero, int low, int high) {
  float step = nearbyintf(x / scale) + (float)zero;
  if (isnan(step)) return 0;
  return step < (float)low ? low : step > (float)high ? high : (int)step;
}

START_TEST(quantize_is_its_formula) {
  static const float scales[] = {0.1F, 1, 0.0478515625F, 3e-5F, 1e-20F, 0, -0.5F, INFINITY};
  static float x[N];
  int8_t s[N];
  uint8_t u[N];
  float scale = scales[_i];
  fill(x, scale);
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(N)), step = mica_scalar(graph, MICA_F32, scale);
  mica_value y[] = {
      mica_quantize(in, step, mica_scalar(graph, MICA_I8, -7), NULL),
      mica_quantize(in, step, mica_scalar(graph, MICA_U8, 130), &(mica_quantize_config){.dtype = MICA_U8})};
  run(graph, y, 2, MICA_SHAPE(N), x, (void *[]){s, u}, (size_t[]){sizeof s, sizeof u});
  for (int i = 0; i < N; i++) {
    ck_assert_msg(s[i] == expected(x[i], scale, -7, -128, 127), "%.9g / %.9g: %d, not %d", (double)x[i], (double)scale,
                  s[i], expected(x[i], scale, -7, -128, 127));
    ck_assert_msg(u[i] == expected(x[i], scale, 130, 0, 255), "%.9g / %.9g: %d, not %d", (double)x[i], (double)scale,
                  u[i], expected(x[i], scale, 130, 0, 255));
  }
  mica_graph_destroy(graph);
}
END_TEST

/* A byte is the low nibble's element and then the high one's, and comes back as both. */
START_TEST(nibbles_lie_low_first) {
  const float x[] = {-8, 7, -1, 0, 3, -4, 100, -100};
  const uint8_t want[] = {0x78, 0x0F, 0xC3, 0x87};
  uint8_t bytes[4];
  float back[8];
  mica_quantize_config four = {.bits = 4};
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 8)), one = mica_scalar(graph, MICA_F32, 1);
  mica_value packed = mica_quantize(in, one, (mica_value){0}, &four);
  mica_value y[] = {packed, mica_dequantize(packed, one, (mica_value){0}, &four)};
  run(graph, y, 2, MICA_SHAPE(1, 8), x, (void *[]){bytes, back}, (size_t[]){sizeof bytes, sizeof back});
  ck_assert_mem_eq(bytes, want, sizeof want);
  for (int i = 0; i < 8; i++) ck_assert(back[i] == fmaxf(-8, fminf(x[i], 7)));
  mica_graph_destroy(graph);
}
END_TEST

/* Esser et al. 2020, with a scale a row; the loss weighs every element by another number. */
START_TEST(fake_quantize_learns_its_step) {
  enum { ROWS = 3, COLUMNS = 50 };
  const bool plain = _i;
  const float scale[ROWS] = {0.31F, 0.05F, 1.7F};
  const double low = -8, high = 7;
  float x[ROWS * COLUMNS], weight[ROWS * COLUMNS], y[ROWS * COLUMNS], dx[ROWS * COLUMNS], dscale[ROWS];
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)((i * 37) % 101 - 50) / 13, weight[i] = (float)(i % 7) - 3;
  mica_graph *graph = NULL;
  ck_ok(mica_graph_create(&graph));
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, COLUMNS));
  mica_value s = mica_constant(graph, MICA_F32, MICA_SHAPE(ROWS), scale);
  mica_value w = mica_constant(graph, MICA_F32, MICA_SHAPE(ROWS, COLUMNS), weight);
  mica_value faked = mica_fake_quantize(in, s, &(mica_quantize_config){.bits = 4, .plain_gradient = plain});
  mica_value wrt[] = {in, s}, grads[2];
  ck_ok(mica_gradients(mica_sum(mica_mul(faked, w), MICA_ALL_AXES, false), wrt, 2, grads));
  mica_value outputs[] = {faked, grads[0], grads[1]};
  run(graph, outputs, 3, MICA_SHAPE(ROWS, COLUMNS), x, (void *[]){y, dx, dscale},
      (size_t[]){sizeof y, sizeof dx, sizeof dscale});
  for (int r = 0; r < ROWS; r++) {
    double sum = 0, terms = 0;
    for (int c = 0; c < COLUMNS; c++) {
      int i = r * COLUMNS + c;
      float v = x[i] / scale[r];
      bool inside = v >= (float)low && v <= (float)high;
      double rounded = nearbyint(fmin(fmax((double)v, low), high));
      ck_assert_msg(fabs((double)y[i] - rounded * (double)scale[r]) <= 1e-6 * fabs((double)y[i]), "%d: %g", i,
                    (double)y[i]);
      ck_assert_msg(fabs((double)dx[i] - (inside ? (double)weight[i] : 0)) < 1e-5, "%d: %g", i, (double)dx[i]);
      double term = (double)weight[i] * (inside ? rounded - (double)v : rounded);
      sum += term;
      terms += fabs(term);
    }
    double factor = plain ? 1 : 1 / sqrt(COLUMNS * high);
    ck_assert_msg(fabs((double)dscale[r] - sum * factor) <= 1e-5 * terms * factor, "row %d: %.9g, not %.9g", r,
                  (double)dscale[r], sum * factor);
  }
  mica_graph_destroy(graph);
}
END_TEST

/* Blocks of 20 do not divide 50 columns; what plain_gradient leaves out is one factor for all. */
START_TEST(blocks_share_a_step) {
  enum { ROWS = 2, COLUMNS = 50, BLOCKS = 3 };
  float x[ROWS * COLUMNS], scale[ROWS * BLOCKS], dscale[2][ROWS * BLOCKS];
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)((i * 37) % 101 - 50) / 13;
  for (int i = 0; i < ROWS * BLOCKS; i++) scale[i] = 0.2F + 0.1F * (float)i;
  for (int plain = 0; plain < 2; plain++) {
    mica_graph *graph = NULL;
    ck_ok(mica_graph_create(&graph));
    mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, COLUMNS));
    mica_value s = mica_constant(graph, MICA_F32, MICA_SHAPE(ROWS, BLOCKS), scale), grad;
    mica_value faked =
        mica_fake_quantize(in, s, &(mica_quantize_config){.axis = 1, .block = 20, .bits = 4, .plain_gradient = plain});
    ck_ok(mica_gradients(mica_sum(faked, MICA_ALL_AXES, false), &s, 1, &grad));
    run(graph, &grad, 1, MICA_SHAPE(ROWS, COLUMNS), x, (void *[]){dscale[plain]}, (size_t[]){sizeof dscale[plain]});
    mica_graph_destroy(graph);
  }
  const double factor = 1 / sqrt((double)(ROWS * COLUMNS) / (ROWS * BLOCKS) * 7);
  for (int i = 0; i < ROWS * BLOCKS; i++) {
    ck_assert(fabs((double)dscale[1][i]) > 1e-3);
    ck_assert_msg(fabs((double)dscale[0][i] - (double)dscale[1][i] * factor) < 1e-4 * fabs((double)dscale[1][i]),
                  "%d: %g of %g", i, (double)dscale[0][i], (double)dscale[1][i]);
  }
}
END_TEST

TESTS(DEVICE, NULL, NULL, LOOP(quantize_is_its_formula, 0, 8), nibbles_lie_low_first,
      LOOP(fake_quantize_learns_its_step, 0, 2), blocks_share_a_step)
