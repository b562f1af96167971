/* dist/parts.h: lists of weights on their way between ranks. */
#ifndef MICA_DIST_PARTS_H
#define MICA_DIST_PARTS_H

#include "nn/weights.h"

#include <mica/dist.h>
#include <mica/nn.h>

/* Adds the weights and state of a network. Blocks. */
mica_status mica__weights_take(mica__weights *parts, const mica_nn *nn, mica_session *session, mica_queue *queue);
/* All of them to another rank, and what such a rank sends; one after the other on the channel. */
mica_status mica__weights_send(const mica__weights *parts, mica_communicator *communicator, int32_t channel,
                               int32_t to);
mica_status mica__weights_receive(mica__weights *parts, mica_communicator *communicator, int32_t channel, int32_t from);

#endif
