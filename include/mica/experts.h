/* mica/experts.h: mixtures of experts: rows choose a few of many matrices and are multiplied by these alone.
 *
 *   mica_routes routes = mica_route(mica_matmul(x, router), &(mica_route_config){.k = 2, .normalise = true});
 *   mica_value h = mica_expert_product(mica_unsqueeze(x, MICA_AXES(1)), w, routes.ids, NULL);
 *   mica_value y = mica_expert_sum(h, routes.weights);
 *
 * Shazeer et al. 2017, Outrageously Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer.
 *
 * Builders and threads as in mica/graph.h. */
#ifndef MICA_EXPERTS_H
#define MICA_EXPERTS_H

#include <mica/blocks.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

typedef struct mica_route_config {
  int64_t k;      /* experts per row; 0: 1 */
  bool normalise; /* divide the chosen probabilities by their sum */
} mica_route_config;

typedef struct mica_routes {
  mica_value weights; /* (.., k) f32: probabilities of the chosen experts, the largest first */
  mica_value ids;     /* (.., k) i64: their indices; if probabilities are equal, the smaller index comes first */
} mica_routes;

/* Softmax of logits (.., E) and the k largest probabilities per row. 16-bit logits are converted to f32 first. config
 * NULL: zeros. The gradient goes through the weights. MICA_E_SHAPE: k is above E, or logits are a scalar. */
MICA_API mica_routes mica_route(mica_value logits, const mica_route_config *config);

typedef struct mica_expert_config {
  mica_block block; /* the weights are blocks of this type; MICA_BLOCK_NONE: numbers */
  int64_t columns;  /* with blocks: elements per row of a matrix */
  bool by_k;        /* matrices are (k, n) instead of (n, k) */
} mica_expert_config;

/* y[r, s] = W[ids[r, s]] x[r, s]: x (.., S, k) or (.., 1, k) f32, weights (E, n, k), ids (.., S) i32 or i64 -> (.., S,
 * n) f32. S and the shape of weights are known. by_k: weights (E, k, n). Weights are F32, F16 or BF16, or blocks (E, n,
 * bytes) U8; kernels convert them to f32 exactly. Only the chosen experts' weights are read. Sums are f32. Their order
 * does not depend on other rows: a row has the same bits in all products of up to 16 rows, and in all products of more.
 * Negative ids count from the end; ids that are out of range give zeros. config NULL: zeros.
 *
 * There are gradients with respect to x, and to weights that are not blocks. MICA_E_SHAPE, MICA_E_DTYPE,
 * MICA_E_INVALID. */
MICA_API mica_value mica_expert_product(mica_value x, mica_value weights, mica_value ids,
                                        const mica_expert_config *config);

/* y[r] = sum over s of weights[r, s] x[r, s], in the order of s: x (.., S, n), weights (.., S) -> (.., n). */
MICA_API mica_value mica_expert_sum(mica_value x, mica_value weights);

MICA_END_DECLS

#endif
