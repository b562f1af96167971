/* runtime/kernel_bundle.h: generated kernels that are built together as one program. */
#ifndef MICA_RUNTIME_KERNEL_BUNDLE_H
#define MICA_RUNTIME_KERNEL_BUNDLE_H

#include "base/hash.h"
#include "runtime/kernel.h"

/* One kernel: `text` is OpenCL C that defines the kernel `name`. The text may include files of cl/; the program
 * contains each file only once. The text must undefine a macro before it defines it if another text may define it
 * differently. Apart from macros, the text must define nothing outside the kernel. */
typedef struct mica__kernel_member {
  char *name, *text;
  mica__hash key; /* of name and text */
} mica__kernel_member;
typedef struct mica__kernel_bundle {
  mica__kernel_member *members;
  size_t count;
} mica__kernel_bundle;

/* Adds a copy of name and text, unless the bundle already has a kernel with this name and text. */
mica_status mica__kernel_bundle_add(mica__kernel_bundle *bundle, const char *name, const char *text);
void mica__kernel_bundle_free(mica__kernel_bundle *bundle);

/* Makes sure that the engine has all kernels of the bundle. Missing ones are taken from programs in the disk cache
 * (runtime/program_file.h); those that no stored program offers are built as one program. Blocks while compiling. While
 * the thread has an open build list, the program is only added to that list. MICA_E_BUILD: the message has the driver's
 * log. */
mica_status mica__kernel_bundle_build(mica_engine *engine, const mica__kernel_bundle *bundle);

/* Gets the kernel of a generated text. If the engine does not have it, takes it from the disk cache or builds a program
 * of this kernel alone. While the thread has an open build list, the program is only added to that list, and *kernel is
 * a placeholder. */
mica_status mica__kernel_get_generated(mica_engine *engine, const char *name, const char *text, mica__kernel **kernel);

#endif
