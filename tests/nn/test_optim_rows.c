/* labels: device single
 *
 * Tables that are updated by rows: every rule against its formula in double on the rows that a step reads; rows that
 * are not read keep their bits; what falls back to whole tables; and that a step's memory is not the table's. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { V = 40, D = 5, A = 12, B = 4, STEPS = 15 };

/* loss = sum over a of push[k, :] T[a[k]] + sum over b of |T[b[k]]|^2 / 2, a (2, 6) and b (4); and `tied` adds the
 * square of all of T. */
typedef struct problem {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate, *a, *b;
  bool tied;
} problem;

/* Indices repeat; some count from the end, and some lie outside: those read 0. */

static int32_t index_of(int step, int k) {
  const int32_t i = (int32_t)((step * 31 + k * k * 7 + k) % 29);
  return k == 5 ? i - V : k == 7 ? V + 2 : k == 8 ? -V - 1 : i;
}
static double push(int k, int d) { return 0.1 * ((k * 5 + d * 3) % 11) - 0.45; }

static void make(problem *q, const mica_optimizer_config *config, bool tied) {
  float pushes[A * D];
  mica_shape width = MICA_SHAPE(V, D);
  mica_init_config init = {.kind = MICA_INIT_UNIFORM, .value = 0.5};
  *q = (problem){.tied = tied};
  for (int i = 0; i < A * D; i++) pushes[i] = (float)push(i / D, i % D);
  ck_ok(mica_graph_create(&q->graph));
  ck_ok(mica_nn_create(q->graph, &(mica_nn_config){.training = true}, &q->nn));
  mica_value table = mica_nn_parameter(q->nn, "table", width, &init);
  mica_value a = mica_input(q->graph, "a", MICA_I32, MICA_SHAPE(2, 6));
  mica_value b = mica_input(q->graph, "b", MICA_I32, MICA_SHAPE(MICA_DYNAMIC));
  mica_value first = mica_mul(mica_embedding(table, a), mica_constant(q->graph, MICA_F32, MICA_SHAPE(2, 6, D), pushes));
  mica_value second = mica_affine(mica_square(mica_embedding(table, b)), 0.5, 0);
  mica_value loss = mica_add(mica_sum(first, MICA_ALL_AXES, false), mica_sum(second, MICA_ALL_AXES, false));
  if (tied) loss = mica_add(loss, mica_sum(mica_square(table), MICA_ALL_AXES, false));
  mica_optimize(q->nn, loss, config, NULL);
  ck_assert_msg(mica_graph_status(q->graph) == MICA_OK, "%s", mica_graph_message(q->graph));
  ck_ok(mica_session_create(test_engine(), q->graph, &loss, 1, NULL, &q->session));
  ck_ok(mica_nn_initialise(q->nn, q->session));
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SCALAR, &q->rate));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(2, 6), &q->a));
  ck_ok(mica_tensor_create(test_engine(), MICA_I32, MICA_SHAPE(B), &q->b));
}

static void unmake(problem *q) {
  mica_tensor_destroy(q->rate);
  mica_tensor_destroy(q->a);
  mica_tensor_destroy(q->b);
  mica_session_destroy(q->session);
  mica_nn_destroy(q->nn);
  mica_graph_destroy(q->graph);
}

static double rate_at(int step) { return 0.05 / (step + 1); }

static void step(problem *q, int t) {
  int32_t a[A], b[B];
  const float rate = (float)rate_at(t);
  for (int k = 0; k < A; k++) a[k] = index_of(t, k);
  for (int k = 0; k < B; k++) b[k] = index_of(t, k + 1);
  ck_ok(mica_tensor_upload(test_queue(), q->rate, &rate, sizeof rate));
  ck_ok(mica_tensor_upload(test_queue(), q->a, a, sizeof a));
  ck_ok(mica_tensor_upload(test_queue(), q->b, b, sizeof b));
  const mica_feed feeds[] = {{MICA_LEARNING_RATE, q->rate}, {"a", q->a}, {"b", q->b}};
  ck_ok(mica_session_run(q->session, test_queue(), feeds, 3));
}

static void read_values(problem *q, const char *name, float *out, size_t count) {
  mica_tensor *tensor = mica_session_parameter(q->session, name);
  ck_assert_msg(tensor != NULL, "no parameter %s", name);
  ck_ok(mica_tensor_download(test_queue(), tensor, out, count * sizeof *out));
}

/* --- the reference --- */

typedef struct reference {
  double p[V][D], a[V][D], b[V][D], row[V];
} reference;

