/* labels: device single
 *
 * Decoders as onnxruntime-genai exports them, beside what onnxruntime gives: single operators, and steps of a decoder
 * with its caches. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/golden.h"
#include "support/onnx_node.h"

#include <dirent.h>
#include <math.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOLERANCE 1e-5
enum { PORTS = 6, RESULTS = 5, STEPS = 5 };

static void check_case(const char *name, int sets) {
  char path[900];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  snprintf(path, sizeof path, "%s/%.200s/model.onnx", golden_path("decoder", ""), name);
  ck_ok(mica_onnx_open(path, &model));
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  for (int i = 0; i < sets; i++) {
    snprintf(path, sizeof path, "%s/%.200s/test_data_set_%d", golden_path("decoder", ""), name, i);
    ck_ok(mica_onnx_check(runner, test_queue(), path, TOLERANCE, TOLERANCE));
  }
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}

START_TEST(operators_give_what_onnxruntime_gives) {
  int cases = 0;
  DIR *folder = opendir(golden_path("decoder", ""));
  ck_assert_ptr_nonnull(folder);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    if (!strchr(entry->d_name, '-')) continue;
    check_case(entry->d_name, 1);
    cases++;
  }
  closedir(folder);
  ck_assert_int_ge(cases, 25);
}
END_TEST

static const float zeros[2 * 8 * 8];

/* A model of one node of com.microsoft: x and y have this type and these dimensions; w is (2, 8, 8), r (6, 2) and q
 * (?, 8, 8), of floats; n and m are numbers. q is an input if the node has it. */
static mica_onnx *node_alone(const char *text, const attribute *attributes, int type, const int64_t *dims) {
  mica_onnx *model = NULL;
  mica__text graph = {0}, node = node_with(text, attributes), set = {0};
  mica__text x = wire_port("x", type, dims), y = wire_port("y", type, dims);
  mica__text w = wire_tensor("w", FLOAT, (int64_t[]){2, 8, 8, -1}, zeros, sizeof zeros);
  mica__text r = wire_tensor("r", FLOAT, (int64_t[]){6, 2, -1}, zeros, 12 * sizeof *zeros);
  mica__text n = wire_tensor("n", INT32, (int64_t[]){2, -1}, (const int32_t[]){2, 2}, 8);
  mica__text m = wire_tensor("m", INT32, (int64_t[]){-1}, (const int32_t[]){5}, 4);
  wire_text(&node, 7, "com.microsoft");
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &w);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &r);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &n);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &m);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  if (strstr(text, " q ")) {
    mica__text q = wire_port("q", FLOAT, (int64_t[]){MICA_DYNAMIC - 1, 8, 8, -1});
    wire_inside(&graph, WIRE_GRAPH_INPUT, &q);
  }
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  mica__text file = wire_model_of(&graph, 21);
  wire_text(&set, 1, "com.microsoft");
  wire_int(&set, 2, 1);
  wire_inside(&file, 8, &set);
  ck_ok(mica_onnx_open_memory("m", file.data, file.length, &model));
  mica__text_free(&file);
  return model;
}

/* What a runner of one node says if x is (2, 3, 8). */
static mica_status try_node(const char *text, const attribute *attributes) {
  mica_onnx_runner *runner = NULL;
  mica_onnx *model = node_alone(text, attributes, FLOAT, (int64_t[]){2, 3, 8, -1});
  mica_status status = mica_onnx_runner_create(test_engine(), model, NULL, &runner);
  const mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(2, 3, 8), .data = zeros};
  if (status == MICA_OK) status = mica_onnx_run(runner, test_queue(), &feed, 1);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
  return status;
}

#define HEADS NUMBER("num_heads", 2), NUMBER("kv_num_heads", 2)

