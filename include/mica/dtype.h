/* mica/dtype.h: element types.
 *
 * Threads: all functions are pure; any thread may call them. */
#ifndef MICA_DTYPE_H
#define MICA_DTYPE_H

#include <mica/api.h>
#include <stdbool.h>
#include <stddef.h>

MICA_BEGIN_DECLS

/* name, token (in files, options and kernels), bytes in memory, kind. f16 is IEEE binary16; bf16 is the upper half of
 * binary32. Arithmetic on both is done in f32. A bool is one byte, 0 or 1. */
#define MICA_DTYPE_LIST(X)                                                                                             \
  X(F32, f32, 4, FLOAT)                                                                                                \
  X(F16, f16, 2, FLOAT)                                                                                                \
  X(BF16, bf16, 2, FLOAT)                                                                                              \
  X(F64, f64, 8, FLOAT)                                                                                                \
  X(I8, i8, 1, SIGNED)                                                                                                 \
  X(U8, u8, 1, UNSIGNED)                                                                                               \
  X(I16, i16, 2, SIGNED)                                                                                               \
  X(I32, i32, 4, SIGNED)                                                                                               \
  X(I64, i64, 8, SIGNED)                                                                                               \
  X(BOOL, b8, 1, BOOL)                                                                                                 \
  X(U16, u16, 2, UNSIGNED)                                                                                             \
  X(U32, u32, 4, UNSIGNED)                                                                                             \
  X(U64, u64, 8, UNSIGNED)

typedef enum mica_dtype {
#define MICA_DTYPE_ENUM(name, token, bytes, kind) MICA_##name,
  MICA_DTYPE_LIST(MICA_DTYPE_ENUM)
#undef MICA_DTYPE_ENUM
      MICA_DTYPE_COUNT
} mica_dtype;

typedef enum mica_dtype_kind {
  MICA_DTYPE_KIND_FLOAT,
  MICA_DTYPE_KIND_SIGNED,
  MICA_DTYPE_KIND_UNSIGNED,
  MICA_DTYPE_KIND_BOOL,
} mica_dtype_kind;

/* "f32", ...; "?" for any other value. */
MICA_API const char *mica_dtype_name(mica_dtype dtype);
/* Bytes per element; 0 if the value is not a dtype. */
MICA_API size_t mica_dtype_size(mica_dtype dtype);
/* Returns the kind of a dtype; MICA_DTYPE_KIND_FLOAT if the value is not a dtype. */
MICA_API mica_dtype_kind mica_dtype_kind_of(mica_dtype dtype);
/* True if the value is one of the dtypes above. */
MICA_API bool mica_dtype_is_valid(mica_dtype dtype);

MICA_END_DECLS

#endif
