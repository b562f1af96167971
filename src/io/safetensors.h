/* io/safetensors.h: types and sizes of the format, for the reader and the writer. */
#ifndef MICA_IO_SAFETENSORS_H
#define MICA_IO_SAFETENSORS_H

#include "base/error.h"

#include <mica/safetensors.h>

/* Types of the format: name, bytes of an element, Mica's dtype or MICA_DTYPE_COUNT if it has none. */
#define MICA__SAFETENSORS_TYPE_LIST(X)                                                                                 \
  X(F64, 8, MICA_F64)                                                                                                  \
  X(F32, 4, MICA_F32)                                                                                                  \
  X(F16, 2, MICA_F16)                                                                                                  \
  X(BF16, 2, MICA_BF16)                                                                                                \
  X(I64, 8, MICA_I64)                                                                                                  \
  X(I32, 4, MICA_I32)                                                                                                  \
  X(I16, 2, MICA_I16)                                                                                                  \
  X(I8, 1, MICA_I8)                                                                                                    \
  X(U8, 1, MICA_U8)                                                                                                    \
  X(BOOL, 1, MICA_BOOL)                                                                                                \
  X(U64, 8, MICA_U64)                                                                                                  \
  X(U32, 4, MICA_U32)                                                                                                  \
  X(U16, 2, MICA_U16)                                                                                                  \
  X(C64, 8, MICA_DTYPE_COUNT)                                                                                          \
  X(F8_E4M3, 1, MICA_DTYPE_COUNT)                                                                                      \
  X(F8_E5M2, 1, MICA_DTYPE_COUNT)                                                                                      \
  X(F8_E8M0, 1, MICA_DTYPE_COUNT)

typedef struct mica__safetensors_type {
  const char *name;
  size_t size;
  mica_dtype dtype;
} mica__safetensors_type;

/* Returns the type of that name; NULL if the format has none. */
const mica__safetensors_type *mica__safetensors_type_named(const char *name);
const mica__safetensors_type *mica__safetensors_type_of(mica_dtype dtype);

/* Computes the bytes of a tensor; false if they overflow. */
bool mica__safetensors_bytes(const mica__safetensors_type *type, mica_shape shape, size_t *bytes);

/* Converts elements from the format's byte order, little-endian, to the host's or back. */
void mica__safetensors_order(const mica__safetensors_type *type, void *elements, size_t bytes);

/* Returns the file's content in memory. */
const void *mica__safetensors_data(const mica_safetensors *file, size_t *bytes);

#define MICA__SAFETENSORS_METADATA "__metadata__"
/* The beginning of a header that Mica wrote; 32 digits and a quote follow. The digits are a hash of the rest of the
 * file, in file order: its first 8 bytes, the header from this quote on, the blanks after the header, and each
 * non-empty tensor. If another program rewrites the file, the header begins differently or lacks the key, and nothing
 * is checked. */
#define MICA__SAFETENSORS_HASH "mica.hash"
#define MICA__SAFETENSORS_HASHED "{\"" MICA__SAFETENSORS_METADATA "\":{\"" MICA__SAFETENSORS_HASH "\":\""
/* The longest header that the format allows. */
#define MICA__SAFETENSORS_MAX_HEADER ((size_t)100000000)

#endif
