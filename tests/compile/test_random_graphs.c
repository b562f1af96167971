/* labels: device slow
 *
 * Random graphs, run as they are (one kernel an op, nothing simplified) and compiled: both must agree. The fusion, the
 * simplifier and the memory plan meet combinations here that nobody would write down. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>

#define GRAPHS 12
#define MOST_VALUES 64
#define MOST_ELEMENTS 20000
#define PARAMETERS 3

static uint32_t state;

static int below(int n) {
  state = state * 1664525u + 1013904223u;
  return (int)((state >> 8) % (uint32_t)n);
}

static double uniform(void) { return (below(2001) - 1000) * 1e-3; }

typedef struct pool {
  mica_graph *graph;
  mica_value values[MOST_VALUES];
  int count;
} pool;

static int64_t count_of(mica_value value) {
  mica_shape shape = mica_value_shape(value);
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  return count;
}

static mica_value pick(const pool *p) {
  int from = below(3) ? p->count - 6 : 0;
  if (from < 0) from = 0;
  return p->values[from + below(p->count - from)];
}

static mica_shape random_shape(void) {
  static const int64_t extents[] = {1, 2, 3, 4, 5, 8, 17, 33};
  mica_shape shape = {.rank = below(4)};
  for (int32_t i = 0; i < shape.rank; i++) shape.dim[i] = extents[below(8)];
  return shape;
}

/* Keeps magnitudes near 1, so that differences stay differences of rounding. */
static mica_value tame(mica_value x) { return mica_tanh(x); }

static mica_value unary(mica_value x) {
  switch (below(8)) {
  case 0: return mica_neg(x);
  case 1: return mica_square(x);
  case 2: return mica_relu(x);
  case 3: return mica_exp(mica_neg(mica_square(x)));
  case 4: return mica_sigmoid(x);
  case 5: return mica_affine(x, uniform(), uniform());
  case 6: return mica_stop_gradient(x);
  default: return mica_abs(x);
  }
}

/* Two operands that broadcast: the second is reduced to fit where it has to. */
static mica_value binary(const pool *p) {
  mica_value a = pick(p), b = pick(p);
  mica_shape sa = mica_value_shape(a), sb = mica_value_shape(b), both;
  mica_axes axes = {0};
  for (int32_t back = 1; back <= sb.rank; back++) {
    int64_t da = back <= sa.rank ? sa.dim[sa.rank - back] : 1, db = sb.dim[sb.rank - back];
    if (da != db && da != 1 && db != 1) axes.axis[axes.count++] = sb.rank - back;
  }
  if (axes.count) b = mica_mean(b, axes, true);
  sb = mica_value_shape(b);
  ck_ok(mica_shape_broadcast(sa, sb, &both));
  int64_t elements = 1;
  for (int32_t i = 0; i < both.rank; i++) elements *= both.dim[i];
  if (elements > MOST_ELEMENTS) b = mica_scalar(p->graph, MICA_F32, 1);
  switch (below(5)) {
  case 0: return mica_add(a, b);
  case 1: return mica_sub(a, b);
  case 2: return mica_maximum(a, b);
  case 3: return mica_div(a, mica_affine(mica_square(b), 1, 1));
  default: return mica_mul(a, b);
  }
}

static mica_value reduction(mica_value x) {
  mica_axes axes = {0};
  int32_t rank = mica_value_shape(x).rank;
  for (int32_t i = 0; i < rank; i++)
    if (below(2)) axes.axis[axes.count++] = i;
  if (axes.count == 0) axes.count = rank > 0, axes.axis[0] = rank - 1;
  bool keep = below(2);
  switch (below(4)) {
  case 0: return tame(mica_sum(x, axes, keep));
  case 1: return mica_max(x, axes, keep);
  case 2: return mica_logsumexp(x, axes, keep);
  default: return mica_mean(x, axes, keep);
  }
}

static mica_value softmax(mica_value x) {
  int32_t rank = mica_value_shape(x).rank;
  if (rank == 0) return x;
  mica_axes axes = MICA_AXES(below(rank));
  mica_value e = mica_exp(mica_sub(x, mica_max(x, axes, true)));
  return mica_div(e, mica_sum(e, axes, true));
}

