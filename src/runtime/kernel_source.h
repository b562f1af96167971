/* runtime/kernel_source.h: kernel texts, embedded in the library or read from disk, with their includes. */
#ifndef MICA_RUNTIME_KERNEL_SOURCE_H
#define MICA_RUNTIME_KERNEL_SOURCE_H

#include "base/hash.h"
#include "base/text.h"

#include <mica/device.h>

/* One file of cl/. The table is made at build time, sorted by path. */
typedef struct mica__kernel_source {
  const char *path; /* "common/dtype.clh" */
  const char *const *lines;
  size_t line_count;
} mica__kernel_source;

extern const mica__kernel_source mica__kernel_sources[];
extern const size_t mica__kernel_source_count;

/* A hash of the code of all embedded files: measurements of other kernels do not apply to these. */
mica__hash mica__kernel_source_hash(void);

/* Appends the beginning of a source made from cl/ for the device. *option is the build option that it needs, beginning
 * with a space, or "" (mica__compiler_builtins). The text is embedded, whatever MICA_KERNEL_DIR says. */
mica_status mica__kernel_source_begin(const mica_device_info *device, mica__text *out, const char **option);

/* Appends the file `path`, with every #include "..." replaced by the file it names (each at most once), and with
 * #line directives, so that a build log refers to the files. Comments are left out. The file is read from the
 * directory MICA_KERNEL_DIR if the environment sets it, else from the embedded table. MICA_E_NOT_FOUND: the message
 * names the missing file and the one that includes it. MICA_E_FORMAT: a file ends in a comment or is too large, or
 * there are too many includes, nested too deeply or with too long a name. */
mica_status mica__kernel_source_expand(const char *path, mica__text *out);

/* Expands a text in memory, called `path` in messages. For fuzzing and for generated kernels. */
mica_status mica__kernel_source_expand_text(const char *path, const char *text, size_t bytes, mica__text *out);

#endif
