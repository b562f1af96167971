/* dist/group.h: communicators for some ranks of another one. */
#ifndef MICA_DIST_GROUP_H
#define MICA_DIST_GROUP_H

#include <mica/dist.h>

/* The transport of a communicator over messages; NULL: it has calls of its own. */
const mica_transport *mica__communicator_transport(const mica_communicator *communicator);
/* Begins a collective among some ranks of a communicator over messages; `among` is a view of its transport. `among`
 * and `ranks` must stay valid. */
mica_status mica__communicator_begin_among(mica_communicator *communicator, const mica_transport *among,
                                           const int32_t *ranks, const mica_transfer *transfer, void **request);
/* Frees what the communicator keeps for sums of this group. Call it before you free the view. */
void mica__communicator_forget(mica_communicator *communicator, const mica_transport *among);

#endif
