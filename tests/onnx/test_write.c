/* labels: null single
 *
 * Models that are written: which operators stand in them, what is refused, and files that are left as they were. */
#include "support/check_main.h"

#include <mica/io.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <mica/signal.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[400], path[500];
static mica_graph *graph;

/* The n-th name of a file of weights. */
static const char *beside(int n) {
  static char text[520];
  snprintf(text, sizeof text, n > 1 ? "%s.%d.data" : "%s.data", path, n);
  return text;
}

static void setup(void) {
  const char *tmp = getenv("TMPDIR");
  snprintf(folder, sizeof folder, "%s/mica-write-XXXXXX", tmp ? tmp : "/tmp");
  ck_assert(mkdtemp(folder) != NULL);
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  ck_assert(mica_graph_create(&graph) == MICA_OK);
}

static void teardown(void) {
  unlink(beside(1));
  unlink(beside(2));
  unlink(path);
  ck_assert_msg(rmdir(folder) == 0, "%s: something is left in it", folder);
  mica_graph_destroy(graph);
}

static mica_value input(mica_shape shape) { return mica_input(graph, "x", MICA_F32, shape); }

static mica_value numbers(mica_shape shape) {
  int64_t count = 0;
  ck_assert(mica_shape_count(shape, &count) == MICA_OK);
  float *data = malloc((size_t)count * sizeof *data + 1);
  for (int64_t i = 0; i < count; i++) data[i] = (float)(i % 7) - 3;
  mica_value value = mica_constant(graph, MICA_F32, shape, data);
  free(data);
  return value;
}

static void write_model(mica_value y, int64_t opset) {
  const mica_onnx_write_config how = {.opset = opset};
  ck_assert_msg(mica_onnx_write(path, &y, 1, &how) == MICA_OK, "%s", mica_error_message());
}

/* The operators of the file by name, each once: "Conv Relu ". */
static const char *operators(void) {
  static char list[400];
  mica_onnx *model = NULL;
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "%s", mica_error_message());
  *list = '\0';
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++) {
    strncat(list, mica_onnx_operator_at(model, i).name, 40);
    strcat(list, " ");
    ck_assert(mica_onnx_operator_at(model, i).supported);
  }
  mica_onnx_close(model);
  return list;
}

/* Refused with the status and a sentence that holds the text, and without a file. */
static void refused(mica_status status, mica_status want, const char *text) {
  ck_assert_int_eq(status, want);
  ck_assert_msg(strstr(mica_error_message(), text) != NULL, "%s", mica_error_message());
  ck_assert(access(path, F_OK) != 0);
}

START_TEST(marks_are_operators) {
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, 4, 6, 6)), c = numbers(MICA_SHAPE(4));
  mica_value y = mica_conv(x, numbers(MICA_SHAPE(4, 4, 3, 3)), c, NULL);
  y = mica_batch_norm(y, c, c, c, mica_square(c), 1e-5);
  write_model(mica_global_average_pool(mica_instance_norm(y, c, c, 1e-5)), 0);
  ck_assert_str_eq(operators(), "Conv Mul BatchNormalization InstanceNormalization GlobalAveragePool ");
}
END_TEST

/* GroupNormalization of set 18 has a scale a group: it is another function, and never written. */
START_TEST(sets_have_their_operators) {
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, 4, 6)), c = numbers(MICA_SHAPE(4)), r = numbers(MICA_SHAPE(6));
  mica_value y = mica_gelu(mica_rms_norm(mica_group_norm(x, c, c, 2, 1e-5), -1, r, 1e-5));
  write_model(y, 23);
  ck_assert_str_eq(operators(), "GroupNormalization RMSNormalization Gelu ");
  write_model(y, 18);
  ck_assert(strstr(operators(), "GroupNorm") == NULL && strstr(operators(), "Erf") != NULL);
  write_model(mica_layer_norm(x, -1, r, r, 1e-5), 17);
  ck_assert_str_eq(operators(), "LayerNormalization ");
}
END_TEST

