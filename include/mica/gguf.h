/* mica/gguf.h: GGUF files, versions 2 and 3: keys with values, and named tensors of numbers or blocks.
 *
 *   mica_gguf *file;
 *   if (mica_gguf_open("SmolLM2-135M-Instruct.Q4_1.gguf", &file) != MICA_OK) ...
 *   int64_t layers = mica_gguf_integer(mica_gguf_find(file, "llama.block_count"), 0);
 *
 * The file is mapped and checked whole when it is opened; mica/weights.h says what may happen to a mapped file. What is
 * open does not change: several threads may read it at once. Functions that look at values accept NULL, which
 * mica_gguf_find returns for a missing key. Experimental: may change in the next two minor versions.
 *
 * The format: "GGUF", version, number of tensors, number of keys; the keys; names, shapes (innermost dimension first),
 * types and offsets of tensors; their data, each aligned to "general.alignment" (32 if the key is missing). All numbers
 * are little-endian. */
#ifndef MICA_GGUF_H
#define MICA_GGUF_H

#include <mica/weights.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* name, token, the format's number, bytes of an element (0: they vary) */
#define MICA_GGUF_KIND_LIST(X)                                                                                         \
  X(U8, u8, 0, 1)                                                                                                      \
  X(I8, i8, 1, 1)                                                                                                      \
  X(U16, u16, 2, 2)                                                                                                    \
  X(I16, i16, 3, 2)                                                                                                    \
  X(U32, u32, 4, 4)                                                                                                    \
  X(I32, i32, 5, 4)                                                                                                    \
  X(F32, f32, 6, 4)                                                                                                    \
  X(BOOL, bool, 7, 1)                                                                                                  \
  X(TEXT, text, 8, 0)                                                                                                  \
  X(ARRAY, array, 9, 0)                                                                                                \
  X(U64, u64, 10, 8)                                                                                                   \
  X(I64, i64, 11, 8)                                                                                                   \
  X(F64, f64, 12, 8)

typedef enum mica_gguf_kind {
#define MICA_GGUF_KIND_ENUM(name, token, number, bytes) MICA_GGUF_KIND_##name = number,
  MICA_GGUF_KIND_LIST(MICA_GGUF_KIND_ENUM)
#undef MICA_GGUF_KIND_ENUM
      MICA_GGUF_KIND_COUNT
} mica_gguf_kind;

/* "u32", "text", "array"; "?" for a value that is no kind. */
MICA_API const char *mica_gguf_kind_name(mica_gguf_kind kind);

/* Bytes of the file, without a zero at the end. Published texts are UTF-8; the reader does not check them. */
typedef struct mica_gguf_text {
  const char *bytes;
  size_t length;
} mica_gguf_text;

/* A key and its value: one element, or an array of `count` elements of one kind. */
typedef struct mica_gguf_value {
  const char *key;     /* UTF-8 with a zero at the end; NULL for an array within an array */
  mica_gguf_kind kind; /* of the elements */
  bool array;          /* if not, count is 1 */
  size_t count;
  /* Elements in the host's byte order, at any address. TEXT: mica_gguf_text[count]; ARRAY: mica_gguf_value[count]. */
  const void *data;
} mica_gguf_value;

typedef struct mica_gguf mica_gguf;

/* Maps the file and checks all of its header. A name that ends in "-00001-of-0000N.gguf" opens all N shards, whose keys
 * are those of the first one. MICA_E_NOT_FOUND, MICA_E_IO. MICA_E_FORMAT names file and reason:
 *
 *   - other magic bytes, versions other than 2 and 3, a big-endian file
 *   - counts above what the bytes can hold; texts and arrays past the end; arrays nested more than 4 deep
 *   - keys or names that are there twice, are empty or no UTF-8, or are longer than 65,535 and 64 bytes
 *   - a bool that is neither 0 nor 1, kinds and types that the format does not have
 *   - ranks above 4, sizes that overflow, rows that are no whole number of blocks
 *   - an alignment that is no power of two up to 4,096; tensors not aligned to it, overlapping or past the end
 *   - shards that are missing or of different counts
 *
 * Types that Mica does not compute with (IQ4_XS, ...) can be opened and listed. */
MICA_API MICA_CHECKED mica_status mica_gguf_open(const char *path, mica_gguf **file);

/* Opens a file's content in memory, which must outlive what is opened; one shard stands alone. name stands in
 * messages. */
MICA_API MICA_CHECKED mica_status mica_gguf_open_memory(const char *name, const void *data, size_t bytes,
                                                        mica_gguf **file);

/* Values, entries and texts die with it. NULL is a no-op. */
MICA_API void mica_gguf_close(mica_gguf *file);

/* Keys in the file's order. */
MICA_API size_t mica_gguf_key_count(const mica_gguf *file);
MICA_API const mica_gguf_value *mica_gguf_key_at(const mica_gguf *file, size_t index);
/* NULL when there is no such key. */
MICA_API const mica_gguf_value *mica_gguf_find(const mica_gguf *file, const char *key);

/* Element `index` of a value. Where there is none, or where its kind is another, the result is 0, "" or NULL: ask
 * mica_gguf_value.kind if that matters. */

/* Integers and bools. U64 above 2^63 - 1 are that number; floats are 0. */
MICA_API int64_t mica_gguf_integer(const mica_gguf_value *value, size_t index);
/* All numbers and bools; integers above 2^53 are rounded. */
MICA_API double mica_gguf_number(const mica_gguf_value *value, size_t index);
MICA_API mica_gguf_text mica_gguf_text_at(const mica_gguf_value *value, size_t index);
/* An array within an array. */
MICA_API const mica_gguf_value *mica_gguf_array_at(const mica_gguf_value *value, size_t index);

/* Tensors in the file's order, those of the first shard first. */
MICA_API size_t mica_gguf_tensor_count(const mica_gguf *file);
MICA_API const mica_weight_entry *mica_gguf_tensor(const mica_gguf *file, size_t index);

/* The files behind it: one, or one per shard. */
MICA_API size_t mica_gguf_file_count(const mica_gguf *file);
MICA_API const mica_weight_file *mica_gguf_file_at(const mica_gguf *file, size_t index);

/* Makes path a file of version 3 with these keys and tensors, in the order given, as gguf-py's GGUFWriter does: equal
 * input gives equal bytes. The path holds the old file or the new one at any moment (mica_file_write). The key
 * "general.alignment", U32, sets the alignment. Of an entry `type` is read only where dtype is MICA_DTYPE_COUNT and
 * block MICA_BLOCK_NONE. MICA_E_INVALID for what mica_gguf_open would refuse, for dtypes that the format lacks (BOOL,
 * unsigned ones) and for bytes that do not match; MICA_E_IO. */
MICA_API MICA_CHECKED mica_status mica_gguf_write(const char *path, const mica_gguf_value *keys, size_t key_count,
                                                  const mica_weight_entry *tensors, size_t tensor_count);

MICA_END_DECLS

#endif
