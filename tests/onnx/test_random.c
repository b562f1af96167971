/* labels: device single
 *
 * Operators that draw at random: their moments and frequencies, seeds, and that runs and trips differ. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/onnx_node.h"

#include <math.h>
#include <mica/mica.h>
#include <mica/onnx.h>
#include <stdlib.h>
#include <string.h>

#define COUNT 40000

/* A runner of one node, whose operands are initial values. */
typedef struct drawing {
  mica_onnx *model;
  mica_onnx_runner *runner;
} drawing;

static drawing start_graph(mica__text *graph, const operand *operands, uint64_t seed) {
  drawing d = {0};
  for (; operands && operands->name; operands++) {
    size_t size = operands->type == INT64 ? 8 : operands->type == BOOL ? 1 : 4;
    for (int k = 0; operands->dims[k] >= 0; k++) size *= (size_t)operands->dims[k];
    mica__text tensor = wire_tensor(operands->name, operands->type, operands->dims, operands->data, size);
    wire_inside(graph, WIRE_GRAPH_INITIALIZER, &tensor);
  }
  mica__text y = wire_port("y", FLOAT, (int64_t[]){-1});
  wire_inside(graph, WIRE_GRAPH_OUTPUT, &y);
  mica__text file = wire_model_of(graph, 17);
  ck_ok(mica_onnx_open_memory("model", file.data, file.length, &d.model));
  mica__text_free(&file);
  ck_ok(mica_onnx_runner_create(test_engine(), d.model, &(mica_onnx_runner_config){.seed = seed}, &d.runner));
  return d;
}

static drawing start(const char *node, const attribute *attributes, const operand *operands, uint64_t seed) {
  mica__text graph = {0}, one = node_with(node, attributes);
  wire_inside(&graph, WIRE_GRAPH_NODE, &one);
  return start_graph(&graph, operands, seed);
}

static void end(drawing *d) {
  mica_onnx_runner_destroy(d->runner);
  mica_onnx_close(d->model);
}

static void draw(const drawing *d, int64_t count, mica_dtype dtype, void *y) {
  ck_ok(mica_onnx_run(d->runner, test_queue(), NULL, 0));
  const mica_tensor *tensor = mica_onnx_output(d->runner, 0);
  ck_assert_int_eq(mica_tensor_count(tensor), count);
  ck_assert_int_eq((int)mica_tensor_dtype(tensor), (int)dtype);
  ck_ok(mica_tensor_download(test_queue(), tensor, y, mica_tensor_bytes(tensor)));
}

static float first[COUNT], second[COUNT];

/* Within five standard errors. */
static void check_moments(const float *y, double mean, double deviation, bool normal) {
  double sum = 0, squares = 0, fourth = normal ? 3 : 1.8;
  for (int i = 0; i < COUNT; i++) sum += (double)y[i];
  for (int i = 0; i < COUNT; i++) squares += ((double)y[i] - mean) * ((double)y[i] - mean);
  const double variance = deviation * deviation;
  ck_assert_double_eq_tol(sum / COUNT, mean, 5 * deviation / sqrt(COUNT));
  ck_assert_double_eq_tol(squares / COUNT, variance, 5 * variance * sqrt((fourth - 1) / COUNT));
}

