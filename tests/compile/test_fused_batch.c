/* labels: device
 *
 * Pointwise kernels of one text as one launch: against the same kernels one by one, whose bits they must have, in the
 * ways of both classes of device; and which updates of a session come together. */
#include "compile/fused_batch.h"
#include "compile/fused_plan.h"
#include "compile/without.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS 6
static const int64_t lengths[PARTS] = {5, 20003, 1, 256, 0, 8192};
/* Operands: the rate, then p, m, g, and what is stored over p and m. */
enum { RATE, P, M, G, NEW_P, NEW_M, OPERANDS };

#define ATTRS(X, S) X(S, REAL, factor, 1, "the factor")
MICA__ATTR_STRUCT(times, ATTRS);
static MICA__ATTR_TABLE(times, ATTRS);
static const mica__op op_times = {
    .name = "times", .kind = MICA__OP_POINTWISE, .attrs = &mica__times_attr_list, .expression = "a * factor"};
static const mica__op op_add = {.name = "add", .kind = MICA__OP_POINTWISE, .expression = "a + b"};
static const mica__op op_sub = {.name = "sub", .kind = MICA__OP_POINTWISE, .expression = "a - b"};
static const mica__op op_mul = {.name = "mul", .kind = MICA__OP_POINTWISE, .expression = "a * b"};

#define KEY_ATTRS(X, S) X(S, INT, key, 0, "of a stream")
MICA__ATTR_STRUCT(drawn, KEY_ATTRS);
static MICA__ATTR_TABLE(drawn, KEY_ATTRS);
static const mica__op op_drawn = {
    .name = "drawn", .kind = MICA__OP_POINTWISE, .attrs = &mica__drawn_attr_list, .expression = "a + b"};

static int32_t push(mica__fused *f, mica__fused_instr instr) {
  f->instrs[f->count] = instr;
  return f->count++;
}

static int32_t add_access(mica__fused *f, mica__fused_kind kind, int32_t operand, int32_t value, int64_t stride) {
  return push(f, (mica__fused_instr){.kind = kind,
                                     .operand = operand,
                                     .dtype = MICA_F32,
                                     .args = {value},
                                     .arg_count = kind == MICA__FUSED_STORE,
                                     .access = {.stride = {stride}}});
}

static int32_t op(mica__fused *f, const mica__op *what, const void *attrs, int32_t a, int32_t b) {
  return push(f, (mica__fused_instr){.kind = MICA__FUSED_OP,
                                     .op = what,
                                     .attrs = attrs,
                                     .dtype = MICA_F32,
                                     .args = {a, b},
                                     .arg_count = what == &op_times ? 1 : 2});
}

/* m := share m + g; p := p - rate m; in place. */
static void momentum(mica__fused *f, int64_t n, const mica__times_attrs *share) {
  *f = (mica__fused){.rank = 1, .extent = {n}, .operand_count = OPERANDS};
  for (int o = 0; o < OPERANDS; o++) f->operand_dtype[o] = MICA_F32;
  int32_t rate = add_access(f, MICA__FUSED_LOAD, RATE, 0, 0), p = add_access(f, MICA__FUSED_LOAD, P, 0, 1);
  int32_t m = add_access(f, MICA__FUSED_LOAD, M, 0, 1), g = add_access(f, MICA__FUSED_LOAD, G, 0, 1);
  int32_t next = op(f, &op_add, NULL, op(f, &op_times, share, m, 0), g);
  add_access(f, MICA__FUSED_STORE, NEW_M, next, 1);
  add_access(f, MICA__FUSED_STORE, NEW_P, op(f, &op_sub, NULL, p, op(f, &op_mul, NULL, rate, next)), 1);
}

static mica_tensor *random_tensor(int64_t n, uint32_t seed) {
  mica_tensor *tensor = NULL;
  float *values = malloc(((size_t)n + 1) * sizeof *values);
  for (int64_t i = 0; i < n; i++) values[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 16777216 - 0.5f;
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, MICA_SHAPE(n), values, &tensor));
  free(values);
  return tensor;
}

static void expect_same(const mica_tensor *a, const mica_tensor *b, int part) {
  const size_t bytes = mica_tensor_bytes(a);
  char *x = malloc(bytes + 1), *y = malloc(bytes + 1);
  ck_ok(mica_tensor_download(test_queue(), a, x, bytes));
  ck_ok(mica_tensor_download(test_queue(), b, y, bytes));
  ck_assert_msg(!memcmp(x, y, bytes), "part %d has other bits than alone", part);
  free(x);
  free(y);
}

