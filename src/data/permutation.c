#include "data/permutation.h"

#include "ops/random/philox.h"

#define DOMAIN UINT32_C(0x7065726d)

mica__permutation mica__permutation_of(uint32_t n, uint64_t seed, uint64_t epoch) {
  mica__permutation made = {.n = n, .bits = 8};
  while (made.bits < 32 && (n - 1) >> made.bits) made.bits += 2;
  /* The second word keeps these numbers apart from those of other uses of the seed. */
  for (uint32_t block = 0; block < (MICA__PERMUTATION_ROUNDS + 3) / 4; block++) {
    uint32_t words[4] = {block, DOMAIN, (uint32_t)epoch, (uint32_t)(epoch >> 32)};
    mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
    for (uint32_t i = 0; i < 4 && block * 4 + i < MICA__PERMUTATION_ROUNDS; i++) made.keys[block * 4 + i] = words[i];
  }
  return made;
}

/* Mixes the bits of a word: two multiplications, each followed by a shift. */
static uint32_t mix(uint32_t x) {
  x ^= x >> 16;
  x *= UINT32_C(0x7feb352d);
  x ^= x >> 15;
  x *= UINT32_C(0x846ca68b);
  return x ^ x >> 16;
}

uint32_t mica__permute(const mica__permutation *permutation, uint32_t i) {
  uint32_t half = permutation->bits / 2, mask = (UINT32_C(1) << half) - 1;
  if (half == 0) return i;
  do {
    uint32_t left = i >> half, right = i & mask;
    for (int round = 0; round < MICA__PERMUTATION_ROUNDS; round++) {
      uint32_t next = left ^ (mix(right + permutation->keys[round]) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= permutation->n);
  return i;
}
