#include "base/memory.h"

#include <mica/api.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

void mica_free(void *memory) { free(memory); }

void mica__memory_trim(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}
