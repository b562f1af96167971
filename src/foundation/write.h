/* foundation/write.h: writes a model as a GGUF file. */
#ifndef MICA_FOUNDATION_WRITE_H
#define MICA_FOUNDATION_WRITE_H

#include "foundation/model.h"
#include "nn/name_map.h"

/* Adds keys that describe the model in a folder. MICA_E_UNSUPPORTED: the model generates no texts, or GGUF has no
 * architecture for its family or no key for a property of it. */
mica_status mica__write_keys(const mica_foundation *model, mica_gguf_keys *keys);
/* Adds a folder's tokenizer.json and chat template, if it has them. */
mica_status mica__write_text_keys(const mica_foundation *model, mica_gguf_keys *keys);

/* A tensor of the network: its entry in the files, its name in GGUF, and the conversion between them. */
typedef struct mica__written_tensor {
  const mica_weight_entry *entry;
  const mica_weight_entry *const *parts; /* experts in a folder: one entry per expert, `entry` is the first */
  char name[64];
  mica_shape shape;
  mica__named_tensor joint; /* all experts of a folder in one tensor, whose elements are not in GGUF's order;
                             * joint.entry is NULL for other tensors */
  bool transposed;          /* the folder has (columns, rows) */
  double add;               /* is added to each number */
  int64_t head_size;        /* size of a head whose rows are reordered from halves to rotary pairs; 0: order
                             * unchanged */
} mica__written_tensor;

/* Calls `visit` for each tensor of the model's folder that its network uses; stops at a failure. */
mica_status mica__names_visit(const mica_foundation *model,
                              mica_status (*visit)(void *user, const mica__written_tensor *tensor), void *user);

#endif
