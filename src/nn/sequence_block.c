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

static mica_value activate(mica_value x, mica_feed_forward kind, int64_t hidden) {
  switch (kind) {
  case MICA_FEED_FORWARD_GELU: return mica_gelu(x);
  case MICA_FEED_FORWARD_GELU_TANH: return mica_gelu_tanh(x);
  case MICA_FEED_FORWARD_RELU: return mica_relu(x);
  case MICA_FEED_FORWARD_SILU: return mica_silu(x);
  case MICA_FEED_FORWARD_SWIGLU:
    return mica_mul(mica_silu(mica__section(x, -1, 0, hidden)), mica__section(x, -1, hidden, hidden));
  }
  return x.graph ? mica__graph_fail(x.graph, MICA_E_INVALID, "transformer: no function %d", (int)kind) : null_value;
}

static mica_value feed_forward(mica_nn *nn, mica_value x, const mica_transformer_config *c, int64_t width) {
  const bool gated = c->feed_forward == MICA_FEED_FORWARD_SWIGLU;
  const mica_dense_config first = {.weight = mica__init_or(c->weight, xavier), .no_bias = c->self.no_bias};
  const mica_dense_config second = {.weight = mica__init_or(c->out_weight, xavier), .no_bias = c->self.no_bias};
  const int64_t sections[MICA__DIVISION_SECTIONS] = {c->hidden, gated ? c->hidden : 0};
  mica_value h = mica__nn_columns(nn, "linear1", mica__nn_fan_out(nn, x), sections, &first);
  /* A network that was pruned has fewer. */
  if (h.graph && gated)
    h = activate(h, c->feed_forward, mica_value_shape(h).dim[2] / 2);
  else
    h = activate(h, c->feed_forward, c->hidden);
  return mica__nn_rows(nn, "linear2", mica__nn_dropout_own(nn, h, c->dropout), c->hidden, width, &second);
}

/* A part of the block: what it computes of x, between norm and sum. */
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

mica_value mica_nn_transformer(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                               const mica_transformer_config *config) {
  static const char *const norms[] = {"norm1", "norm2", "norm3"};
  mica_transformer_config c = config ? *config : (mica_transformer_config){0};
  mica_shape shape = mica_value_shape(x);
  if (mica__nn_missing(nn, "transformer", x) || mica_value_is_null(x)) return null_value;
  if (shape.rank != 3 || shape.dim[2] < 1)
    return mica__builder_fail("transformer", x, MICA_E_SHAPE, "sequences are (B, T, C), with C known");
  const int64_t width = shape.dim[2];
  const bool crosses = !mica_value_is_null(memory) || c.cross.recall;
  if (c.hidden == 0) c.hidden = 4 * width;
  if (c.cross.heads == 0) c.cross.heads = c.self.heads, c.cross.groups = c.self.groups;
  mica_nn_push(nn, name);
  int normed = 0;
  for (part which = SELF; which <= FEED_FORWARD; which++) {
    if (which == CROSS && !crosses) continue;
    mica_value y = c.post_norm ? x : norm(nn, norms[normed], x, &c);
    y = mica_nn_dropout(nn, compute(nn, which, y, memory, &c, width), c.dropout);
    x = mica__residual_sum(x, y);
    if (c.post_norm) x = norm(nn, norms[normed], x, &c);
    normed++;
  }
  mica_nn_pop(nn);
  return x;
}
