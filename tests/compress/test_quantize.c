/* labels: device single
 *
 * Networks on integers: what a file of weights becomes, what the network on it answers, and training with rounded
 * weights. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16, IN = 8 * 8 * 3, OUT = 5 };

/* Units that the network is asked for; a file of widths has others. */
static int64_t filters = 8, classes = OUT;

/* Convolutions with a norm, one that shares its input, a depthwise one, a dense layer. */
static mica_value network(mica_nn *nn, mica_value x) {
  const mica_nn_conv_config plain = {.no_bias = true, .how = {.pad = {1, 1}}};
  const mica_nn_conv_config each = {.no_bias = true, .how = {.pad = {1, 1}, .groups = filters}};
  mica_value h = mica_relu(mica_nn_batch_norm(nn, "bn1", mica_nn_conv(nn, "conv1", x, filters, 3, &plain), NULL));
  mica_value a = mica_nn_batch_norm(nn, "bn2", mica_nn_conv(nn, "conv2", h, filters, 3, &plain), NULL);
  mica_value b = mica_nn_batch_norm(nn, "bn3", mica_nn_conv(nn, "each", h, filters, 3, &each), NULL);
  return mica_nn_dense(nn, "fc", mica_flatten(mica_relu(mica_add(a, b)), 1), classes, NULL);
}

/* A network with its session. */
typedef struct net {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} net;

static net make_net(const mica_nn_config *config, mica_calibration *calibration) {
  net n = {0};
  const mica_value *values = NULL;
  mica_value outputs[16];
  size_t count = 0;
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(n.graph, config, &n.nn));
  outputs[0] = network(n.nn, mica_input(n.graph, "x", MICA_F32, MICA_SHAPE(ROWS, 3, 8, 8)));
  if (calibration) ck_ok(mica_calibration_values(calibration, &values, &count));
  ck_assert_uint_lt(count, 15);
  for (size_t i = 0; i < count; i++) outputs[i + 1] = values[i];
  ck_assert_msg(mica_graph_status(n.graph) == MICA_OK, "%s", mica_graph_message(n.graph));
  ck_ok(mica_session_create(test_engine(), n.graph, outputs, count + 1, NULL, &n.session));
  ck_ok(mica_nn_initialise(n.nn, n.session));
  return n;
}

static void drop_net(net *n) {
  mica_session_destroy(n->session);
  mica_nn_destroy(n->nn);
  mica_graph_destroy(n->graph);
}

static void upload(net *n, const char *name, const float *x, size_t count) {
  mica_tensor *tensor = mica_session_parameter(n->session, name);
  ck_assert_msg(tensor != NULL, "%s", name);
  ck_ok(mica_tensor_upload(test_queue(), tensor, x, count * sizeof *x));
}

/* Norms that do something: factors of both signs, means, variances. */
static void shake_norms(net *n) {
  static const char *const norms[] = {"bn1", "bn2", "bn3"};
  for (int i = 0; i < 3; i++) {
    float values[4][8];
    char name[32];
    for (int c = 0; c < 8; c++) {
      values[0][c] = (c % 3 == i ? -1.0F : 1.0F) * (0.5F + 0.2F * (float)c);
      values[1][c] = 0.1F * (float)(c - 3);
      values[2][c] = 0.05F * (float)(c - i);
      values[3][c] = 0.3F + 0.1F * (float)c;
    }
    static const char *const parts[] = {"weight", "bias", "running_mean", "running_var"};
    for (int p = 0; p < 4; p++) {
      snprintf(name, sizeof name, "%s.%s", norms[i], parts[p]);
      upload(n, name, values[p], 8);
    }
  }
}

static void run_net(net *n, unsigned seed, float *y) {
  static float x[ROWS * IN];
  mica_tensor *tensor = NULL;
  for (size_t i = 0; i < ROWS * IN; i++) {
    seed = seed * 1664525U + 1013904223U;
    x[i] = (float)(seed >> 8) / 8388608.0F - 1;
  }
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(ROWS, 3, 8, 8), &tensor));
  ck_ok(mica_tensor_upload(test_queue(), tensor, x, sizeof x));
  ck_ok(mica_session_run(n->session, test_queue(), &(mica_feed){"x", tensor}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(n->session, 0), y, ROWS * OUT * sizeof *y));
  mica_tensor_destroy(tensor);
}

