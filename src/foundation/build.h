/* foundation/build.h: parts of networks of texts and of pictures. */
#ifndef MICA_FOUNDATION_BUILD_H
#define MICA_FOUNDATION_BUILD_H

#include "foundation/model.h"

/* A network while it is built; info and family belong to one of the model's networks. */
typedef struct mica__network_build {
  mica_nn *nn;
  const mica_foundation *model;
  const mica_foundation_info *info;
  const mica__family *family;
  const mica_foundation_build *how;
  /* Rotary positions of layers that see all, and of those with a window. */
  mica_rotary_config rotary[2];
  double *factors[2]; /* of these, on the heap */
} mica__network_build;

/* The norm `name` of the model's kind. */
mica_value mica__build_norm(const mica__network_build *b, const char *name, mica_value x);
/* All blocks. */
mica_value mica__build_blocks(const mica__network_build *b, mica_value x);

/* Logits of the features x, f32. again: the layer is in the network already; its weight is used once more, without
 * hooks. */
mica_value mica__build_logits(mica_nn *nn, const mica_foundation_info *info, mica_value x, bool again);

/* Mean cross entropy of the tokens `labels` (B, T), after the features x (B, T, C) of the last norm. Labels of -1 do
 * not count. *counted gets the number of labels that do, f32. `batch` is about B: logits exist for 256 rows at a
 * time. */
mica_value mica__build_token_loss(mica_nn *nn, const mica_foundation *model, mica_value x, mica_value labels,
                                  int64_t batch, mica_value *counted);

/* The network of how->pixels. */
mica_value mica__build_pictures(mica__network_build *b);

#endif
