/* labels: device
 *
 * Gradients where an open axis of one operand meets a fixed axis of another: the same numbers as with fixed axes, for
 * every choice of the open ones. Operands are small integers, so that sums are exact in any order. */
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <mica/rnn.h>
#include <string.h>

#define MOST 4
#define LONGEST 96

typedef struct problem {
  const char *name;
  size_t count;
  mica_shape shapes[MOST];
  mica_value (*build)(const mica_value *x);
  uint32_t fixed; /* bits of axes that stay fixed: slices take no open axis, recurrent weights have none */
} problem;

static mica_value matmul(const mica_value *x) { return mica_matmul(x[0], x[1]); }

static mica_value gemm(const mica_value *x) { return mica_gemm(x[0], x[1], x[2], 2, 3); }

static mica_value einsum(const mica_value *x) { return mica_einsum("bij,bjk,k->bi", x, 3); }

static mica_value joined(const mica_value *x) {
  return mica_matmul(mica_transpose(mica_concat(x, 2, 1), MICA_AXES(1, 0)), mica_add(x[0], x[2]));
}

static mica_value rnn(const mica_value *x) {
  return mica_rnn(x[0], x[1], x[2], (mica_value){0}, &(mica_rnn_config){.kind = MICA_RNN_KIND_RELU, .h0 = x[3]}).y;
}

static const problem problems[] = {
    {"matmul", 2, {{2, {3, 5}}, {2, {5, 4}}}, matmul, 0},
    {"matmul of batches", 2, {{3, {2, 3, 5}}, {3, {2, 5, 4}}}, matmul, 0},
    {"gemm", 3, {{2, {3, 5}}, {2, {5, 4}}, {2, {3, 4}}}, gemm, 0},
    {"einsum", 3, {{3, {2, 3, 5}}, {3, {2, 5, 4}}, {1, {4}}}, einsum, 0},
    {"concat", 3, {{2, {3, 2}}, {2, {3, 4}}, {2, {3, 2}}}, joined, 1u << 1 | 1u << 3},
    {"rnn", 4, {{3, {2, 1, 3}}, {3, {1, 2, 3}}, {3, {1, 2, 2}}, {3, {1, 1, 2}}}, rnn, 0x1f8},
};

static int64_t count_of(mica_shape shape) {
  int64_t count = 1;
  for (int32_t k = 0; k < shape.rank; k++) count *= shape.dim[k];
  return count;
}

/* The gradients by all operands, one after another, with the axes open whose bits are set; 0 numbers if the forward
 * pass is refused, which names the shapes. */
static size_t gradients(const problem *p, uint32_t open, float *out) {
  static const char *const names[MOST] = {"a", "b", "c", "d"};
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_value x[MOST], grads[MOST];
  mica_feed feeds[MOST];
  mica_tensor *fed[MOST];
  size_t total = 0;
  ck_ok(mica_graph_create(&graph));
  for (size_t k = 0, bit = 0; k < p->count; k++) {
    mica_shape declared = p->shapes[k];
    for (int32_t i = 0; i < declared.rank; i++)
      if (open >> bit++ & 1) declared.dim[i] = MICA_DYNAMIC;
    x[k] = mica_input(graph, names[k], MICA_F32, declared);
  }
  const mica_value y = p->build(x);
  if (mica_graph_status(graph) != MICA_OK) {
    mica_graph_destroy(graph);
    return 0;
  }
  const mica_value loss = mica_sum(mica_square(y), MICA_ALL_AXES, false);
  const mica_status status = mica_gradients(loss, x, p->count, grads);
  ck_assert_msg(status == MICA_OK, "%s, open %x: %s", p->name, open, mica_error_message());
  ck_ok(mica_session_create(test_engine(), graph, grads, p->count, NULL, &session));
  for (size_t k = 0; k < p->count; k++) {
    float data[LONGEST];
    for (int i = 0; i < LONGEST; i++) data[i] = (float)((i * 7 + 3 * (int)k) % 5 - (k == 0));
    ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, p->shapes[k], data, &fed[k]));
    feeds[k] = (mica_feed){names[k], fed[k]};
  }
  ck_ok(mica_session_run(session, test_queue(), feeds, p->count));
  for (size_t k = 0; k < p->count; k++) {
    const mica_tensor *grad = mica_session_output(session, k);
    const size_t count = (size_t)count_of(p->shapes[k]);
    ck_assert_uint_le(total + count, LONGEST);
    ck_assert(mica_shape_equal(mica_tensor_shape(grad), p->shapes[k]));
    ck_ok(mica_tensor_download(test_queue(), grad, out + total, count * sizeof *out));
    total += count;
    mica_tensor_destroy(fed[k]);
  }
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  return total;
}

START_TEST(open_axes_have_the_gradients_of_fixed_ones) {
  const problem *p = &problems[_i];
  float wanted[LONGEST], got[LONGEST];
  int32_t axes = 0;
  int compared = 0, apart = 0;
  const size_t count = gradients(p, 0, wanted);
  ck_assert_uint_gt(count, 0);
  for (size_t i = 0; i < count; i++) apart += wanted[i] != 0;
  ck_assert_int_gt(apart, 0);
  for (size_t k = 0; k < p->count; k++) axes += p->shapes[k].rank;
  /* Each axis alone, and each but one. */
  for (int32_t k = 0; k < 2 * axes; k++) {
    const uint32_t one = UINT32_C(1) << k / 2, all = (UINT32_C(1) << axes) - 1;
    const size_t n = gradients(p, (k % 2 ? all & ~one : one) & ~p->fixed, got);
    compared += n > 0;
    if (n) ck_assert_msg(!memcmp(got, wanted, count * sizeof *got), "%s, axis %d: other numbers", p->name, k / 2);
  }
  ck_assert_int_gt(compared, 1);
}
END_TEST

/* rnn.h: steps and sequences may be open. */
START_TEST(a_recurrence_of_open_weights_is_refused) {
  mica_graph *graph = NULL;
  mica_value x[4], grad;
  ck_ok(mica_graph_create(&graph));
  x[0] = mica_input(graph, "a", MICA_F32, MICA_SHAPE(MICA_DYNAMIC, MICA_DYNAMIC, 3));
  x[1] = mica_input(graph, "b", MICA_F32, MICA_SHAPE(1, MICA_DYNAMIC, MICA_DYNAMIC));
  x[2] = mica_input(graph, "c", MICA_F32, MICA_SHAPE(1, 2, 2));
  x[3] = mica_input(graph, "d", MICA_F32, MICA_SHAPE(1, 1, 2));
  const mica_value loss = mica_sum(rnn(x), MICA_ALL_AXES, false);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_assert_int_eq(mica_gradients(loss, x, 1, &grad), MICA_E_SHAPE);
  ck_assert_msg(
      strstr(mica_error_message(), "w is (1, ?, ?) and r is (1, 2, 2), but a gradient needs both without open axes"),
      "%s", mica_error_message());
  mica_graph_destroy(graph);
}
END_TEST

TESTS(DEVICE, NULL, NULL,
      LOOP(open_axes_have_the_gradients_of_fixed_ones, 0, (int)(sizeof problems / sizeof *problems)),
      a_recurrence_of_open_weights_is_refused)