static double decibel(const float *is, const float *want) {
  double noise = 0, signal = 0;
  for (int i = 0; i < ROWS * OUT; i++) {
    noise += ((double)is[i] - (double)want[i]) * ((double)is[i] - (double)want[i]);
    signal += (double)want[i] * (double)want[i];
  }
  return 10 * log10(signal / noise);
}

/* --- files --- */

static mica_calibration *calibration;
static float wanted[ROWS * OUT];

/* The float network's file, its answers and what its layers are given. */
static void setup(void) {
  ck_ok(mica_calibration_create(&calibration));
  net n = make_net(&(mica_nn_config){.hook = mica_calibration_hook, .hook_user = calibration, .seed = 3}, calibration);
  shake_norms(&n);
  for (unsigned i = 0; i < 4; i++) {
    run_net(&n, i, wanted);
    ck_ok(mica_calibration_note(calibration, n.session, 1));
  }
  run_net(&n, 77, wanted);
  ck_ok(mica_nn_save(n.nn, n.session, files_path("float.safetensors"), NULL, 0));
  drop_net(&n);
}

static void teardown(void) { mica_calibration_destroy(calibration); }

static mica_safetensors *open_file(const char *name) {
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_open(files_path(name), &file));
  return file;
}

static mica_status convert(const mica_quantize_settings *settings) {
  mica_safetensors *file = open_file("float.safetensors");
  mica_status status = mica_quantize_weights(calibration, settings, file, files_path("small.safetensors"), NULL);
  mica_safetensors_close(file);
  return status;
}

/* Answers of the network on the file that was made; its plan is `dump`ed where that is not NULL. */
static void answer(float *y, char **dump) {
  mica_safetensors *file = open_file("small.safetensors");
  mica_quantizer *quantizer = NULL;
  ck_ok(mica_quantizer_open(file, &quantizer));
  mica_safetensors_close(file);
  net n = make_net(&(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer}, NULL);
  ck_ok(mica_nn_load(n.nn, n.session, files_path("small.safetensors"), NULL));
  run_net(&n, 77, y);
  if (dump) ck_ok(mica_session_dump(n.session, dump));
  drop_net(&n);
  mica_quantizer_destroy(quantizer);
}

static const mica_safetensors_entry *entry(const mica_safetensors *file, const char *name) {
  const mica_safetensors_entry *e = mica_safetensors_find(file, name);
  ck_assert_msg(e != NULL, "there is no %s", name);
  return e;
}

static double number(const mica_safetensors_entry *e, int i) {
  float wide;
  ck_assert_int_eq(e->dtype, MICA_BF16);
  const uint32_t bits = (uint32_t)((const uint16_t *)e->data)[i] << 16;
  memcpy(&wide, &bits, sizeof wide);
  return (double)wide;
}

/* --- cases --- */

/* All four products run on integers; norms are gone; the two layers that are given the same quantise it once. */
START_TEST(bytes) {
  float y[ROWS * OUT];
  char *dump = NULL;
  ck_ok(convert(NULL));
  mica_safetensors *file = open_file("small.safetensors");
  ck_assert_str_eq(mica_safetensors_metadata(file, "mica.quantized"), "8");
  ck_assert_int_eq(entry(file, "conv1.weight_q")->dtype, MICA_I8);
  ck_assert_uint_eq(entry(file, "conv1.weight_scale")->bytes, 8 * 2);
  ck_assert_uint_eq(entry(file, "conv1.bias")->bytes, 8 * 4);
  ck_assert_uint_eq(*(const uint8_t *)entry(file, "conv2.input_zero")->data, 0);
  ck_assert_ptr_null(mica_safetensors_find(file, "each.input_scale"));
  ck_assert_str_eq(mica_safetensors_metadata(file, "mica.input.each"), "conv2");
  ck_assert_ptr_null(mica_safetensors_find(file, "bn1.running_mean"));
  ck_assert_ptr_null(mica_safetensors_find(file, "conv1.weight"));
  mica_safetensors_close(file);
  answer(y, &dump);

  ck_assert(strstr(dump, ": int8_conv") && strstr(dump, ": int8_matmul") && !strstr(dump, "dequantize"));
  ck_assert_msg(decibel(y, wanted) > 30, "%g dB", decibel(y, wanted));
  mica_free(dump);
}
END_TEST