/* Options that Mica lacks, and operands that do not fit. */
START_TEST(what_does_not_fit_is_refused) {
  static const struct {
    const char *node;
    attribute list[5];
    const char *sentence;
  } wrong[] = {
      {"GroupQueryAttention x x x - - n m > y",
       {HEADS},
       "total_sequence_length is 5, but past_key has 0 rows and query"},
      {"GroupQueryAttention x x x - - n m > y",
       {NUMBER("num_heads", 3), NUMBER("kv_num_heads", 2)},
       "num_heads (3) must be a multiple of kv_num_heads (2)"},
      {"GroupQueryAttention x x x - - n n > y", {HEADS}, "total_sequence_length has 2 numbers, but must have 1"},
      {"GroupQueryAttention x x - - - n m > y", {HEADS}, "key is given, but value is not"},
      {"GroupQueryAttention x x x w - n m > y", {HEADS, TEXT("k_quant_type", "PER_TENSOR")}, "a quantised cache"},
      {"GroupQueryAttention x x x w - n m > y", {HEADS}, "past_key is given, but past_value is not"},
      {"GroupQueryAttention x x x - w n m > y", {HEADS}, "past_value is given, but past_key is not"},
      {"MultiHeadAttention x x x - - - w > y", {NUMBER("num_heads", 2)}, "past_key is given, but past_value is not"},
      {"MultiHeadAttention x x x - - - - w > y", {NUMBER("num_heads", 2)}, "past_value is given, but past_key is not"},
      {"Attention x w > y",
       {NUMBER("num_heads", 2), LIST("qkv_hidden_sizes", 4, 4)},
       "qkv_hidden_sizes has 2 numbers, but must have 3"},
      {"GroupQueryAttention x x x - - n m > y a b c", {HEADS}, "the output output_qk is not supported"},
      {"GroupQueryAttention x x x - - n m > y",
       {HEADS, NUMBER("sliding_window_cache", 1), NUMBER("local_window_size", 2)},
       "local_window_size is 2, but with sliding_window_cache it must be from 1 to"},
      {"Attention x w > y", {NUMBER("num_heads", 2)}, "the weight is (2, 8, 8), but must be a matrix"},
      {"RotaryEmbedding x n w w > y", {NUMBER("num_heads", 2)}, "cos_cache is (2, 8, 8), but must have rank 2"},
      {"RotaryEmbedding x m r r > y", {REAL("scale", 2)}, "scale is 2, but only 1 is supported"},
      {"MatMulNBits x w w > y",
       {NUMBER("K", 8), NUMBER("N", 8), NUMBER("block_size", 16), NUMBER("bits", 3)},
       "bits is 3, but must be 2, 4 or 8"},
      {"MatMulNBits x w w > y", {NUMBER("K", 8), NUMBER("N", 8), NUMBER("block_size", 16)}, "reshape"},
      {"GatherBlockQuantized w n w > y",
       {NUMBER("block_size", 24)},
       "block_size is 24, but must be a power of two from 16"},
      {"GatherBlockQuantized w n w > y", {{0}}, "data must be of type int4, uint4 or uint8"},
      {"MoE x r w - w > y", {NUMBER("k", 3)}, "k is 3, but must be 1 to 2, the number of experts"},
      {"MoE x r w - w > y", {TEXT("activation_type", "swiglu")}, "needs the input fc3_experts_weights"},
      {"MoE x r w - w > y", {REAL("swiglu_limit", -1)}, "swiglu_limit is -1, but must be 0 or above"},
      {"QMoE x r w w - w w > y", {{0}}, "fc1_experts_weights must be of type uint8"},
      {"QMoE x r w w - w w > y", {TEXT("quant_type", "fp4")}, "only quant_type 'int' is supported"},
      {"QMoE x r w w - w w > y", {NUMBER("weights_prepacked", 1)}, "weights_prepacked is 1, but Mica needs"},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    ck_assert_int_ne(try_node(wrong[i].node, wrong[i].list), MICA_OK);
    ck_assert_msg(strstr(mica_error_message(), wrong[i].sentence), "%zu: %s", i, mica_error_message());
  }
}
END_TEST

