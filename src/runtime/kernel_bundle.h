/* runtime/kernel_bundle.h: generated kernels that are built as one program. */
#ifndef MICA_RUNTIME_KERNEL_BUNDLE_H
#define MICA_RUNTIME_KERNEL_BUNDLE_H

#include "base/hash.h"
#include "runtime/kernel.h"

/* One kernel: OpenCL C of a kernel of that name, which may include files of cl/, every one of which the program has
 * once. A macro that another text may define otherwise is undefined before it is defined, and nothing else outside of
 * the kernel is defined. */
typedef struct mica__kernel_member {
  char *name, *text;
  mica__hash key; /* of both */
} mica__kernel_member;
typedef struct mica__kernel_bundle {
  mica__kernel_member *members;
  size_t count;
} mica__kernel_bundle;

/* Adds a copy, unless the bundle has the kernel already. */
mica_status mica__kernel_bundle_add(mica__kernel_bundle *bundle, const char *name, const char *text);
void mica__kernel_bundle_free(mica__kernel_bundle *bundle);

/* Sees to it that the engine has all kernels of the bundle. Those that it lacks are taken from programs of the disk
 * cache (runtime/program_file.h); the ones that no program there offers become one program. Blocks while compiling.
 * MICA_E_BUILD carries the driver's log. */
mica_status mica__kernel_bundle_build(mica_engine *engine, const mica__kernel_bundle *bundle);

/* The kernel of such a text: of a bundle that was built, else of a program of its own. */
mica_status mica__kernel_get_generated(mica_engine *engine, const char *name, const char *text, mica__kernel **kernel);

#endif
