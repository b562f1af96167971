/* Draws a token from logits, in a graph. */
#include "nn/generate.h"

#include "ir/graph.h"

#include <math.h>
#include <mica/index.h>
#include <mica/nodes.h>

/* Just below 1: any sum times this is smaller than the sum. */
#define JUST_BELOW_ONE 0.9999998

static mica_value option(mica_graph *graph, const char *name, mica_dtype dtype) {
  return mica_parameter(graph, name, dtype, MICA_SCALAR);
}

/* Applies the penalty for repetition to the logits of tokens that the text has already. */
static mica_value penalise(mica_value logits, mica_value held) {
  mica_value by = option(logits.graph, MICA__GENERATE_REPETITION, MICA_F32);
  mica_value zero = mica_scalar(logits.graph, MICA_F32, 0);
  mica_value lower = mica_where(mica_greater(logits, zero), mica_div(logits, by), mica_mul(logits, by));
  return mica_where(mica_greater(held, zero), lower, logits);
}

/* A seed with which mica_random_uniform draws the same numbers in the graph of prompts and in the graph of tokens,
 * because a text may continue in either. mica_random_uniform adds the number of values in the graph times this factor
 * to the seed; this subtracts it again. */
#define KEY_FACTOR UINT64_C(0x9E3779B97F4A7C15)
static uint64_t same_everywhere(const mica_graph *graph) {
  return UINT64_C(0) - KEY_FACTOR * (uint64_t)(uint32_t)graph->count;
}

/* The first index along a row where the running sum of p exceeds a random share of the total: (B, 1), i32. All rows
 * have the same share, unless sampling->apart is set. */
static mica_value draw(mica_value p, const mica__sampler *s) {
  mica_graph *graph = p.graph;
  const int64_t columns = mica_value_shape(p).dim[1];
  mica_value like = mica_full(graph, MICA_F32, MICA_SHAPE(s->sampling->apart ? s->batch : 1, 1), 0);
  mica_value share = mica_random_uniform(s->step, like, same_everywhere(graph), 0, 1);
  share = mica_minimum(share, mica_scalar(graph, MICA_F32, JUST_BELOW_ONE));
  mica_value sums = mica_cumsum(p, 1, false, false);
  mica_value want = mica_mul(share, mica_slice(sums, 1, columns - 1, columns, 1));
  return mica_sum(mica_cast(mica_less_equal(sums, want), MICA_I32), MICA_AXES(1), true);
}

mica_value mica__sample(mica_value logits, const mica__sampler *s) {
  const mica_sampling *how = s->sampling;
  mica_graph *graph = logits.graph;
  if (mica_value_is_null(logits)) return logits;
  const int64_t columns = mica_value_shape(logits).dim[1];
  logits = mica_cast(logits, MICA_F32);
  if (!mica_value_is_null(s->held)) logits = penalise(logits, s->held);
  if (mica__is_greedy(how)) return mica_cast(mica_argmax(logits, 1, false), MICA_I32);
  logits = mica_div(logits, option(graph, MICA__GENERATE_TEMPERATURE, MICA_F32));
  if (how->top_k == 0 && how->top_p == 0) return mica_squeeze(draw(mica_softmax(logits, 1), s), MICA_AXES(1));
  /* Sorts the tokens by descending probability. Keeps the first tokens of that order: at most k, and only until the sum
   * of their probabilities reaches p. */
  mica_top_k_results sorted = mica_sort(logits, 1, true);
  mica_value among = mica_less(mica_range(graph, MICA_I32, columns), option(graph, MICA__GENERATE_TOP_K, MICA_I32));
  mica_value p = mica_softmax(mica_where(among, sorted.values, mica_scalar(graph, MICA_F32, -INFINITY)), 1);
  mica_value kept = mica_less(mica_cumsum(p, 1, true, false), option(graph, MICA__GENERATE_TOP_P, MICA_F32));
  kept = mica_logical_and(kept, among);
  mica_value at = draw(mica_where(kept, p, mica_scalar(graph, MICA_F32, 0)), s);
  return mica_cast(mica_squeeze(mica_gather_elements(sorted.indices, at, 1), MICA_AXES(1)), MICA_I32);
}
