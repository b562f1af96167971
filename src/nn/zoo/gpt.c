/* gpt: a causal language model, with or without a cache of keys and values. */
#include "nn/zoo/sequence.h"

#include <stdio.h>

mica_value mica__zoo_gpt(mica_nn *nn, mica_value ids, const mica_model_config *config) {
  const mica_model_config c = mica__sequence_config(config, (mica__sequence_defaults){768, 1024, 12, 12});
  const mica_sequence_sizes *s = &c.sequence;
  const mica_transformer_config block = mica__sequence_block(&c, true);
  mica_value x = mica__sequence_locate(nn, "positions", mica__sequence_embed(nn, ids, &c, 1), &c);
  for (int64_t i = 0; i < s->layers; i++) {
    char name[32];
    snprintf(name, sizeof name, "layers.%lld", (long long)i);
    x = mica_nn_transformer(nn, name, x, (mica_value){0}, &block);
  }
  if (s->last) x = mica_last_rows(x, mica_value_is_null(s->lengths) && s->cache ? s->cache->lengths : s->lengths);
  return mica__sequence_logits(nn, mica__sequence_norm(nn, "norm", x, &c), &c);
}
