/* base/large.h: memory for blocks of megabytes. */
#ifndef MICA_BASE_LARGE_H
#define MICA_BASE_LARGE_H

#include "base/shared.h"

#include <stddef.h>

/* Blocks from this size on are large: a huge page fits into them. */
#define MICA__LARGE_BYTES ((size_t)2 << 20)

/* Uninitialised memory that is soon written from end to end, aligned for OpenCL's longest vector (on Windows as malloc
 * aligns it); to be freed with free; NULL when memory is short. For a large block the system is asked for huge pages,
 * which it finds in half the time, and whose addresses are translated faster. Where it gives none, or always does, it
 * is memory as any other. */
MICA__SHARED void *mica__alloc_large(size_t bytes);

/* Uninitialised memory at a multiple of alignment, a power of two; bytes is a multiple of it. mica__free_aligned frees
 * it, and free does not. NULL when memory is short. */
void *mica__alloc_aligned(size_t alignment, size_t bytes);
void mica__free_aligned(void *block);

#endif
