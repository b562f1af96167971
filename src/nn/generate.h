/* nn/generate.h: declarations that generators and beam searches share. */
#ifndef MICA_NN_GENERATE_H
#define MICA_NN_GENERATE_H

#include "base/error.h"

#include <math.h>
#include <mica/generate.h>

/* A graph, its network and its session. */
typedef struct mica__generation {
  mica_graph *graph;
  mica_nn *nn;
  mica_session *session;
} mica__generation;
/* begin creates the graph and the network. end creates the session of `outputs`, which shares the weights and states of
 * `share`. */
mica_status mica__generation_begin(mica__generation *generation, const mica_nn_config *config);
mica_status mica__generation_end(mica__generation *generation, mica_engine *engine, const mica_value *outputs,
                                 size_t count, mica_session *share);
void mica__generation_drop(mica__generation *generation);

/* Finds the length to which a prompt is padded, *positions: 16, 32, ..., or the whole context. Returns the number of
 * the bucket, which counts these lengths from 0. */
#define MICA__GENERATE_SHORTEST 16
#define MICA__GENERATE_BUCKETS 32
int mica__generate_bucket(int64_t length, int64_t context, int64_t *positions);

/* Scalar parameters for the sampling options. They are not constants of the graph, so the same kernels serve all values
 * of the options. */
#define MICA__GENERATE_TEMPERATURE "generate.temperature"
#define MICA__GENERATE_TOP_K "generate.top_k"
#define MICA__GENERATE_TOP_P "generate.top_p"
#define MICA__GENERATE_REPETITION "generate.repetition"

typedef struct mica__sampler {
  const mica_sampling *sampling;
  int64_t batch;
  mica_value step; /* i64, counts steps */
  mica_value held; /* (B, V) f32, positive: the sequence holds the token; null: no repetition penalty */
} mica__sampler;

static inline bool mica__is_greedy(const mica_sampling *s) {
  return (s->temperature == 0 && signbit(s->temperature)) || s->top_k == 1;
}

/* Draws one token per row of logits (B, V): (B), i32. */
mica_value mica__sample(mica_value logits, const mica__sampler *sampler);

#endif
