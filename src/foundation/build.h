/* foundation/build.h: parts of networks that read texts or pictures. */
#ifndef MICA_FOUNDATION_BUILD_H
#define MICA_FOUNDATION_BUILD_H

#include "foundation/model.h"

#include <mica/finetune.h>

/* A network that is being built; info and family belong to one of the model's networks. */
typedef struct mica__network_build {
  mica_nn *nn;
  const mica_foundation *model;
  const mica_foundation_info *info;
  const mica__family *family;
  const mica_foundation_build *how;
  /* Rotary positions of layers with full attention, and of layers with a window. */
  mica_rotary_config rotary[2];
  double *factors[2]; /* their factors, on the heap */
} mica__network_build;

/* A norm of the model's kind, called `name`. */
mica_value mica__build_norm(const mica__network_build *b, const char *name, mica_value x);
/* Builds all blocks. */
mica_value mica__build_blocks(const mica__network_build *b, mica_value x);

/* Logits of the features x, f32. again: the layer exists already; uses its weight once more, without hooks. */
mica_value mica__build_logits(mica_nn *nn, const mica_foundation_info *info, mica_value x, bool again);

/* The mean cross entropy of the tokens `labels` (B, T), from the last norm's features x (B, T, C). Labels of -1 do
 * not count. *counted receives the number of labels that count, f32. `batch` estimates B, because logits are made
 * for about 256 rows at a time. A sequence has at most `most` labels that count: logits are made for that many
 * positions of each. */
mica_value mica__build_token_loss(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value labels,
                                  int64_t batch, int64_t most, mica_value *counted);
/* An upper bound on the labels of a row in the batches of conversations; INT64_MAX: the bound would be close to the
 * row's length, or the source has no conversations. */
int64_t mica__conversations_most(const mica_batch_source *source);

/* Builds the network of how->pixels. */
mica_value mica__build_pictures(mica__network_build *b);

#endif