/* Around a convolution, with scales a filter of weights that are integers. */
START_TEST(quantisation_is_pairs) {
  static const int8_t weights[2 * 3] = {1, -2, 3, 4, -5, 127};
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, 3, 5)), scale = mica_scalar(graph, MICA_F32, 0.125);
  const mica_quantize_config bytes = {.dtype = MICA_U8}, rows = {.axis = 0};
  mica_value zero = mica_constant(graph, MICA_U8, MICA_SCALAR, &(uint8_t){128});
  mica_value w = mica_constant(graph, MICA_I8, MICA_SHAPE(2, 3, 1), weights);
  mica_value scales = mica_constant(graph, MICA_F32, MICA_SHAPE(2), (const float[]){0.5f, 0.25f});
  mica_value in = mica_dequantize(mica_quantize(x, scale, zero, &bytes), scale, zero, NULL);
  mica_value y = mica_conv(in, mica_dequantize(w, scales, (mica_value){0}, &rows), (mica_value){0}, NULL);
  write_model(mica_dequantize(mica_quantize(y, scale, zero, &bytes), scale, zero, NULL), 0);
  ck_assert_str_eq(operators(), "QuantizeLinear DequantizeLinear Conv ");
}
END_TEST

/* A spectrum is one operator, its window in the type of the signal; what is done to frames before needs them apart. */
START_TEST(spectra_are_operators) {
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC));
  write_model(mica_stft(x, &(mica_stft_config){.length = 16, .hop = 4, .pad = MICA_SIGNAL_PAD_NONE}), 0);
  ck_assert_str_eq(operators(), "Unsqueeze STFT Transpose ");
  const mica_mel_config speech = mica_mel_kaldi(1000, 4);
  write_model(mica_mel(x, &speech), 0);
  ck_assert_msg(!strstr(operators(), "STFT") && strstr(operators(), "Range") && !strstr(operators(), "Cast"), "%s",
                operators());
}
END_TEST

/* What is said of ports is read back; of names that there are not, nothing. */
START_TEST(ports_are_described) {
  const mica_onnx_text docs[] = {{"x", "what goes \"in\""}, {"none", "of nothing"}, {"out", "what comes"}};
  const char *name = "out";
  mica_value y = mica_relu(input(MICA_SHAPE(MICA_DYNAMIC, 2)));
  const mica_onnx_write_config how = {.output_names = &name, .docs = docs, .doc_count = 3};
  mica_onnx *model = NULL;
  ck_assert_msg(mica_onnx_write(path, &y, 1, &how) == MICA_OK, "%s", mica_error_message());
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "%s", mica_error_message());
  ck_assert_str_eq(mica_onnx_input(model, 0).doc, "what goes \"in\"");
  ck_assert_str_eq(mica_onnx_output_port(model, 0).doc, "what comes");
  mica_onnx_close(model);
  write_model(mica_exp(y), 0);
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "%s", mica_error_message());
  ck_assert_str_eq(mica_onnx_input(model, 0).doc, "");
  mica_onnx_close(model);
}
END_TEST

/* A model whose output `name` has three columns, and "classes" in its metadata; its classes as "a|b|c". */
static const char *classes_of(const char *name, const char *json) {
  static char all[200];
  char one[8];
  const mica_onnx_text classes = {"classes", json};
  mica_value y = mica_relu(input(MICA_SHAPE(MICA_DYNAMIC, 3)));
  const mica_onnx_write_config how = {.output_names = &name, .metadata = &classes, .metadata_count = 1};
  mica_onnx *model = NULL;
  ck_assert_msg(mica_onnx_write(path, &y, 1, &how) == MICA_OK, "%s", mica_error_message());
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "%s", mica_error_message());
  *all = '\0';
  for (size_t i = 0; i < mica_onnx_class_count(model, 0); i++) {
    ck_assert(mica_onnx_class_name(model, 0, i, one, sizeof one));
    snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? "|" : "", one);
  }
  ck_assert(!mica_onnx_class_name(model, 0, mica_onnx_class_count(model, 0), one, sizeof one));
  ck_assert(!mica_onnx_class_name(model, 1, 0, one, sizeof one));
  mica_onnx_close(model);
  mica_graph_destroy(graph);
  ck_assert(mica_graph_create(&graph) == MICA_OK);
  return all;
}

/* Exports of runs name their classes in the metadata. */
START_TEST(classes_of_exports_have_names) {
  ck_assert_str_eq(classes_of("shares", "[\"cat\", \"a \\\"dog\\\"\", \"\\u00fc \\n\"]"), "cat|a \"dog\"|\u00fc \n");
  ck_assert_str_eq(classes_of("shares", " [ \"a name that is cut\" ,\"\",\"\\ud83d\" ] "), "a name ||\ufffd");
  static const char *const others[] = {"",
                                       "[]",
                                       "[\"a\", \"b\"]",
                                       "[\"a\", \"b\", 3]",
                                       "{\"a\": 1}",
                                       "[\"a\", \"b\", \"c\"",
                                       "[\"a\", \"b\", \"c\",]",
                                       "[\"a\" \"b\" \"c\"]",
                                       "[\"a\", \"b\", \"\\x\"]",
                                       "[\"a\", \"b\", \"\\u12\"]",
                                       "[\"a\", \"b\", \"c\\"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) ck_assert_str_eq(classes_of("shares", others[i]), "");
  ck_assert_str_eq(classes_of("y", "[\"a\", \"b\", \"c\"]"), "");
}
END_TEST