static mica_value look(mica_value x) {
  mica_shape shape = mica_value_shape(x);
  mica_axes axes = {.count = shape.rank};
  int32_t axis = shape.rank ? below(shape.rank) : 0;
  if (shape.rank == 0) return x;
  switch (below(5)) {
  case 0: return mica_reshape(x, MICA_SHAPE(MICA_DYNAMIC));
  case 1:
    return mica_reshape(x, shape.dim[0] % 2 ? MICA_SHAPE(MICA_DYNAMIC, shape.dim[0]) : MICA_SHAPE(2, MICA_DYNAMIC));
  case 2: return mica_flip(x, MICA_AXES(axis));
  case 3: return shape.dim[axis] < 3 ? x : mica_slice(x, axis, 1, MICA_END, 1 + below(2));
  default:
    for (int32_t i = 0; i < shape.rank; i++) axes.axis[i] = (i + 1 + axis) % shape.rank;
    return mica_transpose(x, axes);
  }
}

static mica_value product(mica_value x, mica_value other) {
  mica_value a = mica_reshape(x, mica_value_shape(x).rank ? MICA_SHAPE(MICA_DYNAMIC, mica_value_shape(x).dim[0])
                                                          : MICA_SHAPE(1, 1));
  mica_value b = mica_reshape(other, MICA_SHAPE(1, MICA_DYNAMIC));
  int64_t k = mica_value_shape(a).dim[1], n = mica_value_shape(b).dim[1];
  if (k * n > MOST_ELEMENTS || mica_value_shape(a).dim[0] * n > MOST_ELEMENTS) return x;
  b = mica_expand(b, MICA_SHAPE(k, n));
  return tame(mica_matmul(below(2) ? a : mica_transpose(mica_transpose(a, MICA_ALL_AXES), MICA_ALL_AXES), b));
}

static mica_value random_value(const pool *p) {
  switch (below(12)) {
  case 0:
  case 1: return reduction(pick(p));
  case 2:
  case 3: return look(pick(p));
  case 4: return softmax(pick(p));
  case 5: return product(pick(p), pick(p));
  case 6:
  case 7: return unary(pick(p));
  default: return binary(p);
  }
}

typedef struct candidate {
  mica_session *session;
  float *outputs[8], *parameters[PARAMETERS];
} candidate;

static const char *const names[PARAMETERS] = {"p0", "p1", "p2"};

/* A graph of the seed; *outputs values to look at. Gradients are of three random parameters. */
static mica_graph *random_graph(uint32_t seed, mica_value outputs[8], int *output_count) {
  pool p = {0};
  state = seed;
  ck_ok(mica_graph_create(&p.graph));
  mica_value parameters[PARAMETERS];
  for (int i = 0; i < PARAMETERS; i++)
    p.values[p.count++] = parameters[i] = mica_parameter(p.graph, names[i], MICA_F32, random_shape());
  p.values[p.count++] = mica_input(p.graph, "x", MICA_F32, MICA_SHAPE(4, 33));
  p.values[p.count++] = mica_full(p.graph, MICA_F32, random_shape(), uniform());
  int wanted = 8 + below(24);
  while (p.count < wanted) {
    mica_value made = random_value(&p);
    ck_assert_msg(mica_graph_status(p.graph) == MICA_OK, "seed %u: %s", seed, mica_graph_message(p.graph));
    if (count_of(made) > 0 && count_of(made) <= MOST_ELEMENTS) p.values[p.count++] = made;
  }
  *output_count = 0;
  for (int i = 0; i < 3; i++) outputs[(*output_count)++] = p.values[p.count - 1 - i];
  mica_value loss = mica_mean(p.values[p.count - 1], MICA_ALL_AXES, false), grads[PARAMETERS];
  loss = mica_add(loss, mica_mean(mica_square(p.values[p.count - 2]), MICA_ALL_AXES, false));
  ck_ok(mica_gradients(loss, parameters, PARAMETERS, grads));
  outputs[(*output_count)++] = loss;
  for (int i = 0; i < PARAMETERS; i++) {
    outputs[(*output_count)++] = grads[i];
    if (below(2)) mica_assign(parameters[i], mica_sub(parameters[i], mica_affine(tame(grads[i]), 0.1, 0)));
  }
  ck_assert_msg(mica_graph_status(p.graph) == MICA_OK, "seed %u: %s", seed, mica_graph_message(p.graph));
  return p.graph;
}

