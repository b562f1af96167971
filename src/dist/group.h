/* dist/group.h: communicators among some ranks of another. */
#ifndef MICA_DIST_GROUP_H
#define MICA_DIST_GROUP_H

#include <mica/dist.h>

/* The transport of a communicator over messages; NULL for one that has calls of its own. */
const mica_transport *mica__communicator_transport(const mica_communicator *communicator);
/* Begins a collective of such a communicator among some of its ranks, by a view of its transport. Both stay. */
mica_status mica__communicator_begin_among(mica_communicator *communicator, const mica_transport *among,
                                           const int32_t *ranks, const mica_transfer *transfer, void **request);
/* Frees what the communicator keeps of sums among those: before the view of its transport goes. */
void mica__communicator_forget(mica_communicator *communicator, const mica_transport *among);

#endif
