/* runtime/drivers.h: what drivers are told, or spared, by the environment. */
#ifndef MICA_RUNTIME_DRIVERS_H
#define MICA_RUNTIME_DRIVERS_H

#include <stddef.h>

/* Cores that this process may keep busy: those that it may run on, at most the quota of its control group (a
 * container's limit of CPU time) at the first call. 1 if that is not known. */
size_t mica__usable_cores(void);

/* PoCL has no devices, or compiles nothing if it cannot write its cache: then POCL_CACHE_DIR is made to name a
 * folder for temporary files. To be called before platforms are listed, whether PoCL is one of them or not: if
 * there are several, the loader (ocl-icd) asks each for its devices to bring them into an order. Looks once a process;
 * one thread at a time. */
void mica__drivers_prepare_pocl_cache(void);
/* To be called where PoCL is found: says so, once. */
void mica__drivers_warn_of_pocl_cache(void);

#endif
