/* tests/bench/step.h: a training step on batches that lie ready on the device, as benches of tables measure it. */
#ifndef MICA_TESTS_BENCH_STEP_H
#define MICA_TESTS_BENCH_STEP_H

#include "bench/bench.h"

enum { STEP_READY = 16, STEP_INPUTS = 3 };

typedef struct step {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
  mica_tensor *rate;
  int input_count, at;
  const char *names[STEP_INPUTS];
  mica_tensor *batches[STEP_INPUTS][STEP_READY];
} step;

/* Graph and training network, empty. */
void step_begin(step *s);
/* An input of the network, whose batches are the caller's to put into the row that *batches is set to. */
mica_value step_input(step *s, const char *name, mica_dtype dtype, int64_t count, mica_tensor ***batches);
/* The session of the loss, with an optimiser and initial values. */
void step_end(const bench *b, step *s, mica_value loss, const mica_optimizer_config *optimizer, float rate);
void step_free(step *s);
/* Seconds a step, of so many one after the other. */
double step_time(const bench *b, step *s, int count);

/* The next of a row of 31-bit numbers. */
uint64_t step_random(uint64_t *state);

#endif
