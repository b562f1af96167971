/* labels: device single
 *
 * What a calibration measures: structure of a network, histograms of what layers are given, ranges. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mica_graph *graph;
static mica_nn *nn;
static mica_calibration *calibration;

static void setup(void) {
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_calibration_create(&calibration));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.hook = mica_calibration_hook, .hook_user = calibration}, &nn));
}

static void teardown(void) {
  mica_calibration_destroy(calibration);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

static const mica_calibration_layer *layer(size_t index, const char *name) {
  const mica_calibration_layer *l = mica_calibration_layer_at(calibration, index);
  ck_assert_ptr_nonnull(l);
  ck_assert_str_eq(l->name, name);
  return l;
}

/* Norms are those of the layer before them that nothing else reads; inputs behind a ReLU are never negative. */
START_TEST(structure) {
  const mica_value *values = NULL;
  size_t count = 0;
  const mica_nn_conv_config plain = {.no_bias = true};
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 3, 8, 8));
  mica_value h = mica_relu(mica_nn_batch_norm(nn, "bn1", mica_nn_conv(nn, "conv1", x, 4, 3, &plain), NULL));
  mica_value both = mica_nn_conv(nn, "conv2", h, 4, 3, NULL);
  mica_value aside = mica_nn_conv(nn, "conv3", h, 4, 3, NULL);
  both = mica_add(mica_nn_batch_norm(nn, "bn2", both, NULL), both);
  both = mica_add(both, mica_nn_group_norm(nn, "gn", aside, 2, NULL));
  mica_nn_dense(nn, "fc", mica_flatten(mica_clip(both, 0, 6), 1), 5, NULL);
  ck_ok(mica_calibration_values(calibration, &values, &count));
  ck_assert_uint_eq(count, 3); /* conv2 and conv3 are given the same */
  ck_assert_int_eq(values[1].id, h.id);
  ck_assert_str_eq(layer(0, "conv1")->norm, "bn1");
  ck_assert(!layer(0, "conv1")->never_negative);
  ck_assert_ptr_null(layer(1, "conv2")->norm); /* its result is read by the sum too */
  ck_assert(layer(1, "conv2")->never_negative);
  ck_assert_ptr_null(layer(2, "conv3")->norm);
  ck_assert(layer(3, "fc")->never_negative && layer(3, "fc")->has_input);
  ck_assert_ptr_null(mica_calibration_layer_at(calibration, 4));
}
END_TEST

/* A dense layer in a session, whose input is measured. */
static mica_session *measured(int64_t columns) {
  const mica_value *values = NULL;
  mica_value outputs[2] = {
      mica_nn_dense(nn, "fc", mica_input(graph, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, columns)), 2, NULL)};
  size_t count = 0;
  mica_session *session = NULL;
  ck_ok(mica_calibration_values(calibration, &values, &count));
  ck_assert_uint_eq(count, 1);
  outputs[1] = values[0];
  ck_ok(mica_session_create(test_engine(), graph, outputs, 2, NULL, &session));
  return session;
}

static void note(mica_session *session, const float *x, int64_t rows, int64_t columns) {
  mica_tensor *tensor = NULL;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(rows, columns), &tensor));
  ck_ok(mica_tensor_upload(test_queue(), tensor, x, (size_t)(rows * columns) * sizeof *x));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", tensor}, 1));
  ck_ok(mica_calibration_note(calibration, session, 1));
  mica_tensor_destroy(tensor);
}