START_TEST(nibbles) {
  float y[ROWS * OUT], eight[ROWS * OUT];
  ck_ok(convert(NULL));
  answer(eight, NULL);
  ck_ok(convert(&(mica_quantize_settings){.bits = 4}));
  mica_safetensors *file = open_file("small.safetensors");
  const mica_safetensors_entry *q = entry(file, "conv2.weight_q"), *scale = entry(file, "conv2.weight_scale");
  mica_safetensors *whole = open_file("float.safetensors");
  const float *w = entry(whole, "conv2.weight")->data;
  ck_assert_int_eq(q->dtype, MICA_U8);
  ck_assert(mica_shape_equal(q->shape, MICA_SHAPE(8, 36)));
  ck_assert_int_eq(entry(file, "conv1.weight_q")->dtype, MICA_I8); /* the first layer, and the last */
  ck_assert_int_eq(entry(file, "fc.weight_q")->dtype, MICA_I8);
  ck_assert_int_eq(entry(file, "each.weight_q")->dtype, MICA_I8); /* nine a row */
  /* The first of two elements has the low nibble; what rounding leaves is half a step at most, unless cut off. */
  for (int i = 0; i < 8 * 72; i++) {
    const int byte = ((const uint8_t *)q->data)[i / 2], nibble = i % 2 ? byte >> 4 : byte & 15;
    const double steps = nibble >= 8 ? nibble - 16 : nibble, step = number(scale, i / 72);
    const float gamma = ((const float *)entry(whole, "bn2.weight")->data)[i / 72];
    const float variance = ((const float *)entry(whole, "bn2.running_var")->data)[i / 72];
    const double folded = (double)w[i] * (double)gamma / sqrt((double)variance + 1e-5);
    ck_assert_msg(fabs(steps * step - folded) <= 0.5001 * step || fabs(steps) == 7, "%d: %g is not %g", i, steps * step,
                  folded);
  }
  mica_safetensors_close(whole);
  mica_safetensors_close(file);
  answer(y, NULL);
  ck_assert_msg(decibel(y, wanted) > 12 && decibel(y, wanted) < decibel(eight, wanted), "%g dB", decibel(y, wanted));
}
END_TEST

START_TEST(weights_alone) {
  float y[ROWS * OUT];
  char *dump = NULL;
  ck_ok(convert(&(mica_quantize_settings){.bits = 4, .weights_only = true, .group = 64, .keep = "conv1"}));
  mica_safetensors *file = open_file("small.safetensors");
  ck_assert(mica_shape_equal(entry(file, "fc.weight_scale")->shape, MICA_SHAPE(OUT, 8)));
  ck_assert_ptr_null(mica_safetensors_find(file, "fc.input_scale"));
  ck_assert_int_eq(entry(file, "conv1.weight")->dtype, MICA_F32);
  ck_assert_int_eq(entry(file, "bn1.running_mean")->dtype, MICA_F32);
  mica_safetensors_close(file);
  answer(y, &dump);
  ck_assert_msg(decibel(y, wanted) > 12, "%g dB", decibel(y, wanted));
  mica_free(dump);
}
END_TEST

enum { WORDS = 40, WIDTH = 32, IDS = 3 };

/* Logits by the table that the words were looked up in. */
static mica_value tied(mica_nn *nn, mica_value ids) {
  mica_value x = mica_nn_dense(nn, "fc", mica_nn_embedding(nn, "embed", ids, WORDS, WIDTH, NULL), WIDTH, NULL);
  return mica_matmul(x, mica_transpose(mica_nn_weight_of(nn, "embed.weight"), MICA_AXES(1, 0)));
}

