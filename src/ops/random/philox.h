/* ops/random/philox.h: Philox4x32-10 (Salmon et al., SC 2011) on the host. cl/random/philox.clh computes the same
 * numbers in kernels. */
#ifndef MICA_OPS_RANDOM_PHILOX_H
#define MICA_OPS_RANDOM_PHILOX_H

#include <stdint.h>

/* Replaces the counter by its four random words. */
static inline void mica__philox(uint32_t counter[4], uint32_t key0, uint32_t key1) {
  for (int round = 0; round < 10; round++) {
    uint64_t a = UINT64_C(0xD2511F53) * counter[0], b = UINT64_C(0xCD9E8D57) * counter[2];
    counter[0] = (uint32_t)(b >> 32) ^ counter[1] ^ key0;
    counter[1] = (uint32_t)b;
    counter[2] = (uint32_t)(a >> 32) ^ counter[3] ^ key1;
    counter[3] = (uint32_t)a;
    key0 += UINT32_C(0x9E3779B9);
    key1 += UINT32_C(0xBB67AE85);
  }
}

#endif
