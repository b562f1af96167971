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

/* A hash of the code of all embedded files. The key of stored measurements contains it, because they do not apply to
 * changed kernels. */
mica__hash mica__kernel_source_hash(void);

/* Appends the text with which every program made from cl/ begins on the device: declarations of built-in functions, or
 * nothing (mica__compiler_builtins). Sets *option to the build option that this text needs, with a space before it, or
 * to "". The text is always the embedded one, even if MICA_KERNEL_DIR is set. */
mica_status mica__kernel_source_begin(const mica_device_info *device, mica__text *out, const char **option);

/* Appends the file `path`, without comments, and with every #include "..." replaced by the file it names. A file that
 * was included before is left out. #line directives are added, so that a build log refers to the files. Files are read
 * from the directory MICA_KERNEL_DIR if the environment sets it, otherwise from the embedded table.
 *   MICA_E_NOT_FOUND  a file is missing; the message names it and the file that includes it
 *   MICA_E_FORMAT     a file ends in a comment or is too large, or there are too many includes, or they are nested too
 *                     deeply, or the name of one is too long
 *   MICA_E_IO         a file cannot be read
 *   MICA_E_NOMEM      memory is short */
mica_status mica__kernel_source_expand(const char *path, mica__text *out);

/* Like mica__kernel_source_expand, for a text in memory, which messages call `path`. Used for generated kernels and by
 * fuzzers. */
mica_status mica__kernel_source_expand_text(const char *path, const char *text, size_t bytes, mica__text *out);

#endif
