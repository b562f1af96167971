/* mica/weights.h: weights of published models by name, in any file format.
 *
 *   mica_weights *weights;
 *   if (mica_weights_open("SmolLM2-135M-Instruct.Q4_1.gguf", &weights) != MICA_OK) ...
 *   const mica_weight_entry *table = mica_weights_find(weights, "token_embd.weight");
 *
 * Files are mapped; opening reads only their headers. Two kinds are read whole: tensors of bools, and safetensors files
 * that Mica wrote, to check their hash. If a signature is required (mica/signature.h), every file is read whole. An
 * open file may be replaced by renaming. It must not be truncated in place: reading the lost pages would end the
 * process (SIGBUS).
 *
 * Threads: open weights do not change; several threads may read them at once. */
#ifndef MICA_WEIGHTS_H
#define MICA_WEIGHTS_H

#include <mica/blocks.h>
#include <mica/dtype.h>
#include <mica/shape.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

struct mica_gguf;

/* One tensor of a file. data holds single elements if `block` is MICA_BLOCK_NONE, else blocks of that type. */
typedef struct mica_weight_entry {
  const char *name;
  const char *type; /* as spelled in the file: "F32", "BF16", "F8_E4M3", "Q4_K", "IQ4_XS" */
  mica_dtype dtype; /* MICA_DTYPE_COUNT: blocks, or a type that Mica does not compute with */
  mica_block block;
  mica_shape shape; /* in elements, outermost first */
  const void *data; /* elements in the host's byte order, or blocks as in the file; not aligned */
  size_t bytes;
  size_t file; /* index of its file in mica_weights_file_at */
} mica_weight_entry;

/* An open file in memory. */
typedef struct mica_weight_file {
  const char *path;
  const void *data; /* begins at a page; entries point into it, except on big-endian hosts, where entries are copies */
  size_t bytes;
} mica_weight_file;

typedef struct mica_weights mica_weights;

/* Opens one of:
 *
 *   X.safetensors               a file
 *   X.safetensors.index.json    all files that the index names, in the same folder
 *   X.gguf                      a file; X-00001-of-0000N.gguf: all N files
 *   folder                      the first of these that exists: model.safetensors.index.json, model.safetensors, its
 *                               only index, its only safetensors file, its only GGUF file
 *
 * The content or the ending .gguf identifies a file. An index with a wrong total_size only logs a warning.
 *
 * MICA_E_NOT_FOUND: there is no such file; or the folder has none of these, or several of the kind that would be
 * chosen. MICA_E_UNSUPPORTED: safetensors in a build without cJSON. MICA_E_FORMAT: mica_safetensors_open or
 * mica_gguf_open refuses a file; an index names a file outside its folder; a tensor is missing in the index or in its
 * file; two files have the same tensor. */
MICA_API MICA_CHECKED mica_status mica_weights_open(const char *path, mica_weights **weights);

/* Adds an owner, who must call mica_weights_close too. Returns weights. Any thread. */
MICA_API mica_weights *mica_weights_retain(mica_weights *weights);
/* Releases one owner's share. The last one unmaps the files; entries and texts become invalid. NULL is a no-op. Any
 * thread. */
MICA_API void mica_weights_close(mica_weights *weights);

/* Number of entries, and entry number `index`: file after file, in each file's order. NULL if index is too large. */
MICA_API size_t mica_weights_count(const mica_weights *weights);
MICA_API const mica_weight_entry *mica_weights_at(const mica_weights *weights, size_t index);
/* Entry of this name; NULL if it does not exist. */
MICA_API const mica_weight_entry *mica_weights_find(const mica_weights *weights, const char *name);

/* Files, in the order of shards; NULL if index is too large. */
MICA_API size_t mica_weights_file_count(const mica_weights *weights);
MICA_API const mica_weight_file *mica_weights_file_at(const mica_weights *weights, size_t index);

/* The GGUF file, to read its keys; NULL for safetensors files. The weights own it. */
MICA_API const struct mica_gguf *mica_weights_gguf(const mica_weights *weights);

MICA_END_DECLS

#endif
