/* base/large.h: allocates blocks of several megabytes, and aligned blocks. */
#ifndef MICA_BASE_LARGE_H
#define MICA_BASE_LARGE_H

#include "base/shared.h"

#include <stddef.h>

/* The least size of a large block: a huge page fits into it. */
#define MICA__LARGE_BYTES ((size_t)2 << 20)

/* Allocates uninitialised memory that the caller soon writes completely, aligned for OpenCL's longest vector (on
 * Windows as by malloc). Free it with free(); NULL if memory is short. Linux is asked for huge pages for large blocks:
 * they are provided in half the time and need fewer TLB entries. If the system ignores this, the memory has ordinary
 * pages. */
MICA__SHARED void *mica__alloc_large(size_t bytes);

/* Allocates uninitialised memory at a multiple of alignment, a power of two; bytes must be a multiple of it. Free it
 * with mica__free_aligned, not free(). NULL if memory is short. */
void *mica__alloc_aligned(size_t alignment, size_t bytes);
void mica__free_aligned(void *block);

#endif
