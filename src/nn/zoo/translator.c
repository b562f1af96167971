/* The encoder-decoder. The two halves are separate functions: a source is read once, and the target is written token by
 * token. */
#include "nn/zoo/sequence.h"

#include <math.h>
#include <stdio.h>

static const mica_value null_value = {0};

static mica_model_config with_defaults(const mica_model_config *config) {
  mica_model_config c = mica__sequence_config(config, (mica__sequence_defaults){512, 512, 6, 8});
  if (c.sequence.vocabulary == 0) c.sequence.vocabulary = 10;
  return c;
}

static mica_value run_blocks(mica_nn *nn, const char *scope, mica_value x, mica_value memory,
                             const mica_transformer_config *block, const mica_model_config *c) {
  mica_nn_push(nn, scope);
  for (int64_t i = 0; i < c->sequence.layers; i++) {
    char name[32];
    snprintf(name, sizeof name, "layers.%lld", (long long)i);
    x = mica_nn_transformer(nn, name, x, memory, block);
  }
  x = mica__sequence_norm(nn, "norm", x, c);
  mica_nn_pop(nn);
  return x;
}

mica_value mica_translator_encode(mica_nn *nn, mica_value ids, const mica_model_config *config) {
  mica_model_config c = with_defaults(config);
  if (mica__nn_missing(nn, "translator_encode", ids)) return null_value;
  /* The source is read at once; only the decoder uses the cache. */
  c.sequence.cache = NULL;
  const mica_transformer_config block = mica__sequence_block(&c, false);
  mica_value x = mica__sequence_embed(nn, ids, &c, sqrt((double)c.width));
  x = mica__sequence_locate(nn, "encoder.positions", x, &c);
  return run_blocks(nn, "encoder", x, null_value, &block, &c);
}

mica_value mica_translator_decode(mica_nn *nn, mica_value ids, mica_value memory, mica_value memory_lengths,
                                  const mica_model_config *config) {
  const mica_model_config c = with_defaults(config);
  const mica_sequence_sizes *s = &c.sequence;
  mica_transformer_config block = mica__sequence_block(&c, true);
  if (mica__nn_missing(nn, "translator_decode", ids)) return null_value;
  block.cross = block.self;
  block.cross.causal = false;
  block.cross.positions = MICA_POSITIONS_KIND_NONE;
  block.cross.key_lengths = memory_lengths;
  block.cross.recall = s->cache && mica_value_is_null(memory);
  mica_value x = mica__sequence_embed(nn, ids, &c, sqrt((double)c.width));
  x = mica__sequence_locate(nn, "decoder.positions", x, &c);
  x = run_blocks(nn, "decoder", x, memory, &block, &c);
  if (s->last) x = mica_last_rows(x, mica_value_is_null(s->lengths) && s->cache ? s->cache->lengths : s->lengths);
  return mica__sequence_logits(nn, x, &c);
}
