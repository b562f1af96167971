/* labels: device
 *
 * Models in ONNX on integers: what is written, what it computes, what stays float, and data that do not fit. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"
#include "support/wire.h"

#include <math.h>
#include <mica/compress.h>
#include <mica/io.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 40, IN = 3 * 8 * 8, WIDTH = 8, OUT = 5 };

static float samples[ROWS * IN];
static char float_model[512];

static float uniform(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) * 0x1p-23F - 1;
}

/* Layers that no number passes: one that is given zeros, as behind a dead ReLU, and one whose weight is 0. */
static bool idle;

/* A convolution with a norm, one of two groups whose input others are given, a product of more axes, one of two values
 * that are computed, a transposed convolution, a last layer. */
static mica_value network(mica_nn *nn, mica_value x) {
  const mica_nn_conv_config plain = {.no_bias = true, .how = {.pad = {1, 1}}};
  const mica_nn_conv_config pairs = {.how = {.pad = {1, 1}, .groups = 2}};
  mica_value first = mica_named(mica_nn_conv(nn, "conv1", x, WIDTH, 3, &plain), "conv1");
  mica_value h = mica_relu(mica_nn_batch_norm(nn, "bn1", first, NULL));
  mica_value a = mica_nn_conv(nn, "conv2", h, WIDTH, 3, &pairs);
  if (idle) {
    const mica_nn_conv_config padded = {.how = {.pad = {1, 1}}};
    mica_value dead = mica_relu(mica_affine(h, -1, -1));
    a = mica_add(a, mica_named(mica_nn_conv(nn, "dead", dead, WIDTH, 3, &padded), "dead"));
    a = mica_add(a, mica_named(mica_nn_conv(nn, "empty", h, WIDTH, 3, &padded), "empty"));
  }
  mica_value b = mica_nn_dense(nn, "rows", h, 8, NULL);
  mica_value c = mica_matmul(a, b);
  mica_value d = mica_nn_conv_transpose(nn, "up", c, WIDTH, 2, NULL);
  return mica_nn_dense(nn, "fc", mica_flatten(mica_relu(d), 1), OUT, NULL);
}

/* The network as a file, with norms that do something; batch 0: of any number of samples. */
static void write_model(const char *path, int64_t batch) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  uint32_t state = 5;
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.seed = 3}, &nn));
  mica_value y = network(nn, mica_input(graph, "x", MICA_F32, MICA_SHAPE(batch ? batch : MICA_DYNAMIC, 3, 8, 8)));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &y, 1, NULL, &session));
  ck_ok(mica_nn_initialise(nn, session));
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    mica_tensor *tensor = mica_session_parameter(session, info->name);
    float numbers[WIDTH * WIDTH * 9] = {0};
    if (tensor && !strcmp(info->name, "empty.weight"))
      ck_ok(mica_tensor_upload(test_queue(), tensor, numbers, mica_tensor_bytes(tensor)));
    if (!tensor || mica_value_shape(info->value).rank != 1) continue;
    for (size_t k = 0; k < mica_tensor_bytes(tensor) / sizeof(float); k++)
      numbers[k] = (strstr(info->name, "bn") ? 1 : 0) + 0.5F * uniform(&state);
    ck_ok(mica_tensor_upload(test_queue(), tensor, numbers, mica_tensor_bytes(tensor)));
  }
  ck_ok(mica_onnx_write(path, &y, 1,
                        &(mica_onnx_write_config){.session = session, .output_names = (const char *const[]){"y"}}));
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
}

static void setup(void) {
  uint32_t state = 1;
  for (size_t i = 0; i < ROWS * IN; i++) samples[i] = uniform(&state);
  files_write_text("data/note", "");
  ck_ok(mica_npy_write(files_path("data/x.npy"), MICA_F32, MICA_SHAPE(ROWS, 3, 8, 8), samples));
  snprintf(float_model, sizeof float_model, "%s", files_path("float.onnx"));
  write_model(float_model, 0);
}

static void teardown(void) { files_remove(); }

static void run_model(const char *path, float y[ROWS * OUT]) {
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  ck_ok(mica_onnx_open(path, &model));
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  ck_ok(mica_onnx_run(
      runner, test_queue(),
      &(mica_onnx_feed){.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(ROWS, 3, 8, 8), .data = samples}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_onnx_output(runner, 0), y, ROWS * OUT * sizeof *y));
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}

