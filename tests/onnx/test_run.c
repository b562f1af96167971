/* labels: device single
 *
 * Runs of small models: shapes from operands, inputs that are bound, functions, several shapes, wrong feeds. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/wire.h"

#include <math.h>
#include <mica/onnx.h>
#include <string.h>

#define ck_refused(call, status, sentence)                                                                             \
  do {                                                                                                                 \
    ck_assert_int_eq(call, status);                                                                                    \
    ck_assert_msg(strstr(mica_error_message(), sentence) != NULL, "%s", mica_error_message());                         \
  } while (0)

static const int64_t rows[] = {WIRE_OPEN, 4, -1}, two[] = {2, -1}, one[] = {1, -1};

typedef struct program {
  mica_onnx *model;
  mica_onnx_runner *runner;
} program;

static mica__text graph_of(const char *const *nodes) {
  mica__text graph = wire_graph(nodes), x = wire_port("x", 1, rows), y = wire_port("y", 1, rows);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &x);
  wire_inside(&graph, WIRE_GRAPH_OUTPUT, &y);
  return graph;
}

static program start(mica__text *file, const mica_onnx_runner_config *config) {
  program p = {0};
  ck_ok(mica_onnx_open_memory("model", file->data, file->length, &p.model));
  mica__text_free(file);
  ck_ok(mica_onnx_runner_create(test_engine(), p.model, config, &p.runner));
  return p;
}

static void end(program *p) {
  mica_onnx_runner_destroy(p->runner);
  mica_onnx_close(p->model);
}

static const float numbers[16] = {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16};

static mica_onnx_feed feed_x(int64_t count) {
  return (mica_onnx_feed){.name = "x", .dtype = MICA_F32, .shape = MICA_SHAPE(count, 4), .data = numbers};
}

static void expect(const program *p, mica_shape shape, const float *want) {
  float got[16];
  const mica_tensor *y = mica_onnx_output(p->runner, 0);
  ck_assert_ptr_nonnull(y);
  ck_assert(mica_shape_equal(mica_tensor_shape(y), shape));
  ck_ok(mica_tensor_download(test_queue(), y, got, mica_tensor_bytes(y)));
  ck_assert_mem_eq(got, want, mica_tensor_bytes(y));
}

/* Half as many rows, of twice the length: (rows / 2, 8), which integers round towards zero. */
START_TEST(shapes_are_computed_on_the_host) {
  mica__text graph = graph_of((const char *[]){"Shape x > s", "Div s k > h", "Mul h m > d", "Reshape x d > y", NULL});
  mica__text k = wire_tensor("k", 7, two, (const int64_t[]){2, 3}, 16);
  mica__text m = wire_tensor("m", 7, two, (const int64_t[]){1, 8}, 16);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &k);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &m);
  mica__text file = wire_model(&graph);
  program p = start(&file, NULL);
  mica_onnx_feed x = feed_x(2);
  ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
  expect(&p, MICA_SHAPE(1, 8), numbers);
  x = feed_x(4);
  ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
  expect(&p, MICA_SHAPE(2, 8), numbers);
  ck_assert_uint_eq(mica_onnx_lowering_count(p.runner), 2);
  ck_assert(!mica_onnx_is_bound(p.runner, "x"));
  end(&p);
}
END_TEST

static mica_status run_gather(program *p, const int64_t *index, const mica_tensor *tensor) {
  const mica_onnx_feed feeds[] = {
      feed_x(3), {.name = "i", .tensor = tensor, .dtype = MICA_I64, .shape = MICA_SHAPE(1), .data = index}};
  return mica_onnx_run(p->runner, test_queue(), feeds, 2);
}

