/* LSTM layers against PyTorch's, alternately: forward without gradients, and forward and backward for the gradients of
 * all weights. */
#include "bench/bench.h"
#include "bench/bench_sequence.h"
#include "bench/peer_train.h"

#include <stdio.h>
#include <stdlib.h>

/* Seconds that a round of each side takes at least, and until the peer's threads have stopped spinning. */
#define ROUND_SECONDS 0.4
#define REST 0.02

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

static mica_tensor *numbers(const bench *b, mica_shape shape, float bound) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.rank; i++) count *= shape.dim[i];
  float *data = malloc((size_t)count * sizeof *data);
  uint32_t state = 7;
  mica_tensor *tensor = NULL;
  for (int64_t i = 0; data && i < count; i++) {
    state = state * 1664525u + 1013904223u;
    data[i] = (float)(int32_t)state * 0x1p-31f * bound;
  }
  bench_ok(mica_tensor_create_from(b->engine, MICA_F32, shape, data, &tensor));
  free(data);
  return tensor;
}

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
    mica_tensor *from = numbers(b, shapes[k], 1 / 16.0f);
    bench_ok(mica_op_copy(b->queue, from, mica_session_parameter(o->session, names[k])));
    mica_tensor_destroy(from);
  }
  o->x = numbers(b, MICA_SHAPE(l->T, l->B, l->I), 1.7f);
  o->feed = (mica_feed){"x", o->x};
}

static double steps_of(const bench *b, own *o, int steps) {
  double begin = bench_now();
  for (int i = 0; i < steps; i++) bench_ok(mica_session_run(o->session, b->queue, &o->feed, 1));
  bench_ok(mica_queue_finish(b->queue));
  return bench_now() - begin;
}

static int steps_for(double seconds) { return seconds >= ROUND_SECONDS ? 1 : (int)(ROUND_SECONDS / seconds) + 1; }

static void print_profile(const bench *b, own *o) {
  mica_profile_row rows[32];
  size_t count = 0;
  bench_ok(mica_profile_start(b->engine));
  steps_of(b, o, 5);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, 32, &count));
  for (size_t i = 0; i < count; i++)
    fprintf(stderr, "%9.1f us %5.1f launches %6.1f GFLOP/s  %s\n", rows[i].seconds * 1e6 / 5, (double)rows[i].count / 5,
            rows[i].flops / rows[i].seconds * 1e-9, rows[i].kernel);
}

static void report(const bench *b, const layer *l, double mine, double theirs) {
  double flops = (l->training ? 6.0 : 2.0) * (double)(l->T * l->B * 4 * l->H) * (double)(l->I + l->H);
  char name[64];
  snprintf(name, sizeof name, "lstm_%s_b%d_t%d_i%d_h%d", l->training ? "training" : "forward", (int)l->B, (int)l->T,
           (int)l->I, (int)l->H);
  if (b->json) {
    printf("{\"bench\":\"sequence\",\"name\":\"%s\",\"mica\":%.6f,\"pytorch\":", name, mine);
    if (theirs > 0)
      printf("%.6f,\"ratio\":%.3f,\"unit\":\"seconds\"}\n", theirs, theirs / mine);
    else
      printf("null,\"ratio\":null,\"unit\":\"seconds\"}\n");
    return;
  }
  printf("%-32s %8.2f ms %7.1f GFLOP/s", name, mine * 1e3, flops / mine * 1e-9);
  if (theirs > 0) printf("; PyTorch %8.2f ms, ratio %.2f", theirs * 1e3, theirs / mine);
  printf("\n");
}

static void measure(const bench *b, const layer *l) {
  own o = {0};
  peer_train peer;
  char text[5][16];
  const int64_t sizes[] = {l->B, l->T, l->I, l->H, l->training};
  for (int k = 0; k < 5; k++) snprintf(text[k], sizeof text[k], "%d", (int)sizes[k]);
  const bool has_peer = peer_train_start_script(
      &peer, "torch_lstm.py", (const char *const[]){text[0], text[1], text[2], text[3], text[4], NULL});
  double *mine = calloc((size_t)b->rounds, sizeof *mine), *theirs = calloc((size_t)b->rounds, sizeof *theirs);
  make(b, l, &o);
  steps_of(b, &o, 2);
  const int steps = b->steps ? b->steps : steps_for(steps_of(b, &o, 2) / 2);
  const int peer_steps = !has_peer ? 0 : b->steps ? b->steps : steps_for(peer_train_steps(&peer, 2) / 2);
  for (int i = 0; i < b->rounds; i++) {
    if (has_peer) theirs[i] = peer_train_steps(&peer, peer_steps) / peer_steps;
    bench_rest(REST);
    mine[i] = steps_of(b, &o, steps) / steps;
  }
  report(b, l, bench_median(mine, (size_t)b->rounds), bench_median(theirs, (size_t)b->rounds));
  if (b->profile) print_profile(b, &o);
  if (has_peer) peer_train_end(&peer);
  mica_session_destroy(o.session);
  mica_graph_destroy(o.graph);
  mica_tensor_destroy(o.x);
  free(mine);
  free(theirs);
}

void bench_sequence_rnn(const bench *b) {
  for (size_t k = 0; k < sizeof layers / sizeof *layers; k++) measure(b, &layers[k]);
}
