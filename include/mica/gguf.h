/* mica/gguf.h: GGUF files, versions 2 and 3: keys with values, and named tensors of numbers or blocks.
 *
 *   mica_gguf *file;
 *   if (mica_gguf_open("SmolLM2-135M-Instruct.Q4_1.gguf", &file) != MICA_OK) ...
 *   int64_t layers = mica_gguf_integer(mica_gguf_find(file, "llama.block_count"), 0);
 *
 * A file is mapped, and its header is checked when it is opened. mica/weights.h says what happens if a mapped file is
 * changed. Functions that read values accept NULL, which mica_gguf_find returns for a missing key.
 *
 * The format: "GGUF", version, number of tensors, number of keys; the keys; names, shapes (innermost dimension first),
 * types and offsets of tensors; their data, each aligned to "general.alignment" (32 if the key is missing). All numbers
 * are little-endian.
 *
 * Threads: an open file does not change; several threads may read it at once. */
#ifndef MICA_GGUF_H
#define MICA_GGUF_H

#include <mica/weights.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* name, token, number in the format, bytes per element (0: variable) */
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

/* "u32", "text", "array", ...; "?" for any other value. */
MICA_API const char *mica_gguf_kind_name(mica_gguf_kind kind);

/* Bytes in the file, without a zero at the end. Published texts are UTF-8, but the reader does not check this. */
typedef struct mica_gguf_text {
  const char *bytes;
  size_t length;
} mica_gguf_text;

/* A key with its value: one element, or an array of `count` elements of one kind. */
typedef struct mica_gguf_value {
  const char *key;     /* UTF-8 with a zero at the end; NULL for an array within an array */
  mica_gguf_kind kind; /* kind of the elements */
  bool array;          /* false: count is 1 */
  size_t count;
  /* Elements in the host's byte order, at any address. TEXT: mica_gguf_text[count]; ARRAY: mica_gguf_value[count]. */
  const void *data;
} mica_gguf_value;

typedef struct mica_gguf mica_gguf;

/* Maps a file and checks its whole header. If the name ends in "-00001-of-0000N.gguf", opens all N shards; only the
 * keys of the first shard are used. MICA_E_NOT_FOUND: the file or a shard is missing. MICA_E_IO. MICA_E_FORMAT: one of
 * these cases; the message names file and reason:
 *
 *   - wrong magic bytes, a version other than 2 and 3, a big-endian file
 *   - counts above what the bytes can hold; texts or arrays past the end; arrays nested more than 4 deep
 *   - a key or name that occurs twice, is empty or is not UTF-8; a key above 65,535 bytes, a name above 64 bytes
 *   - a bool other than 0 and 1, an unknown kind or type
 *   - a rank above 4, a size that overflows, a row that is not a whole number of blocks
 *   - an alignment that is not a power of two up to 4,096; tensors that are not aligned, overlap, or end past the file
 *   - a shard other than the first, or shards whose names, keys and counts do not agree
 *
 * Types that Mica does not compute with (IQ4_XS, ...) can be opened and listed. */
MICA_API MICA_CHECKED mica_status mica_gguf_open(const char *path, mica_gguf **file);

/* Opens the content of a GGUF file that is in memory. It must be a single shard, and the memory must stay valid until
 * mica_gguf_close. Error messages use `name`. */
MICA_API MICA_CHECKED mica_status mica_gguf_open_memory(const char *name, const void *data, size_t bytes,
                                                        mica_gguf **file);

/* Closes a file. Values, entries and texts become invalid. NULL is a no-op. */
MICA_API void mica_gguf_close(mica_gguf *file);

/* The number of keys, and key number `index` in the file's order; NULL if index is too large. */
MICA_API size_t mica_gguf_key_count(const mica_gguf *file);
MICA_API const mica_gguf_value *mica_gguf_key_at(const mica_gguf *file, size_t index);
/* Value of a key; NULL if the key is missing. */
MICA_API const mica_gguf_value *mica_gguf_find(const mica_gguf *file, const char *key);

/* These functions return element `index` of a value. The result is 0, "" or NULL if the element does not exist or has
 * another kind; check mica_gguf_value.kind if this matters. */

/* For integers and bools. U64 values above 2^63 - 1 become 2^63 - 1; floats give 0. */
MICA_API int64_t mica_gguf_integer(const mica_gguf_value *value, size_t index);
/* For all numbers and bools. Integers above 2^53 are rounded. */
MICA_API double mica_gguf_number(const mica_gguf_value *value, size_t index);
MICA_API mica_gguf_text mica_gguf_text_at(const mica_gguf_value *value, size_t index);
/* For arrays within an array. */
MICA_API const mica_gguf_value *mica_gguf_array_at(const mica_gguf_value *value, size_t index);

/* The number of tensors, and tensor number `index` in the file's order, beginning with the first shard; NULL if index
 * is too large. */
MICA_API size_t mica_gguf_tensor_count(const mica_gguf *file);
MICA_API const mica_weight_entry *mica_gguf_tensor(const mica_gguf *file, size_t index);

/* The number of open files (one, or one per shard), and file number `index`; NULL if index is too large. */
MICA_API size_t mica_gguf_file_count(const mica_gguf *file);
MICA_API const mica_weight_file *mica_gguf_file_at(const mica_gguf *file, size_t index);

/* Writes a file of version 3, with the keys and tensors in the given order, laid out as gguf-py's GGUFWriter does.
 * Equal input gives equal bytes. The file is replaced atomically (mica_file_write). The key "general.alignment", U32,
 * sets the alignment. An entry's `type` is only used if dtype is MICA_DTYPE_COUNT and block MICA_BLOCK_NONE.
 * MICA_E_INVALID: mica_gguf_open would refuse the result, the format lacks a dtype (BOOL, unsigned), or an entry's
 * bytes do not match its shape. MICA_E_IO. */
MICA_API MICA_CHECKED mica_status mica_gguf_write(const char *path, const mica_gguf_value *keys, size_t key_count,
                                                  const mica_weight_entry *tensors, size_t tensor_count);

/* A list of keys to write. It copies what is added; adding a key again replaces its value. */
typedef struct mica_gguf_keys mica_gguf_keys;

/* Creates an empty list. */
MICA_API MICA_CHECKED mica_status mica_gguf_keys_create(mica_gguf_keys **keys);
/* NULL is a no-op. */
MICA_API void mica_gguf_keys_destroy(mica_gguf_keys *keys);
/* Adds a copy of a value, also of one from an open file. MICA_E_INVALID: NULL, or an unknown kind. */
MICA_API MICA_CHECKED mica_status mica_gguf_keys_add(mica_gguf_keys *keys, const mica_gguf_value *value);
/* Add a key with one element, of the kind TEXT, U32, F32 and BOOL respectively. MICA_E_INVALID: an integer outside 0 to
 * 2^32 - 1. */
MICA_API MICA_CHECKED mica_status mica_gguf_keys_add_text(mica_gguf_keys *keys, const char *key, const char *text);
MICA_API MICA_CHECKED mica_status mica_gguf_keys_add_integer(mica_gguf_keys *keys, const char *key, int64_t number);
MICA_API MICA_CHECKED mica_status mica_gguf_keys_add_real(mica_gguf_keys *keys, const char *key, double number);
MICA_API MICA_CHECKED mica_status mica_gguf_keys_add_flag(mica_gguf_keys *keys, const char *key, bool flag);
/* All keys in the order of adding, valid until the next change. */
MICA_API const mica_gguf_value *mica_gguf_keys_list(const mica_gguf_keys *keys, size_t *count);

MICA_END_DECLS

#endif