static void fill(mica_tensor *tensor, uint32_t seed) {
  int64_t n = mica_tensor_count(tensor);
  float *data = malloc((size_t)n * sizeof *data);
  ck_assert_ptr_nonnull(data);
  state = seed;
  for (int64_t i = 0; i < n; i++) data[i] = (float)uniform();
  ck_ok(mica_tensor_upload(test_queue(), tensor, data, (size_t)n * sizeof *data));
  free(data);
}

static float *fetch(const mica_tensor *tensor) {
  size_t bytes = mica_tensor_bytes(tensor);
  float *data = malloc(bytes);
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), tensor, data, bytes));
  return data;
}

/* Two runs, so that assignments of the first are seen by the second. */
static candidate run(mica_graph *graph, const mica_value *outputs, int output_count, mica_tensor *x,
                     const mica_session_config *config) {
  candidate made = {0};
  ck_ok(mica_session_create(test_engine(), graph, outputs, (size_t)output_count, config, &made.session));
  for (int i = 0; i < PARAMETERS; i++)
    if (mica_session_parameter(made.session, names[i]))
      fill(mica_session_parameter(made.session, names[i]), (uint32_t)i + 5);
  for (int i = 0; i < 2; i++) ck_ok(mica_session_run(made.session, test_queue(), (mica_feed[]){{"x", x}}, 1));
  for (int i = 0; i < output_count; i++) made.outputs[i] = fetch(mica_session_output(made.session, (size_t)i));
  for (int i = 0; i < PARAMETERS; i++) {
    mica_tensor *parameter = mica_session_parameter(made.session, names[i]);
    made.parameters[i] = parameter ? fetch(parameter) : NULL;
  }
  return made;
}

static void release(candidate *c) {
  for (int i = 0; i < 8; i++) free(c->outputs[i]);
  for (int i = 0; i < PARAMETERS; i++) free(c->parameters[i]);
  mica_session_destroy(c->session);
}

static void compare(uint32_t seed, const char *what, int index, const float *plain, const float *compiled,
                    int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    double a = plain[i], b = compiled[i];
    /* 2^-12: some thousand roundings of f32, amplified by divisions and softmax. */
    bool close = (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 0x1p-12 * (1 + fabs(a));
    ck_assert_msg(close, "seed %u: %s %d, element %lld: %.9g as it is, %.9g compiled", seed, what, index, (long long)i,
                  a, b);
  }
}

/* With MICA_TEST_DUMP set: the graph and what became of it, to look at a failure. */
static void show(mica_graph *graph, mica_session *session) {
  char *text = NULL;
  if (!getenv("MICA_TEST_DUMP")) return;
  ck_ok(mica_graph_dump(graph, MICA_DUMP_FORMAT_TEXT, &text));
  puts(text);
  mica_free(text);
  ck_ok(mica_session_dump(session, &text));
  puts(text);
  mica_free(text);
}

START_TEST(compiled_graphs_agree_with_plain_ones) {
  uint32_t seed = 1000u * (uint32_t)_i;
  mica_value outputs[8];
  int output_count = 0;
  mica_graph *graph = random_graph(seed, outputs, &output_count);
  mica_tensor *x;
  ck_ok(mica_tensor_create(test_engine(), MICA_F32, MICA_SHAPE(4, 33), &x));
  fill(x, 1);
  mica_session_config plain = {.no_fusion = true, .no_simplify = true};
  candidate a = run(graph, outputs, output_count, x, &plain), b = run(graph, outputs, output_count, x, NULL);
  show(graph, b.session);
  for (int i = 0; i < output_count; i++)
    compare(seed, "output", i, a.outputs[i], b.outputs[i],
            mica_tensor_count(mica_session_output(a.session, (size_t)i)));
  for (int i = 0; i < PARAMETERS; i++)
    if (a.parameters[i])
      compare(seed, "parameter", i, a.parameters[i], b.parameters[i],
              mica_tensor_count(mica_session_parameter(a.session, names[i])));
  mica_session_report ra, rb;
  ck_ok(mica_session_describe(a.session, &ra));
  ck_ok(mica_session_describe(b.session, &rb));
  ck_assert_uint_le(rb.launches, ra.launches);
  ck_assert_uint_le(rb.planned_bytes, rb.unplanned_bytes);
  release(&a);
  release(&b);
  mica_tensor_destroy(x);
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL, SEEDS(compiled_graphs_agree_with_plain_ones, GRAPHS))
