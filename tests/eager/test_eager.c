/* labels: device slow
 *
 * Poolings, softmax, normalisations and activations of tensors, forward and backward, in every floating type: against
 * naive references in double, which stand here, within the bounds that rounding allows (tests/support/interpret.h). All
 * results are NaN before. What repeated calls cost, what the cache of calls keeps, and what is refused. */
#include "base/element.h"
#include "eager/eager.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/interpret.h"

#include <math.h>
#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_IN 6
#define MOST_OUT 3
#define EPSILON 1e-3

typedef struct op_case {
  const char *name;
  mica_shape in[MOST_IN], out[MOST_OUT]; /* an operand of no elements is NULL */
  size_t in_count, out_count;
  mica_status (*call)(mica_queue *queue, mica_tensor *const *in, mica_tensor *const *out);
  void (*build)(const mica_value *in, mica_value *out); /* in a graph, for the bounds */
  void (*naive)(double *const *in, double *const *out);
} op_case;

/* --- naive references --- */

static void naive_softmax(double *const *in, double *const *out, bool logs) {
  for (int i = 0; i < 5 * 3; i++) {
    const double *x = in[0] + i / 3 * 21 + i % 3;
    double most = -INFINITY, sum = 0;
    for (int j = 0; j < 7; j++) most = fmax(most, x[3 * j]);
    for (int j = 0; j < 7; j++) sum += exp(x[3 * j] - most);
    for (int j = 0; j < 7; j++) {
      double log_y = x[3 * j] - most - log(sum);
      out[0][i / 3 * 21 + i % 3 + 3 * j] = logs ? log_y : exp(log_y);
    }
  }
}

static void naive_softmax_bwd(double *const *in, double *const *out, bool logs) {
  for (int i = 0; i < 5 * 3; i++) {
    int at = i / 3 * 21 + i % 3;
    double sum = 0;
    for (int j = 0; j < 7; j++) sum += in[1][at + 3 * j] * (logs ? 1 : in[0][at + 3 * j]);
    for (int j = 0; j < 7; j++) {
      double y = in[0][at + 3 * j], dy = in[1][at + 3 * j];
      out[0][at + 3 * j] = logs ? dy - exp(y) * sum : y * (dy - sum);
    }
  }
}

static void softmax_fwd(double *const *in, double *const *out) { naive_softmax(in, out, false); }
static void log_softmax_fwd(double *const *in, double *const *out) { naive_softmax(in, out, true); }
static void softmax_bwd(double *const *in, double *const *out) { naive_softmax_bwd(in, out, false); }
static void log_softmax_bwd(double *const *in, double *const *out) { naive_softmax_bwd(in, out, true); }

/* A normalisation: element i of `count` belongs to a set that shares statistics and to a channel that shares scale. */
typedef struct norm_map {
  int count, sets, channels;
  int (*set)(int i);
  int (*channel)(int i);
  bool raw; /* no mean is taken away (rms) */
} norm_map;

static int rows_of_35(int i) { return i / 35; }
static int index_in_35(int i) { return i % 35; }
static int group_of(int i) { return i / 30; } /* (2, 6, 5, 3) in 3 groups of 2 channels */
static int channel_of_6(int i) { return i / 15 % 6; }

static const norm_map layer = {105, 3, 35, rows_of_35, index_in_35, false};
static const norm_map rms = {105, 3, 35, rows_of_35, index_in_35, true};
static const norm_map group = {180, 6, 6, group_of, channel_of_6, false};
static const norm_map batch = {180, 6, 6, channel_of_6, channel_of_6, false};

#define MOST_SETS 8
typedef struct statistics {
  double mean[MOST_SETS], variance[MOST_SETS];
} statistics;

static statistics measure(const norm_map *m, const double *x) {
  statistics s = {{0}, {0}};
  double share = (double)m->sets / m->count;
  for (int i = 0; i < m->count && !m->raw; i++) s.mean[m->set(i)] += x[i] * share;
  for (int i = 0; i < m->count; i++) s.variance[m->set(i)] += pow(x[i] - s.mean[m->set(i)], 2) * share;
  return s;
}

static void norm_forward(const norm_map *m, const statistics *s, const double *x, const double *scale,
                         const double *bias, double *y) {
  for (int i = 0; i < m->count; i++) {
    int set = m->set(i), c = m->channel(i);
    y[i] = (x[i] - s->mean[set]) / sqrt(s->variance[set] + EPSILON) * (scale ? scale[c] : 1) + (bias ? bias[c] : 0);
  }
}

