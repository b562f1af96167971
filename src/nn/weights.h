/* nn/weights.h: a list of named tensors, whole or divided among ranks, such as the contents of a weights file. */
#ifndef MICA_NN_WEIGHTS_H
#define MICA_NN_WEIGHTS_H

#include "ops/collective/division.h"

#include <mica/safetensors.h>

/* The head sent before a tensor's elements. A head without a name ends a list. */
typedef struct mica__weight_head {
  char name[256];
  int64_t bytes;
  mica_shape shape;
  int32_t dtype;
  mica__division division; /* how the whole tensor is divided, if this is a part */
} mica__weight_head;

typedef struct mica__weight_part {
  mica__weight_head head;
  char *data;
} mica__weight_part;

/* Zero-initialise it. */
typedef struct mica__weights {
  mica__weight_part *list;
  size_t count;
} mica__weights;

void mica__weights_free(mica__weights *parts);
/* Adds a tensor with room for its elements. *part is valid until the next call. */
mica_status mica__weights_add(mica__weights *parts, const mica__weight_head *head, mica__weight_part **part);
/* Adds a tensor with this name, dtype and shape. MICA_E_UNSUPPORTED: the name is too long. */
mica_status mica__weights_put(mica__weights *parts, const char *name, mica_dtype dtype, mica_shape shape,
                              mica__weight_part **part);
/* Moves the tensors of `from` to `to`. A tensor that `to` already has is left in `from`. A divided tensor of `from`,
 * which is the part of rank `rank` of `ranks`, is copied into the whole tensor in `to`. */
mica_status mica__weights_join(mica__weights *to, mica__weights *from, int32_t ranks, int32_t rank);
/* Finds a tensor; NULL: there is none of this name. */
const mica__weight_part *mica__weights_find(const mica__weights *parts, const char *name);
/* Writes a safetensors file with metadata. */
mica_status mica__weights_write(const mica__weights *parts, const char *path, const mica_safetensors_pair *metadata,
                                size_t metadata_count);

#endif