/* Indices that the host has are looked at in every run, by the lowering that the first one made. */
START_TEST(indices_of_the_host_lie_inside) {
  mica__text graph = graph_of((const char *[]){"Gather x i > y", NULL}), i = wire_port("i", 7, one);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &i);
  mica__text file = wire_model(&graph);
  program p = start(&file, NULL);
  int64_t index = 2;
  ck_ok(run_gather(&p, &index, NULL));
  expect(&p, MICA_SHAPE(1, 4), numbers + 8);
  index = -3;
  ck_ok(run_gather(&p, &index, NULL));
  expect(&p, MICA_SHAPE(1, 4), numbers);
  for (int64_t wrong = -4; wrong <= 3; wrong += 7)
    ck_refused(run_gather(&p, &wrong, NULL), MICA_E_INVALID,
               wrong < 0 ? "the index -4, outside of an axis of 3" : "the index 3, outside of");
  ck_assert(strstr(mica_error_message(), "(Gather): element 0 of the input 'i' is") != NULL);
  mica_tensor *far = NULL;
  index = 9;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I64, MICA_SHAPE(1), &index, &far));
  ck_ok(run_gather(&p, NULL, far));
  expect(&p, MICA_SHAPE(1, 4), (const float[4]){0});
  mica_tensor_destroy(far);
  ck_assert_uint_eq(mica_onnx_lowering_count(p.runner), 1);
  end(&p);
}
END_TEST

/* Known indices that rise by one step show a part of x, which Mul reads where it lies: no launch moves it. */
START_TEST(rising_indices_are_a_part) {
  static const struct {
    int64_t indices[2];
    size_t launches;
  } cases[] = {{{0, 2}, 1}, {{-3, -1}, 1}, {{1, 2}, 1}, {{2, 2}, 2}, {{2, 0}, 2}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    mica__text graph = graph_of((const char *[]){"Gather x k > h", "Mul h h > y", NULL});
    mica__text k = wire_tensor("k", 7, two, cases[c].indices, 16), file;
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &k);
    file = wire_model(&graph);
    program p = start(&file, NULL);
    mica_onnx_feed x = feed_x(3);
    mica_onnx_report report;
    float want[8];
    for (int i = 0; i < 8; i++) {
      int64_t row = (cases[c].indices[i / 4] + 3) % 3;
      want[i] = numbers[row * 4 + i % 4] * numbers[row * 4 + i % 4];
    }
    ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
    expect(&p, MICA_SHAPE(2, 4), want);
    ck_ok(mica_onnx_runner_describe(p.runner, &report));
    ck_assert_uint_eq(report.launches, cases[c].launches);
    end(&p);
  }
}
END_TEST

/* Each column of GatherND's counts along an axis of its own. */
START_TEST(constant_indices_lie_inside) {
  for (int64_t column = 3; column < 5; column++) {
    mica__text graph = graph_of((const char *[]){"GatherND x k > h", "Mul x h > y", NULL});
    mica__text k = wire_tensor("k", 7, (const int64_t[]){1, 2, -1}, (const int64_t[]){1, column}, 16);
    wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &k);
    mica__text file = wire_model(&graph);
    program p = start(&file, NULL);
    mica_onnx_feed x = feed_x(2);
    if (column < 4)
      ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
    else
      ck_refused(mica_onnx_run(p.runner, test_queue(), &x, 1), MICA_E_INVALID,
                 "(GatherND): element 1 of the input 'k' is the index 4, outside of an axis of 4 elements");
    end(&p);
  }
}
END_TEST

/* The axes of a reduction are an input: its elements belong to what is compiled. */
START_TEST(inputs_that_shapes_need_are_bound) {
  mica__text graph = graph_of((const char *[]){"ReduceSum x axes > y", NULL}), axes = wire_port("axes", 7, one);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &axes);
  mica__text file = wire_model(&graph);
  program p = start(&file, NULL);
  int64_t axis = 1;
  mica_onnx_feed feeds[] = {feed_x(2), {.name = "axes", .dtype = MICA_I64, .shape = MICA_SHAPE(1), .data = &axis}};
  for (int again = 0; again < 2; again++) {
    axis = 1;
    ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 2));
    expect(&p, MICA_SHAPE(2, 1), (const float[]){-2, -2});
    axis = 0;
    ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 2));
    expect(&p, MICA_SHAPE(1, 4), (const float[]){6, -8, 10, -12});
  }
  ck_assert(mica_onnx_is_bound(p.runner, "axes") && !mica_onnx_is_bound(p.runner, "x"));
  ck_assert_uint_eq(mica_onnx_lowering_count(p.runner), 2);
  axis = 5;
  ck_refused(mica_onnx_run(p.runner, test_queue(), feeds, 2), MICA_E_SHAPE, "node 'y' (ReduceSum): the axis is 5");
  mica_tensor *tensor = NULL;
  axis = 0;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I64, MICA_SHAPE(1), &axis, &tensor));
  feeds[1] = (mica_onnx_feed){.name = "axes", .tensor = tensor};
  ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 2));
  expect(&p, MICA_SHAPE(1, 4), (const float[]){6, -8, 10, -12});
  mica_tensor_destroy(tensor);
  end(&p);
}
END_TEST