/* constant: the statistics are given ones. */
static void norm_backward(const norm_map *m, const statistics *s, bool constant, const double *x, const double *scale,
                          const double *dy, double *const *out) {
  double of_g[MOST_SETS] = {0}, of_gx[MOST_SETS] = {0}, share = (double)m->sets / m->count;
  for (int c = 0; c < m->channels; c++) {
    if (out[1]) out[1][c] = 0;
    if (out[2]) out[2][c] = 0;
  }
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < m->count; i++) {
      int set = m->set(i), c = m->channel(i);
      double r = 1 / sqrt(s->variance[set] + EPSILON), h = (x[i] - s->mean[set]) * r;
      double g = dy[i] * (scale ? scale[c] : 1);
      if (pass) {
        out[0][i] = constant ? r * g : r * (g - (m->raw ? 0 : of_g[set]) - h * of_gx[set]);
        continue;
      }
      of_g[set] += g * share;
      of_gx[set] += g * h * share;
      if (out[1]) out[1][c] += dy[i] * h;
      if (out[2]) out[2][c] += dy[i];
    }
}

#define NORM(name, map)                                                                                                \
  static void name##_fwd(double *const *in, double *const *out) {                                                      \
    statistics s = measure(&map, in[0]);                                                                               \
    norm_forward(&map, &s, in[0], in[1], in[2], out[0]);                                                               \
    if (out[1]) memcpy(out[1], s.mean, 6 * sizeof(double));                                                            \
    if (out[2]) memcpy(out[2], s.variance, 6 * sizeof(double));                                                        \
  }                                                                                                                    \
  static void name##_bwd(double *const *in, double *const *out) {                                                      \
    statistics s = measure(&map, in[0]);                                                                               \
    norm_backward(&map, &s, false, in[0], in[1], in[2], out);                                                          \
  }
NORM(layer_norm, layer)
NORM(rms_norm, rms)
NORM(group_norm, group)
NORM(batch_norm_train, batch)

/* Given statistics: operands 3 and 4 forward, 2 and 3 backward. Variances are kept above zero. */
static statistics given(const double *mean, const double *variance) {
  statistics s = {{0}, {0}};
  memcpy(s.mean, mean, 6 * sizeof(double));
  memcpy(s.variance, variance, 6 * sizeof(double));
  return s;
}
static void batch_norm_fwd(double *const *in, double *const *out) {
  statistics s = given(in[3], in[4]);
  norm_forward(&batch, &s, in[0], in[1], in[2], out[0]);
}
static void batch_norm_bwd(double *const *in, double *const *out) {
  statistics s = given(in[2], in[3]);
  norm_backward(&batch, &s, true, in[0], in[1], in[4], out);
}

/* Poolings of (2, 3, 7, 9) by these windows to (2, 3, 4, 4), or of whole planes to (2, 3, 1, 1). */
static const mica_pool_config windows = {.size = {3, 2}, .stride = {2, 3}, .pad = {1, 1}, .ceil_mode = true};

static void pool(const double *x, double *y, const double *dy, double *dx, bool mean, bool whole) {
  int p_count = whole ? 1 : 4, q_count = whole ? 1 : 4;
  for (int i = 0; dx && i < 6 * 63; i++) dx[i] = 0;
  for (int o = 0; o < 6 * p_count * q_count; o++) {
    int plane = o / (p_count * q_count), p = o / q_count % p_count, q = o % q_count;
    int from_h = whole ? 0 : 2 * p - 1, to_h = whole ? 7 : from_h + 3, from_w = whole ? 0 : 3 * q - 1;
    int to_w = whole ? 9 : from_w + 2, count = 0, best = -1;
    double sum = 0;
    for (int pass = 0; pass < 2; pass++)
      for (int h = from_h; h < to_h; h++)
        for (int w = from_w; w < to_w; w++) {
          if (h < 0 || h >= 7 || w < 0 || w >= 9) continue;
          int at = plane * 63 + h * 9 + w;
          if (pass && mean && dx) dx[at] += dy[o] / count;
          if (pass) continue;
          count++;
          if (x) sum += x[at];
          if (x && (best < 0 || x[at] > x[best])) best = at;
        }
    if (!mean && dx) dx[best] += dy[o];
    if (y) y[o] = mean ? sum / count : x[best];
  }
}

