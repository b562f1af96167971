/* dist/group.h: communicators for some ranks of another one. */
#ifndef MICA_DIST_GROUP_H
#define MICA_DIST_GROUP_H

#include <mica/dist.h>

/* Transport of a communicator over messages; NULL if it has calls of its own. */
const mica_transport *mica__communicator_transport(const mica_communicator *communicator);
/* Begins a collective of such a communicator among some of its ranks, given a view of its transport. Both must stay
 * valid. */
mica_status mica__communicator_begin_among(mica_communicator *communicator, const mica_transport *among,
                                           const int32_t *ranks, const mica_transfer *transfer, void **request);
/* Frees what the communicator keeps for sums in this group. Call it before freeing the view. */
void mica__communicator_forget(mica_communicator *communicator, const mica_transport *among);

#endif
