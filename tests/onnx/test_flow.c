/* labels: device single
 *
 * Cuts: branches and trips by data, shapes by data, loops of many trips, memory over many runs, operators of the
 * caller's, models in graphs of the caller's. */
#include "base/element.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/wire.h"

#include <math.h>
#include <mica/nodes.h>
#include <mica/onnx.h>
#include <mica/session.h>
#include <string.h>

static const int64_t rows[] = {WIRE_OPEN, 4, -1}, scalar[] = {-1};

typedef struct program {
  mica_onnx *model;
  mica_onnx_runner *runner;
} program;

static void add_scalar(mica__text *graph, const char *name, float value) {
  mica__text tensor = wire_tensor(name, 1, scalar, &value, sizeof value);
  wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
}

/* x (n, 4) to y. */
static mica__text graph_of(const char *const *nodes) {
  mica__text graph = wire_graph(nodes), x = wire_port("x", 1, rows), y = wire_port("y", 1, rows);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  return graph;
}

static program start(mica__text *graph, const mica_onnx_runner_config *config) {
  program p = {0};
  mica__text file = wire_model(graph);
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &p.model));
  mica__text_free(&file);
  ck_ok(mica_onnx_runner_create(test_engine(), p.model, config, &p.runner));
  return p;
}

static void end(program *p) {
  mica_onnx_runner_destroy(p->runner);
  mica_onnx_close(p->model);
}

static mica_status run(const program *p, const float *x, int64_t count) {
  const mica_onnx_feed feed = {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(count, 4), .data = x};
  return mica_onnx_run(p->runner, test_queue(), &feed, 1);
}

static int64_t fetch(const program *p, float *y) {
  const mica_tensor *tensor = mica_onnx_output(p->runner, 0);
  ck_assert_ptr_nonnull(tensor);
  if (mica_tensor_bytes(tensor)) ck_ok(mica_tensor_download(test_queue(), tensor, y, mica_tensor_bytes(tensor)));
  return mica_tensor_count(tensor);
}

static size_t lowered(const program *p) {
  mica_onnx_report report;
  ck_ok(mica_onnx_runner_describe(p->runner, &report));
  return report.lowered;
}

/* y = sum(x) > 0 ? tanh(-h) : tanh(h + h), where h = relu(x). */
static program branch_program(void) {
  mica__text graph =
      graph_of((const char *[]){"Relu x > h", "ReduceMax x - > m", "Reshape m none > s", "Greater s zero > c", NULL});
  mica__text branch = wire_node("If c > b"), tanh = wire_node("Tanh b > y");
  mica__text none = wire_tensor("none", 7, (int64_t[]){0, -1}, "", 0);
  const char *const *nothing = (const char *[]){NULL};
  mica__text on = wire_body("then_branch", nothing, (const char *[]){"p", NULL}, (const char *[]){"Neg h > p", NULL});
  mica__text off =
      wire_body("else_branch", nothing, (const char *[]){"q", NULL}, (const char *[]){"Add h x > q", NULL});
  wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &on);
  wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &off);
  wire_inside(&graph, WIRE_GRAPH_NODE, &branch);
  wire_inside(&graph, WIRE_GRAPH_NODE, &tanh);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &none);
  add_scalar(&graph, "zero", 0);
  return start(&graph, NULL);
}

START_TEST(a_branch_is_lowered_when_it_is_first_taken) {
  program p = branch_program();
  float x[8], y[8];
  size_t most = 0;
  for (int trip = 0; trip < 12; trip++) {
    bool on = trip % 3 != 1;
    for (int i = 0; i < 8; i++) x[i] = on ? 0.1F * (float)(i - trip % 5) : -0.1F * (float)(i + 1 + trip);
    ck_ok(run(&p, x, 2));
    ck_assert_int_eq(fetch(&p, y), 8);
    for (int i = 0; i < 8; i++) {
      float h = fmaxf(x[i], 0);
      ck_assert_float_eq_tol(y[i], tanhf(on ? -h : h + x[i]), 1e-5F);
    }
    /* Up to the condition, one branch, what stands behind; then the other branch. */
    most = trip == 0 ? 3 : 4;
    ck_assert_uint_eq(lowered(&p), most);
  }
  ck_assert_uint_eq(mica_onnx_cut_count(p.runner), 1);
  ck_assert_str_eq(mica_onnx_cut_at(p.runner, 0).op, "If");
  ck_assert_str_eq(mica_onnx_cut_at(p.runner, 0).why, "the condition comes from data");
  ck_assert_ptr_null(mica_onnx_cut_at(p.runner, 1).node);
  end(&p);
}
END_TEST