static void max_pool_fwd(double *const *in, double *const *out) { pool(in[0], out[0], NULL, NULL, false, false); }
static void max_pool_bwd(double *const *in, double *const *out) { pool(in[0], NULL, in[1], out[0], false, false); }
static void average_pool_fwd(double *const *in, double *const *out) { pool(in[0], out[0], NULL, NULL, true, false); }
static void average_pool_bwd(double *const *in, double *const *out) { pool(NULL, NULL, in[0], out[0], true, false); }
static void global_max_fwd(double *const *in, double *const *out) { pool(in[0], out[0], NULL, NULL, false, true); }
static void global_max_bwd(double *const *in, double *const *out) { pool(in[0], NULL, in[1], out[0], false, true); }
static void global_average_fwd(double *const *in, double *const *out) { pool(in[0], out[0], NULL, NULL, true, true); }
static void global_average_bwd(double *const *in, double *const *out) { pool(NULL, NULL, in[0], out[0], true, true); }

/* --- graphs --- */

static void gradients(mica_value y, mica_value dy, const mica_value *wrt, size_t count, mica_value *out) {
  ck_ok(mica_gradients(mica_sum(mica_mul(y, dy), MICA_ALL_AXES, false), wrt, count, out));
}

static mica_value zeros(mica_value like, mica_shape shape) {
  return mica_full(like.graph, mica_value_dtype(like), shape, 0);
}

/* --- the cases --- */

#define X537 MICA_SHAPE(3, 5, 7)
#define P57 MICA_SHAPE(5, 7)
#define X2653 MICA_SHAPE(2, 6, 5, 3)
#define C6 MICA_SHAPE(6)
#define X753 MICA_SHAPE(5, 7, 3)
#define PLANES MICA_SHAPE(2, 3, 7, 9)
#define POOLED MICA_SHAPE(2, 3, 4, 4)
#define GLOBAL MICA_SHAPE(2, 3, 1, 1)
#define SHAPES(...)                                                                                                    \
  { __VA_ARGS__ }
#define GRADIENTS_OF(y, dy, ...)                                                                                       \
  gradients(y, dy, (mica_value[]){__VA_ARGS__}, sizeof((mica_value[]){__VA_ARGS__}) / sizeof(mica_value), v)

/* name, shapes of operands, shapes of results, call (q: queue, t: operands, r: results), graph (x: operands, v:
 * results), naive reference */