static net make_tied(const mica_nn_config *config, mica_calibration *seen, float *y) {
  net n = {0};
  const int32_t words[IDS] = {39, 0, 17};
  const mica_value *values = NULL;
  size_t count = 0;
  mica_tensor *ids = NULL;
  ck_ok(mica_graph_create(&n.graph));
  ck_ok(mica_nn_create(n.graph, config, &n.nn));
  mica_value z = tied(n.nn, mica_input(n.graph, "ids", MICA_I32, MICA_SHAPE(IDS)));
  if (seen) ck_ok(mica_calibration_values(seen, &values, &count));
  ck_ok(mica_session_create(test_engine(), n.graph, &z, 1, NULL, &n.session));
  ck_ok(mica_nn_initialise(n.nn, n.session));
  if (!seen) ck_ok(mica_nn_load(n.nn, n.session, files_path("tied8.safetensors"), NULL));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(IDS), words, &ids));
  ck_ok(mica_session_run(n.session, test_queue(), &(mica_feed){"ids", ids}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(n.session, 0), y, IDS * WORDS * sizeof *y));
  mica_tensor_destroy(ids);
  return n;
}

/* A table that gives words and logits is bytes for both. */
START_TEST(tied_table) {
  static float y[IDS * WORDS], want[IDS * WORDS];
  mica_calibration *seen = NULL;
  mica_quantizer *quantizer = NULL;
  char *dump = NULL;
  ck_ok(mica_calibration_create(&seen));
  net n = make_tied(&(mica_nn_config){.hook = mica_calibration_hook, .hook_user = seen, .seed = 5}, seen, want);
  ck_ok(mica_nn_save(n.nn, n.session, files_path("tied.safetensors"), NULL, 0));
  mica_safetensors *file = open_file("tied.safetensors");
  ck_ok(mica_quantize_weights(seen, &(mica_quantize_settings){.weights_only = true}, file,
                              files_path("tied8.safetensors"), NULL));
  mica_safetensors_close(file);
  drop_net(&n);
  mica_calibration_destroy(seen);
  file = open_file("tied8.safetensors");
  ck_assert_int_eq(entry(file, "embed.weight_q")->dtype, MICA_I8);
  ck_assert_ptr_null(mica_safetensors_find(file, "embed.weight"));
  ck_ok(mica_quantizer_open(file, &quantizer));
  mica_safetensors_close(file);
  n = make_tied(&(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer}, NULL, y);
  double noise = 0, signal = 0;
  for (int i = 0; i < IDS * WORDS; i++) {
    noise += ((double)y[i] - (double)want[i]) * ((double)y[i] - (double)want[i]);
    signal += (double)want[i] * (double)want[i];
  }
  ck_assert_msg(noise > 0 && 10 * log10(signal / noise) > 30, "%g of %g", noise, signal);
  ck_ok(mica_session_dump(n.session, &dump));
  const char *first = strstr(dump, ": weights");
  ck_assert_msg(first && strstr(first + 1, ": weights"), "%s", dump);
  mica_free(dump);
  drop_net(&n);
  mica_quantizer_destroy(quantizer);
}
END_TEST

/* The network with equalised weights is the same function. */
START_TEST(equalised) {
  float y[ROWS * OUT];
  size_t pairs = 9;
  mica_safetensors *file = open_file("float.safetensors");
  ck_ok(mica_equalize_weights(calibration, file, files_path("equal.safetensors"), &pairs));
  mica_safetensors_close(file);
  ck_assert_uint_eq(pairs, 0); /* conv1 is read twice, and sums lie between the others */
  net n = make_net(NULL, NULL);
  ck_ok(mica_nn_load(n.nn, n.session, files_path("equal.safetensors"), NULL));
  run_net(&n, 77, y);
  ck_assert_double_ge(decibel(y, wanted), 100);
  drop_net(&n);
}
END_TEST

