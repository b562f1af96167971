/* dist/parts.h: what a file of all ranks' weights is made of. */
#ifndef MICA_DIST_PARTS_H
#define MICA_DIST_PARTS_H

#include "ops/collective/parts.h"

#include <mica/nn.h>

/* Adds the weights and state of a network. Blocks. */
mica_status mica__parts_take(mica__parts *parts, const mica_nn *nn, mica_session *session, mica_queue *queue);

#endif