#define CASES(X)                                                                                                       \
  X(softmax_fwd, SHAPES(X753), SHAPES(X753), mica_op_softmax_fwd(q, 1, t[0], r[0]), v[0] = mica_softmax(x[0], 1))      \
  X(log_softmax_fwd, SHAPES(X753), SHAPES(X753), mica_op_log_softmax_fwd(q, -2, t[0], r[0]),                           \
    v[0] = mica_log_softmax(x[0], 1))                                                                                  \
  X(softmax_bwd, SHAPES(X753, X753), SHAPES(X753), mica_op_softmax_bwd(q, -2, t[0], t[1], r[0]),                       \
    v[0] = mica_mul(x[0], mica_sub(x[1], mica_sum(mica_mul(x[0], x[1]), MICA_AXES(1), true))))                         \
  X(log_softmax_bwd, SHAPES(X753, X753), SHAPES(X753), mica_op_log_softmax_bwd(q, 1, t[0], t[1], r[0]),                \
    v[0] = mica_sub(x[1], mica_mul(mica_exp(x[0]), mica_sum(x[1], MICA_AXES(1), true))))                               \
  X(layer_norm_fwd, SHAPES(X537, P57, P57), SHAPES(X537),                                                              \
    mica_op_layer_norm_fwd(q, 1, EPSILON, t[0], t[1], t[2], r[0]),                                                     \
    v[0] = mica_layer_norm(x[0], 1, x[1], x[2], EPSILON))                                                              \
  X(layer_norm_bwd, SHAPES(X537, P57, X537), SHAPES(X537, P57, P57),                                                   \
    mica_op_layer_norm_bwd(q, -2, EPSILON, t[0], t[1], t[2], r[0], r[1], r[2]), mica_value b = zeros(x[0], P57);       \
    GRADIENTS_OF(mica_layer_norm(x[0], 1, x[1], b, EPSILON), x[2], x[0], x[1], b))                                     \
  X(rms_norm_fwd, SHAPES(X537, P57), SHAPES(X537), mica_op_rms_norm_fwd(q, 1, EPSILON, t[0], t[1], r[0]),              \
    v[0] = mica_rms_norm(x[0], 1, x[1], EPSILON))                                                                      \
  X(rms_norm_bwd, SHAPES(X537, P57, X537), SHAPES(X537, P57),                                                          \
    mica_op_rms_norm_bwd(q, 1, EPSILON, t[0], t[1], t[2], r[0], r[1]),                                                 \
    GRADIENTS_OF(mica_rms_norm(x[0], 1, x[1], EPSILON), x[2], x[0], x[1]))                                             \
  X(group_norm_fwd, SHAPES(X2653, C6, C6), SHAPES(X2653),                                                              \
    mica_op_group_norm_fwd(q, 3, EPSILON, t[0], t[1], t[2], r[0]),                                                     \
    v[0] = mica_group_norm(x[0], x[1], x[2], 3, EPSILON))                                                              \
  X(group_norm_bwd, SHAPES(X2653, C6, X2653), SHAPES(X2653, C6, C6),                                                   \
    mica_op_group_norm_bwd(q, 3, EPSILON, t[0], t[1], t[2], r[0], r[1], r[2]), mica_value b = zeros(x[0], C6);         \
    GRADIENTS_OF(mica_group_norm(x[0], x[1], b, 3, EPSILON), x[2], x[0], x[1], b))                                     \
  X(batch_norm_fwd, SHAPES(X2653, C6, C6, C6, C6), SHAPES(X2653),                                                      \
    mica_op_batch_norm_fwd(q, EPSILON, t[0], t[1], t[2], t[3], t[4], r[0]),                                            \
    v[0] = mica_batch_norm(x[0], x[1], x[2], x[3], x[4], EPSILON))                                                     \
  X(batch_norm_bwd, SHAPES(X2653, C6, C6, C6, X2653), SHAPES(X2653, C6, C6),                                           \
    mica_op_batch_norm_bwd(q, EPSILON, t[0], t[1], t[2], t[3], t[4], r[0], r[1], r[2]),                                \
    mica_value b = zeros(x[0], C6);                                                                                    \
    GRADIENTS_OF(mica_batch_norm(x[0], x[1], b, x[2], x[3], EPSILON), x[4], x[0], x[1], b))                            \
  X(batch_norm_train_fwd, SHAPES(X2653, C6, C6), SHAPES(X2653, C6, C6),                                                \
    mica_op_batch_norm_train_fwd(q, EPSILON, t[0], t[1], t[2], r[0], r[1], r[2]),                                      \
    v[0] = mica_batch_norm_train(x[0], x[1], x[2], EPSILON, &v[1], &v[2]))                                             \
  X(batch_norm_train_bwd, SHAPES(X2653, C6, X2653), SHAPES(X2653, C6, C6),                                             \
    mica_op_batch_norm_train_bwd(q, EPSILON, t[0], t[1], t[2], r[0], r[1], r[2]), mica_value b = zeros(x[0], C6);      \
    GRADIENTS_OF(mica_batch_norm_train(x[0], x[1], b, EPSILON, NULL, NULL), x[2], x[0], x[1], b))                      \
  X(max_pool_fwd, SHAPES(PLANES), SHAPES(POOLED), mica_op_max_pool_fwd(q, &windows, t[0], r[0]),                       \
    v[0] = mica_max_pool(x[0], &windows))                                                                              \
  X(max_pool_bwd, SHAPES(PLANES, POOLED), SHAPES(PLANES), mica_op_max_pool_bwd(q, &windows, t[0], t[1], r[0]),         \
    GRADIENTS_OF(mica_max_pool(x[0], &windows), x[1], x[0]))                                                           \
  X(average_pool_fwd, SHAPES(PLANES), SHAPES(POOLED), mica_op_average_pool_fwd(q, &windows, t[0], r[0]),               \
    v[0] = mica_average_pool(x[0], &windows))                                                                          \
  X(average_pool_bwd, SHAPES(POOLED), SHAPES(PLANES), mica_op_average_pool_bwd(q, &windows, t[0], r[0]),               \
    mica_value any = zeros(x[0], PLANES);                                                                              \
    GRADIENTS_OF(mica_average_pool(any, &windows), x[0], any))                                                         \
  X(global_max_fwd, SHAPES(PLANES), SHAPES(GLOBAL), mica_op_global_max_pool_fwd(q, t[0], r[0]),                        \
    v[0] = mica_global_max_pool(x[0]))                                                                                 \
  X(global_max_bwd, SHAPES(PLANES, GLOBAL), SHAPES(PLANES), mica_op_global_max_pool_bwd(q, t[0], t[1], r[0]),          \
    GRADIENTS_OF(mica_global_max_pool(x[0]), x[1], x[0]))                                                              \
  X(global_average_fwd, SHAPES(PLANES), SHAPES(GLOBAL), mica_op_global_average_pool_fwd(q, t[0], r[0]),                \
    v[0] = mica_global_average_pool(x[0]))                                                                             \
  X(global_average_bwd, SHAPES(GLOBAL), SHAPES(PLANES), mica_op_global_average_pool_bwd(q, t[0], r[0]),                \
    mica_value any = zeros(x[0], PLANES);                                                                              \
    GRADIENTS_OF(mica_global_average_pool(any), x[0], any))

