/* dist/group.h: communicators for some of the ranks of another communicator. */
#ifndef MICA_DIST_GROUP_H
#define MICA_DIST_GROUP_H

#include <mica/dist.h>

/* The transport of a communicator that sends messages. NULL for a group, and for a communicator that does not send
 * messages. */
const mica_transport *mica__communicator_transport(const mica_communicator *communicator);
/* Begins a collective among some ranks of a communicator that sends messages. `among` is a view of its transport with
 * the ranks of the group. ranks[k] is the communicator's rank of the group's rank k. `among` and `ranks` must stay
 * valid until mica__communicator_forget. */
mica_status mica__communicator_begin_among(mica_communicator *communicator, const mica_transport *among,
                                           const int32_t *ranks, const mica_transfer *transfer, void **request);
/* Frees the residuals (rounding errors of compressed sums) that the communicator keeps for this group. Call it before
 * you free the view. */
void mica__communicator_forget(mica_communicator *communicator, const mica_transport *among);

#endif