/* y = x + 1 as often as max(y) stays below `limit`, at most `most` times. */
static program loop_program(float limit, int64_t most) {
  mica__text graph = graph_of((const char *[]){NULL}), loop = wire_node("Loop most yes x > y");
  mica__text body = wire_body(
      "body", (const char *[]){"i", "on", "v", NULL}, (const char *[]){"less", "w", NULL},
      (const char *[]){"Add v one > w", "ReduceMax w - > m", "Reshape m none > s", "Less s limit > less", NULL});
  bool yes = true;
  mica__text on = wire_tensor("yes", 9, scalar, &yes, 1), trips = wire_tensor("most", 7, scalar, &most, 8);
  mica__text none = wire_tensor("none", 7, (int64_t[]){0, -1}, "", 0);
  wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &body);
  wire_inside(&graph, WIRE_GRAPH_NODE, &loop);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &on);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &trips);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &none);
  add_scalar(&graph, "one", 1);
  add_scalar(&graph, "limit", limit);
  return start(&graph, NULL);
}

START_TEST(a_loop_ends_by_data) {
  program p = loop_program(10, 1000);
  float y[8];
  for (int k = 0; k < 9; k++) {
    const float x[8] = {(float)k, -4, 0.5F, -1, 0, 0, -7, 2};
    float top = fmaxf((float)k, 2), trips = 10 - top;
    ck_ok(run(&p, x, 2));
    fetch(&p, y);
    for (int i = 0; i < 8; i++) ck_assert_float_eq(y[i], x[i] + trips);
  }
  ck_assert_uint_eq(lowered(&p), 3);
  end(&p);
}
END_TEST

START_TEST(a_loop_of_ten_thousand_trips_takes_bounded_memory) {
  program p = loop_program(1e9F, 10000);
  const float x[8] = {0};
  float y[8];
  mica_onnx_report report;
  uint64_t bytes = 0;
  for (int k = 0; k < 2; k++) {
    ck_ok(run(&p, x, 2));
    fetch(&p, y);
    for (int i = 0; i < 8; i++) ck_assert_float_eq(y[i], 10000);
    ck_ok(mica_onnx_runner_describe(p.runner, &report));
    ck_assert_uint_eq(report.lowered, 3);
    ck_assert_uint_lt(report.plan_bytes, 4096);
    if (k) ck_assert_uint_eq(report.plan_bytes, bytes);
    bytes = report.plan_bytes;
  }
  end(&p);
}
END_TEST

static mica__text with_number(const char *text, const char *name, int64_t number) {
  mica__text node = wire_node(text), attribute = {0};
  wire_text(&attribute, 1, name);
  wire_int(&attribute, 3, number);
  wire_int(&attribute, 20, 2);
  wire_inside(&node, WIRE_NODE_ATTRIBUTE, &attribute);
  return node;
}

/* A list grows by x + 1, x + 2, ... for max(x) trips, or for `most` if that is not 0; y is its rows. Where `late`, the
 * condition of a further trip comes from data as well. */
static program list_program(int64_t most, bool late) {
  mica__text graph = graph_of((const char *[]){"ReduceMax x - > m", "Reshape m none > s", "SequenceEmpty > e", NULL});
  mica__text cast = with_number("Cast s > t", "to", 7),
             loop = wire_node(most ? "Loop most yes x e > z l" : "Loop t yes x e > z l");
  mica__text concat = with_number("ConcatFromSequence l > y", "axis", 0);
  mica__text body =
      wire_body("body", (const char *[]){"i", "on", "v", "q", NULL}, (const char *[]){"go", "w", "q2", NULL},
                late ? (const char *[]){"Add v one > w", "ReduceMax w - > wm", "Reshape wm none > ws",
                                        "Less ws limit > go", "SequenceInsert q w > q2", NULL}
                     : (const char *[]){"Identity on > go", "Add v one > w", "SequenceInsert q w > q2", NULL});
  bool yes = true;
  mica__text on = wire_tensor("yes", 9, scalar, &yes, 1), trips = wire_tensor("most", 7, scalar, &most, 8);
  mica__text none = wire_tensor("none", 7, (int64_t[]){0, -1}, "", 0);
  wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &body);
  wire_inside(&graph, WIRE_GRAPH_NODE, &cast);
  wire_inside(&graph, WIRE_GRAPH_NODE, &loop);
  wire_inside(&graph, WIRE_GRAPH_NODE, &concat);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &on);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &trips);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &none);
  add_scalar(&graph, "one", 1);
  add_scalar(&graph, "limit", 6);
  return start(&graph, NULL);
}

