/* The reader of models in ONNX, and their lowering to a graph, which needs no device. */
#include "fuzz/fuzz.h"
#include "support/wire.h"

#include <mica/onnx.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_ONNX
#include "onnx/lowering.h"

#define MOST_INPUTS 16
#define MOST_BYTES 65536

/* Lowers for the declared shapes, open dimensions being 2; what is demanded is bound to zeros. */
static void lower(mica_onnx *model) {
  static const char zeros[MOST_BYTES];
  mica__lower_input inputs[MOST_INPUTS] = {{0}};
  size_t count = mica_onnx_input_count(model), output_count = mica_onnx_output_count(model);
  if (count > MOST_INPUTS || output_count > 64) return;
  for (size_t i = 0; i < count; i++) {
    mica_onnx_port port = mica_onnx_input(model, i);
    inputs[i] = (mica__lower_input){.name = port.name, .dtype = port.dtype, .shape = port.shape};
    inputs[i].given = port.kind == MICA_ONNX_KIND_TENSOR && port.has_dtype && port.has_shape;
    for (int32_t d = 0; d < port.shape.rank; d++)
      if (port.shape.dim[d] == MICA_DYNAMIC) inputs[i].shape.dim[d] = 2;
  }
  for (int again = 0; again < 4; again++) {
    bool demanded[MOST_INPUTS] = {false};
    mica_value outputs[64];
    bool *free_ones = calloc(count + 1, sizeof *free_ones);
    mica__lowering l = {.model = model,
                        .external = &model->external,
                        .root = &model->graph,
                        .inputs = inputs,
                        .input_count = count,
                        .may_bind = true,
                        .free = free_ones,
                        .demanded = demanded};
    if (!free_ones) return;
    if (mica_graph_create(&l.graph) != MICA_OK) {
      free(free_ones);
      return;
    }
    bool lowered = mica__lower_model(&l, outputs) == MICA_OK;
    bool go_on = lowered && l.demands;
    mica_graph_destroy(l.graph);
    mica__lower_free(&l);
    free(free_ones);
    if (!go_on) return;
    for (size_t i = 0; i < count; i++) {
      int64_t elements = 0;
      if (!demanded[i]) continue;
      if (mica_shape_count(inputs[i].shape, &elements) != MICA_OK || elements > MOST_BYTES / 8) return;
      inputs[i].data = zeros;
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_onnx *model = NULL;
  size_t sum = 0;
  if (mica_onnx_open_memory("fuzz", data, size, &model) != MICA_OK) return 0;
  for (size_t i = 0; i < mica_onnx_input_count(model); i++) sum += strlen(mica_onnx_input(model, i).name);
  for (size_t i = 0; i < mica_onnx_output_count(model); i++) sum += strlen(mica_onnx_output_port(model, i).type);
  char name[16];
  for (size_t i = 0; i < mica_onnx_output_count(model); i++)
    for (size_t k = 0; k < 4; k++) sum += mica_onnx_class_name(model, i, k, name, sizeof name) ? strlen(name) : 0;
  for (size_t i = 0; i < mica_onnx_operator_count(model); i++) sum += strlen(mica_onnx_operator_at(model, i).name);
  mica_onnx_info info = mica_onnx_describe(model);
  if (info.depth > info.nodes || sum > 64 * size + 1024) abort();
  lower(model);
  mica_onnx_close(model);
  return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mica_onnx *model = NULL;
  if (mica_onnx_open_memory("fuzz", data, size, &model) == MICA_OK) abort();
  return 0;
}
#endif

static const int64_t square[] = {2, 2, -1}, open_rows[] = {WIRE_OPEN, 2, -1}, four[] = {4, -1}, two[] = {2, -1};

static void add_node(mica__text *graph, const char *text) {
  mica__text node = wire_node(text);
  wire_inside(graph, WIRE_GRAPH_NODE, &node);
}

static void add_ports(mica__text *graph) {
  mica__text x = wire_port("x", 1, open_rows), y = wire_port("y", 1, square);
  wire_inside(graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(graph, WIRE_GRAPH_OUTPUT, &y);
}

/* A constant weight, raw and typed, and shapes as values. */
static void seed_weights(mica__text *graph) {
  static const float w[4] = {1, 2, 3, 4};
  static const int64_t shape[2] = {2, 2};
  mica__text weight = wire_tensor("w", 1, square, w, sizeof w), bias = wire_tensor("b", 1, two, NULL, 0);
  mica__text wanted = wire_tensor("s", 7, two, shape, sizeof shape);
  wire_float(&bias, 4, 1);
  wire_float(&bias, 4, 2);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &weight);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &bias);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &wanted);
  add_node(graph, "Gemm x w b > h");
  add_node(graph, "Relu h > r");
  add_node(graph, "Shape r > rs");
  add_node(graph, "Gather rs zero > n");
  add_node(graph, "Reshape r s > y");
  mica__text zero = wire_tensor("zero", 7, (int64_t[]){-1}, &(int64_t){0}, 8);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &zero);
}