static size_t nodes_of(const char *path, const char *op) {
  mica_onnx *model = NULL;
  size_t count = 0;
  ck_ok(mica_onnx_open(path, &model));
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++)
    if (!strcmp(mica_onnx_operator_at(model, i).name, op)) count = mica_onnx_operator_at(model, i).count;
  mica_onnx_close(model);
  return count;
}

/* The note of a layer in the report's table; NULL for no such layer. */
static const char *note_of(const mica_report *report, const char *name) {
  const mica_item *layers = mica_report_find(report, 0, "layers");
  ck_assert_ptr_nonnull(layers);
  for (size_t i = 0; i < layers->rows; i++)
    if (!strcmp(layers->row_names[i], name)) return layers->texts[(i + 1) * layers->columns - 1];
  return NULL;
}

static mica_onnx_quantize_config config_of(const char *data, const char *path) {
  return (mica_onnx_quantize_config){.data = data, .path = path};
}

/* What the integers answer beside a float model, in decibel. */
static double decibel_of(const char *floats, const char *path) {
  static float is[ROWS * OUT], want[ROWS * OUT];
  double noise = 0, signal = 0, mean = 0;
  run_model(floats, want);
  run_model(path, is);
  for (int i = 0; i < ROWS * OUT; i++) mean += (double)want[i] / (ROWS * OUT);
  for (int i = 0; i < ROWS * OUT; i++) {
    noise += ((double)is[i] - (double)want[i]) * ((double)is[i] - (double)want[i]);
    signal += ((double)want[i] - mean) * ((double)want[i] - mean);
  }
  return 10 * log10(signal / noise);
}

static double decibel(const char *path) { return decibel_of(float_model, path); }

START_TEST(pairs_stand_around_products) {
  mica_report *report = NULL;
  const char *path = files_path("small.onnx");
  mica_onnx_quantize_config config = config_of(files_path("data"), path);
  ck_ok(mica_onnx_quantize(test_engine(), float_model, &config, &report));
  /* Four inputs, of which conv2 and rows share one value along two axes, and four weights. */
  ck_assert_uint_eq(nodes_of(path, "QuantizeLinear"), 4);
  ck_assert_uint_eq(nodes_of(path, "DequantizeLinear"), 8);
  ck_assert_uint_eq(nodes_of(path, "BatchNormalization"), 0);
  ck_assert_uint_eq(nodes_of(float_model, "BatchNormalization"), 1);
  ck_assert_str_eq(note_of(report, "conv1"), "");
  ck_assert_str_eq(note_of(report, "y"), "");
  const mica_item *layers = mica_report_find(report, 0, "layers");
  size_t computed = 0, transposed = 0;
  for (size_t i = 0; i < layers->rows; i++) {
    const char *note = layers->texts[(i + 1) * layers->columns - 1];
    computed += !strcmp(note, "float: both operands are computed");
    transposed += !strcmp(note, "float: a transposed convolution");
  }
  ck_assert_uint_eq(layers->rows, 6);
  ck_assert_uint_eq(computed, 1);
  ck_assert_uint_eq(transposed, 1);
  const double is = decibel(path);
  ck_assert_msg(is > 30, "%.1f dB", is);
  mica_report_destroy(report);

  config.path = files_path("again.onnx");
  ck_assert_int_eq(mica_onnx_quantize(test_engine(), path, &config, NULL), MICA_E_STATE);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "is quantised already"));
  ck_assert_int_ne(access(config.path, F_OK), 0);
}
END_TEST

/* --- weights in nodes --- */

static uint64_t varint(const unsigned char **at) {
  uint64_t number = 0;
  for (int shift = 0;; shift += 7) {
    number |= (uint64_t)(**at & 127) << shift;
    if (!(*(*at)++ & 128)) return number;
  }
}

/* A field of a message: its number, and its bytes if it has a length; returns the byte after it. */
static const unsigned char *next_field(const unsigned char *at, int *field, const unsigned char **data, size_t *size) {
  const uint64_t key = varint(&at);
  *field = (int)(key >> 3);
  *data = NULL;
  *size = (size_t)varint(&at);
  if ((key & 7) == 0) return at;
  ck_assert_uint_eq(key & 7, 2);
  *data = at;
  return at + *size;
}

