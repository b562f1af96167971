/* base/large.h: memory for blocks of megabytes. */
#ifndef MICA_BASE_LARGE_H
#define MICA_BASE_LARGE_H

#include <stddef.h>

/* From so many bytes on a block gains: below that it would be rounded up to a few pages too many. */
#define MICA__LARGE_BYTES ((size_t)4 << 20)

/* Uninitialised memory that is soon written from end to end, to be freed with free; NULL when memory is short. Asks
 * the system for huge pages, which it then finds in half the time, and which whoever walks through them translates the
 * addresses of faster. Where it gives none, or always does, it is as malloc. */
void *mica__alloc_large(size_t bytes);

#endif
