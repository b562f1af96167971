/* Causal attention against PyTorch's scaled_dot_product_attention, alternately: forward, and forward and backward for
 * the gradients of queries, keys and values; and the memory of the session, to lengths at which scores would not fit.
 * */
#include "bench/bench_sequence.h"

#include <stdio.h>

typedef struct head {
  int64_t B, H, G, T, D;
  bool training;
} head;

static const head heads[] = {{1, 8, 8, 1024, 64, false}, {1, 8, 8, 1024, 64, true},  {8, 8, 8, 256, 64, false},
                             {8, 8, 8, 256, 64, true},   {1, 8, 8, 4096, 64, false}, {1, 8, 8, 4096, 64, true},
                             {1, 8, 2, 1024, 64, true},  {1, 8, 8, 8192, 64, true}};

typedef struct own {
  mica_graph *graph;
  mica_session *session;
  mica_tensor *tensors[3];
  mica_feed feeds[3];
} own;

static void make(const bench *b, const head *a, own *o) {
  static const char *const names[] = {"q", "k", "v"};
  mica_value x[3], outputs[4];
  size_t count = 1;
  bench_ok(mica_graph_create(&o->graph));
  for (int k = 0; k < 3; k++) {
    mica_shape shape = MICA_SHAPE(a->B, k ? a->G : a->H, a->T, a->D);
    x[k] = mica_input(o->graph, names[k], MICA_F32, shape);
    o->tensors[k] = bench_sequence_numbers(b, shape, 1.7f);
    o->feeds[k] = (mica_feed){names[k], o->tensors[k]};
  }
  outputs[0] = mica_attention(x[0], x[1], x[2], &(mica_attention_config){.causal = true});
  if (a->training) {
    outputs[0] = mica_sum(mica_mul(outputs[0], outputs[0]), MICA_ALL_AXES, false);
    bench_ok(mica_gradients(outputs[0], x, 3, outputs + 1));
    count = 4;
  }
  bench_ok(mica_session_create(b->engine, o->graph, outputs, count, NULL, &o->session));
}

static void measure(const bench *b, const head *a) {
  own o = {0};
  char text[6][16], name[64];
  const int64_t sizes[] = {a->B, a->H, a->G, a->T, a->D, a->training};
  for (int k = 0; k < 6; k++) snprintf(text[k], sizeof text[k], "%d", (int)sizes[k]);
  snprintf(name, sizeof name, "attention_%s_b%d_h%d_g%d_t%d_d%d", a->training ? "training" : "forward", (int)a->B,
           (int)a->H, (int)a->G, (int)a->T, (int)a->D);
  const uint64_t before = mica_engine_stats(b->engine).bytes_in_use;
  make(b, a, &o);
  bench_ok(mica_session_run(o.session, b->queue, o.feeds, 3));
  bench_ok(mica_queue_finish(b->queue));
  /* Half of the scores are seen; the backward pass has five products to the forward pass's two. */
  const double product = (double)(a->B * a->H * a->T) * (double)(a->T * a->D);
  const char *const arguments[] = {text[0], text[1], text[2], text[3], text[4], text[5], NULL};
  bench_sequence_measure(b, &(sequence_row){.name = name,
                                            .flops = (a->training ? 7.0 : 2.0) * product,
                                            .session = o.session,
                                            .feeds = o.feeds,
                                            .feed_count = 3,
                                            .bytes = mica_engine_stats(b->engine).bytes_in_use - before,
                                            .script = "torch_attention.py",
                                            .arguments = arguments});
  mica_session_destroy(o.session);
  mica_graph_destroy(o.graph);
  for (int k = 0; k < 3; k++) mica_tensor_destroy(o.tensors[k]);
}

void bench_sequence_attention(const bench *b) {
  for (size_t k = 0; k < sizeof heads / sizeof *heads; k++) measure(b, &heads[k]);
}
