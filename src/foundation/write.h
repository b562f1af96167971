/* foundation/write.h: a model as a GGUF file. */
#ifndef MICA_FOUNDATION_WRITE_H
#define MICA_FOUNDATION_WRITE_H

#include "foundation/model.h"
#include "nn/name_map.h"

/* Adds the keys that describe the model of a folder. MICA_E_UNSUPPORTED: GGUF has no key for something in it. */
mica_status mica__write_keys(const mica_foundation *model, mica_gguf_keys *keys);
/* Adds tokenizer.json and the chat template of a folder, as far as it has them. */
mica_status mica__write_texts(const mica_foundation *model, mica_gguf_keys *keys);

/* A tensor of the network: where it is in the files, what it is called in GGUF, and what it takes to get there. */
typedef struct mica__written_tensor {
  const mica_weight_entry *entry;
  const mica_weight_entry *const *parts; /* of a tensor of experts in a folder: one per expert, `entry` first */
  char name[64];
  mica_shape shape;
  mica__named_tensor joint; /* of a tensor of experts in a folder, in another order than GGUF's; entry NULL: not */
  bool transposed;          /* the folder has (columns, rows) */
  double add;               /* to each number */
  int64_t head_size;        /* rows of a head become pairs; 0: they stay */
} mica__written_tensor;

/* Calls `visit` for each tensor of the model's folder that its network reads, until one fails. */
mica_status mica__names_visit(const mica_foundation *model,
                              mica_status (*visit)(void *user, const mica__written_tensor *tensor), void *user);

#endif
