#include "nn/zoo/sequence.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

mica_model_config mica__sequence_config(const mica_model_config *config, mica__sequence_defaults defaults) {
  mica_model_config c = config ? *config : (mica_model_config){0};
  mica_sequence_sizes *s = &c.sequence;
  if (c.width == 0) c.width = defaults.width;
  if (s->vocabulary == 0) s->vocabulary = c.classes;
  if (s->context == 0) s->context = defaults.context;
  if (s->layers == 0) s->layers = defaults.layers;
  if (s->heads == 0) s->heads = defaults.heads;
  if (s->hidden == 0) s->hidden = 4 * c.width;
  return c;
}

/* The existing table "embed.weight" of the open scopes; null if it does not exist. */
static mica_value find_table(mica_nn *nn) {
  char *name = mica__nn_name(nn, "embed.weight");
  mica_value table = mica__nn_weight(nn, name);
  free(name);
  return table;
}

mica_value mica__sequence_embed(mica_nn *nn, mica_value ids, const mica_model_config *c, double scale) {
  const mica_embedding_config config = {.weight = {.kind = MICA_INIT_NORMAL, .value = 0.02}};
  mica_value table = find_table(nn), x;
  if (mica_value_is_null(ids)) return ids;
  if (mica_dtype_kind_of(mica_value_dtype(ids)) == MICA_DTYPE_KIND_FLOAT)
    return mica_nn_dense(nn, "embed", ids, c->width, NULL);
  if (mica_value_is_null(table))
    x = mica_nn_embedding(nn, "embed", ids, c->sequence.vocabulary, c->width, &config);
  else
    x = mica__nn_narrow(nn, mica_embedding(table, ids));
  return scale == 1 ? x : mica_affine(x, scale, 0);
}

mica_value mica__sequence_locate(mica_nn *nn, const char *name, mica_value x, const mica_model_config *c) {
  const mica_kv_cache *cache = c->sequence.cache;
  mica_value positions = mica_positions(x, cache ? cache->offset : (mica_value){0});
  x = mica_nn_positions(nn, name, x, positions, c->sequence.context, c->sequence.positions);
  return mica__stream(mica_nn_dropout(nn, mica__widen(x), c->dropout), x);
}

mica_value mica__sequence_logits(mica_nn *nn, mica_value x, const mica_model_config *c) {
  const mica_dense_config config = {.no_bias = true, .weight = {.kind = MICA_INIT_NORMAL, .value = 0.02}};
  if (c->sequence.untied) return mica_nn_dense(nn, "head", x, c->sequence.vocabulary, &config);
  mica__nn_record(nn, "head", "tied");
  return mica__nn_recorded(nn, mica_matmul(x, mica_transpose(mica__nn_narrow(nn, find_table(nn)), MICA_AXES(1, 0))));
}

mica_transformer_config mica__sequence_block(const mica_model_config *c, bool causal) {
  const mica_sequence_sizes *s = &c->sequence;
  /* Sums of residuals grow with the number of layers, so output weights are smaller: Radford et al. 2019. */
  const mica_init_config in = {.kind = MICA_INIT_NORMAL, .value = 0.02};
  const mica_init_config out = {.kind = MICA_INIT_NORMAL, .value = 0.02 / sqrt(2.0 * (double)s->layers)};
  return (mica_transformer_config){.self = {.heads = s->heads,
                                            .groups = s->groups,
                                            .causal = causal,
                                            .dropout = c->dropout,
                                            .positions = s->positions,
                                            .cache = s->cache,
                                            .key_lengths = s->cache || causal ? (mica_value){0} : s->lengths,
                                            .weight = in,
                                            .out_weight = out},
                                   .hidden = s->hidden,
                                   .feed_forward = s->feed_forward,
                                   .rms_norm = s->rms_norm,
                                   .post_norm = s->post_norm,
                                   .dropout = c->dropout,
                                   .weight = in,
                                   .out_weight = out};
}

mica_value mica__sequence_norm(mica_nn *nn, const char *name, mica_value x, const mica_model_config *c) {
  /* Blocks with post_norm already end with a norm. */
  if (c->sequence.post_norm) return x;
  return c->sequence.rms_norm ? mica_nn_rms_norm(nn, name, x, NULL) : mica_nn_layer_norm(nn, name, x, NULL);
}
