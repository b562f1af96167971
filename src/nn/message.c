/* Layers of message passing. */
#include "nn/message.h"
#include "nn/nn.h"

#include "ops/common/build.h"

#include <mica/nodes.h>
#include <stdio.h>
#include <stdlib.h>

/* PyTorch Geometric's initial values of attention's vectors. */
static const mica_init_config glorot = {.kind = MICA_INIT_XAVIER_UNIFORM};
/* Uniform between -1 / sqrt(fan_in) and 1 / sqrt(fan_in), as in PyTorch's dense layers. These weights are smaller than
 * Mica's default ones, because sums over many vertices are large. */
static const mica_dense_config small = {.weight = {.kind = MICA_INIT_KAIMING_UNIFORM, .value = 0.57735026918962576}};
static const mica_dense_config plain = {.no_bias = true, .weight = {.kind = MICA_INIT_XAVIER_UNIFORM}};
static const mica_init_config zeros = {.kind = MICA_INIT_CONSTANT};

static mica_value add_bias(mica_nn *nn, mica_value x, int64_t width) {
  return mica_add(x, mica_nn_parameter(nn, "bias", MICA_SHAPE(width), &zeros));
}

static mica_value gcn(mica_nn *nn, mica_value x, mica_value weights, const mica_pattern *pattern,
                      const mica__message_config *c) {
  mica_value h = mica_nn_dense(nn, "lin", x, c->width, &plain);
  return add_bias(nn, mica_sparse_sum(h, weights, pattern), c->width);
}

static mica_value gin(mica_nn *nn, mica_value x, mica_value weights, const mica_pattern *pattern,
                      const mica__message_config *c) {
  mica_value h = mica_sparse_sum(x, weights, pattern);
  mica_nn_push(nn, "nn");
  h = mica_relu(mica_nn_dense(nn, "0", h, c->width, &small));
  h = mica_nn_dense(nn, "2", h, c->width, &small);
  mica_nn_pop(nn);
  return h;
}

/* Makes a constant (features, heads) that is 1 if the feature belongs to the head; each head has features / heads of
 * them. */
static mica_value members(mica_graph *graph, mica_dtype dtype, int64_t heads, int64_t features) {
  float *of = calloc((size_t)(heads * features) + 1, sizeof *of);
  if (!of) return mica__graph_fail_with(graph, mica__fail_nomem("gat"));
  for (int64_t f = 0; f < features; f++) of[f * heads + f / (features / heads)] = 1;
  mica_value value = mica_constant(graph, MICA_F32, MICA_SHAPE(features, heads), of);
  free(of);
  return mica_cast(value, dtype);
}

/* Scores of a vertex: the dot product of each head's features with a vector. */
static mica_value scores(mica_nn *nn, const char *name, mica_value h, mica_value heads_of,
                         const mica__message_config *c) {
  mica_value vector = mica_nn_parameter(nn, name, MICA_SHAPE(1, c->heads, c->width / c->heads), &glorot);
  if (mica_value_dtype(vector) != MICA_F32) vector = mica_cast(vector, MICA_F32);
  return mica_matmul(mica_mul(h, mica_reshape(vector, MICA_SHAPE(c->width))), heads_of);
}

/* Graph attention. An upper bound of a vertex's scores is subtracted from each of them, so that exp does not overflow.
 * The bound is the score that the vertex would have with the vertex whose `from` is the largest of all, even if no edge
 * connects the two. */
static mica_value gat(mica_nn *nn, mica_value x, const mica_pattern *pattern, const mica__message_config *c) {
  mica_value h = mica_nn_dense(nn, "lin", x, c->width, &plain);
  if (mica_value_is_null(h)) return h;
  const mica_dtype dtype = mica_value_dtype(h);
  if (dtype != MICA_F32) h = mica_cast(h, MICA_F32); /* f16 is too coarse for sums of shares */
  mica_value heads_of = members(h.graph, mica_value_dtype(h), c->heads, c->width);
  mica_value from = scores(nn, "att_src", h, heads_of, c), to = scores(nn, "att_dst", h, heads_of, c);
  mica_value ones = mica_full_like(from, 1);
  mica_value score =
      mica_add(mica_sparse_dot(to, ones, pattern, c->heads), mica_sparse_dot(ones, from, pattern, c->heads));
  mica_value best = mica_leaky_relu(mica_add(to, mica_max(from, MICA_AXES(1), true)), 0.2);
  best = mica_sparse_dot(mica_stop_gradient(best), ones, pattern, c->heads);
  mica_value shares = mica_exp(mica_sub(mica_leaky_relu(score, 0.2), best));
  mica_value sum = mica_sparse_sum(ones, shares, pattern);
  sum = mica_matmul(mica_maximum(sum, mica_full_like(sum, 1e-30)), mica_transpose(heads_of, MICA_AXES(1, 0)));
  mica_value y = mica_div(mica_sparse_sum(h, shares, pattern), sum);
  return add_bias(nn, dtype == MICA_F32 ? y : mica_cast(y, dtype), c->width);
}

mica_value mica__nn_message(mica_nn *nn, const char *name, mica_value x, mica_value weights,
                            const mica_pattern *pattern, const mica__message_config *c) {
  mica_value y = {0};
  if (mica_value_is_null(x)) return y;
  if (c->width < 1 || (c->kind == MICA__MESSAGE_GAT && (c->heads < 1 || c->width % c->heads)))
    return mica__graph_fail(
        x.graph, MICA_E_SHAPE,
        "%s: width (%lld) must be at least 1; with attention, heads (%lld) must be at least 1 and divide width", name,
        (long long)c->width, (long long)c->heads);
  mica_nn_push(nn, name);
  switch (c->kind) {
  case MICA__MESSAGE_GCN: y = gcn(nn, x, weights, pattern, c); break;
  case MICA__MESSAGE_GAT: y = gat(nn, x, pattern, c); break;
  case MICA__MESSAGE_GIN: y = gin(nn, x, weights, pattern, c); break;
  }
  mica_nn_pop(nn);
  return y;
}

mica_value mica__nn_messages(mica_nn *nn, mica_value x, mica_value weights, const mica_pattern *pattern,
                             const mica__message_config *c) {
  for (int64_t k = 0; k < c->layers; k++) {
    char name[32];
    snprintf(name, sizeof name, "conv%lld", (long long)k + 1);
    x = mica_relu(mica__nn_message(nn, name, x, weights, pattern, c));
    if (c->dropout > 0 && k + 1 < c->layers) x = mica_nn_dropout(nn, x, c->dropout);
  }
  return x;
}

mica_value mica__nn_pool_vertices(mica_value x, const mica_pattern *pattern, bool sum) {
  mica_value first = mica_slice(pattern->rows, 2, 0, 1, 1), end = mica_slice(pattern->rows, 2, 1, 2, 1);
  mica_value there = mica_cast(mica_less(first, end), mica_value_dtype(x));
  mica_value all = mica_sum(mica_mul(x, there), MICA_AXES(1), false);
  if (sum) return all;
  mica_value count = mica_sum(there, MICA_AXES(1), false);
  return mica_div(all, mica_maximum(count, mica_full_like(count, 1)));
}

mica_value mica__nn_message_answers(mica_nn *nn, mica_value x, int64_t outputs) {
  return mica_nn_dense(nn, "out", x, outputs, &small);
}
