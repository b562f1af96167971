/* Conformer blocks. */
#include "nn/sequence.h"

#include "base/arith.h"

static const mica_value null_value = {0};
static const mica_dense_config dense = {.weight = {.kind = MICA_INIT_XAVIER_UNIFORM}};

/* Two dense layers, added with weight one half: x + 1/2 f(norm(x)). */
static mica_value half_step(mica_nn *nn, const char *name, mica_value x, const mica_conformer_config *c) {
  const int64_t width = mica_value_shape(x).dim[2];
  mica_nn_push(nn, name);
  mica_nn_push(nn, "sequential");
  mica_value y = mica_silu(mica_nn_dense(nn, "1", mica_nn_layer_norm(nn, "0", x, NULL), c->hidden, &dense));
  y = mica_nn_dense(nn, "4", mica_nn_dropout(nn, y, c->dropout), width, &dense);
  y = mica_nn_dropout(nn, y, c->dropout);
  mica_nn_pop(nn);
  mica_nn_pop(nn);
  return mica__residual_sum(x, mica_affine(y, 0.5, 0));
}

/* Applies depthwise filters to x (B, C, T). Positions beyond the ends of x are zeros. In a stream, the past positions
 * come before x; then the last positions of both become the past. */
static mica_value depthwise(mica_nn *nn, mica_value x, const mica_conformer_config *c) {
  const int64_t channels = mica_value_shape(x).dim[1], before = c->self.causal ? c->kernel - 1 : c->kernel / 2;
  mica_nn_conv_config how = {.how = {.pad = {before}, .pad_more = {c->self.causal ? -before : 0}, .groups = channels},
                             .no_bias = true};
  if (c->past) {
    x = mica_concat((mica_value[]){mica_cast(*c->past_filtered, mica_value_dtype(x)), x}, 2, 2);
    *c->past_filtered = mica_cast(mica_slice(x, 2, -before, MICA_END, 1), mica_value_dtype(*c->past_filtered));
    how.how.pad[0] = how.how.pad_more[0] = 0;
  }
  return mica_nn_conv(nn, "2", x, channels, c->kernel, &how);
}

static mica_value convolution(mica_nn *nn, mica_value x, const mica_conformer_config *c) {
  const int64_t width = mica_value_shape(x).dim[2];
  mica_nn_push(nn, "conv_module");
  mica_value y = mica_nn_layer_norm(nn, "layer_norm", x, NULL);
  mica_nn_push(nn, "sequential");
  y = mica_nn_dense(nn, "0", y, 2 * width, &dense);
  /* A pruned network has fewer channels. */
  const int64_t half = mica_value_is_null(y) ? width : mica_value_shape(y).dim[2] / 2;
  y = mica_mul(mica__section(y, 2, 0, half), mica_sigmoid(mica__section(y, 2, half, half)));
  y = depthwise(nn, mica_transpose(y, MICA_AXES(0, 2, 1)), c);
  y = mica_transpose(mica_silu(mica_nn_batch_norm(nn, "3", y, NULL)), MICA_AXES(0, 2, 1));
  y = mica_nn_dropout(nn, mica_nn_dense(nn, "5", y, width, &dense), c->dropout);
  mica_nn_pop(nn);
  mica_nn_pop(nn);
  return mica__residual_sum(x, y);
}

static const char *wrong_of(mica_shape shape, const mica_conformer_config *c) {
  if (shape.rank != 3 || shape.dim[2] < 1) return "sequences must be (B, T, C), with C known";
  if (c->kernel < 1 || (!c->self.causal && c->kernel % 2 == 0))
    return "kernel must be at least 1, and odd unless the block is causal";
  if (c->past && (!c->past_filtered || !c->self.causal || c->kernel < 2))
    return "a stream must be causal, with past_filtered and a kernel of at least 2";
  return NULL;
}

mica_value mica_nn_conformer(mica_nn *nn, const char *name, mica_value x, const mica_conformer_config *config) {
  mica_conformer_config c = config ? *config : (mica_conformer_config){0};
  const mica_shape shape = mica_value_shape(x);
  if (mica__nn_missing(nn, "conformer", x) || mica_value_is_null(x)) return null_value;
  if (c.kernel == 0) c.kernel = 15;
  if (c.hidden == 0) c.hidden = 4 * shape.dim[2];
  const char *wrong = wrong_of(shape, &c);
  if (wrong) return mica__builder_fail("conformer", x, MICA_E_INVALID, "%s", wrong);
  c.self.past = c.past;
  mica_nn_push(nn, name);
  x = half_step(nn, "ffn1", x, &c);
  mica_value y = mica_nn_layer_norm(nn, "self_attn_layer_norm", x, NULL);
  y = mica_nn_attention(nn, "self_attn", y, null_value, &c.self);
  x = mica__residual_sum(x, mica_nn_dropout(nn, y, c.dropout));
  x = half_step(nn, "ffn2", convolution(nn, x, &c), &c);
  x = mica_nn_layer_norm(nn, "final_layer_norm", x, NULL);
  mica_nn_pop(nn);
  return x;
}