/* Names are read in time that grows with their number, not with its square. */
START_TEST(many_classes_have_names) {
  enum { COUNT = 100000 };
  const char *name = "shares";
  char *json = malloc(12 * COUNT + 2), *at = json, one[16], want[16];
  ck_assert(json != NULL);
  for (int i = 0; i < COUNT; i++) at += snprintf(at, 12, "%c\"c%d\"", i ? ',' : '[', i);
  snprintf(at, 2, "]");
  const mica_onnx_text classes = {"classes", json};
  mica_value y = mica_relu(input(MICA_SHAPE(MICA_DYNAMIC, COUNT)));
  const mica_onnx_write_config how = {.output_names = &name, .metadata = &classes, .metadata_count = 1};
  mica_onnx *model = NULL;
  ck_assert_msg(mica_onnx_write(path, &y, 1, &how) == MICA_OK, "%s", mica_error_message());
  free(json);
  const clock_t begin = clock();
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "%s", mica_error_message());
  ck_assert_uint_eq(mica_onnx_class_count(model, 0), COUNT);
  for (size_t i = 0; i < COUNT; i++) {
    ck_assert(mica_onnx_class_name(model, 0, i, one, sizeof one));
    snprintf(want, sizeof want, "c%zu", i);
    ck_assert_str_eq(one, want);
    ck_assert_msg((double)(clock() - begin) / CLOCKS_PER_SEC < 20, "%zu names take longer than 20 s", i + 1);
  }
  mica_onnx_close(model);
}
END_TEST

START_TEST(recurrent_weights_are_in_the_file) {
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, 5, 3));
  const mica_rnn_config how = {.kind = MICA_RNN_KIND_LSTM, .batch_first = true};
  mica_rnn_results y =
      mica_rnn(x, numbers(MICA_SHAPE(1, 8, 3)), numbers(MICA_SHAPE(1, 8, 2)), numbers(MICA_SHAPE(1, 16)), &how);
  write_model(y.y, 0);
  ck_assert_str_eq(operators(), "Transpose LSTM ");
}
END_TEST

/* "w" of the file is what numbers() makes, times a factor. */
static void holds_weights(float factor) {
  mica_onnx *model = NULL;
  const char *name = NULL;
  mica_dtype dtype;
  mica_shape shape;
  void *data = NULL;
  ck_assert_msg(mica_onnx_open(path, &model) == MICA_OK, "%s", mica_error_message());
  ck_assert_str_eq(mica_onnx_metadata(model, "note"), "a text");
  for (size_t i = 0; !name || strcmp(name, "w") != 0; i++) {
    mica_free(data);
    ck_assert(mica_onnx_initial_read(model, i, &name, &dtype, &shape, &data) == MICA_OK && name);
  }
  for (int i = 0; i < 2000; i++) ck_assert(((float *)data)[i] == factor * ((float)(i % 7) - 3));
  mica_free(data);
  mica_onnx_close(model);
}

static mica_status write_beside(float factor, const char *text) {
  float w[2000];
  for (int i = 0; i < 2000; i++) w[i] = factor * ((float)(i % 7) - 3);
  mica_value weight = mica_named(mica_constant(graph, MICA_F32, MICA_SHAPE(40, 50), w), "w");
  mica_value y = mica_add(mica_matmul(input(MICA_SHAPE(MICA_DYNAMIC, 40)), weight), numbers(MICA_SHAPE(50)));
  const mica_onnx_text note = {"note", text};
  const mica_onnx_write_config how = {.external_bytes = 1000, .metadata = &note, .metadata_count = 1};
  mica_status status = mica_onnx_write(path, &y, 1, &how);
  mica_graph_destroy(graph);
  ck_assert(mica_graph_create(&graph) == MICA_OK);
  return status;
}