/* A node that gives an initial value under its name. */
static mica__text constant_of(const unsigned char *tensor, size_t bytes) {
  mica__text node = {0}, value = {0};
  const unsigned char *data = NULL;
  size_t size = 0;
  int field = 0;
  for (const unsigned char *at = tensor; at < tensor + bytes;) {
    at = next_field(at, &field, &data, &size);
    if (field == 8) wire_bytes(&node, 2, data, size);
  }
  wire_text(&node, 4, "Constant");
  wire_text(&value, 1, "value");
  wire_bytes(&value, 5, tensor, bytes);
  wire_int(&value, 20, 4);
  wire_inside(&node, WIRE_NODE_ATTRIBUTE, &value);
  return node;
}

/* The float model with a node Constant for each initial value, as PaddlePaddle's exporter writes all of them. */
static void write_constants(const char *path) {
  size_t bytes = 0, size = 0, inner = 0;
  const unsigned char *data = NULL, *part = NULL;
  mica__text file = {0}, graph = {0};
  int field = 0;
  unsigned char *content = files_read(float_model, &bytes);
  ck_assert_ptr_nonnull(content);
  for (const unsigned char *at = content, *end = at + bytes; at < end;) {
    at = next_field(at, &field, &data, &size);
    if (field != WIRE_MODEL_GRAPH && data) wire_bytes(&file, field, data, size);
    if (!data) wire_int(&file, field, (int64_t)size);
    for (const unsigned char *in = data; field == WIRE_MODEL_GRAPH && in < data + size;) {
      int kind = 0;
      in = next_field(in, &kind, &part, &inner);
      if (kind != WIRE_GRAPH_INITIALIZER) {
        wire_bytes(&graph, kind, part, inner);
        continue;
      }
      mica__text node = constant_of(part, inner);
      wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    }
  }
  wire_inside(&file, WIRE_MODEL_GRAPH, &graph);
  files_write(path, file.data, file.length);
  mica__text_free(&file);
  free(content);
}

static mica_onnx_info info_of(const char *path) {
  mica_onnx *model = NULL;
  ck_ok(mica_onnx_open(path, &model));
  const mica_onnx_info info = mica_onnx_describe(model);
  mica_onnx_close(model);
  return info;
}

START_TEST(weights_of_nodes_are_weights) {
  static float is[ROWS * OUT], want[ROWS * OUT];
  char model[512], paths[2][512];
  write_constants("constants.onnx");
  snprintf(model, sizeof model, "%s", files_path("constants.onnx"));
  ck_assert_uint_eq(info_of(model).weight_bytes, info_of(float_model).weight_bytes);
  ck_assert_uint_eq(info_of(model).weights, info_of(float_model).weights);
  for (int k = 0; k < 2; k++) {
    snprintf(paths[k], sizeof paths[k], "%s", files_path(k ? "int8_constants.onnx" : "int8_initials.onnx"));
    const mica_onnx_quantize_config config = config_of(files_path("data"), paths[k]);
    mica_report *report = NULL;
    ck_ok(mica_onnx_quantize(test_engine(), k ? model : float_model, &config, &report));
    mica_report_destroy(report);
  }
  ck_assert_uint_gt(nodes_of(paths[1], "QuantizeLinear"), 0);
  ck_assert_uint_eq(nodes_of(paths[1], "QuantizeLinear"), nodes_of(paths[0], "QuantizeLinear"));
  run_model(paths[0], want);
  run_model(paths[1], is);
  ck_assert_mem_eq(is, want, sizeof is);
}
END_TEST

START_TEST(weights_alone_need_no_data) {
  const char *path = files_path("weights.onnx");
  mica_onnx_quantize_config config = config_of(NULL, path);
  config.how.weights_only = true;
  ck_ok(mica_onnx_quantize(test_engine(), float_model, &config, NULL));
  ck_assert_uint_eq(nodes_of(path, "QuantizeLinear"), 0);
  ck_assert_uint_eq(nodes_of(path, "DequantizeLinear"), 4);
  const double is = decibel(path);
  ck_assert_msg(is > 35, "%.1f dB", is);
  config.how.weights_only = false;
  ck_assert_int_eq(mica_onnx_quantize(test_engine(), float_model, &config, NULL), MICA_E_INVALID);
  config.how = (mica_quantize_settings){.weights_only = true, .bits = 4};
  ck_assert_int_eq(mica_onnx_quantize(test_engine(), float_model, &config, NULL), MICA_E_UNSUPPORTED);
}
END_TEST

