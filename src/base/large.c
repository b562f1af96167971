#define _DEFAULT_SOURCE /* madvise; NOLINT(bugprone-reserved-identifier): the system's own switch */

#include "base/large.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

void *mica__alloc_large(size_t bytes) {
  if (bytes < MICA__LARGE_BYTES) return malloc(bytes ? bytes : 1);
  void *block = aligned_alloc(HUGE_PAGE, bytes);
#ifdef MADV_HUGEPAGE
  /* Advice: a system that does not take it still has given the memory. */
  if (block) (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}
