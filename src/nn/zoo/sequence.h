/* nn/zoo/sequence.h: functions that networks of sequences share. */
#ifndef MICA_NN_ZOO_SEQUENCE_H
#define MICA_NN_ZOO_SEQUENCE_H

#include "nn/sequence.h"
#include "nn/zoo/zoo.h"

/* The sizes that mica__sequence_config puts in place of zeros in a configuration. */
typedef struct mica__sequence_defaults {
  int64_t width, context, layers, heads;
} mica__sequence_defaults;
mica_model_config mica__sequence_config(const mica_model_config *config, mica__sequence_defaults defaults);

/* Rows of the table "embed" for ids (B, T), times `scale`; makes the table if the network lacks it. Floats (B, T, F) go
 * through a dense layer named "embed" instead, without the scale. */
mica_value mica__sequence_embed(mica_nn *nn, mica_value ids, const mica_model_config *config, double scale);
/* Adds vectors of positions, the learned ones from the table `name`; then applies dropout. */
mica_value mica__sequence_locate(mica_nn *nn, const char *name, mica_value x, const mica_model_config *config);
/* Logits of x (..., C) from the table "embed" or, with `untied`, a dense layer "head". */
mica_value mica__sequence_logits(mica_nn *nn, mica_value x, const mica_model_config *config);
/* Configuration of a block. */
mica_transformer_config mica__sequence_block(const mica_model_config *config, bool causal);
/* The norm after the last block; x itself if the blocks end with a norm (post_norm). */
mica_value mica__sequence_norm(mica_nn *nn, const char *name, mica_value x, const mica_model_config *config);

#endif
