/* ops/blocks/blocks.h: weights in blocks: their layout, and values of them on the host. */
#ifndef MICA_OPS_BLOCKS_BLOCKS_H
#define MICA_OPS_BLOCKS_BLOCKS_H

#include <mica/blocks.h>
#include <mica/status.h>
#include <stdbool.h>

/* The most elements that a block has, and the most groups of them with scales of their own. */
#define MICA__BLOCK_MOST 256
#define MICA__BLOCK_GROUPS 16

/* A block type as cl/blocks/fields.clh describes it. */
typedef struct mica__block_layout {
  int32_t elements, bytes;
  int32_t d, minimum, scales, scales_at;
  int32_t low, low_bits, span;
  int32_t high, high_bits, high_span;
  int32_t less;
} mica__block_layout;

/* NULL for MICA_BLOCK_NONE and for a value that is no block type. */
const mica__block_layout *mica__block_layout_of(mica_block type);

/* The scale and the minimum of each of the groups of equal size that share them: an element is scale * q + minimum,
 * q signed. Returns how many groups there are. */
int32_t mica__block_scales(const mica__block_layout *layout, const uint8_t *block, float scale[MICA__BLOCK_GROUPS],
                           float minimum[MICA__BLOCK_GROUPS]);

/* The elements of one block of a valid type. */
void mica__block_values(mica_block type, const uint8_t *block, float *x);

/* The numbers that a byte of low bits stands for in a block of powers. */
extern const int8_t mica__block_fours[16];

/* Writes the numbers of a block's elements, as they are stored, into a block of zeros. */
void mica__block_pack(const mica__block_layout *layout, const uint8_t *numbers, uint8_t *block);

#endif