static float itself(float x) { return x; }
static float square(float x) { return x * x; }

/* A reduction over no axes: each element's own. */
START_TEST(reductions_of_no_axes_take_elements) {
  static const struct {
    const char *node;
    float (*of)(float x);
  } cases[] = {{"ReduceSum x > y", itself},      {"ReduceMax x > y", itself}, {"ReduceLogSumExp x > y", itself},
               {"ReduceL1 x > y", fabsf},        {"ReduceL2 x > y", fabsf},   {"ReduceLogSum x > y", logf},
               {"ReduceSumSquare x > y", square}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    mica__text graph = graph_of((const char *[]){NULL}), node = wire_node(cases[c].node), noop = {0};
    wire_text(&noop, 1, "noop_with_empty_axes");
    wire_int(&noop, 3, 1);
    wire_inside(&node, WIRE_NODE_ATTRIBUTE, &noop);
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    mica__text file = wire_model_of(&graph, 18);
    program p = start(&file, NULL);
    mica_onnx_feed x = feed_x(2);
    ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
    const mica_tensor *y = mica_onnx_output(p.runner, 0);
    float got[8];
    ck_assert(mica_shape_equal(mica_tensor_shape(y), MICA_SHAPE(2, 4)));
    ck_ok(mica_tensor_download(test_queue(), y, got, sizeof got));
    for (int i = 0; i < 8; i++) {
      const float want = cases[c].of(numbers[i]);
      if (isnan(want))
        ck_assert_float_nan(got[i]);
      else
        ck_assert_float_eq_tol(got[i], want, 1e-6F * (1 + fabsf(want)));
    }
    end(&p);
  }
}
END_TEST

/* An identity needs no axis of one, which is one too many for an array of the highest rank. */
START_TEST(identities_over_no_axes_take_any_rank) {
  static const char *const nodes[] = {"ReduceSum x > y", "ReduceMean x > y", "ReduceMax x > y", "ReduceMin x > y",
                                      "ReduceProd x > y"};
  mica_shape shape = {.rank = MICA_MAX_RANK};
  int64_t extents[MICA_MAX_RANK + 1];
  for (int i = 0; i < MICA_MAX_RANK; i++) shape.dim[i] = i < 2 ? 2 : 1, extents[i] = shape.dim[i];
  extents[MICA_MAX_RANK] = -1;
  for (size_t c = 0; c < sizeof nodes / sizeof *nodes; c++) {
    mica__text graph = {0}, node = wire_node(nodes[c]), noop = {0};
    wire_text(&noop, 1, "noop_with_empty_axes");
    wire_int(&noop, 3, 1);
    wire_inside(&node, WIRE_NODE_ATTRIBUTE, &noop);
    wire_inside(&graph, WIRE_GRAPH_NODE, &node);
    mica__text in = wire_port("x", 1, extents), out = wire_port("y", 1, extents);
    wire_inside(&graph, WIRE_GRAPH_INPUT, &in);
    wire_inside(&graph, WIRE_GRAPH_OUTPUT, &out);
    mica__text file = wire_model_of(&graph, 18);
    program p = start(&file, NULL);
    mica_onnx_feed x = {.name = "x", .shape = shape, .dtype = MICA_F32, .data = numbers};
    ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
    expect(&p, shape, numbers);
    end(&p);
  }
}
END_TEST

