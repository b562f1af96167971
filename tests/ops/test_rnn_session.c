/* labels: device single
 *
 * Recurrent layers in sessions: open steps and batches, weights that are packed once, training steps that build,
 * allocate and wait for nothing. */
#include "support/check_main.h"
#include "support/engine.h"

#include <math.h>
#include <mica/mica.h>
#include <stdlib.h>
#include <string.h>

enum { I = 3, H = 5, WEIGHTS = 3, MOST = 4096 };

static const mica_shape shapes[WEIGHTS] = {{3, {2, 4 * H, I}}, {3, {2, 4 * H, H}}, {2, {2, 8 * H}}};
static mica_graph *graph;
static mica_session *session;
static mica_tensor *x, *lengths;

static void setup(void) { ck_ok(mica_graph_create(&graph)); }

static void forget_feeds(void) {
  mica_tensor_destroy(x);
  mica_tensor_destroy(lengths);
  x = lengths = NULL;
}

static void teardown(void) {
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  session = NULL;
  graph = NULL;
  forget_feeds();
}

static float number(int64_t i) { return (float)((i * 37 + 11) % 101) / 101 - 0.5f; }

static mica_tensor *numbers(mica_shape shape) {
  static float data[MOST];
  mica_tensor *tensor = NULL;
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  ck_assert_int_le(count, MOST);
  for (int64_t i = 0; i < count; i++) data[i] = number(i);
  ck_ok(mica_tensor_create_from(test_engine(), MICA_F32, shape, data, &tensor));
  return tensor;
}

/* A layer of both directions with lengths and, where it is trained, its loss and the gradients of w, r and b. */
static void make(int64_t steps, int64_t batch, bool training) {
  static const char *const names[WEIGHTS] = {"w", "r", "b"};
  mica_value weights[WEIGHTS], outputs[1 + WEIGHTS];
  mica_rnn_config config = {.kind = MICA_RNN_KIND_LSTM, .direction = MICA_RNN_DIRECTION_BOTH};
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(steps, batch, I));
  config.lengths = mica_input(graph, "lengths", MICA_I32, MICA_SHAPE(batch));
  for (int k = 0; k < WEIGHTS; k++) weights[k] = mica_parameter(graph, names[k], MICA_F32, shapes[k]);
  mica_value y = mica_rnn(in, weights[0], weights[1], weights[2], &config).y;
  outputs[0] = training ? mica_sum(mica_mul(y, y), MICA_ALL_AXES, false) : y;
  if (training) ck_ok(mica_gradients(outputs[0], weights, WEIGHTS, outputs + 1));
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_ok(mica_session_create(test_engine(), graph, outputs, training ? 1 + WEIGHTS : 1, NULL, &session));
  for (int k = 0; k < WEIGHTS; k++) {
    mica_tensor *from = numbers(shapes[k]);
    ck_ok(mica_op_copy(test_queue(), from, mica_session_parameter(session, names[k])));
    mica_tensor_destroy(from);
  }
}

static void run(void) {
  const mica_feed feeds[] = {{"x", x}, {"lengths", lengths}};
  ck_ok(mica_session_run(session, test_queue(), feeds, 2));
}

static void feed(int64_t steps, int64_t batch) {
  int32_t counts[8];
  forget_feeds();
  for (int64_t b = 0; b < batch; b++) counts[b] = (int32_t)((steps + b) % (steps + 1));
  x = numbers(MICA_SHAPE(steps, batch, I));
  ck_ok(mica_tensor_create_from(test_engine(), MICA_I32, MICA_SHAPE(batch), counts, &lengths));
}

/* All outputs of a run, in a row. */
static size_t outputs_of(float *to) {
  size_t at = 0;
  for (size_t k = 0; k < 1 + WEIGHTS; k++) {
    const mica_tensor *output = mica_session_output(session, k);
    size_t bytes = mica_tensor_bytes(output);
    ck_assert_uint_le(at + bytes / sizeof(float), MOST);
    ck_ok(mica_tensor_download(test_queue(), output, to + at, bytes));
    at += bytes / sizeof(float);
  }
  return at;
}

START_TEST(open_steps_and_batches_are_any) {
  static const int64_t sizes[][2] = {{4, 2}, {1, 1}, {3, 7}, {4, 2}};
  static float open[4][MOST], known[MOST];
  make(MICA_DYNAMIC, MICA_DYNAMIC, true);
  for (int i = 0; i < 4; i++) {
    feed(sizes[i][0], sizes[i][1]);
    run();
    outputs_of(open[i]);
  }
  for (int i = 0; i < 4; i++) {
    teardown();
    setup();
    make(sizes[i][0], sizes[i][1], true);
    feed(sizes[i][0], sizes[i][1]);
    run();
    size_t count = outputs_of(known);
    for (size_t k = 0; k < count; k++)
      ck_assert_msg(fabsf(open[i][k] - known[k]) <= 1e-5f * (1 + fabsf(known[k])), "size %d, element %d: %g, not %g", i,
                    (int)k, (double)open[i][k], (double)known[k]);
  }
}
END_TEST

START_TEST(weights_are_packed_once) {
  char *text = NULL;
  make(4, 2, false);
  feed(4, 2);
  run();
  ck_ok(mica_session_dump(session, &text));
  ck_assert_msg(strstr(text, "rnn_forward") != NULL, "no recurrent layer in: %s", text);
  ck_assert_msg(strstr(text, "rnn_pack") == NULL && strstr(text, "strided_copy") == NULL, "weights are packed in: %s",
                text);
  mica_free(text);
}
END_TEST

START_TEST(a_training_step_is_a_replay) {
  make(4, 2, true);
  feed(4, 2);
  run();
  run();
  ck_ok(mica_queue_finish(test_queue()));
  mica_stats before = mica_engine_stats(test_engine());
  for (int i = 0; i < 5; i++) run();
  mica_stats after = mica_engine_stats(test_engine());
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.host_waits, before.host_waits);
  ck_assert_uint_gt(after.launches, before.launches);
}
END_TEST

START_TEST(rounded_states_are_of_lstm_without_a_gradient) {
  mica_value in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 1, I)), w[2], grad;
  for (int k = 0; k < 2; k++) w[k] = mica_parameter(graph, k ? "r" : "w", MICA_F32, shapes[k]);
  mica_rnn_config config = {.kind = MICA_RNN_KIND_LSTM, .direction = MICA_RNN_DIRECTION_BOTH, .byte_state = true};
  mica_value loss = mica_sum(mica_rnn(in, w[0], w[1], (mica_value){0}, &config).y, MICA_AXES(0, 1, 2, 3), false);
  ck_assert_msg(mica_graph_status(graph) == MICA_OK, "%s", mica_graph_message(graph));
  ck_assert_int_eq(mica_gradients(loss, w, 1, &grad), MICA_E_UNSUPPORTED);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "byte_state"));
  teardown();
  setup();
  in = mica_input(graph, "x", MICA_F32, MICA_SHAPE(2, 1, I));
  config = (mica_rnn_config){.byte_state = true};
  ck_assert_ptr_null(mica_rnn(in, in, in, (mica_value){0}, &config).y.graph);
  ck_assert_int_eq(mica_graph_status(graph), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_graph_message(graph), "byte_state"));
}
END_TEST

TESTS(DEVICE, setup, teardown, open_steps_and_batches_are_any, weights_are_packed_once, a_training_step_is_a_replay,
      rounded_states_are_of_lstm_without_a_gradient)