START_TEST(same_bits_as_one_by_one) {
  static mica__fused lists[PARTS];
  const unsigned device_class = _i ? MICA__ON_GPU : MICA__ON_CPU;
  const mica__times_attrs share = {.factor = 0.9};
  mica_tensor *rate = random_tensor(1, 3), *own[PARTS][2][3];
  const mica_tensor *operands[PARTS][2][OPERANDS];
  mica__batch batch = {.count = PARTS};
  for (int p = 0; p < PARTS; p++) {
    momentum(&lists[p], lengths[p], &share);
    for (int way = 0; way < 2; way++) {
      for (int k = 0; k < 3; k++) own[p][way][k] = random_tensor(lengths[p], (uint32_t)(7 * p + k));
      mica_tensor **t = own[p][way];
      memcpy(operands[p][way], ((const mica_tensor *[OPERANDS]){rate, t[0], t[1], t[2], t[0], t[1]}),
             sizeof operands[p][way]);
    }
    batch.parts[p] = &lists[p];
    batch.operands[p] = operands[p][1];
    ck_ok(mica__fused_launch_as(test_queue(), device_class, &lists[p], operands[p][0]));
  }
  ck_assert_int_ge(mica__fused_batch_room(&lists[0]), PARTS);
  ck_ok(mica__fused_batch_launch_as(test_queue(), device_class, &batch));
  for (int p = 0; p < PARTS; p++)
    for (int k = 0; k < 3; k++) {
      expect_same(own[p][0][k], own[p][1][k], p);
      mica_tensor_destroy(own[p][0][k]);
      mica_tensor_destroy(own[p][1][k]);
    }
  mica_tensor_destroy(rate);
}
END_TEST

START_TEST(what_is_alike) {
  static mica__fused a, b;
  const mica__times_attrs share = {.factor = 0.9}, equal = {.factor = 0.9}, other = {.factor = 0.8};
  const int32_t nodes[OPERANDS] = {1, 2, 3, 4, 5, 6}, elsewhere[OPERANDS] = {1, 12, 13, 14, 15, 16},
                another_rate[OPERANDS] = {9, 12, 13, 14, 15, 16};
  momentum(&a, 100, &share);
  momentum(&b, 7, &equal);
  ck_assert(mica__fused_alike(&a, nodes, &b, elsewhere));
  ck_assert(!mica__fused_alike(&a, nodes, &b, another_rate));
  momentum(&b, 7, &other);
  ck_assert(!mica__fused_alike(&a, nodes, &b, elsewhere));
  momentum(&b, 7, &equal);
  b.instrs[3].access.stride[0] = 2;
  ck_assert(!mica__fused_alike(&a, nodes, &b, elsewhere));
  ck_assert_int_eq(mica__fused_batch_room(&b), 1);
}
END_TEST

/* Integers of 64 bits that a double does not tell apart. */
START_TEST(keys_are_not_alike) {
  static mica__fused a, b;
  const mica__times_attrs share = {.factor = 0.9};
  const mica__drawn_attrs one = {.key = (INT64_C(1) << 53)}, next = {.key = (INT64_C(1) << 53) + 1}, same = one;
  const int32_t nodes[OPERANDS] = {1, 2, 3, 4, 5, 6};
  momentum(&a, 100, &share);
  momentum(&b, 100, &share);
  const int32_t at = op(&a, &op_drawn, &one, 1, 2);
  ck_assert_int_eq(op(&b, &op_drawn, &next, 1, 2), at);
  ck_assert(!mica__fused_alike(&a, nodes, &b, nodes));
  const mica__hash x = mica__fused_batch_hash(&a, nodes), y = mica__fused_batch_hash(&b, nodes);
  ck_assert(memcmp(&x, &y, sizeof x) != 0);
  b.instrs[at].attrs = &same;
  ck_assert(mica__fused_alike(&a, nodes, &b, nodes));
}
END_TEST

