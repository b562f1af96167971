/* A model's network: embeddings, blocks, logits. */
#include "foundation/model.h"

#include "base/error.h"
#include "ir/graph.h"

#include <mica/nodes.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const mica_value null_value = {0};

typedef struct builder {
  mica_nn *nn;
  const mica_foundation *model;
  const mica_foundation_info *info;
  const mica_foundation_build *how;
  /* Rotary positions of layers that see all, and of those with a window. */
  mica_rotary_config rotary[2];
  double *factors[2]; /* of these, on the heap */
} builder;

static mica_value norm(const builder *b, const char *name, mica_value x) {
  const mica_norm_config config = {.epsilon = b->info->epsilon};
  return b->info->rms_norm ? mica_nn_rms_norm(b->nn, name, x, &config) : mica_nn_layer_norm(b->nn, name, x, &config);
}

/* --- embeddings --- */

/* Token types; (1, 1) of type 0 if the caller gives none. */
static mica_value types_of(const builder *b) {
  if (!mica_value_is_null(b->how->types)) return b->how->types;
  return mica_full(mica_nn_graph(b->nn), MICA_I32, MICA_SHAPE(1, 1), 0);
}

static mica_value embed(const builder *b) {
  const mica_foundation_info *i = b->info;
  const mica_kv_cache *cache = b->how->cache;
  mica_value x = mica_nn_embedding(b->nn, "embed", b->how->ids, i->vocabulary, i->width, NULL);
  /* The scale is rounded as the embeddings are. */
  if (i->embed_scale != 1) x = mica_mul(x, mica_scalar(mica_nn_graph(b->nn), mica_value_dtype(x), i->embed_scale));
  if (i->positions == MICA_POSITIONS_KIND_LEARNED) {
    mica_value positions = mica_positions(x, cache ? cache->offset : null_value);
    if (i->first_position)
      positions = mica_add(positions, mica_scalar(mica_nn_graph(b->nn), MICA_I32, (double)i->first_position));
    x = mica_nn_positions(b->nn, "positions", x, positions, i->context, MICA_POSITIONS_KIND_LEARNED);
  }
  if (i->types > 0) x = mica_add(x, mica_nn_embedding(b->nn, "types", types_of(b), i->types, i->width, NULL));
  return i->embed_norm ? norm(b, "embed_norm", x) : x;
}

/* --- blocks --- */

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
  case MICA_FOUNDATION_FUNCTION_COUNT: break;
  }
  return MICA_FEED_FORWARD_GELU;
}

static mica_value block(const builder *b, mica_value x, int64_t layer) {
  const mica_foundation_info *i = b->info;
  const mica__family *family = b->model->family;
  const bool local = i->window > 0 && i->local[layer];
  char name[32];
  const uint32_t in_proj = MICA_ATTENTION_Q | MICA_ATTENTION_K | MICA_ATTENTION_V;
  const mica_transformer_config c = {
      .self = {.heads = i->heads,
               .groups = i->groups,
               .head_size = i->head_size,
               .causal = i->task == MICA_FOUNDATION_TASK_GENERATE,
               .window = local ? i->window : 0,
               .scale = i->score_scale,
               .soft_cap = i->score_cap,
               .key_lengths = b->how->cache ? null_value : b->how->lengths,
               .starts = b->how->starts,
               .without_bias = (i->attention_bias ? 0 : in_proj) | (i->out_bias ? 0 : MICA_ATTENTION_OUT),
               .apart = !family->fused && family->names != MICA__NAMING_GPT2,
               .qk_norm = i->qk_norm,
               .qk_epsilon = i->epsilon,
               .positions = i->positions,
               .rotary = b->rotary[local],
               .cache = b->how->cache},
      .hidden = i->hidden,
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

/* --- logits --- */

static mica_value last_rows(const builder *b, mica_value x) {
  mica_value lengths = b->how->lengths;
  if (mica_value_is_null(lengths) && b->how->cache) lengths = b->how->cache->lengths;
  return mica_last_rows(x, lengths);
}

static mica_value logits(const builder *b, mica_value x) {
  const mica_foundation_info *i = b->info;
  mica_value z;
  if (i->tied) {
    mica_value table = mica_nn_weight_of(b->nn, "embed.weight");
    z = mica_matmul(x, mica_transpose(table, MICA_AXES(1, 0)));
  } else {
    z = mica_nn_dense(b->nn, "head", x, i->vocabulary, &(mica_dense_config){.no_bias = true});
  }
  z = mica_cast(z, MICA_F32);
  if (i->logit_cap > 0) z = mica_affine(mica_tanh(mica_affine(z, 1 / i->logit_cap, 0)), i->logit_cap, 0);
  return z;
}

/* --- the network --- */

static mica_status prepare(builder *b) {
  const mica_foundation_info *i = b->info;
  if (i->task != MICA_FOUNDATION_TASK_GENERATE && !b->how->hidden)
    return mica__fail(MICA_E_UNSUPPORTED, "the family %s does not write texts; it has features alone (hidden)",
                      i->family);
  if (b->how->layers < 0 || b->how->layers > i->layers)
    return mica__fail(MICA_E_INVALID, "%" PRId64 " layers were asked for; the model has %" PRId64, b->how->layers,
                      i->layers);
  if (i->positions != MICA_POSITIONS_KIND_ROTARY) return MICA_OK;
  const mica_foundation_rotary *rotary[2] = {&i->rotary, &i->rotary_local};
  for (int k = 0; k < 2; k++) {
    b->rotary[k] = (mica_rotary_config){.base = rotary[k]->base, .rotated = i->rotated, .interleave = i->interleaved};
    MICA_TRY(mica__rotary_scale(b->model, rotary[k], &b->factors[k], &b->rotary[k].scale));
    b->rotary[k].factors = b->factors[k];
  }
  return MICA_OK;
}

mica_value mica_foundation_network(mica_nn *nn, const mica_foundation *model, const mica_foundation_build *build) {
  if (!nn || !model || !build || mica_value_is_null(build->ids)) return null_value;
  builder b = {.nn = nn, .model = model, .info = &model->info, .how = build};
  mica_status status = prepare(&b);
  mica_value x = null_value;
  if (status == MICA_OK) {
    const int64_t layers = build->layers ? build->layers : b.info->layers;
    x = embed(&b);
    for (int64_t layer = 0; layer < layers; layer++) x = block(&b, x, layer);
    if (build->logits_of_last) x = last_rows(&b, x);
    if (b.info->norms != MICA_FOUNDATION_NORMS_AFTER) x = norm(&b, "norm", x);
    if (!build->hidden) x = logits(&b, x);
  } else {
    mica__graph_fail_with(mica_nn_graph(nn), status);
  }
  free(b.factors[0]);
  free(b.factors[1]);
  return x;
}