static int resolve(int32_t i) { return i < -V || i >= V ? -1 : i < 0 ? i + V : i; }

/* The gradient of all rows, and which of them are read. */
static void differentiate(const reference *r, int t, double g[V][D], bool read_rows[V]) {
  memset(g, 0, V * sizeof *g);
  memset(read_rows, 0, V * sizeof *read_rows);
  for (int k = 0; k < A + B; k++) {
    const int at = resolve(k < A ? index_of(t, k) : index_of(t, k - A + 1));
    if (at < 0) continue;
    read_rows[at] = true;
    for (int d = 0; d < D; d++) g[at][d] += k < A ? push(k, d) : r->p[at][d];
  }
}

static void advance_row(const mica_optimizer_config *c, double rate, int t, const double g[D], reference *r, int i) {
  double mean = 0;
  for (int d = 0; d < D; d++) mean += g[d] * g[d] / D;
  r->row[i] += mean;
  for (int d = 0; d < D; d++) {
    double *p = &r->p[i][d], *m = &r->a[i][d], *v = &r->b[i][d], x = g[d] + c->weight_decay * *p;
    switch (c->optimizer) {
    case MICA_OPTIMIZER_ADAM:
      *m = c->beta1 * *m + (1 - c->beta1) * x;
      *v = c->beta2 * *v + (1 - c->beta2) * x * x;
      *p -= rate * sqrt(1 - pow(c->beta2, t)) / (1 - pow(c->beta1, t)) * *m / (sqrt(*v) + c->epsilon);
      break;
    case MICA_OPTIMIZER_ADAGRAD:
      *v += x * x;
      *p -= rate * x / (sqrt(c->row_wise ? r->row[i] : *v) + c->epsilon);
      break;
    default: *m = c->momentum * *m + x, *p -= rate * *m; break;
    }
  }
}

/* p is of the order of 1 and takes a few roundings a step; quotients lose a little more. */
#define TOLERANCE (STEPS * 0x1p-21)

static void against_reference(const mica_optimizer_config *c, double clip) {
  problem q;
  reference r = {0};
  float begun[V][D], got[V][D];
  bool ever[V] = {false};
  make(&q, c, false);
  read_values(&q, "table", begun[0], V * D);
  for (int i = 0; i < V * D; i++) r.p[i / D][i % D] = (double)begun[i / D][i % D];
  for (int t = 0; t < STEPS; t++) {
    double g[V][D], square = 0;
    bool rows[V];
    step(&q, t);
    differentiate(&r, t, g, rows);
    for (int i = 0; i < V * D; i++) square += g[i / D][i % D] * g[i / D][i % D];
    const double share = clip > 0 ? fmin(1, clip / (sqrt(square) + 1e-6)) : 1;
    for (int i = 0; i < V * D; i++) g[i / D][i % D] *= share;
    for (int i = 0; i < V; i++)
      if (rows[i]) advance_row(c, rate_at(t), t + 1, g[i], &r, i), ever[i] = true;
  }
  read_values(&q, "table", got[0], V * D);
  for (int i = 0; i < V; i++)
    for (int d = 0; d < D; d++) {
      if (!ever[i]) ck_assert_msg(got[i][d] == begun[i][d], "row %d was written", i); /* bits */
      ck_assert_msg(fabs((double)got[i][d] - r.p[i][d]) <= TOLERANCE, "%s: [%d][%d] is %.9g, not %.9g",
                    mica_optimizer_name(c->optimizer), i, d, (double)got[i][d], r.p[i][d]);
    }
  unmake(&q);
}

START_TEST(every_rule) {
  for (int variant = 0; variant < 6; variant++) {
    const mica_optimizer kind = variant < 2   ? MICA_OPTIMIZER_SGD
                                : variant < 4 ? MICA_OPTIMIZER_ADAM
                                              : MICA_OPTIMIZER_ADAGRAD;
    mica_optimizer_config c = mica_optimizer_config_default(kind);
    c.rows = "ta*";
    c.momentum = variant == 1 ? 0.9 : 0;
    c.weight_decay = variant == 3 ? 0.1 : 0;
    c.row_wise = variant == 5;
    against_reference(&c, 0);
  }
}
END_TEST

/* The norm of all rows' gradients, of which each row counts once. */
START_TEST(clipping) {
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_SGD);
  c.rows = "table";
  c.clip_norm = 0.7;
  against_reference(&c, 0.7);
}
END_TEST