/* What was used longest ago goes, and comes back. */
START_TEST(lowerings_are_limited) {
  mica__text graph = graph_of((const char *[]){"Relu x > y", NULL}), file = wire_model(&graph);
  program p = start(&file, &(mica_onnx_runner_config){.most_lowerings = 2});
  for (int64_t i = 0; i < 8; i++) {
    mica_onnx_feed x = feed_x(1 + i % 4);
    ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
    expect(&p, MICA_SHAPE(1 + i % 4, 4), (const float[]){1, 0, 3, 0, 5, 0, 7, 0, 9, 0, 11, 0, 13, 0, 15, 0});
    ck_assert_uint_le(mica_onnx_lowering_count(p.runner), 2);
  }
  end(&p);
}
END_TEST

/* A range of 0 has no steps: numbers that are all 0 come back as they are, and not as what 0 / 0 is. */
START_TEST(zeros_are_quantised) {
  static const float zeros[16];
  mica__text graph =
      graph_of((const char *[]){"DynamicQuantizeLinear x > q s z", "DequantizeLinear q s z > d", "Add d s > y", NULL});
  mica__text file = wire_model(&graph);
  program p = start(&file, NULL);
  mica_onnx_feed x = feed_x(1);
  x.data = zeros;
  ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
  expect(&p, MICA_SHAPE(1, 4), (const float[]){1, 1, 1, 1}); /* as onnxruntime's, whose scale is 1 */
  end(&p);
}
END_TEST

/* Numbers of the host that stay the same are sent once, and again when they change where they are. */
START_TEST(small_feeds_are_sent_when_they_change) {
  mica__text graph = graph_of((const char *[]){"Add x x > y", NULL}), file = wire_model(&graph);
  program p = start(&file, NULL);
  float given[8], want[8];
  memcpy(given, numbers, sizeof given);
  mica_onnx_feed x = feed_x(2);
  x.data = given;
  for (int run = 0; run < 4; run++) {
    const uint64_t before = mica_engine_stats(test_engine()).bytes_uploaded;
    if (run == 2) given[7] = 100;
    for (int i = 0; i < 8; i++) want[i] = 2 * given[i];
    ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
    expect(&p, MICA_SHAPE(2, 4), want);
    const uint64_t sent = mica_engine_stats(test_engine()).bytes_uploaded - before;
    if (run > 0) ck_assert_uint_eq(sent, run == 2 ? sizeof given : 0);
  }
  end(&p);
}
END_TEST

/* A function that calls another, and an initial value larger than what is a constant. */
START_TEST(functions_are_inlined) {
  float w[64];
  for (int i = 0; i < 64; i++) w[i] = (float)(i % 4);
  mica__text graph = graph_of((const char *[]){"Outer x w > y", NULL});
  mica__text weight = wire_tensor("w", 1, (int64_t[]){16, 4, -1}, w, sizeof w);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &weight);
  mica__text file = wire_model(&graph);
  static const struct {
    const char *name, *in[2], *nodes[3];
  } functions[] = {{"Outer", {"a", "b"}, {"Transpose b > t", "Inner a t > c"}},
                   {"Inner", {"a", "t"}, {"MatMul a t > p", "Neg p > c"}}};
  for (int f = 0; f < 2; f++) {
    mica__text function = {0}, set = {0};
    wire_text(&function, 1, functions[f].name);
    for (int k = 0; k < 2; k++) wire_text(&function, 4, functions[f].in[k]);
    wire_text(&function, 5, "c");
    for (int k = 0; k < 2; k++) {
      mica__text node = wire_node(functions[f].nodes[k]);
      wire_inside(&function, 7, &node);
    }
    wire_int(&set, 2, 17);
    wire_inside(&function, 9, &set);
    wire_inside(&file, WIRE_MODEL_FUNCTION, &function);
  }
  program p = start(&file, NULL);
  mica_onnx_feed x = feed_x(1);
  ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
  float want[16];
  for (int i = 0; i < 16; i++) want[i] = -(-2 + 2 * 3 - 3 * 4);
  expect(&p, MICA_SHAPE(1, 16), want);
  end(&p);
}
END_TEST

