/* base/large.h: allocates blocks of megabytes. */
#ifndef MICA_BASE_LARGE_H
#define MICA_BASE_LARGE_H

#include "base/shared.h"

#include <stddef.h>

/* The least size of a large block: a huge page fits into it. */
#define MICA__LARGE_BYTES ((size_t)2 << 20)

/* Allocates uninitialised memory that the caller soon writes completely, aligned for OpenCL's longest vector (on
 * Windows as by malloc). Free it with free(); NULL if memory is short. For large blocks the system is asked for huge
 * pages, which it provides in half the time and whose addresses translate faster. If it ignores that, the memory is
 * ordinary. */
MICA__SHARED void *mica__alloc_large(size_t bytes);

/* Allocates uninitialised memory at a multiple of alignment, a power of two; bytes must be a multiple of it. Free it
 * with mica__free_aligned, not free(). NULL if memory is short. */
void *mica__alloc_aligned(size_t alignment, size_t bytes);
void mica__free_aligned(void *block);

#endif