/* On GPUs 128 bits move at once where rows begin at whole vectors, and nothing else is said of other strides. */
START_TEST(wide_accesses_on_gpus) {
  static mica__fused f;
  const mica__times_attrs share = {.factor = 0.9};
  for (int way = 0; way < 4; way++) {
    mica__text source = {0};
    momentum(&f, 1000, &share);
    if (way == 1)
      for (int o = P; o < OPERANDS; o++) f.operand_dtype[o] = MICA_F16;
    if (way == 2) f.instrs[3].access.offset = 2;
    ck_ok(mica__fused_source(&f, way == 3 ? MICA__ON_CPU : MICA__ON_GPU, &source));
    ck_assert(!!strstr(source.data, "LOADVA(f32, 4, x3,") == (way == 0));
    ck_assert(!!strstr(source.data, "LOADVA(f16, 8, x3,") == (way == 1));
    ck_assert(!!strstr(source.data, "LOADV(f32, 4, x3,") == (way == 2));
    ck_assert(!!strstr(source.data, "STOREVA(f32, 4,") == (way == 0 || way == 2));
    ck_assert(!!strstr(source.data, "*restrict x3") == (way != 3));
    mica__text_free(&source);
  }
}
END_TEST

#define WEIGHTS 14

/* w := w - x factor for weights of many shapes; every third has another factor, and one is an output as well. */
static mica_session *updates(mica_graph *graph, double factor, double third) {
  mica_session *session = NULL;
  mica_value last = {0};
  for (int i = 0; i < WEIGHTS; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    mica_value w = mica_parameter(graph, name, MICA_F32, MICA_SHAPE(i + 1, 3 * i + 2));
    snprintf(name, sizeof name, "x%d", i);
    mica_value x = mica_input(graph, name, MICA_F32, MICA_SHAPE(i + 1, 3 * i + 2));
    last = mica_sub(w, mica_affine(x, i % 3 ? factor : third, 0));
    mica_assign(w, last);
  }
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &last, 1, NULL, &session));
  return session;
}

START_TEST(updates_come_together) {
  const double third = _i ? 4 : 2;
  mica_graph *graph = NULL;
  mica_feed feeds[WEIGHTS];
  char names[WEIGHTS][16];
  ck_ok(mica_graph_create(&graph));
  mica_session *session = updates(graph, 2, third);
  for (int i = 0; i < WEIGHTS; i++) {
    const int64_t count = (i + 1) * (3 * i + 2);
    mica_tensor *x = NULL, *flat = random_tensor(count, (uint32_t)i);
    ck_ok(mica_tensor_view(flat, MICA_SHAPE(i + 1, 3 * i + 2), NULL, 0, &x));
    mica_tensor_destroy(flat);
    snprintf(names[i], sizeof names[i], "x%d", i);
    feeds[i] = (mica_feed){names[i], x};
  }
  mica_session_report report;
  for (int run = 0; run < 2; run++) ck_ok(mica_session_run(session, test_queue(), feeds, WEIGHTS));
  ck_ok(mica_session_describe(session, &report));
  /* One kernel of all, two of the two factors; and the output's own. */
  ck_assert_msg(report.launches <= (_i ? 4 : 3), "%zu launches", report.launches);
  for (int i = 0; i < WEIGHTS; i++) {
    const size_t count = (size_t)((i + 1) * (3 * i + 2));
    float *x = malloc(count * sizeof *x), *w = malloc(count * sizeof *w);
    snprintf(names[i], sizeof names[i], "w%d", i);
    ck_ok(mica_tensor_download(test_queue(), feeds[i].tensor, x, count * sizeof *x));
    ck_ok(mica_tensor_download(test_queue(), mica_session_parameter(session, names[i]), w, count * sizeof *w));
    for (size_t k = 0; k < count; k++) ck_assert_float_eq(w[k], x[k] * -2 * (float)(i % 3 ? 2 : third));
    free(x);
    free(w);
    mica_tensor_destroy((mica_tensor *)feeds[i].tensor);
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}
END_TEST

/* x through all weights in 16 bits and back, as in training; the result is added to the weights. */
static mica_session *there_and_back(mica_graph *graph) {
  mica_session *session = NULL;
  mica_value x = mica_cast(mica_input(graph, "x", MICA_F32, MICA_SHAPE(8, 8)), MICA_F16);
  mica_value w[WEIGHTS], half[WEIGHTS];
  for (int i = 0; i < WEIGHTS; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    w[i] = mica_parameter(graph, name, MICA_F32, MICA_SHAPE(8, 8));
    half[i] = mica_cast(w[i], MICA_F16);
    x = mica_matmul(x, half[i]);
  }
  for (int i = WEIGHTS - 1; i >= 0; i--) x = mica_matmul(x, half[i]);
  for (int i = 0; i < WEIGHTS; i++) mica_assign(w[i], mica_add(w[i], mica_cast(x, MICA_F32)));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, &x, 1, NULL, &session));
  return session;
}

