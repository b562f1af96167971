/* runtime/kernel_source.h: kernel texts, embedded in the library or read from disk, and their includes. */
#ifndef MICA_RUNTIME_KERNEL_SOURCE_H
#define MICA_RUNTIME_KERNEL_SOURCE_H

#include "base/hash.h"
#include "base/text.h"

#include <mica/device.h>

/* One file of cl/, made at build time; sorted by path. */
typedef struct mica__kernel_source {
  const char *path; /* "common/dtype.clh" */
  const char *const *lines;
  size_t line_count;
} mica__kernel_source;

extern const mica__kernel_source mica__kernel_sources[];
extern const size_t mica__kernel_source_count;

/* A hash of all embedded files: what was measured with other kernels says nothing about these. */
mica__hash mica__kernel_source_hash(void);

/* Appends what the source of a program made of cl/ begins with on the device. *option is the build option that goes
 * with it, beginning with a space, or "" (mica__compiler_builtins). The text is embedded, whatever MICA_KERNEL_DIR
 * says. */
mica_status mica__kernel_source_begin(const mica_device_info *device, mica__text *out, const char **option);

/* Appends the file `path` with every #include "..." replaced by the file it names (each at most once), and #line
 * directives so that a build log speaks of the files. The file comes from the directory MICA_KERNEL_DIR of the
 * environment when that is set, else from the embedded table. MICA_E_NOT_FOUND names a file that is missing and the one
 * that wanted it. */
mica_status mica__kernel_source_expand(const char *path, mica__text *out);

/* Expands a text in memory, named `path` in messages. For fuzzing and for generated kernels. */
mica_status mica__kernel_source_expand_text(const char *path, const char *text, size_t bytes, mica__text *out);

#endif
