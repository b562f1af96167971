/* dist/parts.h: lists of weights sent between ranks. */
#ifndef MICA_DIST_PARTS_H
#define MICA_DIST_PARTS_H

#include "nn/weights.h"

#include <mica/dist.h>
#include <mica/nn.h>

/* Adds a network's parameters without the optimiser's, with their values in the session. Blocks. */
mica_status mica__weights_take(mica__weights *parts, const mica_nn *nn, mica_session *session, mica_queue *queue);
/* Send a list to another rank, and receive one; the messages use the channel in order. */
mica_status mica__weights_send(const mica__weights *parts, mica_communicator *communicator, int32_t channel,
                               int32_t to);
mica_status mica__weights_receive(mica__weights *parts, mica_communicator *communicator, int32_t channel, int32_t from);

#endif
