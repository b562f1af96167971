/* Two stages of a pipeline, each on a half of the device, beside the bubble's bound: a stage works for M of the time of
 * M + 1 passes, and waits the rest for the other one to begin or to end (Huang et al. 2019). What it waits beyond that
 * is for messages, or for a stage that has more to do. Steps of one stage, each half at work on its own, alternate with
 * them. */
#include "bench/bench.h"
#include "bench/link.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { STAGES = 2, BLOCKS = 8, WIDTH = 128, HEADS = 4, STEPS = 64, TEXTS = 4, MOST_MICRO = 64, ROUNDS = 3 };
#define ELEMENTS ((size_t)TEXTS * STEPS * WIDTH)

/* --- the network: a GPT's blocks --- */

static mica_value block_of(void *user, mica_nn *nn, int32_t layer, mica_value x) {
  const mica_transformer_config config = {.self = {.heads = HEADS, .causal = true}};
  char name[16];
  (void)user;
  snprintf(name, sizeof name, "block%d", (int)layer);
  return mica_nn_transformer(nn, name, x, (mica_value){0}, &config);
}

static mica_value loss_of(void *user, mica_nn *nn, mica_value y, mica_value target) {
  (void)user;
  (void)nn;
  return mica_mse(y, target, MICA_LOSS_REDUCTION_MEAN);
}

static const mica_chain chain = {.layers = BLOCKS, .layer = block_of, .loss = loss_of};

/* --- a member --- */

typedef struct member {
  mica_communicator *communicator;
  int half, micro, steps;
  const float *data;
  mica_pipeline_stats spent; /* in the steps that are measured */
  int32_t first, behind;     /* its layers */
} member;

static void *run_member(void *user) {
  member *m = user;
  mica_engine *engine = NULL;
  mica_pipeline *pipeline = NULL;
  char selector[64];
  bench_half(m->half, selector);
  bench_ok(mica_engine_create(&(mica_engine_config){.device = selector}, &engine));
  const mica_pipeline_config config = {.communicator = m->communicator,
                                       .chain = chain,
                                       .input = MICA_SHAPE(TEXTS, STEPS, WIDTH),
                                       .target = MICA_SHAPE(TEXTS, STEPS, WIDTH),
                                       .micro_batches = m->micro,
                                       .optimizer = {.optimizer = MICA_OPTIMIZER_ADAM}};
  bench_ok(mica_pipeline_create(engine, &config, &pipeline));
  mica_pipeline_layers(pipeline, &m->first, &m->behind);
  mica_pipeline_stats before = {0};
  for (int i = -1; i < m->steps; i++) {
    double loss = 0;
    if (i == 0) before = mica_pipeline_stats_of(pipeline);
    bench_ok(mica_pipeline_step(pipeline, m->data, m->data, 1e-4, &loss));
  }
  m->spent = mica_pipeline_stats_of(pipeline);
  m->spent.seconds -= before.seconds;
  m->spent.waited -= before.waited;
  mica_pipeline_destroy(pipeline);
  mica_engine_destroy(engine);
  return NULL;
}

/* Two stages, or two pipelines of one stage. */
static void run_both(member list[STAGES], int micro, int steps, const float *data, bool joined) {
  mica_communicator *communicators[STAGES];
  pthread_t threads[STAGES];
  if (joined) bench_ok(mica_communicator_local(STAGES, NULL, communicators));
  for (int k = 0; k < STAGES; k++) {
    if (!joined) bench_ok(mica_communicator_local(1, NULL, &communicators[k]));
    list[k] = (member){.communicator = communicators[k], .half = k, .micro = micro, .steps = steps, .data = data};
    if (pthread_create(&threads[k], NULL, run_member, &list[k])) exit(1);
  }
  for (int k = 0; k < STAGES; k++) pthread_join(threads[k], NULL);
  for (int k = 0; k < STAGES; k++) mica_communicator_destroy(communicators[k]);
}

static void measure(const bench *b, int micro, const float *data) {
  const int steps = b->steps ? b->steps : 3;
  double alone[ROUNDS], joined[ROUNDS], busy[STAGES][ROUNDS];
  member list[STAGES];
  for (int r = 0; r < ROUNDS; r++) {
    run_both(list, micro, steps, data, false);
    alone[r] = (list[0].spent.seconds + list[1].spent.seconds) / STAGES / steps;
    run_both(list, micro, steps, data, true);
    joined[r] = (list[0].spent.seconds + list[1].spent.seconds) / STAGES / steps;
    for (int k = 0; k < STAGES; k++) busy[k][r] = 1 - list[k].spent.waited / list[k].spent.seconds;
  }
  const double one = bench_median(alone, ROUNDS), two = bench_median(joined, ROUNDS);
  const double first = bench_median(busy[0], ROUNDS), last = bench_median(busy[1], ROUNDS);
  const double bound = (double)micro / (micro + STAGES - 1), reached = (first + last) / STAGES;
  printf(
      b->json
          ? "{\"bench\":\"pipeline\",\"micro_batches\":%d,\"layers\":[%d,%d],\"one_stage_ms\":%.2f,"
            "\"two_stages_ms\":%.2f,\"bound\":%.3f,\"busy\":[%.3f,%.3f],\"of_bound\":%.3f,\"speedup\":%.3f}\n"
          : "%2d micro-batches, %d and %d blocks: one stage %.1f ms a step, two %.1f; bound %.3f, stages busy %.3f and "
            "%.3f, %.3f of the bound; %.2f times one stage's speed\n",
      micro, (int)list[0].behind, (int)(list[1].behind - list[1].first), one * 1e3, two * 1e3, bound, first, last,
      reached / bound, one / two);
  fflush(stdout);
}

int bench_pipeline(const bench *b) {
  float *data = malloc(ELEMENTS * MOST_MICRO * sizeof *data);
  if (!data) return 1;
  for (size_t i = 0; i < ELEMENTS * MOST_MICRO; i++) data[i] = (float)(i * 7919 % 1000) / 500 - 1;
  if (b->batch > MOST_MICRO) {
    fprintf(stderr, "%d micro-batches are the most\n", MOST_MICRO);
    free(data);
    return 2;
  }
  if (b->batch) {
    measure(b, b->batch, data);
  } else {
    measure(b, 4, data);
    measure(b, 16, data);
  }
  free(data);
  return 0;
}
