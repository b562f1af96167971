/* Activation functions of a block's feed-forward layers, and mixtures of experts, which can replace these layers. */
#include "nn/held.h"
#include "nn/sequence.h"

#include <mica/experts.h>
#include <stdio.h>

static const mica_value null_value = {0};
static const mica_init_config xavier = {.kind = MICA_INIT_XAVIER_UNIFORM};

bool mica__feed_is_gated(mica_feed_forward kind) {
  return kind == MICA_FEED_FORWARD_GEGLU || kind == MICA_FEED_FORWARD_GEGLU_TANH || kind == MICA_FEED_FORWARD_SWIGLU;
}

mica_value mica__feed_activate(mica_value x, mica_feed_forward kind) {
  switch (kind) {
  case MICA_FEED_FORWARD_GELU:
  case MICA_FEED_FORWARD_GEGLU: return mica_gelu(x);
  case MICA_FEED_FORWARD_GELU_TANH:
  case MICA_FEED_FORWARD_GEGLU_TANH: return mica_gelu_tanh(x);
  case MICA_FEED_FORWARD_RELU: return mica_relu(x);
  case MICA_FEED_FORWARD_SILU:
  case MICA_FEED_FORWARD_SWIGLU: return mica_silu(x);
  case MICA_FEED_FORWARD_QUICK_GELU: return mica_quick_gelu(x);
  case MICA_FEED_FORWARD_RELU2: return mica_relu2(x);
  }
  return x.graph ? mica__graph_fail(x.graph, MICA_E_INVALID, "transformer: %d is not an activation function", (int)kind)
                 : null_value;
}

/* --- experts --- */

/* Makes a table of biases, (count, rows). Returns its rows for the experts in ids, in f32. */
static mica_value biases(mica_nn *nn, const char *name, mica_value ids, const mica_transformer_config *c,
                         int64_t rows) {
  mica_value table = mica__nn_add_weight(nn, name, MICA_SHAPE(c->experts.count, rows), NULL);
  if (mica_value_is_null(table)) return table;
  const mica_nn_held *held = &nn->parameters[nn->parameter_count - 1].info.held;
  return mica_cast(mica__nn_held_rows(held, table, ids, MICA_F32), MICA_F32);
}

/* Multiplies x (.., S or 1, columns) by the matrices (rows, columns) of the S experts in ids (.., S), and adds their
 * biases if experts.bias is set. */
static mica_value product(mica_nn *nn, const char *name, mica_value x, mica_value ids, const mica_transformer_config *c,
                          int64_t rows, int64_t columns) {
  const mica_init_config init = mica__init_or(c->weight, xavier);
  mica_value w = mica__nn_add_weight(nn, name, MICA_SHAPE(c->experts.count, rows, columns), &init);
  if (mica_value_is_null(w)) return w;
  const mica_block block = nn->parameters[nn->parameter_count - 1].info.held.block;
  mica_value y = mica_expert_product(x, w, ids, &(mica_expert_config){.block = block, .columns = columns});
  if (!c->experts.bias) return y;
  char bias[32];
  snprintf(bias, sizeof bias, "%s_bias", name);
  return mica_add(y, biases(nn, bias, ids, c, rows));
}

/* f(gate) up or, with experts.clamp, quick_gelu(gate) (up + 1) of the clamped values. */
static mica_value combine(mica_value gate, mica_value up, const mica_transformer_config *c) {
  const double most = c->experts.clamp;
  if (most == 0) return mica_mul(mica__feed_activate(gate, c->feed_forward), up);
  gate = mica_minimum(gate, mica__number(gate, most));
  up = mica_maximum(mica_minimum(up, mica__number(up, most)), mica__number(up, -most));
  return mica_mul(mica_quick_gelu(gate), mica_affine(up, 1, 1));
}

static bool check(mica_nn *nn, const mica_transformer_config *c) {
  const char *wrong = NULL;
  if (nn->config.tensor_ranks) {
    mica__graph_fail(nn->graph, MICA_E_UNSUPPORTED, "transformer: experts cannot be divided between ranks");
    return false;
  }
  if (c->experts.count < 1 || c->experts.chosen < 0 || c->experts.chosen > c->experts.count)
    wrong = "experts.count must be at least 1, and experts.chosen 0 (for 1) to experts.count";
  else if (!mica__feed_is_gated(c->feed_forward))
    wrong = "experts need a gated activation function, such as SWIGLU";
  else if (c->experts.clamp < 0 || (c->experts.clamp > 0 && c->feed_forward != MICA_FEED_FORWARD_SWIGLU))
    wrong = "experts.clamp must be 0 or above, and needs SWIGLU";
  else if (c->dropout > 0)
    wrong = "experts cannot be combined with dropout";
  if (wrong)
    mica__graph_fail(nn->graph, MICA_E_INVALID, "transformer of %lld experts, %lld per position: %s",
                     (long long)c->experts.count, (long long)c->experts.chosen, wrong);
  return !wrong;
}

mica_value mica__nn_experts(mica_nn *nn, mica_value x, const mica_transformer_config *c, int64_t width) {
  if (!check(nn, c)) return null_value;
  mica_value logits =
      mica_nn_dense(nn, "router", x, c->experts.count, &(mica_dense_config){.no_bias = !c->experts.bias});
  const mica_routes routes = mica_route(logits, &(mica_route_config){c->experts.chosen, c->experts.normalise});
  mica_value rows = mica_unsqueeze(mica_cast(x, MICA_F32), MICA_AXES(-2));
  mica_nn_push(nn, "experts");
  mica_value gate = product(nn, "gate_proj", rows, routes.ids, c, c->hidden, width);
  mica_value up = product(nn, "up_proj", rows, routes.ids, c, c->hidden, width);
  mica_value y = product(nn, "down_proj", combine(gate, up, c), routes.ids, c, width, c->hidden);
  mica_nn_pop(nn);
  return mica__nn_narrow(nn, mica_expert_sum(y, routes.weights));
}
