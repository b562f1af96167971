#include "support/onnx_node.h"

#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/onnx.h>

static mica_shape shape_of(const operand *o) {
  mica_shape shape = {0};
  while (o->dims[shape.rank] >= 0) shape.dim[shape.rank] = o->dims[shape.rank], shape.rank++;
  return shape;
}

static mica_dtype dtype_of(int type) {
  static const mica_dtype dtypes[] = {[FLOAT] = MICA_F32, [UINT8] = MICA_U8,  [INT8] = MICA_I8,  [INT32] = MICA_I32,
                                      [INT64] = MICA_I64, [BOOL] = MICA_BOOL, [UINT4] = MICA_U8, [INT4] = MICA_I8};
  return dtypes[type];
}

static void add_attribute(mica__text *node, const attribute *a) {
  mica__text message = {0};
  wire_text(&message, 1, a->name);
  if (a->text) wire_text(&message, 4, a->text);
  for (int i = 0; !a->text && a->list[i] != INT64_MIN; i++) wire_int(&message, 8, a->list[i]);
  if (a->is_real) wire_float(&message, 2, (float)a->real);
  if (!a->is_real && !a->text && a->list[0] == INT64_MIN) wire_int(&message, 3, a->number);
  wire_int(&message, 20, a->is_real ? 1 : a->text ? 3 : a->list[0] == INT64_MIN ? 2 : 7);
  wire_inside(node, WIRE_NODE_ATTRIBUTE, &message);
}

mica__text node_with(const char *text, const attribute *attributes) {
  mica__text node = wire_node(text);
  for (; attributes && attributes->name; attributes++) add_attribute(&node, attributes);
  return node;
}

static void run_graph_of(const char *domain, mica__text *graph, int version, const operand *operands, int64_t count,
                         size_t size, void *out) {
  mica_onnx_feed feeds[8];
  size_t n = 0;
  for (; operands[n].name; n++) {
    mica__text port = wire_port(operands[n].name, operands[n].type, operands[n].dims);
    wire_inside(graph, WIRE_GRAPH_INPUT, &port);
    feeds[n] = (mica_onnx_feed){.name = operands[n].name,
                                .dtype = dtype_of(operands[n].type),
                                .shape = shape_of(&operands[n]),
                                .data = operands[n].data};
  }
  mica__text y = wire_port("y", FLOAT, (int64_t[]){-1});
  wire_inside(graph, WIRE_GRAPH_OUTPUT, &y);
  mica__text file = wire_model_of(graph, domain ? 17 : version);
  if (domain) {
    mica__text set = {0};
    wire_text(&set, 1, domain);
    wire_int(&set, 2, version);
    wire_inside(&file, 8, &set);
  }
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &model));
  mica__text_free(&file);
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  ck_ok(mica_onnx_run(runner, test_queue(), feeds, n));
  const mica_tensor *result = mica_onnx_output(runner, 0);
  ck_assert_uint_eq(mica_tensor_bytes(result), (size_t)count * size);
  ck_ok(mica_tensor_download(test_queue(), result, out, (size_t)count * size));
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}

void run_graph(mica__text *graph, int version, const operand *operands, int64_t count, size_t size, void *out) {
  run_graph_of(NULL, graph, version, operands, count, size, out);
}

void run_node_of(const char *domain, const char *text, int version, const attribute *attributes,
                 const operand *operands, int64_t count, size_t size, void *out) {
  mica__text graph = {0}, node = node_with(text, attributes);
  if (domain) wire_text(&node, 7, domain);
  wire_inside(&graph, WIRE_GRAPH_NODE, &node);
  run_graph_of(domain, &graph, version, operands, count, size, out);
}

void run_node(const char *text, int version, const attribute *attributes, const operand *operands, int64_t count,
              size_t size, void *out) {
  run_node_of(NULL, text, version, attributes, operands, count, size, out);
}

float noise(int i) { return sinf((float)i * 12.9898F) * 1.5F; }