START_TEST(a_list_grows_in_a_loop) {
  static const struct {
    int64_t most;
    bool late;
  } cases[] = {{3, false}, {0, false}, {9, true}, {0, true}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    program p = list_program(cases[c].most, cases[c].late);
    for (int top = 2; top < 5; top++) {
      const float x[8] = {(float)top, -4, 0.5F, -1, 0, 0, -7, 1};
      float y[8 * 9];
      int64_t trips = cases[c].most ? cases[c].most : top;
      if (cases[c].late && trips > 6 - top) trips = 6 - top;
      ck_ok(run(&p, x, 2));
      ck_assert_int_eq(fetch(&p, y), 8 * trips);
      for (int i = 0; i < 8 * trips; i++) ck_assert_float_eq(y[i], x[i % 8] + (float)(i / 8 + 1));
    }
    end(&p);
  }
}
END_TEST

/* A branch whose one output is a sequence of f32. */
static mica__text list_body(const char *name, const char *out, const char *const *nodes) {
  mica__text body = wire_graph(nodes), attribute = {0}, tensor = {0}, element = {0}, list = {0}, type = {0}, port = {0};
  wire_int(&tensor, 1, 1);
  wire_inside(&element, 1, &tensor);
  wire_inside(&list, 1, &element);
  wire_inside(&type, 4, &list);
  wire_text(&port, 1, out);
  wire_inside(&port, 2, &type);
  wire_inside(&body, WIRE_GRAPH_OUTPUT, &port);
  wire_text(&attribute, 1, name);
  wire_inside(&attribute, WIRE_ATTRIBUTE_GRAPH, &body);
  return attribute;
}

/* y is what a branch put into a list, by a condition that is known or that comes from data. */
START_TEST(a_branch_gives_a_list) {
  for (int from_data = 0; from_data < 2; from_data++) {
    mica__text graph =
        graph_of((const char *[]){"ReduceMax x - > m", "Reshape m none > s", "Greater s zero > c", NULL});
    mica__text branch = wire_node(from_data ? "If c > l" : "If yes > l"), at = wire_node("SequenceAt l one > y");
    mica__text then = list_body("then_branch", "p", (const char *[]){"Neg x > n", "SequenceConstruct x n > p", NULL});
    mica__text other =
        list_body("else_branch", "q", (const char *[]){"Add x x > d", "SequenceConstruct x d > q", NULL});
    mica__text none = wire_tensor("none", 7, (int64_t[]){0, -1}, "", 0);
    mica__text one = wire_tensor("one", 7, scalar, &(int64_t){1}, 8),
               on = wire_tensor("yes", 9, scalar, &(bool){true}, 1);
    wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &then);
    wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &other);
    wire_inside(&graph, WIRE_GRAPH_NODE, &branch);
    wire_inside(&graph, WIRE_GRAPH_NODE, &at);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &none);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &one);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &on);
    add_scalar(&graph, "zero", 0);
    program p = start(&graph, NULL);
    for (int k = 0; k < 2; k++) {
      const float x[4] = {k ? -3.0F : 3.0F, -1, -2, -0.5F};
      float y[4];
      ck_ok(run(&p, x, 1));
      ck_assert_int_eq(fetch(&p, y), 4);
      for (int i = 0; i < 4; i++) ck_assert_float_eq(y[i], from_data && k ? 2 * x[i] : -x[i]);
    }
    end(&p);
  }
}
END_TEST

/* The node finds the rows of x whose sum is above 0. */
static mica__text compress_graph(const char *node) {
  mica__text graph = graph_of((const char *[]){"ReduceSum x last > s", "Greater s zero > m", NULL});
  mica__text compress = wire_node(node), flat = wire_node("Reshape m all > f"), axis = {0};
  mica__text last = wire_tensor("last", 7, (int64_t[]){1, -1}, &(int64_t){1}, 8);
  mica__text all = wire_tensor("all", 7, (int64_t[]){1, -1}, &(int64_t){-1}, 8);
  wire_text(&axis, 1, "axis");
  wire_int(&axis, 3, 0);
  wire_inside(&compress, WIRE_NODE_ATTRIBUTE, &axis);
  wire_inside(&graph, WIRE_GRAPH_NODE, &flat);
  wire_inside(&graph, WIRE_GRAPH_NODE, &compress);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &last);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &all);
  add_scalar(&graph, "zero", 0);
  return graph;
}

