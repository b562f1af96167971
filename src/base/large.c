#define _DEFAULT_SOURCE /* madvise; NOLINT(bugprone-reserved-identifier): the system's own switch */

#include "base/large.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE MICA__LARGE_BYTES
#define LONGEST_VECTOR 128

void *mica__alloc_large(size_t bytes) {
  void *block = aligned_alloc(bytes < HUGE_PAGE ? LONGEST_VECTOR : HUGE_PAGE, bytes ? bytes : 1);
#ifdef MADV_HUGEPAGE
  /* Advice: a system that does not take it still has given the memory. */
  if (block && bytes >= HUGE_PAGE) (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}
