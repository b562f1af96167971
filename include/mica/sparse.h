/* mica/sparse.h: large tables with few rows read per step: bags of embeddings, products of pairs, losses over many
 * classes that use a sample of them; and products with sparse matrices. The gradient of a table covers only the rows
 * that were read; mica_optimizer_config.rows updates only these.
 *
 * Letters for shapes, and sticky errors, as in mica/nodes.h. Threads: as in mica/graph.h. */
#ifndef MICA_SPARSE_H
#define MICA_SPARSE_H

#include <mica/nodes.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef enum mica_bag { MICA_BAG_SUM, MICA_BAG_MEAN } mica_bag;

/* y[n] = sum over j < lengths[n] of weights[n, j] table[indices[n, j]]. MEAN divides by the sum of the weights; 0 if
 * that is 0. table (V, D) float; indices (N, M) i32 or i64, M may be dynamic; lengths (N) i32 or i64, null: M; weights
 * (N, M) of the table's dtype, null: 1; y (N, D). Entries beyond a length are neither read nor updated. */
MICA_API mica_value mica_embedding_bag(mica_value table, mica_value indices, mica_value lengths, mica_value weights,
                                       mica_bag bag);

/* Products of all pairs of vectors of a sample: y[n, k] = x[n, i] x[n, j] with j < i; k counts the pairs (1, 0), (2,
 * 0), (2, 1), (3, 0), ... (Naumov et al. 2019). x (N, F, D) float, 2 <= F <= 1024; y (N, F (F - 1) / 2) of x's dtype.
 */
MICA_API mica_value mica_dot_interaction(mica_value x);

/* How to draw negatives from the ids `first` to count - 1: uniformly, or with probability popularity[id]^power. */
typedef struct mica_negative_config {
  int64_t count, first; /* count: at most 2^24 */
  int64_t samples;      /* mica_negative_samples: per positive; mica_sampled_softmax: in total */
  const double
      *popularity; /* count numbers >= 0, some positive at or after `first`; read during the call. NULL: uniform */
  double power;    /* 0: 0.75 (Mikolov et al. 2013); MICA_ZERO: 0 */
  uint64_t seed;
} mica_negative_config;

/* Draws ids other than the positive. positives (...) i32 or i64; y (..., samples) of the same dtype. The draw depends
 * on seed, position in the graph and step, like mica_random_uniform. With popularity, if the positive is drawn, a
 * second id is drawn instead; if that is the positive too, the id after it is used. The result may hold ids that the
 * caller considers positive for other reasons. No gradient. */
MICA_API mica_value mica_negative_samples(mica_value step, mica_value positives, const mica_negative_config *config);

/* Cross entropy of each positive against `samples` drawn ids, which all rows share:
 *
 *   s(n, v) = x[n] table[v] + bias[v] - log q(v)
 *   y[n] = log(e^s(n, positives[n]) + sum over v of e^s(n, v)) - s(n, positives[n])
 *
 * v runs over the drawn ids that are not the row's positive. q is the probability of drawing v, so the minimum is the
 * same as for the full softmax (Bengio and Senecal 2008). x (N, D), table (count, D), bias (count) or null, positives
 * (N) i32 or i64, y (N) f32. Losses of 16-bit types are computed in f32. */
MICA_API mica_value mica_sampled_softmax(mica_value step, mica_value x, mica_value table, mica_value bias,
                                         mica_value positives, const mica_negative_config *config);

/* --- sparse matrices --- */

/* Entries of a sparse matrix (V, V) per sample, such as the edges of a graph; all i32, or all i64. Entry k is at
 * (entries[n, k, 0], entries[n, k, 1]): row and column. Entries are in the order of their rows:
 *
 *   rows     (N, V, 2): the entries of row i are rows[n, i, 0] to rows[n, i, 1] - 1
 *   entries  (N, E, 2)
 *   columns  (N, V, 2): the entries of column j are order[n, columns[n, j, 0]] to order[n, columns[n, j, 1] - 1]
 *   order    (N, E): entries in the order of their columns
 *
 * Entries that no row lists are ignored, so samples with fewer rows or entries are padded with zeros. Indices out of
 * range are ignored. rows and columns must list the same entries, or gradients are wrong. Experimental. */
typedef struct mica_pattern {
  mica_value rows, entries, columns, order;
} mica_pattern;

/* Sparse matrix times dense rows:
 *
 *   y[n, i, f] = sum over the entries k of row i of weights[n, k, h] x[n, column of k, f]
 *
 * x (N, V, F) float; weights (N, E, H) of x's dtype, one per head: F is a multiple of H, and feature f belongs to head
 * h = f / (F / H). y has x's shape and dtype; sums of 16-bit types are in f32. Sums have a fixed order: the same
 * operands give the same bits. */
MICA_API mica_value mica_sparse_sum(mica_value x, mica_value weights, const mica_pattern *pattern);
/* Products of rows at the entries:
 *
 *   y[n, k, h] = sum over the features f of head h of a[n, row of k, f] b[n, column of k, f]
 *
 * a and b (N, V, F) float; y (N, E, heads) of their dtype. */
MICA_API mica_value mica_sparse_dot(mica_value a, mica_value b, const mica_pattern *pattern, int64_t heads);

MICA_END_DECLS

#endif