/* x doubled `trips` times by a loop, whose trips are an input. */
static program loop_program(const char *condition) {
  mica__text graph = graph_of((const char *[]){NULL}), loop = wire_node("Loop trips - x > y"), trips;
  mica__text body =
      wire_body("body", (const char *[]){"i", "on", "v", NULL}, (const char *[]){condition, "w", NULL},
                (const char *[]){"Add v v > w", "Less i more > few", "ReduceMax w - > m", "Less m big > low", NULL});
  mica__text more = wire_tensor("more", 7, (int64_t[]){-1}, &(int64_t){2}, 8);
  mica__text big = wire_tensor("big", 1, (int64_t[]){-1}, &(float){100}, 4);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &more);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &big);
  wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &body);
  wire_inside(&graph, WIRE_GRAPH_NODE, &loop);
  trips = wire_port("trips", 7, (int64_t[]){-1});
  wire_inside(&graph, WIRE_GRAPH_INPUT, &trips);
  mica__text file = wire_model(&graph);
  return start(&file, NULL);
}

/* Trips that an input gives are counted by the host: the body is lowered once. */
START_TEST(loops_of_known_conditions_end) {
  float want[4];
  for (int ends = 0; ends < 2; ends++) {
    program p = loop_program(ends ? "few" : "on");
    int64_t trips = 0;
    mica_onnx_feed feeds[] = {feed_x(1), {.name = "trips", .dtype = MICA_I64, .data = &trips}};
    for (trips = 0; trips < 6; trips++) {
      /* With an end of its own the trip of i = 2 is the last one. */
      float factor = (float)(1 << (ends && trips > 3 ? 3 : trips));
      for (int i = 0; i < 4; i++) want[i] = factor * numbers[i];
      ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 2));
      expect(&p, MICA_SHAPE(1, 4), want);
    }
    mica_onnx_report report;
    ck_ok(mica_onnx_runner_describe(p.runner, &report));
    ck_assert_uint_eq(report.lowered, 3); /* up to the loop, its body, what stands behind */
    end(&p);
  }
}
END_TEST

START_TEST(branches_are_of_known_conditions) {
  mica__text graph = graph_of((const char *[]){"ReduceMax x > m", "Greater m zero > c", NULL}), file;
  mica__text branch = wire_node("If flag > y");
  mica__text on = wire_body("then_branch", (const char *[]){NULL}, (const char *[]){"a", NULL},
                            (const char *[]){"Neg x > a", NULL});
  mica__text off =
      wire_body("else_branch", (const char *[]){NULL}, (const char *[]){"x", NULL}, (const char *[]){NULL});
  wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &off);
  wire_inside(&branch, WIRE_NODE_ATTRIBUTE, &on);
  wire_inside(&graph, WIRE_GRAPH_NODE, &branch);
  mica__text flag = wire_port("flag", 9, (int64_t[]){-1});
  mica__text zero = wire_tensor("zero", 1, (int64_t[]){-1}, &(float){0}, 4);
  wire_inside(&graph, WIRE_GRAPH_INPUT, &flag);
  wire_inside(&graph, WIRE_GRAPH_INITIALIZER, &zero);
  file = wire_model(&graph);
  program p = start(&file, NULL);
  bool yes = true;
  mica_onnx_feed feeds[] = {feed_x(1), {.name = "flag", .dtype = MICA_BOOL, .data = &yes}};
  ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 2));
  expect(&p, MICA_SHAPE(1, 4), (const float[]){-1, 2, -3, 4});
  yes = false;
  ck_ok(mica_onnx_run(p.runner, test_queue(), feeds, 2));
  expect(&p, MICA_SHAPE(1, 4), numbers);
  end(&p);
}
END_TEST