START_TEST(methods_and_kept_layers) {
  mica_report *report = NULL;
  const char *path = files_path("kept.onnx");
  mica_onnx_quantize_config config = config_of(files_path("data"), path);
  config.how = (mica_quantize_settings){.method = MICA_CALIBRATION_METHOD_ENTROPY, .keep = "y*"};
  ck_ok(mica_onnx_quantize(test_engine(), float_model, &config, &report));
  ck_assert_str_eq(note_of(report, "y"), "float: as asked");
  ck_assert_uint_eq(nodes_of(path, "QuantizeLinear"), 3);
  ck_assert(decibel(path) > 20);
  mica_report_destroy(report);
  config.how.keep = "nothing";
  ck_assert_int_eq(mica_onnx_quantize(test_engine(), float_model, &config, NULL), MICA_E_NOT_FOUND);
}
END_TEST

/* What has no range is no reason to give the other layers up. */
START_TEST(layers_without_a_range_stay_float) {
  mica_report *report = NULL;
  char floats[512];
  snprintf(floats, sizeof floats, "%s", files_path("idle.onnx"));
  idle = true;
  write_model(floats, 0);
  idle = false;
  const char *path = files_path("idle8.onnx");
  mica_onnx_quantize_config config = config_of(files_path("data"), path);
  ck_ok(mica_onnx_quantize(test_engine(), floats, &config, &report));
  ck_assert_str_eq(note_of(report, "dead"), "float: all its inputs were 0");
  ck_assert_str_eq(note_of(report, "empty"), "");
  /* The inputs of the small model, and the weight of zeros, whose input conv2 has. */
  ck_assert_uint_eq(nodes_of(path, "QuantizeLinear"), 4);
  ck_assert_uint_eq(nodes_of(path, "DequantizeLinear"), 9);
  const double is = decibel_of(floats, path);
  ck_assert_msg(is > 30, "%.1f dB", is);
  mica_report_destroy(report);
  config.path = files_path("idle_weights.onnx");
  config.how.weights_only = true;
  ck_ok(mica_onnx_quantize(test_engine(), floats, &config, NULL));
  ck_assert_uint_eq(nodes_of(config.path, "DequantizeLinear"), 6);
}
END_TEST

static void refuses(const char *model, const mica_onnx_quantize_config *config, const char *sentence) {
  ck_assert_int_eq(mica_onnx_quantize(test_engine(), model, config, NULL), MICA_E_FORMAT);
  ck_assert_msg(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());
  ck_assert_int_ne(access(config->path, F_OK), 0);
}

START_TEST(data_that_do_not_fit) {
  char wide[512], none[512];
  snprintf(wide, sizeof wide, "%s", files_path("wide"));
  snprintf(none, sizeof none, "%s", files_path("none.onnx"));
  mica_onnx_quantize_config config = config_of(wide, none);
  files_write_text("wide/note", "");
  ck_ok(mica_npy_write(files_path("wide/x.npy"), MICA_F32, MICA_SHAPE(ROWS / 2, 3, 8, 16), samples));
  refuses(float_model, &config, "the input 'x' is (?, 3, 8, 8), but the samples of");
  ck_ok(mica_npy_write(files_path("wide/x.npy"), MICA_F64, MICA_SHAPE(ROWS / 2, 3, 8, 8), samples));
  refuses(float_model, &config, "x.npy holds f64, but the input 'x' is f32");
  ck_ok(mica_npy_write(files_path("wide/x.npy"), MICA_F32, MICA_SHAPE(0, 3, 8, 8), samples));
  refuses(float_model, &config, "gives 0 samples to calibrate with");
  files_write_text("table.csv", "a,b,class\n1,2,u\n3,4,v\n5,6,u\n");
  config.data = files_path("table.csv");
  refuses(float_model, &config, "the samples of");
  write_model(files_path("batch.onnx"), ROWS + 1);
  config.data = files_path("data");
  refuses(files_path("batch.onnx"), &config, "the model takes 41 at once");
  samples[7] = NAN;
  ck_ok(mica_npy_write(files_path("wide/x.npy"), MICA_F32, MICA_SHAPE(ROWS, 3, 8, 8), samples));
  config.data = wide;
  ck_assert_int_eq(mica_onnx_quantize(test_engine(), float_model, &config, NULL), MICA_E_NUMERIC);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "not finite"));
}
END_TEST

