/* mica/sparse.h: large tables of which a step reads a few rows: bags of embeddings, products of their pairs, and losses
 * over many classes that look at a sample of them. The gradient of a table is that of the rows read;
 * mica_optimizer_config.rows updates these alone.
 *
 * Letters and stickiness as in mica/nodes.h. Threads: as mica/graph.h. */
#ifndef MICA_SPARSE_H
#define MICA_SPARSE_H

#include <mica/nodes.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef enum mica_bag { MICA_BAG_SUM, MICA_BAG_MEAN } mica_bag;

/* y[n] = sum over j < lengths[n] of weights[n, j] table[indices[n, j]]; MEAN: divided by the sum of the weights, 0
 * where that is 0. table (V, D) float; indices (N, M) i32 or i64, where M may be open; lengths (N) i32 or i64, null: M;
 * weights (N, M) of the table's dtype, null: 1. y (N, D). Rows behind a length are neither read nor changed. */
MICA_API mica_value mica_embedding_bag(mica_value table, mica_value indices, mica_value lengths, mica_value weights,
                                       mica_bag bag);

/* The products of all pairs of a sample's vectors: y[n, k] = x[n, i] x[n, j] with j < i, k counting (1, 0), (2, 0),
 * (2, 1), (3, 0), ... (Naumov et al. 2019). x (N, F, D) float, 2 <= F <= 1024; y (N, F (F - 1) / 2) of its dtype. */
MICA_API mica_value mica_dot_interaction(mica_value x);

/* How negatives are drawn from the ids `first` to count - 1: evenly, or by popularity[id]^power. */
typedef struct mica_negative_config {
  int64_t count, first; /* count: at most 2^24 */
  int64_t samples;      /* of each positive, or in all */
  const double
      *popularity; /* count numbers >= 0, not all of them 0 from first on; read during the call. NULL: evenly */
  double power;    /* 0: 0.75 (Mikolov et al. 2013), MICA_ZERO: 0 */
  uint64_t seed;
} mica_negative_config;

/* Ids that are not the positive: positives (...) i32 or i64, y (..., samples) of their dtype, a function of seed,
 * position in the graph and step as mica_random_uniform is. By popularity an id that is the positive is drawn again
 * once, and is the next one where it is still. Other ids that the caller would call positive too may be among them. No
 * gradient. */
MICA_API mica_value mica_negative_samples(mica_value step, mica_value positives, const mica_negative_config *config);

/* The cross entropy of the positives among themselves and `samples` ids that all rows share: with
 * s(n, v) = x[n] table[v] + bias[v] - log q(v), y[n] = log(e^s(n, positives[n]) + sum of e^s(n, v)) - s(n,
 * positives[n]) over the ids v that were drawn and are not the row's positive; q is what they are drawn by, so that the
 * minimum is that of the whole softmax (Bengio and Senecal 2008). x (N, D), table (count, D), bias (count) or null,
 * positives (N) i32 or i64, y (N) f32; losses in f32 for 16-bit types. */
MICA_API mica_value mica_sampled_softmax(mica_value step, mica_value x, mica_value table, mica_value bias,
                                         mica_value positives, const mica_negative_config *config);

MICA_END_DECLS

#endif