#define CASE_FUNCTIONS(name, operands, results, call, ...)                                                             \
  static mica_status call_##name(mica_queue *q, mica_tensor *const *t, mica_tensor *const *r) { return call; }         \
  static void build_##name(const mica_value *x, mica_value *v) { __VA_ARGS__; }
CASES(CASE_FUNCTIONS)

static op_case case_at(size_t i) {
  const op_case all[] = {
#define CASE_ROW(name_, operands, results, expression, ...)                                                            \
  {.name = #name_,                                                                                                     \
   .in = operands,                                                                                                     \
   .out = results,                                                                                                     \
   .in_count = sizeof((mica_shape[])operands) / sizeof(mica_shape),                                                    \
   .out_count = sizeof((mica_shape[])results) / sizeof(mica_shape),                                                    \
   .call = call_##name_,                                                                                               \
   .build = build_##name_,                                                                                             \
   .naive = name_},
      CASES(CASE_ROW)};
  return i < sizeof all / sizeof *all ? all[i] : (op_case){0};
}

/* --- comparing --- */

static bool has_f64(void) { return (mica_engine_device(test_engine())->features & MICA_FEATURE_FP64) != 0; }

static double *doubles(mica_shape shape, double value) {
  double *x = malloc((size_t)(test_count(shape) + 1) * sizeof *x);
  ck_assert_ptr_nonnull(x);
  for (int64_t i = 0; i < test_count(shape); i++) x[i] = value;
  return x;
}

/* Elements that every type holds, no two alike among 63 in a row; variances (operand 3 or 4, a vector) are positive. */
static double *operand(mica_shape shape, size_t k) {
  double *x = doubles(shape, 0);
  for (int64_t i = 0; i < test_count(shape); i++) {
    x[i] = (double)((i * 37 + 5 * (int64_t)k) % 63) / 16 - 1.9375;
    if (k > 2 && shape.rank == 1) x[i] = fabs(x[i]) + 0.25;
  }
  return x;
}

static mica_tensor *tensor_of(mica_dtype dtype, mica_shape shape, const double *values) {
  mica_tensor *t = NULL;
  int64_t count = test_count(shape);
  void *data = calloc((size_t)count + 1, mica_dtype_size(dtype));
  ck_assert_ptr_nonnull(data);
  for (int64_t i = 0; i < count; i++) mica__element_set(dtype, data, i, values[i]);
  ck_ok(mica_tensor_create_from(test_engine(), dtype, shape, data, &t));
  free(data);
  return t;
}

