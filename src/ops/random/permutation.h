/* ops/random/permutation.h: a permutation of 0 .. n - 1 with random access to its elements, so that reading of a
 * shuffled epoch can begin anywhere. cl/random/permutation.clh computes the same permutation in kernels.
 *
 * It is a Feistel network over the bits of the index, with keys from Philox. The network is applied again until the
 * result is below n (Black and Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002). */
#ifndef MICA_OPS_RANDOM_PERMUTATION_H
#define MICA_OPS_RANDOM_PERMUTATION_H

#include "ops/random/philox.h"

#define MICA__PERMUTATION_ROUNDS 6
/* The value of `epoch` that selects the permutation which splits a dataset. All other values are epochs. */
#define MICA__PERMUTATION_SPLIT UINT64_MAX

typedef struct mica__permutation {
  uint32_t n;
  uint32_t bits; /* bits of an index: the smallest even number, at least 8, that can hold n - 1; 0 for the identity */
  uint32_t keys[MICA__PERMUTATION_ROUNDS];
} mica__permutation;

static inline mica__permutation mica__permutation_of(uint32_t n, uint64_t seed, uint64_t epoch) {
  mica__permutation made = {.n = n, .bits = 8};
  while (made.bits < 32 && (n - 1) >> made.bits) made.bits += 2;
  for (uint32_t i = 0; i < MICA__PERMUTATION_ROUNDS; i += 4) {
    /* The second word, "perm", separates these numbers from other uses of the seed. */
    uint32_t words[4] = {i / 4, UINT32_C(0x7065726d), (uint32_t)epoch, (uint32_t)(epoch >> 32)};
    mica__philox(words, (uint32_t)seed, (uint32_t)(seed >> 32));
    for (uint32_t k = i; k < i + 4 && k < MICA__PERMUTATION_ROUNDS; k++) made.keys[k] = words[k - i];
  }
  return made;
}

/* Mixes the bits of a word. Source: lowbias32 of Hash Prospector (C. Wellons). */
static inline uint32_t mica__permutation_mix(uint32_t x) {
  x ^= x >> 16;
  x *= UINT32_C(0x7feb352d);
  x ^= x >> 15;
  x *= UINT32_C(0x846ca68b);
  return x ^ x >> 16;
}

/* Returns the image of i, which must be below n. */
static inline uint32_t mica__permute(const mica__permutation *permutation, uint32_t i) {
  const uint32_t half = permutation->bits / 2, mask = (UINT32_C(1) << half) - 1;
  if (half == 0) return i;
  do {
    uint32_t left = i >> half, right = i & mask;
    for (int round = 0; round < MICA__PERMUTATION_ROUNDS; round++) {
      const uint32_t next = left ^ (mica__permutation_mix(right + permutation->keys[round]) & mask);
      left = right;
      right = next;
    }
    i = left << half | right;
  } while (i >= permutation->n);
  return i;
}

#endif
