/* labels: device single
 *
 * Loops whose trips the host must count, because their conditions come from data. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/wire.h"

#include <mica/nodes.h>
#include <mica/onnx.h>
#include <stdio.h>

enum { WIDTH = 4 };

/* y = x + 1 as often as max(y) stays below 10, at most 20 times. less: the node that compares "s" with "limit". */
static mica__text loop_model(const char *less) {
  static const int64_t row[] = {1, WIDTH, -1}, scalar[] = {-1}, most = 20;
  static const float one = 1, limit = 10;
  static const uint8_t yes = 1;
  mica__text graph = {0}, loop = wire_node("Loop most yes x > y");
  mica__text body = wire_body("body", (const char *[]){"i", "on", "v", NULL}, (const char *[]){"less", "w", NULL},
                              (const char *[]){"Add v one > w", "ReduceMax w - > m", "Reshape m none > s", less, NULL});
  mica__text tensors[] = {
      wire_tensor("yes", 9, scalar, &yes, sizeof yes), wire_tensor("most", 7, scalar, &most, sizeof most),
      wire_tensor("one", 1, scalar, &one, sizeof one), wire_tensor("limit", 1, scalar, &limit, sizeof limit),
      wire_tensor("none", 7, (int64_t[]){0, -1}, "", 0)};
  mica__text x = wire_port("x", 1, row), y = wire_port("y", 1, row);
  wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &body);
  wire_inside(&graph, WIRE_GRAPH_NODE, &loop);
  for (size_t t = 0; t < sizeof tensors / sizeof *tensors; t++)
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &tensors[t]);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  return wire_model(&graph);
}

static mica_status lower_less(void *user, mica_onnx_call *call) {
  (void)user;
  mica_onnx_call_result(call, 0, mica_less(mica_onnx_call_operand(call, 0), mica_onnx_call_operand(call, 1)));
  return MICA_OK;
}

/* The condition is an operator of another domain. Two of its names are also ONNX's, for operators whose results the
 * host always knows. If Mica took it for one of these, it would lower the body once per trip. */
START_TEST(operators_of_other_domains_come_from_data) {
  static const char *const names[] = {"Shape", "Size", "Less"};
  const float x[WIDTH] = {2, -4, 0.5F, 1};
  float y[WIDTH];
  char less[64];
  mica_onnx *model = NULL;
  mica_onnx_runner *runner = NULL;
  mica_onnx_report report;
  snprintf(less, sizeof less, "com.example:%s s limit > less", names[_i]);
  mica__text file = loop_model(less);
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &model));
  mica__text_free(&file);
  ck_ok(mica_onnx_define(model, "com.example", names[_i], lower_less, NULL));
  ck_ok(mica_onnx_runner_create(test_engine(), model, NULL, &runner));
  const mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(1, WIDTH), .data = x};
  ck_ok(mica_onnx_run(runner, test_queue(), &feed, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_onnx_output(runner, 0), y, sizeof y));
  for (int i = 0; i < WIDTH; i++) ck_assert_float_eq(y[i], x[i] + 8);
  ck_ok(mica_onnx_runner_describe(runner, &report));
  ck_assert_uint_eq(report.lowered, 3);
  mica_onnx_runner_destroy(runner);
  mica_onnx_close(model);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, LOOP(operators_of_other_domains_come_from_data, 0, 3))
