/* mica/blocks.h: block types: weights of about 4 to 8 bits that share scales in blocks of 32 or 256, as in GGUF files.
 *
 * A tensor of blocks is row-major; each row is a whole number of blocks.
 *
 * Threads: functions without graphs are pure; any thread may call them. Builders as in mica/graph.h. */
#ifndef MICA_BLOCKS_H
#define MICA_BLOCKS_H

#include <mica/api.h>
#include <mica/graph.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* name, text, elements per block, bytes per block, number of the type in GGUF */
#define MICA_BLOCK_LIST(X)                                                                                             \
  X(NONE, "", 1, 0, -1)                                                                                                \
  X(Q4_0, "q4_0", 32, 18, 2)                                                                                           \
  X(Q4_1, "q4_1", 32, 20, 3)                                                                                           \
  X(Q5_0, "q5_0", 32, 22, 6)                                                                                           \
  X(Q5_1, "q5_1", 32, 24, 7)                                                                                           \
  X(Q8_0, "q8_0", 32, 34, 8)                                                                                           \
  X(Q4_K, "q4_k", 256, 144, 12)                                                                                        \
  X(Q5_K, "q5_k", 256, 176, 13)                                                                                        \
  X(Q6_K, "q6_k", 256, 210, 14)                                                                                        \
  X(MXFP4, "mxfp4", 32, 17, 39)

/* MICA_BLOCK_NONE: elements of a dtype instead of blocks. */
typedef enum mica_block {
#define MICA_BLOCK_ENUM(name, text, elements, bytes, number) MICA_BLOCK_##name,
  MICA_BLOCK_LIST(MICA_BLOCK_ENUM)
#undef MICA_BLOCK_ENUM
      MICA_BLOCK_COUNT
} mica_block;

/* "q4_0", "q4_k", ...; "" for MICA_BLOCK_NONE; "?" for any other value. */
MICA_API const char *mica_block_name(mica_block block);
/* Block type of this name; MICA_BLOCK_COUNT if the name is unknown or "". */
MICA_API mica_block mica_block_named(const char *name);
/* Elements per block; 1 for MICA_BLOCK_NONE; 0 for an invalid value. */
MICA_API int64_t mica_block_elements(mica_block block);
/* Bytes per block; 0 for MICA_BLOCK_NONE and invalid values. */
MICA_API size_t mica_block_bytes(mica_block block);

/* Converts blocks to numbers exactly as GGUF defines, with at most one rounding to f32. count is the number of
 * elements, a multiple of mica_block_elements. blocks may have any alignment; it must not overlap x. MICA_E_INVALID:
 * MICA_BLOCK_NONE, an invalid type or count, or NULL. */
MICA_API MICA_CHECKED mica_status mica_block_dequantize(mica_block type, const void *blocks, int64_t count, float *x);

/* Converts numbers to blocks. count is the number of elements, a multiple of mica_block_elements. importance has one
 * number >= 0 per element; scales are then chosen for a small sum of importance times squared error. NULL: equal
 * importance; types with 32 elements then follow GGUF's own formulas, bit for bit.
 *
 * MICA_E_INVALID: as in mica_block_dequantize; an element or importance is not finite; an importance is negative; or a
 * block's scale or minimum exceeds the largest f16 (elements of about 5e5 in Q4_0, 8e6 in Q8_0). After a failure the
 * content of blocks is undefined. */
MICA_API MICA_CHECKED mica_status mica_block_quantize(mica_block type, const float *x, int64_t count,
                                                      const float *importance, void *blocks);

/* Builder: converts blocks to F32, F16 or BF16: blocks (.., bytes) U8 -> (.., columns), for any rank above 0. columns
 * is a multiple of mica_block_elements; bytes is the size of a row's blocks. The f32 result equals
 * mica_block_dequantize, bit for bit, except that devices without subnormal numbers may give 0 for them. No gradient.
 * MICA_E_DTYPE, MICA_E_SHAPE, MICA_E_INVALID. */
MICA_API mica_value mica_unblock(mica_value blocks, mica_block type, int64_t columns, mica_dtype dtype);

/* Builder: embedding from a table in blocks: blocks (n, bytes) U8, ids I32 or I64 of any shape -> (ids' shape,
 * columns). Negative ids count from the end; ids that are out of range give rows of 0, as in mica_gather. */
MICA_API mica_value mica_block_rows(mica_value blocks, mica_value ids, mica_block type, int64_t columns,
                                    mica_dtype dtype);

MICA_END_DECLS

#endif