/* y: these rows. */
static program compress_program(const mica_onnx_runner_config *config) {
  mica__text graph = compress_graph("Compress x f > y");
  return start(&graph, config);
}

static void check_compress(const program *p, int64_t count, unsigned seed) {
  static float x[4 * 64], y[4 * 64];
  int64_t kept = 0;
  for (int64_t i = 0; i < 4 * count; i++) {
    seed = seed * 1664525U + 1013904223U;
    x[i] = (float)(seed >> 8) / (float)(1 << 23) - 1;
  }
  ck_ok(run(p, x, count));
  int64_t got = fetch(p, y);
  for (int64_t r = 0; r < count; r++) {
    if (!(x[4 * r] + x[4 * r + 1] + x[4 * r + 2] + x[4 * r + 3] > 0)) continue;
    ck_assert_mem_eq(y + 4 * kept, x + 4 * r, 16);
    kept++;
  }
  ck_assert_int_eq(got, 4 * kept);
}

START_TEST(memory_is_steady_over_many_shapes) {
  const mica_onnx_runner_config config = {.most_lowerings = 20};
  program p = compress_program(&config);
  mica_onnx_report report;
  uint64_t bytes = 0;
  for (unsigned k = 0; k < 1000; k++) {
    check_compress(&p, 1 + k * 7 % 50, k);
    ck_ok(mica_onnx_runner_describe(p.runner, &report));
    ck_assert_uint_le(report.lowerings, 21);
    if (k < 500 && report.plan_bytes > bytes) bytes = report.plan_bytes;
  }
  ck_assert_uint_le(report.plan_bytes, bytes + bytes / 2);
  ck_assert_uint_eq(report.stages, 2);
  end(&p);
}
END_TEST

/* 2^53 + 1 is no double. */
START_TEST(large_integers_are_different) {
  mica__text graph = wire_graph((const char *[]){"Unique k > y first each counts", NULL});
  mica__text k = wire_port("k", 7, (int64_t[]){6, -1}), y = wire_port("y", 7, (int64_t[]){WIRE_OPEN, -1});
  wire_inside(&graph, WIRE_GRAPH_INPUT, &k);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  program p = start(&graph, NULL);
  const int64_t large = INT64_C(1) << 53, list[] = {large + 1, large, -1, INT64_MIN, large + 1, 7};
  const int64_t want[] = {INT64_MIN, -1, 7, large, large + 1};
  int64_t got[6];
  const mica_onnx_feed feed = {.name = "k", .dtype = MICA_I64, .shape = MICA_SHAPE(6), .data = list};
  ck_ok(mica_onnx_run(p.runner, test_queue(), &feed, 1));
  const mica_tensor *different = mica_onnx_output(p.runner, 0);
  ck_assert_int_eq(mica_tensor_count(different), 5);
  ck_ok(mica_tensor_download(test_queue(), different, got, sizeof want));
  ck_assert_mem_eq(got, want, sizeof want);
  end(&p);
}
END_TEST

/* How many rows there are to take from differs from way to way. */
START_TEST(indices_are_looked_at_for_the_way_that_is_taken) {
  mica__text graph = compress_graph("Compress x f > kept"), gather = wire_node("Gather kept i > y");
  mica__text port = wire_port("i", 7, (int64_t[]){1, -1});
  wire_inside(&graph, WIRE_GRAPH_NODE, &gather);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &port);
  program p = start(&graph, NULL);
  const float all[12] = {1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3}, one[12] = {4, 4, 4, 4, -1, 0, 0, 0, -1, 0, 0, 0};
  const int64_t first = 0, third = 2;
  float y[4];
  for (int trip = 0; trip < 6; trip++) {
    bool three = trip % 2 == 0;
    const mica_onnx_feed feeds[] = {
        {.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(3, 4), .data = three ? all : one},
        {.name = "i", .dtype = MICA_I64, .shape = MICA_SHAPE(1), .data = three || trip == 5 ? &third : &first}};
    mica_status status = mica_onnx_run(p.runner, test_queue(), feeds, 2);
    ck_assert_msg(status == (trip == 5 ? MICA_E_INVALID : MICA_OK), "run %d: %s", trip, mica_error_message());
    if (trip == 5) break;
    ck_assert_int_eq(fetch(&p, y), 4);
    ck_assert_float_eq(y[0], three ? 3.0F : 4.0F);
    ck_assert_uint_eq(lowered(&p), trip ? 3 : 2);
  }
  end(&p);
}
END_TEST