static void check_case(const op_case *c, mica_dtype dtype) {
  double *in[MOST_IN] = {NULL}, *out[MOST_OUT] = {NULL};
  mica_tensor *t[MOST_IN] = {NULL}, *r[MOST_OUT] = {NULL};
  mica_value x[MOST_IN] = {{0}}, v[MOST_OUT] = {{0}};
  mica_graph *graph = NULL;
  char label[64];
  snprintf(label, sizeof label, "%s in %s", c->name, mica_dtype_name(dtype));
  ck_ok(mica_graph_create(&graph));
  for (size_t k = 0; k < c->in_count; k++) {
    snprintf(label, sizeof label, "x%zu", k);
    x[k] = mica_input(graph, label, dtype, c->in[k]);
    in[k] = operand(c->in[k], k);
    t[k] = tensor_of(dtype, c->in[k], in[k]);
  }
  c->build(x, v);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s: %s", c->name, mica_graph_message(graph));
  double **all = calloc((size_t)v[0].graph->count + 1, sizeof *all);
  ck_assert_ptr_nonnull(all);
  for (size_t k = 0; k < c->in_count; k++) all[x[k].id - 1] = in[k];
  for (size_t k = 0; k < c->out_count; k++) {
    double *poison = doubles(c->out[k], (double)NAN);
    r[k] = tensor_of(mica_value_dtype(v[k]), c->out[k], poison);
    out[k] = poison;
  }
  snprintf(label, sizeof label, "%s in %s", c->name, mica_dtype_name(dtype));
  ck_assert_msg(c->call(test_queue(), t, r) == MICA_OK, "%s: %s", label, mica_error_message());
  test_values reference = test_interpret(graph, all);
  c->naive(in, out);
  for (size_t k = 0; k < c->out_count; k++) {
    const double *value = reference.value[v[k].id - 1];
    for (int64_t i = 0; i < test_count(c->out[k]); i++)
      ck_assert_msg(fabs(out[k][i] - value[i]) <= 1e-9 * (1 + fabs(value[i])), "%s: element %lld of result %zu: %g, %g",
                    label, (long long)i, k, out[k][i], value[i]);
    test_expect(&reference, v[k], r[k], label, "the result");
  }
  test_values_free(&reference);
  free(all);
  for (size_t k = 0; k < MOST_IN; k++) free(in[k]), mica_tensor_destroy(t[k]);
  for (size_t k = 0; k < MOST_OUT; k++) free(out[k]), mica_tensor_destroy(r[k]);
  mica_graph_destroy(graph);
}

START_TEST(agrees) {
  static const mica_dtype types[] = {MICA_F32, MICA_F16, MICA_BF16, MICA_F64};
  op_case c = case_at((size_t)_i);
  for (size_t i = 0; i < 4; i++)
    if (types[i] != MICA_F64 || has_f64()) check_case(&c, types[i]);
}
END_TEST

/* --- activations: forward and backward, in place too --- */

static double activate(mica_activation kind, double p, double x) {
  double inner = sqrt(2 / 3.14159265358979323846) * (x + 0.044715 * x * x * x);
  switch (kind) {
  case MICA_ACTIVATION_NONE: return x;
  case MICA_ACTIVATION_RELU: return fmax(x, 0);
  case MICA_ACTIVATION_CLIPPED_RELU: return fmin(fmax(x, 0), p);
  case MICA_ACTIVATION_LEAKY_RELU: return x < 0 ? p * x : x;
  case MICA_ACTIVATION_ELU: return x < 0 ? p * expm1(x) : x;
  case MICA_ACTIVATION_GELU: return x * (1 + erf(x / sqrt(2))) / 2;
  case MICA_ACTIVATION_GELU_TANH: return x * (1 + tanh(inner)) / 2;
  case MICA_ACTIVATION_SIGMOID: return 1 / (1 + exp(-x));
  case MICA_ACTIVATION_TANH: return tanh(x);
  case MICA_ACTIVATION_SILU: return x / (1 + exp(-x));
  case MICA_ACTIVATION_SOFTPLUS: return log1p(exp(x));
  case MICA_ACTIVATION_HARD_SIGMOID: return fmin(fmax(x / 6 + 0.5, 0), 1);
  case MICA_ACTIVATION_HARD_SWISH: return x * fmin(fmax(x / 6 + 0.5, 0), 1);
  }
  return (double)NAN;
}

/* By a central difference, whose error is about 1e-10 here: no x lies closer than 1/64 to a kink. */
static double slope(mica_activation kind, double p, double x) {
  return (activate(kind, p, x + 1e-5) - activate(kind, p, x - 1e-5)) / 2e-5;
}

