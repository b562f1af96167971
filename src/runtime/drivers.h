/* runtime/drivers.h: environment variables that drivers read, and the number of cores that this process may use. */
#ifndef MICA_RUNTIME_DRIVERS_H
#define MICA_RUNTIME_DRIVERS_H

#include <stddef.h>

/* The number of cores that this process may keep busy: those it may run on, but at most the quota of its control group
 * (a container's limit of CPU time) at the first call. 1 if unknown. */
size_t mica__usable_cores(void);

/* Sets POCL_CACHE_DIR to a temporary folder if PoCL cannot write its cache, because PoCL would then have no devices or
 * compile nothing. Call this before platforms are listed, even if PoCL may not be among them: if there are several
 * platforms, the loader (ocl-icd) asks each for its devices to sort them. Checks once per process. Only one thread at a
 * time may call this. */
void mica__drivers_prepare_pocl_cache(void);
/* Call this when PoCL is found: warns once if its cache cannot be written. */
void mica__drivers_warn_of_pocl_cache(void);

#endif
