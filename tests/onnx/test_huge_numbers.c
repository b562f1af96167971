/* labels: null single
 *
 * Models with numbers beyond all sizes, and operands that do not fit: each is refused with a sentence before anything
 * is computed. Under UBSan no sum or product wraps. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/wire.h"

#include <mica/onnx.h>
#include <string.h>

typedef struct list {
  int64_t count, values[4];
} list;
#define LIST(...)                                                                                                      \
  {                                                                                                                    \
    (int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), { __VA_ARGS__ }                                     \
  }

/* An operator on x f32 of that shape, with integers n and m as operands, and attributes. */
typedef struct wrong {
  int64_t version;
  const char *node, *sentence;
  list x, n, m;
  const char *list_name, *number_name, *text_name; /* of attributes; NULL: none */
  list list;
  int64_t number;
  const char *text;
  bool scalars; /* n and m are, where they have one element */
  bool empty;   /* n is an empty list */
} wrong;

#define LARGEST "more than the 67108864 bytes of the largest buffer of null"
#define IMMENSE (INT64_C(1) << 62)
#define P(n) (INT64_C(1) << (n))

static const wrong cases[] = {
    /* Larger than the engine's memory, by operands and attributes alone. */
    {17, "Expand x n > y", LARGEST, .x = LIST(1), .n = LIST(56, P(24))},
    {17, "Tile x n > y", LARGEST, .x = LIST(2, 2), .n = LIST(P(14), P(14))},
    {17, "ConstantOfShape n > y", LARGEST, .x = LIST(1), .n = LIST(56, P(24))},
    {17, "Range n m n > y", "a range of 1.07374e+09 elements is not possible", .x = LIST(1), .n = LIST(1),
     .m = LIST(P(30)), .scalars = true},
    {17, "Pad x n > y", LARGEST, .x = LIST(1), .n = LIST(P(29), P(29))},
    {18, "Pad x n > y", LARGEST, .x = LIST(1, 1), .n = LIST(0, P(20), P(10), 0)},
    {18, "CenterCropPad x n > y", LARGEST, .x = LIST(1, 1), .n = LIST(P(15), P(15))},
    {18, "Resize x - - n > y", LARGEST, .x = LIST(1, 1, 2, 2), .n = LIST(1, 1, P(15), P(15))},
    {17, "Resize x - - n > y", LARGEST, .x = LIST(1, 1, 2, 2), .n = LIST(1, 1, P(15), P(15)), .text_name = "mode",
     .text = "linear"},
    {17, "OneHot n m x > y", LARGEST, .x = LIST(2), .n = LIST(1, 2, 3, 4), .m = LIST(P(23)), .scalars = true},
    {17, "ConvTranspose x x > y", LARGEST, .x = LIST(1, 1, 4, 4), .list_name = "strides", .list = LIST(P(14), P(14))},
    {17, "MaxUnpool x n m > y", LARGEST, .x = LIST(1, 1, 2, 2), .n = LIST(1, 1, 2, 2), .m = LIST(1, 1, P(15), P(15)),
     .list_name = "kernel_shape", .list = LIST(2, 2)},
    {20, "AffineGrid x n > y", LARGEST, .x = LIST(1, 2, 3), .n = LIST(1, 1, P(15), P(15))},
    {17, "RandomNormal > y", LARGEST, .x = LIST(1), .list_name = "shape", .list = LIST(56, P(24))},
    {17, "RandomUniform > y", LARGEST, .x = LIST(1), .list_name = "shape", .list = LIST(56, P(24))},
    {17, "Multinomial x > y", LARGEST, .x = LIST(1, 4), .number_name = "sample_size", .number = P(30)},
    {17, "DFT x n > y", "the transform has 4294967296 elements", .x = LIST(1, 16, 1), .n = LIST(P(32))},
    {17, "DFT x n > y", "the transform has 4611686018427387904", .x = LIST(1, 16, 1), .n = LIST(IMMENSE)},
    {17, "DFT x n > y", "and 16777216; both must be known and 0 or above, and their product at most 16777216",
     .x = LIST(1, 16, 1), .n = LIST(P(24))},
    {17, "Expand x n > y", "has 2^63 elements or more", .x = LIST(1), .n = LIST(P(32), P(32))},
    {17, "Expand x n > y", "has 2^63 bytes or more", .x = LIST(1), .n = LIST(P(31), P(31))},
    {17, "Tile x n > y", "2^63", .x = LIST(2, 2), .n = LIST(P(40), P(40))},
    {17, "Split x n > a y", "the sizes of the parts add up to 2^63 or more", .x = LIST(4, 4),
     .n = LIST(IMMENSE, IMMENSE)},
    {17, "Split x n > a b y", "size 1 is -1, but must not be negative", .x = LIST(4, 4), .n = LIST(4, -1, 1)},
    {17, "SplitToSequence x > y", "into 70000 parts, but at most 65536 are supported", .x = LIST(70000, 0)},
    {17, "SplitToSequence x n > y", "split is 0, but must be at least 1", .x = LIST(4), .n = LIST(0), .scalars = true},
    {17, "SplitToSequence x n > y", "split is empty, but the axis has 4 elements", .x = LIST(4), .empty = true},
    {17, "Cast x > y", "a cast to", .x = LIST(4), .number_name = "to", .number = P(32) + 6},
    {17, "ConstantOfShape n > y", "is invalid or too large", .x = LIST(1), .n = LIST(P(31), P(31))},
    {17, "MaxUnpool x n m > y", "2^63", .x = LIST(1, 1, 2, 2), .n = LIST(1, 1, 2, 2), .m = LIST(1, 1, P(32), P(32)),
     .list_name = "kernel_shape", .list = LIST(2, 2)},
    {17, "MaxUnpool x n m > y", "output_shape contains", .x = LIST(1, 1, 2, 2), .n = LIST(1, 1, 2, 2),
     .m = LIST(1, 1, INT64_MIN, 4), .list_name = "kernel_shape", .list = LIST(2, 2)},
    {17, "MaxPool x > y", "and 2147483647; both must be known and 0 or above, and their product at most 2147483647",
     .x = LIST(1, 1, 4), .list_name = "dilations", .list = LIST(INT32_MAX)},
    {18, "Col2Im x n m > y", "4611686018427387904 in block_shape", .x = LIST(1, 4, 4), .n = LIST(4, 4),
     .m = LIST(IMMENSE, 2)},
    {18, "Col2Im x n m > y", "image_shape has 2 numbers, block_shape 1 and pads 0", .x = LIST(1, 4, 4), .n = LIST(4, 4),
     .m = LIST(2)},
    {18, "Col2Im x n m > y", "a block covers 3 elements with its dilation, but the padded image has only 2",
     .x = LIST(1, 4, 4), .n = LIST(2, 2), .m = LIST(3, 3)},
    {18, "Col2Im x n m > y", "their product at most 65536", .x = LIST(1, 4, 4), .n = LIST(INT32_MAX, INT32_MAX),
     .m = LIST(INT32_MAX, INT32_MAX)},
    {17, "ConvTranspose x x > y", "output_shape contains", .x = LIST(1, 1, 4, 4), .list_name = "output_shape",
     .list = LIST(INT64_MIN, 4)},
    {17, "DepthToSpace x > y", "blocksize is 4294967298", .x = LIST(1, 4, 2, 2), .number_name = "blocksize",
     .number = P(32) + 2},
    {17, "SpaceToDepth x > y", "blocksize is 4294967298", .x = LIST(1, 1, 4, 4), .number_name = "blocksize",
     .number = P(32) + 2},
    {18, "CenterCropPad x n > y", "shape contains -9223372036854775808", .x = LIST(2, 2), .n = LIST(INT64_MIN, 2)},
    {18, "Resize x - - n > y", "must be above 0", .x = LIST(2, 2), .n = LIST(INT64_MIN, 2)},
    {18, "Resize x - - n > y", "this scale gives an axis a size outside 0 to", .x = LIST(2, 2), .n = LIST(INT64_MAX, 2),
     .text_name = "keep_aspect_ratio_policy", .text = "not_smaller"},
    {18, "Resize x - - n > y", "cannot be computed: it has more than 2^25 elements", .x = LIST(2, 2),
     .n = LIST(P(27), 2)},
    {20, "AffineGrid x n > y", "the number of positions is 1073741824, but must be known and 0 to 16777216",
     .x = LIST(1, 2, 3), .n = LIST(1, 3, P(30), 2)},
    {20, "AffineGrid x n > y", "and 16777216; both must be known and 0 or above, and their product at most 2147483647",
     .x = LIST(1, 2, 3), .n = LIST(1, 3, P(24), P(24))},
    {17, "LRN x > y", "size is 4611686018427387904 channels", .x = LIST(1, 2, 3), .number_name = "size",
     .number = IMMENSE},
    {17, "OneHot n m x > y", "the number of positions is 1073741824, but must be known and 0 to 16777216", .x = LIST(2),
     .n = LIST(0, 1), .m = LIST(P(30))},
    {17, "STFT x n - m > y", "the signal is (1, 16, 3), but must be (batch, n) or (batch, n, 1 or 2)",
     .x = LIST(1, 16, 3), .n = LIST(4), .m = LIST(8), .scalars = true},
    {17, "STFT x n - m > y", "the signal is (1, 16, 0), but must be (batch, n) or (batch, n, 1 or 2)",
     .x = LIST(1, 16, 0), .n = LIST(4), .m = LIST(8), .scalars = true},
    {21, "QuantizeLinear x x > y", "blocks", .x = LIST(2, 2), .number_name = "block_size", .number = IMMENSE},
    {17, "LinearAttention x x x > y", "needs input 4 (from 0), but the node lacks it", .x = LIST(1, 2, 4),
     .number_name = "kv_num_heads", .number = 2},
    {17, "LinearAttention x x x m > y", "add(", .x = LIST(2, 2, 4), .m = LIST(2, 5, 7), .number_name = "kv_num_heads",
     .number = 2, .text_name = "update_rule", .text = "linear"},
};

