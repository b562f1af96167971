/* The random blocks of blocks_golden.py, which made blocks_golden.h of them. */
#ifndef MICA_TESTS_OPS_BLOCKS_DATA_H
#define MICA_TESTS_OPS_BLOCKS_DATA_H

#include <mica/blocks.h>
#include <stddef.h>
#include <stdint.h>

#include "ops/blocks_golden.h"

#define GOLDENS (sizeof goldens / sizeof *goldens)

static inline uint32_t next(uint32_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 17;
  *state ^= *state << 5;
  return *state;
}

static inline uint64_t hashed(const void *data, size_t bytes) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * UINT64_C(0x100000001b3);
  return hash;
}

static inline int gguf_number(mica_block type) {
  static const int numbers[] = {
#define NUMBER(name, text, elements, bytes, number) number,
      MICA_BLOCK_LIST(NUMBER)
#undef NUMBER
  };
  return numbers[type];
}

static inline void random_blocks(const struct golden *g, uint8_t *blocks) {
  const size_t size = mica_block_bytes(g->type);
  uint32_t state = (uint32_t)gguf_number(g->type) + 1;
  for (size_t i = 0; i < GOLDEN_BLOCKS * size; i++) blocks[i] = (uint8_t)(next(&state) >> 24);
  for (size_t b = 0; b < GOLDEN_BLOCKS; b++)
    for (int k = 0; k < 2; k++)
      if (g->scales[k] >= 0) blocks[b * size + (size_t)g->scales[k] + 1] &= 0xbf;
}

#endif
