/* foundation/build.h: parts of networks that read texts or pictures. */
#ifndef MICA_FOUNDATION_BUILD_H
#define MICA_FOUNDATION_BUILD_H

#include "foundation/model.h"

#include <mica/finetune.h>

/* A network that is being built. info and family describe the network for texts or the one for pictures, because a
 * model such as CLIP has both. */
typedef struct mica__network_build {
  mica_nn *nn;
  const mica_foundation *model;
  const mica_foundation_info *info;
  const mica__family *family;
  const mica_foundation_build *how;
  /* Rotary positions: [0] of layers with full attention, [1] of layers with a window. */
  mica_rotary_config rotary[2];
  double *factors[2]; /* frequency factors of rotary[k], allocated; NULL: none */
} mica__network_build;

/* A norm of the model's kind, called `name`. */
mica_value mica__build_norm(const mica__network_build *b, const char *name, mica_value x);
/* Applies all of the network's blocks to the embeddings x, in order. */
mica_value mica__build_blocks(const mica__network_build *b, mica_value x);

/* Logits in f32 of the features x. If the output layer is tied to the embeddings, multiplies by these; else, if `again`
 * is true, by the weight of the output layer that an earlier call has built. Neither product calls hooks. */
mica_value mica__build_logits(mica_nn *nn, const mica_foundation_info *info, mica_value x, bool again);

/* The mean cross entropy of the labels (B, T), which are token ids. A label of -1 is left out. x (B, T, C) are the
 * features after the last norm. *counted receives the number of labels that were not left out, as f32.
 *
 * Logits are computed for about 256 rows at a time to save memory; `batch` is an estimate of B for that. `most` is an
 * upper bound on the labels per sequence that are not -1: logits are computed only for that many positions of a
 * sequence. */
mica_value mica__build_token_loss(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value labels,
                                  int64_t batch, int64_t most, mica_value *counted);
/* An upper bound on the labels other than -1 in one row of a batch of conversations. INT64_MAX if the bound would be
 * more than 7/8 of the row's length, or if the source does not yield conversations. */
int64_t mica__conversations_most(const mica_batch_source *source);

/* Builds the network that reads the pictures how->pixels. Returns features, class logits or projected features, as the
 * model's task and how->hidden ask for. */
mica_value mica__build_pictures(mica__network_build *b);

#endif
