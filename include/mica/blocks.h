/* mica/blocks.h: block types: weights of about 4 to 8 bits that share scales in blocks of 32 or 256, as in GGUF files.
 *
 * A tensor of blocks is row-major, and each of its rows is a whole number of blocks.
 *
 * Threads: all functions are pure; any thread may call them. */
#ifndef MICA_BLOCKS_H
#define MICA_BLOCKS_H

#include <mica/api.h>
#include <mica/graph.h>
#include <stddef.h>
#include <stdint.h>

MICA_EXPERIMENTAL
MICA_BEGIN_DECLS

/* name, text, elements of a block, bytes of a block, the type's number in GGUF */
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

/* MICA_BLOCK_NONE: no blocks, but elements of a dtype. */
typedef enum mica_block {
#define MICA_BLOCK_ENUM(name, text, elements, bytes, number) MICA_BLOCK_##name,
  MICA_BLOCK_LIST(MICA_BLOCK_ENUM)
#undef MICA_BLOCK_ENUM
      MICA_BLOCK_COUNT
} mica_block;

/* "q4_k"; "" for MICA_BLOCK_NONE, "?" for a value that is no block type. */
MICA_API const char *mica_block_name(mica_block block);
/* The block type of that name; MICA_BLOCK_COUNT when there is none, also for "". */
MICA_API mica_block mica_block_named(const char *name);
/* Elements of a block, 1 for MICA_BLOCK_NONE; 0 for a value that is no block type. */
MICA_API int64_t mica_block_elements(mica_block block);
/* Bytes of a block, 0 for MICA_BLOCK_NONE and for a value that is no block type. */
MICA_API size_t mica_block_bytes(mica_block block);

/* x[i] is element i of the blocks, exactly as GGUF defines it: one rounding to f32 at most. count is a number of
 * elements, a multiple of mica_block_elements. blocks may stand at any address; it and x must not overlap.
 * MICA_E_INVALID for MICA_BLOCK_NONE, a value that is no block type, a count that is no multiple, or NULL. */
MICA_API MICA_CHECKED mica_status mica_block_dequantize(mica_block type, const void *blocks, int64_t count, float *x);

/* Rounds x to blocks: count elements, a multiple of mica_block_elements. importance has a number from 0 on for each
 * element; a search then finds scales with a small sum of importance times squared error. NULL: all elements count
 * alike, and types of 32 elements are made by GGUF's own formulas, bit for bit.
 *
 * MICA_E_INVALID as above, and for elements or importances that are not finite, importances below 0, or a block whose
 * scale exceeds the largest f16 (elements of about 5e5 in Q4_0, 8e6 in Q8_0); blocks then hold garbage. */
MICA_API MICA_CHECKED mica_status mica_block_quantize(mica_block type, const float *x, int64_t count,
                                                      const float *importance, void *blocks);

/* Weights in blocks as numbers of dtype F32, F16 or BF16: blocks (.., bytes) U8 -> (.., columns), of any rank above 0.
 * columns is a multiple of mica_block_elements; bytes is the size of those blocks. In f32 the result equals
 * mica_block_dequantize's, bit for bit, except that devices without subnormal numbers may give 0 for them. No gradient
 * flows to blocks. MICA_E_DTYPE, MICA_E_SHAPE, MICA_E_INVALID. */
MICA_API mica_value mica_unblock(mica_value blocks, mica_block type, int64_t columns, mica_dtype dtype);

/* Rows of a table in blocks, as an embedding: blocks (n, bytes) U8, ids of any shape, I32 or I64 -> (ids' shape,
 * columns). Negative ids count from the end; a row whose id is outside of the table is 0, as mica_gather has it. */
MICA_API mica_value mica_block_rows(mica_value blocks, mica_value ids, mica_block type, int64_t columns,
                                    mica_dtype dtype);

MICA_END_DECLS

#endif
