#define _DEFAULT_SOURCE /* madvise; NOLINT(bugprone-reserved-identifier): the system defines this switch */

#include "base/large.h"

#include "base/checked.h"

#include <stdlib.h>
#include <sys/mman.h>

#ifdef _WIN32
#include <malloc.h>
#endif

#define HUGE_PAGE MICA__LARGE_BYTES
#define LONGEST_VECTOR 128

void *mica__alloc_aligned(size_t alignment, size_t bytes) {
#ifdef _WIN32
  return _aligned_malloc(bytes, alignment);
#else
  return aligned_alloc(alignment, bytes);
#endif
}

void mica__free_aligned(void *block) {
#ifdef _WIN32
  _aligned_free(block);
#else
  free(block);
#endif
}

#ifdef _WIN32
void *mica__alloc_large(size_t bytes) { return malloc(bytes ? bytes : 1); }
#else
void *mica__alloc_large(size_t bytes) {
  const size_t alignment = bytes < HUGE_PAGE ? LONGEST_VECTOR : HUGE_PAGE;
  size_t end = 0;
  if (!mica__add_size(bytes ? bytes : 1, alignment - 1, &end)) return NULL;
  void *block = aligned_alloc(alignment, end / alignment * alignment);
#ifdef MADV_HUGEPAGE
  /* madvise is only a hint, so its failure is ignored. The hint does not cover the bytes that rounding up added. */
  if (block && bytes >= HUGE_PAGE) (void)madvise(block, bytes, MADV_HUGEPAGE);
#endif
  return block;
}
#endif
