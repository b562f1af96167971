/* labels: device single
 *
 * Inference in 16 bits (mica_session_config.dtype): products and what lies between them. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

#define IMAGES 2
#define CHANNELS 20
#define SIDE 9
#define CLASSES 5
#define PIXELS (IMAGES * CHANNELS * SIDE * SIDE)
#define FILTERS (CHANNELS * CHANNELS * 9)

static mica_graph *graph;
static void setup(void) { ck_ok(mica_graph_create(&graph)); }
static void teardown(void) { mica_graph_destroy(graph); }

/* Two convolutions, one of which skips the other, pooled and classified. */
static mica_value network(void) {
  const mica_conv_config same = {.pad = {1, 1}};
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(IMAGES, CHANNELS, SIDE, SIDE));
  mica_value w = mica_parameter(graph, "w", MICA_F32, MICA_SHAPE(CHANNELS, CHANNELS, 3, 3));
  mica_value b = mica_parameter(graph, "b", MICA_F32, MICA_SHAPE(CHANNELS));
  mica_value v = mica_parameter(graph, "v", MICA_F32, MICA_SHAPE(CHANNELS, CLASSES));
  mica_value first = mica_relu(mica_conv(x, w, b, &same));
  mica_value second = mica_relu(mica_add(mica_conv(first, w, b, &same), first));
  mica_value pooled = mica_max_pool(second, &(mica_pool_config){.size = {2, 2}});
  return mica_matmul(mica_mean(pooled, MICA_AXES(2, 3), false), v);
}

static float *numbers(size_t count, float scale, uint32_t seed) {
  float *values = malloc(count * sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    values[i] = scale * (float)(seed >> 16) / 65536.0f;
  }
  return values;
}

/* What the network answers in a type, with the same inputs and parameters each time: none is negative. */
static void answer(mica_value y, mica_dtype dtype, float *got) {
  static const struct {
    const char *name;
    size_t count;
    float scale;
  } all[] = {{"w", FILTERS, 0.02f}, {"b", CHANNELS, 1}, {"v", CHANNELS * CLASSES, 0.1f}};
  mica_session *session = NULL;
  mica_tensor *x = NULL;
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, &(mica_session_config){.dtype = dtype}, &session));
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    float *values = numbers(all[i].count, all[i].scale, (uint32_t)i);
    ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, all[i].name), values,
                             all[i].count * sizeof *values));
    ck_ok(mica_queue_finish(test_queue()));
    free(values);
  }
  float *pixels = numbers(PIXELS, 1, 7);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(IMAGES, CHANNELS, SIDE, SIDE), pixels, &x));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
  const mica_tensor *output = mica_session_output(session, 0);
  ck_assert_int_eq(mica_tensor_dtype(output), MICA_F32);
  ck_ok(mica_tensor_download(test_queue(), output, got, IMAGES * CLASSES * sizeof *got));
  mica_tensor_destroy(x);
  mica_session_destroy(session);
  free(pixels);
}

/* All terms are positive, so that an answer is off by no more than the roundings on the way to it: of the input, of
 * each layer's weights, biases and result, of what is added, of the mean. */
START_TEST(answers_are_rounded_and_right) {
  static const mica_dtype types[] = {MICA_BF16, MICA_F16};
  static const double units[] = {0x1p-9, 0x1p-12};
  float real[IMAGES * CLASSES], narrow[IMAGES * CLASSES];
  mica_value y = network();
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  answer(y, MICA_F32, real);
  for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
    bool differs = false;
    answer(y, types[t], narrow);
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
      double off = fabs((double)narrow[i] - (double)real[i]) / (double)real[i];
      ck_assert_msg(off <= 14 * units[t], "%s: answer %zu is off by %g", mica_dtype_name(types[t]), i, off);
      differs = differs || off > 0x1p-20;
    }
    ck_assert_msg(differs, "%s: nothing was rounded", mica_dtype_name(types[t]));
  }
}
END_TEST

START_TEST(what_is_no_inference_is_refused) {
  mica_session *session = NULL;
  mica_value p = mica_parameter(graph, "p", MICA_F32, MICA_SHAPE(2)), y = mica_affine(p, 2, 0);
  ck_assert_int_eq(mica_session_create(test_engine(), graph, &y, 1, &(mica_session_config){.dtype = MICA_I8}, &session),
                   MICA_E_DTYPE);
  mica_assign(p, y);
  ck_assert_int_eq(
      mica_session_create(test_engine(), graph, &y, 1, &(mica_session_config){.dtype = MICA_BF16}, &session),
      MICA_E_UNSUPPORTED);
  ck_assert_ptr_null(session);
}
END_TEST

TESTS(DEVICE, setup, teardown, answers_are_rounded_and_right, what_is_no_inference_is_refused)
