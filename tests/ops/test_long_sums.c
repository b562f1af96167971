/* labels: device single
 *
 * Sums of thousands of products are made of parts, so that they round as little as those of other libraries: on a CPU
 * with registers of 8 or 16 floats, whose kernels add a tile up in registers, a product of one row and convolutions of
 * one image are within 6 units of the last place of what is exact, as a root mean square (onnxruntime: 2.5 to 3.9). In
 * one sum each they were 9.6 to 13. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_UNITS 6

/* Numbers from -1 to 1, or from 0 to 1, as behind a relu. */
static float *draw(int64_t count, bool positive, uint32_t seed) {
  float *values = malloc((size_t)count * sizeof *values);
  ck_assert_ptr_nonnull(values);
  for (int64_t i = 0; i < count; i++) {
    seed = seed * 1664525u + 1013904223u;
    const float value = (float)(seed >> 8) * 0x1p-23f - 1;
    values[i] = positive ? fmaxf(value, 0) : value;
  }
  return values;
}

/* One image of `channels` planes of side x side, k filters of r x r that keep the side. */
typedef struct layer {
  int64_t channels, side, k, r;
} layer;

static double exact(const layer *l, const float *x, const float *w, int64_t k, int64_t row, int64_t column) {
  const int64_t pad = l->r / 2;
  double sum = 0;
  for (int64_t c = 0; c < l->channels; c++)
    for (int64_t t = 0; t < l->r * l->r; t++) {
      const int64_t i = row + t / l->r - pad, j = column + t % l->r - pad;
      if (i < 0 || j < 0 || i >= l->side || j >= l->side) continue;
      sum += (double)x[(c * l->side + i) * l->side + j] * (double)w[(k * l->channels + c) * l->r * l->r + t];
    }
  return sum;
}

/* The root mean square of errors, in units of that of the results. */
static double units_of(const layer *l, const float *x, const float *w, const float *y) {
  double errors = 0, results = 0;
  for (int64_t k = 0; k < l->k; k++)
    for (int64_t i = 0; i < l->side * l->side; i++) {
      const double want = exact(l, x, w, k, i / l->side, i % l->side);
      const double error = (double)y[k * l->side * l->side + i] - want;
      errors += error * error;
      results += want * want;
    }
  return sqrt(errors / results) * 0x1p24;
}

static void check(const layer *l) {
  const int64_t image = l->channels * l->side * l->side, filters = l->k * l->channels * l->r * l->r;
  const int64_t plane = l->k * l->side * l->side;
  const int32_t pad = (int32_t)(l->r / 2);
  float *x = draw(image, true, 1), *w = draw(filters, false, 2), *y = malloc((size_t)plane * sizeof *y);
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *fed = NULL;
  ck_assert_ptr_nonnull(y);
  ck_ok(mica_graph_create(&graph));
  /* A side of 1 is a product of one row by weights that lie as a dense layer has them. */
  const bool dense = l->side == 1;
  const mica_shape in = dense ? MICA_SHAPE(1, l->channels) : MICA_SHAPE(1, l->channels, l->side, l->side);
  const mica_value fed_value = mica_input(graph, "x", MICA_F32, in);
  const mica_value weights = mica_parameter(
      graph, "w", MICA_F32, dense ? MICA_SHAPE(l->k, l->channels) : MICA_SHAPE(l->k, l->channels, l->r, l->r));
  const mica_value result =
      dense ? mica_matmul(fed_value, mica_transpose(weights, (mica_axes){2, {1, 0}}))
            : mica_conv(fed_value, weights, (mica_value){0}, &(mica_conv_config){.pad = {pad, pad}});
  ck_ok(mica_session_create(test_engine(), graph, &result, 1, NULL, &session));
  ck_ok(mica_tensor_upload(test_queue(), mica_session_parameter(session, "w"), w, (size_t)filters * sizeof *w));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, in, x, &fed));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), y, (size_t)plane * sizeof *y));
  const double units = units_of(l, x, w, y);
  printf("%d channels, side %d, %d filters of side %d: %.2f units\n", (int)l->channels, (int)l->side, (int)l->k,
         (int)l->r, units);
  ck_assert_double_le(units, MOST_UNITS);
  mica_tensor_destroy(fed);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  free(x);
  free(w);
  free(y);
}

static bool has_vectors(void) {
  const mica_device_info *device = mica_engine_device(test_engine());
  return device->device_class == MICA_DEVICE_CLASS_CPU && device->vector_bytes >= 32;
}

START_TEST(long_sums_are_made_of_parts) {
  if (!has_vectors()) {
    puts("SKIP long_sums_are_made_of_parts: the device is not a CPU with registers of 8 floats or more");
    return;
  }
  static const layer layers[] = {{256, 14, 256, 3}, {2048, 7, 512, 1}, {1024, 14, 256, 1}, {4096, 1, 1000, 1}};
  for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) check(&layers[i]);
}
END_TEST

/* There are no channels, or all taps are outside of x: results are their bias. */
START_TEST(sums_of_nothing_are_nothing) {
  static const struct {
    int64_t channels, height, width, taps;
    mica_conv_config config;
  } cases[] = {{0, 7, 7, 1, {.groups = 1}},
               {0, 14, 14, 3, {.pad = {1, 1}}},
               {0, 1, 28, 1, {.groups = 1}},
               {4, 1, 14, 2, {.pad = {3, 0}, .dilation = {5, 1}}}};
  enum { FILTERS = 40, MOST = FILTERS * 14 * 14 };
  static float values[MOST];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const int64_t c = cases[i].channels, h = cases[i].height, w = cases[i].width, r = cases[i].taps;
    const mica_conv_config *config = &cases[i].config;
    const bool outside = config->dilation[0] > 1;
    const mica_shape shape = MICA_SHAPE(1, FILTERS, outside ? 2 : h, outside ? w - r + 1 : w);
    mica_tensor *x = NULL, *filters = NULL, *bias = NULL, *y = NULL;
    for (int k = 0; k < MOST; k++) values[k] = (float)(k + 1);
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1, c, h, w), values, &x));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(FILTERS, c, r, r), values, &filters));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(FILTERS), values, &bias));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, values, &y));
    ck_ok(mica_op_conv_fwd(test_queue(), config, x, filters, &(mica_conv_epilogue){.bias = bias}, y));
    ck_ok(mica_tensor_download(test_queue(), y, values, mica_tensor_bytes(y)));
    const int64_t plane = shape.dim[2] * shape.dim[3];
    for (int64_t k = 0; k < FILTERS * plane; k++) ck_assert_float_eq(values[k], (float)(k / plane + 1));
    mica_tensor_destroy(x);
    mica_tensor_destroy(filters);
    mica_tensor_destroy(bias);
    mica_tensor_destroy(y);
  }
}
END_TEST

TESTS(DEVICE, NULL, NULL, long_sums_are_made_of_parts, sums_of_nothing_are_nothing)
