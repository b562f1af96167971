/* Transformer blocks. */
#include "nn/divided.h"
#include "nn/sequence.h"

static const mica_value null_value = {0};
static const mica_init_config xavier = {.kind = MICA_INIT_XAVIER_UNIFORM};

const char *mica_feed_forward_name(mica_feed_forward kind) {
  static const char *const texts[] = {
#define FEED_FORWARD_TEXT(name, text) text,
      MICA_FEED_FORWARD_LIST(FEED_FORWARD_TEXT)};
  return (unsigned)kind < sizeof texts / sizeof *texts ? texts[kind] : "?";
}

static mica_value norm(mica_nn *nn, const char *name, mica_value x, const mica_transformer_config *c) {
  const mica_norm_config config = {.epsilon = c->epsilon};
  return c->rms_norm ? mica_nn_rms_norm(nn, name, x, &config) : mica_nn_layer_norm(nn, name, x, &config);
}

/* --- dense layers --- */

/* Computes the hidden units of a feed-forward network: its first dense layers, applied to x, with the activation. *last
 * receives the name of the dense layer that follows. */
static mica_value hidden_of(mica_nn *nn, mica_value x, const mica_transformer_config *c, const mica_dense_config *how,
                            const char **last) {
  const bool gated = mica__feed_is_gated(c->feed_forward);
  const int64_t one[MICA__DIVISION_SECTIONS] = {c->hidden}, two[MICA__DIVISION_SECTIONS] = {c->hidden, c->hidden};
  *last = c->apart ? "down_proj" : "linear2";
  x = mica__nn_fan_out(nn, x);
  if (!gated)
    return mica__feed_activate(mica__nn_columns(nn, c->apart ? "up_proj" : "linear1", x, one, how), c->feed_forward);
  if (c->apart) {
    mica_value gate = mica__feed_activate(mica__nn_columns(nn, "gate_proj", x, one, how), c->feed_forward);
    return mica_mul(gate, mica__nn_columns(nn, "up_proj", x, one, how));
  }
  mica_value both = mica__nn_columns(nn, "linear1", x, two, how);
  if (mica_value_is_null(both)) return both;
  /* A pruned network has fewer units. */
  const int64_t hidden = mica_value_shape(both).dim[2] / 2;
  mica_value gate = mica__feed_activate(mica__section(both, -1, 0, hidden), c->feed_forward);
  return mica_mul(gate, mica__section(both, -1, hidden, hidden));
}

static mica_value feed_forward(mica_nn *nn, mica_value x, const mica_transformer_config *c, int64_t width) {
  const bool no_bias = c->self.no_bias || c->no_feed_bias;
  const mica_dense_config first = {.weight = mica__init_or(c->weight, xavier), .no_bias = no_bias};
  const mica_dense_config second = {.weight = mica__init_or(c->out_weight, xavier), .no_bias = no_bias};
  const char *last = NULL;
  if (c->experts.count) return mica__nn_experts(nn, x, c, width);
  mica_value h = hidden_of(nn, x, c, &first, &last);
  return mica__nn_rows(nn, last, mica__nn_dropout_own(nn, h, c->dropout), c->hidden, width, &second);
}

/* --- the block --- */

/* A part of the block: the function between norm and sum. */
typedef enum part { SELF, CROSS, FEED_FORWARD } part;

static mica_value compute(mica_nn *nn, part which, mica_value x, mica_value memory, const mica_transformer_config *c,
                          int64_t width) {
  switch (which) {
  case SELF: return mica_nn_attention(nn, "self_attn", x, null_value, &c->self);
  case CROSS: return mica_nn_attention(nn, "multihead_attn", x, memory, &c->cross);
  case FEED_FORWARD: break;
  }
  return feed_forward(nn, x, c, width);
}