/* Runs it twice; the second run has the changed weights. */
static void run_twice(unsigned without, mica_session_report *report, uint16_t result[2][64]) {
  mica_graph *graph = NULL;
  mica__compile_without(without);
  ck_ok(mica_graph_create(&graph));
  mica_session *session = there_and_back(graph);
  mica_tensor *x = NULL, *flat = random_tensor(64, 1);
  ck_ok(mica_tensor_view(flat, MICA_SHAPE(8, 8), NULL, 0, &x));
  for (int i = 0; i < WEIGHTS; i++) {
    char name[16];
    float w[64];
    snprintf(name, sizeof name, "w%d", i);
    for (int k = 0; k < 64; k++) w[k] = k % 9 ? (float)((k * 7 + i) % 5 - 2) / 64 : 1;
    ck_ok(mica_tensor_upload(test_queue(), (mica_tensor *)mica_session_parameter(session, name), w, sizeof w));
  }
  for (int run = 0; run < 2; run++) {
    ck_ok(mica_session_run(session, test_queue(), &(mica_feed){"x", x}, 1));
    ck_ok(mica_tensor_download(test_queue(), mica_session_output(session, 0), result[run], sizeof result[run]));
  }
  ck_ok(mica_session_describe(session, report));
  mica__compile_without(0);
  mica_tensor_destroy(x);
  mica_tensor_destroy(flat);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
}

START_TEST(casts_of_weights_come_together) {
  mica_session_report together, alone;
  uint16_t result[2][2][64];
  run_twice(0, &together, result[0]);
  run_twice(MICA__WITHOUT_TOGETHER, &alone, result[1]);
  ck_assert_uint_eq(together.launches, alone.launches - (WEIGHTS - 1));
  ck_assert_uint_eq(together.planned_bytes, alone.planned_bytes);
  ck_assert(!memcmp(result[0], result[1], sizeof result[0]));
  ck_assert(memcmp(result[0][0], result[0][1], sizeof result[0][0]) != 0);
}
END_TEST

enum { BLOCKS = 8, WIDTH = 256, ROWS = 64 };

/* The planned bytes of a step that trains checkpointed blocks of two products in 16 bits. */
static uint64_t bytes_of_blocks(unsigned without) {
  mica_value w[2 * BLOCKS], grads[2 * BLOCKS], loss;
  mica_session *session = NULL;
  mica_graph *graph = NULL;
  mica_session_report report;
  mica__compile_without(without);
  ck_ok(mica_graph_create(&graph));
  mica_value x = mica_cast(mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, WIDTH)), MICA_F16);
  for (int i = 0; i < 2 * BLOCKS; i++) {
    char name[16];
    snprintf(name, sizeof name, "w%d", i);
    w[i] = mica_parameter(graph, name, MICA_F32, MICA_SHAPE(WIDTH, WIDTH));
    if (i % 2 == 0) x = mica_checkpoint(x);
    x = mica_tanh(mica_matmul(x, mica_cast(w[i], MICA_F16)));
  }
  loss = mica_sum(mica_cast(x, MICA_F32), MICA_ALL_AXES, false);
  ck_ok(mica_gradients(loss, w, 2 * BLOCKS, grads));
  for (int i = 0; i < 2 * BLOCKS; i++) mica_assign(w[i], mica_sub(w[i], grads[i]));
  ck_ok(mica_session_create(test_engine(), graph, &loss, 1, NULL, &session));
  ck_ok(mica_session_describe(session, &report));
  mica__compile_without(0);
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  return report.planned_bytes;
}

/* Checkpoints repeat the casts late; made together, they would take memory from the beginning, half of the weights'
 * bytes. Updates that wait for each other may take a sixteenth of these, and gaps. */
START_TEST(repeated_casts_come_late) {
  const uint64_t weights = UINT64_C(2) * BLOCKS * WIDTH * WIDTH * sizeof(float);
  ck_assert_uint_lt(bytes_of_blocks(0), bytes_of_blocks(MICA__WITHOUT_TOGETHER) + weights / 8);
}
END_TEST

TESTS(DEVICE, NULL, NULL, casts_of_weights_come_together, repeated_casts_come_late, LOOP(same_bits_as_one_by_one, 0, 2),
      what_is_alike, keys_are_not_alike, wide_accesses_on_gpus, LOOP(updates_come_together, 0, 2))
