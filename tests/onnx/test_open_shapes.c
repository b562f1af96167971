/* labels: null single
 *
 * Operators that need known shapes, in graphs of open shapes: each is refused with a sentence that says so. */
#include "support/check_main.h"
#include "support/wire.h"

#include <mica/api.h>
#include <mica/onnx.h>
#include <string.h>

enum { INT64 = 7, INTS = 7 };

static void add_integers(mica__text *node, const char *name) {
  mica__text attribute = {0};
  wire_text(&attribute, 1, name);
  for (int64_t i = 0; i < 2; i++) wire_int(&attribute, 8, i);
  wire_int(&attribute, 20, INTS);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &attribute);
}

static mica_onnx *open_encoder(void) {
  const int64_t open[] = {WIRE_OPEN, -1};
  mica_onnx *model = NULL;
  mica__text graph = {0}, file = {0}, set = {0}, node = wire_node("ai.onnx.ml:LabelEncoder x > y");
  mica__text x = wire_port("x", INT64, open), y = wire_port("y", INT64, open);
  add_integers(&node, "keys_int64s");
  add_integers(&node, "values_int64s");
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  wire_int(&file, 1, 8);
  wire_text(&set, 1, "ai.onnx.ml");
  wire_int(&set, 2, 3);
  wire_inside(&file, 8, &set);
  wire_inside(&file, WIRE_MODEL_GRAPH, &graph);
  ck_assert_int_eq(mica_onnx_open_memory("m", file.data, file.length, &model), MICA_OK);
  mica__text_free(&file);
  return model;
}

START_TEST(categories_are_refused) {
  mica_onnx *model = open_encoder();
  mica_onnx_parameter *parameters = NULL;
  mica_graph *graph = NULL;
  mica_value y;
  size_t count = 0;
  ck_assert_int_eq(mica_graph_create(&graph), MICA_OK);
  const mica_value x = mica_input(graph, "x", MICA_I64, MICA_SHAPE(MICA_DYNAMIC));
  ck_assert_int_ne(mica_onnx_build(model, graph, &x, 1, &y, 1, NULL, &parameters, &count), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), "the input is (?), but its dimensions must be known"), "%s",
                mica_error_message());
  mica_graph_destroy(graph);
  mica_free(parameters);
  mica_onnx_close(model);
}
END_TEST

TESTS(NEEDS(ONNX), NULL, NULL, categories_are_refused)