START_TEST(numbers_have_their_distribution) {
  const operand like[] = {{"x", FLOAT, {4, COUNT / 4, -1}, first}, {0}};
  const attribute normal[] = {REAL("mean", 2), REAL("scale", 0.5), {0}};
  const attribute uniform[] = {REAL("low", -3), REAL("high", 5), {0}};
  const attribute filled[] = {REAL("mean", 2), REAL("scale", 0.5), LIST("shape", 4, COUNT / 4), {0}};
  const attribute filled_uniform[] = {LIST("shape", COUNT), REAL("low", -3), REAL("high", 5), {0}};
  const struct {
    const char *node;
    const attribute *attributes;
    const operand *operands;
    bool normal;
  } cases[] = {{"RandomNormalLike x > y", normal, like, true},
               {"RandomUniformLike x > y", uniform, like, false},
               {"RandomNormal > y", filled, NULL, true},
               {"RandomUniform > y", filled_uniform, NULL, false}};
  memset(first, 0, sizeof first);
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    drawing d = start(cases[c].node, cases[c].attributes, cases[c].operands, 11);
    draw(&d, COUNT, MICA_F32, second);
    if (cases[c].normal)
      check_moments(second, 2, 0.5, true);
    else
      check_moments(second, 1, 8 / sqrt(12), false);
    for (int i = 0; !cases[c].normal && i < COUNT; i++) ck_assert(second[i] >= -3 && second[i] < 5);
    end(&d);
  }
}
END_TEST

/* How many of the elements agree. */
static int agreeing(void) {
  int same = 0;
  for (int i = 0; i < COUNT; i++) same += first[i] == second[i];
  return same;
}

START_TEST(the_same_seed_gives_the_same_numbers) {
  static const struct {
    uint64_t seeds[2];
    double own[2]; /* the attribute; 0: none */
    int run;       /* of the second runner */
    bool agree;
  } cases[] = {{{5, 5}, {0, 0}, 1, true},  {{5, 6}, {0, 0}, 1, false}, {{5, 5}, {0, 0}, 2, false},
               {{5, 6}, {7, 7}, 1, true},  {{5, 5}, {7, 8}, 1, false}, {{0, 0}, {0, 0}, 1, true},
               {{5, 5}, {7, 7}, 2, false}, {{5, 5}, {0, 7}, 1, false}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    for (int k = 0; k < 2; k++) {
      attribute attributes[] = {LIST("shape", COUNT), REAL("seed", cases[c].own[k]), {0}};
      if (cases[c].own[k] == 0) attributes[1] = (attribute){0};
      drawing d = start("RandomNormal > y", attributes, NULL, cases[c].seeds[k]);
      for (int r = 0; r < (k ? cases[c].run : 1); r++) draw(&d, COUNT, MICA_F32, k ? second : first);
      end(&d);
    }
    const int same = agreeing();
    ck_assert_msg(cases[c].agree ? same == COUNT : same < COUNT / 100, "case %zu: %d of %d agree", c, same, COUNT);
  }
}
END_TEST

/* Two nodes of a graph, and the trips of a loop, draw different numbers. */
START_TEST(nodes_and_trips_differ) {
  const float zeros[4] = {0};
  for (int unrolled = 0; unrolled < 2; unrolled++) {
    const int64_t most = unrolled ? 3 : 3000;
    mica__text graph = {0}, loop = wire_node("Loop most yes > y");
    mica__text body = wire_body(
        "body", (const char *[]){"i", "on", NULL}, (const char *[]){"go", "w", NULL},
        (const char *[]){"Identity on > go", "RandomNormalLike k > a", "RandomNormalLike k > b", "Sub a b > w", NULL});
    wire_inside(&loop, WIRE_NODE_ATTRIBUTE, &body);
    wire_inside(&graph, WIRE_GRAPH_NODE, &loop);
    const bool yes = true;
    const operand operands[] = {
        {"most", INT64, {-1}, &most}, {"yes", BOOL, {-1}, &yes}, {"k", FLOAT, {4, -1}, zeros}, {0}};
    drawing d = start_graph(&graph, operands, 3);
    draw(&d, most * 4, MICA_F32, first);
    for (int64_t i = 0; i < most; i++) {
      ck_assert(memcmp(&first[4 * i], zeros, sizeof zeros) != 0);
      for (int64_t j = i + 1; j < i + 40 && j < most; j++)
        ck_assert(memcmp(&first[4 * i], &first[4 * j], sizeof zeros) != 0);
    }
    end(&d);
  }
}
END_TEST