/* A network that is asked for other widths is the quantised one, if it takes its widths from the file. */
START_TEST(widths_of_integers) {
  float y[ROWS * OUT], other[ROWS * OUT];
  ck_ok(convert(&(mica_quantize_settings){.bits = _i ? 4 : 8}));
  answer(y, NULL);
  mica_safetensors *file = open_file("small.safetensors");
  mica_quantizer *quantizer = NULL;
  ck_ok(mica_quantizer_open(file, &quantizer));
  filters = 24, classes = 9;
  net n = make_net(&(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer, .like = file}, NULL);
  filters = 8, classes = OUT;
  ck_ok(mica_nn_load(n.nn, n.session, files_path("small.safetensors"), NULL));
  run_net(&n, 77, other);
  ck_assert_mem_eq(y, other, sizeof y);
  drop_net(&n);
  mica_quantizer_destroy(quantizer);
  mica_safetensors_close(file);
}
END_TEST

static mica_shape weight_of(const mica_nn *nn, const char *name) {
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++)
    if (!strcmp(mica_nn_parameter_at(nn, i)->own_name, name))
      return mica_value_shape(mica_nn_parameter_at(nn, i)->value);
  ck_abort_msg("there is no %s", name);
  return MICA_SCALAR;
}

/* Weights of 4 bits are rows of bytes: a layer knows its window, and so how many channels they are. */
START_TEST(widths_of_nibbles) {
  static const uint8_t zeros[256];
  const mica_safetensors_entry list[] = {
      {.name = "up.weight_q", .dtype = MICA_U8, .shape = {2, {4, 12}}, .data = zeros, .bytes = 48},
      {.name = "groups.weight_q", .dtype = MICA_U8, .shape = {2, {9, 9}}, .data = zeros, .bytes = 81},
      {.name = "table.weight_q", .dtype = MICA_U8, .shape = {2, {7, 5}}, .data = zeros, .bytes = 35},
      {.name = "odd.weight_q", .dtype = MICA_U8, .shape = {2, {4, 4}}, .data = zeros, .bytes = 16}};
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  ck_ok(mica_safetensors_write(files_path("nibbles.safetensors"), list, 4, NULL, 0));
  mica_safetensors *file = open_file("nibbles.safetensors");
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.like = file}, &nn));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 4, 8, 8));
  mica_value y = mica_nn_conv_transpose(nn, "up", x, 8, 2, &(mica_nn_conv_config){.how = {.stride = {2, 2}}});
  y = mica_nn_conv(nn, "groups", y, 12, 3, &(mica_nn_conv_config){.how = {.groups = 6}});
  mica_nn_embedding(nn, "table", mica_input(graph, "ids", MICA_I32, MICA_SHAPE(3)), 20, 16, NULL);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_assert(mica_shape_equal(weight_of(nn, "up.weight"), MICA_SHAPE(4, 6, 2, 2)));
  ck_assert(mica_shape_equal(weight_of(nn, "groups.weight"), MICA_SHAPE(9, 2, 3, 3)));
  ck_assert(mica_shape_equal(weight_of(nn, "table.weight"), MICA_SHAPE(7, 10)));
  mica_nn_conv(nn, "odd", x, 4, 3, NULL);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "odd.weight_q"));
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  mica_safetensors_close(file);
}
END_TEST

/* Training on the rounded network lowers its loss, and the integers that are made of it answer as it does. */
START_TEST(learned_steps) {
  float y[ROWS * OUT], learned[ROWS * OUT];
  mica_quantizer *quantizer = NULL;
  const mica_quantize_settings settings = {.bits = 4};
  ck_ok(mica_quantizer_create(calibration, &settings, &quantizer));
  net n = make_net(&(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer, .seed = 3}, NULL);
  ck_ok(mica_nn_load(n.nn, n.session, files_path("float.safetensors"), &(size_t){0}));
  ck_ok(mica_quantizer_begin(quantizer, calibration, n.session));
  run_net(&n, 77, learned);
  ck_assert_msg(decibel(learned, wanted) > 10, "%g dB", decibel(learned, wanted));
  ck_ok(mica_nn_save(n.nn, n.session, files_path("float.safetensors"), NULL, 0));
  drop_net(&n);
  mica_quantizer_destroy(quantizer);
  ck_ok(convert(&settings));
  answer(y, NULL);
  /* Rounding differs where a sum comes out on the other side of a half. */
  ck_assert_msg(decibel(y, learned) > 35, "%g dB", decibel(y, learned));
}
END_TEST

