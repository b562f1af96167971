/* base/memory.h: host memory. */
#ifndef MICA_BASE_MEMORY_H
#define MICA_BASE_MEMORY_H

/* Returns freed memory to the system; useful after many small blocks between live ones were freed. Does nothing without
 * glibc. */
void mica__memory_trim(void);

#endif
