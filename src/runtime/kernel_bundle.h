/* runtime/kernel_bundle.h: generated kernels that are built together as one program. */
#ifndef MICA_RUNTIME_KERNEL_BUNDLE_H
#define MICA_RUNTIME_KERNEL_BUNDLE_H

#include "base/hash.h"
#include "runtime/kernel.h"

/* One kernel: OpenCL C of a kernel with that name. It may include files of cl/, each of which the program contains only
 * once. A macro that another text may define differently must be undefined before it is defined. Nothing else may be
 * defined outside the kernel. */
typedef struct mica__kernel_member {
  char *name, *text;
  mica__hash key; /* of name and text */
} mica__kernel_member;
typedef struct mica__kernel_bundle {
  mica__kernel_member *members;
  size_t count;
} mica__kernel_bundle;

/* Adds a copy, unless the bundle has the kernel already. */
mica_status mica__kernel_bundle_add(mica__kernel_bundle *bundle, const char *name, const char *text);
void mica__kernel_bundle_free(mica__kernel_bundle *bundle);

/* Makes sure that the engine has all kernels of the bundle. Missing ones are taken from programs in the disk cache
 * (runtime/program_file.h); those that no stored program offers are built as one program. Blocks while compiling.
 * MICA_E_BUILD: the message has the driver's log. */
mica_status mica__kernel_bundle_build(mica_engine *engine, const mica__kernel_bundle *bundle);

/* Gets the kernel of a generated text, from a bundle that was built, else from a program of its own. */
mica_status mica__kernel_get_generated(mica_engine *engine, const char *name, const char *text, mica__kernel **kernel);

#endif