START_TEST(wrong) {
  ck_assert_int_eq(convert(&(mica_quantize_settings){.bits = 5}), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "5 bits"));
  ck_assert_int_eq(convert(&(mica_quantize_settings){.group = 32}), MICA_E_INVALID);
  ck_assert_int_eq(convert(&(mica_quantize_settings){.keep = "nothing"}), MICA_E_NOT_FOUND);
  ck_assert_int_eq(convert(&(mica_quantize_settings){.keep = "*"}), MICA_E_INVALID);
  ck_assert_int_eq(convert(&(mica_quantize_settings){.method = 17}), MICA_E_INVALID);
  ck_ok(convert(NULL));
  mica_safetensors *file = open_file("small.safetensors");
  ck_assert_int_eq(mica_quantize_weights(calibration, NULL, file, files_path("again.safetensors"), NULL), MICA_E_STATE);
  mica_safetensors_close(file);
  file = open_file("float.safetensors");
  mica_quantizer *quantizer = NULL;
  ck_assert_int_eq(mica_quantizer_open(file, &quantizer), MICA_E_FORMAT);
  mica_safetensors_close(file);
}
END_TEST

/* Files that claim to be quantised. */
START_TEST(foreign_files) {
  static const uint8_t zeros[4096];
  const mica_safetensors_pair claim = {"mica.quantized", "8"};
  const mica_safetensors_entry lists[][2] = {
      {{.name = "fc.weight_q", .dtype = MICA_I8, .shape = {2, {5, 512}}, .data = zeros, .bytes = 2560}},
      {{.name = "fc.weight_q", .dtype = MICA_I8, .shape = {2, {5, 8}}, .data = zeros, .bytes = 40},
       {.name = "fc.weight_scale", .dtype = MICA_F32, .shape = {1, {5}}, .data = zeros, .bytes = 20}},
      {{.name = "fc.weight_q", .dtype = MICA_I32, .shape = {2, {5, 8}}, .data = zeros, .bytes = 160},
       {.name = "fc.weight_scale", .dtype = MICA_F32, .shape = {1, {5}}, .data = zeros, .bytes = 20}},
      {{.name = "fc.weight_q", .dtype = MICA_I8, .shape = {2, {5, 512}}, .data = zeros, .bytes = 2560},
       {.name = "fc.weight_scale", .dtype = MICA_F32, .shape = {2, {5, 7}}, .data = zeros, .bytes = 140}},
      {{.name = "other", .dtype = MICA_I8, .shape = {2, {5, 512}}, .data = zeros, .bytes = 2560}}};
  static const size_t counts[] = {1, 2, 2, 2, 1};
  for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
    mica_quantizer *quantizer = NULL;
    ck_ok(mica_safetensors_write(files_path("claim.safetensors"), lists[i], counts[i], &claim, 1));
    mica_safetensors *file = open_file("claim.safetensors");
    mica_status status = mica_quantizer_open(file, &quantizer);
    mica_safetensors_close(file);
    if (status == MICA_OK) {
      mica_graph *graph = NULL;
      mica_nn *nn = NULL;
      ck_ok(mica_graph_create(&graph));
      ck_ok(mica_nn_create(graph, &(mica_nn_config){.hook = mica_quantize_hook, .hook_user = quantizer}, &nn));
      network(nn, mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, 3, 8, 8)));
      status = mica_graph_status(graph);
      mica_nn_destroy(nn);
      mica_graph_destroy(graph);
    }
    ck_assert_msg(status == MICA_E_FORMAT, "file %zu", i);
    mica_quantizer_destroy(quantizer);
  }
}
END_TEST

TESTS(DEVICE, setup, teardown, bytes, nibbles, weights_alone, tied_table, equalised, LOOP(widths_of_integers, 0, 2),
      widths_of_nibbles, learned_steps, wrong, foreign_files)