START_TEST(large_weights_lie_beside) {
  struct stat about;
  ck_assert(write_beside(1, "a text") == MICA_OK);
  ck_assert(stat(beside(1), &about) == 0 && about.st_size == 40 * 50 * 4);
  holds_weights(1);
}
END_TEST

/* By turns, and the ones before are gone. */
START_TEST(weights_beside_are_not_written_over) {
  for (int i = 1; i <= 4; i++) {
    ck_assert_msg(write_beside((float)i, "a text") == MICA_OK, "%s", mica_error_message());
    holds_weights((float)i);
    ck_assert(access(beside(i % 2 ? 1 : 2), F_OK) == 0 && access(beside(i % 2 ? 2 : 1), F_OK) != 0);
  }
}
END_TEST

/* The file of weights has room and the model, with its long text, has none: what was there is as it was. */
START_TEST(a_write_that_fails_leaves_the_weights) {
  static char longer[20000];
  struct rlimit most;
  memset(longer, 'x', sizeof longer - 1);
  ck_assert(write_beside(1, "a text") == MICA_OK);
  ck_assert(signal(SIGXFSZ, SIG_IGN) != SIG_ERR && getrlimit(RLIMIT_FSIZE, &most) == 0);
  const struct rlimit little = {.rlim_cur = 10000, .rlim_max = most.rlim_max};
  ck_assert(setrlimit(RLIMIT_FSIZE, &little) == 0);
  mica_status status = write_beside(2, longer);
  ck_assert(setrlimit(RLIMIT_FSIZE, &most) == 0);
  ck_assert_int_eq(status, MICA_E_IO);
  holds_weights(1);
  ck_assert(access(beside(2), F_OK) != 0);
}
END_TEST

START_TEST(what_has_no_form_is_refused) {
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, 6)), step = mica_scalar(graph, MICA_I64, 1);
  mica_value y = mica_relu(mica_named(mica_random_normal(step, x, 1, 0, 1), "noise"));
  refused(mica_onnx_write(path, &y, 1, NULL), MICA_E_UNSUPPORTED, "'noise': the op cannot be expressed in ONNX");
  y = mica_bit_and(mica_cast(x, MICA_I32), mica_scalar(graph, MICA_I32, 3));
  refused(mica_onnx_write(path, &y, 1, NULL), MICA_E_UNSUPPORTED, "BitwiseAnd of operator set 18");
  y = mica_relu(mica_parameter(graph, "weight", MICA_F32, MICA_SHAPE(3)));
  refused(mica_onnx_write(path, &y, 1, NULL), MICA_E_UNSUPPORTED, "'weight': the parameter's values are in a session");
}
END_TEST

START_TEST(wrong_calls_are_refused) {
  mica_value x = input(MICA_SHAPE(MICA_DYNAMIC, 6)), y = mica_relu(x), twice[] = {y, y};
  const mica_onnx_write_config old = {.opset = 12}, taken = {.output_names = (const char *const[]){"x"}};
  refused(mica_onnx_write(NULL, &y, 1, NULL), MICA_E_INVALID, "a pointer is NULL");
  refused(mica_onnx_write(path, &y, 0, NULL), MICA_E_INVALID, "the number of outputs is 0");
  refused(mica_onnx_write(path, &(mica_value){0}, 1, NULL), MICA_E_INVALID, "output 0 is null");
  refused(mica_onnx_write(path, &y, 1, &old), MICA_E_INVALID, "operator set 12 cannot be written; choose 17 to 23");
  refused(mica_onnx_write(path, &x, 1, NULL), MICA_E_INVALID, "is an input");
  refused(mica_onnx_write(path, twice, 2, NULL), MICA_E_INVALID, "listed twice");
  refused(mica_onnx_write(path, &y, 1, &taken), MICA_E_INVALID, "'x' is the name of an output and of another value");
  char inside[600];
  write_model(y, 0);
  snprintf(inside, sizeof inside, "%s/further.onnx", path);
  ck_assert_int_eq(mica_onnx_write(inside, &y, 1, NULL), MICA_E_IO);
  ck_assert_str_eq(operators(), "Relu ");
}
END_TEST

TESTS(NEEDS(ONNX), setup, teardown, marks_are_operators, sets_have_their_operators, quantisation_is_pairs,
      recurrent_weights_are_in_the_file, spectra_are_operators, ports_are_described, classes_of_exports_have_names,
      many_classes_have_names, large_weights_lie_beside, weights_beside_are_not_written_over,
      a_write_that_fails_leaves_the_weights, what_has_no_form_is_refused, wrong_calls_are_refused)