START_TEST(shares_are_frequencies) {
  enum { CLASSES = 5, ROWS = 2, EACH = COUNT / 2 };
  const double shares[ROWS][CLASSES] = {{0.1, 0.4, 0, 0.3, 0.2}, {0, 0, 1, 0, 0}};
  float logs[ROWS * CLASSES];
  static int64_t classes[COUNT];
  int64_t counts[ROWS][CLASSES] = {{0}};
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < CLASSES; k++) logs[r * CLASSES + k] = (float)log(3 * shares[r][k]);
  const attribute many[] = {NUMBER("sample_size", EACH), NUMBER("dtype", INT64), {0}};
  drawing d = start("Multinomial x > y", many, (const operand[]){{"x", FLOAT, {ROWS, CLASSES, -1}, logs}, {0}}, 1);
  draw(&d, COUNT, MICA_I64, classes);
  for (int i = 0; i < COUNT; i++) {
    ck_assert(classes[i] >= 0 && classes[i] < CLASSES);
    counts[i / EACH][classes[i]]++;
  }
  for (int r = 0; r < ROWS; r++)
    for (int k = 0; k < CLASSES; k++) {
      const double p = shares[r][k];
      ck_assert_double_eq_tol((double)counts[r][k] / EACH, p, 5 * sqrt(p * (1 - p) / EACH) + 1e-12);
    }
  end(&d);
  for (int i = 0; i < COUNT; i++) first[i] = i % 4 == 0 ? 0 : i % 4 == 1 ? 1 : i % 4 == 2 ? 0.25F : 0.7F;
  d = start("Bernoulli x > y", NULL, (const operand[]){{"x", FLOAT, {COUNT, -1}, first}, {0}}, 1);
  draw(&d, COUNT, MICA_F32, second);
  double ones[4] = {0};
  for (int i = 0; i < COUNT; i++) {
    ck_assert(second[i] == 0 || second[i] == 1);
    ones[i % 4] += 4 * (double)second[i] / COUNT;
  }
  for (int k = 0; k < 4; k++) {
    const double p = (double)first[k];
    ck_assert_double_eq_tol(ones[k], p, 5 * sqrt(p * (1 - p) * 4 / COUNT) + 1e-12);
  }
  end(&d);
}
END_TEST

/* A model that is built into a graph has no runs, and huge shapes are refused before anything is made. */
START_TEST(what_cannot_be_drawn_is_refused) {
  static const struct {
    int64_t shape;
    int64_t dtype;
    const char *part;
  } cases[] = {
      {INT64_MAX, FLOAT, "RandomNormal"}, {-4, FLOAT, "RandomNormal"}, {4, INT64, "must be of a floating type"}};
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    const attribute attributes[] = {LIST("shape", cases[c].shape, 4), NUMBER("dtype", cases[c].dtype), {0}};
    drawing d = start("RandomNormal > y", attributes, NULL, 0);
    ck_assert_int_ne((int)mica_onnx_run(d.runner, test_queue(), NULL, 0), (int)MICA_OK);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), cases[c].part));
    end(&d);
  }
  drawing d = start("RandomNormal > y", (const attribute[]){LIST("shape", 4), {0}}, NULL, 0);
  mica_graph *graph = NULL;
  mica_value y;
  ck_ok(mica_graph_create(&graph));
  mica_onnx_parameter *parameters = NULL;
  size_t count = 0;
  ck_assert_int_eq((int)mica_onnx_build(d.model, graph, NULL, 0, &y, 1, NULL, &parameters, &count),
                   (int)MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "draws random numbers"));
  mica_graph_destroy(graph);
  end(&d);
}
END_TEST

TESTS(BOTH(NEEDS(ONNX), DEVICE), NULL, NULL, numbers_have_their_distribution, the_same_seed_gives_the_same_numbers,
      nodes_and_trips_differ, shares_are_frequencies, what_cannot_be_drawn_is_refused)
