/* mica/safetensors.h: named tensors in a file: weights and checkpoints.
 *
 * The format: 8 bytes with the header's size N (little-endian); N bytes of JSON {"name": {"dtype": "F32", "shape": [2,
 * 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key": "text"}}; and the elements, row-major and little-endian,
 * tensor after tensor without gaps. Such a file cannot contain code. Files written by Mica store a hash of their
 * content as the first text under "__metadata__", with the key "mica.hash"; damaged files are refused. The functions
 * below hide this text. MICA_E_UNSUPPORTED: the build lacks cJSON.
 *
 * Threads: an open file does not change; several threads may read it at once. */
#ifndef MICA_SAFETENSORS_H
#define MICA_SAFETENSORS_H

#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

/* One tensor of a file. For writing, type may be NULL (dtype decides then), and bytes must match type and shape. */
typedef struct mica_safetensors_entry {
  const char *name;
  const char *type; /* as spelled in the file: "F32", "U32", "F8_E4M3" */
  mica_dtype dtype; /* MICA_DTYPE_COUNT for types that Mica lacks */
  mica_shape shape;
  const void *data; /* in Mica's files aligned to the element's size, at most 8 bytes; not aligned for vectors */
  size_t bytes;
} mica_safetensors_entry;

typedef struct mica_safetensors_pair {
  const char *key, *value;
} mica_safetensors_pair;

/* A file opened for reading. */
typedef struct mica_safetensors mica_safetensors;

/* Maps a file, checks its whole header and, if Mica wrote it, the hash of its content. A file that is replaced by
 * renaming, as mica_safetensors_write does, stays readable. It must not be truncated in place while it is open.
 * MICA_E_NOT_FOUND or MICA_E_IO: the file cannot be opened or read. MICA_E_FORMAT: the file has one of these faults,
 * and the message names the file and the fault:
 *
 *   - a header that is not a JSON object, is cut off or is above 100 MB; invalid UTF-8 or U+0000 in a text
 *   - gaps, overlaps, wrong sizes, or more than MICA_MAX_RANK dimensions
 *   - a name or key that occurs twice
 *   - an unknown type, or a BOOL other than 0 and 1
 *   - a file of Mica's with a wrong hash */
MICA_API MICA_CHECKED mica_status mica_safetensors_open(const char *path, mica_safetensors **file);

/* Opens a file whose content is in memory; data must stay valid until mica_safetensors_close. Error messages use
 * `name`. */
MICA_API MICA_CHECKED mica_status mica_safetensors_open_memory(const char *name, const void *data, size_t bytes,
                                                               mica_safetensors **file);

/* Closes a file. Its entries and texts become invalid. NULL is a no-op. */
MICA_API void mica_safetensors_close(mica_safetensors *file);

/* Number of entries, and entry number `index` in the order of data; NULL if index is too large. */
MICA_API size_t mica_safetensors_count(const mica_safetensors *file);
MICA_API const mica_safetensors_entry *mica_safetensors_at(const mica_safetensors *file, size_t index);
/* Entry of this name; NULL if there is no such entry. */
MICA_API const mica_safetensors_entry *mica_safetensors_find(const mica_safetensors *file, const char *name);

/* Texts under "__metadata__", in the file's order; NULLs if index is too large. */
MICA_API size_t mica_safetensors_metadata_count(const mica_safetensors *file);
MICA_API mica_safetensors_pair mica_safetensors_metadata_at(const mica_safetensors *file, size_t index);
/* Text with this key; NULL if there is no such key. */
MICA_API const char *mica_safetensors_metadata(const mica_safetensors *file, const char *key);

/* Writes tensors and texts into a file atomically: a temporary file beside it is synced and renamed. At any moment,
 * even after a kill or a power failure, path is the complete old or new file (a device or pipe is written directly).
 * Leftovers of killed writers are deleted. Missing directories are created. metadata may be NULL if metadata_count is
 * 0. Equal input gives equal bytes. Wider types come first, so that tensors are aligned; otherwise the order is the
 * caller's.
 *
 * MICA_E_IO: the message names the obstacle, such as a full disk; the old file stays. MICA_E_INVALID: a name or key
 * occurs twice, a name is "__metadata__", a name, key or text is NULL or not UTF-8, a shape is invalid, bytes or data
 * do not match it, or the format lacks a type. MICA_E_OVERFLOW: the header would be above 100 MB. */
MICA_API MICA_CHECKED mica_status mica_safetensors_write(const char *path, const mica_safetensors_entry *entries,
                                                         size_t count, const mica_safetensors_pair *metadata,
                                                         size_t metadata_count);

MICA_END_DECLS

#endif
