/* dist/parts.h: named tensors on their way between ranks: what a file of all ranks' weights is made of. */
#ifndef MICA_DIST_PARTS_H
#define MICA_DIST_PARTS_H

#include "base/error.h"

#include <mica/dist.h>
#include <mica/nn.h>

/* What is sent before a tensor's elements. One without a name ends a list. */
typedef struct mica__part_head {
  char name[256];
  int64_t bytes;
  mica_shape shape;
  int32_t dtype;
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
/* NULL where there is none of the name. */
const mica__part *mica__parts_find(const mica__parts *parts, const char *name);
/* Adds the weights and state of a network. Blocks. */
mica_status mica__parts_take(mica__parts *parts, const mica_nn *nn, mica_session *session, mica_queue *queue);
/* All of them to another rank, and what such a rank sends; one after the other on the channel. */
mica_status mica__parts_send(const mica__parts *parts, mica_communicator *communicator, int32_t channel, int32_t to);
mica_status mica__parts_receive(mica__parts *parts, mica_communicator *communicator, int32_t channel, int32_t from);
mica_status mica__parts_write(const mica__parts *parts, const char *path);

#endif