/* --- bound outputs, operators of the caller's, graphs of the caller's --- */

START_TEST(outputs_are_written_where_they_are_bound) {
  program p = compress_program(NULL);
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  float y[8];
  mica_tensor *own = NULL, *other = NULL;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(2, 4), &own));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(1, 4), &other));
  ck_ok(mica_onnx_bind_output(p.runner, 0, own));
  for (int k = 0; k < 2; k++) {
    ck_ok(run(&p, x, 2));
    ck_ok(mica_tensor_download(test_queue(), own, y, sizeof y));
    ck_assert_mem_eq(y, x, sizeof x);
  }
  ck_ok(mica_onnx_bind_output(p.runner, 0, other));
  ck_assert_int_eq(run(&p, x, 2), MICA_E_SHAPE);
  ck_assert_msg(strstr(mica_error_message(), "output 'y' has the shape (2, 4)") != NULL, "%s", mica_error_message());
  ck_ok(mica_onnx_bind_output(p.runner, 0, NULL));
  ck_ok(run(&p, x, 2));
  ck_assert_int_eq(fetch(&p, y), 8);
  ck_assert_int_eq(mica_onnx_bind_output(p.runner, 1, own), MICA_E_INVALID);
  mica_tensor_destroy(own);
  mica_tensor_destroy(other);
  end(&p);
}
END_TEST

/* A loop without trips gives what it was given. */
START_TEST(outputs_are_no_tensors_of_the_callers) {
  program p = loop_program(1, 0);
  const float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, other[8] = {0};
  float y[8];
  mica_tensor *fed = NULL;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 4), x, &fed));
  for (int k = 0; k < 2; k++) {
    ck_ok(mica_tensor_upload(test_queue(), fed, x, sizeof x));
    ck_ok(mica_onnx_run(p.runner, test_queue(), &(mica_onnx_feed){.name = "x", .tensor = fed}, 1));
    ck_ok(mica_tensor_upload(test_queue(), fed, other, sizeof other));
    ck_assert_int_eq(fetch(&p, y), 8);
    ck_assert_mem_eq(y, x, sizeof x);
  }
  mica_tensor_destroy(fed);
  end(&p);
}
END_TEST

/* a x + b, with what the node says. */
static mica_status lower_line(void *user, mica_onnx_call *call) {
  const int64_t *list = NULL;
  int *calls = user;
  ++*calls;
  if (mica_onnx_call_operand_count(call) != 1) return mica_onnx_call_fail(call, MICA_E_FORMAT, "it takes one operand");
  ck_assert_uint_eq(mica_onnx_call_list(call, "none", &list), 0);
  ck_assert_ptr_nonnull(mica_onnx_call_graph(call));
  ck_assert_ptr_null(mica_onnx_call_operand(call, 5).graph);
  mica_value x = mica_onnx_call_operand(call, 0);
  mica_onnx_call_result(
      call, 0, mica_affine(x, (double)mica_onnx_call_integer(call, "a", 3), mica_onnx_call_real(call, "b", 1)));
  return MICA_OK;
}

START_TEST(a_caller_defines_operators) {
  const float x[4] = {1, 2, 3, 4};
  float y[4];
  int calls = 0;
  mica__text graph = graph_of((const char *[]){"Line x > h", "Neg h > y", NULL}), file = wire_model(&graph);
  program p = {0};
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &p.model));
  mica__text_free(&file);
  ck_assert_int_eq(mica_onnx_runner_create(test_engine(), p.model, NULL, &p.runner), MICA_E_UNSUPPORTED);
  ck_assert_int_eq(mica_onnx_define(p.model, "", "Curve", lower_line, &calls), MICA_E_NOT_FOUND);
  ck_ok(mica_onnx_define(p.model, "", "Line", lower_line, &calls));
  ck_ok(mica_onnx_runner_create(test_engine(), p.model, NULL, &p.runner));
  for (int k = 0; k < 2; k++) {
    ck_ok(run(&p, x, 1));
    fetch(&p, y);
    for (int i = 0; i < 4; i++) ck_assert_float_eq(y[i], -(3 * x[i] + 1));
  }
  ck_assert_int_eq(calls, 1);
  end(&p);
}
END_TEST