START_TEST(wrong_feeds_are_refused) {
  mica__text graph = graph_of((const char *[]){"Relu x > y", NULL}), file = wire_model(&graph);
  program p = start(&file, NULL);
  mica_onnx_feed x = feed_x(2), twice[] = {x, x}, other = x, half = x, flat = x, nothing = x;
  other.name = "z";
  half.dtype = MICA_F16;
  flat.shape = MICA_SHAPE(8);
  nothing.data = NULL;
  ck_refused(mica_onnx_run(p.runner, test_queue(), NULL, 0), MICA_E_INVALID, "input 'x' is not fed");
  ck_refused(mica_onnx_run(p.runner, test_queue(), twice, 2), MICA_E_INVALID, "fed twice");
  ck_refused(mica_onnx_run(p.runner, test_queue(), &other, 1), MICA_E_NOT_FOUND, "no input 'z'");
  ck_refused(mica_onnx_run(p.runner, test_queue(), &half, 1), MICA_E_DTYPE, "is f32, but was fed f16");
  ck_refused(mica_onnx_run(p.runner, test_queue(), &flat, 1), MICA_E_SHAPE, "was fed (8)");
  ck_refused(mica_onnx_run(p.runner, test_queue(), &nothing, 1), MICA_E_INVALID, "neither a tensor nor elements");
  ck_assert_ptr_null(mica_onnx_output(p.runner, 0));
  ck_ok(mica_onnx_run(p.runner, test_queue(), &x, 1));
  ck_assert_ptr_null(mica_onnx_output(p.runner, 1));
  end(&p);
}
END_TEST

/* The mask of a Dropout, in a graph of batches of any size. */
START_TEST(masks_of_open_batches_are_built) {
  mica__text text = graph_of((const char *[]){"Dropout x > h m", "Where m h x > y", NULL}), file = wire_model(&text);
  mica_onnx_parameter *parameters = NULL;
  mica_session *session = NULL;
  mica_onnx *model = NULL;
  mica_graph *graph = NULL;
  mica_tensor *fed = NULL;
  mica_value output;
  size_t count = 0;
  float got[8];
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &model));
  mica__text_free(&file);
  ck_ok(mica_graph_create(&graph));
  mica_value input = mica_input(graph, "in", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, 4));
  ck_ok(mica_onnx_build(model, graph, &input, 1, &output, 1, NULL, &parameters, &count));
  ck_ok(mica_session_create(test_engine(), graph, &output, 1, NULL, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(2, 4), numbers, &fed));
  ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"in", fed}, 1));
  ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), got, sizeof got));
  ck_assert_mem_eq(got, numbers, sizeof got);
  mica_session_destroy(session);
  mica_tensor_destroy(fed);
  mica_graph_destroy(graph);
  mica_free(parameters);
  mica_onnx_close(model);
}
END_TEST

START_TEST(what_is_missing_is_named) {
  mica__text graph = graph_of((const char *[]){"Strange x > h", "Odd h > y", NULL}), file = wire_model(&graph);
  program p = {0};
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &p.model));
  mica__text_free(&file);
  ck_refused(mica_onnx_runner_create(test_engine(), p.model, NULL, &p.runner), MICA_E_UNSUPPORTED,
             "Strange (version 17), Odd (version 17)");
  mica_onnx_close(p.model);
  graph = graph_of((const char *[]){"Relu nowhere > y", NULL});
  file = wire_model(&graph);
  p = start(&file, NULL);
  mica_onnx_feed x = feed_x(1);
  ck_refused(mica_onnx_run(p.runner, test_queue(), &x, 1), MICA_E_FORMAT,
             "no input, initialiser or node gives the value 'nowhere'");
  end(&p);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, shapes_are_computed_on_the_host, indices_of_the_host_lie_inside,
      constant_indices_lie_inside, rising_indices_are_a_part, inputs_that_shapes_need_are_bound,
      reductions_of_no_axes_take_elements, identities_over_no_axes_take_any_rank, lowerings_are_limited,
      zeros_are_quantised, small_feeds_are_sent_when_they_change, functions_are_inlined, loops_of_known_conditions_end,
      branches_are_of_known_conditions, wrong_feeds_are_refused, masks_of_open_batches_are_built,
      what_is_missing_is_named)
