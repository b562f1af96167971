/* runtime/build_ahead.h: programs built before their kernels are asked for, by several processes.
 *
 * Compilers of drivers use one core, and PoCL's holds a lock of the whole process. Hence the launches of a plan are
 * prepared twice, the first time only to learn which programs they need. */
#ifndef MICA_RUNTIME_BUILD_AHEAD_H
#define MICA_RUNTIME_BUILD_AHEAD_H

#include "runtime/build_list.h"

#include <mica/device.h>
#include <stdbool.h>

/* True when it pays on this engine: it has a builder (mica_engine_config), and a disk cache through which that
 * delivers. An engine that tunes asks for programs while it measures, and does not build ahead. */
bool mica__builds_ahead(const mica_engine *engine);

/* Builds what is listed, part here, part in processes beside this one, and blocks until all is done. What cannot be
 * built is left out: whoever asks for it again is told why. */
void mica__build_ahead(mica_engine *engine, const mica__build_list *list);

#endif
