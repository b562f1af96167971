/* labels: null slow
 *
 * Graphs of 10,000 values and more, of several forms: building, differentiating, partitioning, planning and recording
 * take less than two seconds of a core each. On the null device, so that no time of a driver's compiler counts. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODES 10000
#define MOST_SECONDS 2.0
#define WIDTH 32

static mica_graph *graph;
static mica_value params[NODES], grads[NODES];
static size_t param_count;

static mica_value parameter(mica_shape shape) {
  char name[32];
  snprintf(name, sizeof name, "layers.%zu.weight", param_count);
  return params[param_count++] = mica_parameter(graph, name, MICA_F32, shape);
}

static mica_value input(void) { return mica_input(graph, "x", MICA_F32, MICA_SHAPE(8, WIDTH)); }

static mica_value scalar_of(mica_value x) { return mica_mean(x, MICA_ALL_AXES, false); }

static void train(mica_value loss) {
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_gradients(loss, params, param_count, grads));
  for (size_t i = 0; i < param_count; i++) mica_assign(params[i], mica_sub(params[i], mica_affine(grads[i], 0.1, 0)));
}

/* x -> sin(x) + 1 -> ... */
static mica_value chain(void) {
  mica_value h = input();
  for (int i = 0; i < NODES / 2; i++) h = mica_affine(mica_sin(h), 1, 1);
  return h;
}

static mica_value trained_chain(void) {
  mica_value w = parameter(MICA_SHAPE(WIDTH)), h = mica_mul(input(), w);
  for (int i = 0; i < NODES / 4; i++) h = mica_tanh(h);
  mica_value loss = scalar_of(h);
  train(loss);
  return loss;
}

/* One value read by thousands, whose results are summed up two by two. */
static mica_value wide(void) {
  static mica_value list[NODES / 4];
  mica_value x = input();
  size_t count = NODES / 4;
  for (size_t i = 0; i < count; i++)
    list[i] = mica_tanh(mica_mul(x, mica_constant(graph, MICA_F32, MICA_SHAPE(1), &(float){(float)i})));
  for (; count > 1; count = (count + 1) / 2)
    for (size_t i = 0; i < count / 2; i++)
      list[i] = mica_add(list[2 * i], list[2 * i + 1]), list[count / 2] = list[count - 1];
  return list[0];
}

/* Thousands of slices of one value, each worked on, put together again. */
static mica_value parts(void) {
  static mica_value list[NODES / 4];
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(NODES / 4, WIDTH));
  for (int i = 0; i < NODES / 4; i++) list[i] = mica_softmax(mica_slice(x, 0, i, i + 1, 1), 1);
  return mica_concat(list, NODES / 4, 0);
}

/* h + relu(norm(h w) scale + shift), trained. */
static mica_value residual(void) {
  mica_value h = input();
  for (int b = 0; b < NODES / 55; b++) {
    mica_value z = mica_matmul(h, parameter(MICA_SHAPE(WIDTH, WIDTH))), mean = mica_mean(z, MICA_AXES(0), true);
    mica_value centred = mica_sub(z, mean), variance = mica_mean(mica_square(centred), MICA_AXES(0), true);
    z = mica_mul(centred, mica_rsqrt(mica_affine(variance, 1, 1e-5)));
    z = mica_add(mica_mul(z, parameter(MICA_SHAPE(WIDTH))), parameter(MICA_SHAPE(WIDTH)));
    h = mica_add(h, mica_relu(z));
  }
  mica_value loss = scalar_of(h);
  train(loss);
  return loss;
}

/* A product a layer, and a weight each. */
static mica_value products(void) {
  mica_value h = input();
  for (int i = 0; i < NODES / 3; i++) h = mica_relu(mica_matmul(h, parameter(MICA_SHAPE(WIDTH, WIDTH))));
  return h;
}

/* A recurrent network unrolled: every step reads the same weights. */
static mica_value unrolled(void) {
  mica_value w = parameter(MICA_SHAPE(WIDTH, WIDTH)), u = parameter(MICA_SHAPE(WIDTH, WIDTH));
  mica_value x = mica_input(graph, "x", MICA_F32, MICA_SHAPE(NODES / 18, 8, WIDTH));
  mica_value h = mica_full(graph, MICA_F32, MICA_SHAPE(8, WIDTH), 0);
  for (int t = 0; t < NODES / 18; t++) {
    mica_value now = mica_reshape(mica_slice(x, 0, t, t + 1, 1), MICA_SHAPE(8, WIDTH));
    h = mica_tanh(mica_add(mica_matmul(now, w), mica_matmul(h, u)));
  }
  mica_value loss = scalar_of(h);
  train(loss);
  return loss;
}

/* The network with gradient checkpointing. */
static mica_value checkpointed(void) {
  mica_value h = input();
  for (int i = 0; i < NODES / 10; i++) {
    h = mica_tanh(mica_matmul(h, parameter(MICA_SHAPE(WIDTH, WIDTH))));
    if (i % 30 == 29) mica_checkpoint(h);
  }
  mica_value loss = scalar_of(h);
  train(loss);
  return loss;
}

/* Thousands of parameters, each updated by a rule of its own from one input. */
static mica_value updates(void) {
  mica_value x = input(), sum = scalar_of(x);
  for (int i = 0; i < NODES / 4; i++) {
    mica_value w = parameter(MICA_SHAPE(WIDTH));
    mica_assign(w, mica_add(mica_affine(w, 0.9, 0), mica_mul(sum, mica_scalar(graph, MICA_F32, i))));
  }
  return sum;
}

static double seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static size_t count_nodes(void) {
  char *text = NULL;
  size_t lines = 0;
  ck_ok(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text));
  for (const char *c = text; *c; c++) lines += *c == '\n';
  free(text);
  return lines;
}

static const struct {
  const char *name;
  mica_value (*build)(void);
} FORMS[] = {
    {"chain", chain},       {"trained chain", trained_chain}, {"wide", wide},
    {"parts", parts},       {"residual", residual},           {"products", products},
    {"unrolled", unrolled}, {"checkpointed", checkpointed},   {"updates", updates},
};

START_TEST(ten_thousand_nodes_in_two_seconds) {
  const char *name = FORMS[_i].name;
  mica_engine *engine;
  mica_session *session;
  mica_session_report report;
  ck_ok(mica_engine_create(&(mica_engine_config){.device = "null", .cache_dir = ""}, &engine));
  param_count = 0;
  double begin = seconds();
  ck_ok(mica_graph_create(&graph));
  mica_value y = FORMS[_i].build();
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", name, mica_graph_message(graph));
  double built = seconds();
  ck_ok(mica_session_create(engine, graph, &y, 1, NULL, &session));
  double end = seconds();
  ck_ok(mica_session_describe(session, &report));
  printf("%-14s %6zu nodes, %6zu launches: built in %.3f s, planned in %.3f s\n", name, count_nodes(), report.launches,
         built - begin, end - built);
  ck_assert_uint_ge(count_nodes(), NODES);
  ck_assert_msg(end - begin < MOST_SECONDS, "%s: %.2f s", name, end - begin);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_engine_destroy(engine);
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, LOOP(ten_thousand_nodes_in_two_seconds, 0, sizeof FORMS / sizeof *FORMS))