static void add_location(mica__text *tensor, const char *file) {
  mica__text entry = {0};
  wire_text(&entry, 1, "location");
  wire_text(&entry, 2, file);
  wire_inside(tensor, 13, &entry);
  wire_int(tensor, 14, 1);
}

/* y = x w + the nibbles 1, -2, 3, -4, 5 (or 1, 14, 3, 12, 5) of an external file. */
static void write_nibbles(const char *path, int type) {
  static const uint8_t stored[] = {0xe1, 0xc3, 0x05};
  float w[4 * OUT] = {0};
  for (int i = 0; i < OUT; i++) w[i % 4 * OUT + i] = 1;
  mica__text graph = wire_graph((const char *[]){"MatMul x w > h", "Add h c > y", NULL});
  mica__text cast = wire_node("Cast q > c"), to = {0};
  wire_text(&to, 1, "to");
  wire_int(&to, 3, 1);
  wire_int(&to, 20, 2);
  wire_inside(&cast, WIRE_NODE_ATTRIBUTE, &to);
  mica__text first = {0};
  wire_inside(&first, WIRE_GRAPH_NODE, &cast);
  mica__text_add_bytes(&first, graph.data, graph.length);
  mica__text_free(&graph);
  mica__text filters = wire_tensor("w", 1, (const int64_t[]){4, OUT, -1}, w, sizeof w);
  mica__text nibbles = wire_tensor("q", type, (const int64_t[]){OUT, -1}, NULL, 0);
  add_location(&nibbles, "q.bin");
  wire_inside(&first, WIRE_GRAPH_INITIALIZER, &filters);
  wire_inside(&first, WIRE_GRAPH_INITIALIZER, &nibbles);
  mica__text x = wire_port("x", 1, (const int64_t[]){2, 4, -1}), y = wire_port("y", 1, (const int64_t[]){2, OUT, -1});
  wire_inside(&first, WIRE_GRAPH_INPUT, &x);
  wire_inside(&first, WIRE_GRAPH_OUTPUT, &y);
  mica__text file = wire_model_of(&first, 21);
  files_write(path, file.data, file.length);
  files_write("nibbles/q.bin", stored, sizeof stored);
  mica__text_free(&file);
}

/* A written model contains the external tensors of its source; two 4-bit elements share a byte there too. */
START_TEST(external_nibbles_are_taken_inside) {
  enum { UINT4 = 21, INT4 = 22 };
  static const float nibbles[2][OUT] = {{1, 14, 3, 12, 5}, {1, -2, 3, -4, 5}}, x[2 * 4];
  const mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(2, 4), .data = x};
  for (int type = UINT4; type <= INT4; type++) {
    float y[2 * OUT];
    write_nibbles("nibbles/model.onnx", type);
    const char *path = files_path("inside.onnx");
    mica_onnx_quantize_config config = config_of(NULL, path);
    config.how.weights_only = true;
    ck_ok(mica_onnx_quantize(test_engine(), files_path("nibbles/model.onnx"), &config, NULL));
    mica_onnx *model = NULL;
    mica_onnx_runner *runner = NULL;
    ck_ok(mica_onnx_open(path, &model));
    ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
    ck_ok(mica_onnx_run(runner, test_queue(), &feed, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_onnx_output(runner, 0), y, sizeof y));
    for (int i = 0; i < 2 * OUT; i++) ck_assert_float_eq(y[i], nibbles[type - UINT4][i % OUT]);
    mica_onnx_runner_destroy(runner);
    mica_onnx_close(model);
  }
}
END_TEST

TEST_GROUPS(BOTH(NEEDS(ONNX), DEVICE),
            ONCE(setup, teardown, pairs_stand_around_products, weights_of_nodes_are_weights, weights_alone_need_no_data,
                 methods_and_kept_layers, layers_without_a_range_stay_float, data_that_do_not_fit,
                 external_nibbles_are_taken_inside))
