/* data/damaged.h: names all files of pictures that cannot be read, once the first fails. */
#ifndef MICA_DATA_DAMAGED_H
#define MICA_DATA_DAMAGED_H

#include "data/dataset.h"

/* To be called with the failure of a read. If more files of the pictures cannot be read, its sentence continues with
 * how many there are, and names ten. Returns status. */
mica_status mica__damaged_list(const mica__store *store, mica_status status);

#endif