static void add_attribute(mica__text *node, const char *name, const list *numbers, const int64_t *number,
                          const char *text) {
  mica__text attribute = {0};
  wire_text(&attribute, 1, name);
  for (int64_t i = 0; numbers && i < numbers->count; i++) wire_int(&attribute, 8, numbers->values[i]);
  if (number) wire_int(&attribute, 3, *number);
  if (text) wire_text(&attribute, 4, text);
  wire_int(&attribute, 20, numbers ? 7 : number ? 2 : 3);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &attribute);
}

static void add_integers(mica__text *graph, const char *name, const list *numbers, bool scalar, bool empty) {
  if (!numbers->count && !empty) return;
  const size_t bytes = (size_t)numbers->count * sizeof *numbers->values;
  const int64_t dims[] = {scalar && numbers->count == 1 ? -1 : numbers->count, -1};
  mica__text tensor = wire_tensor(name, 7, dims, numbers->values, bytes);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
}

static mica__text file_of(const wrong *c) {
  mica__text graph = {0}, node = wire_node(c->node);
  int64_t shape[5] = {-1, -1, -1, -1, -1};
  if (c->list_name) add_attribute(&node, c->list_name, &c->list, NULL, NULL);
  if (c->number_name) add_attribute(&node, c->number_name, NULL, &c->number, NULL);
  if (c->text_name) add_attribute(&node, c->text_name, NULL, NULL, c->text);
  if (strstr(c->node, "LinearAttention")) add_attribute(&node, "q_num_heads", NULL, &c->number, NULL);
  if (strstr(c->node, "MaxPool")) add_attribute(&node, "kernel_shape", &(const list)LIST(4), NULL, NULL);
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  add_integers(&graph, "n", &c->n, c->scalars, c->empty);
  add_integers(&graph, "m", &c->m, c->scalars, false);
  memcpy(shape, c->x.values, (size_t)c->x.count * sizeof *shape);
  mica__text x = wire_port("x", 1, shape), y = wire_port("y", 1, shape);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  return wire_model_of(&graph, c->version);
}

