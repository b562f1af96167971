/* The blocks of a model's networks. */
#include "foundation/build.h"

#include <inttypes.h>
#include <stdio.h>

static const mica_value null_value = {0};

mica_value mica__build_norm(const mica__network_build *b, const char *name, mica_value x) {
  const mica_norm_config config = {.epsilon = b->info->epsilon};
  return b->info->rms_norm ? mica_nn_rms_norm(b->nn, name, x, &config) : mica_nn_layer_norm(b->nn, name, x, &config);
}

static mica_feed_forward function_of(mica_foundation_function function) {
  switch (function) {
  case MICA_FOUNDATION_FUNCTION_SWIGLU: return MICA_FEED_FORWARD_SWIGLU;
  case MICA_FOUNDATION_FUNCTION_GEGLU: return MICA_FEED_FORWARD_GEGLU;
  case MICA_FOUNDATION_FUNCTION_GEGLU_TANH: return MICA_FEED_FORWARD_GEGLU_TANH;
  case MICA_FOUNDATION_FUNCTION_GELU: return MICA_FEED_FORWARD_GELU;
  case MICA_FOUNDATION_FUNCTION_GELU_TANH: return MICA_FEED_FORWARD_GELU_TANH;
  case MICA_FOUNDATION_FUNCTION_RELU: return MICA_FEED_FORWARD_RELU;
  case MICA_FOUNDATION_FUNCTION_RELU2: return MICA_FEED_FORWARD_RELU2;
  case MICA_FOUNDATION_FUNCTION_SILU: return MICA_FEED_FORWARD_SILU;
  case MICA_FOUNDATION_FUNCTION_QUICK_GELU: return MICA_FEED_FORWARD_QUICK_GELU;
  case MICA_FOUNDATION_FUNCTION_COUNT: break;
  }
  return MICA_FEED_FORWARD_GELU;
}

static mica_value block(const mica__network_build *b, mica_value x, int64_t layer) {
  const mica_foundation_info *i = b->info;
  const mica__family *family = b->family;
  const bool local = i->window > 0 && i->local[layer];
  char name[32];
  const uint32_t in_proj = MICA_ATTENTION_Q | MICA_ATTENTION_K | MICA_ATTENTION_V;
  const mica_transformer_config c = {
      .self = {.heads = i->heads,
               .groups = i->groups,
               .head_size = i->head_size,
               .causal = i->causal,
               .window = local ? i->window : 0,
               .scale = i->score_scale,
               .soft_cap = i->score_cap,
               .key_lengths = b->how->cache ? null_value : b->how->lengths,
               .starts = b->how->starts,
               .without_bias = (i->attention_bias ? 0 : in_proj) | (i->out_bias ? 0 : MICA_ATTENTION_OUT),
               .apart = !family->fused && family->names != MICA__NAMING_GPT2,
               .sinks = i->sinks,
               .qk_norm = i->qk_norm,
               .qk_epsilon = i->epsilon,
               .positions = i->no_rope && i->no_rope[layer] ? MICA_POSITIONS_KIND_NONE : i->positions,
               .rotary = b->rotary[local],
               .cache = b->how->cache},
      .hidden = i->hidden,
      .experts = {i->experts, i->experts_used, i->normalise_routes, i->experts && i->feed_bias, i->clamp},
      .feed_forward = function_of(i->function),
      .apart = !family->fused,
      .no_feed_bias = !i->feed_bias,
      .norms = i->norms == MICA_FOUNDATION_NORMS_AROUND  ? MICA_BLOCK_NORMS_AROUND
               : i->norms == MICA_FOUNDATION_NORMS_AFTER ? MICA_BLOCK_NORMS_AFTER
                                                         : MICA_BLOCK_NORMS_BEFORE,
      .rms_norm = i->rms_norm,
      .epsilon = i->epsilon,
  };
  snprintf(name, sizeof name, "layers.%" PRId64, layer);
  return mica_nn_transformer(b->nn, name, x, null_value, &c);
}

mica_value mica__build_blocks(const mica__network_build *b, mica_value x) {
  const int64_t layers = b->how->layers ? b->how->layers : b->info->layers;
  for (int64_t layer = 0; layer < layers; layer++) {
    if (b->how->recompute && mica_nn_is_training(b->nn)) x = mica_checkpoint(x);
    x = block(b, x, layer);
  }
  return x;
}
