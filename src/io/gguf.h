/* io/gguf.h: the tensor types of GGUF, and functions for one file. A model may be split into several files (shards),
 * which io/gguf.c joins. */
#ifndef MICA_IO_GGUF_H
#define MICA_IO_GGUF_H

#include "io/weight_table.h"

#include <mica/gguf.h>
#include <stdbool.h>

/* Tensor types that are not block types of Mica: name, number, elements of a block, bytes of a block, Mica's dtype or
 * MICA_DTYPE_COUNT if it has none. */
#define MICA__GGUF_TYPE_LIST(X)                                                                                        \
  X(F32, 0, 1, 4, MICA_F32)                                                                                            \
  X(F16, 1, 1, 2, MICA_F16)                                                                                            \
  X(Q8_1, 9, 32, 40, MICA_DTYPE_COUNT)                                                                                 \
  X(Q2_K, 10, 256, 84, MICA_DTYPE_COUNT)                                                                               \
  X(Q3_K, 11, 256, 110, MICA_DTYPE_COUNT)                                                                              \
  X(Q8_K, 15, 256, 292, MICA_DTYPE_COUNT)                                                                              \
  X(IQ2_XXS, 16, 256, 66, MICA_DTYPE_COUNT)                                                                            \
  X(IQ2_XS, 17, 256, 74, MICA_DTYPE_COUNT)                                                                             \
  X(IQ3_XXS, 18, 256, 98, MICA_DTYPE_COUNT)                                                                            \
  X(IQ1_S, 19, 256, 50, MICA_DTYPE_COUNT)                                                                              \
  X(IQ4_NL, 20, 32, 18, MICA_DTYPE_COUNT)                                                                              \
  X(IQ3_S, 21, 256, 110, MICA_DTYPE_COUNT)                                                                             \
  X(IQ2_S, 22, 256, 82, MICA_DTYPE_COUNT)                                                                              \
  X(IQ4_XS, 23, 256, 136, MICA_DTYPE_COUNT)                                                                            \
  X(I8, 24, 1, 1, MICA_I8)                                                                                             \
  X(I16, 25, 1, 2, MICA_I16)                                                                                           \
  X(I32, 26, 1, 4, MICA_I32)                                                                                           \
  X(I64, 27, 1, 8, MICA_I64)                                                                                           \
  X(F64, 28, 1, 8, MICA_F64)                                                                                           \
  X(IQ1_M, 29, 256, 56, MICA_DTYPE_COUNT)                                                                              \
  X(BF16, 30, 1, 2, MICA_BF16)                                                                                         \
  X(TQ1_0, 34, 256, 54, MICA_DTYPE_COUNT)                                                                              \
  X(TQ2_0, 35, 256, 66, MICA_DTYPE_COUNT)                                                                              \
  X(NVFP4, 40, 64, 36, MICA_DTYPE_COUNT)                                                                               \
  X(Q1_0, 41, 128, 18, MICA_DTYPE_COUNT)

typedef struct mica__gguf_type {
  const char *name;
  int32_t number;
  int64_t elements; /* of a block */
  size_t bytes;
  mica_dtype dtype;
  mica_block block;
} mica__gguf_type;

/* Finds the type with this number; NULL if the format has no such type, or removed it. */
const mica__gguf_type *mica__gguf_type_numbered(uint32_t number);
/* Returns the name of a type that was removed from the format; NULL if no such type had this number. */
const char *mica__gguf_type_removed(uint32_t number);
/* Returns the file's type for an entry that will be written; NULL if the format has none. */
const mica__gguf_type *mica__gguf_type_of(const mica_weight_entry *entry);

/* Returns the bytes of an element of a kind; 0 if they vary or the number is not a kind. */
size_t mica__gguf_kind_bytes(uint32_t kind);

/* Computes the bytes of a tensor. False if they overflow, if the shape is invalid or has more than MICA__GGUF_MAX_RANK
 * dimensions, or if the last dimension is not a multiple of the block's elements. */
bool mica__gguf_bytes(const mica__gguf_type *type, mica_shape shape, size_t *bytes);

#define MICA__GGUF_MAX_KEY 65535
#define MICA__GGUF_MAX_NAME 64
#define MICA__GGUF_MAX_RANK 4
#define MICA__GGUF_MAX_DEPTH 4 /* arrays in arrays */
#define MICA__GGUF_MAX_ALIGNMENT 4096
#define MICA__GGUF_ALIGNMENT 32
#define MICA__GGUF_ALIGNMENT_KEY "general.alignment"

/* Checks a key or the name of a tensor. It must be 1 to `most` bytes of UTF-8 without U+0000; otherwise fails with
 * `status`. `what`, such as "a key", is for the message. */
mica_status mica__gguf_check_name(mica_status status, const char *path, const char *what, const char *text,
                                  size_t bytes, size_t most);
/* Reads the alignment of tensor data, in bytes, from the value of its key. If value is NULL, the file has no such key,
 * and the alignment is MICA__GGUF_ALIGNMENT. Fails with `status` if the value is not allowed. */
mica_status mica__gguf_alignment(mica_status status, const char *path, const mica_gguf_value *value, size_t *alignment);
/* Lists the keys by name in *sorted, which the caller frees, also after a failure. Fails with `status` if two are
 * equal. */
mica_status mica__gguf_sort_keys(mica_status status, const char *path, const mica_gguf_value *keys, size_t count,
                                 const mica_gguf_value ***sorted);

/* A file: a whole model or a shard. Zero-initialise; mica__gguf_part_free also unmaps it. */
typedef struct mica__gguf_part {
  mica_weight_file file; /* its path is `path` below */
  char *path;
  bool mapped;
  mica_gguf_value *keys;
  const mica_gguf_value **by_key; /* sorted */
  size_t key_count;
  mica__weight_table tensors; /* in file order; not sorted by name */
  mica_gguf_text *texts;      /* of all values */
  mica_gguf_value *arrays;    /* arrays within arrays */
  char *names;                /* of keys and tensors, NUL-terminated */
  unsigned char *ordered;     /* on a big-endian host, a copy of all numbers in the host's byte order; else NULL */
} mica__gguf_part;

/* Parses the header of part->file, whose bytes are in memory. The caller calls mica__gguf_part_free later, even after a
 * failure. */
mica_status mica__gguf_part_read(mica__gguf_part *part);
const mica_gguf_value *mica__gguf_part_find(const mica__gguf_part *part, const char *key);
void mica__gguf_part_free(mica__gguf_part *part);

#endif
