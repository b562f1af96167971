/* nn/zoo/sequence.h: what networks of sequences share. */
#ifndef MICA_NN_ZOO_SEQUENCE_H
#define MICA_NN_ZOO_SEQUENCE_H

#include "nn/sequence.h"
#include "nn/zoo/zoo.h"

/* `sizes` with what zero stands for. */
typedef struct mica__sequence_defaults {
  int64_t width, context, layers, heads;
} mica__sequence_defaults;
mica_model_config mica__sequence_config(const mica_model_config *config, mica__sequence_defaults defaults);

/* Rows of the table "embed" for ids (B, T), which is made where the network has none yet, times `scale`; numbers
 * (B, T, F) go through a dense layer of that name. */
mica_value mica__sequence_embed(mica_nn *nn, mica_value ids, const mica_model_config *config, double scale);
/* With the vectors of their positions, from the parameter `name`. */
mica_value mica__sequence_locate(mica_nn *nn, const char *name, mica_value x, const mica_model_config *config);
/* Logits of x (..., C) by the table "embed", or by a dense layer "head" where weights are untied. */
mica_value mica__sequence_logits(mica_nn *nn, mica_value x, const mica_model_config *config);
/* The configuration of a block. */
mica_transformer_config mica__sequence_block(const mica_model_config *config, bool causal);
/* The norm behind the last block. */
mica_value mica__sequence_norm(mica_nn *nn, const char *name, mica_value x, const mica_model_config *config);

#endif
