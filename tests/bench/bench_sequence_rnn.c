/* LSTM layers against PyTorch's, alternately: forward without gradients, and forward and backward for the gradients of
 * all weights. */
#include "bench/bench_sequence.h"

#include <stdio.h>

typedef struct layer {
  int64_t B, T, I, H;
  bool training;
} layer;

static const layer layers[] = {
    {64, 100, 64, 256, false}, {64, 100, 64, 256, true}, {32, 50, 128, 512, false}, {32, 50, 128, 512, true}};

typedef struct own {
  mica_graph *graph;
  mica_session *session;
  mica_tensor *x;
  mica_feed feed;
} own;

static void make(const bench *b, const layer *l, own *o) {
  static const char *const names[] = {"w", "r", "b"};
  const mica_shape shapes[] = {MICA_SHAPE(1, 4 * l->H, l->I), MICA_SHAPE(1, 4 * l->H, l->H), MICA_SHAPE(1, 8 * l->H)};
  mica_value weights[3], outputs[4];
  size_t count = 1;
  bench_ok(mica_graph_create(&o->graph));
  mica_value x = mica_input(o->graph, "x", MICA_F32, MICA_SHAPE(l->T, l->B, l->I));
  for (int k = 0; k < 3; k++) weights[k] = mica_parameter(o->graph, names[k], MICA_F32, shapes[k]);
  mica_rnn_results results =
      mica_rnn(x, weights[0], weights[1], weights[2], &(mica_rnn_config){.kind = MICA_RNN_KIND_LSTM});
  outputs[0] = results.y;
  if (l->training) {
    outputs[0] = mica_sum(mica_mul(results.y, results.y), MICA_ALL_AXES, false);
    bench_ok(mica_gradients(outputs[0], weights, 3, outputs + 1));
    count = 4;
  }
  bench_ok(mica_session_create(b->engine, o->graph, outputs, count, NULL, &o->session));
  for (int k = 0; k < 3; k++) {
    mica_tensor *from = bench_sequence_numbers(b, shapes[k], 1 / 16.0f);
    bench_ok(mica_op_copy(b->queue, from, mica_session_parameter(o->session, names[k])));
    mica_tensor_destroy(from);
  }
  o->x = bench_sequence_numbers(b, MICA_SHAPE(l->T, l->B, l->I), 1.7f);
  o->feed = (mica_feed){"x", o->x};
}

static void measure(const bench *b, const layer *l) {
  own o = {0};
  char text[5][16], name[64];
  const int64_t sizes[] = {l->B, l->T, l->I, l->H, l->training};
  for (int k = 0; k < 5; k++) snprintf(text[k], sizeof text[k], "%d", (int)sizes[k]);
  snprintf(name, sizeof name, "lstm_%s_b%d_t%d_i%d_h%d", l->training ? "training" : "forward", (int)l->B, (int)l->T,
           (int)l->I, (int)l->H);
  make(b, l, &o);
  const char *const arguments[] = {text[0], text[1], text[2], text[3], text[4], NULL};
  const double products = (double)(l->T * l->B * 4 * l->H) * (double)(l->I + l->H);
  bench_sequence_measure(b, &(sequence_row){.name = name,
                                            .flops = (l->training ? 6.0 : 2.0) * products,
                                            .session = o.session,
                                            .feeds = &o.feed,
                                            .feed_count = 1,
                                            .script = "torch_lstm.py",
                                            .arguments = arguments});
  mica_session_destroy(o.session);
  mica_graph_destroy(o.graph);
  mica_tensor_destroy(o.x);
}

void bench_sequence_rnn(const bench *b) {
  for (size_t k = 0; k < sizeof layers / sizeof *layers; k++) measure(b, &layers[k]);
}
