/* runtime/drivers.h: what drivers are told, or spared, by the environment. */
#ifndef MICA_RUNTIME_DRIVERS_H
#define MICA_RUNTIME_DRIVERS_H

#include <stddef.h>

/* Cores that this process may run on; 1 where that is not known. */
size_t mica__usable_cores(void);

/* To be called before PoCL is first asked for its devices: it has none, or compiles nothing, where it cannot write its
 * cache. Then a warning says so, and POCL_CACHE_DIR names a folder for temporary files instead. Looks once a process;
 * one thread at a time. */
void mica__drivers_check_pocl_cache(void);

#endif