START_TEST(open_positions_are_refused) {
  mica_onnx *model = node_alone("RotaryEmbedding q x r r > y", (const attribute[]){NUMBER("num_heads", 2), {0}}, INT64,
                                (int64_t[]){MICA_DYNAMIC - 1, 8, -1});
  mica_onnx_parameter *parameters = NULL;
  mica_graph *graph = NULL;
  mica_value output;
  size_t count = 0;
  ck_ok(mica_graph_create(&graph));
  const mica_value inputs[] = {mica_input(graph, "x", MICA_I64, MICA_SHAPE(MICA_DYNAMIC, 8)),
                               mica_input(graph, "q", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 8, 8))};
  ck_assert_int_ne(mica_onnx_build(model, graph, inputs, 2, &output, 1, NULL, &parameters, &count), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "position_ids is (?, 8), but its dimensions must be known"), "%s",
                mica_error_message());
  mica_graph_destroy(graph);
  mica_free(parameters);
  mica_onnx_close(model);
}
END_TEST

/* An input of a step: from its file, or what the last step gave. */
typedef struct held {
  mica_dtype dtype;
  mica_shape shape;
  void *data;
} held;

static held held_from(const char *folder, const char *kind, int set, size_t k) {
  char path[700];
  held h;
  snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%zu.pb", folder, set, kind, k);
  ck_ok(mica_onnx_tensor_read(path, &h.dtype, &h.shape, &h.data));
  return h;
}

static held held_of(const mica_tensor *tensor) {
  held h = {mica_tensor_dtype(tensor), mica_tensor_shape(tensor), malloc(mica_tensor_bytes(tensor) + 1)};
  ck_assert_ptr_nonnull(h.data);
  ck_ok(mica_tensor_download(test_queue(), tensor, h.data, mica_tensor_bytes(tensor)));
  return h;
}

static void compare_logits(const char *folder, int step, const mica_tensor *tensor) {
  held want = held_from(folder, "output", step, 0), got = held_of(tensor);
  const float *y = got.data, *w = want.data;
  int64_t count = 0;
  ck_ok(mica_shape_count(got.shape, &count));
  ck_assert(mica_shape_equal(got.shape, want.shape));
  for (int64_t i = 0; i < count; i++)
    ck_assert_msg(fabs((double)y[i] - (double)w[i]) <= TOLERANCE * fmax(1, fabs((double)w[i])),
                  "step %d: logit %d is %.9g, not %.9g", step, (int)i, (double)y[i], (double)w[i]);
  free(want.data);
  free(got.data);
}

/* A prompt, single tokens and three at once: each step is given the caches that the last one made here. */
START_TEST(a_decoder_gets_its_own_caches_back) {
  char path[600];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  held cache[RESULTS - 1];
  const char *folder = golden_path("decoder", "llama");
  snprintf(path, sizeof path, "%s/model.onnx", folder);
  ck_ok(mica_onnx_open(path, &model));
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  ck_assert_uint_eq(mica_onnx_input_count(model), PORTS);
  ck_assert_uint_eq(mica_onnx_output_count(model), RESULTS);
  for (size_t k = 0; k < RESULTS - 1; k++) cache[k] = held_from(folder, "input", 0, 2 + k);
  for (int step = 0; step < STEPS; step++) {
    held ids = held_from(folder, "input", step, 0), mask = held_from(folder, "input", step, 1);
    const held *all[PORTS] = {&ids, &mask, &cache[0], &cache[1], &cache[2], &cache[3]};
    mica_onnx_feed feeds[PORTS];
    for (size_t k = 0; k < PORTS; k++)
      feeds[k] = (mica_onnx_feed){
          .name = mica_onnx_input(model, k).name, .dtype = all[k]->dtype, .shape = all[k]->shape, .data = all[k]->data};
    ck_ok(mica_onnx_run(runner, test_queue(), feeds, PORTS));
    compare_logits(folder, step, mica_onnx_output(runner, 0));
    for (size_t k = 0; k < RESULTS - 1; k++) {
      free(cache[k].data);
      cache[k] = held_of(mica_onnx_output(runner, 1 + k));
    }
    free(ids.data);
    free(mask.data);
  }
  for (size_t k = 0; k < RESULTS - 1; k++) free(cache[k].data);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, operators_give_what_onnxruntime_gives, what_does_not_fit_is_refused,
      open_positions_are_refused, a_decoder_gets_its_own_caches_back)