#define N 61
static void check_activation(mica_activation kind, mica_dtype dtype, bool in_place) {
  const double p = 0.7;
  double x[N], dy[N], nan_of[N];
  unsigned char data[N * 8];
  mica_shape shape = MICA_SHAPE(N);
  for (int i = 0; i < N; i++) {
    x[i] = (double)(i * 37 % N) / 8 - 3.8125 + 0.03125;
    dy[i] = (double)(i * 7 % 13) / 8 - 0.75;
    nan_of[i] = (double)NAN;
  }
  mica_tensor *tx = tensor_of(dtype, shape, x), *tdy = tensor_of(dtype, shape, dy);
  mica_tensor *y = tensor_of(dtype, shape, nan_of), *dx = tensor_of(dtype, shape, nan_of);
  ck_ok(mica_op_activation_bwd(test_queue(), kind, p, tx, tdy, in_place ? tdy : dx));
  ck_ok(mica_op_activation_fwd(test_queue(), kind, p, tx, in_place ? tx : y));
  /* Some roundings of the function's own units in the last place, as ops/common/tolerance.h grants a pointwise op. */
  double unit = mica__element_roundoff(dtype) + 32 * mica__element_roundoff(dtype == MICA_F64 ? MICA_F64 : MICA_F32);
  for (int backward = 0; backward < 2; backward++) {
    mica_tensor *result = backward ? in_place ? tdy : dx : in_place ? tx : y;
    ck_ok(mica_tensor_download(test_queue(), result, data, mica_tensor_bytes(result)));
    for (int i = 0; i < N; i++) {
      double got = mica__element_get(dtype, data, i);
      double want = backward ? dy[i] * slope(kind, p, x[i]) : activate(kind, p, x[i]);
      double bound = unit * (fabs(want) + fabs(x[i]) + 1) * (backward ? 2 : 1) + (backward ? 1e-9 : 0);
      ck_assert_msg(fabs(got - want) <= bound, "%s %s in %s at %g: %.9g, should be %.9g", mica_activation_name(kind),
                    backward ? "backward" : "forward", mica_dtype_name(dtype), x[i], got, want);
    }
  }
  mica_tensor_destroy(tx);
  mica_tensor_destroy(tdy);
  mica_tensor_destroy(y);
  mica_tensor_destroy(dx);
}

START_TEST(activations) {
  static const mica_dtype others[] = {MICA_F16, MICA_BF16, MICA_F64};
  mica_dtype other = others[_i % 3];
  check_activation((mica_activation)_i, MICA_F32, false);
  check_activation((mica_activation)_i, MICA_F32, true);
  if (other != MICA_F64 || has_f64()) check_activation((mica_activation)_i, other, _i % 2);
}
END_TEST

/* --- the cache of calls --- */

static mica_tensor *tensor(mica_shape shape) {
  double *values = operand(shape, 0);
  mica_tensor *t = tensor_of(MICA_F32, shape, values);
  free(values);
  return t;
}

/* Sums of rows are 1. */
static void expect_softmax(mica_tensor *y, int rows, int columns) {
  float *data = malloc(mica_tensor_bytes(y));
  ck_assert_ptr_nonnull(data);
  ck_ok(mica_tensor_download(test_queue(), y, data, mica_tensor_bytes(y)));
  for (int i = 0; i < rows; i++) {
    double sum = 0;
    for (int j = 0; j < columns; j++) sum += (double)data[i * columns + j];
    ck_assert(fabs(sum - 1) < 1e-5);
  }
  free(data);
}

START_TEST(steady_state) {
  mica_tensor *x = tensor(MICA_SHAPE(33, 65)), *y = tensor(MICA_SHAPE(33, 65)), *z = tensor(MICA_SHAPE(33, 65));
  mica_queue *second = NULL;
  ck_ok(mica_op_softmax_fwd(test_queue(), 1, x, y));
  ck_ok(mica_queue_finish(test_queue()));
  mica_stats before = mica_engine_stats(test_engine());
  for (int i = 0; i < 10; i++) ck_ok(mica_op_softmax_fwd(test_queue(), 1, x, i % 2 ? y : z));
  mica_stats after = mica_engine_stats(test_engine());
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.bytes_in_use, before.bytes_in_use);
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  ck_assert_uint_eq(after.host_waits, before.host_waits);
  ck_assert_uint_eq(after.launches, before.launches + 10); /* one kernel each */
  expect_softmax(y, 33, 65);
  /* A queue of its own has a session of its own. */
  ck_ok(mica_queue_create(test_engine(), &second));
  ck_ok(mica_op_softmax_fwd(second, 1, x, z));
  ck_ok(mica_op_softmax_fwd(test_queue(), 1, x, y));
  ck_ok(mica_queue_finish(second));
  expect_softmax(z, 33, 65);
  expect_softmax(y, 33, 65);
  mica_queue_destroy(second);
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(z);
}
END_TEST

/* More different calls than are kept: what was forgotten comes again, and the caller's memory is not kept. */
START_TEST(many_shapes) {
  uint64_t in_use = 0;
  for (int round = 0; round < 2; round++)
    for (int n = 1; n <= 70; n++) {
      mica_tensor *x = tensor(MICA_SHAPE(3, n)), *y = tensor(MICA_SHAPE(3, n));
      ck_ok(mica_op_softmax_fwd(test_queue(), 1, x, y));
      expect_softmax(y, 3, n);
      mica_tensor_destroy(x);
      mica_tensor_destroy(y);
      if (n < 70) continue;
      uint64_t now = mica_engine_stats(test_engine()).bytes_in_use;
      ck_assert(round == 0 || now <= in_use);
      in_use = now;
    }
}
END_TEST

