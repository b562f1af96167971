/* ops/collective/parts.h: named tensors on their way between ranks: what a file of all ranks' weights is made of. */
#ifndef MICA_OPS_COLLECTIVE_PARTS_H
#define MICA_OPS_COLLECTIVE_PARTS_H

#include "ops/collective/division.h"

#include <mica/dist.h>
#include <mica/safetensors.h>

/* What is sent before a tensor's elements. One without a name ends a list. */
typedef struct mica__part_head {
  char name[256];
  int64_t bytes;
  mica_shape shape;
  int32_t dtype;
  mica__division division; /* of what it is a part */
} mica__part_head;

typedef struct mica__part {
  mica__part_head head;
  char *data;
} mica__part;

/* Zeros at first. */
typedef struct mica__parts {
  mica__part *list;
  size_t count;
} mica__parts;

void mica__parts_free(mica__parts *parts);
/* Adds a tensor with room for its elements; *part is valid until the next one. */
mica_status mica__parts_add(mica__parts *parts, const mica__part_head *head, mica__part **part);
/* Adds one of a name, dtype and shape. MICA_E_UNSUPPORTED: the name is too long. */
mica_status mica__parts_put(mica__parts *parts, const char *name, mica_dtype dtype, mica_shape shape,
                            mica__part **part);
/* Moves those of `from` to `to` that it has not. What is rank `rank`'s part of a tensor that `ranks` ranks have is put
 * where it belongs in the whole. */
mica_status mica__parts_join(mica__parts *to, mica__parts *from, int32_t ranks, int32_t rank);
/* NULL where there is none of the name. */
const mica__part *mica__parts_find(const mica__parts *parts, const char *name);
/* All of them to another rank, and what such a rank sends; one after the other on the channel. */
mica_status mica__parts_send(const mica__parts *parts, mica_communicator *communicator, int32_t channel, int32_t to);
mica_status mica__parts_receive(mica__parts *parts, mica_communicator *communicator, int32_t channel, int32_t from);
/* As a safetensors file with metadata. */
mica_status mica__parts_write(const mica__parts *parts, const char *path, const mica_safetensors_pair *metadata,
                              size_t metadata_count);

#endif
