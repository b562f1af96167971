/* Models of one operator with any numbers as extents, attributes and operands: lowered, planned and run on the null
 * device. The bytes choose an operator, the extents of x, and numbers. */
#include "fuzz/fuzz.h"
#include "support/wire.h"

#include <mica/onnx.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_ONNX
/* A node on x (f32), on integers n and m and on bytes u; attributes of lists and of single integers. Version 0 stands
 * for com.microsoft, those up to 5 for ai.onnx.ml. */
static const struct {
  int64_t version;
  const char *node, *lists[3], *numbers[3], *text, *value;
} operators[] = {
    {17, "DFT x n > y", {NULL}, {"axis", "inverse", "onesided"}, NULL, NULL},
    {17, "STFT x n - m > y", {NULL}, {"onesided", NULL}, NULL, NULL},
    {17, "HannWindow n > y", {NULL}, {"periodic", NULL}, NULL, NULL},
    {17, "MelWeightMatrix n n m x x > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Expand x n > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Tile x n > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Reshape x n > y", {NULL}, {"allowzero", NULL}, NULL, NULL},
    {17, "ConstantOfShape n > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Range n m n > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Slice x n m > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Slice x n m n m > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Pad x n > y", {NULL}, {NULL}, "mode", "edge"},
    {17, "Pad x n > y", {NULL}, {NULL}, "mode", "reflect"},
    {18, "Pad x n - m > y", {NULL}, {NULL}, NULL, NULL},
    {19, "Pad x n > y", {NULL}, {NULL}, "mode", "wrap"},
    {18, "CenterCropPad x n > y", {"axes"}, {NULL}, NULL, NULL},
    {17, "Split x n > a y", {NULL}, {"axis", NULL}, NULL, NULL},
    {18, "Split x - > a y", {NULL}, {"axis", "num_outputs"}, NULL, NULL},
    {17, "SplitToSequence x n > s", {NULL}, {"axis", "keepdims"}, NULL, NULL},
    {17, "Conv x x > y", {"strides", "dilations", "pads"}, {"group", NULL}, NULL, NULL},
    {17, "Conv x x > y", {"strides", "dilations", "pads"}, {"group", NULL}, "auto_pad", "SAME_UPPER"},
    {17, "ConvTranspose x x > y", {"strides", "output_padding", "output_shape"}, {"group", NULL}, NULL, NULL},
    {17, "ConvTranspose x x > y", {"strides", "dilations", "pads"}, {"group", NULL}, "auto_pad", "SAME_LOWER"},
    {19, "DeformConv x x x > y", {"strides", "dilations", "pads"}, {"group", "offset_group"}, NULL, NULL},
    {17, "MaxPool x > y i", {"kernel_shape", "strides", "dilations"}, {"ceil_mode", "storage_order"}, NULL, NULL},
    {19, "AveragePool x > y", {"kernel_shape", "pads", "dilations"}, {"ceil_mode", "count_include_pad"}, NULL, NULL},
    {18, "LpPool x > y", {"kernel_shape", "strides", "pads"}, {"p", NULL}, NULL, NULL},
    {17, "MaxUnpool x n m > y", {"kernel_shape", "strides", "pads"}, {NULL}, NULL, NULL},
    {18, "Col2Im x n m > y", {"strides", "dilations", "pads"}, {NULL}, NULL, NULL},
    {20, "AffineGrid x n > y", {NULL}, {"align_corners", NULL}, NULL, NULL},
    {17, "DepthToSpace x > y", {NULL}, {"blocksize", NULL}, "mode", "CRD"},
    {17, "SpaceToDepth x > y", {NULL}, {"blocksize", NULL}, "mode", "CRD"},
    {17, "SpaceToDepth x > y", {NULL}, {"blocksize", NULL}, NULL, NULL},
    {18, "Resize x - - n > y", {"axes"}, {"antialias", "exclude_outside"}, NULL, NULL},
    {18, "Resize x - - n > y", {"axes"}, {"antialias", NULL}, "keep_aspect_ratio_policy", "not_larger"},
    {18, "Resize x - x > y", {"axes"}, {"antialias", NULL}, "mode", "cubic"},
    {17, "RoiAlign x x n > y", {NULL}, {"output_height", "output_width", "sampling_ratio"}, NULL, NULL},
    {17, "OneHot n m x > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "Gather x n > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "GatherND x n > y", {NULL}, {"batch_dims", NULL}, NULL, NULL},
    {17, "GatherElements x n > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "ScatterND x n x > y", {NULL}, {NULL}, NULL, NULL},
    {17, "ScatterElements x n x > y", {NULL}, {"axis", NULL}, "reduction", "add"},
    {24, "TensorScatter x x n > y", {NULL}, {"axis", NULL}, "mode", "circular"},
    {17, "Trilu x n > y", {NULL}, {"upper", NULL}, NULL, NULL},
    {17, "EyeLike x > y", {NULL}, {"k", "dtype"}, NULL, NULL},
    {17, "TopK x n > y i", {NULL}, {"axis", "sorted"}, NULL, NULL},
    {17, "CumSum x n > y", {NULL}, {"exclusive", "reverse"}, NULL, NULL},
    {17, "Concat x x x > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "MatMul x x > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Gemm x x > y", {NULL}, {"transA", "transB"}, NULL, NULL},
    {17, "Transpose x > y", {"perm"}, {NULL}, NULL, NULL},
    {17, "Flatten x > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "Squeeze x n > y", {NULL}, {NULL}, NULL, NULL},
    {17, "Unsqueeze x n > y", {NULL}, {NULL}, NULL, NULL},
    {17, "ReduceSum x n > y", {NULL}, {"keepdims", "noop_with_empty_axes"}, NULL, NULL},
    {17, "ArgMax x > y", {NULL}, {"axis", "select_last_index"}, NULL, NULL},
    {17, "ReverseSequence x n > y", {NULL}, {"time_axis", "batch_axis"}, NULL, NULL},
    {17, "LRN x > y", {NULL}, {"size", NULL}, NULL, NULL},
    {18, "GroupNormalization x x x > y", {NULL}, {"num_groups", NULL}, NULL, NULL},
    {17, "LayerNormalization x x > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "LSTM x x x > y", {NULL}, {"hidden_size", "layout"}, "direction", "bidirectional"},
    {17, "GRU x x x > y", {NULL}, {"hidden_size", "linear_before_reset"}, NULL, NULL},
    {21, "QuantizeLinear x x > y", {NULL}, {"axis", "block_size", "output_dtype"}, NULL, NULL},
    {21, "DequantizeLinear n x > y", {NULL}, {"axis", "block_size"}, NULL, NULL},
    {24, "Attention x x x > y", {NULL}, {"q_num_heads", "kv_num_heads", "is_causal"}, NULL, NULL},
    {24, "Attention x x x x > y", {NULL}, {"q_num_heads", "kv_num_heads", "softcap"}, NULL, NULL},
    {24, "LinearAttention x x x > y", {NULL}, {"q_num_heads", "kv_num_heads"}, "update_rule", "linear"},
    {24, "LinearAttention x x x x x x > y", {NULL}, {"q_num_heads", "kv_num_heads"}, "update_rule", "gated_delta"},
    {24, "RotaryEmbedding x x x > y", {NULL}, {"num_heads", "rotary_embedding_dim", "interleaved"}, NULL, NULL},
    {17, "GridSample x x > y", {NULL}, {"align_corners", NULL}, "padding_mode", "reflection"},
    {17, "NonMaxSuppression x x n > y", {NULL}, {"center_point_box", NULL}, NULL, NULL},
    {17, "Unique x > y", {NULL}, {"axis", "sorted"}, NULL, NULL},
    {17, "Compress x n > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "Softmax x > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "Hardmax x > y", {NULL}, {"axis", NULL}, NULL, NULL},
    {17, "RandomNormal > y", {"shape"}, {"dtype", NULL}, NULL, NULL},
    {17, "RandomUniformLike x > y", {NULL}, {"dtype", NULL}, NULL, NULL},
    {17, "Multinomial x > y", {NULL}, {"sample_size", "dtype"}, NULL, NULL},
    {17, "Bernoulli x > y", {NULL}, {"dtype", NULL}, NULL, NULL},
    {17, "Einsum x > y", {NULL}, {NULL}, "equation", "...ii->...i"},
    {17, "Einsum x x > y", {NULL}, {NULL}, "equation", "iij,j...->i"},
    {28, "SwiGLU x x > y", {NULL}, {NULL}, NULL, NULL},
    {21, "Cast n > y", {NULL}, {"to", NULL}, NULL, NULL},
    {0, "GroupQueryAttention x x x x x n m > y", {NULL}, {"num_heads", "kv_num_heads", "causal"}, NULL, NULL},
    {0, "GroupQueryAttention x - - - - n m x x n > y", {NULL}, {"num_heads", "kv_num_heads", "do_rotary"}, NULL, NULL},
    {0, "GroupQueryAttention x x x x x n m - - - x x > y", {NULL}, {"num_heads", "kv_num_heads"}, NULL, NULL},
    {0, "RotaryEmbedding x n x x > y", {NULL}, {"num_heads", "rotary_embedding_dim", "interleaved"}, NULL, NULL},
    {0, "MultiHeadAttention x x x > y", {NULL}, {"num_heads", "unidirectional"}, NULL, NULL},
    {0, "MatMulNBits x u x > y", {NULL}, {"K", "N", "block_size"}, NULL, NULL},
    {0, "MatMulNBits x u x u n x > y", {NULL}, {"K", "N", "block_size"}, NULL, NULL},
    {0, "GatherBlockQuantized u n x > y", {NULL}, {"block_size", "bits", "quantize_axis"}, NULL, NULL},
    {0, "GatherBlockQuantized u n x u > y", {NULL}, {"block_size", "gather_axis", "quantize_axis"}, NULL, NULL},
    {0, "MoE x x x x x x > y", {NULL}, {"k", "swiglu_fusion"}, "activation_type", "swiglu"},
    {0, "MoE x x x - x - x > y", {NULL}, {"k", "normalize_routing_weights"}, "activation_type", "silu"},
    {0, "QMoE x x u x - u x > y", {NULL}, {"k", "block_size", "expert_weight_bits"}, NULL, NULL},
    {0, "QMoE x x u x x u x x - - - u u > y", {NULL}, {"k", "block_size"}, "activation_type", "gelu"},
    {1, "ArrayFeatureExtractor x n > y", {NULL}, {NULL}, NULL, NULL},
    {1, "FeatureVectorizer x x > y", {"inputdimensions"}, {NULL}, NULL, NULL},
    {1, "Imputer n > y", {"imputed_value_int64s"}, {"replaced_value_int64"}, NULL, NULL},
    {1, "ZipMap x > y", {"classlabels_int64s"}, {NULL}, NULL, NULL},
    {1, "OneHotEncoder n > y", {"cats_int64s"}, {"zeros"}, NULL, NULL},
    {2, "LabelEncoder n > y", {"keys_int64s", "values_int64s"}, {"default_int64"}, NULL, NULL},
    {1, "LinearRegressor x > y", {NULL}, {"targets"}, "post_transform", "PROBIT"},
    {1, "SVMClassifier x > y z", {"vectors_per_class", "classlabels_ints"}, {NULL}, "kernel_type", "RBF"},
    {1, "SVMRegressor x > y", {NULL}, {"n_supports", "one_class"}, "kernel_type", "POLY"},
    {3, "TreeEnsembleRegressor x > y", {NULL}, {"n_targets", NULL}, "aggregate_function", "MIN"},
    {3, "TreeEnsembleClassifier x > y z", {"classlabels_int64s"}, {NULL}, "post_transform", "LOGISTIC"},
};
#define OPERATORS (sizeof operators / sizeof *operators)

typedef struct bytes {
  const uint8_t *at, *end;
} bytes;

static uint8_t next(bytes *b) { return b->at < b->end ? *b->at++ : 0; }

/* Small numbers, and those about which sums and products wrap. */
static int64_t number(bytes *b) {
  static const int64_t list[] = {INT64_MIN,
                                 INT64_MIN + 1,
                                 INT64_MAX,
                                 INT64_MAX - 1,
                                 INT64_C(1) << 62,
                                 -(INT64_C(1) << 62),
                                 INT64_C(1) << 40,
                                 (INT64_C(1) << 32) + 2,
                                 INT64_C(1) << 32,
                                 INT64_C(1) << 31,
                                 INT32_MAX,
                                 INT32_MIN,
                                 65536,
                                 1 << 24,
                                 46341,
                                 3037000500};
  const uint8_t byte = next(b);
  return byte < 32 ? list[byte % 16] : byte % 2 ? (int64_t)(byte / 2 % 8) : (int64_t)(byte / 2 % 24) - 4;
}

static int64_t list_of(bytes *b, int64_t values[8]) {
  const int64_t count = next(b) % 9;
  for (int64_t i = 0; i < count; i++) values[i] = number(b);
  return count;
}

static void add_attribute(mica__text *node, const char *name, bytes *b, bool list, const char *text) {
  int64_t values[8];
  mica__text attribute = {0};
  wire_text(&attribute, 1, name);
  const int64_t count = list ? list_of(b, values) : 0;
  for (int64_t i = 0; i < count; i++) wire_int(&attribute, 8, values[i]);
  if (!list && !text) wire_int(&attribute, 3, number(b));
  if (text) wire_text(&attribute, 4, text);
  wire_int(&attribute, 20, text ? 3 : list ? 7 : 2);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &attribute);
}

static void add_integers(mica__text *graph, const char *name, bytes *b) {
  int64_t values[8], dims[] = {list_of(b, values), -1};
  const bool scalar = dims[0] == 1 && next(b) % 2;
  mica__text tensor = wire_tensor(name, 7, scalar ? dims + 1 : dims, values, (size_t)dims[0] * sizeof *values);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
}

static void add_bytes(mica__text *graph, const char *name, bytes *b) {
  static const uint8_t values[7 * 7 * 7];
  int64_t dims[4], count = 1;
  const int rank = next(b) % 4;
  for (int i = 0; i < rank; i++) count *= dims[i] = next(b) % 7;
  dims[rank] = -1;
  mica__text tensor = wire_tensor(name, 2, dims, values, (size_t)count);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
}

/* Lists of reals of an operator of ai.onnx.ml. */
static void add_reals(mica__text *node, const char *name, bytes *b, int64_t count) {
  mica__text attribute = {0};
  wire_text(&attribute, 1, name);
  for (int64_t i = 0; i < count; i++) wire_float(&attribute, 7, (float)number(b));
  wire_int(&attribute, 20, 6);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &attribute);
}

/* Up to 8 nodes of trees whose numbers are the fuzzer's: names, branches, features, and what leaves count for. */
static void add_trees(mica__text *node, bytes *b, bool regressor) {
  static const char *const lists[] = {"nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_truenodeids",
                                      "nodes_falsenodeids"};
  static const char *const leaves[2][3] = {{"class_treeids", "class_nodeids", "class_ids"},
                                           {"target_treeids", "target_nodeids", "target_ids"}};
  static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_GT", "BRANCH_EQ", "LEAF"};
  const int64_t count = next(b) % 8 + 1, weights = next(b) % 8;
  mica__text words = {0};
  wire_text(&words, 1, "nodes_modes");
  for (int64_t i = 0; i < count; i++) wire_text(&words, 9, modes[next(b) % 4]);
  wire_int(&words, 20, 8);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &words);
  for (int k = 0; k < 8; k++) {
    mica__text list = {0};
    wire_text(&list, 1, k < 5 ? lists[k] : leaves[regressor][k - 5]);
    for (int64_t i = 0; i < (k < 5 ? count : weights); i++)
      wire_int(&list, 8, k == 1 && next(b) % 8 ? i : next(b) % 4 ? next(b) % 8 : number(b));
    wire_int(&list, 20, 7);
    wire_inside(node, WIRE_NODE_ATTRIBUTE, &list);
  }
  add_reals(node, "nodes_values", b, count);
  add_reals(node, regressor ? "target_weights" : "class_weights", b, weights);
}

static void add_ml(mica__text *node, const char *text, bytes *b) {
  wire_text(node, 7, "ai.onnx.ml");
  if (!strncmp(text, "Tree", 4)) add_trees(node, b, strstr(text, "Regressor") != NULL);
  if (!strncmp(text, "SVM", 3) || !strncmp(text, "Linear", 6)) add_reals(node, "coefficients", b, next(b) % 16);
  if (strncmp(text, "SVM", 3) != 0) return;
  add_reals(node, "support_vectors", b, next(b) % 16);
  add_reals(node, "rho", b, next(b) % 4);
}

static mica_shape model_of(bytes *b, mica__text *model) {
  /* All bytes choose the operator, so that a few seeds reach every one. */
  size_t at = 0;
  for (const uint8_t *byte = b->at; byte < b->end; byte++) at = (at * 31 + *byte) % OPERATORS;
  mica__text graph = {0}, node = wire_node(operators[at].node);
  int64_t dims[7];
  mica_shape shape = {.rank = next(b) % 6};
  for (int32_t i = 0; i < shape.rank; i++) dims[i] = shape.dim[i] = next(b) % 7;
  dims[shape.rank] = -1;
  add_integers(&graph, "n", b);
  add_integers(&graph, "m", b);
  if (!operators[at].version) add_bytes(&graph, "u", b);
  for (int k = 0; k < 3; k++) {
    if (operators[at].lists[k] && next(b) % 4) add_attribute(&node, operators[at].lists[k], b, true, NULL);
    if (operators[at].numbers[k] && next(b) % 4) add_attribute(&node, operators[at].numbers[k], b, false, NULL);
  }
  const bool microsoft = !operators[at].version, ml = !microsoft && operators[at].version <= 5;
  if (microsoft) wire_text(&node, 7, "com.microsoft");
  if (ml) add_ml(&node, operators[at].node, b);
  if (operators[at].text) add_attribute(&node, operators[at].text, b, false, operators[at].value);
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  mica__text x = wire_port("x", 1, dims), y = wire_port("y", 1, dims);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  *model = wire_model_of(&graph, ml || microsoft ? 17 : operators[at].version);
  if (ml || microsoft) {
    mica__text set = {0};
    wire_text(&set, 1, ml ? "ai.onnx.ml" : "com.microsoft");
    wire_int(&set, 2, ml ? operators[at].version : 1);
    wire_inside(model, 8, &set);
  }
  return shape;
}

static mica_engine *null_engine(void) {
  static mica_engine *engine;
  mica_engine_config config = mica_engine_config_default();
  config.device = "null";
  config.cache_dir = "";
  config.memory_bytes = 1 << 30; /* what a file of some bytes may ask for */
  if (!engine && mica_engine_create(&config, &engine) != MICA_OK) abort();
  return engine;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const float zeros[7 * 7 * 7 * 7 * 7];
  bytes b = {data, data + size};
  mica__text file = {0};
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  const mica_shape shape = model_of(&b, &file);
  if (mica_onnx_open_memory("fuzz", file.data, file.length, &model) == MICA_OK &&
      mica_onnx_runner_create(null_engine(), model, NULL, &runner) == MICA_OK) {
    const mica_onnx_feed x = {.name = "x", .dtype = MICA_F32, .shape = shape, .data = zeros};
    const mica_status status = mica_onnx_run(runner, mica_engine_queue(null_engine()), &x, 1);
    if (status != MICA_OK && strlen(mica_error_message()) < 10) abort();
  }
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
  mica__text_free(&file);
  return 0;
}

/* Numbers that operators take, huge ones, and both; a value of 3.5 GiB. */
bool fuzz_seed(size_t index, mica__text *seed) {
  static const char large[] = "\x20\xff\x8e\x8e\x8e\x8e\x8e\x8e\x8e\x8e\x8e\x30\x8e\x8e\xff\xff\xff\xff\x20\x20\x12\x20"
                              "\x20\x04\x01\x04\x04\x04\x15\x2a\x00\x20\x04\x01\x3f\x03\x00\x00\x00\x00\x63\x74\xa4";
  if (index > 4) return false;
  if (index == 4) mica__text_add_bytes(seed, large, sizeof large - 1);
  if (index == 4) return true;
  mica__text_add_bytes(seed, (const char[]){4, 1, 4, 4, 4}, 5);
  for (size_t i = 0; i < 40; i++)
    mica__text_add_bytes(seed, (const char[]){(char)(index % 2 ? i * 7 * index : 37 + 2 * (i % 4))}, 1);
  return true;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  (void)data, (void)size;
  return 0;
}

bool fuzz_seed(size_t index, mica__text *seed) {
  if (!index) mica__text_add(seed, "x");
  return index == 0;
}
#endif
