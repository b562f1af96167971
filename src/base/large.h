/* base/large.h: memory for blocks of megabytes. */
#ifndef MICA_BASE_LARGE_H
#define MICA_BASE_LARGE_H

#include "base/shared.h"

#include <stddef.h>

/* Blocks from this size on are large: a huge page fits into them. */
#define MICA__LARGE_BYTES ((size_t)2 << 20)

/* Uninitialised memory, aligned for OpenCL's longest vector, that is soon written from end to end; to be freed with
 * free; NULL when memory is short. For a large block the system is asked for huge pages, which it finds in half the
 * time, and whose addresses are translated faster. Where it gives none, or always does, it is memory as any other. */
MICA__SHARED void *mica__alloc_large(size_t bytes);

#endif
