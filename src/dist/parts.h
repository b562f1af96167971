/* dist/parts.h: lists of weights on their way between ranks. */
#ifndef MICA_DIST_PARTS_H
#define MICA_DIST_PARTS_H

#include "nn/weights.h"

#include <mica/dist.h>
#include <mica/nn.h>

/* Adds the weights and state of a network. Blocks. */
mica_status mica__parts_take(mica__parts *parts, const mica_nn *nn, mica_session *session, mica_queue *queue);
/* All of them to another rank, and what such a rank sends; one after the other on the channel. */
mica_status mica__parts_send(const mica__parts *parts, mica_communicator *communicator, int32_t channel, int32_t to);
mica_status mica__parts_receive(mica__parts *parts, mica_communicator *communicator, int32_t channel, int32_t from);

#endif
