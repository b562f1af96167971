/* dist/parts.h: lists of weights sent between ranks. */
#ifndef MICA_DIST_PARTS_H
#define MICA_DIST_PARTS_H

#include "nn/weights.h"

#include <mica/dist.h>
#include <mica/nn.h>

/* Adds the network's parameters that the session has, with their values. The optimiser's state is left out. Blocks
 * until the values are read. */
mica_status mica__weights_take(mica__weights *parts, const mica_nn *nn, mica_session *session, mica_queue *queue);
/* mica__weights_send sends the list `parts` to rank `to`. mica__weights_receive receives the list that rank `from`
 * sends, and appends it to `parts`. Both use `channel`, one message after another, and block. */
mica_status mica__weights_send(const mica__weights *parts, mica_communicator *communicator, int32_t channel,
                               int32_t to);
mica_status mica__weights_receive(mica__weights *parts, mica_communicator *communicator, int32_t channel, int32_t from);

#endif
