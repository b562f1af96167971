/* base/shared.h: the mark of private functions that libmica_run calls in libmica.
 *
 * They are exported under the version MICA_PRIVATE_<version>, so libraries of two versions refuse to load together.
 * They do not belong to the API. The test consumer.symbols limits their number. */
#ifndef MICA_BASE_SHARED_H
#define MICA_BASE_SHARED_H

#include <mica/api.h>

#define MICA__SHARED MICA_API

#endif