/* sgd, and adagrad in both forms, change a table by rows as they do as a whole: the same bits. */
START_TEST(as_whole_tables) {
  for (int variant = 0; variant < 3; variant++) {
    problem rows, whole;
    float a[V * D], b[V * D];
    mica_optimizer_config c = mica_optimizer_config_default(variant ? MICA_OPTIMIZER_ADAGRAD : MICA_OPTIMIZER_SGD);
    c.row_wise = variant == 2;
    make(&whole, &c, false);
    c.rows = "*";
    c.loss_scale = variant == 1 ? 1024 : 0; /* a power of two, and nothing overflows */
    make(&rows, &c, false);
    for (int t = 0; t < STEPS; t++) step(&rows, t), step(&whole, t);
    read_values(&rows, "table", a, V * D);
    read_values(&whole, "table", b, V * D);
    for (int i = 0; i < V * D; i++)
      ck_assert_msg(fabsf(a[i] - b[i]) <= 0x1p-22f, "%d: %g and %g", i, (double)a[i], (double)b[i]);
    unmake(&rows);
    unmake(&whole);
  }
}
END_TEST

/* A table that the loss reads as a whole too has a gradient everywhere: the pattern changes nothing. */
START_TEST(tied_tables) {
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  problem rows, whole;
  float a[V * D], b[V * D];
  make(&whole, &c, true);
  c.rows = "table";
  make(&rows, &c, true);
  for (int t = 0; t < STEPS; t++) step(&rows, t), step(&whole, t);
  read_values(&rows, "table", a, V * D);
  read_values(&whole, "table", b, V * D);
  ck_assert_mem_eq(a, b, sizeof a);
  unmake(&rows);
  unmake(&whole);
}
END_TEST

START_TEST(refused) {
  for (int variant = 0; variant < 2; variant++) {
    mica_graph *graph = NULL;
    mica_nn *nn = NULL;
    mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
    c.rows = "*";
    c.accumulate = variant ? 0 : 4;
    c.ema = variant ? 0.9 : 0;
    ck_ok(mica_graph_create(&graph));
    ck_ok(mica_nn_create(graph, NULL, &nn));
    mica_value table = mica_nn_parameter(nn, "t", MICA_SHAPE(3, 2), NULL);
    mica_optimize(nn, mica_sum(table, MICA_ALL_AXES, false), &c, NULL);
    ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
    ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), variant ? "moving average" : "accumulated"));
    mica_nn_destroy(nn);
    mica_graph_destroy(graph);
  }
}
END_TEST

/* What a step needs beside its parameters, of a table of so many rows. */
static uint64_t step_bytes(int64_t rows) {
  mica_graph *graph = NULL;
  mica_nn *nn = NULL;
  mica_session *session = NULL;
  mica_tensor *rate = NULL, *ids = NULL;
  const float r = 0.1f;
  int32_t list[256];
  mica_optimizer_config c = mica_optimizer_config_default(MICA_OPTIMIZER_ADAM);
  for (int i = 0; i < 256; i++) list[i] = i * 37 % (int)rows;
  c.rows = "*";
  ck_ok(mica_graph_create(&graph));
  ck_ok(mica_nn_create(graph, &(mica_nn_config){.training = true}, &nn));
  mica_value x = mica_nn_embedding(nn, "table", mica_input(graph, "ids", MICA_I32, MICA_SHAPE(256)), rows, 16, NULL);
  mica_value loss = mica_mean(mica_square(x), MICA_ALL_AXES, false);
  mica_optimize(nn, loss, &c, NULL);
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SCALAR, &r, &rate));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(256), list, &ids));
  ck_ok(mica_queue_finish(test_queue()));
  ck_ok(mica_nn_initialise(nn, session));
  const uint64_t before = mica_engine_stats(test_engine()).bytes_in_use;
  for (int i = 0; i < 3; i++)
    ck_ok(mica_session_run(session, test_queue(), (mica_feed[]){{MICA_LEARNING_RATE, rate}, {"ids", ids}}, 2));
  ck_ok(mica_queue_finish(test_queue()));
  const uint64_t after = mica_engine_stats(test_engine()).bytes_in_use;
  mica_tensor_destroy(rate);
  mica_tensor_destroy(ids);
  mica_session_destroy(session);
  mica_nn_destroy(nn);
  mica_graph_destroy(graph);
  return after - before;
}

START_TEST(memory) {
  step_bytes(1000);
  const uint64_t small = step_bytes(1000), large = step_bytes(200000); /* 12.8 MB a table */
  ck_assert_msg(large <= small + 65536, "%llu bytes, and %llu", (unsigned long long)small, (unsigned long long)large);
}
END_TEST

TESTS(DEVICE, NULL, NULL, every_rule, clipping, as_whole_tables, tied_tables, refused, memory)
