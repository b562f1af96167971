/* data/damaged.h: names all picture files that cannot be read, once one has failed. */
#ifndef MICA_DATA_DAMAGED_H
#define MICA_DATA_DAMAGED_H

#include "data/dataset.h"

/* Call this with the status of a failed read. If other pictures cannot be read either, adds the number of unreadable
 * pictures and the names of up to ten to the message. Returns `status`. */
mica_status mica__damaged_list(const mica__store *store, mica_status status);

#endif
