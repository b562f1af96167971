#include "bench/step.h"

void step_begin(step *s) {
  *s = (step){0};
  bench_ok(mica_graph_create(&s->graph));
  bench_ok(mica_nn_create(s->graph, &(mica_nn_config){.training = true}, &s->nn));
}

mica_value step_input(step *s, const char *name, mica_dtype dtype, int64_t count, mica_tensor ***batches) {
  *batches = s->batches[s->input_count];
  s->names[s->input_count++] = name;
  return mica_input(s->graph, name, dtype, MICA_SHAPE(count));
}

void step_end(const bench *b, step *s, mica_value loss, const mica_optimizer_config *optimizer, float rate) {
  mica_optimize(s->nn, loss, optimizer, NULL);
  bench_ok(mica_session_create(b->engine, s->graph, &loss, 1, NULL, &s->session));
  bench_ok(mica_nn_initialise(s->nn, s->session));
  bench_ok(mica_tensor_create_from(b->engine, MICA_F32, MICA_SCALAR, &rate, &s->rate));
  bench_ok(mica_queue_finish(b->queue));
}

void step_free(step *s) {
  for (int i = 0; i < s->input_count; i++)
    for (int k = 0; k < STEP_READY; k++) mica_tensor_destroy(s->batches[i][k]);
  mica_tensor_destroy(s->rate);
  mica_session_destroy(s->session);
  mica_nn_destroy(s->nn);
  mica_graph_destroy(s->graph);
}

double step_time(const bench *b, step *s, int count) {
  double begin = bench_now();
  for (int i = 0; i < count; i++, s->at++) {
    mica_feed feeds[1 + STEP_INPUTS] = {{MICA_LEARNING_RATE, s->rate}};
    for (int k = 0; k < s->input_count; k++) feeds[1 + k] = (mica_feed){s->names[k], s->batches[k][s->at % STEP_READY]};
    bench_ok(mica_session_run(s->session, b->queue, feeds, (size_t)(1 + s->input_count)));
  }
  bench_ok(mica_queue_finish(b->queue));
  return (bench_now() - begin) / count;
}

uint64_t step_random(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return *state >> 33;
}