/* Applies the parts one after another, each with its norms and its residual sum. */
static mica_value in_sequence(mica_nn *nn, mica_value x, mica_value memory, bool crosses,
                              const mica_transformer_config *c, int64_t width) {
  static const char *const names[] = {"norm1", "norm2", "norm3"};
  static const char *const names_after[] = {"norm1_after", "norm2_after", "norm3_after"};
  int normed = 0;
  for (part which = SELF; which <= FEED_FORWARD; which++) {
    if (which == CROSS && !crosses) continue;
    mica_value y = c->norms == MICA_BLOCK_NORMS_AFTER ? x : norm(nn, names[normed], x, c);
    y = compute(nn, which, y, memory, c, width);
    if (c->norms == MICA_BLOCK_NORMS_AROUND) y = norm(nn, names_after[normed], y, c);
    x = mica__residual_sum(x, mica_nn_dropout(nn, y, c->dropout));
    if (c->norms == MICA_BLOCK_NORMS_AFTER) x = norm(nn, names[normed], x, c);
    normed++;
  }
  return x;
}

/* x + attention(norm1(x)) + f(norm1(x) or norm2(x)). */
static mica_value in_parallel(mica_nn *nn, mica_value x, const mica_transformer_config *c, int64_t width) {
  mica_value first = norm(nn, "norm1", x, c);
  mica_value second = c->order == MICA_BLOCK_ORDER_TWO_NORMS ? norm(nn, "norm2", x, c) : first;
  mica_value attention = mica_nn_dropout(nn, compute(nn, SELF, first, null_value, c, width), c->dropout);
  mica_value fed = mica_nn_dropout(nn, compute(nn, FEED_FORWARD, second, null_value, c, width), c->dropout);
  return mica__residual_sum(mica__residual_sum(x, attention), fed);
}

/* False, with an error in the graph, if the configuration is invalid. */
static bool check(mica_value x, bool crosses, const mica_transformer_config *c) {
  const mica_shape shape = mica_value_shape(x);
  char text[MICA_SHAPE_TEXT];
  if (shape.rank != 3 || shape.dim[2] < 1)
    mica__builder_fail("transformer", x, MICA_E_SHAPE, "the sequences are %s, but must be (B, T, C), with C known",
                       mica_shape_format(shape, text));
  else if ((unsigned)c->norms > MICA_BLOCK_NORMS_AROUND || (unsigned)c->order > MICA_BLOCK_ORDER_TWO_NORMS)
    mica__builder_fail("transformer", x, MICA_E_INVALID,
                       "norms (%d) must be a mica_block_norms, and order (%d) a mica_block_order", (int)c->norms,
                       (int)c->order);
  else if (c->post_norm && c->norms == MICA_BLOCK_NORMS_AROUND)
    mica__builder_fail("transformer", x, MICA_E_INVALID, "MICA_BLOCK_NORMS_AROUND cannot be combined with post_norm");
  else if (c->order != MICA_BLOCK_ORDER_SEQUENCE && (crosses || c->post_norm || c->norms != MICA_BLOCK_NORMS_BEFORE))
    mica__builder_fail("transformer", x, MICA_E_INVALID,
                       "an order with parallel parts needs MICA_BLOCK_NORMS_BEFORE, and allows neither post_norm nor a "
                       "memory");
  else
    return true;
  return false;
}

mica_value mica_nn_transformer(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                               const mica_transformer_config *config) {
  mica_transformer_config c = config ? *config : (mica_transformer_config){0};
  const bool crosses = !mica_value_is_null(memory) || c.cross.recall;
  if (mica__nn_missing(nn, "transformer", x) || mica_value_is_null(x) || !check(x, crosses, &c)) return null_value;
  const int64_t width = mica_value_shape(x).dim[2];
  if (c.post_norm) c.norms = MICA_BLOCK_NORMS_AFTER;
  if (c.hidden == 0) c.hidden = 4 * width;
  if (c.cross.heads == 0) c.cross.heads = c.self.heads, c.cross.groups = c.self.groups;
  mica_nn_push(nn, name);
  x = c.order == MICA_BLOCK_ORDER_SEQUENCE ? in_sequence(nn, x, memory, crosses, &c, width)
                                           : in_parallel(nn, x, &c, width);
  mica_nn_pop(nn);
  return x;
}
