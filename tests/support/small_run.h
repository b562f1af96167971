/* tests/support/small_run.h: a small run through everything the runtime does, for tests that make parts of it fail. */
#ifndef MICA_TESTS_SUPPORT_SMALL_RUN_H
#define MICA_TESTS_SUPPORT_SMALL_RUN_H

#include <mica/device.h>
#include <stdbool.h>

/* Buffers, tensors and views, every transfer, a kernel from source, launches, a recording replayed, a second queue, a
 * profile and its trace (written to trace_path). Whatever fails, all that was made is released again, and the first
 * failure is returned with its sentence. MICA_E_NUMERIC when all calls succeed and a result is wrong; `computes` tells
 * whether the device runs kernels at all. */
mica_status small_run(mica_engine *engine, bool computes, const char *trace_path);

#endif