/* Numbers that are even between 0 and 1 but for one outlier: what each method cuts off. */
START_TEST(ranges) {
  enum { ROWS = 1000, COLUMNS = 20 };
  static float x[ROWS * COLUMNS];
  double low = -1, high = -1, decibel = 0, plain = 0;
  mica_session *session = measured(COLUMNS);
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = (float)((i * 7919) % 20011) / 20011;
  note(session, x, ROWS, COLUMNS);
  ck_ok(mica_calibration_range(calibration, 0, MICA_CALIBRATION_METHOD_MINMAX, 0, 8, &low, &high, &plain));
  ck_assert_double_eq(low, 0);
  ck_assert_double_eq_tol(high, 1, 1e-3);
  /* The noise of numbers that are even is a twelfth of the squared step: 10 log10(255^2 12 / 3). */
  ck_assert_double_eq_tol(plain, 10 * log10(255.0 * 255 * 4), 0.1);
  x[5] = 40;
  note(session, x, ROWS, COLUMNS);
  const mica_calibration_layer *l = layer(0, "fc");
  ck_assert_double_eq(l->count, 2.0 * ROWS * COLUMNS);
  ck_assert_double_eq(l->high, 40);
  ck_ok(mica_calibration_range(calibration, 0, MICA_CALIBRATION_METHOD_MINMAX, 0, 8, &low, &high, &plain));
  ck_assert_double_eq(high, 40);
  ck_ok(mica_calibration_range(calibration, 0, MICA_CALIBRATION_METHOD_PERCENTILE, 0.999, 8, &low, &high, &decibel));
  ck_assert_double_eq_tol(high, 1, 0.03);
  ck_ok(mica_calibration_range(calibration, 0, MICA_CALIBRATION_METHOD_MSE, 0, 8, &low, &high, &decibel));
  ck_assert_msg(decibel >= plain && high <= 40, "mse %g dB below minmax %g dB", decibel, plain);
  mica_session_destroy(session);
}
END_TEST

/* Percentile cuts the few values on one side of 0 off, whichever side that is. */
START_TEST(few_beyond_zero) {
  enum { COUNT = 20000 };
  static float x[COUNT];
  double low = 0, high = 0;
  const float sign = _i ? -1 : 1;
  mica_session *session = measured(4);
  for (int i = 0; i < COUNT; i++) x[i] = sign * (float)((i * 7919) % 20011 + 2000) / 20011;
  x[7] = -40 * sign;
  note(session, x, COUNT / 4, 4);
  ck_ok(mica_calibration_range(calibration, 0, MICA_CALIBRATION_METHOD_PERCENTILE, 0.999, 8, &low, &high, NULL));
  ck_assert_double_eq(_i ? high : low, 0);
  ck_assert_double_eq_tol(_i ? -low : high, 1.1, 0.05);
  mica_session_destroy(session);
}
END_TEST

/* Coarse steps tell little about numbers that are dense near 0: entropy cuts an outlier off, at either end. */
START_TEST(entropy) {
  enum { COUNT = 20000 };
  static float x[COUNT];
  double low = 0, high = 0, decibel = 0;
  mica_session *session = measured(4);
  for (int i = 0; i < COUNT; i++) x[i] = (i % 2 ? 0.1F : -0.1F) * logf((float)((i * 7919) % 20011 + 1) / 20011);
  x[7] = -40;
  note(session, x, COUNT / 4, 4);
  ck_ok(mica_calibration_range(calibration, 0, MICA_CALIBRATION_METHOD_ENTROPY, 0, 8, &low, &high, &decibel));
  ck_assert_msg(low > -20 && low < -0.5 && high > 0.5 && high < 20, "%g to %g", low, high);
  mica_session_destroy(session);
}
END_TEST

START_TEST(no_range) {
  double low, high;
  float x[4] = {0};
  mica_session *session = measured(4);
  ck_assert_int_eq(mica_calibration_range(calibration, 0, 0, 0, 8, &low, &high, NULL), MICA_E_STATE);
  note(session, x, 1, 4);
  ck_assert_int_eq(mica_calibration_range(calibration, 0, 0, 0, 8, &low, &high, NULL), MICA_E_NUMERIC);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "fc"));
  x[2] = NAN;
  note(session, x, 1, 4);
  ck_assert_int_eq(mica_calibration_range(calibration, 0, 0, 0, 8, &low, &high, NULL), MICA_E_NUMERIC);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "finite"));
  ck_assert(!layer(0, "fc")->finite);
  ck_assert_int_eq(mica_calibration_range(calibration, 0, 0, 0, 9, &low, &high, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_calibration_range(calibration, 1, 0, 0, 8, &low, &high, NULL), MICA_E_INVALID);
  mica_session_destroy(session);
}
END_TEST