START_TEST(numbers_are_bounded) {
  const wrong *c = &cases[_i];
  static const float zeros[64];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  mica__text file = file_of(c);
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &model));
  mica_engine *engine = NULL;
  mica_engine_config config = mica_engine_config_default();
  config.device = "null";
  config.memory_bytes = 64 << 20;
  ck_ok(mica_engine_create(&config, &engine));
  ck_ok(mica_onnx_runner_create(engine, model, NULL, &runner));
  mica_onnx_feed x = {.name = "x", .dtype = MICA_F32, .data = zeros};
  for (int64_t i = 0; i < c->x.count; i++) x.shape.dim[x.shape.rank++] = c->x.values[i];
  const mica_status status = mica_onnx_run(runner, mica_engine_queue(engine), &x, 1);
  ck_assert_msg(status != MICA_OK && status != MICA_E_NOMEM, "%s: %d", c->node, (int)status);
  ck_assert_msg(strstr(mica_error_message(), c->sentence) != NULL, "%s: %s", c->node, mica_error_message());
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
  mica_engine_destroy(engine);
  mica__text_free(&file);
}
END_TEST

TESTS(NEEDS(ONNX), NULL, NULL, LOOP(numbers_are_bounded, 0, (int)(sizeof cases / sizeof *cases)))