/* y = relu(x w) of a weight (4, 10): built, loaded, run; and up to x w alone. */
START_TEST(a_model_stands_in_a_graph) {
  float w[40], x[4] = {1, -2, 3, 4}, y[10], want[10] = {0};
  for (int i = 0; i < 40; i++) {
    w[i] = (float)(i % 7) - 3;
    want[i % 10] += w[i] * x[i / 10];
  }
  mica__text text = graph_of((const char *[]){"MatMul x w > h", "Relu h > y", NULL});
  mica__text weight = wire_tensor("w", 1, (int64_t[]){4, 10, -1}, w, sizeof w);
  wire_inside(&text, WIRE_GRAPH_INITIALIZER, &weight);
  program p = start(&text, NULL);
  for (int stops = 0; stops < 2; stops++) {
    mica_graph *graph = NULL;
    mica_session *session = NULL;
    mica_onnx_parameter *parameters = NULL;
    size_t count = 0;
    mica_value output;
    mica_tensor *fed = NULL;
    const mica_onnx_build_config config = {.stop_at = stops ? "h" : NULL};
    ck_ok(mica_graph_create(&graph));
    mica_value input = mica_input(graph, "in", MICA_F32, MICA_SHAPE(1, 4));
    ck_ok(mica_onnx_build(p.model, graph, &input, 1, &output, 1, &config, &parameters, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_str_eq(parameters[0].file_name, "w");
    ck_ok(mica_session_create(test_engine(), graph, &output, 1, NULL, &session));
    mica_tensor *loaded = mica_session_parameter(session, parameters[0].name);
    ck_ok(mica_onnx_load(p.model, test_queue(), "w", loaded));
    ck_assert_int_eq(mica_onnx_load(p.model, test_queue(), "v", loaded), MICA_E_NOT_FOUND);
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1, 4), x, &fed));
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"in", fed}, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), y, sizeof y));
    for (int i = 0; i < 10; i++) ck_assert_float_eq(y[i], stops ? want[i] : fmaxf(want[i], 0));
    mica_session_destroy(session);
    mica_tensor_destroy(fed);
    mica_graph_destroy(graph);
    mica_free(parameters);
  }
  end(&p);
}
END_TEST

/* y = x w in f16, of a weight (4, 10) that a node Constant gives under the name "w": trained in f32. */
START_TEST(a_model_of_f16_with_constants_is_built_in_f32) {
  static const int64_t ports[] = {1, 4, -1}, weights[] = {4, 10, -1};
  uint16_t w[40];
  float x[4] = {1, -2, 3, 4}, y[10], want[10] = {0};
  for (int i = 0; i < 40; i++) {
    mica__element_set(MICA_F16, w, i, 0.1 * i);
    want[i % 10] += (float)mica__element_get(MICA_F16, w, i) * x[i / 10];
  }
  mica__text graph_text = {0}, node = wire_node("Constant > w"), attribute = {0};
  mica__text tensor = wire_tensor("", 10, weights, w, sizeof w), in = wire_port("x", 10, ports);
  mica__text out = wire_port("y", 10, (const int64_t[]){1, 10, -1});
  wire_text(&attribute, 1, "value");
  wire_inside(&attribute, 5, &tensor);
  wire_inside(&node, WIRE_NODE_ATTRIBUTE, &attribute);
  wire_inside(&graph_text, WIRE_GRAPH_NODE, &node);
  node = wire_node("MatMul x w > y");
  wire_inside(&graph_text, WIRE_GRAPH_NODE, &node);
  wire_inside(&graph_text, WIRE_GRAPH_INPUT, &in);
  wire_inside(&graph_text, WIRE_GRAPH_OUTPUT, &out);
  program p = start(&graph_text, NULL);
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_onnx_parameter *parameters = NULL;
  size_t count = 0;
  mica_value output;
  mica_tensor *fed = NULL;
  const mica_onnx_build_config config = {.widen = true};
  ck_ok(mica_graph_create(&graph));
  mica_value input = mica_input(graph, "in", MICA_F32, MICA_SHAPE(1, 4));
  ck_assert_int_eq(mica_onnx_build(p.model, graph, &input, 1, &output, 1, NULL, &parameters, &count), MICA_E_DTYPE);
  ck_ok(mica_onnx_build(p.model, graph, &input, 1, &output, 1, &config, &parameters, &count));
  ck_assert_uint_eq(count, 1);
  ck_assert_str_eq(parameters[0].file_name, "w");
  ck_assert_int_eq(mica_value_dtype(output), MICA_F32);
  ck_ok(mica_session_create(test_engine(), graph, &output, 1, NULL, &session));
  ck_ok(mica_onnx_load(p.model, test_queue(), "w", mica_session_parameter(session, parameters[0].name)));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(1, 4), x, &fed));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"in", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), y, sizeof y));
  for (int i = 0; i < 10; i++) ck_assert_float_eq_tol(y[i], want[i], 1e-5f * 40);
  mica_session_destroy(session);
  mica_tensor_destroy(fed);
  mica_graph_destroy(graph);
  mica_free(parameters);
  end(&p);
}
END_TEST