/* --- what makes two calls one session --- */

/* Every byte of a pooling's configuration, but those between its fields, tells it from another. */
START_TEST(every_field_of_a_pooling_counts) {
  static const mica_pool_config zeros;
  for (size_t i = 0; i < sizeof zeros; i++) {
    mica_pool_config c = {.size = {0}};
    if (i > offsetof(mica_pool_config, count_include_pad) && i < offsetof(mica_pool_config, p)) continue;
    ((unsigned char *)&c)[i] = 1;
    ck_assert_msg(!mica__attrs_equal(&mica__pool_config_list, &zeros, &c), "byte %zu", i);
    mica__hash a = mica__attrs_hash((mica__hash){0}, &mica__pool_config_list, &zeros);
    ck_assert_msg(!mica__hash_equal(a, mica__attrs_hash((mica__hash){0}, &mica__pool_config_list, &c)), "byte %zu", i);
  }
}
END_TEST

/* --- what is refused, with a sentence that names op and operand --- */

static void refused(mica_status status, mica_status wanted, const char *words) {
  ck_assert_int_eq(status, wanted);
  ck_assert_msg(strstr(mica_error_message(), words) != NULL, "%s", mica_error_message());
}

START_TEST(refusals) {
  mica_queue *q = test_queue();
  mica_tensor *x = tensor(MICA_SHAPE(2, 3, 7, 9)), *y = tensor(MICA_SHAPE(2, 3, 7, 8)), *c = tensor(MICA_SHAPE(3));
  mica_tensor *z = tensor(MICA_SHAPE(2, 3, 7, 9)), *half = NULL, *transposed = NULL;
  ck_ok(mica_tensor_create(test_engine(), MICA_F16, MICA_SHAPE(2, 3, 7, 9), &half));
  ck_ok(mica_tensor_transpose(x, &transposed));
  refused(mica_op_softmax_fwd(NULL, 1, x, y), MICA_E_INVALID, "softmax_fwd: queue");
  refused(mica_op_softmax_fwd(q, 1, NULL, y), MICA_E_INVALID, "softmax_fwd: x");
  refused(mica_op_softmax_fwd(q, 1, transposed, y), MICA_E_INVALID, "softmax_fwd: x");
  refused(mica_op_softmax_fwd(q, 4, x, z), MICA_E_SHAPE, "softmax_fwd: softmax");
  refused(mica_op_softmax_fwd(q, 1, x, y), MICA_E_SHAPE, "softmax_fwd: y is f32 (2, 3, 7, 8), but must be f32");
  refused(mica_op_softmax_fwd(q, 1, x, half), MICA_E_DTYPE, "softmax_fwd: y is f16");
  refused(mica_op_max_pool_bwd(q, &windows, x, y, z), MICA_E_SHAPE, "max_pool_bwd");
  refused(mica_op_max_pool_fwd(q, NULL, x, y), MICA_E_INVALID, "size is 0");
  refused(mica_op_activation_fwd(q, (mica_activation)99, 0, x, y), MICA_E_INVALID, "99 is not an activation");
  refused(mica_op_batch_norm_fwd(q, EPSILON, x, c, c, NULL, c, y), MICA_E_INVALID, "batch_norm_fwd: mean");
  refused(mica_op_group_norm_fwd(q, 2, EPSILON, x, c, c, z), MICA_E_SHAPE, "group_norm_fwd: group_norm");
  ck_ok(mica_op_layer_norm_bwd(q, 1, EPSILON, x, NULL, x, NULL, NULL, NULL)); /* nothing is wanted */
  mica_tensor_destroy(x);
  mica_tensor_destroy(y);
  mica_tensor_destroy(z);
  mica_tensor_destroy(c);
  mica_tensor_destroy(half);
  mica_tensor_destroy(transposed);
}
END_TEST

static const char *name_of(int i) { return case_at((size_t)i).name; }

static int case_count(void) {
  int count = 0;
  while (name_of(count)) count++;
  return count;
}

TESTS(DEVICE, NULL, NULL, BY_NAME(agrees, name_of, case_count()), LOOP(activations, 0, MICA_ACTIVATION_HARD_SWISH + 1),
      steady_state, many_shapes, every_field_of_a_pooling_counts, refusals)
