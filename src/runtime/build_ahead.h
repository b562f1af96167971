/* runtime/build_ahead.h: programs built by several processes before their kernels are asked for.
 *
 * Drivers' compilers use one core, and PoCL's holds a lock of the whole process. So the launches of a plan are prepared
 * twice: the first time only to learn which programs they need. */
#ifndef MICA_RUNTIME_BUILD_AHEAD_H
#define MICA_RUNTIME_BUILD_AHEAD_H

#include "runtime/build_list.h"

#include <mica/device.h>
#include <stdbool.h>

/* True if building ahead pays on this engine: it has a builder (mica_engine_config), a device that the builder finds by
 * its id, and a disk cache, into which the builder writes its programs. An engine that tunes does not build ahead,
 * because it asks for programs while it measures. */
bool mica__builds_ahead(const mica_engine *engine);

/* Builds the programs of the list, some here, some in other processes, and blocks until all are done. Programs that
 * fail are skipped: the error is reported when they are asked for again. */
void mica__build_ahead(mica_engine *engine, const mica__build_list *list);

#endif
