/* labels: null single
 *
 * Models of ONNX that are built into graphs with memory failing: each ends in a status of memory and leaks nothing. */
#include "support/check_main.h"
#include "support/fault_libc.h"
#include "support/wire.h"

#include <mica/api.h>
#include <mica/onnx.h>

#define AI_ONNX_ML "ai.onnx.ml:"
enum { INT64 = 7, TENSOR = 4, STRINGS = 8 };

/* One encoder after the other: x (3), i64, to y. `version` is that of the set ai.onnx.ml. */
typedef struct encoders {
  int64_t version;
  mica__text nodes[2];
} encoders;

static mica__text encoder_of(const char *text, mica__text *attribute, int type) {
  mica__text node = wire_node(text);
  wire_int(attribute, 20, type);
  wire_inside(&node, WIRE_NODE_ATTRIBUTE, attribute);
  return node;
}

/* The tensor's elements are raw bytes, which are used in place, or a list, which is copied. */
static void add_tensor(mica__text *node, const char *name, bool raw) {
  static const int64_t numbers[] = {4, 7, 9};
  mica__text attribute = {0};
  mica__text tensor = wire_tensor(name, INT64, (int64_t[]){3, -1}, raw ? numbers : NULL, sizeof numbers);
  for (int i = 0; !raw && i < 3; i++) wire_int(&tensor, 7, numbers[i]);
  wire_text(&attribute, 1, name);
  wire_inside(&attribute, 5, &tensor);
  wire_int(&attribute, 20, TENSOR);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &attribute);
}

static mica_onnx *open_encoders(encoders *e) {
  mica__text graph = {0}, model = {0}, set = {0};
  mica__text x = wire_port("x", INT64, (int64_t[]){3, -1}), y = wire_port("y", INT64, (int64_t[]){3, -1});
  mica_onnx *opened = NULL;
  for (int i = 0; i < 2; i++)
    if (e->nodes[i].length) wire_inside(&graph, WIRE_GRAPH_NODE, &e->nodes[i]);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  wire_int(&model, 1, 8);
  wire_text(&set, 1, "ai.onnx.ml");
  wire_int(&set, 2, e->version);
  wire_inside(&model, 8, &set);
  wire_inside(&model, WIRE_MODEL_GRAPH, &graph);
  ck_assert_int_eq(mica_onnx_open_memory("m", model.data, model.length, &opened), MICA_OK);
  mica__text_free(&model);
  return opened;
}

static mica_status build(void *model) {
  mica_graph *graph = NULL;
  mica_onnx_parameter *parameters = NULL;
  size_t count = 0;
  mica_value y;
  mica_status status = mica_graph_create(&graph);
  if (status == MICA_OK) {
    mica_value x = mica_input(graph, "x", MICA_I64, MICA_SHAPE(3));
    status = mica_graph_status(graph);
    if (status == MICA_OK) status = mica_onnx_build(model, graph, &x, 1, &y, 1, NULL, &parameters, &count);
  }
  mica_free(parameters);
  mica_graph_destroy(graph);
  return status;
}

/* Version 1 numbers the texts itself: x becomes texts, and these become numbers again. */
START_TEST(numbered_texts_are_built) {
  encoders e = {.version = 1};
  for (int i = 0; i < 2; i++) {
    mica__text attribute = {0};
    wire_text(&attribute, 1, "classes_strings");
    for (int w = 0; w < 3; w++) wire_text(&attribute, 9, (const char *[]){"a", "b", "c"}[w]);
    e.nodes[i] = encoder_of(i ? AI_ONNX_ML "LabelEncoder t > y" : AI_ONNX_ML "LabelEncoder x > t", &attribute, STRINGS);
  }
  mica_onnx *model = open_encoders(&e);
  fault_libc_each(FAULT_MEMORY, build, model, 10);
  mica_onnx_close(model);
}
END_TEST

START_TEST(integers_of_tensors_are_built) {
  encoders e = {.version = 4, .nodes = {wire_node(AI_ONNX_ML "LabelEncoder x > y")}};
  add_tensor(&e.nodes[0], "keys_tensor", true);
  add_tensor(&e.nodes[0], "values_tensor", false);
  mica_onnx *model = open_encoders(&e);
  fault_libc_each(FAULT_MEMORY, build, model, 10);
  mica_onnx_close(model);
}
END_TEST

TESTS(NEEDS(ONNX), NULL, NULL, numbered_texts_are_built, integers_of_tensors_are_built)