START_TEST(a_graph_takes_no_cuts) {
  program p = compress_program(NULL);
  mica_graph *graph = NULL;
  mica_onnx_parameter *parameters = NULL;
  size_t count = 0;
  mica_value output;
  ck_ok(mica_graph_create(&graph));
  mica_value input = mica_input(graph, "in", MICA_F32, MICA_SHAPE(3, 4));
  ck_assert_int_eq(mica_onnx_build(p.model, graph, &input, 1, &output, 1, NULL, &parameters, &count),
                   MICA_E_UNSUPPORTED);
  ck_assert_msg(strstr(mica_error_message(), "(Compress): how many conditions") != NULL, "%s", mica_error_message());
  ck_assert_int_eq(mica_onnx_build(p.model, graph, &input, 0, &output, 1, NULL, &parameters, &count), MICA_E_INVALID);
  mica_graph_destroy(graph);
  end(&p);
}
END_TEST

/* y = -x, row by row: a scan over the rows, whose number only a runner knows. */
START_TEST(a_graph_needs_a_known_number_of_slices) {
  mica__text text = graph_of((const char *[]){NULL}), scan = with_number("Scan x > y", "num_scan_inputs", 1);
  mica__text body =
      wire_body("body", (const char *[]){"v", NULL}, (const char *[]){"w", NULL}, (const char *[]){"Neg v > w", NULL});
  wire_inside(&scan, WIRE_NODE_ATTRIBUTE, &body);
  wire_inside(&text, WIRE_GRAPH_NODE, &scan);
  program p = start(&text, NULL);
  const float x[8] = {1, -2, 3, 4, 5, 6, 7, 8};
  float y[8];
  ck_ok(run(&p, x, 2));
  ck_assert_int_eq(fetch(&p, y), 8);
  for (int i = 0; i < 8; i++) ck_assert_float_eq(y[i], -x[i]);
  for (int open = 0; open < 2; open++) {
    mica_graph *graph = NULL;
    mica_onnx_parameter *parameters = NULL;
    size_t count = 0;
    mica_value output;
    ck_ok(mica_graph_create(&graph));
    mica_value input = mica_input(graph, "in", MICA_F32, MICA_SHAPE(open ? MICA_DYNAMIC : 3, 4));
    const mica_status status = mica_onnx_build(p.model, graph, &input, 1, &output, 1, NULL, &parameters, &count);
    ck_assert_int_eq(status, open ? MICA_E_UNSUPPORTED : MICA_OK);
    if (open) ck_assert_msg(strstr(mica_error_message(), "give inputs of fixed shapes"), "%s", mica_error_message());
    mica_free(parameters);
    mica_graph_destroy(graph);
  }
  end(&p);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, a_branch_is_lowered_when_it_is_first_taken, a_loop_ends_by_data,
      a_list_grows_in_a_loop, a_branch_gives_a_list, a_loop_of_ten_thousand_trips_takes_bounded_memory,
      memory_is_steady_over_many_shapes, large_integers_are_different, indices_are_looked_at_for_the_way_that_is_taken,
      outputs_are_written_where_they_are_bound, outputs_are_no_tensors_of_the_callers, a_caller_defines_operators,
      a_model_stands_in_a_graph, a_model_of_f16_with_constants_is_built_in_f32, a_graph_takes_no_cuts,
      a_graph_needs_a_known_number_of_slices)
