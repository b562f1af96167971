/* mica/safetensors.h: named tensors in a file: weights and checkpoints.
 *
 * The format: 8 bytes with the header's size N (little-endian), N bytes of JSON {"name": {"dtype": "F32", "shape": [2,
 * 3], "data_offsets": [0, 24]}, ..., "__metadata__": {"key": "text"}}, and the elements, row-major and little-endian,
 * tensor after tensor without gaps. Nothing in it can run code. Files that Mica writes have a hash of their content as
 * the first text, "mica.hash": a damaged one is not opened. The functions below neither take nor give it. Without cJSON
 * in the build every function that reads or writes fails with MICA_E_UNSUPPORTED. */
#ifndef MICA_SAFETENSORS_H
#define MICA_SAFETENSORS_H

#include <mica/dtype.h>
#include <mica/shape.h>

MICA_BEGIN_DECLS

/* One tensor of a file. When writing, type may be NULL (the type is dtype's then), and bytes must be what type and
 * shape ask for. */
typedef struct mica_safetensors_entry {
  const char *name;
  const char *type; /* as the file spells it: "F32", "U32", "F8_E4M3" */
  mica_dtype dtype; /* MICA_DTYPE_COUNT where Mica has no such type */
  mica_shape shape;
  const void *data; /* aligned to 8 bytes where the file's writer was, not for vectors */
  size_t bytes;
} mica_safetensors_entry;

typedef struct mica_safetensors_pair {
  const char *key, *value;
} mica_safetensors_pair;

/* A file that is open for reading. It does not change: several threads may read it at once. */
typedef struct mica_safetensors mica_safetensors;

/* Maps the file and checks all of its header: MICA_E_FORMAT, naming file and reason, for whatever is not as the
 * format demands (a header above 100 MB, gaps, overlaps, sizes that do not fit, a name or key used twice, a header
 * that is no UTF-8 or has U+0000 in a text, more than MICA_MAX_RANK dimensions), for a BOOL that is neither 0 nor 1,
 * and for a file that Mica wrote whose hash is another now. MICA_E_NOT_FOUND, MICA_E_IO. A file that is replaced by
 * renaming, as mica_safetensors_write does, stays readable here; it must not be cut short in place while it is open. */
MICA_API MICA_CHECKED mica_status mica_safetensors_open(const char *path, mica_safetensors **file);

/* Opens a file's content in memory, which must outlive what is opened. name stands in messages. */
MICA_API MICA_CHECKED mica_status mica_safetensors_open_memory(const char *name, const void *data, size_t bytes,
                                                               mica_safetensors **file);

/* Entries and texts die with it. NULL is a no-op. */
MICA_API void mica_safetensors_close(mica_safetensors *file);

/* Entries in the order of their data. */
MICA_API size_t mica_safetensors_count(const mica_safetensors *file);
MICA_API const mica_safetensors_entry *mica_safetensors_at(const mica_safetensors *file, size_t index);
/* NULL when there is no such name. */
MICA_API const mica_safetensors_entry *mica_safetensors_find(const mica_safetensors *file, const char *name);

/* The texts under "__metadata__", in the file's order. */
MICA_API size_t mica_safetensors_metadata_count(const mica_safetensors *file);
MICA_API mica_safetensors_pair mica_safetensors_metadata_at(const mica_safetensors *file, size_t index);
/* NULL when there is no such key. */
MICA_API const char *mica_safetensors_metadata(const mica_safetensors *file, const char *key);

/* Makes path a file of these tensors and texts (metadata may be NULL when metadata_count is 0). At any moment, also
 * after a kill or a loss of power, path is the old file or the new one, whole: it is written beside its place, synced,
 * renamed. What killed writers left beside it goes. Equal input gives equal bytes. Wider types come first, so that each
 * tensor is aligned to its elements; otherwise the order is the caller's. Missing directories are made. MICA_E_IO says
 * what was in the way (a full disk, a directory that cannot be written); then the old file stays. MICA_E_INVALID: a
 * name or key given twice, a name "__metadata__", bytes that do not match, a type that the format lacks. */
MICA_API MICA_CHECKED mica_status mica_safetensors_write(const char *path, const mica_safetensors_entry *entries,
                                                         size_t count, const mica_safetensors_pair *metadata,
                                                         size_t metadata_count);

MICA_END_DECLS

#endif
