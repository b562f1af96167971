/* base/memory.h: memory of the host. */
#ifndef MICA_BASE_MEMORY_H
#define MICA_BASE_MEMORY_H

/* Gives freed memory back to the system, after many small blocks were freed between some that stay. Only glibc has a
 * function for it. */
void mica__memory_trim(void);

#endif