/* Weights of transposed convolutions are the other way around, and are rounded alone. */
START_TEST(transposed) {
  const mica_value *values = NULL;
  size_t count = 0;
  mica_value h = mica_input(graph, "x", MICA_F32, MICA_SHAPE(1, 3, 8, 8));
  h = mica_relu(mica_nn_conv(nn, "down", h, 4, 3, NULL));
  mica_nn_conv_transpose(nn, "up", h, 6, 2, NULL);
  ck_ok(mica_calibration_values(calibration, &values, &count));
  ck_assert(mica_shape_equal(layer(1, "up")->weight, MICA_SHAPE(4, 6, 2, 2)));
  float down[4 * 27], up[96], bias[6] = {1, 2, 3, 4, 5, 6};
  for (int i = 0; i < 108; i++) down[i] = (float)(i % 7 - 3);
  for (int i = 0; i < 96; i++) up[i] = (float)(i % 5 - 2);
  const mica_safetensors_entry entries[] = {
      {.name = "down.weight", .dtype = MICA_F32, .shape = {4, {4, 3, 3, 3}}, .data = down, .bytes = sizeof down},
      {.name = "up.weight", .dtype = MICA_F32, .shape = {4, {4, 6, 2, 2}}, .data = up, .bytes = sizeof up},
      {.name = "up.bias", .dtype = MICA_F32, .shape = {1, {6}}, .data = bias, .bytes = sizeof bias}};
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_write(files_path("float.safetensors"), entries, 3, NULL, 0));
  ck_ok(mica_safetensors_open(files_path("float.safetensors"), &file));
  ck_ok(mica_quantize_weights(calibration, &(mica_quantize_settings){.weights_only = true}, file,
                              files_path("small.safetensors"), NULL));
  mica_safetensors_close(file);
  ck_ok(mica_safetensors_open(files_path("small.safetensors"), &file));
  ck_assert_uint_eq(mica_safetensors_find(file, "up.weight_scale")->bytes, 4 * 2);
  ck_assert_mem_eq(mica_safetensors_find(file, "up.bias")->data, bias, sizeof bias);
  mica_safetensors_close(file);
}
END_TEST

/* A network whose hook has no object, and a hook that is called without a network, fail their graph. */
START_TEST(hooks_without_their_objects) {
  mica_nn_hook *const hooks[] = {mica_calibration_hook, mica_quantize_hook};
  static const char *const names[] = {"mica_calibration_hook: ", "mica_quantize_hook: "};
  for (size_t i = 0; i < 2; i++)
    for (int direct = 0; direct < 2; direct++) {
      mica_graph *own = NULL;
      mica_nn *layers = NULL;
      ck_ok(mica_graph_create(&own));
      mica_value x = mica_input(own, "x", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 4)), y = {0};
      if (direct) {
        y = hooks[i](calibration, NULL, MICA_NN_POINT_INPUT, "fc", x);
      } else {
        ck_ok(mica_nn_create(own, &(mica_nn_config){.hook = hooks[i]}, &layers));
        y = mica_nn_dense(layers, "fc", x, 2, NULL);
      }
      ck_assert(mica_value_is_null(y));
      ck_assert_int_eq(mica_graph_status(own), MICA_E_INVALID);
      ck_assert_msg(strstr(mica_graph_message(own), names[i]), "%s", mica_graph_message(own));
      mica_nn_destroy(layers);
      mica_graph_destroy(own);
    }
}
END_TEST

START_TEST(without_a_network) {
  const mica_value *values = NULL;
  size_t count = 0;
  ck_assert_int_eq(mica_calibration_values(calibration, &values, &count), MICA_E_STATE);
  ck_assert_str_eq(mica_calibration_method_name(MICA_CALIBRATION_METHOD_ENTROPY), "entropy");
  ck_assert_ptr_null(mica_calibration_method_name(4));
}
END_TEST

TESTS(DEVICE, setup, teardown, structure, ranges, LOOP(few_beyond_zero, 0, 2), entropy, no_range, transposed,
      hooks_without_their_objects, without_a_network)
