/* data/permutation.h: a permutation of 0 .. n - 1 of which any element can be had directly: an epoch of shuffled data
 * can be entered anywhere, on the host and inside a kernel (cl/vision/permutation.clh, word for word the same).
 *
 * A Feistel network over the bits of the index, its keys from Philox; walked on until it falls below n (Black and
 * Rogaway: Ciphers with arbitrary finite domains, CT-RSA 2002). */
#ifndef MICA_DATA_PERMUTATION_H
#define MICA_DATA_PERMUTATION_H

#include <stdint.h>

#define MICA__PERMUTATION_ROUNDS 6
/* The permutation that splits a dataset; others are those of epochs. */
#define MICA__PERMUTATION_SPLIT UINT64_MAX

typedef struct mica__permutation {
  uint32_t n;
  uint32_t bits; /* of the network: the least even number, at least 8, that n - 1 fits; 0 for the identity */
  uint32_t keys[MICA__PERMUTATION_ROUNDS];
} mica__permutation;

mica__permutation mica__permutation_of(uint32_t n, uint64_t seed, uint64_t epoch);

/* Where i, below n, goes to. */
uint32_t mica__permute(const mica__permutation *permutation, uint32_t i);

#endif