/* Windows, attributes, several results, an operand that is absent. */
static void seed_operators(mica__text *graph) {
  mica__text split = wire_node("Split x - > a b"), concat = wire_node("Concat a b > c"), axis = {0};
  wire_text(&axis, 1, "axis");
  wire_int(&axis, 3, 1);
  wire_int(&axis, 20, 2);
  mica__text again = {0};
  wire_bytes(&again, WIRE_NODE_ATTRIBUTE, axis.data, axis.length);
  mica__text_add_bytes(&split, again.data, again.length);
  mica__text_add_bytes(&concat, again.data, again.length);
  mica__text_free(&axis);
  mica__text_free(&again);
  wire_inside(graph, WIRE_GRAPH_NODE, &split);
  wire_inside(graph, WIRE_GRAPH_NODE, &concat);
  add_node(graph, "Softmax c > d");
  add_node(graph, "ReduceMean d > e");
  add_node(graph, "Clip d - e > y");
}

/* A sparse initial value, a branch with a body, nodes out of order. */
static void seed_bodies(mica__text *graph) {
  mica__text sparse = {0}, body = {0}, branch = wire_node("If cond > z"), attribute = {0};
  mica__text values = wire_tensor("q", 1, two, (const float[]){5, 6}, 8);
  mica__text indices = wire_tensor("", 7, two, (const int64_t[]){0, 3}, 16);
  wire_inside(&sparse, 1, &values);
  wire_inside(&sparse, 2, &indices);
  wire_int(&sparse, 3, 4);
  wire_inside(graph, WIRE_GRAPH_SPARSE, &sparse);
  add_node(&body, "Neg x > i");
  mica__text out = wire_port("i", 1, four);
  wire_inside(&body, WIRE_GRAPH_OUTPUT, &out);
  wire_text(&attribute, 1, "then_branch");
  wire_inside(&attribute, WIRE_ATTRIBUTE_GRAPH, &body);
  wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &attribute);
  add_node(graph, "Add r r > y");
  add_node(graph, "Reshape q t > r");
  add_node(graph, "Shape x > t");
  wire_inside(graph, WIRE_GRAPH_NODE, &branch);
}

/* A function that is called. */
static void seed_function(mica__text *model) {
  mica__text function = {0};
  wire_text(&function, 1, "Twice");
  wire_text(&function, 4, "a");
  wire_text(&function, 5, "b");
  mica__text node = wire_node("Add a a > b");
  wire_inside(&function, 7, &node);
  wire_inside(model, WIRE_MODEL_FUNCTION, &function);
}

bool fuzz_seed(size_t index, mica__text *seed) {
  mica__text graph = {0};
  if (index >= 4) return false;
  add_ports(&graph);
  if (index == 0) seed_weights(&graph);
  if (index == 1) seed_operators(&graph);
  if (index == 2) seed_bodies(&graph);
  if (index == 3) add_node(&graph, "Twice x > y");
  *seed = wire_model(&graph);
  if (index == 3) seed_function(seed);
  return true;
}
