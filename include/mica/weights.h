/* mica/weights.h: the weights of a published model by name, whatever its files are.
 *
 *   mica_weights *weights;
 *   if (mica_weights_open("SmolLM2-135M-Instruct.Q4_1.gguf", &weights) != MICA_OK) ...
 *   const mica_weight_entry *table = mica_weights_find(weights, "token_embd.weight");
 *
 * Files are mapped, not read: opening touches their headers alone. Two kinds are read whole: tensors of bools, and a
 * safetensors file that Mica wrote, to check its hash. A file may be replaced by renaming while it is open. It must
 * not be cut short in place: reading the lost pages would end the process (SIGBUS).
 *
 * What is open does not change: several threads may read it at once. Experimental: may change in the next two minor
 * versions. */
#ifndef MICA_WEIGHTS_H
#define MICA_WEIGHTS_H

#include <mica/blocks.h>
#include <mica/dtype.h>
#include <mica/shape.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

struct mica_gguf;

/* One tensor of a file. Its elements are of a dtype or, if `block` is not MICA_BLOCK_NONE, in blocks of that type. */
typedef struct mica_weight_entry {
  const char *name;
  const char *type; /* as the file spells it: "F32", "BF16", "F8_E4M3", "Q4_K", "IQ4_XS" */
  mica_dtype dtype; /* MICA_DTYPE_COUNT: blocks, or a type that Mica does not compute with */
  mica_block block;
  mica_shape shape; /* in elements, outermost first */
  const void *data; /* dtypes in the host's byte order, blocks as in the file; any address */
  size_t bytes;
  size_t file; /* which of mica_weights_file_at has it */
} mica_weight_entry;

/* A file that is open, as it lies in memory. */
typedef struct mica_weight_file {
  const char *path;
  const void *data; /* whole pages; entries lie in it, but on big-endian hosts, which have copies */
  size_t bytes;
} mica_weight_file;

typedef struct mica_weights mica_weights;

/* Opens one of:
 *
 *   X.safetensors               a file
 *   X.safetensors.index.json    all files that the index names, which lie beside it
 *   X.gguf                      a file; X-00001-of-0000N.gguf: all N files
 *   a folder                    model.safetensors.index.json, else model.safetensors, else its only index, its only
 *                               safetensors file or its only GGUF file, in this order
 *
 * A file is recognised by its content or by the ending .gguf. MICA_E_NOT_FOUND when there is nothing of the kind;
 * MICA_E_FORMAT for what mica_safetensors_open and mica_gguf_open refuse, for an index that names a file outside its
 * folder, for a tensor that the file of the index lacks, that the index lacks, or that two files have;
 * MICA_E_UNSUPPORTED for safetensors in a build without cJSON. An index whose total_size is wrong is a warning in the
 * log. */
MICA_API MICA_CHECKED mica_status mica_weights_open(const char *path, mica_weights **weights);

/* Adds an owner, which calls mica_weights_close as well. Any thread. Returns weights. */
MICA_API mica_weights *mica_weights_retain(mica_weights *weights);
/* Gives up one owner's share; the last one unmaps the files, and entries and texts die. NULL is a no-op. Any thread. */
MICA_API void mica_weights_close(mica_weights *weights);

/* Entries by file, and within a file in its order. */
MICA_API size_t mica_weights_count(const mica_weights *weights);
MICA_API const mica_weight_entry *mica_weights_at(const mica_weights *weights, size_t index);
/* NULL when there is no such name. */
MICA_API const mica_weight_entry *mica_weights_find(const mica_weights *weights, const char *name);

/* The files, in the order of the shards; NULL beyond the last. */
MICA_API size_t mica_weights_file_count(const mica_weights *weights);
MICA_API const mica_weight_file *mica_weights_file_at(const mica_weights *weights, size_t index);

/* The GGUF file behind the weights, for its keys; NULL when they are of safetensors files. It belongs to weights. */
MICA_API const struct mica_gguf *mica_weights_gguf(const mica_weights *weights);

MICA_END_DECLS

#endif
