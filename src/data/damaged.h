/* data/damaged.h: names all picture files that cannot be read, once one has failed. */
#ifndef MICA_DATA_DAMAGED_H
#define MICA_DATA_DAMAGED_H

#include "data/dataset.h"

/* Call this with the failure of a read. If more of the pictures cannot be read, the message is extended by their number
 * and the names of ten. Returns status. */
mica_status mica__damaged_list(const mica__store *store, mica_status status);

#endif
