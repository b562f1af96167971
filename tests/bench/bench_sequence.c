/* Layers over sequences, against PyTorch: what the families' rows have in common. */
#include "bench/bench_sequence.h"

#include "bench/peer_train.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Seconds that a round of each side takes at least, and until the peer's threads have stopped spinning. */
#define ROUND_SECONDS 0.4
#define REST 0.02

mica_tensor *bench_sequence_numbers(const bench *b, mica_shape shape, float bound) {
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

static double steps_of(const bench *b, const sequence_row *row, int steps) {
  double begin = bench_now();
  for (int i = 0; i < steps; i++) {
    if (row->step)
      row->step(row->user);
    else
      bench_ok(mica_session_run(row->session, b->queue, row->feeds, row->feed_count));
  }
  bench_ok(mica_queue_finish(b->queue));
  return bench_now() - begin;
}

static int steps_for(double seconds) { return seconds >= ROUND_SECONDS ? 1 : (int)(ROUND_SECONDS / seconds) + 1; }

void bench_sequence_profile(const bench *b, const sequence_row *row) {
  enum { MOST_ROWS = 64 };
  mica_profile_row rows[MOST_ROWS];
  size_t count = 0;
  bench_ok(mica_profile_start(b->engine));
  steps_of(b, row, 5);
  bench_ok(mica_profile_stop(b->engine));
  bench_ok(mica_profile_rows(b->engine, rows, MOST_ROWS, &count));
  for (size_t i = 0; i < count && i < MOST_ROWS; i++)
    fprintf(stderr, "%9.1f us %5.1f launches %6.1f GFLOP/s  %s\n", rows[i].seconds * 1e6 / 5, (double)rows[i].count / 5,
            rows[i].flops / rows[i].seconds * 1e-9, rows[i].kernel);
}

static void report(const bench *b, const sequence_row *row, double mine, double theirs) {
  if (b->json) {
    printf("{\"bench\":\"sequence\",\"name\":\"%s\",\"mica\":%.6f,\"pytorch\":", row->name, mine);
    if (theirs > 0)
      printf("%.6f,\"ratio\":%.3f", theirs, theirs / mine);
    else
      printf("null,\"ratio\":null");
    if (row->bytes) printf(",\"bytes\":%llu", (unsigned long long)row->bytes);
    printf(",\"unit\":\"seconds\"}\n");
    return;
  }
  printf("%-36s %8.2f ms %7.1f GFLOP/s", row->name, mine * 1e3, row->flops / mine * 1e-9);
  if (theirs > 0) printf("; PyTorch %8.2f ms, ratio %.2f", theirs * 1e3, theirs / mine);
  if (row->bytes) printf("; %.2f MB", (double)row->bytes * 1e-6);
  printf("\n");
}

void bench_sequence_measure(const bench *b, const sequence_row *row) {
  peer_train peer;
  if (b->cases && !strstr(row->name, b->cases)) return;
  const bool has_peer = peer_train_start_script(&peer, row->script, row->arguments);
  double *mine = calloc((size_t)b->rounds, sizeof *mine), *theirs = calloc((size_t)b->rounds, sizeof *theirs);
  steps_of(b, row, 2);
  const int steps = b->steps ? b->steps : steps_for(steps_of(b, row, 2) / 2);
  const int peer_steps = !has_peer ? 0 : b->steps ? b->steps : steps_for(peer_train_steps(&peer, 2) / 2);
  for (int i = 0; i < b->rounds; i++) {
    if (has_peer) theirs[i] = peer_train_steps(&peer, peer_steps) / peer_steps;
    bench_rest(REST);
    mine[i] = steps_of(b, row, steps) / steps;
  }
  report(b, row, bench_median(mine, (size_t)b->rounds), bench_median(theirs, (size_t)b->rounds));
  if (b->profile) bench_sequence_profile(b, row);
  if (has_peer) peer_train_end(&peer);
  free(mine);
  free(theirs);
  fflush(stdout);
}

int bench_sequence(const bench *b) {
  /* A peer that dies is noticed by what it does not answer. */
  signal(SIGPIPE, SIG_IGN);
  bench_sequence_rnn(b);
  bench_sequence_attention(b);
  bench_sequence_gpt(b);
  return 0;
}
